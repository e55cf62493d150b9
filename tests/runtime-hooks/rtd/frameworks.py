# SPDX-License-Identifier: MIT
"""Calls as the plug-in of TensorFlow does, in its order, with Python's gRPC library: four threads, each with
several inferences in progress in shared memory without a name. Prints the number of completed inferences."""
import collections
import os
import sys
import threading

from client import PATIENCE, Client, Shared, eg, expect, memory, nn

THREADS, ROUNDS, NINFER = 4, 60, 3
BYTES = 64


def neff(name):
    with open(f'{sys.argv[3]}/{name}.neff', 'rb') as file:
        return file.read()


def shared(c, name, session):
    one = Shared(f'/aws_neuron_runtime_ntk_{os.getpid()}_{name}', BYTES)
    expect('shm_map', c.shm_map(path=one.path, mmap_prot=3, session_id=session).status.code, 0)
    one.unlink()
    return one


def infer(c, number, session, model, counted, failed):
    try:
        buffers = [(shared(c, f'{number}_{i}_in', session), shared(c, f'{number}_{i}_out', session)) for i in range(NINFER)]
        in_progress = collections.deque()

        def collect():
            cookie, data, (x, y) = in_progress.popleft()
            ofmap = [memory('y:0', y.path)]
            expect('infer_wait', c.infer_wait(cookie=cookie, shm_ofmap=ofmap).status.code, 0)
            expect('a result', y.get(BYTES), data)
            counted[number] += 1
        for i in range(ROUNDS):
            if len(in_progress) == NINFER:
                collect()
            x, y = buffers[i % NINFER]
            data = bytes([number, i % 256]) * (BYTES // 2)
            x.put(data)
            posted = c.infer_post(h_nn=model, ifmap=[memory('x:0', x.path)], shm_ofmap=[memory('y:0', y.path)])
            expect('infer_post', posted.status.code, 0)
            in_progress.append((posted.cookie, data, (x, y)))
        while in_progress:
            collect()
        for pair in buffers:
            for one in pair:
                expect('shm_unmap', c.shm_unmap(path=one.path, mmap_prot=3).status.code, 0)
    except BaseException as error:
        failed.append(error)
        raise


def main():
    c = Client(sys.argv[1])
    _, end = c.session(asks=False)  # the probe
    end()
    session, end = c.session()
    expect('wake-up', c.start(h_nn=nn(0)).status.code, 3)
    groups = [c.create_eg(nc_count=4, session_id=session).h_eg.id for _ in range(THREADS)]
    models = [c.load(neff('pipe'), group=group, session=session, ninfer=NINFER, timeout=PATIENCE).h_nn for group in groups]
    for model in models:
        expect('start', c.start(h_nn=model).status.code, 0)
    counted, failed = [0] * THREADS, []
    threads = [threading.Thread(target=infer, args=(c, i, session, models[i], counted, failed)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        sys.exit(1)
    for model, group in zip(models, groups):
        expect('stop', c.stop(h_nn=model).status.code, 0)
        expect('unload', c.unload(h_nn=model).status.code, 0)
        expect('destroy_eg', c.destroy_eg(h_eg=eg(group)).status.code, 0)
    end()
    counters = c.read_inference_counters().nmgr_counters
    good = {row.infer_status: row.count for row in counters.infer_status_counts}[0]
    expect('the daemon counts', (good, counters.infer_count), (sum(counted), THREADS * ROUNDS))
    print('frameworks.py: completed', good)


main()
