#!/bin/bash
# bench_scale - the cost of monitoring a fleet: NTK_BENCH_NODES (1000) machines, each the page of a busy trn1.32xlarge
# (16 devices, 32 cores, a job on all of them) as its agent shows it, in one process; a real Prometheus scrapes them
# every 15 s, then takes them by remote write. NTK_BENCH_ROUNDS (6) sets the rounds. Then the disk space per sample.
. "$(dirname "$0")/lib.sh"
needs prometheus jq curl neuron-bench neuron-monitor neuron-packager
nodes=${NTK_BENCH_NODES:-$(size 1000 16)}
rounds=${NTK_BENCH_ROUNDS:-$(size 6 2)}
interval=$(size 15 1)
fleet=$NTK_BUILD_DIR/tests/fleet
[ -x "$fleet" ] || skip "fleet was not built"
export NEURON_SOFT_INSTANCE=$(size trn1.32xlarge trn1.2xlarge) NEURON_HOOKS_MEMORY=2M
cpu() { cpu_seconds "$1"; }
resident() { awk '$1 == "VmRSS:" { printf "%.0f", $2 / 1024 }' "/proc/$1/status"; }
# The current server: $server, $port.
start() { # NAME OPTION...
    prometheus --config.file="$1.yml" --storage.tsdb.path="$1" --web.listen-address=127.0.0.1:0 --log.level=info "${@:2}" >"$1.log" 2>&1 &
    server=$!
    wait_with "$server" "$1.log" listens "$1.log"
    port=$(listens_at "$1.log")
    wait_for is_ready
}
is_ready() { curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null && echo yes; }
ask() { curl -sfG "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // "0"'; }
own() { curl -sf "http://127.0.0.1:$port/metrics" | awk -v m="$1" '$1 == m { print $2 }'; }
stop() { kill "$server" && wait "$server" || true; }
targets() { # COUNT: a target for each node, at its port
    local k
    for ((k = 0; k < $1; k++)); do
        echo "      - { targets: [ '127.0.0.1:${ports[k % ${#ports[@]}]}' ], labels: { __metrics_path__: /n/$k/metrics, instance: node-$k } }"
    done
}
settings() { # FILE INTERVAL COUNT
    printf 'global: { scrape_interval: %s, scrape_timeout: %s }\nscrape_configs:\n  - job_name: neuron\n    static_configs:\n' "$2" "$2" >"$1.yml"
    targets "$3" >>"$1.yml"
}

# A few seconds of reports of that machine.
neuron-packager example mlp -o mlp.neff
neuron-bench machine >/dev/null
NEURON_PROCESS_TAG=train neuron-bench exec mlp.neff --cores "$(size 0-31 0-1)" --rate 300 --duration 1000s >/dev/null 2>&1 &
job=$!
neuron-monitor --period "$(size 1s 200ms)" --no-imds --count "$(size 8 4)" >all.jsonl
tail -n "$(size 6 1)" all.jsonl >reports.jsonl # it has started by then
kill "$job"
"$fleet" serve "$nodes" reports.jsonl >ports &
serving=$!
wait_for has_reports ports
read -ra ports <ports
page=http://127.0.0.1:${ports[0]}/n/0/metrics
series=$(curl -s "$page" | grep -vc '^#')
printf 'a machine                series %d  page %d bytes  compressed %d bytes\n' "$series" "$(curl -s "$page" | wc -c)" \
    "$(curl -s -H 'Accept-Encoding: gzip' "$page" | wc -c)"

settings scrape ${interval}s "$nodes"
served=$(cpu "$serving")
start scrape
began=$(cpu "$server")
sleep $((interval + 1)) # each was scraped once, so the initial cost of the series is excluded
first=$(cpu "$server")
sleep $((interval * (rounds - 1)))
is_scraped() { [ "$(ask 'sum(up)')" = "$nodes" ] && echo yes; }
wait_for is_scraped
last=$(cpu "$server")
samples=$(own prometheus_tsdb_head_samples_appended_total'{type="float"}')
head=$(own prometheus_tsdb_head_series)
up=$(ask 'sum(up)')
scrapes=$(ask "sum(count_over_time(up[1h]))")
failed=$(ask "sum(count_over_time(up[1h])) - sum(sum_over_time(up[1h]))")
p50=$(ask 'quantile(0.5, scrape_duration_seconds)')
p99=$(ask 'quantile(0.99, scrape_duration_seconds)')
awk -v n="$nodes" -v i=$interval -v r="$((rounds - 1))" -v b="$began" -v f="$first" -v l="$last" -v m="$(resident "$server")" -v h="$head" -v up="$up" \
    -v s="$scrapes" -v x="$failed" -v p50="$p50" -v p99="$p99" -v a="$samples" -v e="$(cpu "$serving")" -v z="$served" 'BEGIN {
    printf "scrape                   up %d of %d  scrapes %d  failed %d  series %d  samples %d\n", up, n, s, x, h, a
    printf "scrape, Prometheus       CPU %.2f s a round of %d s: %.1f %% of a core, %.2f ms a scrape; the first round %.2f s; memory %d MiB, %.2f KiB a series\n",
        (l - f) / r, i, 100 * (l - f) / r / i, 1000 * (l - f) / r / n, f - b, m, m * 1024 / h
    printf "scrape, as it sees it    p50 %.1f ms  p99 %.1f ms\n", 1000 * p50, 1000 * p99
    printf "scrape, the machines     CPU %.2f ms a scrape: encoding and compressing\n", 1000 * (e - z) / s
    exit x > 0 || up < n }' || fail "scrapes failed"
