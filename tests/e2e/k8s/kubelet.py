"""Serves a kubelet's pod-resources socket with the gRPC library: kubelet.py SOCKET CORES...

Gives each list of cores ("0" or "2,3") to a separate pod: ns-0/pod-0/main and so on. Exits with 77 if the
library is missing. Messages are made by hand, so that no generated code is needed."""
import sys
import threading
from concurrent import futures

try:
    import grpc
except ImportError:
    sys.exit(77)


def field(number, value):
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value  # shorter than 128 bytes


def pod(number, cores):
    ids = b"".join(field(2, core) for core in cores.split(","))
    devices = field(1, "aws.amazon.com/neuroncore") + ids
    container = field(1, "main") + field(2, devices)
    return field(1, f"pod-{number}") + field(2, f"ns-{number}") + field(3, container)


def main():
    answer = b"".join(field(1, pod(i, cores)) for i, cores in enumerate(sys.argv[2:]))
    lister = grpc.method_handlers_generic_handler(
        "v1.PodResourcesLister",
        {"List": grpc.unary_unary_rpc_method_handler(lambda request, context: answer)},
    )
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
    server.add_generic_rpc_handlers((lister,))
    server.add_insecure_port(f"unix:{sys.argv[1]}")
    server.start()
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
