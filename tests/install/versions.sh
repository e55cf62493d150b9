# versions.sh - a library that is too old counts as missing, and one message states the reason.
. "$(dirname "$0")/../e2e/lib.sh"
needs pkg-config cc

mkdir old project
for module in sqlite3 libcurl; do
    printf 'Name: %s\nDescription: too old\nVersion: 1.5\n' $module >old/$module.pc
done
cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.22)
project(versions C)
include($NTK_SOURCE_DIR/cmake/ntk_packages.cmake)
get_property(missing GLOBAL PROPERTY NTK_MISSING_PACKAGES)
foreach(line IN LISTS missing)
    message(STATUS "missing package: \${line}")
endforeach()
TEXT
PKG_CONFIG_LIBDIR=$scratch/old cmake -S project -B build >cmake.log 2>&1 || fail "see cmake.log"
grep -qFx -- '-- missing package: sqlite3 (pkg-config sqlite3, version 3.37 or later, but this is 1.5)' cmake.log ||
    fail "an old SQLite is not named"
grep -qFx -- '-- missing package: curl (pkg-config libcurl, version 7.70 or later, but this is 1.5)' cmake.log ||
    fail "an old libcurl is not named"
PKG_CONFIG_LIBDIR=$scratch/none cmake -S project -B none >none.log 2>&1 || fail "see none.log"
grep -qFx -- '-- missing package: sqlite3 (pkg-config sqlite3, version 3.37 or later)' none.log || fail "a missing SQLite is not named"
# Each library has a minimum version.
! grep -nE '^ntk_find_package\([^ ]+ [^ )]+\)' "$NTK_SOURCE_DIR/cmake/ntk_packages.cmake" || fail "a library has no version"

# The commit of a source tree: from git, from an archive made by git, and from neither.
needs git
mkdir -p tree/cmake
cp "$NTK_SOURCE_DIR"/cmake/source.sh tree/cmake
cp "$NTK_SOURCE_DIR"/{SOURCE,.gitattributes,CHANGELOG.md} tree
in_tree() { git -C tree -c user.name=test -c user.email=test@localhost "$@" >git.log 2>&1 || fail "see git.log"; }
says() { # COMMIT TIME
    [ "$(tree/cmake/source.sh commit) $(tree/cmake/source.sh time)" = "$*" ] ||
        fail "expected '$*', found $(tree/cmake/source.sh commit) $(tree/cmake/source.sh time)"
}
says unknown "$(stat -c %Y tree/CHANGELOG.md)"
in_tree init -q
in_tree add -A
GIT_COMMITTER_DATE='1000000000 +0000' in_tree commit -qm one
commit=$(git -C tree rev-parse --short=12 HEAD)
says "$commit" 1000000000
tree/cmake/source.sh write build.c
touch -d @1 build.c
tree/cmake/source.sh write build.c
[ "$(stat -c %Y build.c)" = 1 ] || fail "the same commit is written again, so that all programs are linked again"
echo >>tree/CHANGELOG.md
says "$commit-modified" 1000000000
git -C tree archive HEAD | { mkdir archive && tar -x -C archive; }
rm -rf tree && mv archive tree
says "$commit" 1000000000
# An archive of a modified tree, made as portable.sh does.
sed -i 's/$/ -modified/' tree/SOURCE
says "$commit-modified" 1000000000
