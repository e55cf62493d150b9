#!/bin/bash
# manifests - the example manifests ask for little and fit together and neuron-monitor; the check
# itself notices what is spoilt. kubeconform checks them too where it is there.
. "$NTK_SOURCE_DIR/tests/e2e/lib.sh"
here=$NTK_SOURCE_DIR/tests/exporters/kubernetes
folder=$NTK_SOURCE_DIR/exporters/kubernetes
needs_python yaml

neuron-monitor --help >help
# spoilt SED WORDS: the manifests after the edit are refused with the words.
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
# What only a schema notices.
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
greps -Fx "$folder: good" <said || fail "$(head -2 said)"
number=0
while IFS=$'\t' read -r edit words; do
    number=$((number + 1))
    grep "^spoilt.$number: " said | greps -e "$words" || fail "after $edit: $(grep "^spoilt.$number: " said)"
done <expected

if command -v kubeconform >/dev/null && [ -n "${NTK_KUBE_SCHEMAS:-}" ]; then
    kubeconform -strict -schema-location "$NTK_KUBE_SCHEMAS" "$folder"/*.yaml
fi

# What is installed: the same files, and the rules as the operator takes them, which kustomize puts
# together.
installed=$NTK_BUILD_DIR/share/kubernetes
for file in "$folder"/*.yaml "$folder"/*/*.yaml "$folder"/Dockerfile{,.agent} "$folder/node-problem-detector.json"; do
    cmp "$file" "$installed/${file#"$folder"/}" || fail "$installed has another ${file#"$folder"/}"
done
"$python" - "$installed" "$NTK_SOURCE_DIR/exporters/prometheus/rules/neuron.rules.yml" <<'END' || fail "the rules of the operator, or what is put together"
import pathlib, sys, yaml
folder = pathlib.Path(sys.argv[1])
rule = yaml.safe_load((folder / "prometheus-rule.yaml").read_text())
assert rule["kind"] == "PrometheusRule" and rule["spec"] == yaml.safe_load(open(sys.argv[2])), "other rules"
resources = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
assert all((folder / name).is_file() for name in resources) and len(resources) == len(set(resources)), resources
kinds = [d["kind"] for name in resources for d in yaml.safe_load_all((folder / name).read_text())]
assert sorted(kinds) == ["DaemonSet", "Namespace", "PriorityClass", "PrometheusRule", "Service", "ServiceMonitor"], kinds
END
# The components: their patches fit the DaemonSet, their options are known, what they mount is there, and the rights are of
# the account that the pods have.
"$python" - "$installed" help <<'END' || fail "the components"
import pathlib, sys, yaml
folder = pathlib.Path(sys.argv[1])
components = {name: yaml.safe_load((folder / name / "kustomization.yaml").read_text()) for name in ("agent-image", "history", "node-health", "page")}
objects = {d["kind"]: d for d in yaml.safe_load_all((folder / "daemonset.yaml").read_text())}
daemonset = objects["DaemonSet"]
for name, component in components.items():
    assert component["kind"] == "Component" and f"- {name}" in (folder / "kustomization.yaml").read_text()
    for patch in component["patches"]:
        assert patch["target"]["name"] == objects[patch["target"]["kind"]]["metadata"]["name"]
        for step in yaml.safe_load((folder / name / patch["path"]).read_text()):
            *way, last = step["path"].strip("/").split("/")
            at = objects[patch["target"]["kind"]]
            for part in way:
                at = at[int(part)] if isinstance(at, list) else at[part]
            if isinstance(at, list):
                assert last == "-", step
                at.append(step["value"])
            else:
                assert (last in at) == (step["op"] == "replace"), step
                at[last] = step["value"]
component = components["node-health"]
pod = daemonset["spec"]["template"]["spec"]
assert {m["name"] for m in pod["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
assert {v["name"]: v for v in pod["volumes"]}["history"]["hostPath"]["path"] == "/var/lib/neuron-monitor"
known = open(sys.argv[2]).read()
assert all(arg.split("=")[0] in known for arg in pod["containers"][0]["args"]), pod["containers"][0]["args"]
ports = {p["name"]: p["containerPort"] for p in pod["containers"][0]["ports"]}
assert {p["targetPort"]: p["port"] for p in objects["Service"]["spec"]["ports"]} == ports and f"--http=0.0.0.0:{ports['page']}" in pod["containers"][0]["args"]
token = next(a.split("=")[1] for a in pod["containers"][0]["args"] if a.startswith("--http-token-file="))
assert any(token.startswith(m["mountPath"] + "/") and m["readOnly"] for m in pod["containers"][0]["volumeMounts"]), token
assert f"-t {pod['containers'][0]['image']} " in (folder / "Dockerfile.agent").read_text()
account, role, binding = (d for name in component["resources"] for d in yaml.safe_load_all((folder / "node-health" / name).read_text()))
assert pod["serviceAccountName"] == account["metadata"]["name"] == binding["subjects"][0]["name"] and pod["automountServiceAccountToken"]
assert account["metadata"]["namespace"] == binding["subjects"][0]["namespace"] == daemonset["metadata"]["namespace"]
assert binding["roleRef"]["name"] == role["metadata"]["name"]
assert not any("*" in row[key] for row in role["rules"] for key in ("apiGroups", "resources", "verbs")), role
END
# The pod of a job in docs/kubernetes.md mounts what it names.
"$python" - "$NTK_SOURCE_DIR/docs/kubernetes.md" <<'END' || fail "the YAML of docs/kubernetes.md"
import re, sys, yaml
pod = yaml.safe_load(re.search(r"```yaml\n(.*?)```", open(sys.argv[1]).read(), re.S).group(1))["spec"]
assert {m["name"] for m in pod["containers"][0]["volumeMounts"]} == {v["name"] for v in pod["volumes"]}, pod
END
if command -v kubectl >/dev/null; then
    kubectl kustomize "$installed" >together || fail "kustomize refuses $installed"
    [ "$(grep -c '^kind: ' together)" = 6 ] || fail "put together: $(grep '^kind: ' together)"
fi

# The vendor's pipe of three programs succeeds.
echo '{}' | neuron-monitor-k8s-info --period 15 || fail "the last program of the pipe ends with $?"
code=0
neuron-monitor-k8s-info --nonsense </dev/null 2>/dev/null || code=$?
[ "$code" = 2 ] || fail "a wrong option ends with $code"
