# SPDX-License-Identifier: MIT
"""Sends payloads of the wire, byte for byte, to a daemon that was just started: vectors.py SOCKET
NEFFS_FOLDER PID"""
import errno
import os
import struct
import sys
import time

from wire import PATIENCE, Client, expect, fail, first, framed, parse, pb, until

sock, folder = sys.argv[1:3]


def neff(name):
    with open(f'{folder}/{name}.neff', 'rb') as file:
        return file.read()


def ask(client, method, sent, wanted=None, **kind):
    """Sends these bytes; returns the bytes of the answer."""
    got = client.ask(method, bytes.fromhex(sent), **kind).hex()
    if wanted is not None:
        expect(f'{method} {sent}', got, wanted)
    return got


def refusal(code, text, at=1):
    """Returns a reply with only a status."""
    return pb((at, pb((1, code), (2, text)))).hex()


class Memory:
    """/NAME of the vectors; another run of this test may hold it for a moment."""
    def __init__(self, name, data):
        self.path = f'/dev/shm/{name}'
        for _ in range(10 * PATIENCE):
            try:
                self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                break
            except OSError as error:
                if error.errno != errno.EEXIST:
                    raise
                time.sleep(0.1)
        else:
            fail(f'{self.path} is left over from another process')
        os.pwrite(self.fd, data, 0)

    def map(self, client, request):
        """Waits until the daemon has the memory, and removes its name."""
        try:
            ask(client, 'shm_map', request, '0a00')
        finally:
            os.unlink(self.path)

    def get(self, count):
        return os.pread(self.fd, count, 0)


# ---- the table ----

def sessions_are_numbered_in_order(client):
    """Streams are read before they are written; the seventh has number 7."""
    for number in range(1, 7):
        stream, got = client.session()
        expect('session', got, number)
        client.send(stream, end=True)
        reply = client.wait(stream)
        expect('end of a session', (reply.status, len(reply.messages())), (0, 1))
    stream = client.open('session_monitor', service='nrt.nmgr_session_manager')
    expect('session', client.wait_data(stream).hex(), '0807120e0a08312e362e32342e3010011806')
    client.send(stream, framed(bytes.fromhex('0a0a54454e534f52464c4f57120b0a05322e352e3010021805')))


def group_payloads_match(client):
    ask(client, 'create_eg', '0802', '0a00120208011802')
    ask(client, 'create_eg', '08041007', '0a00120208021804')
    full = 'Requested number of NCs: 17 exceeds the total available number: 16'
    ask(client, 'create_eg', '0811', refusal(9, full))
    expect('a code with its text', refusal(9, 'no NC'), '0a09080912056e6f204e43')


def load(client, messages):
    stream = client.open('load')
    client.send(stream, b''.join(framed(bytes.fromhex(message)) for message in messages), end=True)
    return client.answer(stream, 'load').hex()


def load_payloads_match(client):
    wire = neff('wire')
    expect('its size', len(wire), 5242880)
    chunks = [pb((4, pb((1, wire[at:at + (1 << 20)])))).hex() for at in range(0, len(wire), 1 << 20)]
    head = ['0a020801', '3007', '188080c002', '12080a02080a12020802']
    expect('load', load(client, [*head, *chunks]), '0a00120308914e')
    head[3] = '12100a02080a120208021a02080132020801'
    expect('load with tracing', load(client, [*head, *chunks]), '0a00120308924e')
    ask(client, 'unload', '0a0308924e', '0a00')
    code, message = client.load_raw([bytes.fromhex('22050a03414243')])
    expect('three bytes', (code, len(first(parse(first(message, 1)), 2)) > 0), (2, True))
    expect('a missing file', load(client, ['2a072f6d2e6e656666']), refusal(1, '/m.neff: No such file or directory'))
    newer = bytearray(wire)
    struct.pack_into('<QQ', newer, 24, 9, 1)
    code, message = client.load_raw(client.load_messages(bytes(newer), group=1))
    text = first(parse(first(message, 1)), 2)
    expect(f'a newer version: {text}', (code, text.startswith(b'NEFF version mismatch supported: ')), (10, True))


def inference_payloads_match(client):
    ask(client, 'start', '0a00', refusal(3, 'Failed to find model: 0'))
    ask(client, 'start', '0a0308914e', '0a00')
    ask(client, 'infer', '0a0308914e12090a0201021a03783a30', '0a001a090a0203041a03793a30')
    a, b = Memory('a', b'\1\2'), Memory('b', b'\0\0')
    a.map(client, '0a022f6110032007')
    b.map(client, '0a022f6210032007')
    shared = '0a0308914e120b12040a022f611a03783a301a0b12040a022f621a03793a30'
    ask(client, 'infer', shared, '0a00')
    expect('/b', b.get(2), b'\3\4')
    os.pwrite(a.fd, b'\x10\xfd', 0)
    ask(client, 'infer_post', shared, '0a001001')
    ask(client, 'infer_wait', '0801120b12040a022f621a03793a30', '0a00')
    expect('/b', b.get(2), b'\x12\xff')
    ask(client, 'infer_wait', '0801120b12040a022f621a03793a30', refusal(3, 'unknown cookie 1'))
    ask(client, 'shm_unmap', '0a022f611003', '0a00')
    ask(client, 'shm_unmap', '0a022f611003', refusal(3, 'shared memory /a was not mapped'))


