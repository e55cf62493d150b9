#!/bin/bash
# fresh.sh [-k] [SUITE...] - runs ./dev demo and ./dev test on bare systems, Debian 12 and 13 or the named SUITEs of
# Debian, as debootstrap creates them, plus only what ./dev installs itself. Takes an hour and 6 GB per system, and
# requires root. $NTK_FRESH_RUN replaces the commands. -k keeps the systems; they are below $TMPDIR (default
# /var/tmp).
set -euo pipefail
source=$(dirname "$(dirname "$(readlink -f "$0")")")
. "$source/cmake/package/root.sh"
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
    root=$roots/$suite code=0
    make_root "$suite" "$root" "$roots/$suite.log" || code=$?
    [ $code != 2 ] || skip "$ntk_mirror has no $suite, or is out of reach"
    if [ $code = 0 ]; then
        copy_sources "$source" "$root/src"
        echo "fresh: $suite: $run"
        in_root "$root" "cd /src && $run" ${NTK_BUILD_FLAGS:+NTK_BUILD_FLAGS="$NTK_BUILD_FLAGS"} || code=$?
    fi
    [ "$code" = 0 ] || failed+=("$suite")
    echo "fresh: $suite: exit code $code"
    [ -n "$keep" ] || rm -rf --one-file-system "$root"
done
[ ${#failed[@]} = 0 ] || {
    echo "fresh: failed: ${failed[*]}"
    exit 1
}
