#!/bin/bash
# timeline - a real browser shows the timeline of a capture and of a large trace by construction: what stands on
# the page is what the programs say, every gesture and key does what the help says, and nothing breaks the policy.
# Pictures go to $NTK_SCREENSHOTS where that is set.
. "$(dirname "$0")/../lib.sh"
browser=
for name in chromium-headless-shell chromium; do
    browser=${browser:-$(command -v "$name" || true)}
done
[ -n "$browser" ] || exit 77
needs python3 jq

address_is_there() { grep -q '^View profile at ' view.log && echo yes; }
server_is_up() { [ -s server.log ] && echo yes; }
neuron-packager example attention -o attention.neff
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null
neuron-profile view -s attention.ntff -n attention.neff --output-format summary-json >summary.json
neuron-profile analyze -s attention.ntff -n attention.neff --json >analyses.json
neuron-profile view -s attention.ntff -n attention.neff --port 0 --no-open >view.log &
view=$!
pids+=("$view")
wait_for address_is_there
mkfifo hold
"$NTK_BIN_DIR/../tests/timeline_server" 100000 <hold >server.log &
pids+=($!)
exec 9>hold
wait_for server_is_up
address=$(sed -n 's/^View profile at //p' view.log)
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/timeline.py" "$browser" "$scratch/profile" "$address" summary.json analyses.json \
    "$(cut -d' ' -f1 server.log)" 9>&- || fail "see above"
kill -TERM "$view"
wait "$view" || fail "neuron-profile ended with $?"
