#!/bin/bash
# seen - executions of popef_run are in the reports of neuron-monitor, and an inspection captures them.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq
popef_make example accumulate -o sum.popef
head -c 4000 /dev/zero >steps.raw # 500 iterations

neuron-monitor --period 200ms >out.jsonl 2>monitor.err &
monitor=$!
wait_for has_reports out.jsonl
NEURON_PROCESS_TAG=popef popef_run sum.popef -i step=steps.raw --json >run.json
[ "$(jq .executions run.json)" = 500 ] || fail "expected 500 executions: $(cat run.json)"
all_there() { [ "$(completed_in_reports out.jsonl)" = 500 ] && echo yes; }
wait_for all_there
jq -se '[.[].neuron_runtime_data[] | .neuron_runtime_tag] | unique == ["popef"]' out.jsonl >/dev/null ||
    fail "unexpected result for another process: $(jq -c '.neuron_runtime_data[].neuron_runtime_tag' out.jsonl)"
kill -TERM "$monitor"
wait "$monitor" || fail "neuron-monitor exited with $?"

NEURON_RT_INSPECT_ENABLE=1 NEURON_RT_INSPECT_DEVICE_PROFILE=1 NEURON_RT_INSPECT_OUTPUT_DIR=seen popef_run sum.popef --calls 3 >/dev/null
[ -n "$(find seen -name '*.ntff')" ] || fail "no capture: $(find seen | head -20)"
capture=$(find seen -name '*.ntff' | head -1)
neuron-profile view -s "$capture" --output-format summary-json >summary.json || fail "the capture cannot be read"
jq -e . summary.json >/dev/null || fail "no summary: $(head -c 300 summary.json)"
