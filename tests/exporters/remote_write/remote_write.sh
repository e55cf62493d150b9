# remote_write.sh - a real Prometheus receives: its answers equal the reports, also after an outage with a spool over
# two runs of the agent.
. "$(dirname "$0")/../../e2e/lib.sh"
needs prometheus neuron-monitor jq curl

port=$(free_ports 1) # for the server and its successor
start_server() {
    prometheus --config.file=server.yml --storage.tsdb.path=data --web.listen-address="127.0.0.1:$port" \
        --web.enable-remote-write-receiver --enable-feature=native-histograms,exemplar-storage --log.level=info >server.log 2>&1 &
    server=$!
    wait_for server_is_up
}
server_is_up() { curl -sf "http://127.0.0.1:$port/-/ready" >/dev/null && echo yes; }
query() {
    curl -sfG "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$1" | jq -r '.data.result[0].value[1] // "none"'
}
answers() { [ "$(query "$1")" = "$2" ] && echo yes; }

echo 'global: { scrape_interval: 1h }' >server.yml
start_server
neuron-packager example memcpy -o memcpy.neff
push="--remote-write http://127.0.0.1:$port/api/v1/write --remote-write-spool spool --remote-write-native-histograms"

neuron-monitor -v 3 --period 200ms $push >first.jsonl 2>first.log &
agent=$!
wait_for has_reports first.jsonl
NEURON_PROCESS_TAG=pushed neuron-bench exec memcpy.neff --cores 0 --count 500 --rate 500 >/dev/null
wait_for answers 'neuron_executions_total{job="neuron-monitor",status_type="completed"}' 500
wait_for answers 'count({runtime_tag="pushed"})' none # it ended, and stale markers end its series
[ "$(query 'max(max_over_time(execution_status_total{runtime_tag="pushed",status_type="completed"}[5m]))')" = 500 ] ||
    fail "the counter of the application is missing"
# Latencies exist in both forms, with the same count, and both end.
latency='neuron_execution_latency_seconds'
of_pushed='{runtime_tag="pushed",latency_type="total"}'
counted=$(query "max(max_over_time(${latency}_count$of_pushed[5m]))")
curl -sfG "http://127.0.0.1:$port/api/v1/query" --data-urlencode "query=$latency$of_pushed[5m]" |
    jq '.data.result[0].histograms[-2:][][1]' >native.json # the last value, and possibly the stale marker after it
native=$(jq -rs 'map(.count) | max_by(tonumber)' native.json)
width=$(jq -s '.[0].buckets[0] | (.[2] | tonumber) / (.[1] | tonumber) - 1' native.json)
[ "$counted" = 500 ] && [ "$native" = 500 ] || fail "expected 500 latencies, found $counted classic and $native native ones"
jq -en --argjson width "$width" '$width > 0 and $width < 0.05' >/dev/null || fail "native buckets are $width wide"
[ "$(query "count($latency$of_pushed)")" = none ] || fail "the native histogram does not end"
# The slowest executions are exemplars, with the number that traces and the list of errors use.
curl -sfG "http://127.0.0.1:$port/api/v1/query_exemplars" --data-urlencode "query=${latency}_bucket$of_pushed" \
    -d start=$(($(date +%s) - 300)) -d end=$(($(date +%s) + 60)) | jq '[.data[].exemplars[]]' >exemplars.json
jq -e 'length > 0 and all(.[]; (.labels.execution_id | tonumber) >= 0 and (.labels.pid | tonumber) > 0 and (.value | tonumber) > 0)' \
    exemplars.json >/dev/null || fail "unexpected output: $(cat exemplars.json)"
# This server supports only version 1.0 and does not report that; no sample was lost.
grep -q 'supports only version 1.0' first.log || fail "see first.log"
[ "$(query system_memory_total_bytes)" = "$(jq -rs '.[-1].system_data.memory_info.memory_total_bytes' first.jsonl)" ] ||
    fail "memory of the machine differs"
items='neuron_monitor_output_items_total{output="remote write",result'
[ "$(query "$items=\"sent\"}")" -gt 100 ] && [ "$(query "$items=\"lost\"}")" = 0 ] || fail "the output has no metrics about itself"

# An outage: the agent reports it once and continues; data that it could not push is kept in files.
before=$(grep -c 'retrying' first.log || true) # a server without a processor may have been late
kill "$server" && wait "$server" 2>/dev/null || true
said() { grep -E 'retrying|sending again' first.log | tail -1 | greps retrying && echo yes; }
wait_for said
neuron-bench exec memcpy.neff --cores 0 --count 300 --rate 1000 >/dev/null
seen() { [ "$(completed_in_reports first.jsonl)" = 800 ] && echo yes; }
wait_for seen
kill "$agent" && wait "$agent" || fail "the agent fails with a spool"
ls spool/*.msg >/dev/null || fail "the spool is empty"
[ "$(grep -c 'retrying' first.log)" -le $((before + 1)) ] || fail "the outage is not reported exactly once"

start_server
neuron-monitor --period 200ms --quiet $push 2>second.log &
agent=$!
empty() { ls spool/*.msg >/dev/null 2>&1 || echo yes; }
wait_for empty
wait_for answers 'max(max_over_time(neuron_executions_total{status_type="completed"}[5m]))' 800
kill "$agent" && wait "$agent" || fail "the agent fails"

# VictoriaMetrics receives the same.
if command -v victoria-metrics >/dev/null; then
    victoria=$(free_ports 1)
    victoria-metrics -storageDataPath=victoria -httpListenAddr="127.0.0.1:$victoria" -search.latencyOffset=0s >victoria.log 2>&1 &
    victoria_is_up() { curl -sf "http://127.0.0.1:$victoria/health" >/dev/null && echo yes; }
    wait_for victoria_is_up
    neuron-monitor -v 3 --period 200ms --remote-write "http://127.0.0.1:$victoria/api/v1/write" >third.jsonl 2>third.log &
    agent=$!
    wait_for has_reports third.jsonl
    NEURON_PROCESS_TAG=stored neuron-bench exec memcpy.neff --cores 0 --count 70 --rate 500 >/dev/null
    stored() {
        [ "$(curl -sfG "http://127.0.0.1:$victoria/api/v1/query" --data-urlencode 'query=max(neuron_executions_total{status_type="completed"})' |
            jq -r '.data.result[0].value[1] // "none"')" = 70 ] && echo yes
    }
    wait_for stored
    kill "$agent" && wait "$agent" || fail "the agent fails"
    grep -q 'supports only version 1.0' third.log || fail "see third.log"
fi

# Without a spool losses are logged.
kill "$server" && wait "$server" 2>/dev/null || true
code=0
neuron-monitor --count 2 --period 100ms --quiet --remote-write "http://me:s3cret@127.0.0.1:$port/" 2>lost.log || code=$?
[ $code = 1 ] && grep -q '[0-9] samples lost' lost.log || fail "unexpected exit code $code"
! grep -q s3cret lost.log || fail "the password is in the output"

# Wrong usage gets one line.
refused() { # TEXT OPTION...
    local wanted=$1 code=0
    shift
    neuron-monitor --once --quiet "$@" >/dev/null 2>usage.err || code=$?
    [ $code = 2 ] && grep -qe "$wanted" usage.err || fail "$wanted: unexpected exit code $code"
}
refused "invalid value '3.0' for --remote-write-protocol: expected 1.0 or 2.0" --remote-write http://127.0.0.1:1 --remote-write-protocol 3.0
refused 'are mutually exclusive' --remote-write http://127.0.0.1:1 --remote-write-token-file a --remote-write-password-file b
refused 'requires --remote-write' --remote-write-password-file b
