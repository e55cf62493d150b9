# versions.sh - a library that is too old counts as missing, and one sentence says why.
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
PKG_CONFIG_PATH=$scratch/old cmake -S project -B build >cmake.log 2>&1 || fail "see cmake.log"
grep -qFx -- '-- missing package: sqlite3 (pkg-config sqlite3, version 3.37 or later, but this is 1.5)' cmake.log ||
    fail "an old SQLite is not named"
grep -qFx -- '-- missing package: curl (pkg-config libcurl, version 7.66 or later, but this is 1.5)' cmake.log ||
    fail "an old libcurl is not named"
PKG_CONFIG_LIBDIR=$scratch/none cmake -S project -B none >none.log 2>&1 || fail "see none.log"
grep -qFx -- '-- missing package: sqlite3 (pkg-config sqlite3, version 3.37 or later)' none.log || fail "a missing SQLite is not named"
# Each library has its oldest version.
! grep -nE '^ntk_find_package\([^ ]+ [^ )]+\)' "$NTK_SOURCE_DIR/cmake/ntk_packages.cmake" || fail "a library has no version"
