# SPDX-License-Identifier: MIT
"""A client of neuron-rtd like the frameworks of its time, with Python's gRPC library.

rtd.py ENDPOINT GENERATED_FOLDER MODEL_FOLDER [CASE...]"""
import os
import sys
import threading
import time

import grpc

from client import PATIENCE, Client, Shared, eg, expect, io, memory, nn, pb, until

# ---- cases: each leaves the daemon empty ----

def generated_payloads_equal_the_wire_format(c):
    """Returns payloads of the wire, byte for byte."""
    def hexed(message):
        return message.SerializeToString().hex()
    expect('create_eg', hexed(pb.create_eg_request(nc_count=4, session_id=7)), '08041007')
    expect('params', hexed(pb.load_request(model_params=pb.model_params(
        timeout=pb.u32(data=10), ninfer=pb.u32(data=2), enable_tracing=pb.u32(data=1),
        enable_node_profiling=pb.u32(data=1)))), '12100a02080a120208021a02080132020801')
    expect('load failure', hexed(pb.load_response(status=pb.status(code=10, details=b'NEFF version mismatch'))),
           '0a19080a12154e4546462076657273696f6e206d69736d61746368')
    expect('inference', hexed(pb.infer_request(h_nn=nn(10001), ifmap=[memory('x:0', '/a')],
                                               shm_ofmap=[memory('y:0', '/b')])),
           '0a0308914e120b12040a022f611a03783a301a0b12040a022f621a03793a30')
    expect('response', hexed(pb.infer_response(status=pb.status(), ofmap=[io('y:0', b'\3\4')])),
           '0a001a090a0203041a03793a30')
    expect('map', hexed(pb.shm_map_request(path='/a', mmap_prot=3, session_id=7)), '0a022f6110032007')
    expect('group', hexed(pb.out_list_egs(eg_info=[pb.eg_info(eg=eg(2), vnc_start_index=2, nc_count=4, nc_start_index=2)],
                                          mla_count=4, nc_count=16, status=pb.status())),
           '0a0a0a020802100218042802100418102200')


def payload_bytes_are_answered_byte_for_byte(c):
    """The same bytes through the daemon: the generated code of clients reads its answers."""
    stub = c.channel.unary_unary('/nrt.nmgr_v1/create_eg', lambda b: b, lambda b: b)
    answer = stub(bytes.fromhex('0802'))
    group = pb.create_eg_response.FromString(answer)
    expect('answer', answer.hex(), f'0a0012020{8:x}{group.h_eg.id:02x}1802')
    expect('destroyed', c.destroy_eg(h_eg=group.h_eg).status.code, 0)
    for path, data, code in (('/nrt.nmgr_v1/create_eg', b'\xff\xff', grpc.StatusCode.INTERNAL),
                             ('/nrt.nmgr_v1/nonsense', b'', grpc.StatusCode.UNIMPLEMENTED)):
        try:
            c.channel.unary_unary(path, lambda b: b, lambda b: b)(data)
            sys.exit(f'rtd.py: {path} was answered')
        except grpc.RpcError as error:
            expect(path, error.code(), code)
    nul = pb.shm_map_request(path='/a\0b').SerializeToString()
    got = c.channel.unary_unary('/nrt.nmgr_v1/shm_map', lambda b: b, pb.shm_map_response.FromString)(nul)
    expect('a NUL in a path', got.status.code, 2)


def groups_are_placed_on_free_cores(c):
    made = [c.create_eg(nc_count=n) for n in (2, 4, 3, 1)]
    listed = c.list_egs()
    expect('places', [(g.mla_start_index, g.nc_start_index) for g in listed.eg_info], [(0, 0), (0, 2), (1, 2), (2, 1)])
    expect('cores', (listed.mla_count, listed.nc_count), (4, 16))
    expect('too many', c.create_eg(nc_count=17).status.code, 9)
    expect('destroyed', c.destroy_eg(h_eg=made[1].h_eg).status.code, 0)
    rest = c.create_eg()
    expect('the longest run', rest.nc_count, 6)
    expect('not in a row', c.create_eg(nc_count=5).status.code, 9)
    expect('unknown', c.destroy_eg(h_eg=eg(999)).status.code, 3)
    for group in (made[0], made[2], made[3], rest):
        expect('destroyed', c.destroy_eg(h_eg=group.h_eg).status.code, 0)
    expect('none left', len(c.list_egs().eg_info), 0)


