#!/bin/bash
# prometheus - a real Prometheus scrapes neuron-monitor; PromQL answers agree with the reports, and its checker finds
# nothing on the live page but the vendor's own system_vcpu_count.
. "$(dirname "$0")/../lib.sh"
. "$NTK_SOURCE_DIR/tests/e2e/prometheus/server.sh"
needs prometheus promtool jq curl

# The server's last response from the agent, for failed waits.
at_failure() {
    curl -s "http://127.0.0.1:$(server_port)/api/v1/targets" |
        jq -c '.data.activeTargets[] | [.health, .lastError, .lastScrapeDuration]' >targets.log
    curl -s "http://127.0.0.1:$port/metrics" | grep '^neuron_hardware_info' >hardware.log
}
agent_is_up() { [ -s reports.jsonl ] && grep -q 'serving metrics on port' agent.log && echo yes; }
query() {
    server_answers "$1" | jq -r '.data.result[0].value[1] // "none"'
}
# value QUERY: prints the answer once there is one; while a scrape fails there is none.
has_value() { query "$1" >value && ! grep -qx none value && [ -s value ] && echo yes; }
value() { wait_for has_value "$1" && cat value; }
answers() { [ "$(query "$1")" = "$2" ] && echo yes; }
is_near() { jq -en --argjson a "$1" --argjson b "$2" --argjson part "$3" '($a / $b - 1 | fabs) <= $part' >/dev/null; }
# Over all reports, in seconds: the sum, and values of some ranks from the middles of their buckets.
latencies() {
    jq -s --argjson quantiles "$1" '
        def low: if . < 64 then . else (64 + . % 64) * pow(2; (. / 64 | floor) - 1) end;
        def middle: (low + ((. + 1 | low) - 1)) / 2e9;
        [.[].neuron_runtime_data[].report.neuron_ext.models[]?.total_latency // empty] |
        { sum: (map(.sum_ns) | add / 1e9),
          buckets: (map(.buckets[]) | group_by(.[0]) | map([.[0][0], (map(.[1]) | add)])) } |
        (.buckets | map(.[1]) | add) as $count | .buckets as $buckets |
        .quantiles = ($quantiles | map(. * $count | ceil as $rank |
            reduce $buckets[] as $b ({ seen: 0 };
                if .at == null and .seen + $b[1] >= $rank then .at = $b[0] else . end | .seen += $b[1]) |
            .at | middle)) | .buckets = ($buckets | length)' reports.jsonl
}
answers_as_reported() { answers "$1" "$(completed_in_reports reports.jsonl)"; }

neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 250ms --prometheus 127.0.0.1:0 --verbose 1 >reports.jsonl 2>agent.log &
agent=$!
wait_for agent_is_up
port=$(sed -n 's/.*serving metrics on port //p' agent.log)
cat >server.yml <<END
global: { scrape_interval: 1s, scrape_timeout: 1s }
scrape_configs: [ { job_name: neuron, static_configs: [ { targets: [ "127.0.0.1:$port" ] } ] } ]
END
server_starts
server=native
server_starts --enable-feature=native-histograms
native=$server_pid
server=server

# While it runs: a gauge of the runtime; once it has stopped: all its counts.
NEURON_PROCESS_TAG=promtest neuron-bench exec memcpy.neff --cores 0 --duration 600s --rate 500 --json >bench.json &
bench=$!
wait_for answers 'count(neuroncore_utilization_ratio{runtime_tag="promtest"})' 1
promtool check metrics <<<"$(curl -sf "http://127.0.0.1:$port/metrics")" >lint.txt 2>&1 || true
[ "$(cat lint.txt)" = 'system_vcpu_count non-histogram and non-summary metrics should not have "_count" suffix' ] ||
    fail "promtool reported: $(cat lint.txt)"
kill -STOP "$bench"
wait_for answers_as_reported 'sum(execution_status_total{runtime_tag="promtest",status_type="completed"})'
wait_for answers_as_reported 'sum(neuron_execution_latency_seconds_count{runtime_tag="promtest",latency_type="total"})'

# Native histograms: nothing is lost, and a quantile is off by less than the width of a bucket.
server=native
series='neuron_execution_latency_seconds{runtime_tag="promtest",latency_type="total"}'
wait_for answers_as_reported "histogram_count($series)"
latencies '[0.1, 0.5, 0.9, 0.99]' >latencies.json
is_near "$(value "histogram_sum($series)")" "$(jq .sum latencies.json)" 1e-9 || fail "the sum of native histograms differs"
has_width() { server_answers "$series" |
    jq '.data.result[0].histogram[1].buckets[0] | (.[2] | tonumber) / (.[1] | tonumber) - 1' >width && [ -s width ] && echo yes; }
wait_for has_width
width=$(cat width)
jq -en --argjson width "$width" '$width < 0.05' >/dev/null ||
    fail "native buckets are $width wide"
for i in 0 1 2 3; do
    quantile=$(jq -n "[0.1, 0.5, 0.9, 0.99][$i]")
    expected=$(jq ".quantiles[$i]" latencies.json)
    got=$(value "histogram_quantile($quantile, $series)")
    echo "quantile $quantile: $got s, by the reports $expected s, buckets are $width wide"
    is_near "$got" "$expected" "$width" || fail "quantile $quantile is $got, by the reports $expected, width $width"
done
kill "$native"
server=server
kill -CONT "$bench"
kill -TERM "$bench"
wait "$bench" || fail "neuron-bench exited with $?"
count=$(jq .executions bench.json)

# After it has exited: every count, and no series of the runtime.
wait_for answers 'neuron_executions_total{status_type="completed"}' "$count"
[ "$(completed_in_reports reports.jsonl)" = "$count" ] ||
    fail "the reports do not have $count"
wait_for answers 'count({runtime_tag="promtest"})' none
wait_for answers 'neuron_hardware_info{neuron_device_count="1",neuron_device_memory_size="34359738368",neuroncore_per_device_count="2"}' 1
[ "$(value system_memory_total_bytes)" = "$(jq -rs '.[-1].system_data.memory_info.memory_total_bytes' reports.jsonl)" ] ||
    fail "memory of the machine differs"
wait_for answers 'count(up == 1)' 1

kill -TERM "$agent"
wait "$agent" || fail "neuron-monitor exited with $?"
valid_reports reports.jsonl
