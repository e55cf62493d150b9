#!/bin/bash
# bench_agent_full - neuron-monitor on a full machine: 32 applications on the 128 cores of a trn2.48xlarge,
# a period of 1 s, stored in a database, scraped each second; prometheus-node-exporter scraped beside it
# meanwhile, where it is installed or unpacked. CPU time and memory of both, whether memory grows, and how
# long their pages take. NTK_BENCH_SECONDS (180) in four parts, NTK_BENCH_SCRAPES (200).
set -euo pipefail
seconds=${NTK_BENCH_SECONDS:-180}
scrapes=${NTK_BENCH_SCRAPES:-200}
export PATH=$NTK_BIN_DIR:$PATH
command -v neuron-bench neuron-packager curl >/dev/null || exit 77
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ntk-bench-XXXXXX")
export NEURON_HOOKS_DIR=$scratch/hooks NEURON_SOFT_INSTANCE=trn2.48xlarge NEURON_RT_VIRTUAL_CORE_SIZE=1
export NEURON_HOOKS_MEMORY=2M # of each application: /dev/shm need not be large
mkdir -m 700 "$NEURON_HOOKS_DIR"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$scratch"' EXIT
cd "$scratch"
ticks=$(getconf CLK_TCK)

cpu_ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
memory() { awk -v k="$2" '$1 == k ":" { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }
port_of() { sed -n 's/.*serving metrics at port //p' agent.log; }

neuron-packager example memcpy --lnc 1 -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period 1s --quiet --no-imds --db x.db --prometheus 127.0.0.1:0 --verbose 1 2>agent.log &
agent=$!
pids+=("$agent")
for i in $(seq 0 31); do
    neuron-bench exec memcpy.neff --cores $((i * 4))-$((i * 4 + 3)) --duration 100000s --rate 40 >/dev/null &
    pids+=($!)
done
until [ -n "$(port_of)" ] &&
    [ "$(curl -s "http://127.0.0.1:$(port_of)/metrics" | grep -c '^neuroncore_utilization_ratio')" -ge 128 ]; do
    sleep 1
done
pages=("neuron-monitor=http://127.0.0.1:$(port_of)/metrics")
names=(neuron-monitor)
of=("$agent")
if command -v prometheus-node-exporter >/dev/null; then
    prometheus-node-exporter --web.listen-address=127.0.0.1:19322 2>/dev/null &
    of+=($!)
    pids+=($!)
    names+=(node_exporter)
    pages+=("node_exporter=http://127.0.0.1:19322/metrics")
    sleep 1
else
    echo "node_exporter is not installed: no peer"
fi
(while sleep 1; do for page in "${pages[@]}"; do curl -s "${page#*=}" >/dev/null || true; done; done) &
pids+=($!)
sleep 3 # each has its full page by now

for part in 1 2 3 4; do
    from=()
    for pid in "${of[@]}"; do from+=("$(cpu_ticks "$pid")"); done
    sleep $((seconds / 4))
    for i in "${!of[@]}"; do
        awk -v n="${names[$i]}" -v p="$part" -v d=$(($(cpu_ticks "${of[$i]}") - from[i])) -v t="$ticks" \
            -v s=$((seconds / 4)) -v m="$(memory "${of[$i]}" VmRSS)" -v a="$(memory "${of[$i]}" RssAnon)" \
            -v f="$(ls "/proc/${of[$i]}/fd" | wc -l)" 'BEGIN {
                printf "part %d  %-15s %6.2f %% of a CPU  %6s MiB, %s of its own  %3d descriptors\n",
                       p, n, 100 * d / t / s, m, a, f }'
    done
done

# latency NAME URL [HEADER]: one request after the other over one connection, the peers in turn.
latency() {
    local name=$1 url=$2
    shift 2
    for _ in $(seq "$scrapes"); do printf 'url = "%s"\noutput = "/dev/null"\n' "$url"; done >urls
    curl -s "$@" -w '%{time_total} %{size_download}\n' -K urls | sort -n | awk -v n="$name" '
        { t[NR] = $1; b = $2 }
        END { printf "%-34s p50 %7.2f ms  p99 %7.2f ms  %8d bytes\n", n, 1000 * t[int((NR + 1) / 2)],
                     1000 * t[int(NR * 0.99)], b }'
}
for round in 1 2; do
    latency "neuron-monitor, text" "${pages[0]#*=}"
    latency "neuron-monitor, OpenMetrics" "${pages[0]#*=}" -H 'Accept: application/openmetrics-text;version=1.0.0'
    latency "neuron-monitor, text, gzip" "${pages[0]#*=}" -H 'Accept-Encoding: gzip'
    [ ${#pages[@]} = 1 ] || latency "node_exporter, text" "${pages[1]#*=}"
done
printf 'series: '
for page in "${pages[@]}"; do printf '%s %s  ' "${page%%=*}" "$(curl -s "${page#*=}" | grep -vc '^#')"; done
printf '\ndatabase: %s bytes after %s s\n' "$(stat -c %s x.db)" "$seconds"
