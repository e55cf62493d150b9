#!/usr/bin/env python3
"""hostile_inputs - settings, secrets, saved reports, inputs of captures, databases, spools and the state of
the machine, truncated and changed at many places, as hostile_files.py does with NEFFs and captures. Each is
read, set aside or rejected within the limits, and the program that opened it obeys SIGTERM. Usage:
hostile_inputs.py FOLDER, with the programs in PATH. NTK_HOSTILE_CHANGES is the number of changes per file
(default 12)."""
import concurrent.futures
import contextlib
import http.server
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading

import hostile_files
from hostile_files import changes, check, check_sigterm, fail, run

CHANGES = int(os.environ.get("NTK_HOSTILE_CHANGES", "12"))
AGENT = ["neuron-monitor", "--period", "100ms", "--no-imds", "--quiet"]
ONCE = ["--count", "1"]
CONFIG = b"""{"period": "1s", "neuron_runtimes": [{"tag_filter": ".*", "metrics": [{"type": "neuroncore_counters"},
  {"type": "memory_used"}, {"type": "execution_stats", "period": "2s"}]}], "system_metrics": [{"type": "vcpu_usage"}]}
"""
WEB_CONFIG = b"""basic_auth_users:
  alice: $2b$04$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
http_server_config:
  headers:
    X-Frame-Options: deny
"""
AWS_CONFIG = b"""[default]
region = us-east-1
[profile other]
source_profile = keys
role_arn = arn:aws:iam::123456789012:role/monitor
[profile keys]
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
"""


ROLE_KEYS = b"""<R><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></R>"""
CONTAINER_KEYS = b'{"AccessKeyId": "A", "SecretAccessKey": "s", "Token": "t", "Expiration": "2100-01-01T00:00:00Z"}'
SHAPE = (128, 64)  # the input of memcpy


