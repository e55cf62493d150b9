#!/bin/bash
# schemas - the published schemas of Kubernetes and of the Prometheus operator accept every choice of components, and
# reject damaged ones.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/exporters/kubernetes
needs_python yaml
needs_npm kubernetes-models @kubernetes-models/prometheus-operator @kubernetes/client-node

mkdir overlays
neuron-monitor --help >help
"$python" "$here/overlays.py" "$NTK_BUILD_DIR/share/kubernetes" help overlays || fail "the components do not apply"
"$python" -c 'import json, sys, yaml
json.dump(list(yaml.safe_load_all(open(sys.argv[1]))), open("overlays/pod-monitor.json", "w"))' "$NTK_SOURCE_DIR/exporters/kubernetes/pod-monitor.yaml"
choices=(overlays/*.json)
# spoilt FILTER WORDS: all choices together after the edit are rejected with the words.
count=0
spoilt() {
    count=$((count + 1))
    jq "$1" overlays/all.json >"spoilt.$count.json"
    printf '%s\t%s\n' "$1" "$2" >>expected
}
in_pod='(.[] | select(.kind == "DaemonSet").spec.template.spec)'
spoilt "$in_pod.containers[0].securityContext.readOnlyRootFileSystem = true" 'readOnlyRootFileSystem is unknown'
spoilt "$in_pod.volumes |= map(if .secret then .secret.defaultMode = \"0400\" else . end)" 'secret/defaultMode must be integer'
spoilt "del($in_pod.containers[0].volumeMounts[0].mountPath)" "must have required property mountPath"
spoilt '(.[] | select(.kind == "ServiceMonitor").spec.endpoints[0].interval) = "15 s"' 'endpoints/0/interval must match'
spoilt '(.[] | select(.kind == "ClusterRole").rules[0].verb) = ["get"]' 'rules.0.verb is unknown'
spoilt '(.[] | select(.kind == "PriorityClass").apiVersion) = "scheduling/v1"' 'has no such kind'

node "$here/schemas.mjs" "$tools/node_modules" "${choices[@]}" spoilt.*.json >said 2>node.log || fail "see node.log"
for choice in "${choices[@]}"; do
    greps "^$choice: [1-9][0-9]* objects" <said || fail "the published schemas reject $choice: $(grep "^$choice: " said)"
done
number=0
while IFS=$'\t' read -r edit words; do
    number=$((number + 1))
    grep "^spoilt.$number.json: " said | greps -e "$words" || fail "no message after $edit: $(grep "^spoilt.$number.json: " said)"
done <expected
