"""The example manifests: what they ask for is little, hangs together, and neuron-monitor understands it.

manifests.py FOLDER HELP: HELP is the output of neuron-monitor --help. Exits with 77 without PyYAML.
"""
import pathlib
import re
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)

# The one folder of the host that may be written to.
WRITABLE = {"/dev/shm/neuron"}
CAPABILITIES = {"DAC_READ_SEARCH"}


def check(condition, text):
    if not condition:
        sys.exit(f"manifests: {text}")


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


def main():
    folder, help_file = map(pathlib.Path, sys.argv[1:])
    options = set(re.findall(r"--[a-z0-9.-]+", help_file.read_text()))
    check("--quiet" in options, "the help text has no options")
    found = {}
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            check(document["apiVersion"] and document["metadata"]["name"], f"{path} names nothing")
            found[document["kind"]] = document
    kinds = {"Namespace", "DaemonSet", "Service", "ServiceMonitor", "PodMonitor"}
    check(set(found) == kinds, f"kinds are {sorted(found)}")

    daemon = found["DaemonSet"]["spec"]
    labels = daemon["template"]["metadata"]["labels"]
    check(daemon["selector"]["matchLabels"] == labels, "the daemon set does not select its pods")
    pod = daemon["template"]["spec"]
    for key in ("hostPID", "hostNetwork", "hostIPC"):
        check(not pod.get(key), f"the pod has {key}")
    check(pod["automountServiceAccountToken"] is False, "the pod has a token of the API server")
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    for container in pod["initContainers"] + pod["containers"]:
        check_container(container, volumes, options)

    agent = pod["containers"][0]
    port = agent["ports"][0]
    check(f"--prometheus=:{port['containerPort']}" in agent["args"], "it listens elsewhere")
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
            kind == "Namespace" or document["metadata"]["namespace"] == found["Namespace"]["metadata"]["name"],
            f"{kind} is in another namespace",
        )


if __name__ == "__main__":
    main()
