# SPDX-License-Identifier: MIT
"""Clients unlike any framework: torture.py SOCKET NEFFS_FOLDER PID [CASE...]

Each case runs, at least twice, next to a client that infers all the time. Afterwards the daemon holds what it
held before: no more descriptors, threads, client memory or groups, and the other client got correct answers."""
import functools
import os
import socket
import struct
import sys
import zlib

from wire import (PATIENCE, Client, Daemon, Peer, Wire, expect, fail, first, framed, infer_request, outputs, parse, pb, tensor,
                  until, varint)

sock, folder, pid = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3]
CANCELLED, DEADLINE, UNIMPLEMENTED, INTERNAL = 1, 4, 12, 13
ROUNDS_MAX = 6
MODEL_ID, MODEL_GROUP = 1, 5  # fields of openneuron.rtd.v1.model
DATA = bytes(range(64))
NEFFS = {}


def neff(name):
    if name not in NEFFS:
        with open(f'{folder}/{name}.neff', 'rb') as file:
            NEFFS[name] = file.read()
    return NEFFS[name]


def group_count(client):
    return len(client.groups())


def heard(client):
    """Waits until the daemon has read everything sent before: it answers cheap requests in the order of the
    connection."""
    group_count(client)


def right(what, client, model, data=DATA):
    expect(what, client.infer(model, data), (0, data))


# ---- borders ----

def frames_and_messages_end_at_different_bytes(client):
    """Frames and messages end at different bytes."""
    group, model = client.model(neff('small'))
    request = framed(infer_request(model, [tensor('x', DATA)]))
    for frame in (1, 2, 3, 5, 7, len(request) - 1):
        stream = client.open('infer')
        client.send(stream, request, end=True, frame=frame)
        expect(f'frames of {frame}', outputs(parse(client.answer(stream, 'infer'))), {'y': DATA})
    stream = client.open('infer')  # empty frames in between, and an empty one at the end
    for at in range(0, len(request), 11):
        client.h2.send_data(stream, b'')
        client.h2.send_data(stream, request[at:at + 11], pad_length=None)
    client.send(stream, end=True)
    code, message = client.read('infer', client.answer(stream, 'infer'))
    expect(f'empty frames: {message}', (code, outputs(message)), (0, {'y': DATA}))
    # The bytes of the connection, one at a time.
    client.piece = 1
    stream = client.open('infer')
    client.send(stream, request, end=True)
    client.piece = 1 << 18
    code, message = client.read('infer', client.answer(stream, 'infer'))
    expect(f'byte by byte: {message}', (code, outputs(message)), (0, {'y': DATA}))
    client.leave(group, model)


def a_load_stream_accepts_several_messages_per_frame(client):
    """A load stream accepts one message after the other, however they share frames."""
    group = client.group(1)
    messages = client.load_messages(neff('small'), group=group)
    whole = b''.join(map(framed, messages))
    for frame in (len(whole), 17, 4096):
        stream = client.open('load')
        client.send(stream, whole, end=True, frame=frame)
        code, answer = client.read('load', client.answer(stream, 'load'))
        expect(f'a load in frames of {frame}', code, 0)
        client.good('unload', pb((1, pb((1, first(parse(first(answer, 2)), 1))))))
    # Pieces of one byte, before the size, and the size twice: the last one counts.
    pieces = [pb((4, pb((1, neff('small')[at:at + 7])))) for at in range(0, len(neff('small')), 7)]
    order = [*pieces, pb((3, 1)), pb((1, pb((1, group)))), pb((3, len(neff('small')))), b'']
    code, answer = client.load_raw(order)
    expect('any order', code, 0)
    client.good('unload', pb((1, pb((1, first(parse(first(answer, 2)), 1))))))
    client.good('destroy_eg', pb((1, pb((1, group)))))
    # Two requests where one is expected: one answer, or a rejection by the transport, and nothing else.
    stream = client.open('list_egs')
    client.send(stream, framed(b'') * 2, end=True)
    reply = client.wait(stream)
    expect('two requests', (reply.status in (0, INTERNAL, UNIMPLEMENTED), len(reply.messages()) <= 1), (True, True))


