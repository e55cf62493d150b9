# grpc_receiver.py FOLDER [--tls CERT KEY] ANSWER... - a collector on gRPC's own server that plays one answer per
# request, then accepts everything: FOLDER/<n>.pb is a message, FOLDER/<n>.meta its metadata, FOLDER/port the port.
#
# Answers: "ok", the name of a status, NAME+PAUSE (adds a RetryInfo with seconds), "partial" (rejects 3 points).
import concurrent.futures
import os
import sys

import grpc

SERVICE = "/opentelemetry.proto.collector.%s/Export"
METHODS = {SERVICE % "metrics.v1.MetricsService": "pb", SERVICE % "logs.v1.LogsService": "logs",
           SERVICE % "trace.v1.TraceService": "traces"}
args = sys.argv[1:]
folder = args.pop(0)
credentials = None
if args[:1] == ["--tls"]:
    credentials = grpc.ssl_server_credentials([(open(args[2], "rb").read(), open(args[1], "rb").read())])
    args = args[3:]
answers = args
count = 0


def field(number, body):
    return bytes([number << 3 | 2, len(body)]) + body


def retry_info(seconds):
    info = field(1, bytes([1 << 3, seconds]))
    return field(3, field(1, b"type.googleapis.com/google.rpc.RetryInfo") + field(2, info))


def export(request, context, kept):
    global count
    answer = answers[count] if count < len(answers) else "ok"
    count += 1
    taken = answer in ("ok", "partial")
    with open(f"{folder}/{count:04}.meta", "w") as file:
        print("answer:", answer, file=file)
        for name, value in context.invocation_metadata():
            print(f"{name}: {value}", file=file)
    if not taken:
        name, _, pause = answer.partition("+")
        if pause:
            context.set_trailing_metadata((("grpc-status-details-bin", retry_info(int(pause))),))
        context.abort(getattr(grpc.StatusCode, name), "not\nnow: 50%")
    with open(f"{folder}/{count:04}.part", "wb") as file:
        file.write(request)
    os.rename(f"{folder}/{count:04}.part", f"{folder}/{count:04}.{kept}")
    return field(1, bytes([1 << 3, 3]) + field(2, b"a bad point")) if answer == "partial" else b""


class Service(grpc.GenericRpcHandler):
    def service(self, call):
        kept = METHODS.get(call.method)
        return kept and grpc.unary_unary_rpc_method_handler(lambda request, context: export(request, context, kept))


server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
server.add_generic_rpc_handlers((Service(),))
port = server.add_secure_port("localhost:0", credentials) if credentials else server.add_insecure_port("127.0.0.1:0")
server.start()
with open(f"{folder}/port.new", "w") as file:
    print(port, file=file)
os.rename(f"{folder}/port.new", f"{folder}/port")
server.wait_for_termination()
