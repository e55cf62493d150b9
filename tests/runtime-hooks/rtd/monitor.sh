#!/bin/bash
# monitor - a running daemon as seen by observers: report, database, /metrics and neuron-top name it by its address,
# count the answers to its clients, and record when models and the daemon start and stop.
. "$(dirname "$0")/daemon.sh"
needs jq curl
mkdir model
neuron-packager example memcpy --size 64 -o model/model.neff
neuron-monitor --period 500ms --db monitor.db --http 127.0.0.1:0 --verbose 1 >reports.jsonl 2>agent.log &
monitor=$!
wait_for has_reports reports.jsonl
port=$(sed -n 's/.*http: listening on port //p' agent.log)
NEURON_SOFT_FAULT=nq-overflow:every=7 start
tag=unix:$socket
# seen FILTER: whether it matches in the reports so far, with $tag.
seen() { jq -es --arg tag "$tag" "$1" reports.jsonl >/dev/null && echo yes; }
wait_for seen 'any(.[].neuron_runtime_data[]; .neuron_runtime_tag == $tag)'

# Successful ones, ones affected by a fault, ones with a wrong input; the codes that the client got.
model=$(neuron-cli -a "$socket" load model/model.neff -j | jq .model_id)
"$python" - "$socket" "$model" >codes.json <<'END'
import collections, json, sys
sys.path.insert(0, 'generated')
import grpc, nmgr_pb2 as pb
infer = grpc.insecure_channel(f'unix:{sys.argv[1]}').unary_unary(
    '/nrt.nmgr_v1/infer', pb.infer_request.SerializeToString, pb.infer_response.FromString)
codes = collections.Counter()
for i in range(100):
    data = bytes(32768 if i % 10 else 3)
    codes[infer(pb.infer_request(h_nn=pb.h_nn(id=int(sys.argv[2])), ifmap=[pb.infer_io(name='in', buf=data)])).status.code] += 1
json.dump(codes, sys.stdout)
END
jq -e '.["0"] > 50 and .["1004"] > 5 and .["1002"] == 10' codes.json >/dev/null || fail "the client got unexpected codes: $(cat codes.json)"

# The report: each figure once.
all_counted() {
    jq -es --slurpfile codes codes.json --arg tag "$tag" '[.[].neuron_runtime_data[] | select(.neuron_runtime_tag == $tag) | .report.execution_stats] |
        ([.[].execution_summary.completed] | add) == $codes[0]["0"] and
        ([.[].execution_summary.completed_with_err] | add) == $codes[0]["1004"] and
        ([.[].error_summary.runtime] | add) == $codes[0]["1004"] and
        ([.[].execution_summary.incorrect_input] | add) == $codes[0]["1002"] and
        any(.latency_stats.total_latency.p50 > 0) and any(.latency_stats.device_latency.p99 > 0)' reports.jsonl >/dev/null && echo yes
}
wait_for all_counted
jq -es --arg tag "$tag" --argjson pid "$rtd" '[.[].neuron_runtime_data[]] | all(.neuron_runtime_tag == $tag and .pid == $pid)' reports.jsonl >/dev/null ||
    fail "reports name another process"

# neuron-top, while the daemon runs.
neuron-top --json --once -d 200ms >top.json
jq -e --arg tag "$tag" --argjson pid "$rtd" '.applications | length == 1 and (.[0] | .tag == $tag and .pid == $pid and .neuroncores == "0-15" and
    .model_count == 1 and .runtime_version == "1.6.24.0" and (.ended | not))' top.json >/dev/null || fail "neuron-top shows unexpected applications: $(jq -c .applications top.json)"
jq -e '[.models[].name] == ["memcpy"]' top.json >/dev/null || fail "neuron-top shows unexpected models: $(jq -c .models top.json)"

# /metrics: sums since the daemon started.
curl -sf "http://127.0.0.1:$port/metrics" >metrics || fail "no metrics"
metric() { # NAME LABEL VALUE
    grep "^$1{" metrics | grep -F "runtime_tag=\"$tag\"" | grep -F "$2" | awk '{ print $NF }' | grep -x -- "$3" >/dev/null ||
        fail "$1 $2 is not $3: $(grep "^$1{" metrics)"
}
metric execution_status_total 'status_type="completed"' "$(jq '.["0"]' codes.json)"
metric execution_status_total 'status_type="incorrect_input"' 10
metric execution_errors_total 'error_type="runtime"' "$(jq '.["1004"]' codes.json)"

# Starts and stops of the model, and the end of the daemon.
neuron-cli -a "$socket" stop "$model" >cli.out
neuron-cli -a "$socket" start "$model" >cli.out
neuron-cli -a "$socket" unload "$model" >cli.out
kill "$rtd"
wait "$rtd" || fail "SIGTERM: unexpected exit code $?"
gone() { [ "$(tail -1 reports.jsonl | jq '.neuron_runtime_data | length')" = 0 ] && echo yes; }
wait_for gone
kill "$monitor"
wait "$monitor" || true
neuron-monitor query events --db monitor.db --kind first_seen,load,model_start,model_stop,unload,end --json >events.json
jq -e --arg tag "$tag" 'all(.[]; .tag == $tag) and [.[].kind] ==
    ["first_seen", "load", "model_start", "model_stop", "model_start", "model_stop", "unload", "end"]' events.json >/dev/null ||
    fail "unexpected events: $(jq -c '[.[] | {kind, tag}]' events.json)"
neuron-monitor query errors --db monitor.db --process "$tag" --json >errors.json
[ "$(jq '.[0].runtime' errors.json)" = "$(jq '.["1004"]' codes.json)" ] || fail "unexpected errors: $(cat errors.json)"
neuron-monitor query latency --db monitor.db --process "$tag" --json >latency.json
jq -e --slurpfile codes codes.json 'any(.[]; .completed == $codes[0]["0"] and .p50_ns > 0)' latency.json >/dev/null || fail "unexpected latency: $(cat latency.json)"
neuron-monitor query processes --db monitor.db --json >processes.json
jq -e --arg tag "$tag" --argjson pid "$rtd" 'length == 1 and (.[0] | .tag == $tag and .pid == $pid and .ended != null)' processes.json >/dev/null ||
    fail "unexpected result for processes: $(cat processes.json)"
