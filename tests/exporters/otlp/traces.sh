# traces.sh - executions and loads of a job as spans, by the agent over HTTP, over gRPC and through an outage: those that
# the rules choose, each once, with the parent that the job names; hostile traceparents name none.
. "$(dirname "$0")/../../e2e/lib.sh"
lives=$NTK_BIN_DIR/../tests/tests_e2e_lives_process rank=$NTK_BIN_DIR/../tests/tests_e2e_world_rank
needs neuron-monitor neuron-bench neuron-packager jq curl
needs_python grpc
skip_sanitized
. "$(dirname "$0")/collector.sh"

spans() { find "$1" -name '*.traces' | sort | xargs -r "$python" "$here/decode.py"; }
has() { [ "$(spans "$1" | jq -s "[.[] | select($2)] | length")" -ge "$3" ] && echo yes; } # FOLDER FILTER COUNT
agent() { # FOLDER OPTION...: pushes to $port
    neuron-monitor --period 300ms --quiet "${@:2}" 2>"$1/agent.err" &
    agent=$!
    wait_for eval "find $1 -name '*.pb' | greps pb && echo yes"
}
stop() { kill $agent && wait $agent || fail "the agent fails"; }
# lives COMMAND...: a job that does them; its answers are in the file answers.
lives() { printf '%s\n' open "$@" | NEURON_PROCESS_TAG=${tag:-job} NEURON_RT_NUM_CORES=1 "$lives" memcpy.neff >answers || fail "the job fails: $(cat answers)"; }

neuron-packager example memcpy -o memcpy.neff
trace=0af7651916cd43dd8448eb211c80319c caller=b7ad6b7169203331
sampled=00-$trace-$caller-01 unsampled=00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00
neuron-bench exec memcpy.neff --count 1 >/dev/null # the machine exists now

# By rules, with parents. Executions are numbered from 1; every 10th from the first on is a sample.
collector receiver.py http 503:1 cut
agent http --otlp="http://127.0.0.1:$port" --otlp-traces=failed,parent,every=10
lives 'run 12' "trace $sampled" 'run 3' "trace $unsampled" 'run 6' "trace 01-$trace-$caller-01-later" 'run 1' "trace $sampled" trace 'run 2' \
    "trace $sampled" "trace ${sampled^^}" 'run 2' "trace ${sampled/$trace/00000000000000000000000000000000}" 'run 2' \
    "trace $sampled" "trace 00-$trace-$caller-0" 'run 2' "trace ff-$trace-$caller-01" 'run 2' "trace $sampled-later" 'run 2' "trace 00_$trace-$caller-01" 'run 1'
[ "$(grep -c ^invalid answers)" = 6 ] || fail "invalid traceparents: $(cat answers)"
wait_for has http '.name == "execute memcpy"' 8
NEURON_SOFT_FAULT=hbm-ue:at=3 tag=broken lives 'run 2' fail
wait_for has http '.attributes["neuron.sampled_by"] == "failed"' 1
stop
spans http >http.jsonl
of_job() { jq -se "map(select(.attributes[\"neuron.runtime_tag\"] == \"job\")) | $1" http.jsonl >/dev/null || fail "$1: $(cat http.jsonl)"; }
of_job 'map(select(.attributes["neuron.execution.id"]) | .attributes["neuron.execution.id"]) | sort == [1, 11, 13, 14, 15, 21, 22, 31]'
of_job 'map(select(.parent_span_id) | [.attributes["neuron.execution.id"], .trace_id, .parent_span_id, .flags, .attributes["neuron.sampled_by"]]) | sort == [
    [13, "'$trace'", "'$caller'", 1, "parent"], [14, "'$trace'", "'$caller'", 1, "parent"], [15, "'$trace'", "'$caller'", 1, "parent"],
    [21, "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", 1, "every"], [22, "'$trace'", "'$caller'", 1, "parent"]]'
of_job 'map(select(.name == "load memcpy")) | length == 1 and .[0].attributes["neuron.model.device_bytes"] > 0 and (.[0].attributes["neuron.sampled_by"] | test("load"))'
of_job 'all(.kind == 1 and .end > .start and .start > 1.7e18 and (.trace_id | test("^[0-9a-f]{32}$")) and (.span_id | test("^[0-9a-f]{16}$")) and (.status | not) and
    .attributes["hw.id"] == "neuron0" and .attributes["neuron.core"] == 0 and .attributes["neuron.model.name"] == "memcpy" and .attributes["process.pid"] > 1 and
    .resource["service.name"] == "neuron-monitor" and .scope.name == "neuron-monitor")'
jq -se '(map(.span_id) | unique | length) == length' http.jsonl >/dev/null || fail "a duplicate span: $(cat http.jsonl)"
jq -se 'map(select(.attributes["neuron.runtime_tag"] == "broken" and .attributes["neuron.execution.id"] == 3)) | length == 1 and (.[0] |
    .status == {message: "status 1201 (hbm_error)", code: 2} and .attributes["error.type"] == "hbm_error" and .attributes["neuron.status"] == 1201)' http.jsonl >/dev/null ||
    fail "the failure: $(cat http.jsonl)"
