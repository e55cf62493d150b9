#!/bin/bash
# frameworks - the order in which a framework calls, with four threads; what it counts is what the daemon, the reports of
# a monitor and its database count.
. "$(dirname "$0")/daemon.sh"
needs jq
mkdir neffs
"$NTK_BUILD_DIR/tests/rtd_neffs" neffs
start
printf '%s' '{"period":"1s","neuron_runtimes":[{"address":"unix:'"$socket"'","metrics":[{"type":"execution_stats"}]}]}' >monitor.json
neuron-monitor -c monitor.json --db metrics.db >reports.jsonl 2>agent.log &
monitor=$!
pids+=("$monitor")
wait_for has_reports reports.jsonl
"$python" "$(dirname "$0")/frameworks.py" "unix:$socket" generated neffs >client.log 2>&1 || fail "see client.log and rtd.log"
counted=$(sed -n 's/^frameworks.py: completed //p' client.log)
[ "$counted" = 240 ] || fail "the client counts $counted"
everything_is_reported() { [ "$(completed_in_reports reports.jsonl)" = "$counted" ] && echo yes; }
wait_for everything_is_reported
kill "$monitor"
wait "$monitor" || true
stored=$(neuron-monitor query executions --db metrics.db --json | jq 'map(.completed) | add')
[ "$stored" = "$counted" ] || fail "the client counts $counted, the database has $stored"
kill "$rtd"
wait "$rtd" || fail "SIGTERM: exit code $?"
