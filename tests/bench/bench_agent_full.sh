#!/bin/bash
# bench_agent_full - neuron-monitor on a full machine: 32 applications on the 128 cores of a trn2.48xlarge, a period
# of 1 s, stored in a database, scraped every second; prometheus-node-exporter is scraped at the same time if it is
# installed or unpacked. Measures CPU time and memory of both, whether memory grows, and how long their pages take.
# NTK_BENCH_SECONDS (180) in four parts, NTK_BENCH_SCRAPES (200). Targets for the last part: 2 % of a CPU, 20 MiB of
# private memory.
#
# Where 1.5 % of a CPU go (perf record --call-graph dwarf -e task-clock, a minute at a load of 24):
#   page     26 %  half of it labels and values, a third buckets of latencies
#   store    26 %  rows 17, commits 4, minutes and hours 4
#   period   24 %  segments 12, mostly histograms, files of devices 6
#   drains   20 %  health files of devices 8, search for processes 5, records 5
# How it got there, as shares of the 3.1 % of the version before, which ran at the same time:
#   0.67  drains as often as rings fill, not every 10 ms
#   0.66  core counters of busy cores with every sixth look (600 instead of 1,600 pread(2) per second), descriptors
#         counted by the size of /proc/self/fd, sums of histograms as BLOBs (36 KiB less for each core)
#   0.55  varints of BLOBs without a call for each byte, used buckets by masks instead of branches, the labels of
#         buckets once per series
#   0.50  baselines of histograms with 8 bytes per bucket instead of 24 (4 MiB less after an hour)
# What did not help: BLOBs by ntk_cursor and ntk_buf took as much time as searching 2,240 counters. Releasing the memory
# of records that were read costs 0.1 % of a CPU with 32 busy rings, for 30 MiB of resident memory.
. "$(dirname "$0")/lib.sh"
needs neuron-monitor neuron-bench neuron-packager curl
seconds=${NTK_BENCH_SECONDS:-$(size 180 1)}
scrapes=${NTK_BENCH_SCRAPES:-$(size 200 2)}
parts=$(size 4 1)
part_seconds=$(awk -v s="$seconds" -v p="$parts" 'BEGIN { print s / p }')
applications=$(size 32 2)
export NEURON_SOFT_INSTANCE=$(size trn2.48xlarge trn2.3xlarge) NEURON_RT_VIRTUAL_CORE_SIZE=1
export NEURON_HOOKS_MEMORY=2M # for each application: /dev/shm need not be large

neuron-packager example memcpy --lnc 1 -o memcpy.neff
neuron-bench machine >/dev/null
neuron-monitor --period "$(size 1s 200ms)" --quiet --no-imds --db x.db --prometheus 127.0.0.1:0 --verbose 1 2>agent.log &
agent=$!
for ((i = 0; i < applications; i++)); do
    neuron-bench exec memcpy.neff --cores $((i * 4))-$((i * 4 + 3)) --duration 100000s --rate 40 >/dev/null &
done
wait_for shows $((4 * applications)) agent.log '^neuroncore_utilization_ratio'
pages=("neuron-monitor=http://127.0.0.1:$(port_of agent.log)/metrics")
names=(neuron-monitor)
of=("$agent")
if start_node_exporter; then
    of+=("$peer")
    names+=(node_exporter)
    pages+=("node_exporter=$peer_page")
else
    echo "node_exporter is not installed: no peer"
fi
(while sleep 1; do for page in "${pages[@]}"; do curl -s "${page#*=}" >/dev/null || true; done; done) &
sleep "$(size 3 0)" # each has its full page by now

for ((part = 1; part <= parts; part++)); do
    from=()
    for pid in "${of[@]}"; do from+=("$(cpu_ticks "$pid")"); done
    sleep "$part_seconds"
    for i in "${!of[@]}"; do
        name="part $part, ${names[i]}"
        share=$(cpu_share $(($(cpu_ticks "${of[i]}") - from[i])) "$part_seconds")
        private=$(memory_mib "${of[i]}" RssAnon)
        figure "$name" "$share" "% of a CPU"
        figure "$name, memory" "$(memory_mib "${of[i]}" VmRSS)" MiB
        figure "$name, private memory" "$private" MiB
        [ "$i" != 0 ] || { full_share=$share && full_private=$private; }
        figure "$name, descriptors" "$(find "/proc/${of[i]}/fd" -type l | wc -l)" ""
    done
done

# latency NAME URL [HEADER]: one request after another over one connection, alternating between the peers.
latency() {
    local name=$1 url=$2
    shift 2
    for _ in $(seq "$scrapes"); do printf 'url = "%s"\noutput = "/dev/null"\n' "$url"; done >urls
    curl -s "$@" -w '%{time_total} %{size_download}\n' -K urls | sort -n | awk -v n="$name" '
        { t[NR] = $1; b = $2 }
        END { printf "%-34s p50 %7.2f ms  p99 %7.2f ms  %8d bytes\n", n, 1000 * t[int((NR + 1) / 2)],
                     1000 * t[int(NR * 0.99)], b }'
}
for ((round = 1; round <= $(size 2 1); round++)); do
    latency "neuron-monitor, text" "${pages[0]#*=}"
    latency "neuron-monitor, OpenMetrics" "${pages[0]#*=}" -H 'Accept: application/openmetrics-text;version=1.0.0'
    latency "neuron-monitor, text, gzip" "${pages[0]#*=}" -H 'Accept-Encoding: gzip'
    [ ${#pages[@]} = 1 ] || latency "node_exporter, text" "${pages[1]#*=}"
done
for page in "${pages[@]}"; do figure "series, ${page%%=*}" "$(curl -s "${page#*=}" | grep -vc '^#')" ""; done
figure "database after $seconds s" "$(stat -c %s x.db)" bytes
figure "128 busy cores, stored and scraped" "$full_share" "% of a CPU" most 2
figure "128 busy cores, private memory" "$full_private" MiB exact 20
result
