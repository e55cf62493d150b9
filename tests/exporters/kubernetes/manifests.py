"""Checks the example manifests and the Dockerfile: they request few rights, are consistent, and
neuron-monitor accepts their options.

manifests.py HELP FOLDER...: HELP is the output of neuron-monitor --help. Each error in a folder is a line of
standard output; "FOLDER: good" means no errors. Exits with 77 without PyYAML. Without jsonschema, the schema
next to this file is not checked, which is reported."""
import json
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)

try:
    import jsonschema
except ImportError:
    jsonschema = None

# The only writable folder of the host.
WRITABLE = {"/dev/shm/neuron"}
CAPABILITIES = {"DAC_READ_SEARCH"}


class Complaint(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Complaint(text)


def check_schema(path, document, validator):
    problems = sorted(validator.iter_errors(document), key=lambda error: len(error.absolute_path))
    for problem in problems:
        # Of several possible kinds, only errors about the declared one matter.
        inner = [e for e in problem.context or [] if not ({"kind", "apiVersion"} & set(e.absolute_path))]
        worst = max(inner, key=lambda error: len(error.absolute_path), default=problem)
        place = ".".join(map(str, worst.absolute_path))
        check(False, f"{path.name}: {document.get('kind')} {place}: {worst.message[:200]}")


def instructions(text):
    """Yields (word, rest) of a Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", text))
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def check_dockerfile(path, images, port):
    steps = instructions(path.read_text())
    known = {"FROM", "WORKDIR", "COPY", "RUN", "USER", "EXPOSE", "CMD"}
    for word, rest in steps:
        check(word in known, f"{path.name}: {word} is not expected")
        if word == "FROM":
            check(re.match(r"\S+:[0-9]", rest) and ":latest" not in rest, f"{path.name}: {rest} may be any image")
        if word == "RUN" and "apt-get" in rest:
            check("--no-install-recommends" in rest, f"{path.name}: installs what is only recommended")
            check("rm -rf /var/lib/apt/lists/*" in rest, f"{path.name}: keeps lists of packages")
    last = max(i for i, step in enumerate(steps) if step[0] == "FROM")
    check(last > 0, f"{path.name}: what builds it is in the image")
    users = [rest for word, rest in steps[last:] if word == "USER"]
    check(users and users[-1].split(":")[0] not in ("0", "root"), f"{path.name}: runs as root by default")
    check(("EXPOSE", str(port)) in steps, f"{path.name}: another port")
    check(json.loads(steps[-1][1])[0] == "neuron-monitor", f"{path.name}: starts something else")
    tag = re.search(r"docker build -t (\S+)", path.read_text()).group(1)
    check(images == {tag}, f"the manifests name {images}, the Dockerfile makes {tag}")


def check_container(container, volumes, options):
    name = container["name"]
    security = container["securityContext"]
    check(security["privileged"] is False, f"{name} is privileged")
    check(security["allowPrivilegeEscalation"] is False, f"{name} may gain privileges")
    check(security["readOnlyRootFilesystem"] is True, f"{name} may write its root")
    check(security["seccompProfile"] == {"type": "RuntimeDefault"}, f"{name} has no seccomp profile")
    check(security["capabilities"]["drop"] == ["ALL"], f"{name} keeps capabilities")
    added = set(security["capabilities"].get("add", []))
    check(added <= CAPABILITIES, f"{name} adds capabilities {added}")
    for mount in container["volumeMounts"]:
        path = volumes[mount["name"]]["hostPath"]["path"]
        check(mount.get("readOnly") or path in WRITABLE, f"{name} may write {path} of the host")
    for argument in container.get("args", []):
        check(argument.split("=")[0] in options, f"{name}: neuron-monitor has no option {argument}")


def check_folder(folder, options, machines, validator):
    found = {}
    for path in sorted(set(folder.glob("*.yaml")) - {folder / "kustomization.yaml"}):
        for document in yaml.safe_load_all(path.read_text()):
            if validator:
                check_schema(path, document, validator)
            check(document["apiVersion"] and document["metadata"]["name"], f"{path} names nothing")
            found[document["kind"]] = document
    kinds = {"Namespace", "PriorityClass", "DaemonSet", "Service", "ServiceMonitor", "PodMonitor"}
    check(set(found) == kinds, f"kinds are {sorted(found)}")

    daemon = found["DaemonSet"]["spec"]
    labels = daemon["template"]["metadata"]["labels"]
    check(daemon["selector"]["matchLabels"] == labels, "the daemon set does not select its pods")
    pod = daemon["template"]["spec"]
    for key in ("hostPID", "hostNetwork", "hostIPC"):
        check(not pod.get(key), f"the pod has {key}")
    check(pod["automountServiceAccountToken"] is False, "the pod has a token of the API server")
    priority = found["PriorityClass"]
    check(pod["priorityClassName"] == priority["metadata"]["name"], "the pod has another priority")
    check(priority["preemptionPolicy"] == "Never", "the agent ends jobs")
    allowed = found["Namespace"]["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
    check(allowed == "privileged", "a namespace that is not privileged refuses volumes of the host")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in pod["initContainers"] + pod["containers"]:
        check_container(container, volumes, options)

    terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    types = [v for e in terms[0]["matchExpressions"] if e["key"] == "node.kubernetes.io/instance-type" for v in e["values"]]
    check(types == machines, f"nodes without it: {sorted(set(machines) ^ set(types))}")

    agent = pod["containers"][0]
    port = agent["ports"][0]
    images = {container["image"] for container in pod["initContainers"] + pod["containers"]}
    check_dockerfile(folder / "Dockerfile", images, port["containerPort"])
    check(f"--prometheus=:{port['containerPort']}" in agent["args"], "it listens elsewhere")
    check("--label=node=$(NODE_NAME)" in agent["args"], "metrics have no node")
    node = next(variable["valueFrom"] for variable in agent["env"] if variable["name"] == "NODE_NAME")
    check(node == {"fieldRef": {"fieldPath": "spec.nodeName"}}, "NODE_NAME is not the node's")
    mounts = {mount["mountPath"]: volumes[mount["name"]]["hostPath"]["path"] for mount in agent["volumeMounts"]}
    root = next(argument for argument in agent["args"] if argument.startswith("--host-root=")).split("=")[1]
    for path in ("/proc", "/var/log/containers"):
        check(mounts.get(root + path) == path, f"{path} of the host is not below {root}")
    hooks = next(variable["value"] for variable in agent["env"] if variable["name"] == "NEURON_HOOKS_DIR")
    check(mounts.get(hooks) == hooks, "the hooks folder is not the host's")
    check("/var/lib/kubelet/pod-resources" in mounts, "the kubelet's socket is not there")
    for probe in ("livenessProbe", "readinessProbe"):
        check(agent[probe]["httpGet"]["port"] == port["name"], f"{probe} asks another port")

    service = found["Service"]
    check(service["spec"]["selector"] == labels, "the service selects other pods")
    check(service["spec"]["ports"][0]["targetPort"] == port["name"], "the service has another port")
    for kind, endpoints, selected in (
        ("ServiceMonitor", "endpoints", service["metadata"]["labels"]),
        ("PodMonitor", "podMetricsEndpoints", labels),
    ):
        spec = found[kind]["spec"]
        check(spec["selector"]["matchLabels"] == selected, f"{kind} selects something else")
        check(spec[endpoints][0]["port"] == port["name"], f"{kind} has another port")
        check(spec[endpoints][0]["honorLabels"] is True, f"{kind} lets labels be renamed")
    for kind, document in found.items():
        check(
            kind in ("Namespace", "PriorityClass") or document["metadata"]["namespace"] == found["Namespace"]["metadata"]["name"],
            f"{kind} is in another namespace",
        )


def main():
    options = set(re.findall(r"--[a-z0-9.-]+", pathlib.Path(sys.argv[1]).read_text()))
    check("--quiet" in options, "the help text has no options")
    table = pathlib.Path(__file__).resolve().parents[3] / "shared/abi/machine.def"
    # Names with a dot are instance types; the others are software machines only.
    machines = re.findall(r'(?m)^NTK_MACHINE\("([^".]+\.[^"]+)"', table.read_text())
    check(machines, "the table of machines is empty")
    validator = None
    if jsonschema:
        schema = json.loads(pathlib.Path(__file__).with_name("manifest.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
    else:
        print("no jsonschema: the schema is not checked")
    for folder in sys.argv[2:]:
        try:
            check_folder(pathlib.Path(folder), options, machines, validator)
            print(f"{folder}: good")
        except Complaint as complaint:
            print(f"{folder}: {complaint}")


if __name__ == "__main__":
    main()
