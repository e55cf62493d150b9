#!/bin/bash
# bench_hosts - what neuron-top takes to show 64 hosts for ten seconds, and whether each round had a new report of each.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command -v python3 >/dev/null && command -v jq >/dev/null || exit 77
scratch=$(mktemp -d)
trap 'kill "$fakes" 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"
"$NTK_BIN_DIR/neuron-monitor" --once --period 100ms >report
python3 "$here/../top/fake_agents.py" report $(yes good | head -64) >ports &
fakes=$!
until grep -sx end ports >/dev/null; do sleep 0.05; done
sed '/end/d; s/^/127.0.0.1:/' ports >hosts
TIMEFORMAT='%R %U %S'
{ time "$NTK_BIN_DIR/neuron-top" --hosts hosts --json --batch --count 11 >frames; } 2>times
read -r real user system <times
jq -s -r --arg real "$real" --arg cpu "$(awk '{ print $2 + $3 }' times)" --arg bytes "$(wc -c <report)" '
    "64 hosts, reports of \($bytes) bytes, \(length) frames in \($real) s: \($cpu) s of CPU, " +
    "\([.[] | .hosts | map(.reports) | max - min] | max) reports between the first and the last host"' frames
