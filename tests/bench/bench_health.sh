#!/bin/bash
# bench_health - how long after a fault the agent's report of it is made, over faults of one device after another, and
# what looking for faults costs an idle agent on the largest machine. The target is 300 ms.
. "$(dirname "$0")/../e2e/lib.sh"
needs jq neuron-monitor neuron-bench neuron-packager
rounds=${BENCH_ROUNDS:-12}

export NEURON_SOFT_INSTANCE=inf2.48xlarge
neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period 1h >reports.jsonl 2>agent.log &
agent=$!
pids+=("$agent")
sleep 1
for ((device = 0; device < rounds && device < 12; device++)); do
    NEURON_SOFT_FAULT=hbm-ue:at=20 neuron-bench exec memcpy.neff --cores $((2 * device)) --rate 100 --count 21 >/dev/null 2>&1 || true
    sleep 0.5
done
kill "$agent"
wait "$agent"
# The execution's end as its process wrote it down, and the time of the first report in which the device is unhealthy
# for the errors that its driver counts.
jq -s -r '[.[].neuron_ext] as $all | [$all[].events[]? | select(.kind == "error" and .nrt_status == 1201 and .error_class == "hardware")] as $faults |
    $faults[] | . as $fault | [$all[] | select(.devices[($fault.core / 2 | floor)].health.reasons[]?.reason == "hbm_uncorrectable")][0].time_ns |
    (. - $fault.time_ns) / 1e6' reports.jsonl | sort -n >delays
awk '{ d[NR] = $1 } END { printf "   fault to report, %d faults: median %.1f ms, longest %.1f ms: %s\n", NR, d[int((NR + 1) / 2)], d[NR], d[NR] < 300 ? "good" : "MISSED" }' delays
neuron-bench machine --remove

export NEURON_SOFT_INSTANCE=trn2.48xlarge
neuron-bench machine >/dev/null
neuron-monitor --period 1h >/dev/null 2>&1 &
agent=$!
pids+=("$agent")
sleep 2
ticks() { awk '{ print $14 + $15 }' "/proc/$agent/stat"; }
before=$(ticks)
sleep 10
after=$(ticks)
awk -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "   idle agent, 16 devices of 8 cores: %.2f %% of a CPU\n", 100 * t / hz / 10 }'
kill "$agent"
wait "$agent"
