#!/bin/bash
# manifests - the example manifests request few rights, and match each other and neuron-monitor. The check itself
# detects damaged manifests. The components fit, and kustomize builds the same objects from them if it is installed.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/exporters/kubernetes
folder=$NTK_SOURCE_DIR/exporters/kubernetes
needs_python yaml

neuron-monitor --help >help
# spoilt SED WORDS: checks that the edited manifests are rejected with WORDS.
count=0
spoilt() {
    count=$((count + 1))
    mkdir "spoilt.$count" && cp "$folder"/*.yaml "$folder/Dockerfile" "spoilt.$count"
    sed -i "$1" "spoilt.$count"/*
    printf '%s\t%s\n' "$1" "$2" >>expected
}
spoilt 's/privileged: false/privileged: true/' 'is privileged'
spoilt 's/add: \[DAC_READ_SEARCH\]/add: [SYS_ADMIN]/' 'adds capabilities'
spoilt 's/readOnly: true/readOnly: false/' 'may write /proc'
spoilt 's/--k8s-info/--k8sinfo/' 'no option --k8sinfo'
spoilt '/--label=node/d' 'metrics have no node'
spoilt '/- trn2u.48xlarge/d' "nodes without it: \\['trn2u.48xlarge'\\]"
spoilt 's/:8000$/:9000/' 'listens elsewhere'
spoilt 's/automountServiceAccountToken: false/hostPID: true/' 'hostPID'
spoilt 's/preemptionPolicy: Never/preemptionPolicy: PreemptLowerPriority/' 'ends jobs'
spoilt 's/priorityClassName: neuron-monitor/priorityClassName: other/' 'another priority'
spoilt 's/enforce: privileged/enforce: restricted/' 'refuses volumes'
spoilt 's/honorLabels: true/honorLabels: false/' 'lets labels be renamed'

spoilt 's/^USER 65534.*/USER root/' 'runs as root by default'
spoilt 's/^FROM debian:12-slim$/FROM debian:latest/' 'may be any image'
spoilt 's/--no-install-recommends//' 'only recommended'
spoilt 's/^EXPOSE 8000/EXPOSE 80/' 'another port'
spoilt 's/image: neuron-toolkit:latest/image: other/' 'the Dockerfile makes neuron-toolkit:latest'
# Errors that only a schema detects.
if "$python" -c 'import jsonschema' 2>/dev/null; then
    spoilt 's/readOnlyRootFilesystem:/readOnlyRootFileSystem:/' "DaemonSet spec.template.spec.*readOnlyRootFileSystem"
    spoilt 's/containerPort: 8000/containerPort: "8000"/' "DaemonSet spec.template.spec.containers.0.ports.0.containerPort"
    spoilt 's/operator: Exists/operator: Exist/' "tolerations.0.operator: 'Exist' is not one of"
    spoilt 's/interval: 15s/interval: 15 s/' "interval"
    spoilt 's/memory: 64Mi/memory: 64MB/' "requests.memory"
    spoilt 's/type: DirectoryOrCreate/type: DirOrCreate/' "hostPath.type"
    spoilt 's/    - name: metrics/    - nome: metrics/' "nome"
    spoilt 's/podMetricsEndpoints/podMetricEndpoints/' "PodMonitor"
    spoilt 's#monitoring.coreos.com/v1#monitoring.coreos.com/v2#' "Monitor"
fi

"$python" "$here/manifests.py" help "$folder" spoilt.* >said
greps -Fx "$folder: good" <said || fail "unexpected output: $(head -2 said)"
number=0
while IFS=$'\t' read -r edit words; do
    number=$((number + 1))
    grep "^spoilt.$number: " said | greps -e "$words" || fail "no message after $edit: $(grep "^spoilt.$number: " said)"
done <expected

# The installed files are the same, and the rules have the form that the operator reads and kustomize assembles.
installed=$NTK_BUILD_DIR/share/kubernetes
for file in "$folder"/*.yaml "$folder"/*/*.yaml "$folder"/Dockerfile{,.agent} "$folder/node-problem-detector.json"; do
    cmp "$file" "$installed/${file#"$folder"/}" || fail "$installed has another ${file#"$folder"/}"
done
"$python" - "$installed" "$NTK_SOURCE_DIR/exporters/prometheus/rules/neuron.rules.yml" <<'END' || fail "the operator's rules differ from neuron.rules.yml"
import pathlib, sys, yaml
folder = pathlib.Path(sys.argv[1])
rule = yaml.safe_load((folder / "prometheus-rule.yaml").read_text())
assert rule["kind"] == "PrometheusRule" and rule["spec"] == yaml.safe_load(open(sys.argv[2])), "other rules"
END

# For each component, and for all of them, kustomize and overlays.py build the same objects.
mkdir overlays
"$python" "$here/overlays.py" "$installed" help overlays || fail "the components do not apply"
[ "$(ls overlays/*.json | wc -l)" -ge 6 ] || fail "expected at least six overlays: $(ls overlays)"
if command -v kubectl >/dev/null; then
    for choice in overlays/*.json; do
        choice=${choice%.json}
        cp -r "$installed"/. "$choice.made" && mv "$choice/kustomization.yaml" "$choice.made"
        kubectl kustomize "$choice.made" >"$choice.yaml" 2>kubectl.log || fail "kustomize rejects $choice"
        "$python" - "$choice" <<'END' || fail "kustomize produces different objects from $choice"
import json, sys, yaml
key = lambda d: (d["kind"], d["metadata"]["name"])
made = sorted(yaml.safe_load_all(open(sys.argv[1] + ".yaml")), key=key)
assert made == sorted(json.load(open(sys.argv[1] + ".json")), key=key), made
END
    done
fi

# The pod of a job in docs/kubernetes.md mounts every volume that it names.
"$python" - "$NTK_SOURCE_DIR/docs/kubernetes.md" <<'END' || fail "unexpected YAML in docs/kubernetes.md"
import re, sys, yaml
pod = yaml.safe_load(re.search(r"```yaml\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1))["spec"]
assert {m["name"] for m in pod["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["volumes"]}, pod
END

# The vendor's pipe of three programs succeeds.
echo '{}' | neuron-monitor-k8s-info --period 15 || fail "the last program of the pipe exited with $?"
code=0
neuron-monitor-k8s-info --nonsense </dev/null 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a wrong option exited with $code"