def unknown_and_packed_fields_are_accepted(client):
    """Fields of a later definition are skipped; numbers may be packed or not."""
    group, model = client.model(neff('small'))
    later = pb((100, 7), (101, b'later')) + varint(102 << 3 | 1) + bytes(8) + varint(103 << 3 | 5) + bytes(4)
    request = later + infer_request(model, [tensor('x', DATA) + later]) + later
    code, message = client.call('infer', request)
    expect('unknown fields', (code, outputs(message)), (0, {'y': DATA}))
    cookies = [client.post(model, DATA)[1] for _ in range(3)]
    until('done', lambda: b''.join(client.good('infer_check_completion', pb(*((1, one) for one in cookies))).get(2, []))
          == b''.join(map(varint, cookies)))
    packed = pb((1, b''.join(map(varint, cookies))))
    mixed = pb((1, cookies[0])) + pb((1, b''.join(map(varint, cookies[1:]))))
    answer = client.ask('infer_check_completion', packed)
    expect('packed and not', client.ask('infer_check_completion', mixed), answer)
    for cookie in cookies:
        client.good('infer_wait', pb((1, cookie)))
    # Repeated fields: messages are merged, of numbers the last one counts.
    twice = pb((1, pb((1, 4711)))) + infer_request(model, [tensor('x', DATA)])
    expect('a duplicate handle', client.call('infer', twice)[0], 0)
    client.leave(group, model)


def wrong_sizes_are_rejected(client):
    """Sizes that are wrong."""
    group = client.group(1)
    whole = neff('small')
    for size, code in ((len(whole) - 1, 2), (len(whole) + 1, 2), (0, 2), (1 << 63, 4), ((1 << 64) - 1, 4)):
        expect(f'a size of {size}', client.load_raw(client.load_messages(whole, group=group, size=size))[0], code)
    for length, data in ((100, b'ten bytes.'), (0xffffffff, b'x' * 1000), (1 << 31, b'')):
        stream = client.open('infer')
        client.send(stream, struct.pack('>BI', 0, length) + data, end=True)
        reply = client.wait(stream)
        expect(f'a message of {length} with {len(data)}', reply.status != 0, True)
    stream = client.open('list_egs')  # a length that is too small, so the rest is another message
    client.send(stream, struct.pack('>BI', 0, 1) + b'\x08\x01\x02\x03', end=True)
    expect('a truncated message', client.wait(stream).status != 0, True)
    for data in (b'', b'\0', b'\0\0\0'):
        stream = client.open('list_egs')
        client.send(stream, data, end=True)
        expect(f'{len(data)} bytes of a prefix', client.wait(stream).status != 0, True)
    # Lengths within a message.
    for payload in (b'\x0a\xff\xff\xff\xff\x0f', b'\x0a\x7f\x08', b'\xff' * 10, b'\x0b\x0c' * 9, b'\x08' + b'\xff' * 11):
        stream = client.open('infer')
        client.send(stream, framed(payload), end=True)
        expect(f'{payload.hex()}', client.wait(stream).status, INTERNAL)
    nested = b''
    for _ in range(2000):
        nested = pb((2, nested))
    stream = client.open('infer')
    client.send(stream, framed(nested), end=True)
    expect('messages in messages', client.wait(stream).status in (0, INTERNAL), True)
    client.good('destroy_eg', pb((1, pb((1, group)))))


# ---- calls that end before they are answered ----

def models_of(client, group):
    rows = map(parse, parse(client.ask('/openneuron.rtd.v1.model_table/list')).get(2, []))
    return [first(row, MODEL_ID) for row in rows if first(row, MODEL_GROUP) == group]


def leaves_no_model(client, group, messages):
    """Whether a load that is cancelled while a worker loads it leaves no model. This requires that this
    process gets a processor: if a load is answered before the daemon reads of the reset, it keeps its model,
    which is then unloaded."""
    stream = client.open('load')
    client.send(stream, messages, end=True)
    heard(client)
    client.reset(stream)
    client.leave(*client.model(neff('small')))  # loads end in their order
    left = models_of(client, group)
    for model in left:
        client.call('unload', pb((1, pb((1, model)))))
    return not left


def a_reset_ends_its_call_at_any_time(client):
    """RST_STREAM at any moment: what runs ends, without a report."""
    group, model = client.model(neff('slow'), ninfer=4)
    request = framed(infer_request(model, [tensor('x', DATA)]))
    for _ in range(4):
        stream = client.open('infer')
        client.send(stream, request, end=True)
        heard(client)
        client.reset(stream)
    until('inferences of cancelled calls have ended', lambda: client.post(model, DATA)[0] == 0)
    client.good('stop', pb((1, pb((1, model)))))
    client.good('unload', pb((1, pb((1, model)))))
    messages = b''.join(map(framed, client.load_messages(neff('wire'), group=group)))
    for share in (0, 1, 9, 64, 1 << 16, 1 << 20, len(messages) - 1, len(messages)):
        stream = client.open('load')
        client.send(stream, messages[:share])
        client.reset(stream)
    messages = b''.join(map(framed, client.load_messages(neff('wide'), group=group)))
    for _ in range(2):
        until('a cancelled load leaves no model', lambda: leaves_no_model(client, group, messages))
    until('models without an owner are unloaded', lambda: client.call('destroy_eg', pb((1, pb((1, group)))))[0] == 0)
    for _ in range(40):
        streams = [client.open('create_eg') for _ in range(50)]
        for stream in streams:
            client.h2.reset_stream(stream, 8)
            client.replies.pop(stream)
        client.flush()
    expect('it answers', group_count(client), 1)


