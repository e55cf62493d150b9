# SPDX-License-Identifier: MIT
"""A client of neuron-rtd like the frameworks of its time, with Python's gRPC library: shared by scripts that
are called with ENDPOINT GENERATED_FOLDER MODEL_FOLDER [CASE...]."""
import os
import sys
import threading
import time

import grpc

sys.path.insert(0, sys.argv[2])
import nmgr_pb2 as pb  # noqa: E402
import nmgr_service_pb2 as service  # noqa: E402

PATIENCE = 120 * int(os.environ.get('NTK_TEST_PATIENCE') or 1)  # seconds; as tests/e2e/lib.sh


class Client:
    def __init__(self, endpoint):
        self.channel = grpc.insecure_channel(endpoint, options=[
            ('grpc.max_receive_message_length', -1), ('grpc.max_send_message_length', -1)])

    def __getattr__(self, name):
        request, reply = METHODS[name]
        stub = self.channel.unary_unary(f'/nrt.nmgr_v1/{name}', request.SerializeToString, reply.FromString)
        return lambda timeout=PATIENCE, **fields: stub(request(**fields), timeout=timeout)

    def load(self, neff, group=None, session=None, ninfer=None, timeout=None, chunk=1 << 16, size=None):
        def requests():
            if group is not None:
                yield pb.load_request(h_eg=pb.h_eg(id=group))
            if session is not None:
                yield pb.load_request(session_id=session)
            yield pb.load_request(neff_size=len(neff) if size is None else size)
            params = pb.model_params()
            if ninfer is not None:
                params.ninfer.data = ninfer
            if timeout is not None:
                params.timeout.data = timeout
            yield pb.load_request(model_params=params)
            for at in range(0, len(neff), chunk):
                yield pb.load_request(neff_chunk=pb.file_chunk(chunk=neff[at:at + chunk]))
        stub = self.channel.stream_unary('/nrt.nmgr_v1/load', pb.load_request.SerializeToString,
                                         pb.load_response.FromString)
        return stub(requests(), timeout=PATIENCE)

    def session(self, asks=True):
        """Returns a stream that is read before it is written: (id, a function that ends it)."""
        end = threading.Event()

        def requests():
            if asks:
                yield pb.session_monitor_request(framework_name='TENSORFLOW')
            end.wait()
        stub = self.channel.stream_stream('/nrt.nmgr_session_manager/session_monitor',
                                          pb.session_monitor_request.SerializeToString,
                                          pb.session_monitor_response.FromString)
        stream = stub(requests())
        first = next(stream)
        return first.session_id, lambda: (end.set(), list(stream))


SCRIPT = os.path.basename(sys.argv[0])
# {name: (request, reply)} of all methods of nmgr_v1.
METHODS = {method.name: (method.input_type._concrete_class, method.output_type._concrete_class)
           for method in service.DESCRIPTOR.services_by_name['nmgr_v1'].methods}


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f'{SCRIPT}: {what}: {got!r}, expected {wanted!r}')


def nn(number):
    return pb.h_nn(id=number)


def eg(number):
    return pb.h_eg(id=number)


def io(name, data):
    return pb.infer_io(name=name, buf=data)


def memory(name, path):
    return pb.infer_io(name=name, buf_shm=pb.shared_mem_buf(path=path))


class Shared:
    """POSIX shared memory of a client."""
    def __init__(self, path, bytes_count):
        self.path = path
        self.fd = os.open('/dev/shm' + path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self.fd, bytes_count)

    def put(self, data):
        os.pwrite(self.fd, data, 0)

    def get(self, count):
        return os.pread(self.fd, count, 0)

    def unlink(self):
        os.unlink('/dev/shm' + self.path)


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            sys.exit(f'{SCRIPT}: timed out after {PATIENCE} s, waiting for: {what}')
        time.sleep(0.01)
