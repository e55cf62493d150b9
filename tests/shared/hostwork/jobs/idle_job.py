# idle_job.py KIND LIBRARY - like idle_job_main.c, for causes that only an interpreter has.
import ctypes
import gc
import os
import queue
import signal
import sys
import threading
import time

kind, library = sys.argv[1:]
job = ctypes.CDLL(library)
clock = ctypes.PyDLL(library)  # holds the interpreter lock
clock.idle_job_now_ns.restype = clock.idle_job_ended_ns.restype = ctypes.c_uint64
job.idle_job_report.argtypes = [ctypes.c_uint64]
must_end = False


def on_term(number, frame):
    global must_end
    must_end = True


def spin_in_thread():
    while not must_end:
        sum(i * i for i in range(500))


def take_gil():
    """Each sleep releases the interpreter lock, and has to wait for it."""
    for _ in range(3):
        time.sleep(0)


def tokenize_batch():
    end = time.monotonic() + 0.012
    words = 0
    while time.monotonic() < end:
        words += len("the quick brown fox".split())


def wait_for_data():
    time.sleep(0.012)


def collect():
    gc.collect()


batches = queue.Queue(1)


def load_batches():
    while not must_end:
        time.sleep(0.05)
        batches.put(None)


def nested(depth, function):
    return nested(depth - 1, function) if depth > 0 else function()


def tokenize_in_framework():
    nested(20, tokenize_batch)


after_exec = """
import os, sys, time
def load_after_exec():
    time.sleep(0.012)
while True:
    load_after_exec()
    os.write(int(sys.argv[1]), b"x")
"""


def load_in_child(output):
    """Writes batches, until the file `go` exists; then another interpreter replaces this one. The library shows whether
    the mappings of this program have been read."""
    ctypes.CDLL("./child.so")
    os.write(output, b"x")
    while not os.path.exists("go"):
        time.sleep(0.012)
        os.write(output, b"x")
    os.set_inheritable(output, True)
    os.execv(sys.executable, [sys.executable, "-c", after_exec, str(output)])


def begin_child():
    input, output = os.pipe()
    if os.fork() == 0:
        os.close(input)
        load_in_child(output)
    os.close(output)
    os.read(input, 1)
    return lambda: os.read(input, 1)


def wait_for_end():
    while not must_end:
        time.sleep(0.1)


causes = {"gil": take_gil, "running": tokenize_batch, "sleep": wait_for_data, "garbage-collection": collect}
causes["loader"] = batches.get  # another thread sleeps meanwhile
causes["framework"] = tokenize_in_framework  # deep stacks of several threads
if kind == "exec":
    causes[kind] = begin_child()
signal.signal(signal.SIGTERM, on_term)
if job.idle_job_begin() < 0:
    sys.exit(2)
if kind == "gil":
    threading.Thread(target=spin_in_thread, daemon=True).start()
if kind == "loader":
    threading.Thread(target=load_batches, daemon=True).start()
if kind == "framework":
    for _ in range(3):
        threading.Thread(target=nested, args=(20, wait_for_end), daemon=True).start()
if kind == "garbage-collection":
    kept = [[i] for i in range(200000)]
print("ready", flush=True)
cause_ns = 0
while not must_end:
    job.idle_job_execute()
    # The call waits for the lock when it returns, so "gil" starts at its end; other causes start here.
    began = clock.idle_job_ended_ns() if kind == "gil" else clock.idle_job_now_ns()
    causes[kind]()
    cause_ns += clock.idle_job_now_ns() - began
job.idle_job_report(cause_ns)
