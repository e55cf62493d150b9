"""A Kubernetes API server for nodes, events, resource slices and device taint rules, in memory, over TLS.

api_server.py CERT KEY RIGHTS FOLDER: the ClusterRole in the manifests of file RIGHTS defines the rights of
the agent; the token "admin" may do everything. FOLDER/token has the agent's token, which is read for each
request.
FOLDER/mode selects the answers to the agent: ok, error, busy, garbage, huge, silent. FOLDER/log gets a line
for each request. Prints its port."""
import copy
import http.server
import json
import pathlib
import ssl
import sys
import threading
import time
import urllib.parse

import yaml

cert, key, rights, folder = sys.argv[1:5]
folder = pathlib.Path(folder)
role = next(d for d in yaml.safe_load_all(open(rights)) if d["kind"] == "ClusterRole")
lock = threading.Lock()
NODE = "ip-10-0-0-1.ec2.internal"
DRIVER = "neuron.aws.com"
nodes = {name: {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": "u-" + name},
                "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "",
                                           "lastHeartbeatTime": "2026-01-01T00:00:00Z",
                                           "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
         for name in (NODE, "other-node")}
events = []
rules = {}


def slice_of(node, driver, pool, devices):
    return {"metadata": {"name": f"{node}-{pool}-slice"},
            "spec": {"driver": driver, "nodeName": node, "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
                     "devices": devices}}


def device(name, number):
    return {"name": name, "attributes": {"deviceId": {"int": number}, "instanceType": {"string": "trn1.32xlarge"}}}


slices = [slice_of(NODE, DRIVER, NODE, [device(f"neuron-device-{i}", i) for i in range(16)]),
          slice_of(NODE, "gpu.example.com", NODE, [device("gpu-0", 0)]),
          slice_of("other-node", DRIVER, "other-node", [device("neuron-device-0", 0)])]
# A rule of an administrator for the same device, and one made by an agent of the other node.
rules["by-hand"] = {"metadata": {"name": "by-hand"},
                    "spec": {"deviceSelector": {"driver": DRIVER, "pool": NODE, "device": "neuron-device-1"},
                             "taint": {"key": "example.com/broken", "effect": "NoExecute"}}}
rules["neuron-monitor-other-node-neuron-device-0"] = {
    "metadata": {"name": "neuron-monitor-other-node-neuron-device-0", "labels": {"app.kubernetes.io/managed-by": "neuron-monitor"},
                 "annotations": {"neuron-monitor/node": "other-node"}},
    "spec": {"deviceSelector": {"driver": DRIVER, "pool": "other-node", "device": "neuron-device-0"},
             "taint": {"key": "neuron-monitor/unhealthy", "value": "dma_abort", "effect": "NoSchedule"}}}
# One that an earlier agent of this node left behind, for a device that is healthy.
rules["neuron-monitor-left"] = {
    "metadata": {"name": "neuron-monitor-left", "labels": {"app.kubernetes.io/managed-by": "neuron-monitor"},
                 "annotations": {"neuron-monitor/node": NODE}},
    "spec": {"deviceSelector": {"driver": DRIVER, "pool": NODE, "device": "neuron-device-7"},
             "taint": {"key": "neuron-monitor/unhealthy", "value": "dma_abort", "effect": "NoSchedule"}}}


class Refusal(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def merge(target, patch):
    """RFC 7386."""
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            merge(target.setdefault(name, {}), value)
        else:
            target[name] = value


def merge_conditions(node, patch):
    """A strategic merge: conditions are merged by their type; other keys are an error."""
    if set(patch) != {"status"} or set(patch["status"]) != {"conditions"}:
        raise Refusal(422, "only conditions are expected")
    conditions = node["status"]["conditions"]
    for new in patch["status"]["conditions"]:
        old = next((c for c in conditions if c["type"] == new["type"]), None)
        if old is None:
            conditions.append(new)
        else:
            old.update(new)


def check_rule(rule, version):
    selector = rule["spec"]["deviceSelector"]
    if rule["apiVersion"] != f"resource.k8s.io/{version}" or rule["kind"] != "DeviceTaintRule":
        raise Refusal(422, "another kind")
    if not all(selector.get(k) for k in ("driver", "pool", "device")):
        raise Refusal(422, "a selector that is not of one device")


VERSIONS = {"v1": ["resourceslices", "deviceclasses"], "v1alpha3": ["devicetaintrules"]}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, body, kind="application/json", **headers):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, code, message, **headers):
        self.answer(code, {"kind": "Status", "status": "Failure", "message": message, "code": code}, **headers)

    def question(self):
        where = urllib.parse.urlsplit(self.path)
        parts = where.path.strip("/").split("/")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else b""
        who = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        is_agent = who != "admin"
        if is_agent:
            if who != (folder / "token").read_text().strip():
                return self.refuse(401, "Unauthorized")
            mode = (folder / "mode").read_text().strip()
            with lock, open(folder / "log", "a") as log:
                log.write(f"{self.command} {where.path} {mode}\n")
            if mode == "error":
                return self.refuse(500, "etcdserver: \x1b[31mrequest timed out")
            if mode == "busy":
                return self.refuse(429, "too many requests", Retry_After="1")
            if mode == "garbage":
                return self.answer(200, b"\x00\xff{[" * 1000)
            if mode == "huge":
                return self.answer(200, b'{"metadata": "' + b"x" * (8 << 20) + b'"}')
            if mode == "silent":
                while (folder / "mode").read_text().strip() == "silent":
                    time.sleep(0.05)
                self.close_connection = True
                return None
        try:
            with lock:
                code, result = self.act(parts, dict(urllib.parse.parse_qsl(where.query)), body, is_agent)
            return self.answer(code, copy.deepcopy(result))
        except Refusal as refusal:
            return self.refuse(refusal.code, str(refusal))

    do_GET = do_POST = do_PATCH = do_DELETE = question

    def allow(self, is_agent, group, resource, verb):
        if is_agent and not any(group in r["apiGroups"] and resource in r["resources"] and verb in r["verbs"] for r in role["rules"]):
            raise Refusal(403, f'{resource} is forbidden: User "system:serviceaccount:neuron-monitor:neuron-monitor" cannot {verb}')

    def act(self, parts, query, body, is_agent):
        kind = self.headers.get("Content-Type")
        if parts[:3] == ["api", "v1", "nodes"]:
            if len(parts) == 3:
                self.allow(is_agent, "", "nodes", "list")
                return 200, {"apiVersion": "v1", "kind": "NodeList", "metadata": {}, "items": list(nodes.values())}
            node = nodes.get(parts[3])
            if node is None:
                raise Refusal(404, f'nodes "{parts[3]}" not found')
            if self.command == "PATCH" and parts[4:] == ["status"]:
                self.allow(is_agent, "", "nodes/status", "patch")
                if kind != "application/strategic-merge-patch+json":
                    raise Refusal(415, f"the body is {kind}")
                merge_conditions(node, json.loads(body))
                return 200, node
            self.allow(is_agent, "", "nodes", "get")
            return 200, node
        if parts == ["api", "v1", "namespaces", "default", "events"]:
            self.allow(is_agent, "", "events", "create" if self.command == "POST" else "list")
            if self.command == "POST":
                events.append(json.loads(body))
                return 201, events[-1]
            return 200, {"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": events}
        if parts[:2] == ["apis", "resource.k8s.io"] and len(parts) > 2 and parts[2] in VERSIONS:
            return self.act_resource(parts[2], parts[3:], query, kind, body, is_agent)
        raise Refusal(404, "the server could not find the requested resource")

    def act_resource(self, version, parts, query, kind, body, is_agent):
        if not parts:
            return 200, {"kind": "APIResourceList", "groupVersion": f"resource.k8s.io/{version}",
                         "resources": [{"name": name, "namespaced": False} for name in VERSIONS[version]]}
        if parts[0] not in VERSIONS[version]:
            raise Refusal(404, "the server could not find the requested resource")
        if parts[0] == "resourceslices":
            self.allow(is_agent, "resource.k8s.io", "resourceslices", "list")
            name = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
            return 200, {"kind": "ResourceSliceList", "items": [s for s in slices if not name or s["spec"]["nodeName"] == name]}
        verb = {"GET": "list" if len(parts) == 1 else "get", "POST": "create"}.get(self.command, self.command.lower())
        self.allow(is_agent, "resource.k8s.io", "devicetaintrules", verb)
        if verb == "list":
            label, _, value = query.get("labelSelector", "").partition("=")
            return 200, {"apiVersion": f"resource.k8s.io/{version}", "kind": "DeviceTaintRuleList", "metadata": {},
                         "items": [r for r in rules.values() if not label or r["metadata"].get("labels", {}).get(label) == value]}
        if verb == "create":
            rule = json.loads(body)
            check_rule(rule, version)
            if rule["metadata"]["name"] in rules:
                raise Refusal(409, "it exists")
            rule["spec"]["taint"]["timeAdded"] = "2026-11-28T00:00:00Z"
            rules[rule["metadata"]["name"]] = rule
            return 201, rule
        rule = rules.get(parts[1])
        if rule is None:
            raise Refusal(404, f'devicetaintrules "{parts[1]}" not found')
        if verb == "patch":
            if kind != "application/merge-patch+json":
                raise Refusal(415, f"the body is {kind}")
            merge(rule, json.loads(body))
        elif verb == "delete":
            del rules[parts[1]]
        return 200, rule


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
