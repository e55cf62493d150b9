# cloudwatch.sh - neuron-monitor-cloudwatch against a fake service that verifies signatures with botocore, checks
# requests by the published model of the service, throttles, fails and cuts connections. Every request is accepted
# exactly once, except when its answer was truncated.
. "$(dirname "$0")/../../e2e/lib.sh"
here=$(dirname "$(readlink -f "$BASH_SOURCE")")
needs neuron-monitor-cloudwatch neuron-bench jq
needs_python botocore
unset "${!AWS_@}" http_proxy https_proxy all_proxy
export HOME=$scratch AWS_EC2_METADATA_DISABLED=true

neuron-packager example memcpy -o memcpy.neff
neuron-monitor --period 400ms >all.jsonl 2>/dev/null &
agent=$!
wait_for has_reports all.jsonl
# Ten reports from the first one of the application: its whole life. The latency of an execution may be in the report
# after it, so only all ten fit together, and only if each is repeated equally often.
ten_have_all() { # runs the application again if it got too little processor time for ten reports
    local before
    before=$(wc -l <all.jsonl)
    : >base.jsonl
    NEURON_PROCESS_TAG=mine neuron-bench exec memcpy.neff --cores 0 --count 300 --rate 600 >/dev/null
    until [ "$(wc -l <base.jsonl)" = 10 ]; do
        sleep 0.1
        kill -0 "$agent"
        tail -n +$((before + 1)) all.jsonl | sed -n '/"neuron_runtime_tag":"mine"/,$p' | head -10 >base.jsonl
    done
    [ "$(completed_in_reports base.jsonl)" = 300 ] && echo yes
}
wait_for ten_have_all
kill "$agent" && wait "$agent"

start_fake() { # NAME [PORT]: starts the service in folder NAME; sets $port
    mkdir -p "$1"
    /usr/bin/python3 "$here/fake_aws.py" "$1" ${2:-} >"$1/port" 2>"$1/err" &
    fake=$!
    wait_for has_port "$1/port"
    port=$(cat "$1/port")
    export AWS_ENDPOINT_URL=http://127.0.0.1:$port
}
has_port() { [ -s "$1" ] && echo yes; }
taken() { [ "$(cat "$1/taken" 2>/dev/null | wc -l)" = "$2" ] && echo yes; }
clean() { [ ! -e "$1/wrong" ] || fail "the service of $1 found an error: $(head -c 2000 "$1/wrong")"; }
cw() { neuron-monitor-cloudwatch --region eu-west-1 "$@"; }
# feed COUNT REPORTS ERR COMMAND...: keeps the input open until COUNT requests were accepted, however long that
# takes.
feed() {
    rm -f in && mkfifo in
    "${@:4}" <in 2>"$3" &
    last=$!
    exec 7>in
    cat "$2" >&7
    wait_for at_least "$1"
    exec 7>&-
    wait "$last" || fail "unexpected exit code $?: $(cat "$3")"
}
at_least() { [ "$(cat bad/taken 2>/dev/null | wc -l)" -ge "$1" ] && echo yes; }

# The input: ten minutes of three reports.
/usr/bin/python3 "$here/reports.py" base.jsonl 30 20 >reports
cw --dry-run <reports >expected
requests=$(wc -l <expected)
[ "$requests" -ge 10 ] && [ "$requests" -le 11 ] || fail "expected 10 or 11 requests, found $requests"
all() { jq -s "[.[].MetricData[] | select($1) | $2] | add" expected; }
number='(if .Value != null then .Value else ([.Values, .Counts] | transpose | map(.[0] * .[1]) | add) end)'
count='(if .Value != null then 1 else (.Counts | add) end)'
is_completed='.MetricName == "ExecutionStatus" and any(.Dimensions[]?; .Value == "completed")'
is_weighted='.MetricName == "ExecutionLatency" and any(.Dimensions[]?; .Value == "total_latency") and all(.Dimensions[]?; .Name != "Percentile")'
completed=$(completed_in_reports reports)
[ "$completed" -gt 0 ] && [ "$(all "$is_completed" "$number")" = "$completed" ] || fail "executions are missing"
[ "$(all "$is_weighted" "$count")" = "$completed" ] || fail "latencies of executions are missing"
[ "$(all '.MetricName == "SystemMemoryUsed"' "$count")" = 30 ] || fail "samples are missing"
[ "$(jq -s '[.[].MetricData[] | select(.StorageResolution != 60 or .Timestamp % 60 != 0)] | length' expected)" = 0 ] || fail "unexpected times or resolutions"
cw --dry-run --high-resolution-metrics <reports >high
[ "$(jq -s '[length, (.[].MetricData[] | select(.StorageResolution != 1))] | length' high)" = 1 ] || fail "unexpected number or resolution of requests"
[ "$(wc -l <high)" = 30 ] || fail "expected 30 requests of one second, found $(wc -l <high)"
cw --dry-run --metrics SystemMemoryUsed,ExecutionErrors <reports | jq -r '.MetricData[].MetricName' | sort -u | tr '\n' ' ' >names
[ "$(cat names)" = 'ExecutionErrors SystemMemoryUsed ' ] || fail "unexpected metrics: $(cat names)"
cw --dry-run --label rack=7 <reports >labelled
[ "$(jq -s '[.[].MetricData[] | select(all(.Dimensions[]?; . != {Name: "rack", Value: "7"}))] | length' labelled)" = 0 ] || fail "a metric has no label"
code=0
cw --dry-run --label le=7 <reports >/dev/null 2>label.err || code=$?
[ $code = 2 ] && grep -q 'choose a different name' label.err || fail "unexpected exit code of a label that is in use: $code"

