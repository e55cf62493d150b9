#!/bin/bash
# run - measurements of tests/bench against a built preset: run.sh [--smoke | --page FILE] BUILD [NAME...]. NAME is a
# bench, or a part of its name after "bench_". Ends with a table of all targets of these benches. --smoke: one short
# round without verdicts. A bench must then print the targets that targets.txt lists for it. --page FILE: also write
# their targets to FILE, a page with machine and dates, which keeps the sections of other benches.
set -u
smoke='' page=''
case $1 in
--smoke) smoke=1 && shift ;;
--page) page=$(realpath "$2") && shift 2 ;;
esac
build=$(readlink -f "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
export NTK_BIN_DIR=$build/bin NTK_LIB_DIR=$build/lib NTK_BENCH_DIR=$build/bench NTK_BUILD_DIR=$build
export NTK_SOURCE_DIR=${here%/tests/bench} NTK_BENCH_SMOKE=$smoke OPENBLAS_NUM_THREADS=1
failed=0 skipped=0 ran=0

# Seconds after which a bench is stopped, several times its time on two idle cores. NTK_TEST_PATIENCE multiplies
# them, NTK_BENCH_LIMIT replaces them.
declare -A limits=([bench_agent_full]=900 [bench_large]=1800 [bench_lines]=900 [bench_ranks]=1800 [bench_scale]=1800
    [bench_store]=900 [bench_top]=600 [bench_trace]=900)
limit_of() {
    local usual=${limits[$1]:-300}
    [ -z "$smoke" ] || usual=150 # what waits for a state names it after 120
    echo $((${NTK_BENCH_LIMIT:-$usual} * ${NTK_TEST_PATIENCE:-1}))
}

# wanted BENCH NAME...
wanted() {
    local bench=$1 name
    shift
    [ $# -gt 0 ] || return 0
    for name in "$@"; do
        case $name in
        bench_*) [ "$bench" != "$name" ] || return 0 ;;
        *) [[ $bench != *"$name"* ]] || return 0 ;;
        esac
    done
    return 1
}

# cause_of CODE SECONDS: why the bench $name failed, in one line.
cause_of() {
    case $1 in
    124 | 137) echo "timed out after $2 s" ;;
    12[89] | 1[3-9]?) echo "killed by SIG$(kill -l $(($1 - 128)))" ;;
    *) grep "^$name: " "$work/err" | head -1 | grep . || tail -1 "$work/err" | grep . || echo "exit code $1" ;;
    esac
}

# The scratch folders of benches are in here: a killed bench cannot remove its own.
work=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-XXXXXX")
child=
trap 'rm -rf "$work"' EXIT
trap '[ -z "$child" ] || kill "$child"; exit 130' INT TERM

for bench in "$build"/bench/bench_* "$here"/bench_*.sh; do
    [ -f "$bench" ] && [ -x "$bench" ] && [[ $bench != *.so* ]] || continue
    name=$(basename "$bench" .sh)
    wanted "$name" "$@" || continue
    printf '== %s\n' "$name"
    mkdir "$work/tmp"
    limit=$(limit_of "$name")
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    TMPDIR=$work/tmp timeout -k 10 "$limit" "$bench" >"$work/out" 2>"$work/err" </dev/null &
    child=$!
    wait "$child"
    code=$?
    child=
    cat "$work/out"
    cat "$work/err" >&2
    cause="not printed"
    case $code in
    0) ran=$((ran + 1)) ;;
    77)
        skipped=$((skipped + 1))
        cause=$(sed -n 's/^skipped: //p' "$work/out" | tail -1)
        ;;
    *)
        failed=1
        cause=$(cause_of $code "$limit")
        printf 'FAILED: %s: %s\n' "$name" "${cause#"$name": }" >&2
        ;;
    esac
    awk -f "$here/targets.awk" -v bench="$name" -v cause="$cause" "$work/out" "${NTK_BENCH_TARGETS:-$here/targets.txt}" >"$work/targets"
    if [ -n "$smoke" ] && [ $code = 0 ] && grep -E $'^(unlisted|not measured: not printed)\t' "$work/targets" >&2; then
        echo "FAILED: $name: its targets are not those of targets.txt" >&2
        failed=1
    fi
    sed "s/\$/\t$load/" "$work/targets" >>"$work/table"
    rm -rf "$work/tmp"
done

if [ -z "$smoke" ] && [ -s "$work/table" ]; then
    printf '== targets\n'
    awk -F '\t' '
        {
            kind = $1
            sub(/(:| \().*/, "", kind)
            count[kind]++
            note = substr($1, length(kind) + 1)
            sub(/^(: | )/, $4 == "" ? "" : "  ", note)
            lines[kind] = lines[kind] sprintf("%-12s  %-20s  %-56s  %s%s\n", kind, substr($2, 7), $3, $4, note)
        }
        END {
            split("missed,not measured,within noise,met,unlisted", kinds, ",")
            for (i = 1; i <= 5; i++) {
                printf "%s", lines[kinds[i]]
            }
            printf "%d met, %d within noise, %d missed, %d not measured\n", count["met"], count["within noise"],
                count["missed"], count["not measured"]
        }' "$work/table"
    if [ -n "$page" ]; then
        touch "$page"
        awk -f "$here/page.awk" -v date="$(date -u +%F)" -v known=" $(sed 's/:.*//' "${NTK_BENCH_TARGETS:-$here/targets.txt}" | sort -u | tr '\n' ' ')" \
            -v machine="$(sed -n 's/^model name\t*: //p' /proc/cpuinfo | head -1), $(nproc) processors" \
            -v os="$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), Linux $(uname -r) $(uname -m)" \
            "$page" "$work/table" >"$work/page" && cat "$work/page" >"$page" || failed=1
    fi
fi
if [ $ran = 0 ] && [ $failed = 0 ]; then
    [ -z "$smoke" ] || [ $skipped = 0 ] || exit 77
    echo "no bench ran" >&2
    failed=1
fi
exit $failed
