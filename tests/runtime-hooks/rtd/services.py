# SPDX-License-Identifier: MIT
"""Services of neuron-rtd in addition to nmgr_v1.

services.py ENDPOINT GENERATED_FOLDER MODEL_FOLDER [CASE...]
"""
import importlib.util
import os
import queue
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from client import PATIENCE, Client, eg, expect, io, nn, pb, until
import openneuron_rtd_pb2 as own


def generated(path):
    """Returns a generated module; its package may exist elsewhere too."""
    spec = importlib.util.spec_from_file_location(path.replace('/', '_'), f'{sys.argv[2]}/{path}_pb2.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


health_pb = generated('grpc/health/v1/health')
reflection_pb = generated('grpc/reflection/v1/reflection')
reflection_alpha_pb = generated('grpc/reflection/v1alpha/reflection')


def own_stub(c, service, method):
    asked = own.DESCRIPTOR.services_by_name[service].methods_by_name[method]
    stub = c.channel.unary_unary(f'/openneuron.rtd.v1.{service}/{method}', asked.input_type._concrete_class.SerializeToString,
                                 asked.output_type._concrete_class.FromString)
    return lambda **fields: stub(asked.input_type._concrete_class(**fields), timeout=PATIENCE)


def the_model_table_lists_models_by_number(c):
    listed = own_stub(c, 'model_table', 'list')
    expect('nothing', (listed().status.code, len(listed().models)), (0, 0))
    free = c.create_eg(nc_count=3).h_eg.id
    group = c.create_eg(nc_count=2).h_eg.id
    a = c.load(NEFF, group=group, ninfer=1).h_nn.id
    b = c.load(NEFF, group=group, ninfer=4).h_nn.id
    implicit = c.load(NEFF).h_nn.id
    expect('start', c.start(h_nn=nn(b)).status.code, 0)
    rows = listed().models
    expect('by number', [m.id for m in rows], [a, b, implicit])
    expect('states', [m.status for m in rows], [own.MODEL_STANDBY, own.MODEL_READY, own.MODEL_READY])
    expect('places', [(m.device_start, m.nc_start, m.nc_count) for m in rows], [(0, 3, 1), (0, 3, 1), (1, 1, 1)])
    expect('groups', [m.eg_id for m in rows], [group, group, rows[2].eg_id])
    expect('its own', rows[2].eg_id not in (group, free), True)
    expect('names', {m.name for m in rows}, {'memcpy'})
    expect('uuids', {m.uuid for m in rows}, {UUID})
    # Three more inferences may be in progress: an input and an output of 32 KiB each.
    expect('depth', rows[1].mem_device - rows[0].mem_device >= 3 * 2 * 128 * 64 * 4 - rows[0].mem_device, True)
    expect('memory', all(m.mem_host > 0 and m.mem_device > 0 for m in rows), True)
    memory = c.read_all_counters().system_counters.memory_counters
    for device in (0, 1):
        held = memory[device].mem_used_infa_0 + memory[device].mem_used_infa_1
        expect('no more than the device has', sum(m.mem_device for m in rows if m.device_start == device) <= held, True)
    expect('stop', c.stop(h_nn=nn(b)).status.code, 0)
    for model in (a, b, implicit):
        expect('unload', c.unload(h_nn=nn(model)).status.code, 0)
    expect('gone', len(listed().models), 0)
    for number in (free, group):
        expect('destroy', c.destroy_eg(h_eg=eg(number)).status.code, 0)


def a_profile_of_a_model_can_be_recorded(c):
    start, stop = own_stub(c, 'profile', 'start'), own_stub(c, 'profile', 'stop')
    model = c.load(NEFF).h_nn
    name = '/home/user/op+1-10001-0.ntff'
    for what, answer, code in (('no model', start(h_nn=nn(1), path=name), 3), ('no name', start(h_nn=model), 2),
                               ('a long name', start(h_nn=model, path='/' * 5000), 2), ('no capture', stop(path=name), 3)):
        expect(what, (answer.status.code, len(answer.status.details) > 0), (code, True))
    expect('start', start(h_nn=model, path=name).status.code, 0)
    expect('the name is taken', start(h_nn=model, path=name).status.code, 2)
    expect('the model is captured', start(h_nn=model, path=name + '2').status.code, 2)
    for _ in range(3):
        expect('infer', c.infer(h_nn=model, ifmap=INPUTS).status.code, 0)
    answer = stop(path=name)
    expect(f'stop: {answer.status.details}', (answer.status.code, len(answer.ntff) > 1000), (0, True))
    expect('unknown file name', os.path.exists(name), False)
    with open(f'{sys.argv[3]}/capture.ntff', 'wb') as file:
        file.write(answer.ntff)
    expect('over', stop(path=name).status.code, 3)
    expect('once more', start(h_nn=model, path=name).status.code, 0)
    empty = stop(path=name)
    expect('an empty capture', (empty.status.code, 0 < len(empty.ntff) < len(answer.ntff)), (0, True))
    # A capture is removed with its model, and its name can be used again.
    expect('start', start(h_nn=model, path=name).status.code, 0)
    expect('unload', c.unload(h_nn=model).status.code, 0)
    expect('gone', stop(path=name).status.code, 3)
    model = c.load(NEFF).h_nn
    expect('start', start(h_nn=model, path=name).status.code, 0)
    expect('all', c.unload_all().code, 0)


def health_stub(c, kind, method):
    return kind(f'/grpc.health.v1.Health/{method}', health_pb.HealthCheckRequest.SerializeToString,
                health_pb.HealthCheckResponse.FromString)


def the_health_service_reports_serving(c):
    check = health_stub(c, c.channel.unary_unary, 'Check')
    for service in ('', 'nrt.nmgr_v1'):
        expect(service, check(health_pb.HealthCheckRequest(service=service)).status, health_pb.HealthCheckResponse.SERVING)
    for service in ('nrt.nmgr_v2', 'nrt', 'nrt.nmgr_v1.load', 'x' * 100000):
        expect(service, code_of(lambda: check(health_pb.HealthCheckRequest(service=service))), grpc.StatusCode.NOT_FOUND)
    watch = health_stub(c, c.channel.unary_stream, 'Watch')
    for service, status in (('', health_pb.HealthCheckResponse.SERVING), ('unknown', health_pb.HealthCheckResponse.SERVICE_UNKNOWN)):
        stream = watch(health_pb.HealthCheckRequest(service=service))
        expect(service, next(stream).status, status)
        stream.cancel()
    raw = c.channel.unary_unary('/grpc.health.v1.Health/Check', lambda b: b, lambda b: b)
    expect('a NUL', code_of(lambda: raw(b'\x0a\x03a\0b')), grpc.StatusCode.INVALID_ARGUMENT)


def watch_health_until_the_daemon_exits(c):
    """Waits until the daemon exits."""
    with open('watching', 'w') as log:
        try:
            for answer in health_stub(c, c.channel.unary_stream, 'Watch')(health_pb.HealthCheckRequest(service='nrt.nmgr_v1')):
                print(health_pb.HealthCheckResponse.ServingStatus.Name(answer.status), file=log, flush=True)
        except grpc.RpcError as error:
            print(error.code().name, file=log, flush=True)


def the_health_service_reports_not_serving(c):
    check = health_stub(c, c.channel.unary_unary, 'Check')
    for service in ('', 'nrt.nmgr_v1'):
        expect(service, check(health_pb.HealthCheckRequest(service=service)).status, health_pb.HealthCheckResponse.NOT_SERVING)
    s = Stream(c)
    s.put(pb.infer_request(), pb.infer_request())
    s.end()
    expect('stream', [a.status.code for a in s.answers], [6, 6])
    expect('models', own_stub(c, 'model_table', 'list')().status.code, 6)


def code_of(call):
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


class Reflection:
    """Sends the requests of one stream, each with its answer."""
    def __init__(self, c, version, pb2):
        self.pb2 = pb2
        self.questions = queue.Queue()
        stub = c.channel.stream_stream(f'/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo',
                                       pb2.ServerReflectionRequest.SerializeToString, pb2.ServerReflectionResponse.FromString)
        self.answers = stub(iter(self.questions.get, None))

    def ask(self, **question):
        asked = self.pb2.ServerReflectionRequest(host='somewhere', **question)
        self.questions.put(asked)
        answer = next(self.answers)
        expect('request of the answer', (answer.valid_host, answer.original_request), ('somewhere', asked))
        return answer

    def end(self):
        self.questions.put(None)
        expect('nothing more', list(self.answers), [])
        expect('the end', self.answers.code(), grpc.StatusCode.OK)


class Stream:
    """infer_stream; inputs are sent as soon as the daemon reads."""
    def __init__(self, c, pack=pb.infer_request.SerializeToString):
        self.requests = queue.Queue()
        stub = c.channel.stream_stream('/nrt.nmgr_stream/infer_stream', pack, pb.infer_response.FromString)
        self.answers = stub(iter(self.requests.get, None))

    def put(self, *requests):
        for request in requests:
            self.requests.put(request)

    def end(self):
        self.requests.put(None)


def numbered(model, number, name='in'):
    return pb.infer_request(h_nn=model, ifmap=[io(name, number.to_bytes(4, 'little') * (128 * 64))])


def number_of(answer):
    return int.from_bytes(answer.ofmap[0].buf[-4:], 'little')


def streamed_requests_are_answered_in_order(c):
    """Each request has its answer, in order."""
    fast, slow = (c.load(neff, ninfer=8).h_nn for neff in (NEFF, MLP))
    wide = pb.infer_request(h_nn=slow, ifmap=[io('x', bytes(128 * 512 * 4))])
    s = Stream(c)
    s.put(wide, numbered(fast, 1), pb.infer_request(h_nn=nn(1)), numbered(fast, 2, 'nothing'), numbered(fast, 3), wide)
    answers = [next(s.answers) for _ in range(6)]  # before the client has ended
    expect('codes', [a.status.code for a in answers], [0, 0, 3, 1002, 0, 0])
    expect('says why', [len(a.status.details) > 0 for a in answers], [False, False, True, True, False, False])
    expect('request of the answer', [number_of(answers[1]), number_of(answers[4])], [1, 3])
    s.put(numbered(fast, 7))
    expect('again', number_of(next(s.answers)), 7)
    s.end()
    expect('nothing more', (list(s.answers), s.answers.code()), ([], grpc.StatusCode.OK))

    # More inferences than allowed are rejected in order; accepted ones are completed after the client's last
    # message.
    before = c.read_inference_counters().nmgr_counters
    s = Stream(c)
    s.put(*(numbered(fast, i) for i in range(2000)))
    s.end()
    answers = list(s.answers)
    expect('answers', (len(answers), s.answers.code()), (2000, grpc.StatusCode.OK))
    expect('codes', {a.status.code for a in answers} <= {0, 7}, True)
    expect('request of the answer', all(number_of(a) == i for i, a in enumerate(answers) if a.status.code == 0), True)
    after = c.read_inference_counters().nmgr_counters
    good = sum(a.status.code == 0 for a in answers)
    expect('taken', after.infer_count - before.infer_count, good)
    expect('refused', after.infer_queue_drop_count - before.infer_queue_drop_count, 2000 - good)

    # A reset cancels: inferences that have not started do not run.
    count = c.read_inference_counters().nmgr_counters.infer_count
    s = Stream(c)
    s.put(*[wide] * 8)
    until('posted', lambda: c.read_inference_counters().nmgr_counters.infer_count == count + 8)
    s.answers.cancel()
    began = {n.infer_status: n.count for n in c.read_inference_counters().nmgr_counters.infer_status_counts}
    expect('stop', c.stop(h_nn=slow).status.code, 0)
    ended = {n.infer_status: n.count for n in c.read_inference_counters().nmgr_counters.infer_status_counts}
    expect('not all of them ran', sum(ended.values()) - sum(began.values()) <= 6, True)

    # A client that disappears in the middle, and one that takes its model with it.
    s = Stream(c)
    s.put(*[numbered(fast, 1)] * 100)
    s.answers.cancel()
    s = Stream(c)
    s.put(*[numbered(fast, 1)] * 4)
    expect('unload', [c.unload(h_nn=model).status.code for model in (slow, fast)], [0, 0])
    s.end()
    codes = [a.status.code for a in s.answers]
    expect(f'codes {codes}', len(codes) == 4 and set(codes) <= {0, 3, 1001}, True)

    s = Stream(c, pack=lambda b: b)
    s.put(pb.infer_request(ifmap=[io('a\0b', b'')]).SerializeToString(), pb.infer_request().SerializeToString(), b'\xff')
    expect('a NUL', next(s.answers).status.code, 2)
    expect('no model', next(s.answers).status.code, 3)
    expect('no message', code_of(lambda: next(s.answers)), grpc.StatusCode.INTERNAL)
    s.end()


SERVICES = ['grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection',
            'nrt.nmgr_session_manager', 'nrt.nmgr_stream', 'nrt.nmgr_v1',
            'openneuron.rtd.v1.model_table', 'openneuron.rtd.v1.profile']


def reflection_describes_every_service(c):
    for version, pb2 in (('v1', reflection_pb), ('v1alpha', reflection_alpha_pb)):
        r = Reflection(c, version, pb2)
        expect('services', [s.name for s in r.ask(list_services='').list_services_response.service], SERVICES)
        expect('any word', len(r.ask(list_services='*').list_services_response.service), len(SERVICES))
        pool = descriptor_pool.DescriptorPool()
        known = set()
        for service in SERVICES:
            # The reply lists a file before its imports, but the pool needs the imports first.
            for data in reversed(r.ask(file_containing_symbol=service).file_descriptor_response.file_descriptor_proto):
                file = descriptor_pb2.FileDescriptorProto.FromString(data)
                if file.name not in known:
                    pool.Add(file)
                    known.add(file.name)
            for method in pool.FindServiceByName(service).methods:
                path = f'/{service}/{method.name}'
                served = code_of(lambda: list(c.channel.stream_stream(path, lambda b: b, lambda b: b)(iter([b'\xff']))))
                expect(path, served, grpc.StatusCode.INTERNAL)  # an invalid message, but a known method
        expect('official files', {name for name in known if '/' not in name},
               {'nmgr_stream_service.proto', 'common.proto', 'nerr.proto', 'nmetric.proto', 'nmgr.proto', 'nmgr_service.proto', 'nmgr_session_service.proto',
                'openneuron_rtd.proto'})
        # A client with only the arguments of a method can make a call.
        version_reply = message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName('nrt.get_version_response'))
        answer = c.channel.unary_unary('/nrt.nmgr_v1/get_version', lambda b: b, version_reply.FromString)(b'')
        expect('version', answer.runtime_version.full_version, '1.6.24.0')
        for symbol, name in (('nrt.status', 'common.proto'), ('nrt.status.code', 'common.proto'), ('nrt.nmgr_v1.load', 'nmgr_service.proto'),
                             ('nrt.NERR_INFER_PENDING', 'nerr.proto'), ('nrt.load_request.content', 'nmgr.proto'),
                             ('grpc.health.v1.HealthCheckResponse.SERVING', 'grpc/health/v1/health.proto'),
                             ('nrt.metric_type', 'nmetric.proto')):
            found = r.ask(file_containing_symbol=symbol).file_descriptor_response.file_descriptor_proto
            expect(symbol, descriptor_pb2.FileDescriptorProto.FromString(found[0]).name, name)
        found = r.ask(file_by_filename='nmgr_stream_service.proto').file_descriptor_response.file_descriptor_proto
        expect('by its name', len(found), 5)
        for question in ({'file_by_filename': 'none.proto'}, {'file_by_filename': ''}, {'file_containing_symbol': 'nrt'},
                         {'file_containing_symbol': 'nrt.stat'}, {'all_extension_numbers_of_type': 'nrt.nmgr_v1'},
                         {'file_containing_extension': pb2.ExtensionRequest(containing_type='nrt.status', extension_number=1)}):
            error = r.ask(**question).error_response
            expect(question, (error.error_code, len(error.error_message) > 0), (5, True))
        expect('asks nothing', r.ask().error_response.error_code, 3)
        numbers = r.ask(all_extension_numbers_of_type='nrt.status').all_extension_numbers_response
        expect('no extensions', (numbers.base_type_name, len(numbers.extension_number)), ('nrt.status', 0))
        r.end()


CASES = [
    the_model_table_lists_models_by_number,
    a_profile_of_a_model_can_be_recorded,
    the_health_service_reports_serving,
    streamed_requests_are_answered_in_order,
    reflection_describes_every_service,
]


def main():
    global NEFF, MLP, INPUTS, UUID
    folder = sys.argv[3]
    with open(f'{folder}/model.neff', 'rb') as file:
        NEFF = file.read()
    with open(f'{folder}/mlp.neff', 'rb') as file:
        MLP = file.read()
    with open(f'{folder}/uuid') as file:
        UUID = file.read().strip()
    INPUTS = [io('in', bytes(128 * 64 * 4))]
    client = Client(sys.argv[1])
    for case in [globals()[name] for name in sys.argv[4:]] or CASES:
        case(client)
        print(f'services.py: {case.__name__}')


main()