# Everything that can go wrong on the way.
start_fake bad "$(free_ports 1)" # it restarts on the same port
echo 'AKIDEXAMPLE wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY a+session/token==' >bad/keys
echo 'take throttle throttle fail take early early take late lost take deny deny expire take late' >bad/plan
feed "$requests" reports bad.err env AWS_ACCESS_KEY_ID=AKIDEXAMPLE AWS_SESSION_TOKEN=a+session/token== \
    AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY neuron-monitor-cloudwatch --region eu-west-1
clean bad
[ ! -s bad/plan ] || fail "the service did not produce all failures"
/usr/bin/python3 "$here/same.py" expected bad/taken 2 || fail "see bad.err"
grep -q 'Rate exceeded' bad.err || fail "throttling is not reported"
grep -q gzip bad/taken || fail "expected a compressed request, found none"
! grep -q 'wJalr\|session/token' bad.err || fail "keys are in the output"

# Data that CloudWatch rejects is dropped and logged; the rest is sent. The keys are those of a profile.
mkdir .aws
printf '[default]\naws_access_key_id = NOT\naws_secret_access_key = this\n[prod]\naws_access_key_id=AKPROD\naws_secret_access_key=sEcret # old\n' >.aws/credentials
echo 'AKPROD sEcret' >bad/keys
rm bad/taken && echo 'take refuse take' >bad/plan
feed $((requests - 2)) reports refused.err cw --profile prod
clean bad
[ "$(taken bad $((requests - 1)))" = yes ] || fail "unexpected output: $(cat bad/log)"
grep -q 'rejected and dropped [1-9][0-9]* metrics: status 400, InvalidParameterValueException' refused.err &&
    grep -q 'the receiver accepts data again; [1-9][0-9]* metrics rejected so far' refused.err || fail "see refused.err"
# The clock of the service is an hour ahead, then an hour behind.
for skew in 3600 -3600; do
    rm bad/taken bad/log && echo $skew >bad/skew
    feed $((requests - 1)) reports skew.err cw --profile prod
    /usr/bin/python3 "$here/same.py" expected bad/taken 0
    [ "$(grep -c skewed bad/log)" = 1 ] || fail "the clock offset is not learned: $(cat bad/log)"
done
rm bad/skew
# Keys that expire while it runs: the file has new ones when the service asks for them.
rm bad/taken in && mkfifo in
cw --profile prod --high-resolution-metrics <in 2>renewed.err &
last=$!
exec 7>in
head -1 reports >&7 && wait_for taken bad 1
printf '[prod]\naws_access_key_id=AKNEW\naws_secret_access_key=other\naws_session_token=tok\n' >.aws/credentials
echo 'AKNEW other tok' >bad/keys
sed -n 2p reports >&7 && wait_for taken bad 2
exec 7>&-
wait "$last" || fail "unexpected exit code $?"
clean bad
[ ! -s renewed.err ] || fail "renewed keys are in the output"

