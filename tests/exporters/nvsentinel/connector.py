# connector.py SOCKET FOLDER ANSWER... - a platform connector on gRPC's own server: plays one answer per request
# ("ok" or the name of a status), then accepts everything. FOLDER/<n>.json is the n-th message, by the fields of its
# published definition.
import concurrent.futures
import json
import os
import sys

import grpc

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "otlp"))
from decode import varint  # noqa: E402

STRING, NUMBER, MESSAGE = str, int, dict
EVENT = {1: ("version", NUMBER), 2: ("agent", STRING), 3: ("componentClass", STRING), 4: ("checkName", STRING),
         5: ("isFatal", NUMBER), 6: ("isHealthy", NUMBER), 7: ("message", STRING), 8: ("recommendedAction", NUMBER),
         9: ("errorCode", [STRING]), 10: ("entitiesImpacted", [{1: ("entityType", STRING), 2: ("entityValue", STRING)}]),
         12: ("generatedTimestamp", {1: ("seconds", NUMBER), 2: ("nanos", NUMBER)}), 13: ("nodeName", STRING),
         16: ("processingStrategy", NUMBER)}
EVENTS = {1: ("version", NUMBER), 2: ("events", [EVENT])}
socket, folder, *answers = sys.argv[1:]
count = 0


def decode(data, fields):
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        name, kind = fields[tag >> 3]  # an unknown field is an error
        value, at = varint(data, at)
        if tag & 7 == 2:
            value, at = data[at:at + value], at + value
            inner = kind[0] if isinstance(kind, list) else kind
            value = value.decode() if inner is STRING else decode(value, inner)
        if isinstance(kind, list):
            found.setdefault(name, []).append(value)
        else:
            found[name] = value
    return found


def occurred(request, context):
    global count
    answer = answers[count] if count < len(answers) else "ok"
    count += 1
    if answer != "ok":
        context.abort(getattr(grpc.StatusCode, answer), "later")
    with open(f"{folder}/{count:04}.part", "w") as file:
        json.dump(decode(request, EVENTS), file)
    os.rename(f"{folder}/{count:04}.part", f"{folder}/{count:04}.json")
    return b""


class Service(grpc.GenericRpcHandler):
    def service(self, call):
        return grpc.unary_unary_rpc_method_handler(occurred) if call.method == "/datamodels.PlatformConnector/HealthEventOccurredV1" else None


server = grpc.server(concurrent.futures.ThreadPoolExecutor(1))
server.add_generic_rpc_handlers((Service(),))
server.add_insecure_port("unix:" + socket)
server.start()
server.wait_for_termination()
