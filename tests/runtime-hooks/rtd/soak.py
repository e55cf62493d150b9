# SPDX-License-Identifier: MIT
"""Clients that call at random and are killed meanwhile: soak.py SOCKET NEFFS_FOLDER PID

NTK_SOAK_KILLS is the number of kills (40). Afterwards no group is left, counters add up, the daemon holds
what it held before, and the socket answers."""
import os
import random
import signal
import sys
import time
from multiprocessing import Process
from multiprocessing.sharedctypes import RawValue

from wire import Client, Daemon, expect, fail, first, infer_request, outputs, parse, pb, tensor, until

sock, folder, pid = sys.argv[1:4]
KILLS = int(os.environ.get('NTK_SOAK_KILLS', '40'))
CLIENTS = 6
# Errors that clients of a shared daemon may get: another client's unload_all removed the model, or no core is free.
SHARED_FATE = {2, 3, 7, 8, 9, 1000, 1001}
ROW = 0x40
MEMORY = f'ntk_rtd_soak_{os.getpid()}_{time.time_ns()}_'  # names that no other client uses


def neff(name):
    with open(f'{folder}/{name}.neff', 'rb') as file:
        return file.read()


class Lost(Exception):
    """The client's objects are gone, which is permitted."""


def got(what, answer, good=(0,)):
    code, message = answer
    if code in good:
        return message
    if code in SHARED_FATE:
        raise Lost
    fail(f'{what}: code {code}: {message}')


