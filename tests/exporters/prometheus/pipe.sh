# pipe.sh - neuron-monitor-prometheus reading from a pipe: forms of the page, HTTPS with rotation, users, client
# certificates, and messages about invalid files and invalid input.
. "$(dirname "$0")/../../e2e/lib.sh"
here=$(dirname "$(readlink -f "$BASH_SOURCE")")
needs neuron-monitor neuron-monitor-k8s-info neuron-monitor-prometheus curl openssl

# One report, so that the page does not change between two requests of this script. It announces the next one in an
# hour, so that it does not become stale.
neuron-monitor --count 1 --period 100ms | sed 's/"every_ns":[0-9]*/"every_ns":3600000000000/' >reports
# start NAME OPTION...: serves the report, and the input stays open. Sets $port.
start() {
    local name=$1
    shift
    rm -f "$name.in" && mkfifo "$name.in"
    neuron-monitor-prometheus --port 0 --address 127.0.0.1 "$@" <"$name.in" >"$name.out" 2>"$name.err" &
    last=$!
    exec 7>"$name.in"
    cat reports >&7
    wait_for listening "$name"
    port=$(sed -n 's/.* port //p' "$name.out")
}
listening() { grep -q ' port [0-9]' "$1.out" && echo yes; }
# get URL CURL-OPTION...: prints the body; the status is the last line.
get() { curl -s -w '\n%{http_code}\n' --max-time "$patience" "$@" || true; }
ready() { [ "$(curl -s -o /dev/null -w '%{http_code}' "$@")" = 200 ] && echo yes; }

start plain
grep -qx "Running HTTP prometheus server at port $port" plain.out || fail "unexpected output: $(cat plain.out)"
wait_for ready "http://127.0.0.1:$port/-/ready"
for path in / /metrics /anything; do
    get "http://127.0.0.1:$port$path" | greps '^# TYPE system_memory_total_bytes gauge' || fail "no page at $path"
done
aside='^process_|^neuron_monitor_report_age_seconds{' # changes with time
curl -s "http://127.0.0.1:$port/metrics" | grep -Ev "$aside" >text
curl -s "http://127.0.0.1:$port/metrics" -H 'Accept-Encoding: gzip' -o text.gz
gzip -dc text.gz | grep -Ev "$aside" | cmp - text || fail "the compressed page differs"
curl -s "http://127.0.0.1:$port/metrics" -H 'Accept: application/openmetrics-text' -D open.head -o open
grep -qi '^content-type: application/openmetrics-text; version=1.0.0' open.head || fail "unexpected output: $(cat open.head)"
[ "$(tail -n 1 open)" = '# EOF' ] || fail "OpenMetrics without an end"
if /usr/bin/python3 -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
    /usr/bin/python3 "$here/openmetrics.py" open >open.types || fail "the reference parser rejects the page"
fi
echo 'no report' >&7
exec 7>&-
wait "$last" || fail "the end of the input is not a failure"
grep -q 'skipped line 2' plain.err || fail "the bad line is not reported"

