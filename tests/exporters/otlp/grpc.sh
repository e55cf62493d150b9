# grpc.sh - neuron-monitor-otlp and neuron-monitor --otlp push over gRPC to gRPC's own server: the messages equal
# those over HTTP; statuses, pauses, compression and TLS.
. "$(dirname "$0")/../../e2e/lib.sh"
needs neuron-monitor neuron-monitor-otlp jq openssl
needs_python grpc
. "$(dirname "$0")/collector.sh"

feed() { # FILE FOLDER: the input ends after its last push has arrived
    cat "$1"
    wait_for arrived "$2" "$(wc -l <"$1")"
}
arrived() { [ "$(find "$1" -name '*.pb' | wc -l)" -ge "$2" ] && echo yes; }
decode() { "$python" "$here/decode.py" "$1"/*.pb | jq -c 'select(.name | test("^process|neuron_monitor_output") | not) | del(.file)'; }

neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 200ms >reports 2>/dev/null &
agent=$!
wait_for has_reports reports
NEURON_PROCESS_TAG=pushed neuron-bench exec memcpy.neff --cores 0 --count 100 --rate 1000 >/dev/null
seen() { [ "$(completed_in_reports reports)" = 100 ] && [ "$(wc -l <reports)" -ge 6 ] && echo yes; }
wait_for seen
kill $agent && wait $agent || true

# Everything that HTTP delivers, in the same messages; temporary failures are retried.
collector receiver.py http
neuron-monitor-otlp --endpoint "http://127.0.0.1:$port" < <(feed reports http) 2>http.err || fail "see http.err"
collector grpc_receiver.py grpc UNAVAILABLE RESOURCE_EXHAUSTED+1 DATA_LOSS
neuron-monitor-otlp --protocol grpc --endpoint "http://127.0.0.1:$port/a/path" --headers 'x-key=a%20b' < <(feed reports grpc) 2>grpc.err || fail "see grpc.err"
[ "$(ls grpc/*.meta | wc -l)" = $(($(wc -l <reports) + 3)) ] || fail "unexpected number of requests: $(ls grpc/*.meta | wc -l) requests"
diff <(decode http) <(decode grpc) >diff.log || fail "gRPC and HTTP differ: see diff.log"
[ "$(decode grpc | wc -l)" -gt 200 ] || fail "only $(decode grpc | wc -l) points"
grep -q '^x-key: a b$' grpc/0001.meta && grep -q '^user-agent: neuron-toolkit' grpc/0001.meta || fail "unexpected output: $(cat grpc/0001.meta)"
grep -q 'status UNAVAILABLE: not; retrying' grpc.err || fail "see grpc.err"

# Permanent failures are dropped, and reported once; so is a rejected part of a message.
answered() { [ "$(find refused -name '*.meta' | wc -l)" -ge "$1" ] && echo yes; }
collector grpc_receiver.py refused INVALID_ARGUMENT RESOURCE_EXHAUSTED ok partial
neuron-monitor-otlp --protocol grpc --compression gzip --endpoint "http://127.0.0.1:$port" \
    < <(head -n 4 reports && wait_for answered 4) 2>refused.err || fail "see refused.err"
[ "$(ls refused/*.meta | wc -l)" = 4 ] && [ "$(ls refused/*.pb | wc -l)" = 2 ] || fail "a rejected request was sent again"
grep -q 'dropped [1-9][0-9]* data points: status INVALID_ARGUMENT: not$' refused.err && grep -q '3 data points of a message were rejected.*a bad point' refused.err || fail "see refused.err"
decode refused | greps neuron || fail "a compressed message is not read"

# TLS, and the agent with the standard variables.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
    -keyout tls.key -out tls.pem 2>/dev/null
collector grpc_receiver.py tls --tls tls.pem tls.key
OTEL_EXPORTER_OTLP_PROTOCOL=grpc OTEL_EXPORTER_OTLP_CERTIFICATE=$PWD/tls.pem neuron-monitor --period 200ms --quiet \
    --otlp="https://localhost:$port" 2>tls.err &
agent=$!
wait_for arrived tls 2
kill $agent && wait $agent || fail "see tls.err"
decode tls | greps neuron_monitor_build || fail "no metrics arrived over TLS"
