#!/bin/bash
# fresh.sh [-k] [SUITE...] - runs ./dev demo and ./dev test on bare systems, Debian 12 and 13 or the named SUITEs of
# Debian, as debootstrap creates them, plus only what ./dev installs itself. Takes an hour and 6 GB per system, and
# requires root. $NTK_FRESH_RUN replaces the commands. -k keeps the systems; they are below $TMPDIR (default
# /var/tmp).
set -euo pipefail
source=$(dirname "$(dirname "$(readlink -f "$0")")")
mirror=${NTK_FRESH_MIRROR:-http://deb.debian.org/debian}
run=${NTK_FRESH_RUN:-./dev demo && ./dev test}
keep=
[ "${1:-}" != -k ] || { keep=1 && shift; }
[ $# -gt 0 ] || set -- bookworm trixie
skip() {
    echo "skipped: $*"
    exit 77
}
[ "$(id -u)" = 0 ] || skip "only root makes bare systems"
command -v debootstrap >/dev/null || skip "debootstrap is missing"

roots=$(mktemp -d "${TMPDIR:-/var/tmp}/ntk-fresh-XXXXXX")
trap '[ -n "$keep" ] || rm -rf --one-file-system "$roots"' EXIT
failed=()
for suite; do
    root=$roots/$suite
    if ! debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$roots/$suite.log" 2>&1; then
        # The release file is fetched first.
        ! grep -q '^E: Failed getting release file' "$roots/$suite.log" || skip "$mirror has no $suite, or is out of reach"
        tail -20 "$roots/$suite.log" >&2
        failed+=("$suite")
        continue
    fi
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # no service starts
    chmod +x "$root/usr/sbin/policy-rc.d"
    # Files outside the repository are not copied.
    mkdir "$root/src"
    if [ -e "$source/.git" ]; then
        (cd "$source" && git ls-files -z --cached --others --exclude-standard | tar -c --null -T - --ignore-failed-read) | tar -x -C "$root/src"
    else
        tar -C "$source" -c --exclude=./build . | tar -x -C "$root/src"
    fi
    echo "fresh: $suite: $run"
    # Mounts and processes are in a namespace, so that none remain however this script ends.
    code=0
    unshare --mount --pid --fork --kill-child bash -euc '
        mount --make-rprivate /
        mount -t proc proc "$1/proc"
        mount -t sysfs -o ro sysfs "$1/sys"
        mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
        mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
        ln -sfn pts/ptmx "$1/dev/ptmx"
        exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb LANG=C.UTF-8 \
            ${NTK_BUILD_FLAGS:+NTK_BUILD_FLAGS="$NTK_BUILD_FLAGS"} chroot "$1" sh -c "cd /src && $2"' fresh "$root" "$run" || code=$?
    [ "$code" = 0 ] || failed+=("$suite")
    echo "fresh: $suite: exit code $code"
    [ -n "$keep" ] || rm -rf --one-file-system "$root"
done
[ ${#failed[@]} = 0 ] || {
    echo "fresh: failed: ${failed[*]}"
    exit 1
}
