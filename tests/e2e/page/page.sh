#!/bin/bash
# page - a real browser shows a live agent: the page shows the figures of the reports and the database, works by
# keyboard, and does not violate its content policy. Pictures are saved in $NTK_SCREENSHOTS if it is set.
. "$(dirname "$0")/../lib.sh"
needs_browser
needs python3 jq

agent_is_up() { grep -q 'http: listening on port' agent.log && [ -s reports.jsonl ] && echo yes; }
neuron-packager example memcpy -o memcpy.neff
neuron-packager example nan -o nan.neff
neuron-monitor --period 500ms --http 0 --db t.db --verbose 1 >reports.jsonl 2>agent.log &
agent=$!
wait_for agent_is_up
port=$(sed -n 's/.*http: listening on port //p' agent.log)
NEURON_PROCESS_TAG='<b>page&test' neuron-bench exec memcpy.neff --cores 0 --duration 900s --rate 200 >/dev/null 2>&1 &
NEURON_PROCESS_TAG=broken neuron-bench exec nan.neff --cores 1 --duration 900s --rate 10 >/dev/null 2>&1 &
python3 "$NTK_SOURCE_DIR/tests/e2e/page/page.py" "$browser" "$scratch/profile" "http://127.0.0.1:$port/" reports.jsonl ||
    fail "see above"
kill -TERM "$agent"
wait "$agent" || fail "neuron-monitor exited with $?"