def tensorflow_calls_are_answered(c):
    """Calls as the plug-in of TensorFlow does, with shared memory that loses its name at once."""
    _, end_probe = c.session(asks=False)
    end_probe()
    session, end = c.session()
    probe = Shared(f'/ntk_rtd_probe_{os.getpid()}', 16)
    expect('map', c.shm_map(path=probe.path, mmap_prot=3, session_id=session).status.code, 0)
    probe.unlink()
    group = c.create_eg(nc_count=1, session_id=session)
    loaded = c.load(NEFF, group=group.h_eg.id, session=session, ninfer=2)
    expect(f'load: {loaded.status.details}', loaded.status.code, 0)
    model = loaded.h_nn
    expect('first number', model.id >= 10001, True)
    expect('not started', c.infer(h_nn=model, ifmap=INPUTS).status.code, 3)
    expect('start', c.start(h_nn=model).status.code, 0)
    before = c.read_inference_counters().nmgr_counters
    inline = c.infer(h_nn=model, ifmap=INPUTS)
    expect(f'inline: {inline.status.details}', inline.status.code, 0)
    expect('output', {o.name: o.buf for o in inline.ofmap}, RESULT)
    ins = [Shared(f'/ntk_rtd_in{i}_{os.getpid()}', len(one.buf)) for i, one in enumerate(INPUTS)]
    outs = {name: Shared(f'/ntk_rtd_out_{name}_{os.getpid()}', len(data)) for name, data in RESULT.items()}
    for shared in (*ins, *outs.values()):
        expect('map', c.shm_map(path=shared.path, mmap_prot=3, session_id=session).status.code, 0)
        shared.unlink()
    for shared, one in zip(ins, INPUTS):
        shared.put(one.buf)
    ifmap = [memory(one.name + ':0', shared.path) for shared, one in zip(ins, INPUTS)]
    ofmap = [memory(name + ':0', shared.path) for name, shared in outs.items()]
    for _ in range(20):
        posted = c.infer_post(h_nn=model, ifmap=ifmap, shm_ofmap=ofmap)
        expect('post', posted.status.code, 0)
        waited = c.infer_wait(cookie=posted.cookie, shm_ofmap=ofmap)
        expect('wait', (waited.status.code, len(waited.ofmap)), (0, 0))
        expect('collected', c.infer_wait(cookie=posted.cookie).status.code, 3)
        for name, shared in outs.items():
            expect(name, shared.get(len(RESULT[name])), RESULT[name])
            shared.put(bytes(len(RESULT[name])))
    os.ftruncate(ins[0].fd, 0)
    expect('memory that became shorter', c.infer(h_nn=model, ifmap=ifmap).status.code, 1002)
    after = c.read_inference_counters().nmgr_counters
    expect('counted', after.infer_count - before.infer_count, 21)
    expect('unload while it runs', c.unload(h_nn=model).status.code, 2)
    expect('stop', c.stop(h_nn=model).status.code, 0)
    expect('unload', c.unload(h_nn=model).status.code, 0)
    expect('destroy', c.destroy_eg(h_eg=group.h_eg).status.code, 0)
    expect('unmap', c.shm_unmap(path=outs[next(iter(outs))].path, mmap_prot=3).status.code, 0)
    expect('unmap again', c.shm_unmap(path=outs[next(iter(outs))].path, mmap_prot=3).status.code, 3)
    end()


