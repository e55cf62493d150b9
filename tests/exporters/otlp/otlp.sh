# otlp.sh - neuron-monitor-otlp and neuron-monitor --otlp against a fake collector. The pushes, decoded by a decoder
# of the test, hold the same as the page for Prometheus of the same reports. Also answers of all kinds, a cut
# connection, an outage with a spool, TLS with certificates on both sides, and invalid variables.
. "$(dirname "$0")/../../e2e/lib.sh"
needs neuron-monitor neuron-monitor-otlp neuron-monitor-prometheus python3 jq curl openssl
python=python3
. "$(dirname "$0")/collector.sh"

decode() { python3 "$here/decode.py" "$@"; }
# feed FILE FOLDER KIND: the input ends after its last push has arrived, because after the end a program waits only a
# few seconds for its peer.
feed() {
    cat "$1"
    wait_for arrived "$2" "$3" "$(wc -l <"$1")"
}
arrived() { [ "$(find "$1" -name "*.$2" | wc -l)" -ge "$3" ] && echo yes; }
push() { neuron-monitor-otlp --endpoint "http://127.0.0.1:$port" "$@"; }

# Reports of an application that exits and returns under the same name; the last report is truncated.
neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 200ms >reports 2>/dev/null &
agent=$!
work() { NEURON_PROCESS_TAG=pushed neuron-bench exec memcpy.neff --cores 0 --count "$1" --rate 1000 >/dev/null; }
ended() { [ "$(completed_in_reports reports)" = "$1" ] && [ "$(tail -n 1 reports | jq '.neuron_runtime_data | length')" = 0 ] && echo yes; }
wait_for has_reports reports
work 400 && wait_for ended 400
work 100 && wait_for ended 500
kill $agent && wait $agent || true
# The page for Prometheus after the last report, and after the last one with an application.
lines=$(jq -c '.neuron_runtime_data | length' reports | grep -n '^[^0]' | tail -n 1 | cut -d : -f 1)
head -n "$lines" reports >busy
serve_page() { # REPORTS FILE: the input stays open while the page is fetched
    local server seconds
    rm -f in && mkfifo in
    neuron-monitor-prometheus --port 0 --address 127.0.0.1 <in >prometheus.out 2>prometheus.err &
    server=$!
    exec 7>in
    sed 's/"every_ns":[0-9]*/"every_ns":3600000000000/' "$1" >&7 # so that the page is not stale before it is read
    # No two collections took the same time.
    seconds=$(tail -n 1 "$1" | jq '.neuron_ext.collect_duration_ns / 1e9')
    wait_for page_has "$seconds" "$2"
    exec 7>&-
    wait $server || fail "cannot get the page"
}
steady() { grep -Ev "^(process_|neuron_monitor_report_age_seconds)" "$1"; } # lines that do not change with time
page_has() { # The last report is on it, and no last counts of ended runtimes, once four pages in a row are equal.
    local at
    at=$(sed -n 's/.* port //p' prometheus.out)
    curl -sf "http://127.0.0.1:$at/metrics" >"$2" &&
        sed -n 's/^neuron_monitor_collect_duration_seconds{.*} //p' "$2" | jq -e ". == $1" >/dev/null || return 0
    if cmp -s "$2.before" <(steady "$2"); then
        echo >>"$2.same"
    else
        : >"$2.same"
    fi
    steady "$2" >"$2.before"
    [ "$(wc -l <"$2.same")" -lt 3 ] || echo yes
}
serve_page reports page.end
serve_page busy page.busy

# It needs a few seconds to give up, so it is checked at the end.
neuron-monitor-otlp --endpoint http://me:s3cret@127.0.0.1:1 <busy 2>lost.err &
lost=$!

