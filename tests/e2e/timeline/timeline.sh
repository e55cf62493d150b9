#!/bin/bash
# timeline - a real browser shows the timeline of a capture and of a large generated trace: the page shows what the
# programs print, every gesture and key has the effect described in the help, and nothing violates the content policy.
# Pictures are saved in $NTK_SCREENSHOTS if it is set.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3 jq

server_is_up() { [ -s server.log ] && echo yes; }
# view LOG ARGUMENT...: serves a page; sets $address.
view() {
    local log=$1
    shift
    neuron-profile view --port 0 --no-open "$@" >"$log" 2>"$log.err" &
    view=$!
    is_up() { grep -q '^View profile at ' "$log" && echo yes; }
    wait_for is_up
    address=$(sed -n 's/^View profile at //p' "$log")
}
neuron-packager example attention -o attention.neff
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null
neuron-profile view -s attention.ntff -n attention.neff --output-format summary-json >summary.json
neuron-profile analyze -s attention.ntff -n attention.neff --json >analyses.json
neuron-packager example mlp -s 128 -o mlp.neff
neuron-profile capture -n mlp.neff -s mlp.ntff >/dev/null
neuron-profile diff attention.ntff mlp.ntff -n attention.neff --neff-after mlp.neff --json >diff.json
neuron-profile inspect -o inspected --capture-system-profiles --capture-device-profiles -- \
    neuron-bench exec attention.neff --count 5 >/dev/null 2>&1
view folder.log -d inspected -n attention.neff
folder=$address
view compare.log -s attention.ntff -n attention.neff --compare mlp.ntff --compare-neff mlp.neff
compare=$address
view bare.log -s attention.ntff -n -
bare=$address
view view.log -s attention.ntff -n attention.neff
mkfifo hold
"$NTK_BIN_DIR/../tests/timeline_server" 100000 <hold >server.log &
exec 9>hold
wait_for server_is_up
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/timeline.py" "$browser" "$scratch/profile" "$address" summary.json analyses.json \
    "$(cut -d' ' -f1 server.log)" "$folder" "$compare" diff.json "$bare" 9>&- || fail "see above"
kill -TERM "$view"
wait "$view" || fail "neuron-profile exited with $?"