# Other sources of keys: a container, a web identity, and the instance, which also names its region.
later=$(date -u -d '+6 hours' +%Y-%m-%dT%H:%M:%SZ)
object="\"AccessKeyId\":\"AKTEMP\",\"SecretAccessKey\":\"temp\",\"Token\":\"tok\",\"Expiration\":\"$later\""
echo "{$object}" >bad/container.json
echo "{\"Code\":\"Success\",$object}" >bad/imds.json
echo "<R><Credentials><AccessKeyId>AKTEMP</AccessKeyId><SecretAccessKey>temp</SecretAccessKey><SessionToken>tok</SessionToken><Expiration>$later</Expiration></Credentials></R>" >bad/sts.xml
echo 'AKTEMP temp tok' >bad/keys
echo web-token >web.token
mv .aws .none
one() { # NAME REGION VARIABLE...: sends one request with keys from that source
    rm -f bad/taken
    head -1 reports | env "${@:3}" neuron-monitor-cloudwatch 2>one.err || fail "$1: unexpected exit code $?"
    clean bad
    [ "$(jq -r .Authorization bad/taken | cut -d/ -f3)" = "$2" ] || fail "$1: unexpected region: $(cat bad/taken)"
}
one container eu-north-1 AWS_REGION=eu-north-1 AWS_CONTAINER_CREDENTIALS_FULL_URI="$AWS_ENDPOINT_URL/container" \
    AWS_CONTAINER_AUTHORIZATION_TOKEN='Bearer pod'
one identity us-west-2 AWS_DEFAULT_REGION=us-west-2 AWS_WEB_IDENTITY_TOKEN_FILE=web.token AWS_ROLE_ARN=arn:aws:iam::1:role/x
grep -qx 'STS arn:aws:iam::1:role/x web-token' bad/log || fail "unexpected output: $(cat bad/log)"
# A role, assumed with keys that a command prints; profiles of the config file.
mkdir .aws
cat >.aws/config <<'EOF'
[profile vault]
credential_process = sh -c 'echo "{\"Version\":1,\"AccessKeyId\":\"AKVAULT\",\"SecretAccessKey\":\"deep/sEcret\",\"SessionToken\":\"v/t==\"}"'
[profile job]
role_arn = arn:aws:iam::1:role/job
source_profile = vault
role_session_name = node-1
region = sa-east-1
EOF
echo 'AKVAULT deep/sEcret v/t==' >bad/sts.keys
one role sa-east-1 AWS_PROFILE=job
grep -qx 'STS arn:aws:iam::1:role/job as node-1' bad/log || fail "unexpected output: $(cat bad/log)"
one process us-gov-west-1 AWS_PROFILE=job AWS_REGION=us-gov-west-1
! grep -q 'deep' one.err || fail "keys are in the output"
mv .aws .once
one instance eu-south-2 AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT="$AWS_ENDPOINT_URL/"

# An outage: unsent data is kept in files and sent first the next time.
kill "$fake" && wait "$fake" 2>/dev/null || true
export AWS_ACCESS_KEY_ID=AKTEMP AWS_SECRET_ACCESS_KEY=temp AWS_SESSION_TOKEN=tok
cw --spool spool <reports 2>outage.err || fail "unexpected exit code $?"
[ "$(ls spool/*.msg | wc -l)" = "$requests" ] || fail "unexpected output: $(ls spool)"
[ "$(grep -c 'retrying' outage.err)" = 1 ] || fail "see outage.err"
rm -f bad/taken bad/port
start_fake bad "$port"
feed "$requests" base.jsonl after.err cw --spool spool
clean bad
head -n "$requests" bad/taken >first && /usr/bin/python3 "$here/same.py" expected first 0
[ "$(cat bad/taken | wc -l)" -gt "$requests" ] || fail "the new reports are not sent"

