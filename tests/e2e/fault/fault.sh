#!/bin/bash
# fault - reports, /metrics and the device tree show what NEURON_SOFT_FAULT injects.
. "$(dirname "$0")/../lib.sh"
needs jq curl sqlite3

is() { [ "$("${@:2}")" = "$1" ] && echo yes; } # is VALUE COMMAND...
in_reports() {
    jq -s "[.[].system_data.neuron_hw_counters.neuron_devices // [] | .[].$1] | add // 0" out.jsonl
}
in_errors() {
    jq -s "[.[].neuron_runtime_data[].report.execution_stats.error_summary.$1] | add // 0" out.jsonl
}
in_tree() { cat "$NEURON_HOOKS_DIR/soft/sys/devices/virtual/neuron_device/neuron0/stats/hardware/$1"; }
port() { sed -n 's/.*serving metrics on port //p' out.log; }
metric() { curl -sf "http://127.0.0.1:$(port)/metrics" | sed -n "s/^$1{.*$2.*} //p" | head -1; }
is_up() { [ -s out.jsonl ] && [ -n "$(port)" ] && echo yes; }

neuron-packager example memcpy -o memcpy.neff
# The agent counts from its first reading, so the tree must exist before that.
neuron-bench machine
cat >config.json <<'END'
{"period": "200ms",
 "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": "execution_stats"},
                                                              {"type": "neuroncore_counters"}]}],
 "system_metrics": [{"type": "neuron_hw_counters"}]}
END
neuron-monitor -c config.json --prometheus 127.0.0.1:0 --verbose 1 >out.jsonl 2>out.log &
first=$!
wait_for is_up

# 300 executions on one core: 30 x 2 corrected bits, 12 of the SRAM, 5 overflows (and one with the error that ends
# the last).
NEURON_RT_LOG_LEVEL=QUIET NEURON_SOFT_FAULT='hbm-ue:at=300;mem-ecc-corrected:every=10,amount=2;sram-ecc-corrected:every=25;nq-overflow:every=50' \
    neuron-bench exec memcpy.neff --cores 0 --count 300 --rate 400 --json >bench.json && fail "no execution failed" || true

wait_for is 60 in_tree mem_ecc_corrected
wait_for is 12 in_tree sram_ecc_corrected
wait_for is 1 in_tree mem_ecc_uncorrected
wait_for is 60 in_reports mem_ecc_corrected
wait_for is 12 in_reports sram_ecc_corrected
wait_for is 1 in_reports mem_ecc_uncorrected
wait_for is 1 in_errors hardware
wait_for is 5 in_errors runtime
wait_for is 60 metric hardware_ecc_events_total mem_ecc_corrected
wait_for is 1 metric hardware_ecc_events_total mem_ecc_uncorrected

# A process that corrects a bit with every execution does not hide the only failure of another, in reports or in the
# database.
neuron-monitor --db many.db >many.jsonl 2>many.log &
agent=$!
in_database() { sqlite3 -readonly many.db "SELECT count(*) FROM error_log JOIN process USING (process_id) WHERE pid = $1 AND error_class = '$2'" 2>/dev/null; }
has_many() { [ "$(in_database "$1" mem_ecc_corrected)" -ge "$2" ] && echo yes; }
wait_for is 0 in_database 0 none
NEURON_RT_LOG_LEVEL=QUIET NEURON_SOFT_FAULT='mem-ecc-corrected:every=1' neuron-bench exec memcpy.neff --cores 0 --count 2000000 >/dev/null 2>&1 &
many=$!
wait_for has_many "$many" 10
NEURON_RT_LOG_LEVEL=QUIET NEURON_SOFT_FAULT='hbm-ue:at=1' neuron-bench exec memcpy.neff --cores 1 --count 1 >/dev/null 2>&1 &
only=$!
wait_for is 1 in_database "$only" mem_ecc_uncorrected
kill "$many"
kill "$agent"
wait "$agent" || fail "the agent failed"
jq -se "[.[].neuron_ext.events // [] | .[] | select(.pid == $only)] | length > 0" many.jsonl >/dev/null || fail "reports hide the only error"

# What the driver counts while no agent runs is in the totals and in the database; the vendor's series counts only
# periods.
wait "$many" || true
before=$(in_tree mem_ecc_corrected)
in_rows() { sqlite3 -readonly many.db "SELECT sum(mem_ecc_corrected) FROM device_sample WHERE device = 0"; }
rows=$(in_rows)
known=$(sqlite3 -readonly many.db "SELECT counter FROM ecc_total WHERE device = 0 AND event = 'mem_ecc_corrected'")
NEURON_RT_LOG_LEVEL=QUIET NEURON_SOFT_FAULT='mem-ecc-corrected:every=1' neuron-bench exec memcpy.neff --cores 0 --count 12 >/dev/null
wait_for is $((before + 12)) in_tree mem_ecc_corrected
neuron-monitor --db many.db --prometheus 127.0.0.1:0 --verbose 1 >again.jsonl 2>again.log &
again=$!
port() { sed -n 's/.*serving metrics on port //p' again.log; }
wait_for is $((before + 12)) metric neurondevice_ecc_events_total mem_ecc_corrected
[ "$(metric hardware_ecc_events_total mem_ecc_corrected)" = 0 ] || fail "the vendor's series counts earlier errors"
wait_for is $((rows + before + 12 - known)) in_rows
kill "$again"
wait "$again" || fail "the agent failed"

# A hanging core is busy with one execution, and none ends, until the limit; then the execution times out.
hangs() { # the utilization of core 1 while no execution has ended there
    jq -s '[.[].neuron_runtime_data[].report
            | select(.execution_stats.execution_summary.timed_out == 0)
            | .neuroncore_counters.neuroncores_in_use["1"].neuroncore_utilization // 0] | max // 0 | . > 95' out.jsonl
}
timed_out() { jq -s '[.[].neuron_runtime_data[].report.execution_stats.execution_summary.timed_out // 0] | add' out.jsonl; }
NEURON_RT_LOG_LEVEL=QUIET NEURON_RT_EXEC_TIMEOUT=10000 NEURON_SOFT_FAULT='hang:at=1' \
    neuron-bench exec memcpy.neff --cores 1 --count 1 >/dev/null 2>&1 &
hung=$!
wait_for is true hangs
kill -9 "$hung"
wait "$hung" 2>/dev/null || true
NEURON_RT_LOG_LEVEL=QUIET NEURON_RT_EXEC_TIMEOUT=1 NEURON_SOFT_FAULT='hang:at=1' \
    neuron-bench exec memcpy.neff --cores 1 --count 1 >/dev/null 2>&1 && fail "a hang: expected a failure, found success" || true
wait_for is 1 timed_out
kill "$first"
wait "$first" || fail "the agent failed"
valid_reports out.jsonl
