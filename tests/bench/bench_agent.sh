#!/bin/bash
# bench_agent - CPU time of neuron-monitor per second at a period of 1 s: on an idle machine of 32 cores,
# and at 10,000 executions a second (or as many as this host runs) over 32 cores. Peers on the same bed in
# the same run: prometheus-node-exporter and netdata where they are installed. NTK_BENCH_SECONDS (10) each.
set -euo pipefail
seconds=${NTK_BENCH_SECONDS:-10}
export PATH=$NTK_BIN_DIR:$PATH
command -v neuron-bench neuron-packager >/dev/null || exit 77
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-XXXXXX")
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn1.32xlarge
mkdir -m 700 "$NEURON_HOOKS_DIR"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"
ticks=$(getconf CLK_TCK)

cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
rss_mib() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }

# measure NAME PID: percent of a CPU over the time of the bench, and resident memory.
measure() {
    local name=$1 pid=$2 from to
    from=$(cpu_ticks "$pid")
    sleep "$seconds"
    to=$(cpu_ticks "$pid")
    awk -v n="$name" -v d=$((to - from)) -v t="$ticks" -v s="$seconds" -v m="$(rss_mib "$pid")" \
        'BEGIN { printf "%-44s %6.2f %% of a CPU  %s MiB\n", n, 100 * d / t / s, m }'
}

neuron-packager example memcpy -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period 1s --prometheus 127.0.0.1:0 >idle.jsonl &
agent=$!
pids+=("$agent")
sleep 2
measure "neuron-monitor, idle, 32 cores" "$agent"

neuron-bench exec memcpy.neff --cores 0-31 --duration "$((seconds + 8))s" --rate 10000 --json >bench.json &
load=$!
pids+=("$load")
sleep 5
measure "neuron-monitor, loaded, 32 cores" "$agent"
wait "$load"
awk -v j="$(cat bench.json)" 'BEGIN { print "load: " j }' | cut -c1-200
kill "$agent"
wait "$agent" || true

neuron-monitor --period 1s --quiet --db x.db &
agent=$!
pids+=("$agent")
sleep 2
measure "neuron-monitor --db, idle" "$agent"
kill "$agent"
wait "$agent" || true
if command -v prometheus-node-exporter >/dev/null; then
    prometheus-node-exporter --web.listen-address=127.0.0.1:19321 2>/dev/null &
    peer=$!
    pids+=("$peer")
    (while sleep 1; do curl -s http://127.0.0.1:19321/metrics >/dev/null || true; done) &
    pids+=($!)
    sleep 2
    measure "node_exporter scraped each second" "$peer"
else
    echo "node_exporter is not installed: no peer"
fi