def broken_connections_end_their_calls(client):
    """Connections that break anywhere in a load, or during any request."""
    messages = client.load_messages(neff('wire'))
    for part in range(24):
        other = Client(sock)
        _, session = other.session()
        whole = b''.join(map(framed, [pb((1, pb((1, other.group(1, session))))), pb((6, session)), *messages]))
        stream = other.open('load')
        other.send(stream, whole[:len(whole) * part // 20], end=part % 4 == 3)
        other.close()
    for _ in range(10):
        other = Client(sock)
        _, session = other.session()
        _, model = other.model(neff('slow'), session=session)
        for _ in range(3):
            expect('post', other.post(model, DATA)[0], 0)
        other.open('infer')
        other.close()
    until('their groups are free', lambda: group_count(client) == 1)


def given_up(method, payload, timeout):
    """Returns the reply of a call with a deadline, on a separate connection. gRPC's core may answer a stream
    that has ended, which ends it for h2; then it returns None."""
    other = Client(sock)
    stream = other.open(method, timeout=timeout)
    other.send(stream, framed(payload), end=True)
    reply = other.wait(stream)
    other.close()
    return reply


def outlives_waits(client, model):
    """Whether an inference outlasts two cancelled waits. This requires that this process gets a processor:
    then a third wait gets its result, once."""
    code, cookie = client.post(model, DATA)
    expect('post', code, 0)
    reply = given_up('infer_wait', pb((1, cookie)), '30m')
    if reply is not None and reply.status == 0:
        return False
    expect('a deadline', reply is None or reply.status in (CANCELLED, DEADLINE) or reply.reset is not None, True)
    stream = client.open('infer_wait')
    client.send(stream, framed(pb((1, cookie))), end=True)
    heard(client)
    if not client.reset(stream):
        return False
    waiting = client.open('infer_wait')
    client.send(waiting, framed(pb((1, cookie))), end=True)
    is_running = client.call('infer_poll', pb((1, cookie)))[0] == 1000
    code, message = client.read('infer_wait', client.answer(waiting, 'infer_wait'))
    if not is_running:
        return False
    expect('the result still exists', (code, outputs(message)), (0, {'y': DATA}))
    expect('once', client.call('infer_wait', pb((1, cookie)))[0], 3)
    return True


def a_cancelled_wait_does_not_end_its_inference(client):
    """A cancelled call ends; the inference it waited for does not."""
    group, model = client.model(neff('slow'), ninfer=4, timeout=PATIENCE)
    until('two waits are cancelled before the inference has ended', lambda: outlives_waits(client, model))
    # Two waiters: one gets the result.
    _, cookie = client.post(model, DATA)
    streams = [client.open('infer_wait') for _ in range(3)]
    for stream in streams:
        client.send(stream, framed(pb((1, cookie))), end=True)
    expect('three wait', sorted(client.read('infer_wait', client.answer(stream, ''))[0] for stream in streams), [0, 3, 3])
    # An abandoned stop: the model stops anyway.
    client.post(model, DATA)
    given_up('stop', pb((1, pb((1, model)))), '20m')
    client.good('stop', pb((1, pb((1, model)))))
    client.good('unload', pb((1, pb((1, model)))))
    client.good('destroy_eg', pb((1, pb((1, group)))))


# ---- many ----

def ping_floods_are_answered(client):
    """A flood of them, with and without reading the answers; then occasional ones on an idle connection."""
    for _ in range(100):
        for number in range(100):
            client.h2.ping(struct.pack('>Q', number))
        client.flush()
        client.take(0)
    until('every ping has its answer', lambda: (client.take(0.1), client.acknowledged)[1] >= 10000)
    client.acknowledged = 0
    for _ in range(50):
        client.h2.ping(bytes(8))
        client.flush()
        client.take(0.01)
    until('pings of an idle connection', lambda: (client.take(0.1), client.acknowledged)[1] == 50)
    expect('the inference continues', (group_count(client), client.gone_away, client.is_closed), (1, None, False))
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    deaf.connect(sock)
    deaf.settimeout(0.5)
    ping = b'\0\0\x08\x06\0\0\0\0\0' + bytes(8)
    try:
        deaf.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + b'\0\0\0\x04\0\0\0\0\0')
        for _ in range(400):
            deaf.sendall(ping * 1000)
    except OSError:
        pass
    expect('groups of the other client', group_count(client), 1)
    deaf.close()


def two_hundred_concurrent_streams_are_answered(client):
    """200 at once on one connection, answered in any order."""
    group, model = client.model(neff('small'), ninfer=256)
    numbers = []
    for number in range(200):
        numbers.append(client.open('infer'))
    for number, stream in enumerate(numbers):
        client.send(stream, framed(infer_request(model, [tensor('x', bytes([number]) * 64)])), end=True)
    for number, stream in reversed(list(enumerate(numbers))):
        code, message = client.read('infer', client.answer(stream, 'infer'))
        expect(f'stream {number}', (code, outputs(message)), (0, {'y': bytes([number]) * 64}))
    client.leave(group, model)


def silent_and_invalid_connections_do_not_affect_others(client):
    """Many connections that send nothing or invalid HTTP/2; endless sessions."""
    rest = []
    for number in range(100):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        one.connect(sock)
        try:
            one.sendall((b'', b'GET / HTTP/1.1\r\n\r\n', b'\x16\x03\x01' + bytes(40), b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')[number % 4])
        except OSError:
            pass
        rest.append(one)
    expect('groups of the other client', group_count(client), 1)
    for one in rest:
        one.close()
    other = Client(sock)
    numbers = [other.session()[1] for _ in range(300)]
    expect('sessions', len(set(numbers)), 300)
    for session in numbers[:10]:
        other.group(1, session)
    expect('groups', group_count(client), 11)
    other.close()
    until('groups of sessions are free', lambda: group_count(client) == 1)


def invalid_calls_are_rejected(client):
    """Calls that are not gRPC, or are too large."""
    other = Client(sock)
    stream = other.open('list_egs', verb='GET')
    other.send(stream, framed(b''), end=True)
    reply = other.wait(stream)
    expect('GET', reply is None or reply.status != 0 or reply.reset is not None, True)
    other.close()
    for path in ('/', '/nrt.nmgr_v1/', '/nrt.nmgr_v1/list_egs/x', '/nrt.nmgr_v1/' + 'x' * 4000, '/x.y/z'):
        stream = client.open(path)
        client.send(stream, framed(b''), end=True)
        expect(path[:40], client.wait(stream).status, UNIMPLEMENTED)
    other = Client(sock)
    stream = other.open('list_egs', ('filler', 'y' * 20000))
    other.send(stream, framed(b''), end=True)
    other.wait(stream)  # gRPC's core may accept it or end the stream
    other.close()
    # A call that sends nothing, and one that its client forgets to end, which is still answered.
    stream = client.open('list_egs')
    client.send(stream, end=True)
    expect('no message', client.wait(stream).status, INTERNAL)
    stream = client.open('list_egs')
    client.send(stream, framed(b''))
    reply = client.wait(stream)
    expect('no end', (reply.status, len(reply.messages())), (0, 1))


# ---- memory ----

def grew_less(what, before, mebibytes):
    """The daemon grew by less than this since `before` (KiB). The thread sanitizer needs several times as
    much for itself."""
    if os.environ.get('NTK_SANITIZE') != 'thread':
        expect(what, daemon.get()['KiB'] - before < mebibytes << 10, True)


@functools.cache
def bomb():
    """Returns 128 MiB of zeros, packed by gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b''.join(packer.compress(bytes(1 << 20)) for _ in range(128)) + packer.flush()


def compressed_messages_are_rejected_without_unpacking(client):
    """No client compresses. One that does gets an error, and nothing is unpacked: a bomb stays as small as it
    arrives."""
    group, model = client.model(neff('small'))
    request = infer_request(model, [tensor('x', DATA)])
    for flag, answers in ((1, (DATA, None)), (2, (None,)), (255, (None,))):  # no encoding was negotiated: known limits
        stream = client.open('infer')
        client.send(stream, framed(request, flag=flag), end=True)
        reply = client.wait(stream)
        got = outputs(parse(reply.messages()[0])).get('y') if reply.status == 0 else None
        expect(f'flag {flag}: {reply.status} {reply.text}', got in answers, True)
    client.leave(group, model)
    squeezed = bomb()
    before = daemon.get()['KiB']
    stream = client.open('infer', ('grpc-encoding', 'gzip'))
    client.send(stream, framed(squeezed, flag=1), end=True)
    reply = client.wait(stream)
    expect(f'128 MiB in {len(squeezed)} bytes: {reply.text}', reply.status, UNIMPLEMENTED)
    grew_less('its memory', before, 32)


def messages_of_100_mib_are_accepted(client):
    """100 MiB in one message, in each direction."""
    group, model = client.model(neff('wide'), ninfer=1, timeout=PATIENCE)
    data = os.urandom(1 << 16) * 1600
    right('100 MiB', client, model, data)
    message = memoryview(framed(infer_request(model, [tensor('x', data)])))
    stream = client.open('infer')  # and one that is abandoned half-way
    client.send(stream, message[:20 << 20])
    client.reset(stream)
    other = Client(sock)
    stream = other.open('infer')
    other.send(stream, message[:30 << 20])
    other.close()
    client.leave(group, model)


def a_client_that_reads_nothing_does_not_block_others(client):
    """A client leaves no room for answers of 16 MiB."""
    group, model = client.model(neff('broad'), ninfer=1, timeout=PATIENCE)
    other = Client(sock, window=0, takes=False)
    request = framed(infer_request(model, [tensor('x', bytes(16 << 20))]))
    before = daemon.get()['KiB']
    for _ in range(3):
        stream = other.open('infer')
        other.send(stream, request, end=True)
        # The head of an answer needs no window; once it has arrived, the rest is ready to be read.
        until('an answer begins', lambda: (other.take(0.1), other.replies[stream].headers)[1])
    expect('groups of the other client', group_count(client), 2)
    grew_less('their memory', before, 256)
    other.close()
    until('the model is free', lambda: client.infer(model, bytes(1))[0] == 1002)
    client.leave(group, model)


def a_neff_beyond_the_limit_is_rejected(client):
    """A NEFF has a limit, even without a stated length. The daemon of this test accepts 8 MiB."""
    group = client.group(1)
    text = b'the NEFF is larger than the limit of 8 MiB'
    for what, messages in (
            ('announced', [pb((1, pb((1, group)))), pb((3, (8 << 20) + 1))]),
            ('not announced', [pb((1, pb((1, group))))] + [pb((4, pb((1, bytes(1 << 20)))))] * 64),
            ('a file', [pb((1, pb((1, group)))), pb((5, f'{folder}/huge'))])):
        before = daemon.get()['KiB']
        code, message = client.load_raw(messages)
        expect(what, (code, first(parse(first(message, 1)), 2)), (4, text))
        grew_less(f'{what}: its memory', before, 32)
    client.good('destroy_eg', pb((1, pb((1, group)))))


CASES = [
    frames_and_messages_end_at_different_bytes, a_load_stream_accepts_several_messages_per_frame,
    unknown_and_packed_fields_are_accepted, wrong_sizes_are_rejected,
    a_reset_ends_its_call_at_any_time, broken_connections_end_their_calls,
    a_cancelled_wait_does_not_end_its_inference, ping_floods_are_answered,
    two_hundred_concurrent_streams_are_answered, silent_and_invalid_connections_do_not_affect_others,
    invalid_calls_are_rejected, compressed_messages_are_rejected_without_unpacking,
    messages_of_100_mib_are_accepted, a_client_that_reads_nothing_does_not_block_others,
    a_neff_beyond_the_limit_is_rejected,
]


def main():
    global daemon
    with open(f'{folder}/huge', 'wb') as file:
        file.truncate(1 << 40)
    daemon = Daemon(int(pid))
    peer = Peer(sock, neff('small'))
    client = Client(sock)
    for case in [globals()[name] for name in sys.argv[4:]] or CASES:
        grown, before = {'it': 'grows'}, None
        # Memory that is kept permanently exists after a while: buffers, idle workers. A leak grows each time.
        for rounds in range(1, ROUNDS_MAX + 1):
            case(client)
            peer.still(case.__name__)
            expect(f'{case.__name__}: groups', group_count(client), 1)
            grown = daemon.back(before, PATIENCE if rounds == ROUNDS_MAX else 3) if before else grown
            if not grown:
                break
            before = daemon.get()
        if grown:
            fail(f'{case.__name__} leaks resources of the daemon, before and after: {grown}')
        print(f'torture.py: {case.__name__}: {rounds} times', flush=True)


main()
