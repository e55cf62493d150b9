#!/bin/bash
# aarch64.sh [-b] [CTEST-OPTION...] - cross-builds the preset aarch64 with Debian 12's libraries, and runs its tests under
# qemu-user; -b only builds. In build/aarch64-root, a system made with debootstrap; a later run continues there. Needs root,
# network and 6 GB. Programs that tests start are emulated, too, by the private binfmt_misc of a user namespace (Linux 6.7).
set -euo pipefail
source=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$source/cmake/package/root.sh"
root=$source/build/aarch64-root
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "only root makes bare systems"
command -v debootstrap >/dev/null || skip "debootstrap is missing"

# Libraries are those of the target, programs those of this machine.
packages() {
    awk '$1 ~ /^(build|test|aarch64)$/ { for (i = 2; i <= NF; i++) print $i }' "$source/cmake/packages.txt" | sort -u |
        sed -E '/^lib|-dev$/{/^dpkg-dev$/!s/$/:arm64/}'
}
if [ ! -e "$root/.made" ]; then
    rm -rf --one-file-system "$root"
    mkdir -p "$source/build"
    code=0
    make_root bookworm "$root" "$root.log" || code=$?
    [ $code != 2 ] || skip "$ntk_mirror is out of reach"
    [ $code = 0 ] || exit 1
    in_root "$root" "dpkg --add-architecture arm64 && apt-get update -qq &&
        apt-get install -y -qq --no-install-recommends $(packages | tr '\n' ' ')" DEBIAN_FRONTEND=noninteractive >>"$root.log" 2>&1 || {
        tail -5 "$root.log" >&2
        exit 1
    }
    touch "$root/.made"
fi

export root_binds="$source=src"
in_root "$root" "cd /src && cmake --preset aarch64 >build/aarch64-configure.log &&
    cmake --build --preset aarch64 --target all tests/all -- ${NTK_BUILD_FLAGS:---quiet}" NTK_AARCH64_ROOT=
[ "${1:-}" != -b ] || exit 0
# The ELF header of a program for AArch64. The emulator is static: its own loader would use LD_PRELOAD and LD_AUDIT, too.
export root_emulator=':qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64-static:P'
export -f in_root
export NTK_TEST_PATIENCE=${NTK_TEST_PATIENCE:-10} # an emulated program is about ten times slower
# The user namespace has the users of this machine, which root may map.
unshare --user sleep infinity &
users=$!
trap 'kill $users' EXIT
until [ "$(readlink /proc/$users/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.1; done
for map in uid_map gid_map; do echo '0 0 65536' >/proc/$users/$map; done
nsenter --user --target $users unshare --mount bash -euc 'root=$1 && shift &&
    in_root "$root" "cd /src && ctest --preset aarch64 --timeout $((600 * NTK_TEST_PATIENCE)) ${*@Q}" "NTK_TEST_PATIENCE=$NTK_TEST_PATIENCE"' \
    aarch64 "$root" "$@"
