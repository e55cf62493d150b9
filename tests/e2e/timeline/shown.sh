#!/bin/bash
# shown - the timeline page shows what the trace contains: rows of a generated trace look alike wherever they are,
# colours match the legend, the line below the rows names the window, gaps link to their place, and counts are those
# of events.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3 jq

server_is_up() { [ -s server.log ] && echo yes; }
is_up() { grep -q '^View profile at ' view.log && echo yes; }
neuron-packager example attention -o attention.neff
neuron-profile capture -n attention.neff -s attention.ntff >/dev/null
neuron-profile analyze -s attention.ntff -n attention.neff --limit 100 --json bubbles >bubbles.json
neuron-profile analyze -s attention.ntff -n attention.neff --json what-if >what-if.json
neuron-profile view -s attention.ntff -n attention.neff --output-format summary-json >summary.json
neuron-profile view -s attention.ntff -n attention.neff --output-format folded --output-file attention.folded
neuron-profile view attention.ntff --port 0 --no-open >view.log 2>view.err &
# Two ranks, served and as one file.
neuron-profile inspect -o world -- sh -c 'for rank in 0 1; do
        NEURON_RT_VISIBLE_CORES=$rank "$NTK_BIN_DIR/../tests/tests_profiler_collective_rank" $rank 2 5 || exit 1 &
        ranks="$ranks $!"
    done; for rank in $ranks; do wait $rank || exit 1; done' >/dev/null 2>err || fail "one of the two ranks failed"
neuron-profile view -d world --output-format html --output-file world.html 2>err || fail "cannot write the ranks to a file"
[ ! -s err ] || fail "html printed a message"
neuron-profile view -d world --port 0 --no-open >world.log 2>err &
world_is_up() { grep -q '^View profile at ' world.log && echo yes; }
wait_for world_is_up
mkfifo hold
"$NTK_BIN_DIR/../tests/timeline_server" 1000 <hold >server.log &
exec 9>hold
wait_for server_is_up
wait_for is_up
python3 "$NTK_SOURCE_DIR/tests/e2e/timeline/shown.py" "$browser" "$scratch/profile" "$(cut -d' ' -f1 server.log)" \
    "$(sed -n 's/^View profile at //p' view.log)" bubbles.json what-if.json summary.json \
    "$(sed -n 's/^View profile at //p' world.log)" world.html attention.folded 9>&- || fail "see above"