class Worker:
    def __init__(self, seed, completed, wrong):
        self.random = random.Random(seed)
        self.client = Client(sock)
        self.completed, self.wrong = completed, wrong
        self.number = 0

    def judge(self, code, result, data):
        if code == 0:
            self.completed.value += 1
            if result != data:
                self.wrong.value = 1
        elif code not in SHARED_FATE:
            fail(f'an inference: code {code}')

    def data(self):
        return self.random.randbytes(ROW)

    def shared(self, data):
        """Returns (path, descriptor) of unnamed memory."""
        self.number += 1
        path = f'/{MEMORY}{os.getpid()}_{self.number}'
        fd = os.open('/dev/shm' + path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        os.pwrite(fd, data, 0)
        code, _ = self.client.call('shm_map', pb((1, path), (2, 3), (4, self.session)))
        os.unlink('/dev/shm' + path)
        expect('shm_map', code, 0 if data else 1)
        return path, fd

    def inline(self, model):
        data = self.data()
        self.judge(*self.client.infer(model, data), data)

    def by_memory(self, model):
        data = self.data()
        (a, a_fd), (b, b_fd) = self.shared(data), self.shared(bytes(ROW))
        code, _ = self.client.call('infer', infer_request(model, [tensor('x', path=a)], [tensor('y', path=b)]))
        self.judge(code, os.pread(b_fd, ROW, 0), data)
        if self.random.random() < 0.3:
            os.ftruncate(a_fd, 0)
            code, _ = self.client.call('infer', infer_request(model, [tensor('x', path=a)]))
            expect('memory that became shorter', code in SHARED_FATE | {1002}, True)
        for path, fd in ((a, a_fd), (b, b_fd)):
            os.close(fd)
            if self.random.random() < 0.5:
                self.client.good('shm_unmap', pb((1, path), (2, 3)))

    def posted(self, model):
        rows = []
        for _ in range(self.random.randint(1, 6)):
            data = self.data()
            code, cookie = self.client.post(model, data)
            if code == 0:
                rows.append((cookie, data))
            elif code not in SHARED_FATE:
                fail(f'post: code {code}')
        for cookie, data in rows:
            if self.random.random() < 0.7:  # no client waits for the others
                code, message = self.client.call('infer_wait', pb((1, cookie)))
                self.judge(code, outputs(message).get('y'), data)

    def empty(self, model):
        _, fd = self.shared(b'')
        os.close(fd)

    def cut(self, model):
        other = Client(sock)
        data = b''.join(other.load_messages(neff('small')))
        other.send(other.open('load'), data[:self.random.randrange(len(data))], end=self.random.random() < 0.5)
        other.send(other.open('infer'), b'\0\0\0')
        other.close()

    def unload_all(self, model):
        if self.random.random() < 0.1:
            self.client.call('unload_all')

    def run(self):
        _, self.session = self.client.session()
        kinds = [self.inline, self.by_memory, self.posted, self.empty, self.cut, self.unload_all]
        while True:
            try:
                if self.random.random() < 0.2:
                    code, message = self.client.load_raw(
                        [pb((6, self.session)), *self.client.load_messages(neff('small'))])
                    # In a separate group, which is removed with the model; the model belongs to this session.
                    model = first(parse(first(got('load', (code, message)), 2)), 1)
                    self.client.call('unload', pb((1, pb((1, model)))))
                    continue
                made = got('create_eg', self.client.call('create_eg', pb((1, self.random.randint(1, 2)), (2, self.session))))
                group = first(parse(first(made, 2)), 1)
                code, message = self.client.load_raw(self.client.load_messages(
                    neff('small'), group=group, session=self.session, ninfer=self.random.randint(1, 5)))
                model = first(parse(first(got('load', (code, message)), 2)), 1)
                got('start', self.client.call('start', pb((1, pb((1, model))))))
                for _ in range(self.random.randint(1, 40)):
                    self.random.choice(kinds)(model)
                for method, number in (('stop', model), ('unload', model), ('destroy_eg', group)):
                    got(method, self.client.call(method, pb((1, pb((1, number))))))
            except Lost:
                # The rest is removed with the session; sometimes start a new session.
                if self.random.random() < 0.3:
                    self.client.close()
                    self.client = Client(sock)
                    _, self.session = self.client.session()


def work(seed, completed, wrong):
    Worker(seed, completed, wrong).run()


def kill(one):
    if not one.is_alive():
        fail(f'a client exited early: {one.exitcode}')
    os.kill(one.pid, signal.SIGKILL)
    one.join()


def soak(kills, wrong):
    """Returns the number of results; each client is killed after some more results of all."""
    completed, workers = [], []  # separate for each client: a killed process must not hold a lock

    def results():
        return sum(one.value for one in completed)

    def has_gone_on():
        if not all(one.is_alive() for one in workers):
            fail(f'clients exited early: {[one.exitcode for one in workers]}')
        return results() >= wanted

    for _ in range(kills):
        while len(workers) < CLIENTS:
            completed.append(RawValue('Q', 0))
            workers.append(Process(target=work, args=(random.getrandbits(32), completed[-1], wrong), daemon=True))
            workers[-1].start()
        wanted = results() + random.randint(1, 25)
        until('clients have results', has_gone_on)
        kill(workers.pop(random.randrange(len(workers))))
    for one in workers:
        kill(one)
    return results()


def settled(client):
    until('no group is left', lambda: not client.groups())


def counters(client):
    """Returns (fields of the message by number, inferences by status)."""
    message = parse(first(parse(client.ask('read_inference_counters')), 1))
    return message, {first(one, 1): first(one, 2) for one in map(parse, message.get(2, []))}


def main():
    daemon, client = Daemon(int(pid)), Client(sock)
    wrong = RawValue('i', 0)
    completed = soak(KILLS // 4, wrong)  # workers and heaps exist now
    settled(client)
    before = daemon.get()
    completed += soak(KILLS, wrong)
    settled(client)
    until('objects of clients are freed', lambda: not set(daemon.grown(before, daemon.get())) - {'threads', 'descriptors'})
    now = daemon.get()
    more = now['threads'] - before['threads']  # workers of the pool; each has one descriptor
    if more > 3 * CLIENTS or now['descriptors'] - before['descriptors'] > max(more, 0):
        fail(f'the daemon had {before} and has {now}')
    if wrong.value:
        fail('a result was wrong')
    message, statuses = counters(client)
    taken, loads, unloads = (first(message, number) for number in (4, 7, 8))
    expect('every model that was loaded is unloaded', loads, unloads)
    ok = statuses.get(0, 0)
    if not completed <= ok <= taken or ok - completed > taken // 2:
        fail(f'clients had {completed} results, the daemon counts {ok} of {taken}')
    left = [one for one in os.listdir('/dev/shm') if one.startswith(MEMORY)]
    for one in left:  # of clients that were killed between creating and unlinking it
        os.unlink('/dev/shm/' + one)
    print(f'soak.py: clients that were killed had {completed} results of {ok}; '
          f'{loads} models; from {before} to {now}')


main()
