# receiver.py FOLDER [--tls CERT KEY CLIENT_CA] ANSWER... - a collector that plays one answer per request, then
# always 200, and keeps the requests: FOLDER/<n>.pb (unpacked) and <n>.head. FOLDER/port is the port.
#
# Answers: a status; STATUS:N or STATUS:date adds Retry-After (a date is 2 s ahead); "partial" rejects 3 points;
# "status" is 400 with a google.rpc.Status; "cut" closes before an answer; "garbage" answers noise, "long" 5 MiB.
import email.utils
import gzip
import http.server
import os
import ssl
import sys
import time

args = sys.argv[1:]
folder = args.pop(0)
tls = None
if args[:1] == ["--tls"]:
    tls, args = args[1:4], args[4:]
answers = args
count = 0


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        global count
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = answers[count] if count < len(answers) else "200"
        count += 1
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        name = os.path.join(folder, "%04d" % count)
        with open(name + ".head", "w") as head:
            head.write("%s\nanswer: %s\n%s" % (self.requestline, answer, self.headers))
        with open(name + ".tmp", "wb") as out:
            out.write(body)
        signal = self.path.rpartition("/")[2]
        kept = "." + signal if signal in ("logs", "traces") else ".pb"
        os.rename(name + ".tmp", name + (kept if answer in ("200", "partial") else ".refused"))
        protobuf = [("Content-Type", "application/x-protobuf")]
        if answer == "cut":
            self.close_connection = True
            self.connection.close()
        elif answer == "partial":
            self.reply(200, b"\x0a\x09\x08\x03\x12\x05a\x1bbad", protobuf)
        elif answer == "long":
            self.reply(200, b"x" * (5 << 20))
        elif answer == "status":
            self.reply(400, b"\x08\x03\x12\x0bno good one", protobuf)
        elif answer == "garbage":
            self.reply(500, b"\xff\xfe\x0a\x1b[31mred\r\nmore")
        else:
            status, _, after = answer.partition(":")
            if after == "date":
                after = email.utils.formatdate(time.time() + 2, usegmt=True)
            self.reply(int(status), b"", [("Retry-After", after)] if after else [])


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("NTK_RECEIVER_PORT", "0"))), Handler)
if tls:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls[0], tls[1])
    context.load_verify_locations(tls[2])
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(os.path.join(folder, "port.tmp"), "w") as out:
    out.write("%d\n" % server.server_address[1])
os.rename(os.path.join(folder, "port.tmp"), os.path.join(folder, "port"))
server.serve_forever()