# A program that hangs: after three periods without a report its values are not served as new.
start stale
series() { curl -s "http://127.0.0.1:$port/metrics" | grep -c "^$1" || true; }
[ "$(series system_vcpu_count)" = 1 ] || fail "no page"
sed 's/"every_ns":[0-9]*/"every_ns":1000000/' reports >&7
hangs() { [ "$(curl -s -o stale.ready -w '%{http_code}' "http://127.0.0.1:$port/-/ready")" = 503 ] && echo yes; }
wait_for hangs
grep -q '^no report for three periods' stale.ready || fail "unexpected output: $(cat stale.ready)"
[ "$(series system_vcpu_count) $(series neuron_monitor_report_age_seconds)" = '0 1' ] || fail "old values are served"
cat reports >&7
wait_for ready "http://127.0.0.1:$port/-/ready"
[ "$(series system_vcpu_count)" = 1 ] || fail "the page stays empty after new reports"
exec 7>&-
wait "$last" || fail "the end of the input is not a failure"

# The agent collects for each request of its page, however long the period of the reports is.
neuron-monitor --period 1h --no-imds --quiet --prometheus 127.0.0.1:0 --verbose 1 2>long.err &
listens() { sed -n 's/.*serving metrics on port //p' long.err | grep . >/dev/null && echo yes; }
wait_for listens
port=$(sed -n 's/.*serving metrics on port //p' long.err)
wait_for ready "http://127.0.0.1:$port/-/ready"
ages() { curl -s "http://127.0.0.1:$port/metrics" | sed -n 's/^neuron_monitor_report_age_seconds{.*} //p'; }
# Earliest and latest time of the report on a page.
reported() {
    local begin=$EPOCHREALTIME age
    age=$(ages)
    awk -v "begin=$begin" -v "end=$EPOCHREALTIME" -v "age=$age" 'BEGIN { printf "%.6f %.6f\n", begin - age, end - age }'
}
has_age() { [ -n "$(ages)" ] && echo yes; }
is_newer() { reported | awk -v "old=$old" '{ exit !($1 > old) }' && echo yes; }
wait_for has_age
old=$(reported | cut -d ' ' -f 2)
wait_for is_newer

# On loopback, a request under a foreign host name is accepted only if that name is configured; a port for other
# hosts checks no names.
asked() { curl -s -o /dev/null -w '%{http_code}' -H "Host: $1" "http://127.0.0.1:$port/metrics"; }
start named --http-host evil.example
wait_for ready "http://127.0.0.1:$port/-/ready"
[ "$(asked evil.example) $(asked localhost:9) $(asked other.example)" = '200 200 421' ] || fail "--http-host has no effect"
start open --address 0.0.0.0
wait_for ready "http://127.0.0.1:$port/-/ready"
[ "$(asked other.example)" = 200 ] || fail "a service's name is rejected"

# The vendor's pipe of three programs: without --k8s-info on the first one, pods are unknown, which one message reports.
for count in 2 3 5; do
    for _ in $(seq $count); do cat reports; done |
        neuron-monitor-prometheus --port 0 --enable-k8s-info 2>pods.err | neuron-monitor-k8s-info --period 15
    [ "$(grep -c 'start neuron-monitor with --k8s-info' pods.err || true)" = $((count > 2)) ] || fail "$count: unexpected output"
done
k8s='{"period":15,"neuroncores_k8s_info":{},"neurondevices_k8s_info":{},"error":""}'
for _ in 1 2 3 4; do sed "s/}$/,\"neuron_k8s_info\":$k8s}/" reports; done |
    neuron-monitor-prometheus --port 0 --enable-k8s-info 2>pods.err >/dev/null
[ ! -s pods.err ] || fail "the reports contain pods"

# HTTPS: two authorities, a server certificate from each, a client certificate from the first.
authority() { # NAME
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" 2>/dev/null
}
signed() { # NAME AUTHORITY
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null
    printf 'subjectAltName=IP:127.0.0.1\n' >"$1.ext"
    openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -extfile "$1.ext" \
        -out "$1.pem" 2>/dev/null
}
authority first && authority second
signed one first && signed two second && signed client first && signed stranger second
cp one.pem server.pem && cp one.key server.key

start https --cert-file server.pem --key-file server.key
grep -qx "Running HTTPS prometheus server at port $port" https.out || fail "unexpected output: $(cat https.out)"
wait_for ready --cacert first.pem "https://127.0.0.1:$port/-/ready"
curl -sf --cacert first.pem "https://127.0.0.1:$port/metrics" | greps system_vcpu_count || fail "no page by HTTPS"
! curl -sf --cacert second.pem "https://127.0.0.1:$port/metrics" >/dev/null || fail "the wrong authority is trusted"
echo broken >server.pem
curl -sf --cacert first.pem "https://127.0.0.1:$port/" >/dev/null || fail "a broken certificate replaces a good one"
grep -q 'server.pem: cannot read the certificate' https.err || fail "the broken file is not reported"
cp two.key server.key && cp two.pem server.pem
curl -sf --cacert second.pem "https://127.0.0.1:$port/" >/dev/null || fail "the new certificate is not used"
kill "$last" && wait "$last" || fail "a signal is not a failure"
exec 7>&-

# The web configuration: users (the password is s3cret), headers, client certificates.
cat >web.yml <<'YML'
tls_server_config:
  cert_file: one.pem
  key_file: one.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: first.pem
basic_auth_users:
  scraper: $2b$04$abcdefghijklmnopqrstuuLZYjhNQAOdpbzt4WxWlUHjv1wsyH5DG
http_server_config:
  headers:
    X-Frame-Options: deny
YML
start web --web.config.file web.yml
all="--cacert first.pem --cert client.pem --key client.key"
wait_for ready $all -u scraper:s3cret "https://127.0.0.1:$port/-/ready"
status() { curl -s -o /dev/null -w '%{http_code}' "$@" "https://127.0.0.1:$port/" || true; }
[ "$(status $all -u scraper:s3cret)" = 200 ] || fail "the correct password is rejected"
[ "$(status $all -u scraper:wrong)" = 401 ] || fail "a wrong password is accepted"
[ "$(status $all -u nobody:s3cret)" = 401 ] || fail "an unknown user is accepted"
[ "$(status $all)" = 401 ] || fail "accepted without a user"
[ "$(status --cacert first.pem -u scraper:s3cret)" = 403 ] || fail "accepted without a certificate"
[ "$(status --cacert first.pem --cert stranger.pem --key stranger.key -u scraper:s3cret)" != 200 ] ||
    fail "a certificate of another authority is accepted"
curl -s -D web.head -o /dev/null $all -u scraper:s3cret "https://127.0.0.1:$port/"
grep -qi '^x-frame-options: deny' web.head || fail "the header is missing: $(cat web.head)"
sed -i 's/scraper:/other:/' web.yml
[ "$(status $all -u scraper:s3cret)" = 401 ] || fail "a removed user is accepted"
[ "$(status $all -u other:s3cret)" = 200 ] || fail "a new user is rejected"
sed -i 's/one\.\(pem\|key\)/three.\1/' web.yml # files that appear a moment later
[ "$(status $all -u other:s3cret)" = 500 ] || fail "a configuration without its certificate is used"
cp one.key three.key && cp one.pem three.pem
[ "$(status $all -u other:s3cret)" = 200 ] || fail "the certificate exists, but the server does not recover"
echo 'nonsense: 1' >>web.yml
[ "$(status $all -u other:s3cret)" = 500 ] || fail "an invalid configuration is used"
exec 7>&-
wait "$last" || true

# Invalid settings get one line and exit code 1; wrong usage gets 2.
refused() { # CODE TEXT OPTION...
    local code=0 wanted=$1 text=$2
    shift 2
    neuron-monitor-prometheus --port 0 "$@" <reports >/dev/null 2>refused.err || code=$?
    [ $code = "$wanted" ] && grep -q -- "$text" refused.err || fail "$*: unexpected exit code $code"
    [ "$wanted" = 2 ] || [ "$(wc -l <refused.err)" = 1 ] || fail "$*: expected one line of output"
}
refused 1 'do not match' --cert-file one.pem --key-file two.key
refused 1 'nothing.pem' --cert-file nothing.pem --key-file two.key
refused 1 "web.yml: line [0-9]*: 'nonsense' is not a known key" --web.config.file web.yml
refused 2 'must be used together' --cert-file one.pem
refused 2 'at most 65535' --port 65536
refused 2 'unexpected argument .operand' operand
code=0
neuron-monitor-prometheus --port 0 </dev/null >/dev/null 2>empty.err || code=$?
[ $code = 1 ] && grep -q 'ended without a neuron-monitor report' empty.err || fail "no input: unexpected exit code $code"