def model_states_allow_only_valid_calls(c):
    group = c.create_eg(nc_count=1)
    a, b = (c.load(NEFF, group=group.h_eg.id, ninfer=2).h_nn for _ in range(2))
    expect('start', c.start(h_nn=a).status.code, 0)
    expect('again', c.start(h_nn=a).status.code, 0)
    expect('the other', c.start(h_nn=b).status.code, 2)
    expect('occupied', c.destroy_eg(h_eg=group.h_eg).status.code, 2)
    expect('stop', c.stop(h_nn=a).status.code, 0)
    expect('the other', c.start(h_nn=b).status.code, 0)
    expect('stopped', c.infer(h_nn=a, ifmap=INPUTS).status.code, 3)
    expect('wake-up', c.start(h_nn=nn(0)).status.code, 3)
    expect('no input', c.infer(h_nn=b).status.code, 1002)
    expect('a wrong size', c.infer(h_nn=b, ifmap=[io(one.name, one.buf[:-1]) for one in INPUTS]).status.code, 1002)
    expect('twice', c.infer(h_nn=b, ifmap=[INPUTS[0], *INPUTS[:-1]] if len(INPUTS) > 1 else [io('other', b'')]).status.code, 1002)
    expect('cookie', c.infer_poll(cookie=77777).status.code, 3)
    posted = c.infer_post(h_nn=b, ifmap=INPUTS)
    until('done', lambda: list(c.infer_check_completion(cookie=[posted.cookie]).cookie))
    polled = c.infer_poll(cookie=posted.cookie)
    expect('polled', ({o.name: o.buf for o in polled.ofmap}, polled.status.code), (RESULT, 0))
    expect('all gone', c.unload_all().code, 0)
    expect('again', c.unload_all().code, 0)
    expect('no group', len(c.list_egs().eg_info), 0)
    implicit = c.load(NEFF)
    expect('runs', c.infer(h_nn=implicit.h_nn, ifmap=INPUTS).status.code, 0)
    own = c.list_egs().eg_info[0].eg
    expect('implicit', c.destroy_eg(h_eg=own).status.code, 2)
    expect('no load', c.load(NEFF, group=own.id).status.code, 3)
    expect('unload', c.unload(h_nn=implicit.h_nn).status.code, 0)
    expect('its group', len(c.list_egs().eg_info), 0)


