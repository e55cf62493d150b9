# SPDX-License-Identifier: MIT
"""Speaks to neuron-rtd below gRPC and generated classes: HTTP/2 streams with bytes that the test chooses, and
protobuf messages made by hand."""
import os
import select
import socket
import struct
import time
from multiprocessing import Array, Process

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

WINDOW = 1 << 30
PIECE = 1 << 20  # of a NEFF, as clients send it
PATIENCE = 120 * int(os.environ.get('NTK_TEST_PATIENCE') or 1)  # seconds; as tests/e2e/lib.sh


def fail(what):
    raise SystemExit(f'{os.path.basename(__import__("sys").argv[0])}: {what}')


def expect(what, got, wanted):
    if got != wanted:
        fail(f'{what}: {got!r}, expected {wanted!r}')


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            fail(f'timed out after {PATIENCE} s, waiting for: {what}')
        time.sleep(0.01)


# ---- protobuf ----

def varint(value):
    out = bytearray()
    while value > 0x7f:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def pb(*fields):
    """Encodes fields (number, value): an int is a varint, text and bytes have a length."""
    out = []
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3), varint(value)
        else:
            value = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2), varint(len(value)), value
    return b''.join(out)


def parse(data):
    """Returns {number: [value, ...]}; fields with a length stay bytes."""
    out, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            if byte < 0x80:
                return value
            shift += 7
    while at < len(data):
        key = number()
        if key & 7 == 0:
            value = number()
        elif key & 7 == 2:
            length = number()
            value = bytes(data[at:at + length])
            at += length
        else:
            length = 8 if key & 7 == 1 else 4
            value = struct.unpack_from('<d' if length == 8 else '<I', data, at)[0]
            at += length
        out.setdefault(key >> 3, []).append(value)
    return out


def first(message, number, default=0):
    return message.get(number, [default])[0]


def framed(payload, flag=0):
    """Returns a message as it is sent in DATA frames."""
    return struct.pack('>BI', flag, len(payload)) + payload


# ---- HTTP/2 ----

class Reply:
    """The received part of one stream."""
    def __init__(self):
        self.headers, self.data = {}, bytearray()
        self.is_over = False
        self.reset = None  # error code of RST_STREAM

    @property
    def status(self):
        return int(self.headers['grpc-status']) if 'grpc-status' in self.headers else None

    @property
    def text(self):
        return self.headers.get('grpc-message', '')

    def messages(self):
        out, at = [], 0
        while at + 5 <= len(self.data):
            length = struct.unpack_from('>I', self.data, at + 1)[0]
            if at + 5 + length > len(self.data):
                break
            out.append(bytes(self.data[at + 5:at + 5 + length]))
            at += 5 + length
        return out