# A spool with lines for an agent is not accepted as one with requests.
neuron-monitor-cloudwatch --emf --emf-output tcp://127.0.0.1:1 --spool mixed <base.jsonl 2>mixed.err &
last=$!
unreachable() { grep -q 'retrying' mixed.err && echo yes; }
wait_for unreachable
kill "$last" # now it does not wait for the peer
wait "$last" || true # everything is in the folder, whether in time or not
ls mixed/*.msg >/dev/null || fail "no lines in the spool"
cw --spool mixed <base.jsonl 2>mixed.err || fail "unexpected exit code $?"
grep -q 'rejected and dropped [0-9]* metrics: the spool contains data from a different exporter' mixed.err || fail "see mixed.err"
clean bad

# Lines for an agent: to standard output, a file that is moved away, datagrams, and connections that close.
cw --emf <reports >lines
[ "$(jq -s "[.[] | select(.StatusType == \"completed\") | .ExecutionStatus] | add" lines)" = "$completed" ] || fail "EMF loses"
jq -es 'all(._aws.Timestamp > 1e12 and (. as $line | all(._aws.CloudWatchMetrics[]; (.Namespace == "Neuron") and
    (.Metrics | length > 0) and all(.Dimensions[0][]; $line[.] | type == "string") and
    all(.Metrics[]; $line[.Name] | type == "number"))))' lines >/dev/null ||
    fail "no Embedded Metric Format"
mkfifo emf.in
agent_of() { # NAME TARGET
    rm -f got
    neuron-monitor-cloudwatch --emf --emf-output "$2" <emf.in 2>"$1.err" &
    last=$!
    exec 7>emf.in
}
lines_are() { [ "$(cat "$@" 2>/dev/null | wc -l)" = "$total" ] && echo yes; }
total=$(wc -l <lines)
agent_of file got
half=$(head -15 reports | cw --emf | wc -l)
head -15 reports >&7
first_half() { [ "$(wc -l <got)" = "$half" ] && echo yes; }
wait_for first_half
mv got moved
tail -15 reports >&7 && exec 7>&-
wait "$last" || fail "unexpected exit code $?"
cat moved got | cmp - lines || fail "lines of the files differ"
for kind in udp tcp; do
    /usr/bin/python3 "$here/emf_agent.py" $kind got.$kind >$kind.port &
    agent=$!
    wait_for has_port $kind.port
    export AWS_EMF_AGENT_ENDPOINT=$kind://127.0.0.1:$(cat $kind.port)
    agent_of $kind agent
    closed=0
    is_closed() { [ "$(grep -c closed $kind.port)" = $closed ] && echo yes; }
    while read -r report; do
        echo "$report" >&7
        total=$(($(cat got.want 2>/dev/null | wc -l) + $(echo "$report" | cw --emf | tee -a got.want | wc -l)))
        wait_for lines_are got.$kind
        [ $kind = udp ] || { kill -USR1 $agent && closed=$((closed + 1)) && wait_for is_closed; } # a connection that closes
    done < <(head -6 reports)
    exec 7>&-
    wait "$last" || fail "unexpected exit code $?"
    cmp got.$kind got.want || fail "lines over $kind differ"
    rm got.want
done

# The limit of the spool also applies to lines; without it they take more.
for limit in 256M 40K; do
    neuron-monitor-cloudwatch --emf --emf-output tcp://127.0.0.1:1 --spool "lines.$limit" --spool-bytes $limit \
        <reports 2>limit.err || [ $? = 1 ] || fail "unexpected exit code: $(cat limit.err)"
done
kept() { find "lines.$1" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'; }
[ "$(kept 256M)" -gt 41000 ] && [ "$(kept 40K)" -le 41000 ] && [ "$(kept 40K)" -gt 0 ] || fail "the spools have $(kept 256M) and $(kept 40K) bytes"

# Wrong usage: one message each.
wrong() { # CODE SENTENCE OPTION...
    local code=0
    neuron-monitor-cloudwatch "${@:3}" <reports >wrong.out 2>wrong.err || code=$?
    [ $code = "$1" ] && grep -q -e "$2" wrong.err && [ "$(grep -vc "^Try '" wrong.err)" = 1 ] ||
        fail "${*:3}: unexpected exit code $code"
}
wrong 2 "unknown metric 'Nope'" --metrics SystemVcpuUsage,Nope
wrong 2 'label '"'"'NeuronCoreFlops'"'"' already exists' --label NeuronCoreFlops=x
wrong 2 "invalid namespace" --namespace ''
wrong 2 "printable ASCII" --namespace "$(printf 'a\tb')"
wrong 2 "require --emf" --emf-output -
wrong 2 "--spool-bytes requires --spool" --spool-bytes 1M
wrong 2 "are mutually exclusive" --emf --dry-run
wrong 1 "invalid region 'EU WEST'" --region 'EU WEST'
wrong 1 "invalid endpoint" --endpoint-url 'http://user@host/'
wrong 1 "invalid address" --emf --emf-output tcp://host
wrong 1 "No such file or directory" --emf --emf-output none/such
wrong 1 "No such device or address" --emf --emf-output emf.in
wrong 1 "unknown profile 'absent': it is not in .*credentials or .*config" --profile absent
mkdir -p .aws && printf '[default]\nregion = eu-west-1\nnonsense\n' >.aws/config
unset AWS_ACCESS_KEY_ID AWS_ENDPOINT_URL
wrong 1 '.aws/config: line 3 is neither' --profile other
code=0
neuron-monitor-cloudwatch --dry-run </dev/null 2>wrong.err || code=$?
[ $code = 1 ] && grep -q 'ended without a neuron-monitor report' wrong.err || fail "unexpected exit code $code"
# The reader of its output has exited: the program exits successfully.
cat reports reports reports 2>/dev/null | { code=0; cw --emf 2>closed.err || code=$?; echo $code >closed.code; } | head -1 >/dev/null || true
[ "$(cat closed.code)" = 0 ] && [ ! -s closed.err ] || fail "a closed pipe is an error: $(cat closed.code closed.err)"