stop

# The same by remote write, and with native histograms.
for form in $(size "classic native" native); do
    printf 'global: { scrape_interval: 1h }\n' >$form.yml
    options=(--web.enable-remote-write-receiver)
    [ $form = classic ] || options+=(--enable-feature=native-histograms)
    start $form "${options[@]}"
    [ $form = classic ] && unset FLEET_NATIVE || export FLEET_NATIVE=1
    began=$(cpu "$server")
    "$fleet" push "$nodes" 3 $interval "http://127.0.0.1:$port/api/v1/write" reports.jsonl >pushed.json
    jq -r --arg cpu "$(jq -n "$(cpu "$server") - $began")" --arg mib "$(resident "$server")" --arg form $form --arg head "$(own prometheus_tsdb_head_series)" '
        def p(n): . * n | round / n;
        "remote write, \($form)    samples \(.samples)  failed requests \(.failures)  \(.bytes / .nodes / .rounds | round) bytes a push  series \($head)",
        "remote write, Prometheus CPU \(($cpu | tonumber) * 1000 / .nodes / .rounds | p(100)) ms a push  memory \($mib) MiB",
        "remote write, machines   CPU \(.cpu_seconds * 1000 / .nodes / .rounds | p(100)) ms a push: encoding, compressing, sending"' pushed.json
    stop
done
kill "$serving"

# Bytes on the disk for series with many samples: 20 machines, one sample per second, then a block of everything.
unset FLEET_NATIVE
rm ports
"$fleet" serve 20 reports.jsonl >ports &
wait_for has_reports ports
read -ra ports <ports
settings disk 1s 20
start disk --web.enable-admin-api
sleep $((interval * rounds))
nodes=20
wait_for is_scraped # otherwise there is nothing to compute from
curl -sf -XPOST "http://127.0.0.1:$port/api/v1/admin/tsdb/snapshot" >/dev/null
block=$(find disk/snapshots -name meta.json | head -1)
jq -r --arg bytes "$(du -sb "$(dirname "$block")" | cut -f1)" --arg chunks "$(du -sb "$(dirname "$block")/chunks" | cut -f1)" '.stats |
    "disk                     \(.numSamples) samples of \(.numSeries) series: \(($bytes | tonumber) / .numSamples * 100 | round / 100) bytes a sample, \(($chunks | tonumber) / .numSamples * 100 | round / 100) without the index"' "$block"
result