grep -q '^POST /v1/traces HTTP' http/*.head || fail "traces have no separate address"
rm -rf "$NEURON_HOOKS_DIR" && mkdir -m 700 "$NEURON_HOOKS_DIR" # the device is healthy again
if command -v protoc >/dev/null; then # a decoder that others wrote, with the fields that the exporter means
    for file in http/*.traces; do
        protoc --proto_path="$NTK_SOURCE_DIR/exporters/otlp" --decode=ntk.otlp.TracesRequest otlp.proto <"$file" >text || fail "protoc rejects $file"
        ! grep -qE '^ *[0-9]+[ :{]' text || fail "protoc finds unknown fields in $file"
    done
fi

# An outage: selected spans wait in a separate folder, and arrive once, with metrics disabled.
collector receiver.py before
agent before --otlp="http://127.0.0.1:$port" --otlp-traces=every=1 --otlp-spool spool
# Ranks: each operation of each rank, with the number that all ranks have for it.
ranks=()
for k in 0 1; do
    NEURON_PROCESS_TAG=ranks NEURON_RT_ROOT_COMM_ID=127.0.0.1:46830 NEURON_RT_VISIBLE_CORES=$k "$rank" $k 2 3 1 >"rank$k.log" 2>&1 &
    ranks+=($!)
done
for k in 0 1; do
    wait "${ranks[k]}" || fail "rank $k"
done
wait_for has before '.name == "all_gather"' 6
spans before | jq -se 'map(select(.name == "all_gather") | .attributes | [.["neuron.collective.rank"], .["neuron.collective.rank_count"], .["neuron.rank"], .["neuron.core"],
    .["neuron.collective.bytes"], .["neuron.collective.sequence"]]) | sort |
    (map(.[0:5]) | unique) == [[0, 2, 0, 0, 4096], [1, 2, 1, 1, 4096]] and (group_by(.[0]) | map(map(.[5])) | .[0] == .[1])' >/dev/null ||
    fail "the collectives: $(spans before | jq -c .attributes)"
kill $last && wait $last 2>/dev/null || true
lives 'run 200'
is_kept() { [ "$(cat spool/traces/*.msg 2>/dev/null | grep -ao 'execute memcpy' | wc -l)" -ge 200 ] && echo yes; } # all of them
wait_for is_kept
kill $agent && wait $agent || true
collector grpc_receiver.py grpc UNAVAILABLE RESOURCE_EXHAUSTED+1
OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$port \
    neuron-monitor --period 300ms --quiet --otlp --otlp-traces=slow=1h --otlp-spool spool --prometheus 127.0.0.1:0 --verbose 1 2>grpc.err &
agent=$!
wait_for has grpc '.name == "execute memcpy"' 200
page() { curl -sf --max-time "$patience" "http://127.0.0.1:$(sed -n 's/.* port //p' grpc.err)/metrics"; }
count() { page | sed -n 's/^neuron_monitor_output_items_total{output="otlp traces",result="'"$1"'"} //p'; }
wait_for eval '[ "$(count sent)" -ge 201 ] && echo yes'
tag=slow lives 'run 3'
wait_for has grpc '.attributes["neuron.runtime_tag"] == "slow" and .name == "load memcpy"' 1
stop
spans grpc >grpc.jsonl
jq -se 'map(select(.attributes["neuron.runtime_tag"] == "job")) | (map(.span_id) | unique | length) == length and
    (map(.attributes["neuron.execution.id"] // 0) | sort) == [range(0; 201)]' grpc.jsonl >/dev/null || fail "not each execution once: $(jq -c .attributes grpc.jsonl)"
jq -se 'map(select(.attributes["neuron.runtime_tag"] == "slow")) | length == 1' grpc.jsonl >/dev/null || fail "a span other than the load is slow"
[ -z "$(find grpc -name '*.pb')" ] || fail "disabled metrics arrive"

# More than fits: sent and lost spans add up to the selected ones.
collector grpc_receiver.py flood
OTEL_METRICS_EXPORTER=none OTEL_EXPORTER_OTLP_PROTOCOL=grpc \
    neuron-monitor --period 3s --quiet --otlp="http://127.0.0.1:$port" --otlp-traces=every=1 --prometheus 127.0.0.1:0 --verbose 1 2>grpc.err &
agent=$!
wait_for eval 'grep -q " port [1-9]" grpc.err && echo yes'
tag=flood neuron-bench exec memcpy.neff --cores 0 --count 12000 --threads 1 >flood.log
# A record that was overwritten before the agent read it, on a busy machine, was not chosen.
overwritten() { page | awk '/^neuron_monitor_events_lost_total/ { sum += $NF } END { print sum + 0 }'; }
all_are_counted() { [ $(($(count sent) + $(count lost) + $(overwritten))) -ge 12001 ] && echo yes; }
wait_for all_are_counted
sent=$(count sent) lost=$(count lost)
[ $((sent + lost)) -le 12001 ] && { [ "$(overwritten)" -gt 0 ] || [ $((sent + lost)) = 12001 ]; } || fail "$sent sent and $lost lost of 12001"
stop
[ "$(spans flood | wc -l)" = "$sent" ] || fail "$(spans flood | wc -l) spans of $sent arrive"

# Rules that mean nothing.
refused() { # TEXT OPTION...
    local code=0
    neuron-monitor --once "${@:2}" >/dev/null 2>refused.err || code=$?
    [ $code = 2 ] && grep -qF -- "$1" refused.err || fail "$1: code $code, $(cat refused.err)"
}
refused "unknown rule 'fast': expected 'failed', 'slow=TIME', 'parent' or 'every=N', separated by commas" --otlp --otlp-traces=failed,fast
refused "unknown rule 'slow=soon'" --otlp --otlp-traces=slow=soon
refused "unknown rule 'every=0'" --otlp --otlp-traces=every=0
refused '--otlp-traces requires --otlp' --otlp-traces