# Every series and value; ended series are marked once. Retried without loss: 503, 429, and a cut connection.
collector receiver.py all 503:1 cut 429:date 502
push < <(feed reports all pb) 2>all.err || fail "see all.err"
python3 "$here/compare.py" page.end all/*.pb >count || fail "the last pushes differ"
[ "$(cat count)" -gt 30 ] || fail "only $(cat count) series"
[ "$(ls all/*.pb | wc -l)" = "$(wc -l <reports)" ] || fail "expected one push per report"
[ "$(ls all/*.refused | wc -l)" = 4 ] || fail "not all answers were used"
grep -q '^answer: 503:1$' all/0001.head && grep -qi '^Content-Type: application/x-protobuf$' all/0001.head &&
    grep -q '^POST /v1/metrics HTTP/1.1$' all/0001.head || fail "unexpected output: $(cat all/0001.head)"
decode all/*.pb >all.jsonl
ends() { jq -s "[.[] | select(.flags == 1 and .name == \"$1\" and .attributes.runtime_tag == \"pushed\" and .attributes.status_type == $2)] | length" all.jsonl; }
[ "$(ends execution_status '"completed"')" = 2 ] || fail "$(ends execution_status '"completed"') ends of a series that ended twice"
jq -se '[.[] | select(.name == "execution_status" and .attributes.status_type == "completed" and .flags == 0)]
    | (map(.start) | unique | length) == 1 and (max_by(.time).int == 500)' all.jsonl >/dev/null || fail "the total of the tag does not continue"
jq -se '[.[] | select(.name == "neuron_execution_latency" and .flags == 0)] | (map(.start) | unique | length) == 2' all.jsonl >/dev/null ||
    fail "a histogram that restarted has no new start time"
jq -se 'all(.[]; .resource["service.name"] == "neuron-monitor" and .resource["os.type"] == "linux" and (.resource["host.name"] | length) > 0)' \
    all.jsonl >/dev/null || fail "the resource is not described"
if command -v protoc >/dev/null; then # an independent decoder, to confirm the fields of the exporter
    for file in all/*.pb; do
        protoc --proto_path="$NTK_SOURCE_DIR/exporters/otlp" --decode=ntk.otlp.Request otlp.proto <"$file" >text || fail "protoc rejects $file"
        ! grep -qE '^ *[0-9]+[ :{]' text || fail "protoc finds unknown fields in $file"
    done
fi

# gzip, exponential histograms, labels of the user; while the application runs.
collector receiver.py packed
OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://127.0.0.1:$port/a/path \
    OTEL_EXPORTER_OTLP_COMPRESSION=gzip OTEL_EXPORTER_OTLP_HEADERS='x-key=a%20b%2Cc, x-empty=' \
    OTEL_RESOURCE_ATTRIBUTES='service.name=no,team=a%3Db,host.name=mine' OTEL_SERVICE_NAME=mine \
    OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=base2_exponential_bucket_histogram \
    neuron-monitor-otlp < <(feed busy packed pb) 2>busy.err || fail "see busy.err"
python3 "$here/compare.py" page.busy packed/*.pb >count || fail "gzip or exponential buckets differ"
grep -q '^POST /a/path HTTP' packed/0001.head && grep -qi '^Content-Encoding: gzip$' packed/0001.head &&
    grep -q '^x-key: a b,c$' packed/0001.head && grep -q '^x-empty:' packed/0001.head || fail "unexpected output: $(cat packed/0001.head)"
decode packed/*.pb | jq -se 'all(.[]; .resource["service.name"] == "mine" and .resource.team == "a=b" and .resource["host.name"] == "mine")
    and any(.[]; .kind == "exponential" and .count > 0 and .scale <= 6)' >/dev/null || fail "the user's words are not in the resource"
# An option overrides a variable; an interval pushes the first and the last report.
collector receiver.py explicit
OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 push --histograms explicit --interval 1h <busy || fail "the options have no effect"
python3 "$here/compare.py" page.busy explicit/*.pb >count || fail "explicit buckets differ"
[ "$(ls explicit/*.pb | wc -l)" = 2 ] || fail "expected two pushes, found $(ls explicit/*.pb | wc -l) pushes in an interval"

# Rejected in part or in full: reported once, counted, never retried.
collector receiver.py refused partial status 500 garbage partial
push < <(feed reports refused head) 2>refused.err || fail "see refused.err"
[ "$(ls refused/*.head | wc -l)" = "$(wc -l <reports)" ] || fail "a rejected request was sent again"
grep -q '3 data points of a message were rejected.*a.*bad' refused.err || fail "see refused.err"
! grep -q $'\e' refused.err || fail "the collector writes to the terminal"
collector receiver.py status status
push < <(feed busy status head) 2>status.err || fail "see status.err"
grep -q 'dropped [1-9][0-9]* data points: status 400: no good one' status.err || fail "see status.err"

# An endless answer is not read to its end, and a retry would bring the same.
collector receiver.py long long long
push < <(feed busy long head) 2>long.err || fail "see long.err"
grep -q 'dropped [1-9][0-9]* data points: .*the response is longer than' long.err || fail "see long.err"
[ "$(ls long/*.head | wc -l)" = "$(wc -l <busy)" ] || fail "a request with a long answer was sent again"

# The agent pushes directly; nothing is lost through an outage with a spool.
collector receiver.py agent
OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:$port neuron-monitor --otlp --otlp-spool spool --pid-label --zero-fill --period 200ms >agent.jsonl 2>agent.err &
agent=$!
some() { ls agent/*.pb >/dev/null 2>&1 && echo yes; }
wait_for some
kill $last && wait $last 2>/dev/null || true
is_retrying() { grep -q 'retrying' agent.err && echo yes; }
wait_for is_retrying
work 50
counted() { [ "$(completed_in_reports agent.jsonl)" = 50 ] && echo yes; }
wait_for counted
kill $agent # it tries for a few seconds; meanwhile:

# TLS: the authority and the certificate of the client are files.
authority() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null; }
signed() { # NAME
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1\n' >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA root.pem -CAkey root.key -CAcreateserial -days 2 -extfile "$1.ext" -out "$1.pem" 2>/dev/null
}
authority root && signed server && signed client
collector receiver.py tls --tls server.pem server.key root.pem
neuron-monitor-otlp --endpoint "https://127.0.0.1:$port" --certificate root.pem --client-certificate client.pem --client-key client.key \
    < <(feed busy tls pb) 2>tls.err || fail "the push through TLS failed"
[ "$(ls tls/*.pb | wc -l)" = "$lines" ] || fail "not every push went through TLS"

# Back to the agent.
wait $agent || fail "the agent fails"
ls spool/*.msg >/dev/null || fail "the spool is empty"
collector receiver.py later
neuron-monitor --otlp="http://127.0.0.1:$port/" --otlp-spool spool --pid-label --period 100ms --quiet &
agent=$!
is_spool_empty() { ls later/*.pb >/dev/null && ! ls spool/*.msg >/dev/null && echo yes; }
wait_for is_spool_empty
kill $agent && wait $agent || fail "the second run fails"
decode later/*.pb >later.jsonl
jq -se '[.[] | select(.name == "neuron_executions" and .attributes.status_type == "completed") | .int] | max == 50' later.jsonl >/dev/null ||
    fail "the data from the spool did not arrive"
jq -se '[.[] | select(.name == "execution_status") | .attributes.pid] | length > 0 and all(test("^[0-9]+$"))' later.jsonl >/dev/null ||
    fail "--pid-label has no effect"
jq -se 'any(.[]; .name == "neuroncore_utilization" and (.attributes.runtime_tag // "") == "" and .attributes.neuroncore == "1")' later.jsonl >/dev/null ||
    fail "--zero-fill has no effect"

# Two signals stop it at once: not a failure if everything is kept, a failure if data is lost.
for kept in 'spooled 0' 'unspooled 1'; do
    read -r name wanted <<<"$kept"
    mkfifo "$name.in"
    neuron-monitor-otlp --endpoint http://127.0.0.1:1 $([ "$name" = unspooled ] || echo --spool "$name.spool") <"$name.in" >/dev/null 2>"$name.err" &
    last=$!
    exec 8>"$name.in"
    cat reports >&8
    tries() { grep -q 'retrying' "$1.err" && echo yes; }
    wait_for tries "$name"
    # All of them are in files before the program is stopped.
    is_kept() { [ "$(ls spooled.spool/*.msg | wc -l)" = "$(wc -l <reports)" ] && echo yes; }
    [ "$name" = unspooled ] || wait_for is_kept
    kill "$last"
    is_over() { if runs "$last"; then kill "$last"; else echo yes; fi; } # signal after signal, until it has exited
    wait_for is_over
    code=0
    wait "$last" || code=$?
    exec 8>&-
    [ $code = "$wanted" ] || fail "two signals, $name: unexpected exit code $code"
done
[ "$(ls spooled.spool/*.msg | wc -l)" = "$(wc -l <reports)" ] || fail "a report is not in the spool"
grep -q 'stopped before everything was sent; [0-9]* data points lost' unspooled.err || fail "see unspooled.err"

# Nothing is pushed, but the pipe is read.
cat reports | OTEL_SDK_DISABLED=true neuron-monitor-otlp --endpoint http://127.0.0.1:1 || fail "the disabled exporter fails"
cat reports | OTEL_METRICS_EXPORTER=none neuron-monitor-otlp || fail "expected success with nothing to do"

# Invalid settings get one line with their name, and exit code 1; wrong usage gets 2.
refused() { # CODE TEXT OPTION... with variables before them
    local code=0 wanted=$1 text=$2
    shift 2
    neuron-monitor-otlp "$@" <busy >/dev/null 2>refused.err || code=$?
    [ $code = "$wanted" ] && grep -q -- "$text" refused.err || fail "$text: unexpected exit code $code"
    [ "$wanted" = 2 ] || [ "$(wc -l <refused.err)" = 1 ] || fail "expected one line of output"
}
OTEL_EXPORTER_OTLP_PROTOCOL=thrift refused 1 'grpc or http/protobuf'
OTEL_EXPORTER_OTLP_HEADERS=$'a=b%0d%0aX: y' refused 1 'OTEL_EXPORTER_OTLP_HEADERS: a value contains a control'
OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta refused 1 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: '
refused 1 'http://' --endpoint ftp://host
refused 2 "invalid value 'some' for --histograms" --histograms some
refused 2 'unexpected argument .operand' operand
code=0
neuron-monitor --otlp-spool x --once >/dev/null 2>usage.err || code=$?
[ $code = 2 ] && grep -q 'requires --otlp' usage.err || fail "see usage.err"

# Without a spool losses are logged, but the password of the URL is not.
code=0
wait $lost || code=$?
[ $code = 1 ] && grep -q 'data points lost' lost.err || fail "unexpected exit code $code"
! grep -q s3cret lost.err || fail "the password is in the output"
