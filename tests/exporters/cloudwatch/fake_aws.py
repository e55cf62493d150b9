"""fake_aws.py FOLDER - CloudWatch, STS, a container's endpoint and the metadata service on one loopback port.

Prints the port. botocore computes the expected signatures. Requests are checked against botocore's model of
the service and the limits in its documentation. FOLDER/plan has one word per request to CloudWatch, which
selects the answer; after the last word, requests are accepted:

  take throttle fail deny expire refuse (voice: allow)
  early    the connection breaks after a part of the request
  late     the connection breaks after the whole request, which was accepted
  lost     the connection breaks after the whole request, which was not accepted

Written to FOLDER: taken (a JSON line per accepted request), log (a word per request), wrong (errors of the
client). FOLDER/keys has the current keys: "ID SECRET TOKEN" or "ID SECRET"; FOLDER/sts.keys has those that
may assume a role."""
import datetime
import gzip
import http.server
import json
import os
import socket
import struct
import sys
import time
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.session
import botocore.validate

folder = sys.argv[1]
shape = botocore.session.get_session().get_service_model("cloudwatch").operation_model("PutMetricData").input_shape


def path(name):
    return os.path.join(folder, name)


def note(name, text):
    with open(path(name), "a") as file:
        file.write(text + "\n")


def read(name, default=""):
    try:
        with open(path(name)) as file:
            return file.read()
    except FileNotFoundError:
        return default


def next_word():
    words = read("plan").split()
    if not words:
        return "take"
    with open(path("plan.new"), "w") as file:
        file.write(" ".join(words[1:]))
    os.rename(path("plan.new"), path("plan"))
    return words[0]