def npy():
    """An array of ones, as NumPy writes it."""
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % SHAPE
    header += b" " * (128 - 10 - len(header) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<f", 1) * (SHAPE[0] * SHAPE[1])


class Peer(http.server.BaseHTTPRequestHandler):
    """Accepts all requests, and has AWS keys for clients."""

    def answer(self, body):
        with contextlib.suppress(ConnectionError):  # the process that asked may have ended
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def do_POST(self):
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(ROLE_KEYS if b"AssumeRole" in sent else b"")

    def do_GET(self):
        self.answer(CONTAINER_KEYS)

    def log_message(self, *_):
        pass


class Kind:
    """A file and the program that opens it; @ is replaced by the changed file. until: the output of a server
    that runs until it is stopped. stdin: True for the file itself, or the path of another one."""

    def __init__(self, name, content, command, until=None, codes=(0, 1), stdin=False, env=None, place=None, related=()):
        self.name, self.content, self.command, self.until, self.codes = name, content, command, until, codes
        self.stdin, self.env, self.place, self.related = stdin, env or {}, place, related


def try_kind(kind, base):
    """Runs in a private folder, with private hooks."""
    folder = os.path.join(base, "kind-" + kind.name)
    env = dict(os.environ, NEURON_HOOKS_DIR=os.path.join(folder, "hooks"))
    os.makedirs(env["NEURON_HOOKS_DIR"], mode=0o700)
    for source in kind.related:
        target = os.path.join(folder, os.path.basename(source))
        shutil.copytree(source, target, dirs_exist_ok=True) if os.path.isdir(source) else shutil.copy(source, target)
    path = os.path.join(folder, kind.place or kind.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    env.update({name: value.replace("@", path) for name, value in kind.env.items()})
    where = {"cwd": folder, "env": env}

    def write(content):
        for stale in (path, path + "-wal", path + "-shm"):
            if os.path.exists(stale):
                os.remove(stale)
        with open(path, "wb") as file:
            file.write(content)
        os.chmod(path, 0o600)

    def words(command):
        return [word.replace("@", path) for word in command]

    given = {"stdin": path if kind.stdin is True else kind.stdin} if kind.stdin else {}
    write(kind.content)
    code, err, memory, _ = run(words(kind.command), **given, **where)
    if code != 0:
        fail(kind.name, f"sound file: {code}: {err[:300]}")
    for number, (how, content) in enumerate(changes(kind.content, kind.name, CHANGES)):
        write(content)
        what = f"{kind.name} {how}: {' '.join(words(kind.command))}"
        check(what, words(kind.command), [path], memory, codes=kind.codes, **given, **where)
        if number % 6 == 5:
            write(content)
            check_sigterm(what, words(kind.until or kind.command), 0.1 if kind.until else 0.02, **given, **where)


def make(*command, **how):
    code, err, _, _ = run(list(command), **how)
    if code != 0:
        print("cannot make samples:", command, err)
        sys.exit(1)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def machine_files(hooks):
    """Yields the state of the software machine, and the files of its device tree that have content."""
    found = {}
    for folder, folders, names in os.walk(hooks):
        folders[:] = sorted(set(folders) - {"sys.new"})  # of an interrupted exchange
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path) and 0 < os.path.getsize(path) < 1 << 20:
                found.setdefault(name, path)
    return found


def kinds(base, url):
    hooks = os.path.join(base, "hooks")
    make("neuron-packager", "example", "memcpy", "-o", "memcpy.neff", "--size", str(SHAPE[1]))
    make("neuron-packager", "disasm", "-o", "memcpy.asm", "memcpy.neff")
    with subprocess.Popen(["neuron-bench", "exec", "memcpy.neff", "--duration", "1h", "--rate", "100"],
                          stdout=subprocess.DEVNULL) as job:
        with open("reports.jsonl", "wb") as reports:
            subprocess.run(["neuron-monitor", "--no-imds", "--period", "200ms", "--count", "4", "--db", "history.db"],
                           stdout=reports, check=True)
        job.terminate()
    # The machine's tree is exchanged only while processes run, so it can be copied now.
    shutil.copytree(hooks, "machine", ignore=lambda _, names: [name for name in names if name[0].isdigit()], symlinks=True)
    with sqlite3.connect("history.db") as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "cert.pem"], check=True, capture_output=True)
    subprocess.run([*AGENT, *ONCE, "--remote-write", "http://127.0.0.1:1/", "--remote-write-spool", "spool"], check=True,
                   capture_output=True)
    with open("ones.npy", "wb") as ones:
        ones.write(npy())
    reports, history = read("reports.jsonl"), read("history.db")
    message = next(name for name in sorted(os.listdir("spool")) if name.endswith(".msg"))
    neff, saved = os.path.join(base, "memcpy.neff"), os.path.join(base, "reports.jsonl")
    page = ["--prometheus", "127.0.0.1:0"]

    def agent(name, content, *options, **more):
        return Kind(name, content, [*AGENT, *ONCE, *options], [*AGENT, *options], codes=(0, 1, 2), **more)

    yield agent("config.json", CONFIG, "-c", "@")
    yield agent("web.yml", WEB_CONFIG, "--web.config.file", "@", *page)
    yield agent("token", b"0123456789abcdef0123456789abcdef\n", "--http", "127.0.0.1:0", "--http-token-file", "@")
    yield agent("labels", b"# of this machine\nnode=a7\nrack=r 12\n", "--label-file", "@", *page)
    yield agent("write-token", b"secret-of-the-receiver\n", "--remote-write", url, "--remote-write-token-file", "@")
    yield agent("message", read(os.path.join("spool", message)), "--remote-write", url, "--remote-write-spool", "spool",
                place=os.path.join("spool", message))
    yield agent("kept.db", history, "--db", "@")
    yield Kind("asked.db", history, ["neuron-monitor", "query", "cores", "--db", "@"])
    yield Kind("shown.db", history, ["neuron-top", "--from", "@", "--json", "--once"], ["neuron-top", "--from", "@", "--batch"])
    yield Kind("settings", b"# mine\nview = hbm\n", ["neuron-top", "--config", "@", "--once", "-d", "100ms"],
               ["neuron-top", "--config", "@", "--batch", "-d", "100ms"], codes=(0, 1, 2))
    yield Kind("top-reports", reports, ["neuron-top", "--stdin", "--once"], stdin=True)
    yield Kind("page-reports", reports, ["neuron-monitor-prometheus", "--port", "0", "--address", "127.0.0.1"], stdin=True)
    yield Kind("otlp-reports", reports, ["neuron-monitor-otlp", "--endpoint", url], stdin=True)
    yield Kind("emf-reports", reports, ["neuron-monitor-cloudwatch", "--emf"], stdin=True)
    yield Kind("pods-reports", reports, ["neuron-monitor-k8s-info"], stdin=True)
    for name, option in (("cert.pem", "--cert-file"), ("key.pem", "--key-file")):
        other = {"--cert-file": "--key-file", "--key-file": "--cert-file"}[option]
        yield Kind(name, read(name), ["neuron-monitor-prometheus", "--port", "0", "--address", "127.0.0.1", option, "@", other,
                                      os.path.join(base, {"cert.pem": "key.pem", "key.pem": "cert.pem"}[name])],
                   stdin=saved)
    keys = {"AWS_SHARED_CREDENTIALS_FILE": "@", "AWS_CONFIG_FILE": "@", "AWS_EC2_METADATA_DISABLED": "true"}
    yield Kind("aws", AWS_CONFIG, ["neuron-monitor-cloudwatch", "--dry-run", "--profile", "keys", "-r", "us-east-1"],
               stdin=saved, env=keys, codes=(0, 1, 2))
    yield Kind("aws-role", AWS_CONFIG, ["neuron-monitor-cloudwatch", "--dry-run", "--profile", "other", "-r", "us-east-1"],
               stdin=saved, env=dict(keys, AWS_ENDPOINT_URL_STS=url), codes=(0, 1, 2))
    cloudwatch = ["neuron-monitor-cloudwatch", "-r", "us-east-1"]
    alone = {"AWS_ENDPOINT_URL": url, "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent",
             "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent"}
    yield Kind("web-identity", b"eyJhbGciOiJub25lIn0.eyJzdWIiOiJub2RlIn0.c2lnbmF0dXJl\n", cloudwatch, stdin=saved,
               env=dict(alone, AWS_WEB_IDENTITY_TOKEN_FILE="@", AWS_ROLE_ARN="arn:aws:iam::123456789012:role/monitor"))
    yield Kind("container-token", b"token-of-the-pod\n", cloudwatch, stdin=saved,
               env=dict(alone, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="@", AWS_CONTAINER_CREDENTIALS_FULL_URI=url))
    capture = ["neuron-profile", "capture", "-n", neff, "-s", "o.ntff"]
    yield Kind("in.npy", npy(), [*capture, "in", "@"])
    yield Kind("in.bin", b"\0\0\x80\x3f" * (SHAPE[0] * SHAPE[1]), [*capture, "in", "@"])
    yield Kind("many-inputs", b"in ones.npy\nin ones.npy\n", [*capture, "-r", "2", "-m", "@"], codes=(0, 1, 2),
               related=[os.path.join(base, "ones.npy")])
    yield Kind("listing.asm", read("memcpy.asm"), ["neuron-packager", "asm", "-o", "made", "@"])
    for name, path in machine_files("machine").items():
        if name.startswith("soft.") or name in ("connected_devices", "core_count", "instance_type", "total", "present", "uuid"):
            place = os.path.join("hooks", os.path.relpath(path, "machine"))
            tree = [os.path.join(base, "machine-as", "hooks")]
            yield Kind("machine-" + name, read(path), ["neuron-bench", "exec", "-n", "1", neff], place=place, related=tree)
            yield Kind("tree-" + name, read(path), ["neuron-top", "--once", "-d", "100ms"], ["neuron-top", "--batch", "-d", "100ms"], place=place, related=tree)
            yield Kind("list-" + name, read(path), ["neuron-ls", "--json-output"], place=place, related=tree, codes=(0, 1))


def main():
    base = os.path.abspath(sys.argv[1])
    os.chdir(base)
    peer = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    todo = list(kinds(base, f"http://127.0.0.1:{peer.server_port}/"))
    os.makedirs("machine-as")
    os.rename("machine", os.path.join("machine-as", "hooks"))
    # Most of them wait for a period to end.
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        for done in [pool.submit(try_kind, kind, base) for kind in todo]:
            done.result()
    print(f"{hostile_files.runs} changed files of {len(todo)} kinds")
    return 1 if hostile_files.failures else 0


if __name__ == "__main__":
    sys.exit(main())
