#!/bin/bash
# node_health - the agent reports to an API server that a device breaks and is repaired; a real Kubernetes client
# reads it. The server enforces the rights of the manifests, rotates its token, and fails at times.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
needs jq node openssl
here=$NTK_SOURCE_DIR/tests/exporters/kubernetes
needs_npm @kubernetes/client-node
needs_python yaml
export NEURON_SOFT_INSTANCE=trn1.32xlarge
node=ip-10-0-0-1.ec2.internal
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout key.pem -out ca.pem 2>/dev/null
mkdir server
echo first >server/token
echo ok >server/mode
cp server/token token
"$python" "$here/api_server.py" ca.pem key.pem "$NTK_SOURCE_DIR/exporters/kubernetes/node-health/rights.yaml" server >port 2>server.err &
has_port() { [ -s port ] && echo yes; }
wait_for has_port
url=https://127.0.0.1:$(cat port)
mood() { echo "$1" >server/mode.new && mv server/mode.new server/mode; }
mkfifo question answer
node "$here/client.mjs" "$tools" "$url" ca.pem "$node" <question >answer 2>client.err &
exec {question}>question {answer}<answer
seen() {
    local line
    echo >&$question
    read -r -t $patience line <&$answer && printf '%s\n' "$line"
}
sees() { seen | jq -e "$1" >/dev/null && echo yes; }
at_failure() { seen >seen.log; }

neuron-bench machine >/dev/null
neuron-packager example memcpy -o memcpy.neff
agent() {
    neuron-monitor --period 200ms --quiet --prometheus 127.0.0.1:0 --verbose 1 --k8s-node-condition --k8s-device-taints NoSchedule --k8s-node $node \
        --k8s-heartbeat 1s --k8s-api "$url/" --k8s-api-token-file token --k8s-api-ca-file ca.pem "$@" 2>>agent.log &
    agent=$!
}
# others: the rules of an administrator and of another node, which must not change.
others='["by-hand","ip-10-0-0-1.ec2.internal","neuron-device-1","example.com/broken","","NoExecute"],
    ["neuron-monitor-other-node-neuron-device-0","other-node","neuron-device-0","neuron-monitor/unhealthy","dma_abort","NoSchedule"]'

# Healthy from the start: the condition and no event; a rule that an earlier agent left behind is deleted.
agent
wait_for sees '.condition.status == "False" and .condition.reason == "NeuronHasNoError" and .condition.message == "no Neuron errors" and .ready == "KubeletReady"'
wait_for sees ".taints == [$others]"
[ "$(seen | jq -c .events)" = "[]" ] || fail "an event was sent without a change"
seen >well.json
later() { seen | jq -e --slurpfile well well.json '.condition.heartbeat > $well[0].condition.heartbeat and .condition.transition == $well[0].condition.transition' >/dev/null && echo yes; }
wait_for later

# Device 2 breaks.
NEURON_SOFT_FAULT=hbm-ue:at=1 neuron-bench exec memcpy.neff --cores 4 --count 2 >/dev/null 2>&1 || true
wait_for sees '.condition.status == "True" and .condition.reason == "NeuronHasError_HBM_UNCORRECTABLE_ERROR" and
    .condition.message == "device 2: hbm_uncorrectable: terminate the instance and start another one" and
    .condition.transition > '"$(jq .condition.heartbeat well.json)"' and .condition.transition <= .condition.heartbeat'
rule="[\"neuron-monitor-$node-neuron-device-2\",\"$node\",\"neuron-device-2\",\"neuron-monitor/unhealthy\",\"hbm_uncorrectable\",\"NoSchedule\"]"
wait_for sees ".taints == ([$others, $rule] | sort)"
wait_for sees '.events == [["Warning", "NeuronHasError_HBM_UNCORRECTABLE_ERROR", "ip-10-0-0-1.ec2.internal"]]'

# An agent that restarts repeats nothing and continues with the existing rules; with another effect the rule is
# changed.
kill "$agent"
wait "$agent" || fail "the agent exited with $?"
seen | jq -c .condition.transition >before
agent --k8s-device-taints NoExecute
wait_for sees ".taints == ([$others, ($rule | .[5] = \"NoExecute\")] | sort)"
seen | jq -c .events >events
[ "$(jq length events)" = 1 ] && [ "$(seen | jq -c .condition.transition)" = "$(cat before)" ] || fail "a starting agent reports a change"

# Failures of the server: each is logged once, the agent continues, and changes made meanwhile are sent afterwards.
looks() { curl -sf "http://127.0.0.1:$(sed -n 's/.*serving metrics on port //p' agent.log | tail -1)/metrics"; }
said=0
for words in 'error=HTTP 500: etcdserver: ' 'busy=429: too many requests' 'garbage=response of the API server is not a JSON object' \
    'huge=longer than' 'silent=imed out'; do
    mood "${words%%=*}"
    is_said() { tail -n "+$((said + 1))" agent.log | grep -F "${words#*=}" >/dev/null && echo yes; }
    wait_for is_said
    looks | greps '^neurondevice_' || fail "no metrics while the server is ${words%%=*}"
    mood ok
    said=$(wc -l <agent.log)
    takes() { tail -n "+$((said + 1))" agent.log | grep 'is accepting requests again' >/dev/null && echo yes; }
    seen >well.json
    wait_for later
    wait_for takes
    said=$(wc -l <agent.log)
done
! grep -q $'\x1b' agent.log || fail "the server's text reaches the terminal"
# The token changes; the file is read again.
echo second >server/token
cp server/token token.new && mv token.new token
seen >well.json
wait_for later

# The device is reset: healthy, another event, no taint.
NEURON_SOFT_FAULT= neuron-bench machine --remove >/dev/null 2>&1 || true
neuron-bench machine >/dev/null
wait_for sees '.condition.status == "False" and .events[-1] == ["Normal", "NeuronHasNoError", "ip-10-0-0-1.ec2.internal"]'
wait_for sees ".taints == [$others]"
kill "$agent"
wait "$agent" || fail "the agent exited with $?"

# Errors: options without their requirements, invalid names, no address of the server.
refused() { # STATUS SENTENCE ARGUMENT...
    local status=0
    env -u KUBERNETES_SERVICE_HOST -u NODE_NAME neuron-monitor --once --quiet "${@:3}" >said 2>&1 || status=$?
    [ "$status" = "$1" ] && grep -qF -- "$2" said || fail "${*:3}: unexpected exit code $status: $(cat said)"
}
refused 2 "unknown effect 'Never'" --k8s-device-taints Never
refused 2 '--k8s-node requires --k8s-node-condition' --k8s-node x
refused 2 '--k8s-heartbeat requires --k8s-node-condition' --k8s-heartbeat 1m
refused 2 '--k8s-taint-key requires --k8s-node-condition' --k8s-taint-key a/b
refused 2 '--k8s-taint-key requires --k8s-device-taints' --k8s-node-condition --k8s-node x --k8s-taint-key a/b
refused 2 'unknown node name' --k8s-node-condition
refused 2 "invalid node name '../x'" --k8s-node-condition --k8s-node ../x
refused 1 'KUBERNETES_SERVICE_HOST is not set' --k8s-node-condition --k8s-node x
