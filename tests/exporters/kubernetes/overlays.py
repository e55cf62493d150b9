"""Checks the output of kustomize for the manifests: alone, with each component, and with all of them.

overlays.py FOLDER HELP OUT: FOLDER has kustomization.yaml, HELP is the output of neuron-monitor --help.
Writes the objects of each choice to OUT/NAME.json as a list, and a folder OUT/NAME with a kustomization.yaml
for kustomize. Exits with 1 and one line if a patch does not apply or the objects do not belong together."""
import copy
import json
import pathlib
import re
import sys

import yaml

BASE = ["DaemonSet", "Namespace", "PriorityClass", "PrometheusRule", "Service", "ServiceMonitor"]


def check(condition, text):
    if not condition:
        raise SystemExit(f"overlays: {text}")


def documents(folder, names):
    return [document for name in names for document in yaml.safe_load_all((folder / name).read_text())]


def apply_step(document, step):
    """One step of a JSON patch: add or replace."""
    *way, last = step["path"].strip("/").split("/")
    at = document
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if isinstance(at, list):
        check(step["op"] == "add" and last == "-", f"{step} does not append")
        at.append(step["value"])
    else:
        check(step["op"] == ("replace" if last in at else "add"), f"{step} finds {at.get(last)}")
        at[last] = step["value"]


def with_component(objects, folder):
    component = yaml.safe_load((folder / "kustomization.yaml").read_text())
    check(component["kind"] == "Component", f"{folder.name} is not a component")
    for patch in component["patches"]:
        targets = [d for d in objects if (d["kind"], d["metadata"]["name"]) == (patch["target"]["kind"], patch["target"]["name"])]
        check(len(targets) == 1, f"{folder.name}: {patch['target']} selects {len(targets)} objects")
        for step in yaml.safe_load((folder / patch["path"]).read_text()):
            apply_step(targets[0], step)
    return objects + documents(folder, component.get("resources", []))


def one(objects, kind):
    found = [d for d in objects if d["kind"] == kind]
    check(len(found) == 1, f"{len(found)} objects of kind {kind}")
    return found[0]


def check_rights(objects, pod):
    """The account of the pods has the role, and the role names each required right."""
    account, role, binding = (one(objects, kind) for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding"))
    check(pod["automountServiceAccountToken"], "the pod has no token")
    subject = binding["subjects"][0]
    check(pod["serviceAccountName"] == account["metadata"]["name"] == subject["name"], "the rights are of another account")
    namespaces = {subject["namespace"], account["metadata"]["namespace"], one(objects, "DaemonSet")["metadata"]["namespace"]}
    check(len(namespaces) == 1, f"the account is in {namespaces}")
    check(binding["roleRef"]["name"] == role["metadata"]["name"], "the binding names another role")
    check(not any("*" in row[key] for row in role["rules"] for key in ("apiGroups", "resources", "verbs")), "a right is not named")


def check_objects(name, objects, options, images):
    keys = [(d["apiVersion"], d["kind"], d["metadata"]["name"]) for d in objects]
    check(len(keys) == len(set(keys)), f"{name} has an object twice: {keys}")
    pod = one(objects, "DaemonSet")["spec"]["template"]["spec"]
    agent = pod["containers"][0]
    mounts = {m["name"] for c in pod["containers"] + pod["initContainers"] for m in c["volumeMounts"]}
    check(mounts == {v["name"] for v in pod["volumes"]}, f"{name} mounts {mounts}")
    unknown = [a for a in agent["args"] if a.split("=")[0] not in options]
    check(not unknown, f"{name}: neuron-monitor has no option {unknown}")
    check(agent["image"] in images, f"{name}: no Dockerfile makes {agent['image']}")
    ports = {p["name"]: p["containerPort"] for p in agent["ports"]}
    service = {p["targetPort"]: p["port"] for p in one(objects, "Service")["spec"]["ports"]}
    check(ports == service, f"{name}: the service has the ports {service}, the pod {ports}")
    values = dict(a.split("=", 1) for a in agent["args"] if "=" in a)
    if "--http" in values:
        check(values["--http"].endswith(f":{ports['page']}"), f"{name}: the page is at {values['--http']}")
        token = values["--http-token-file"]
        check(any(token.startswith(m["mountPath"] + "/") and m["readOnly"] for m in agent["volumeMounts"]), f"{name}: no volume has {token}")
    if "--db" in values:
        folder = values["--db"].rsplit("/", 1)[0]
        mounted = {m["mountPath"]: m["name"] for m in agent["volumeMounts"]}.get(folder)
        path = [v["hostPath"]["path"] for v in pod["volumes"] if v["name"] == mounted]
        check(path == [folder], f"{name}: the history is in {folder}, which is {path} of the node")
    if pod["automountServiceAccountToken"] or "serviceAccountName" in pod:
        check_rights(objects, pod)


def main():
    folder, text, out = map(pathlib.Path, sys.argv[1:])
    options = set(re.findall(r"--[a-z0-9.-]+", text.read_text()))
    images = {tag for path in folder.glob("Dockerfile*") for tag in re.findall(r"docker build -t (\S+)", path.read_text())}
    listed = (folder / "kustomization.yaml").read_text()
    resources = yaml.safe_load(listed)["resources"]
    base = documents(folder, resources)
    check(sorted(d["kind"] for d in base) == BASE, f"kinds are {sorted(d['kind'] for d in base)}")
    components = sorted(path.parent.name for path in folder.glob("*/kustomization.yaml"))
    check(components == sorted(re.findall(r"(?m)^#   - ([a-z-]+)$", listed)), f"kustomization.yaml does not list {components}")
    for name, chosen in {"none": [], **{c: [c] for c in components}, "all": components}.items():
        objects = copy.deepcopy(base)
        for component in chosen:
            objects = with_component(objects, folder / component)
        check_objects(name, objects, options, images)
        (out / f"{name}.json").write_text(json.dumps(objects))
        (out / name).mkdir()
        (out / name / "kustomization.yaml").write_text(json.dumps({"resources": resources, "components": chosen}))


main()