class Wire:
    """A connection; streams are numbers."""
    def __init__(self, path, window=WINDOW, takes=True):
        self.path = path
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(path)
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=True, header_encoding='utf-8', validate_outbound_headers=False))
        self.h2.initiate_connection()
        self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: window})
        if takes:
            self.h2.increment_flow_control_window(WINDOW)
        self.replies = {}
        self.pending = bytearray()
        self.piece = 1 << 18  # bytes per system call
        self.is_closed = False
        self.gone_away = None
        self.acknowledged = 0  # pings
        self.flush()

    def close(self):
        self.sock.close()

    def flush(self):
        self.write(self.h2.data_to_send())

    def write(self, data):
        """Sends any bytes and receives meanwhile, so that neither side waits for the other. Whole frames stay
        whole: frames that answer the other side's follow them."""
        self.pending += data
        while self.pending and not self.is_closed:
            readable, writable, _ = select.select([self.sock], [self.sock], [], PATIENCE)
            if not readable and not writable:
                fail('the daemon accepts no bytes')
            try:
                if writable:
                    del self.pending[:self.sock.send(self.pending[:self.piece], socket.MSG_DONTWAIT)]
            except BlockingIOError:
                pass
            except OSError:
                self.is_closed = True
            if readable:
                self.read_once()

    def read_once(self):
        try:
            data = self.sock.recv(1 << 20)
        except OSError:
            data = b''
        if not data:
            self.is_closed = True
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError:  # gRPC's core answers streams that have ended
            self.is_closed = True
            return
        for event in events:
            self.note(event)
        self.pending += self.h2.data_to_send()

    def take(self, seconds):
        """Reads at most once; False if nothing arrived."""
        if self.is_closed or not select.select([self.sock], [], [], seconds)[0]:
            return False
        self.read_once()
        self.write(b'')
        return True

    def note(self, event):
        reply = self.replies.get(getattr(event, 'stream_id', None))
        if isinstance(event, h2.events.ConnectionTerminated):
            self.gone_away = event.error_code
        elif isinstance(event, h2.events.PingAckReceived):
            self.acknowledged += 1
        elif reply is None:
            return
        elif isinstance(event, (h2.events.ResponseReceived, h2.events.TrailersReceived)):
            reply.headers.update(event.headers)
        elif isinstance(event, h2.events.DataReceived):
            reply.data += event.data
            if event.flow_controlled_length and not reply.is_over:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            reply.is_over = True
        elif isinstance(event, h2.events.StreamReset):
            reply.reset, reply.is_over = event.error_code, True

    def open(self, method, *headers, service='nrt.nmgr_v1', timeout=None, verb='POST', kind='application/grpc'):
        path = method if method.startswith('/') else f'/{service}/{method}'
        stream = self.h2.get_next_available_stream_id()
        rows = [(':method', verb), (':scheme', 'http'), (':path', path), (':authority', 'localhost'),
                ('te', 'trailers'), ('content-type', kind), *headers]
        if timeout:
            rows.append(('grpc-timeout', timeout))
        self.replies[stream] = Reply()
        self.h2.send_headers(stream, rows)
        self.flush()
        return stream

    def send(self, stream, data=b'', end=False, frame=1 << 14):
        """Sends frames of this many bytes, as the windows permit."""
        view = memoryview(data)
        at = 0
        while at < len(view):
            count = min(frame, self.h2.max_outbound_frame_size, len(view) - at,
                        self.h2.local_flow_control_window(stream))
            if count <= 0:
                self.flush()
                if self.replies[stream].is_over or self.is_closed:
                    return
                if self.h2.local_flow_control_window(stream) <= 0 and not self.take(PATIENCE):
                    fail(f'no room on stream {stream}')
                continue
            if self.replies[stream].is_over:
                return
            self.h2.send_data(stream, view[at:at + count].tobytes(), end_stream=end and at + count == len(view))
            at += count
            if at % (1 << 18) < count:
                self.flush()
        if end and not len(view):
            self.h2.end_stream(stream)
        self.flush()

    def reset(self, stream, code=8):
        """Whether the stream still existed: the reply may have ended it."""
        reply = self.replies.pop(stream, None)
        if reply and reply.is_over:
            return False
        self.h2.reset_stream(stream, code)
        self.flush()
        return True

    def wait(self, stream):
        """Returns the reply when its stream has ended; None if the connection has."""
        reply, end = self.replies[stream], time.monotonic() + PATIENCE
        while not reply.is_over:
            if self.is_closed:
                return None
            if time.monotonic() > end:
                fail(f'no answer on stream {stream}')
            self.take(0.5)
        self.replies.pop(stream)
        return reply

    def wait_data(self, stream):
        """Returns the first message of a stream that continues."""
        reply, end = self.replies[stream], time.monotonic() + PATIENCE
        while not reply.messages():
            if self.is_closed or reply.is_over or time.monotonic() > end:
                fail(f'no message on stream {stream}')
            self.take(0.5)
        return reply.messages()[0]

    def ask(self, method, payload=b'', **kind):
        """Returns the bytes of the only reply."""
        stream = self.open(method, **kind)
        self.send(stream, framed(payload), end=True)
        return self.answer(stream, method)

    def answer(self, stream, method):
        reply = self.wait(stream)
        if reply is None or reply.status != 0 or len(reply.messages()) != 1:
            fail(f'{method}: {reply and (reply.status, reply.text, reply.reset, len(reply.messages()))}')
        return reply.messages()[0]


# ---- the daemon's methods ----

STATUS_AT = {'list_egs': 4, 'read_all_counters': 6, 'unload_all': 0}


def tensor(name, data=None, path=None):
    return pb((1, data), (3, name)) if path is None else pb((2, pb((1, path))), (3, name))


def infer_request(model, ifmap, ofmap=()):
    return pb((1, pb((1, model))), *((2, one) for one in ifmap), *((3, one) for one in ofmap))


def outputs(message):
    return {first(one, 3, b'').decode(): first(one, 1, b'') for one in map(parse, message.get(3, []))}


