#!/bin/bash
# source - a real browser shows the source of a kernel next to its capture: what lines and loops cost is what
# `neuron-profile lines` says, a line marks its instructions, and a selected instruction its line. Served and as a file.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3
theirs=${NTK_VENDOR_CAPTURES:+$NTK_VENDOR_CAPTURES/v6_attn_tkg}
[ -n "$theirs" ] && [ -e "$theirs.ntff" ] || skip "no capture that has source lines"

address_is_there() { grep -q '^View profile at ' view.log && echo yes; }
mkdir -p src/agents
for ((i = 1; i <= 640; i++)); do
    echo "    text_of($i)"
done >src/agents/v6_ultimate.py
neuron-profile lines -s "$theirs.ntff" -n "$theirs.neff" --json >lines.json
neuron-profile lines -s "$theirs.ntff" -n "$theirs.neff" --loops --json >loops.json
neuron-profile view -s "$theirs.ntff" -n "$theirs.neff" --nki-source-root src --output-format html --output-file a.html 2>html.err ||
    fail "no file: $(cat html.err)"
mkdir empty
neuron-profile view -s "$theirs.ntff" -n "$theirs.neff" --nki-source-root empty --output-format html --output-file bare.html
neuron-profile view -s "$theirs.ntff" -n "$theirs.neff" --nki-source-root src --port 0 --no-open >view.log 2>view.err &
pids+=("$!")
wait_for address_is_there
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/source.py" "$browser" "$scratch/profile" lines.json loops.json \
    "file://$PWD/bare.html" "$(sed -n 's/^View profile at //p' view.log)" "file://$PWD/a.html" || fail "see above"
