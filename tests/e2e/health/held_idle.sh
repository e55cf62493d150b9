#!/bin/bash
# held_idle - how long a core that a process holds has been idle: the time grows between executions, restarts with
# each, counts only cores held by one process, and ends with the process.
. "$(dirname "$0")/../lib.sh"
needs jq curl

neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period 100ms --prometheus 127.0.0.1:0 --no-imds --verbose 1 2>agent.log >reports.jsonl &
is_up() { grep -q 'serving metrics on port' agent.log && echo yes; }
wait_for is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
# All series of the metric.
series() { curl -sf "http://127.0.0.1:$port/metrics" | grep '^neuroncore_held_idle_seconds{' || true; }
value() { series | sed -n 's/.*neuroncore="1".*runtime_tag="held".* //p'; }
above() { awk -v a="$(value)" -v b="$1" 'BEGIN { if (a != "" && a > b) print "yes" }'; }
below() { awk -v a="$(value)" -v b="$1" 'BEGIN { if (a != "" && a < b) print "yes" }'; }

[ -z "$(series)" ] || fail "expected no series without a process, found: $(series)"
NEURON_PROCESS_TAG=held neuron-bench exec memcpy.neff --cores 1 --duration 600s --rate 0.5 >/dev/null 2>&1 &
job=$!
wait_for above 1
wait_for below 0.9
wait_for above 1
[ "$(series | wc -l)" = 1 ] || fail "expected no series of free cores, found: $(series)"
tail -n 2 reports.jsonl | sed -n 1p | jq -e '.neuron_runtime_data[0].report.neuron_ext.neuroncores | has("1") and (.["1"].held_idle_ns >= 0)' >/dev/null ||
    fail "unexpected output: $(tail -1 reports.jsonl)"
sed '$d; 10q' reports.jsonl >whole.jsonl # the last line may still be incomplete
valid_reports whole.jsonl
kill -9 "$job"
is_gone() { [ -z "$(value)" ] && echo yes; }
wait_for is_gone