def invalid_load_streams_are_rejected(c):
    """Streams of load that are truncated, lie, or hold no NEFF."""
    group = c.create_eg(nc_count=1).h_eg.id
    for what, answer, code in (
            ('an announced size', c.load(NEFF, group=group, size=len(NEFF) + 1), 2),
            ('nothing', c.load(b'', group=group, size=10), 2),
            ('no NEFF', c.load(bytes(5000), group=group), 2),
            ('half a NEFF', c.load(NEFF[:len(NEFF) // 2], group=group), 2),
            ('another group', c.load(NEFF, group=group + 100), 3),
            ('another session', c.load(NEFF, group=group, session=4711), 3),
            ('ninfer', c.load(NEFF, group=group, ninfer=0), 2)):
        expect(f'{what}: {answer.status.details}', answer.status.code, code)
        expect(f'{what} says why', len(answer.status.details) > 0, True)

    def cut():
        yield pb.load_request(neff_size=len(NEFF))
        yield pb.load_request(neff_chunk=pb.file_chunk(chunk=NEFF[:1000]))
        is_sent.set()
        is_over.wait(PATIENCE)
    is_sent, is_over = threading.Event(), threading.Event()
    stub = c.channel.stream_unary('/nrt.nmgr_v1/load', pb.load_request.SerializeToString, pb.load_response.FromString)
    future = stub.future(cut())
    expect('half a load is sent', is_sent.wait(PATIENCE), True)
    c.list_egs()  # the daemon has answered what was sent after it
    future.cancel()
    is_over.set()
    until('the group of a truncated load is empty', lambda: c.destroy_eg(h_eg=eg(group)).status.code == 0)


def a_disconnected_client_leaves_no_objects(c):
    """The resources of a client that disconnects are released after any call."""
    other = Client(sys.argv[1])
    session, held = other.session()  # a stream that no process holds is cancelled
    group = other.create_eg(nc_count=2, session_id=session)
    model = other.load(NEFF, group=group.h_eg.id, session=session, ninfer=8).h_nn
    expect('start', other.start(h_nn=model).status.code, 0)
    for _ in range(8):
        posted = other.infer_post(h_nn=model, ifmap=INPUTS)
        expect(f'post: {posted.status.details}', posted.status.code in (0, 7), True)
    other.channel.close()
    del held
    until('its group is free', lambda: not c.list_egs().eg_info)


def requests_beyond_the_limit_are_rejected_and_counted(c):
    """More requests than the limit are rejected and counted; each accepted one has its result."""
    implicit = c.load(NEFF, ninfer=3).h_nn
    before = c.read_inference_counters().nmgr_counters
    cookies, full = [], 0
    for _ in range(300):
        posted = c.infer_post(h_nn=implicit, ifmap=INPUTS)
        if posted.status.code == 7:
            full += 1
        else:
            expect('post', posted.status.code, 0)
            cookies.append(posted.cookie)
    for cookie in cookies:
        expect('result', {o.name: o.buf for o in c.infer_wait(cookie=cookie).ofmap}, RESULT)
    after = c.read_inference_counters().nmgr_counters
    expect('refused', after.infer_queue_drop_count - before.infer_queue_drop_count, full)
    expect('taken', after.infer_count - before.infer_count, len(cookies))
    ok = {s.infer_status: s.count for s in after.infer_status_counts}[pb.IST_OK]
    expect('ended well', ok - {s.infer_status: s.count for s in before.infer_status_counts}[pb.IST_OK], len(cookies))
    expect('unload', c.unload(h_nn=implicit).status.code, 0)


def model_nodes_run_in_parallel_or_in_turns(c):
    """Nodes of 4 and 1 cores run in parallel if they fit, in turn if the group is smaller."""
    x = [io('x', bytes(128 * 512 * 4))]
    results = []
    for count, code in ((3, 9), (4, 0), (5, 0), (6, 0)):
        group = c.create_eg(nc_count=count).h_eg
        loaded = c.load(TURNS, group=group.id, ninfer=4)
        expect(f'{count} cores: {loaded.status.details}', loaded.status.code, code)
        if code:
            expect('says why', loaded.status.details, b'Insufficient number of VNCs: 3, required: 4')
        else:
            expect('start', c.start(h_nn=loaded.h_nn).status.code, 0)
            for _ in range(3):
                answer = c.infer(h_nn=loaded.h_nn, ifmap=x)
                expect(f'{count} cores: {answer.status.details}', answer.status.code, 0)
                results.append({o.name: o.buf for o in answer.ofmap})
            most, refused = most_in_progress(c, loaded.h_nn, x, 4, lambda most, refused: most > 1 if count > 4 else refused > 0)
            expect(f'depth of {count} cores', (most > 1, refused > 0), (count > 4, count < 5))
            expect('stop', c.stop(h_nn=loaded.h_nn).status.code, 0)
            expect('unload', c.unload(h_nn=loaded.h_nn).status.code, 0)
        expect('destroy', c.destroy_eg(h_eg=group).status.code, 0)
    expect('the same results', [one for one in results if one != results[0]], [])
    expect('size of the result', len(results[0]['y']), 128 * 512 * 4)
    expect('not zero', any(results[0]['y']), True)
    # A header with wrong counts of nodes; 480: cores of each.
    for cores, group_cores in ((1, 0), (1, 2), (60, 16)):
        group = c.create_eg(nc_count=group_cores).h_eg if group_cores else None
        lying = bytearray(TURNS)
        lying[480] = cores
        refused = c.load(bytes(lying), group=group.id if group else None)
        expect(f'{cores} cores in the header: {refused.status.details}', refused.status.code, 9)
        if group:
            expect('destroy', c.destroy_eg(h_eg=group).status.code, 0)
    expect('nothing is left', len(c.list_egs().eg_info), 0)
    implicit = c.load(TURNS).h_nn
    expect('not in turn', c.list_egs().eg_info[0].nc_count, 5)
    expect('unload', c.unload(h_nn=implicit).status.code, 0)


def memory_of(location, category):
    """Returns bytes in the device tree, of all cores."""
    total = 0
    for folder, _, files in os.walk(os.environ['NEURON_HOOKS_DIR']):
        if folder.endswith(f'/memory_usage/{location}/{category}') and 'total' in files:
            with open(f'{folder}/total') as file:
                total += int(file.read())
    return total


def a_load_reserves_memory_for_all_inferences(c):
    """The model has memory for the tensors of all inferences that may be in progress; a load gets this memory
    or fails."""
    group = c.create_eg(nc_count=1).h_eg
    one = sum(len(tensor.buf) for tensor in INPUTS) + sum(map(len, RESULT.values()))
    until('nothing is allocated', lambda: memory_of('device_mem', 'tensors') + memory_of('host_mem', 'tensors') == 0)
    for ninfer in (1, 6):
        model = c.load(NEFF, group=group.id, ninfer=ninfer).h_nn
        until(f'{ninfer} inferences have memory', lambda: memory_of('device_mem', 'tensors') == ninfer * one)
        until('staged memory also exists', lambda: memory_of('host_mem', 'tensors') == one)
        expect('unload', c.unload(h_nn=model).status.code, 0)
        until('the memory is freed', lambda: memory_of('device_mem', 'tensors') == 0)
    until('also on the host', lambda: memory_of('host_mem', 'tensors') == 0)
    refused = c.load(LARGE, group=group.id, ninfer=200)
    expect(f'200 of 64 MiB: {refused.status.details}', refused.status.code, 4)
    expect('says why', refused.status.details.startswith(b'Failed to allocate buffer in MLA DRAM for '), True)
    until('nothing is left', lambda: memory_of('device_mem', 'tensors') == 0)
    fits = c.load(LARGE, group=group.id, ninfer=2)
    expect(f'2 of 64 MiB: {fits.status.details}', fits.status.code, 0)
    expect('unload', c.unload(h_nn=fits.h_nn).status.code, 0)
    expect('destroy', c.destroy_eg(h_eg=group).status.code, 0)


def most_in_progress(c, model, ifmap, ninfer, is_seen):
    """Posts ninfer inferences at once, if that many are accepted. Returns the highest number in progress, and
    how often one was rejected. Does so 20 times, and until is_seen(most, refused), because a busy client may
    be slower than the model."""
    most = refused = rounds = 0
    end = time.monotonic() + PATIENCE
    while rounds < 20 or (not is_seen(most, refused) and time.monotonic() < end):
        rounds += 1
        cookies = []
        while len(cookies) < ninfer:
            posted = c.infer_post(h_nn=model, ifmap=ifmap)
            if posted.status.code == 7:
                refused += 1
                break
            expect('post', posted.status.code, 0)
            cookies.append(posted.cookie)
            done = c.infer_check_completion(cookie=cookies).cookie
            most = max(most, len(cookies) - len(done))
        for cookie in cookies:
            expect('wait', c.infer_wait(cookie=cookie).status.code, 0)
    return most, refused


def a_nan_input_is_a_numerical_error(c):
    """NaN in the input results in NaN in the output, with the status code for it."""
    nans = b'\0\0\xc0\x7f' * (128 * 512)
    model = c.load(TURNS).h_nn
    answer = c.infer(h_nn=model, ifmap=[io('x', nans)])
    expect('code', (answer.status.code, [o.name for o in answer.ofmap]), (1003, ['y']))
    expect('unload', c.unload(h_nn=model).status.code, 0)


def start_an_endless_inference(c):
    """No client collects this inference; the test reads in our output that it runs."""
    model = c.load(NEFF, timeout=PATIENCE).h_nn
    expect('post', c.infer_post(h_nn=model, ifmap=INPUTS).status.code, 0)


def others_are_answered_while_a_brief_model_hangs(c):
    """The thread that receives calls executes a model that was brief until then."""
    with open(f'{sys.argv[3]}/small.neff', 'rb') as file:
        model = c.load(file.read(), timeout=PATIENCE, ninfer=4).h_nn
    asked = pb.infer_request(h_nn=model, ifmap=[io('in', bytes(128 * 4))])
    infer = c.channel.unary_unary('/nrt.nmgr_v1/infer', pb.infer_request.SerializeToString, pb.infer_response.FromString)
    for _ in range(29):
        expect('brief', infer(asked).status.code, 0)
    hanging = infer.future(asked)
    for _ in range(5):
        expect('others', len(c.list_egs().eg_info), 1)
    cookie = c.infer_post(h_nn=model, ifmap=asked.ifmap).cookie
    expect('its next inference', c.infer_poll(cookie=cookie).status.code, pb.NERR_INFER_PENDING)
    expect('it hangs', hanging.done(), False)
    hanging.cancel()
    expect('others', len(c.list_egs().eg_info), 1)


def reports_contain_a_loaded_model(c):
    """Reports have a model that exists for a few periods of the monitor."""
    def tells(key, value):
        with open('reports.jsonl') as file:
            text = file.read().replace(' ', '')
        return f'"{key}":{value}' in text
    group = c.create_eg(nc_count=4).h_eg
    model = c.load(TURNS, group=group.id).h_nn
    expect('start', c.start(h_nn=model).status.code, 0)
    for _ in range(2):
        expect('infer', c.infer(h_nn=model, ifmap=[io('x', bytes(128 * 512 * 4))]).status.code, 0)
    until('the start is reported', lambda: tells('starts', 1) and tells('kind', '"model_start"'))
    until('switches are reported', lambda: tells('node_switches', ''))
    expect('stop', c.stop(h_nn=model).status.code, 0)
    until('the stop is reported', lambda: tells('stops', 1) and tells('kind', '"model_stop"'))
    expect('unload', c.unload(h_nn=model).status.code, 0)
    expect('destroy', c.destroy_eg(h_eg=group).status.code, 0)


def every_call_fails_without_cores(c):
    """Every answer is the same, and states the reason."""
    for answer in (c.create_eg(nc_count=1), c.list_egs(), c.infer(), c.infer_post(), c.start(), c.shm_map(path='/x')):
        expect('code', answer.status.code, 6)
        expect('says why', len(answer.status.details) > 0, True)
    expect('bare', c.unload_all().code, 6)
    expect('load', c.load(NEFF).status.code, 6)


CASES = [
    generated_payloads_equal_the_wire_format,
    payload_bytes_are_answered_byte_for_byte,
    groups_are_placed_on_free_cores,
    tensorflow_calls_are_answered,
    model_states_allow_only_valid_calls,
    invalid_load_streams_are_rejected,
    a_disconnected_client_leaves_no_objects,
    requests_beyond_the_limit_are_rejected_and_counted,
    model_nodes_run_in_parallel_or_in_turns,
    a_load_reserves_memory_for_all_inferences,
]


def main():
    global NEFF, INPUTS, RESULT, TURNS, LARGE
    folder = sys.argv[3]
    with open(f'{folder}/model.neff', 'rb') as file:
        NEFF = file.read()
    with open(f'{folder}/turns.neff', 'rb') as file:
        TURNS = file.read()
    with open(f'{folder}/large.neff', 'rb') as file:
        LARGE = file.read()
    INPUTS = [io(name[3:-4], open(f'{folder}/{name}', 'rb').read()) for name in sorted(os.listdir(folder)) if name.startswith('in.')]
    RESULT = {name[4:-4]: open(f'{folder}/{name}', 'rb').read() for name in os.listdir(folder) if name.startswith('out.')}
    client = Client(sys.argv[1])
    for case in [globals()[name] for name in sys.argv[4:]] or CASES:
        case(client)
        print(f'rtd.py: {case.__name__}')
    if len(sys.argv) == 4:
        counters = client.read_inference_counters().nmgr_counters
        print('rtd.py: completed', {s.infer_status: s.count for s in counters.infer_status_counts}[pb.IST_OK])


main()
