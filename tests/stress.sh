#!/bin/bash
# stress - runs the tests repeatedly while other work keeps the processors and the disk busy, and counts the failures
# of each test. It is not part of ./dev test.
#
#   tests/stress.sh [-n ROUNDS] [-s SPINNERS] [-p PRESET] [TEST...]
#
# TEST is a regular expression over test names; without one, the tests of ./dev test run. Build the preset first (./dev test).
# The exit code is 1 if a test failed in any round.
set -euo pipefail
rounds=10 spinners=4 preset=dev
while getopts n:s:p: option; do
    case $option in
    n) rounds=$OPTARG ;;
    s) spinners=$OPTARG ;;
    p) preset=$OPTARG ;;
    *)
        sed -n 's/^#   /usage: /p' "$0" >&2
        exit 2
        ;;
    esac
done
shift $((OPTIND - 1))
cd "$(dirname "$(readlink -f "$0")")/.."

out=build/$preset/stress
rm -rf "$out"
mkdir -p "$out"
load=()
trap 'kill "${load[@]}" 2>/dev/null || true; rm -f "$out/written"' EXIT
for ((i = 0; i < spinners; i++)); do
    while :; do :; done &
    load+=($!)
done
while :; do dd if=/dev/zero of="$out/written" bs=1M count=256 conv=fsync 2>/dev/null; done &
load+=($!)

jobs=$((8 * $(nproc))) # as ./dev test does
jobs=$((jobs < 32 ? jobs : 32))
selection=(--label-exclude '^long$')
[ $# = 0 ] || selection=(-R "$(IFS='|'; echo "$*")")
for ((round = 1; round <= rounds; round++)); do
    begun=$SECONDS
    ctest --preset "$preset" --parallel "$jobs" --timeout $((600 * ${NTK_TEST_PATIENCE:-1})) "${selection[@]}" >"$out/round-$round.log" 2>&1 || true
    sed -n 's/^\t *[0-9]* - \([^ ]*\) (\(Failed\|Timeout\|SEGFAULT\|Not Run\|.*Exception.*\)).*/\1/p' "$out/round-$round.log" >"$out/failed-$round"
    grep -q '^100% tests passed\|tests passed, ' "$out/round-$round.log" || {
        tail -3 "$out/round-$round.log" >&2
        exit 1
    }
    printf 'round %d of %d: %d failed, %d s\n' $round "$rounds" "$(wc -l <"$out/failed-$round")" $((SECONDS - begun))
done
failed=$(sort "$out"/failed-* | uniq -c | sort -rn)
[ -z "$failed" ] || printf 'failures by test (logs in %s):\n%s\n' "$out" "$failed"
[ -z "$failed" ]
