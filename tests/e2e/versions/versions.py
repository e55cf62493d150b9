#!/usr/bin/env python3
"""versions - hundreds of times, one of the programs that share a folder is killed or stopped, and one of this
version or the previous version replaces it. No program crashes, each names the files that it cannot read, and
the database of each version has the number of executions that its applications counted independently."""
import glob
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import time

SWAPS = int(os.environ.get("NTK_VERSION_SWAPS", "400"))
PERIOD = 0.02  # of one swap
PATIENCE = 120 * int(os.environ.get("NTK_TEST_PATIENCE") or 1)  # seconds; as tests/e2e/lib.sh
FILES_MAX = 100  # of the 128 that may wait for agents; beyond that, applications that exit leave none
BIN, TESTS = os.environ["NTK_BIN_DIR"], os.path.join(os.environ["NTK_BUILD_DIR"], "tests")
MONITOR = {1: f"{TESTS}/version_monitor_1", 2: f"{BIN}/neuron-monitor"}
TOP = {1: f"{TESTS}/version_top_1", 2: f"{BIN}/neuron-top"}
AGENT = ["--period", "200ms", "--no-imds", "--quiet", "--verbose", "1"]
seed = int(os.environ.get("NTK_SEED", time.time()))
rand = random.Random(seed)
writers = []  # (version, pid, path of its counts)
failures = []


class Slot:
    """A place in which one program runs at a time."""

    def __init__(self, name, versions=(1, 2)):
        self.name, self.versions, self.process, self.version, self.sent, self.number = name, versions, None, 0, 0, 0

    def log(self, version):
        return f"{self.name}.{version}.err"

    def start(self):
        self.version = rand.choice(self.versions)
        self.number += 1
        counts = os.path.abspath(f"counts-{self.name}-{self.number}")
        command = {
            "writer": [f"{TESTS}/version_writer_{self.version}", counts],
            "stores": [MONITOR[self.version], *AGENT, "--db", f"{self.version}.db"],
            "reaps": [MONITOR[self.version], *AGENT],
            "shows": [TOP[self.version], "--batch", "--json", "-d", "100ms"],
            "asks": [MONITOR[self.version], "query", "processes", "--db", f"{rand.choice((1, 2))}.db"],
        }[self.name.split("-")[0]]
        with open(self.log(self.version), "ab") as err:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err)
        self.sent = 0
        if self.name.startswith("writer"):
            writers.append((self.version, self.process.pid, counts))

    def end(self, how):
        """Checks that it exited as requested."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.sent = how
            self.process.send_signal(how)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            failures.append(f"{self.name} of version {self.version} does not end")
            self.process.kill()
            code = self.process.wait()
        # A program that is just starting has no signal handler yet.
        allowed = {-self.sent, 0} if self.sent else {0}
        if self.name.startswith("asks"):
            allowed |= {1}  # the database does not exist yet
        if code not in allowed:
            failures.append(f"{self.name} of version {self.version}: ended with {code} after signal {self.sent}")
        self.process = None


def wait_until(holds):
    """Waits at most PATIENCE; later checks report the fault."""
    end = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < end:
        time.sleep(0.1)


def executed(path):
    with open(path, "rb") as file:
        return struct.unpack("QQ", file.read(16).ljust(16, b"\0"))


def stored(version):
    with sqlite3.connect(f"file:{version}.db?mode=ro", uri=True) as db:
        return dict(db.execute("""SELECT header_pid, sum(n) FROM (SELECT process_id, completed AS n FROM execution_sample
            UNION ALL SELECT process_id, completed FROM unwatched) JOIN process USING (process_id) GROUP BY header_pid"""))


def has_looked(version):
    try:
        with sqlite3.connect(f"file:{version}.db?mode=ro", uri=True) as db:
            return db.execute("SELECT count(*) FROM machine_sample").fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False  # not yet


def differences():
    found = []
    for version in (1, 2):
        has = stored(version)
        own = [(pid, path) for of, pid, path in writers if of == version and os.path.exists(path)]
        for pid, path in own:
            begun, done = executed(path)
            if not done <= (has.get(pid) or 0) <= begun:
                found.append(f"version {version}: process {pid} executed {done} to {begun}, stored {has.get(pid)}")
        strangers = set(has) - {pid for pid, _ in own}
        if strangers:
            found.append(f"version {version} stores processes that are not its own: {strangers}")
    return found


def wait_for_agents():
    """Returns the greatest number of segments, once there are few enough."""
    counts = []

    def are_few():
        counts.append(len(glob.glob(os.path.join(os.environ["NEURON_HOOKS_DIR"], "[0-9]*"))))
        return counts[-1] < FILES_MAX
    wait_until(are_few)
    return max(counts)


def says(kind, version):
    """Checks that programs of that version named the other version."""
    said = "".join(open(path, errors="replace").read() for path in glob.glob(f"{kind}*.{version}.err"))
    return f"unsupported ABI version {3 - version} (supported: {version})" in said


def wait_for_words(writers, reaps):
    """However the swaps ended: with both versions running, each program names the files that it cannot read."""
    for slot, version in zip(writers, (1, 2, 1, 2)):
        slot.end(signal.SIGTERM)
        slot.versions = (version,)
        slot.start()
    for version in (1, 2):
        reaps.end(signal.SIGTERM)
        reaps.versions = (version,)
        reaps.start()
        for kind in ("stores", "reaps"):
            wait_until(lambda: says(kind, version))
            if not says(kind, version):
                failures.append(f"{kind}: version {version} does not say that it cannot read the other")


def main():
    slots = [Slot(f"writer-{i}") for i in range(4)]
    slots += [Slot("stores-1", (1,)), Slot("stores-2", (2,)), Slot("reaps"), Slot("shows"), Slot("asks")]
    keepers = slots[4:6]
    for slot in keepers:
        slot.start()
    wait_until(lambda: all(map(has_looked, (1, 2))))  # their marks are in the folder
    begin = time.monotonic()
    # A program that is always killed at once keeps nothing. An agent without a database does not wait for one that
    # is gone while that of the other version exists, so these two are swapped one after the other.
    weights = {"stores-1": 1, "stores-2": 1, "reaps": 0}
    most = 0
    for i in range(SWAPS):
        if i == SWAPS // 2:
            weights = {"stores-1": 0, "stores-2": 0}
        slot = rand.choices(slots, [weights.get(slot.name, 2 if slot.name.startswith("writer") else 4) for slot in slots])[0]
        slot.end(signal.SIGTERM if slot.name.startswith("shows") or rand.random() < 0.5 else signal.SIGKILL)
        slot.start()
        most = max(most, wait_for_agents())
        time.sleep(max(0.0, begin + (i + 1) * PERIOD - time.monotonic()))
    seconds = time.monotonic() - begin
    wait_for_words(slots[:4], slots[6])
    for slot in slots[:4]:
        slot.end(signal.SIGTERM)
    for slot in keepers:
        if slot.process.poll() is not None:
            failures.append(f"{slot.name} ended by itself")
            slot.start()
    wait_until(lambda: not differences())
    failures.extend(differences())
    for slot in slots[4:]:
        slot.end(signal.SIGTERM)
    for path in glob.glob("*.err"):
        text = open(path, errors="replace").read()
        if "Sanitizer" in text or "runtime error" in text:
            failures.append(f"{path}: {text[:2000]}")
    print(f"{SWAPS} swaps in {seconds:.1f} s, {len(writers)} applications, at most {most} files, seed {seed}")
    for failure in failures[:20]:
        print("FAILED:", failure)
    return 1 if failures else 0


sys.exit(main())