class Client(Wire):
    def call(self, method, payload=b'', **kind):
        """Returns (code, message)."""
        return self.read(method, self.ask(method, payload, **kind))

    @staticmethod
    def read(method, data):
        message = parse(data)
        at = STATUS_AT.get(method, 1)
        status = message if at == 0 else parse(first(message, at, b''))
        return first(status, 1), message

    def good(self, method, payload=b''):
        code, message = self.call(method, payload)
        if code != 0:
            fail(f'{method}: code {code}: {message}')
        return message

    def session(self):
        """Returns (stream, number)."""
        stream = self.open('session_monitor', service='nrt.nmgr_session_manager')
        return stream, first(parse(self.wait_data(stream)), 1)

    def group(self, count, session=0):
        return first(parse(first(self.good('create_eg', pb((1, count), (2, session))), 2)), 1)

    def groups(self):
        return self.good('list_egs').get(1, [])

    @staticmethod
    def load_messages(neff, group=None, session=None, ninfer=None, timeout=None, size=None):
        rows = [] if group is None else [pb((1, pb((1, group))))]
        rows += [] if session is None else [pb((6, session))]
        rows.append(pb((3, len(neff) if size is None else size)))
        params = b''.join(pb((at, pb((1, value)))) for at, value in ((1, timeout), (2, ninfer)) if value is not None)
        rows.append(pb((2, params)))
        return rows + [pb((4, pb((1, neff[at:at + PIECE])))) for at in range(0, len(neff), PIECE)]

    def load_raw(self, messages, end=True, frame=1 << 14):
        stream = self.open('load')
        self.send(stream, b''.join(map(framed, messages)), end=end, frame=frame)
        return self.read('load', self.answer(stream, 'load')) if end else stream

    def load(self, neff, **how):
        code, message = self.load_raw(self.load_messages(neff, **how))
        if code != 0:
            fail(f'load: code {code}: {message}')
        return first(parse(first(message, 2)), 1)

    def model(self, neff, cores=1, session=0, **how):
        """Returns (group, model), started."""
        group = self.group(cores, session)
        model = self.load(neff, group=group, session=session, **how)
        self.good('start', pb((1, pb((1, model)))))
        return group, model

    def leave(self, group, model):
        for method in ('stop', 'unload'):
            self.good(method, pb((1, pb((1, model)))))
        self.good('destroy_eg', pb((1, pb((1, group)))))

    def infer(self, model, data, **kind):
        code, message = self.call('infer', infer_request(model, [tensor('x', data)]), **kind)
        return code, outputs(message).get('y')

    def post(self, model, data):
        code, message = self.call('infer_post', infer_request(model, [tensor('x', data)]))
        return code, first(message, 2)


class Peer:
    """Another client, which infers all the time and checks the results. `still()` fails if one was wrong, or
    if no more arrive."""

    def __init__(self, path, neff):
        self.state = Array('Q', 2)  # inferences, failed ones
        self.process = Process(target=self.run, args=(path, neff), daemon=True)
        self.process.start()
        until('the other client infers', lambda: self.state[0] > 10 or not self.process.is_alive())

    def run(self, path, neff):
        client = Client(path)
        _, session = client.session()
        _, model = client.model(neff, session=session)
        number = 0
        while True:
            number += 1
            data = struct.pack('<Q', number) * 8
            got = client.infer(model, data)
            with self.state.get_lock():
                self.state[0] += 1
                self.state[1] += got != (0, data)
            time.sleep(0.01)

    def still(self, what):
        before = self.state[0]
        until(f'{what}: another client gets answers', lambda: self.state[0] > before + 2 or not self.process.is_alive())
        if not self.process.is_alive() or self.state[1]:
            fail(f'{what}: another client got wrong answers or no answers')


class Daemon:
    """Counts the resources that the daemon holds."""
    SLACK_KIB = 16 << 10

    def __init__(self, pid):
        self.pid = pid
        self.has_plain_memory = not os.environ.get('NTK_SANITIZE')  # otherwise the sanitizer keeps memory

    def get(self):
        links = []
        for name in os.listdir(f'/proc/{self.pid}/fd'):
            try:
                links.append(os.readlink(f'/proc/{self.pid}/fd/{name}'))
            except OSError:
                pass
        with open(f'/proc/{self.pid}/status') as file:
            rows = dict(line.split(':', 1) for line in file if ':' in line)
        return {'descriptors': len(links), 'shared memory': sum('/dev/shm/' in one for one in links),
                'threads': int(rows['Threads']), 'KiB': int(rows['VmRSS'].split()[0])}

    def grown(self, before, now):
        return {key: (before[key], now[key]) for key in before
                if now[key] > before[key] + (self.SLACK_KIB if key == 'KiB' else 0)
                and (key != 'KiB' or self.has_plain_memory)}

    def back(self, before, seconds):
        """Returns what is held beyond `before` after waiting up to this time; {}: nothing."""
        end = time.monotonic() + seconds
        while (grown := self.grown(before, self.get())) and time.monotonic() < end:
            time.sleep(0.02)
        return grown
