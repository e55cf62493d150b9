"""fake_s3.py FOLDER - a service that stores, lists and returns objects as S3 does, on a loopback port. Prints the port.

botocore computes the expected signatures, as S3 requires them. Objects are files below FOLDER/objects, named
by bucket and key. FOLDER/plan has one word per PUT, which selects the answer; after the last word,
objects are accepted:

  take throttle fail expire denied nobucket
  early    the connection breaks after a part of the request
  late     the connection breaks after the whole request, which was accepted
  wait     no answer until the client is gone

Written to FOLDER: log (a line per PUT), reads (a line per list or GET), wrong (errors of the client).
FOLDER/keys has the current keys: "ID SECRET TOKEN" or "ID SECRET"."""
import hashlib
import http.server
import os
import re
import socket
import struct
import sys
import threading
import urllib.parse
import xml.sax.saxutils

import botocore.auth
import botocore.awsrequest
import botocore.credentials

PAGE = 10  # keys per page of a list, few enough that every reader has to ask for further pages
PATIENCE = 120 * int(os.environ.get("NTK_TEST_PATIENCE") or 1)  # seconds; as tests/e2e/lib.sh
folder = sys.argv[1]
lock = threading.Lock()


def path(name):
    return os.path.join(folder, name)


def note(name, text):
    with lock, open(path(name), "a") as file:
        file.write(text + "\n")


