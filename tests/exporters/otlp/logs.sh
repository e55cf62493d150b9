# logs.sh - changes of device health as log records, by the agent over HTTP with an outage and over gRPC, and through the
# pipe: each change arrives once, and metrics still do.
. "$(dirname "$0")/../../e2e/lib.sh"
needs neuron-monitor neuron-monitor-otlp neuron-bench neuron-packager jq
needs_python grpc
. "$(dirname "$0")/collector.sh"

records() { find "$1" -name '*.logs' | sort | xargs -r "$python" "$here/decode.py"; }
has() { [ "$(records "$1" | jq -s "[.[] | select($2)] | length")" -ge 1 ] && echo yes; }
break_device() { ! NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec memcpy.neff --count 1 >/dev/null 2>&1 || fail "the fault was not injected"; }
is_whole() { # FOLDER: it contains the change exactly once, with all attributes
    records "$1" | jq -se 'map(select(.event_name == "neuron.device.health.reason.started" and .attributes["neuron.health.reason"] == "hbm_uncorrectable")) as $started |
        map(select(.event_name == "neuron.device.health.verdict")) as $verdict |
        ($started | length) == 1 and ($verdict | length) == 1 and
        ($started[0] | .severity == 17 and .severity_text == "ERROR" and (.body | startswith("device 0: hbm_uncorrectable")) and
            .attributes["neuron.health.action"] == "replace_instance" and .attributes["hw.id"] == "neuron0" and .attributes["hw.type"] == "gpu" and
            .resource["service.name"] == "neuron-monitor" and .scope.name == "neuron-monitor" and .time > 1.7e18 and .time <= .observed) and
        ($verdict[0] | .attributes["neuron.health.verdict"] == "unhealthy" and .attributes["neuron.health.verdict.before"] == "healthy" and
            .attributes["hw.state"] == "failed")' >/dev/null || fail "$1: unexpected records: $(records "$1")"
}

neuron-packager example memcpy -o memcpy.neff
neuron-bench exec memcpy.neff --count 1 >/dev/null # the machine exists now

# Over HTTP: the collector is down during the change, and gets it later; each signal waits in a separate folder.
collector receiver.py first
neuron-monitor --period 200ms --otlp="http://127.0.0.1:$port" --otlp-logs --otlp-spool spool >reports 2>agent.err &
agent=$!
sees_device() { tail -n 1 reports | jq -e '.neuron_ext.devices[0].health.verdict == "healthy"' >/dev/null && echo yes; }
wait_for sees_device
wait_for eval 'find first -name "*.pb" | greps pb && echo yes'
[ -z "$(records first)" ] || fail "a healthy device has a record: $(records first)"
kill $last && wait $last 2>/dev/null || true
break_device
is_kept() { # the agent may see the failed execution before the error of the device
    tail -n 1 reports | jq -e 'any(.neuron_ext.devices[0].health.reasons[]; .reason == "hbm_uncorrectable")' >/dev/null &&
        ls spool/logs/*.msg >/dev/null 2>&1 && ls spool/*.msg >/dev/null 2>&1 && echo yes
}
wait_for is_kept
grep -q 'otlp logs: .*retrying' agent.err || fail "unexpected output: $(cat agent.err)"
kill $agent && wait $agent || true
collector receiver.py second 503
# The next agent sends the queued records. For it, the device has been unhealthy from the beginning.
neuron-monitor --period 200ms --quiet --otlp="http://127.0.0.1:$port/" --otlp-logs --otlp-spool spool 2>again.err &
agent=$!
wait_for has second '.attributes["neuron.health.verdict.before"] == "healthy"'
wait_for has second '.event_name == "neuron.device.health.verdict" and (.attributes["neuron.health.verdict.before"] | not)'
[ "$(records second | jq -s 'map(select(.attributes["neuron.health.reason"] == "hbm_uncorrectable")) | length')" = 2 ] || fail "unexpected output: $(records second)"
wait_for eval 'find second -name "*.pb" | greps pb && echo yes'
kill $agent && wait $agent || fail "see again.err"
grep -q '^POST /v1/logs HTTP' second/*.head || fail "logs have no separate address"

# Over gRPC, with metrics disabled. The reports that the first agent wrote go through the pipe.
collector grpc_receiver.py grpc UNAVAILABLE
OTEL_METRICS_EXPORTER=none neuron-monitor-otlp --logs --protocol grpc --endpoint "http://127.0.0.1:$port" < <(cat reports && wait_for has grpc true) 2>pipe.err ||
    fail "see pipe.err"
is_whole grpc
[ -z "$(find grpc -name '*.pb')" ] || fail "disabled metrics arrive"
grep -q 'otlp logs: .*status UNAVAILABLE: not; retrying' pipe.err || fail "see pipe.err"

# A rejected part is counted; a collector without logs gets the metrics.
collector grpc_receiver.py partial partial
OTEL_METRICS_EXPORTER=none neuron-monitor-otlp --logs --protocol grpc --endpoint "http://127.0.0.1:$port" --compression gzip < <(cat reports && wait_for has partial true) 2>partial.err ||
    fail "see partial.err"
is_whole partial
grep -q 'otlp logs: 3 log records of a message were rejected' partial.err || fail "see partial.err"
OTEL_LOGS_EXPORTER=none OTEL_METRICS_EXPORTER=none neuron-monitor-otlp --logs --endpoint http://127.0.0.1:1 <reports 2>none.err || fail "see none.err"
code=0
neuron-monitor --otlp-logs --once >/dev/null 2>usage.err || code=$?
[ $code = 2 ] && grep -q -- '--otlp-logs requires --otlp' usage.err || fail "usage: unexpected exit code $code"
