#!/bin/bash
# run - every measurement of tests/bench against a built preset: run.sh BUILD [NAME...]. A bench
# prints lines of figures and ratios; exit 77 means that its peer is absent.
set -u
build=$(readlink -f "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
export NTK_BIN_DIR=$build/bin NTK_LIB_DIR=$build/lib NTK_BENCH_DIR=$build/bench NTK_BUILD_DIR=$build
export OPENBLAS_NUM_THREADS=1
failed=0
ran=0

wanted() { # name, wanted names...
    local name=$1 want
    shift
    [ $# -gt 0 ] || return 0
    for want in "$@"; do
        case $name in *"$want"*) return 0 ;; esac
    done
    return 1
}

for bench in "$build"/bench/bench_* "$here"/bench_*.sh; do
    [ -f "$bench" ] && [ -x "$bench" ] || continue
    name=$(basename "$bench" .sh)
    wanted "$name" "$@" || continue
    printf '== %s\n' "$name"
    "$bench"
    case $? in
    0) ran=$((ran + 1)) ;;
    77) printf '   skipped: a peer is absent\n' ;;
    *)
        failed=1
        printf '   FAILED\n'
        ;;
    esac
done
if [ $ran = 0 ]; then
    echo "no bench ran" >&2
    failed=1
fi
exit $failed
