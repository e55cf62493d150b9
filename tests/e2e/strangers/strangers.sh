#!/bin/bash
# strangers - files in the folder of segments that belong to another user or cannot be read: reported once, absent
# from all outputs, never removed, and the applications next to them are reported as usual.
. "$(dirname "$0")/../lib.sh"
needs jq curl sqlite3

neuron-packager example memcpy -o memcpy.neff
NEURON_PROCESS_TAG=mine neuron-bench exec memcpy.neff --duration 600s --rate 100 >bench.out 2>&1 &
bench=$!
wait_for has_segment

# A valid segment that no other user may read; root may read it, so there it belongs to another user.
stranger=$NEURON_HOOKS_DIR/4242-4242
cp "$(segment)" "$stranger"
if [ "$(id -u)" = 0 ]; then chown 65534 "$stranger"; else chmod 000 "$stranger"; fi

neuron-monitor --period 200ms --db t.db --prometheus 127.0.0.1:0 --verbose 1 >reports.jsonl 2>agent.log &
agent=$!
reports_of_mine() { [ "$(jq -r '.neuron_runtime_data[].neuron_runtime_tag' reports.jsonl 2>/dev/null | grep -c '^mine$')" -ge 10 ] && grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for reports_of_mine
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
curl -sf "http://127.0.0.1:$port/metrics" >metrics
grep -q 'runtime_tag="mine"' metrics || fail "the page lacks the application"

kill -TERM "$bench"
wait "$bench" || fail "neuron-bench exited with $?"
has_ended() { [ "$(sqlite3 -readonly t.db 'SELECT count(*) FROM process WHERE ended_ns IS NOT NULL')" = 1 ] && echo yes; }
wait_for has_ended
kill -TERM "$agent"
wait "$agent" || fail "neuron-monitor exited with $?"

[ "$(grep -c '/4242-4242' agent.log)" = 1 ] || fail "the stranger is not reported exactly once"
[ -e "$stranger" ] || fail "a file of another user was removed"
[ "$(jq -r '.neuron_runtime_data[].neuron_runtime_tag' reports.jsonl | sort -u)" = mine ] || fail "reports have more than the application"
[ "$(sqlite3 -readonly t.db 'SELECT count(*) FROM process')" = 1 ] || fail "the database has more than the application"
[ "$(completed_in_reports reports.jsonl)" = "$(sqlite3 -readonly t.db 'SELECT (SELECT sum(completed) FROM execution_sample)
    + (SELECT coalesce(sum(completed), 0) FROM unwatched)')" ] || fail "reports and database differ"
valid_reports reports.jsonl
