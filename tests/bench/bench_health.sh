#!/bin/bash
# bench_health - how soon after a fault the agent reports it, over faults of one device after another, and what fault
# detection costs an idle agent on the largest machine. BENCH_ROUNDS (12) faults.
. "$(dirname "$0")/lib.sh"
needs jq neuron-monitor neuron-bench neuron-packager
rounds=${BENCH_ROUNDS:-$(size 12 1)}
seconds=$(size 10 0.2)

export NEURON_SOFT_INSTANCE=$(size inf2.48xlarge inf2.xlarge)
neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period 1h >reports.jsonl 2>agent.log &
agent=$!
# The time of the first report that marks a device as unhealthy because of errors that its driver counts.
unhealthy() { jq -s "[.[].neuron_ext | select(.devices[$1].health.reasons[]?.reason == \"hbm_uncorrectable\")][0].time_ns // empty" reports.jsonl; }
is_unhealthy() { [ -n "$(unhealthy "$1")" ] && echo yes; }
wait_for has_reports reports.jsonl
for ((device = 0; device < rounds && device < 12; device++)); do
    NEURON_SOFT_FAULT=hbm-ue:at=20 neuron-bench exec memcpy.neff --cores $((2 * device)) --rate 100 --count 21 >/dev/null 2>&1 || true
    wait_for is_unhealthy "$device"
done
kill "$agent"
wait "$agent"
# From the end of the execution, as its process recorded it, to the report.
for ((device = 0; device < rounds && device < 12; device++)); do
    jq -s --argjson device "$device" --argjson report "$(unhealthy "$device")" '[.[].neuron_ext.events[]? |
        select(.kind == "error" and .nrt_status == 1201 and .error_class == "hardware" and (.core / 2 | floor) == $device)][0].time_ns |
        ($report - .) / 1e6' reports.jsonl
done | sort -n >delays
figure "fault to report, faults" "$(wc -l <delays)" ""
figure "fault to report, median" "$(sed -n "$((rounds / 2 + 1))p" delays)" ms
figure "fault to report, longest" "$(tail -1 delays)" ms most 300
neuron-bench machine --remove

export NEURON_SOFT_INSTANCE=$(size trn2.48xlarge trn2.3xlarge)
neuron-bench machine >/dev/null
neuron-monitor --period 1h >idle.jsonl 2>agent.log &
agent=$!
wait_for has_reports idle.jsonl
sleep "$(size 2 0)"
figure "idle agent, 16 devices of 8 cores" "$(measure_cpu "$agent" "$seconds")" "% of a CPU"
result