def unload_payloads_match(client):
    ask(client, 'stop', '0a0308914e', '0a00')
    ask(client, 'unload', '0a0308914e', '0a00')
    ask(client, 'destroy_eg', '0a020801', '0a00')
    # Id 2 on cores 2 to 5, of 4 devices and 16 cores.
    ask(client, 'list_egs', '', '0a0a0a020802100218042802100418102200')
    ask(client, 'unload_all', '', '')
    ask(client, 'list_egs', '', '100418102200')


# ---- how the daemon behaves ----

def groups_are_placed_on_consecutive_cores(client):
    made = [client.group(count) for count in (2, 4, 3, 1)]
    found = [(first(one, 4), first(one, 5)) for one in map(parse, client.groups())]
    expect('places', found, [(0, 0), (0, 2), (1, 2), (2, 1)])
    for group in made:
        client.good('destroy_eg', pb((1, pb((1, group)))))
    made = [client.group(count) for count in (2, 1, 3, 10)]  # 2 and 3 are free, split by a busy one
    for group in (made[0], made[2]):
        client.good('destroy_eg', pb((1, pb((1, group)))))
    expect('four in a row', client.call('create_eg', pb((1, 4)))[0], 9)
    expect('as many as exist', first(client.good('create_eg'), 3), 3)
    expect('as many as exist', first(client.good('create_eg', pb((1, 0))), 3), 2)
    expect('none is free', client.call('create_eg')[0], 9)
    client.ask('unload_all')


def only_one_model_of_a_group_is_started(client):
    group = client.group(1)
    a, b = (client.load(neff('small'), group=group) for _ in range(2))
    handles = [pb((1, pb((1, model)))) for model in (a, b)]
    client.good('start', handles[0])
    expect('start B', client.call('start', handles[1])[0], 2)
    client.good('stop', handles[0])
    client.good('start', handles[1])
    expect('infer A', client.infer(a, bytes(64))[0], 3)
    expect('infer B', client.infer(b, bytes(range(64))), (0, bytes(range(64))))
    client.ask('unload_all')


def requests_beyond_the_queue_depth_are_rejected(client):
    _, model = client.model(neff('slow'), ninfer=2)
    posted = [client.post(model, bytes([i]) * 64) for i in range(3)]
    expect('three posts', [code for code, _ in posted], [0, 0, 7])
    expect('the second one', client.call('infer_poll', pb((1, posted[1][1])))[0], 1000)
    code, message = client.call('infer_wait', pb((1, posted[0][1])))
    expect('the first one', (code, parse(message[3][0])[1][0]), (0, bytes(64)))
    code, cookie = client.post(model, bytes([4]) * 64)
    expect('room again', code, 0)
    for number, each in ((1, posted[1][1]), (4, cookie)):
        code, message = client.call('infer_wait', pb((1, each)))
        expect('in order', (code, parse(message[3][0])[1][0]), (0, bytes([number]) * 64))
    client.ask('unload_all')


def a_load_without_a_group_creates_one(client):
    model = client.load(neff('pipe'))
    expect('its group', [first(parse(one), 3) for one in client.groups()], [4])
    expect('it runs', client.infer(model, bytes(64)), (0, bytes(64)))
    client.good('unload', pb((1, pb((1, model)))))
    expect('no group', client.groups(), [])


def groups_of_a_disconnected_client_are_freed(client):
    other = Client(sock)
    _, session = other.session()
    _, model = other.model(neff('slow'), session=session)
    expect('post', other.post(model, bytes(64))[0], 0)
    other.close()
    until('the groups of a disconnected client are free', lambda: not client.groups())


CASES = [
    sessions_are_numbered_in_order,
    group_payloads_match,
    load_payloads_match,
    inference_payloads_match,
    unload_payloads_match,
    groups_are_placed_on_consecutive_cores,
    only_one_model_of_a_group_is_started,
    requests_beyond_the_queue_depth_are_rejected,
    a_load_without_a_group_creates_one,
    groups_of_a_disconnected_client_are_freed,
]


def main():
    client = Client(sock)
    for case in CASES:
        case(client)
        print(f'vectors.py: {case.__name__}', flush=True)


main()
