# dev.sh - on systems other than Debian 12, ./dev names missing packages by their names there, and stops with one
# message.
. "$(dirname "$0")/../e2e/lib.sh"
unset NTK_NO_INSTALL # of the person who runs the tests
mkdir -p tree/cmake bin
cp "$NTK_SOURCE_DIR/dev" tree
cp "$NTK_SOURCE_DIR"/cmake/packages*.txt tree/cmake
for name in awk bash cat cut dirname env grep head mkdir readlink sed sort tr; do ln -s "$(command -v $name)" bin/$name; done
# stand_in NAME SCRIPT
stand_in() { printf '#!/bin/bash\n%s\n' "$2" >bin/"$1" && chmod +x bin/"$1"; }
# stops WORDS COMMAND...: with exit code 1 and one line.
stops() {
    local code=0 words=$1
    shift
    PATH=$scratch/bin tree/dev "$@" >out 2>&1 || code=$?
    [ "$code" = 1 ] && [ "$(wc -l <out)" = 1 ] && greps -Fx "dev: $words" <out || fail "expected exit code 1 and '$words', found $code: $(cat out)"
}

stops "this system has neither dpkg nor rpm; install the equivalents of the Debian packages clang cmake g++ gcc jq $(
    cd tree && awk '$1 == "build" { $1 = ""; print }' cmake/packages.txt | xargs -n1 | sort -u | tail -n +6 | tr '\n' ' ')and set NTK_NO_INSTALL=1" build

# Fedora with all but three packages.
stand_in rpm 'case $3 in sqlite-devel | gcc-c++ | libcmocka-devel) exit 1 ;; esac'
stops 'missing packages; run: sudo dnf install gcc-c++ sqlite-devel' build
stops 'missing packages; run: sudo dnf install gcc-c++ libcmocka-devel sqlite-devel' test
# Each library has a Fedora name: none keeps Debian's suffixes.
stand_in rpm 'exit 1'
PATH=$scratch/bin tree/dev bench >out 2>&1 || true
! grep -oE ' (lib[a-z0-9-]*-dev|[a-z0-9]*1g[a-z-]*)( |$)' out || fail "a package name does not exist on Fedora"
# Everything is installed, but CMake is too old.
stand_in rpm 'exit 0'
stand_in cmake 'echo cmake version 3.22.1'
stops 'cmake 3.22.1 is too old: install 3.25 or later, such as from https://apt.kitware.com or with pip' build

# Debian 13 and Ubuntu 24.04: libreadline8 is libreadline8t64. Ubuntu has no Chromium as a package.
stand_in dpkg-query 'name=${*: -1}; case $name in libreadline8 | chromium-headless-shell | *t64) [ -e readline ] && [ "$name" = libreadline8t64 ] || exit 1 ;; esac; echo install ok installed'
stand_in apt-get '[ "$1" = update ] || { echo "$@" >>'"$scratch"'/got; : >'"$scratch"'/tree/readline; }'
stand_in apt-cache 'case $2 in libreadline8 | chromium*) echo "  Candidate: (none)" ;; *) echo "  Candidate: 1" ;; esac'
stand_in id 'echo 0'
stops 'this system has no package chromium-headless-shell; install an equivalent and set NTK_NO_INSTALL=1' test
stand_in apt-cache 'case $2 in libreadline8) echo "  Candidate: (none)" ;; *) echo "  Candidate: 1" ;; esac'
PATH=$scratch/bin tree/dev test >out 2>&1 || true
greps 'libreadline8t64' <got || fail "libreadline8t64 is not installed: $(cat out)"
! greps 'libreadline8 ' <got || fail "libreadline8 is installed"
