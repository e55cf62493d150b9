#!/bin/bash
# bench_agent - CPU time of neuron-monitor per second at a period of 1 s: on an idle machine of 32 cores, and at
# 10,000 executions per second (or as many as this host runs) over 32 cores. The peer, on the same machine in the
# same run, is prometheus-node-exporter if installed. NTK_BENCH_SECONDS (10) sets the time of each.
. "$(dirname "$0")/lib.sh"
needs neuron-monitor neuron-bench neuron-packager curl
seconds=${NTK_BENCH_SECONDS:-$(size 10 0.2)}
cores=$(size 32 2)
settle=$(size 2 0) # seconds until an agent's first periods have ended
export NEURON_SOFT_INSTANCE=$(size trn1.32xlarge trn1.2xlarge)

# measure NAME PID: percent of a CPU during the bench, and resident memory.
measure() {
    share=$(measure_cpu "$2" "$seconds")
    figure "$1" "$share" "% of a CPU"
    figure "$1, memory" "$(memory_mib "$2" VmRSS)" MiB
}

neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period "$(size 1s 100ms)" --prometheus 127.0.0.1:0 >idle.jsonl &
agent=$!
wait_for has_reports idle.jsonl
sleep "$settle"
measure "neuron-monitor, idle, $cores cores" "$agent"

neuron-bench exec memcpy.neff --cores "0-$((cores - 1))" --duration "$(size $((${seconds%.*} + 8)) 1)s" --rate 10000 --json >bench.json &
load=$!
sleep "$(size 5 0.1)"
measure "neuron-monitor, loaded, $cores cores" "$agent"
figure "32 loaded cores" "$share" "% of a CPU" most 0.8
figure "32 loaded cores, resident memory" "$(memory_mib "$agent" VmRSS)" MiB exact 20
wait "$load"
cut -c1-200 bench.json | sed 's/^/load: /'
kill "$agent"
wait "$agent"

neuron-monitor --period 1s --quiet --db x.db &
agent=$!
has_database() { [ -s x.db ] && echo yes; }
wait_for has_database
sleep "$settle"
measure "neuron-monitor --db, idle" "$agent"
kill "$agent"
wait "$agent"
if start_node_exporter; then
    (while sleep 1; do curl -s "$peer_page" >/dev/null || true; done) &
    sleep "$settle"
    measure "node_exporter scraped each second" "$peer"
else
    echo "node_exporter is not installed: no peer"
fi
result