def sign_again(handler, body, keys, now, service="monitoring"):
    """Returns the Authorization header that botocore computes for this request; now is its X-Amz-Date."""
    names = handler.headers["Authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    for must in ("host", "x-amz-date", "content-type") + (("x-amz-target",) if service == "monitoring" else ()):
        if must not in names:
            raise ValueError(f"header {must} is not signed")
    if "X-Amz-Security-Token" in handler.headers and "x-amz-security-token" not in names:
        raise ValueError("the token is not signed")
    request = botocore.awsrequest.AWSRequest(method=handler.command, url=f"http://{handler.headers['Host']}{handler.path}", data=body)
    for name in names:
        if name not in ("x-amz-date", "x-amz-security-token"):
            request.headers[name] = handler.headers[name]

    class Fixed(datetime.datetime):
        @classmethod
        def utcnow(cls):
            return datetime.datetime.strptime(now, "%Y%m%dT%H%M%SZ")

    real = botocore.auth.datetime.datetime
    botocore.auth.datetime.datetime = Fixed
    try:
        region = handler.headers["Authorization"].split("/")[2]
        botocore.auth.SigV4Auth(botocore.credentials.Credentials(*keys), service, region).add_auth(request)
    finally:
        botocore.auth.datetime.datetime = real
    return request.headers["Authorization"]


def check_metrics(data, plain_bytes):
    """Checks a request against the model of the service, and the further limits of its documentation."""
    report = botocore.validate.ParamValidator().validate(data, shape)
    if report.has_errors():
        raise ValueError(report.generate_report())
    if plain_bytes > 1000000 or not 1 <= len(data["MetricData"]) <= 1000:
        raise ValueError(f"{len(data['MetricData'])} metrics, {plain_bytes} bytes")
    units = shape.members["MetricData"].member.members["Unit"].enum
    for metric in data["MetricData"]:
        numbers = metric.get("Values", [metric.get("Value")])
        if ("Value" in metric) == ("Values" in metric) or metric["Unit"] not in units or metric["StorageResolution"] not in (1, 60):
            raise ValueError(f"{metric}")
        if len(numbers) > 150 or len(set(numbers)) != len(numbers) or len(numbers) != len(metric.get("Counts", numbers)):
            raise ValueError(f"{len(numbers)} values")
        if any(not isinstance(number, (int, float)) or not abs(number) < 2.0**360 for number in numbers):
            raise ValueError(f"{numbers}")
        dimensions = metric.get("Dimensions", [])
        if len(dimensions) > 30 or any(not 1 <= len(d["Value"]) <= 1024 or not d["Value"].isascii() or not d["Value"].strip() for d in dimensions):
            raise ValueError(f"{dimensions}")
        if len({d["Name"] for d in dimensions}) != len(dimensions):
            raise ValueError(f"{dimensions}")
        if not time.time() - 14 * 86400 < metric["Timestamp"] < time.time() + 7200:
            raise ValueError(f"time {metric['Timestamp']}")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):  # the service's clock
        return super().date_time_string(time.time() + float(read("skew", "0")))

    def error(self, status, code, text="requested by the test", **headers):
        self.answer(status, json.dumps({"__type": f"com.amazonaws.cloudwatch#{code}", "message": text}), **headers)

    def hang_up(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    # -- sources of keys

    def do_PUT(self):
        note("log", f"PUT {self.path}")
        if self.path != "/latest/api/token" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            return self.answer(404, "")
        self.answer(200, "imds-token")

    def do_GET(self):
        note("log", f"GET {self.path}")
        if self.path == "/container":
            if self.headers.get("Authorization") != "Bearer pod":
                return self.answer(403, "")
            return self.answer(200, read("container.json"))
        if self.headers.get("X-aws-ec2-metadata-token") != "imds-token":
            return self.answer(401, "")
        places = {
            "/latest/meta-data/placement/region": "eu-south-2",
            "/latest/meta-data/iam/security-credentials/": "role-of-test\n",
            "/latest/meta-data/iam/security-credentials/role-of-test": read("imds.json"),
        }
        return self.answer(200, places[self.path]) if self.path in places else self.answer(404, "")

    def sts(self, body):
        form = dict(urllib.parse.parse_qsl(body.decode(), strict_parsing=True))
        if form.get("Action") == "AssumeRole":
            note("log", f"STS {form.get('RoleArn')} as {form.get('RoleSessionName')}")
            if sign_again(self, body, read("sts.keys").split(), self.headers["X-Amz-Date"], "sts") != self.headers["Authorization"]:
                note("wrong", f"STS: {self.headers['Authorization']}")
                return self.answer(403, "<E><Error><Code>SignatureDoesNotMatch</Code></Error></E>")
            return self.answer(200, read("sts.xml"), Content_Type="text/xml")
        note("log", f"STS {form.get('RoleArn')} {form.get('WebIdentityToken')}")
        if form.get("Action") != "AssumeRoleWithWebIdentity" or form.get("Version") != "2011-06-15" or "Authorization" in self.headers:
            note("wrong", f"STS: {form}")
        return self.answer(200, read("sts.xml"), Content_Type="text/xml")

    # -- the service

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        if self.headers["Content-Type"].startswith("application/x-www-form"):
            return self.sts(self.rfile.read(length))
        word = next_word()
        note("log", word)
        if word == "early":
            self.rfile.read(min(length, 100))
            return self.hang_up()
        body = self.rfile.read(length)
        try:
            self.judge(word, body)
        except Exception as error:  # pylint: disable=broad-except
            note("wrong", f"{type(error).__name__}: {error}")
            self.error(400, "InvalidParameterValueException", str(error))

    def judge(self, word, body):
        keys = read("keys").split()
        now = time.time() + float(read("skew", "0"))
        sent = self.headers["X-Amz-Date"]
        sent_at = datetime.datetime.strptime(sent, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc).timestamp()
        used = self.headers["Authorization"].split("Credential=")[1].split("/")[0]
        if used != keys[0] or self.headers.get("X-Amz-Security-Token") != (keys[2] if len(keys) > 2 else None):
            note("log", f"key {used}")
            return self.error(403, "ExpiredTokenException", "The security token included in the request is expired")
        if abs(sent_at - now) > 300:
            note("log", "skewed")
            return self.error(403, "SignatureDoesNotMatch", "Signature expired")
        if sign_again(self, body, keys, sent) != self.headers["Authorization"]:
            note("wrong", f"signature: {self.headers['Authorization']}")
            return self.error(403, "SignatureDoesNotMatch")
        plain = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        data = json.loads(plain)
        if self.headers["X-Amz-Target"] != "GraniteServiceVersion20100801.PutMetricData" or self.path != "/":
            raise ValueError(f"{self.path} {self.headers['X-Amz-Target']}")
        check_metrics(data, len(plain))
        answers = {
            "throttle": lambda: self.error(400, "ThrottlingException", "Rate exceeded", x_amz_retry_after="30"),
            "fail": lambda: self.answer(503, "<html>not now</html>"),
            "deny": lambda: self.error(403, "AccessDeniedException"),
            "expire": lambda: self.error(403, "ExpiredTokenException"),
            "refuse": lambda: self.error(400, "InvalidParameterValueException"),
            "lost": self.hang_up,
        }
        if word in answers:
            return answers[word]()
        data["Authorization"] = self.headers["Authorization"]
        data["Encoding"] = self.headers.get("Content-Encoding", "")
        note("taken", json.dumps(data))
        return self.hang_up() if word == "late" else self.answer(200, "{}", Content_Type="application/x-amz-json-1.0")


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