def read(name):
    try:
        with open(path(name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def contents(place):
    with open(place, "rb") as file:
        return file.read()


def tag(content):
    return f'"{hashlib.md5(content).hexdigest()}"'


def next_word():
    with lock:
        words = read("plan").split()
        if words:
            with open(path("plan"), "w") as file:
                file.write(" ".join(words[1:]))
        return words[0] if words else "take"


def sign_again(handler, body, keys):
    """Returns the Authorization header that botocore computes for this request."""
    credential = handler.headers["Authorization"].split("Credential=")[1].split(",")[0].split("/")
    names = handler.headers["Authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    for must in ("host", "x-amz-date", "x-amz-content-sha256") + (("content-type",) if body else ()):
        if must not in names:
            raise ValueError(f"header {must} is not signed")
    if "X-Amz-Security-Token" in handler.headers and "x-amz-security-token" not in names:
        raise ValueError("the token is not signed")
    request = botocore.awsrequest.AWSRequest(method=handler.command, url=f"http://{handler.headers['Host']}{handler.path}", data=body)
    for name in names:
        if name not in ("x-amz-date", "x-amz-security-token", "x-amz-content-sha256"):
            request.headers[name] = handler.headers[name]
    auth = botocore.auth.S3SigV4Auth(botocore.credentials.Credentials(*keys), credential[3], credential[2])
    request.context["timestamp"] = handler.headers["X-Amz-Date"]
    auth._modify_request_before_signing(request)  # the steps of add_auth(), at the time of the request
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    auth._inject_signature_to_request(request, signature)
    return request.headers["Authorization"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, code="", **headers):
        body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>requested by the test</Message></Error>" if code else ""
        self.send_body(status, body.encode(), **headers)

    def send_body(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def do_GET(self):
        if self.path.startswith("/latest/"):  # keys of the instance: none
            return self.answer(404)
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        note("reads", f"{self.command} {self.path} {self.headers.get('Range', '-')}")
        try:
            if sign_again(self, b"", read("keys").split()) != self.headers["Authorization"]:
                note("wrong", f"signature of {self.path}: {self.headers['Authorization']}")
                return self.answer(403, "SignatureDoesNotMatch")
            bucket, _, key = urllib.parse.unquote(url.path)[1:].partition("/")
            if query.get("list-type") == "2":
                return self.list_objects(bucket, query)
            self.send_object(path(f"objects/{bucket}/{key}"))
        except ConnectionError:  # readers may cancel a transfer, and do when they are slow
            self.close_connection = True
        except Exception as error:  # pylint: disable=broad-except
            note("wrong", f"{type(error).__name__}: {error}")
            self.answer(400, "InvalidRequest")

    do_HEAD = do_GET

    def list_objects(self, bucket, query):
        root = path(f"objects/{bucket}")
        found = (os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
        after = query.get("continuation-token", "")
        keys = sorted(key for key in found if key.startswith(query.get("prefix", "")) and key > after)
        page, rest = keys[:PAGE], keys[PAGE:]
        show = urllib.parse.quote if query.get("encoding-type") == "url" else xml.sax.saxutils.escape
        body = ""
        for key in page:
            content = contents(os.path.join(root, key))
            body += (f"<Contents><Key>{show(key)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                     f"<ETag>{xml.sax.saxutils.escape(tag(content))}</ETag><Size>{len(content)}</Size></Contents>")
        more = f"<NextContinuationToken>{xml.sax.saxutils.escape(page[-1])}</NextContinuationToken>" if rest else ""
        self.send_body(200, f"<?xml version='1.0'?><ListBucketResult><IsTruncated>{str(bool(rest)).lower()}</IsTruncated>"
                            f"<KeyCount>{len(page)}</KeyCount>{more}{body}</ListBucketResult>".encode(), Content_Type="application/xml")

    def send_object(self, place):
        if not os.path.isfile(place):
            return self.answer(404, "NoSuchKey")
        body = contents(place)
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            return self.send_body(200, body, ETag=tag(body))
        first, last = int(wanted[1]), min(int(wanted[2] or len(body) - 1), len(body) - 1)
        self.send_body(206, body[first : last + 1], ETag=tag(body), Content_Range=f"bytes {first}-{last}/{len(body)}")

    def do_PUT(self):
        length = int(self.headers["Content-Length"])
        if self.path.startswith("/latest/"):
            return self.answer(404)
        word = next_word()
        note("log", f"{word} {self.path} {self.headers.get('If-None-Match', '-')}")
        if word == "early":
            self.rfile.read(min(length, 100))
            return self.hang_up()
        body = self.rfile.read(length)
        try:
            self.judge(word, body)
        except Exception as error:  # pylint: disable=broad-except
            note("wrong", f"{type(error).__name__}: {error}")
            self.answer(400, "InvalidRequest")

    def judge(self, word, body):
        keys = read("keys").split()
        used = self.headers["Authorization"].split("Credential=")[1].split("/")[0]
        if word == "wait":
            self.connection.settimeout(PATIENCE)
            self.connection.recv(1)
            return self.hang_up()
        if used != keys[0] or word == "expire":
            return self.answer(403, "ExpiredToken")
        if self.headers["X-Amz-Content-SHA256"] != hashlib.sha256(body).hexdigest():
            raise ValueError("the hash belongs to other content")
        if sign_again(self, body, keys) != self.headers["Authorization"]:
            note("wrong", f"signature of {self.path}: {self.headers['Authorization']}")
            return self.answer(403, "SignatureDoesNotMatch")
        key = urllib.parse.unquote(self.path)
        if urllib.parse.quote(key, safe="/-_.~") != self.path or body[:4] != b"PAR1" or body[-4:] != b"PAR1":
            raise ValueError(f"path {self.path}, {len(body)} bytes")
        failures = {"throttle": (503, "SlowDown"), "fail": (500, "InternalError"), "denied": (403, "AccessDenied"), "nobucket": (404, "NoSuchBucket")}
        if word in failures:
            return self.answer(*failures[word], **({"Retry-After": "0"} if word == "throttle" else {}))
        place = path("objects") + key
        if self.headers.get("If-None-Match") == "*" and os.path.exists(place):
            return self.answer(412, "PreconditionFailed")
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place + ".new", "wb") as file:
            file.write(body)
        os.rename(place + ".new", place)
        if word == "late":
            return self.hang_up()
        self.answer(200, ETag='"tag"')


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(server.server_address[1], flush=True)
server.serve_forever()
