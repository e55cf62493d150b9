#!/usr/bin/env python3
"""hostile_files - no file harms the programs that open it.

Each file is truncated at many lengths and changed in many fields. A program then reads it, or rejects it with
one message. The program may use 4 times the size of its input and 64 MB of memory more than for a small valid
file, and exits on SIGTERM. Usage: hostile_files.py FOLDER [FILE.ntff|FILE.neff]..., with the programs in
PATH. NTK_HOSTILE_CHANGES is the number of changes per pair of file and program (default 30); a large file
gets a third of them, and still runs with every program."""
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHANGES = int(os.environ.get("NTK_HOSTILE_CHANGES", "30"))
LARGE = 100_000  # bytes; programs are slow on larger ones
MEMORY = 64 << 20
PATIENCE = 120 * int(os.environ.get("NTK_TEST_PATIENCE") or 1)  # seconds; as tests/e2e/lib.sh
failures = 0
runs = 0
worst = {}


def fail(what, why):
    global failures
    failures += 1
    if failures <= 20:
        print(f"FAILED: {what}: {why}", flush=True)


def run(command, sigterm_after=None, stdin=os.devnull, **where):
    """Returns exit code, stderr, peak memory and duration in seconds; PATIENCE: the process was killed."""
    with tempfile.TemporaryFile() as err, open(stdin, "rb") as given:
        process = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL, stderr=err, **where)
        begin = time.monotonic()
        if sigterm_after is not None:
            time.sleep(sigterm_after)  # while it works
            os.kill(process.pid, signal.SIGTERM)  # not reaped yet, so the pid is still this process
        with open(os.pidfd_open(process.pid)) as ended:
            if not select.select([ended], [], [], PATIENCE)[0]:
                process.kill()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return process.returncode, err.read().decode("utf-8", "replace"), usage.ru_maxrss * 1024, time.monotonic() - begin


def size_of(paths):
    total = 0
    for path in paths:
        for folder, _, names in os.walk(path):
            total += sum(os.path.getsize(os.path.join(folder, name)) for name in names)
        total += os.path.getsize(path) if os.path.isfile(path) else 0
    return total


def changes(data, seed, count=CHANGES):
    """Yields names and contents: truncated at the first lengths and at a stride; fields of 1, 4 and 8 bytes
    set to extremes."""
    rand = random.Random(seed)
    cuts = sorted({0, 1, len(data) - 1, *(len(data) * i // (count // 2) for i in range(count // 2))})
    for cut in cuts:
        yield f"cut at {cut}", data[:max(cut, 0)]
    for i in range(count - count // 2):
        at = rand.randrange(min(len(data), 1024)) if i % 2 else rand.randrange(len(data))
        width = rand.choice((1, 1, 4, 8))
        value = rand.choice((b"\0", b"\xff", b"\x7f", b"\x80"))[:1] * width
        if rand.random() < 0.5 and at < len(data):
            value = bytes([data[at] ^ 1 << rand.randrange(8)])
        yield f"{value.hex()} at {at}", data[:at] + value + data[at + len(value):]


def check(what, command, files, memory_base, allow_partial=True, codes=(0, 1), **how):
    global runs
    runs += 1
    code, err, memory, seconds = run(command, **how)
    bound = memory_base + 4 * size_of(files) + MEMORY
    name = " ".join(command[:2])
    worst[name] = max(worst.get(name, 0), memory - memory_base)
    said = [line for line in err.splitlines() if line.startswith(("neuron-", "popef_"))]
    if code not in codes:
        fail(what, f"exit code {code}: {err[:300]}")
    elif code == 1 and not said:
        fail(what, f"no sentence: {err[:300]!r}")
    elif code == 1 and len([line for line in said if not allow_partial or "warning" not in line]) > 12:
        fail(what, f"{len(said)} sentences: {err[:600]!r}")
    if memory > bound:
        fail(what, f"{memory >> 20} MB of memory, {bound >> 20} are allowed")
    if seconds >= PATIENCE:
        fail(what, "did not end")
    return seconds


def check_sigterm(what, command, after, **how):
    code, err, _, seconds = run(command, after, **how)
    if seconds >= PATIENCE:
        fail(what, f"does not end by SIGTERM: {code} {err[:200]}")


def attack(path, commands, related=()):
    """commands: with @ for the changed file. Related files are passed along and count."""
    with open(path, "rb") as file:
        data = file.read()
    suffix = os.path.splitext(path)[1]
    bases = {}
    for command in commands:
        code, err, memory, _ = run([word.replace("@", path) for word in command])
        if code != 0 and not err:
            fail(path, f"{command}: sound file: {code}")
        bases[tuple(command)] = memory
    count = CHANGES if len(data) < LARGE else CHANGES // 3
    for number, (how, content) in enumerate(changes(data, os.path.basename(path), count)):
        changed = "changed" + suffix
        with open(changed, "wb") as file:
            file.write(content)
        command = commands[number % len(commands)]
        words = [word.replace("@", changed) for word in command]
        what = f"{os.path.basename(path)} {how}: {' '.join(words)}"
        seconds = check(what, words, [changed, *related], bases[tuple(command)])
        if number % 25 == 0 or seconds > 2:
            check_sigterm(what, words, min(0.01 * (number % 4), seconds / 2))


def attack_within(folder, name, command, container):
    """A file of a folder that a program opens as a whole."""
    path = os.path.join(folder, name)
    with open(path, "rb") as file:
        data = file.read()
    base = run(command)[2]
    for number, (how, content) in enumerate(changes(data, name)):
        with open(path, "wb") as file:
            file.write(content)
        what = f"{path} {how}: {' '.join(command)}"
        seconds = check(what, command, container, base)
        if number % 25 == 0:
            check_sigterm(what, command, seconds / 2)
    with open(path, "wb") as file:
        file.write(data)


def ntff_commands(neff):
    program = ["neuron-profile"]
    named = ["-n", neff] if neff else []
    return [
        [*program, "view", "-s", "@", *named, "--output-format", "summary-json", "--output-file", "out.json"],
        [*program, "analyze", "-s", "@", *named],
        [*program, "view", "-s", "@", *named, "--output-format", "html", "--output-file", "out.html"],
        [*program, "show-session", "-s", "@"],
        [*program, "view", "-s", "@", *named, "--output-format", "sqlite", "--output-file", "out.sqlite"],
    ]


def neff_commands():
    return [["neuron-packager", "info", "--json", "@"], ["neuron-packager", "disasm", "-o", "out.asm", "@"],
            ["neuron-packager", "unpack", "-o", "out.members", "@"], ["neuron-packager", "optimize", "-o", "out.neff", "@"],
            ["neuron-bench", "exec", "-n", "1", "@"]]


def popef_commands():
    return [["popef_dump", "@"], ["popef_run", "-n", "2", "-o", "out.arrays", "@"], ["popef_dump", "--json", "@"]]


def make_samples():
    def do(*command):
        code, err, _, _ = run(command)
        if code != 0:
            print("cannot make samples:", command, err)
            sys.exit(1)

    do("neuron-packager", "example", "mlp", "--size", "128", "-o", "mlp.neff")
    do("neuron-packager", "optimize", "-o", "plain.neff", "mlp.neff")
    do("neuron-packager", "example", "conv", "-o", "conv.neff", "--size", "8")
    do("neuron-packager", "unpack", "-o", "members", "mlp.neff")
    os.remove("members/neff.tgz")
    do("neuron-profile", "capture", "-n", "conv.neff", "-s", "conv.ntff")
    do("popef_make", "example", "accumulate", "-o", "plain.popef")
    do("popef_make", "example", "accumulate", "--compress", "-o", "packed.popef")
    do("neuron-profile", "inspect", "-o", "inspected", "--capture-system-profiles", "--capture-device-profiles", "--cpu-util", "--", "neuron-bench", "exec", "-n", "2", "conv.neff")


def main():
    os.chdir(sys.argv[1])
    make_samples()
    for neff in ("mlp.neff", "plain.neff", "conv.neff"):
        attack(neff, neff_commands())
    for popef in ("plain.popef", "packed.popef"):
        attack(popef, popef_commands())
    attack("conv.ntff", ntff_commands("conv.neff"), ["conv.neff"])
    constants = sorted(os.path.join(f, n) for f, _, names in os.walk("members") for n in names
                       if n.endswith((".npy", ".bin", ".json")))
    for path in constants:
        with open(path, "rb") as file:
            data = file.read()
        for number, (how, content) in enumerate(changes(data, path)):
            if number % max(1, len(constants)) != constants.index(path) % max(1, len(constants)):
                continue
            with open(path, "wb") as file:
                file.write(content)
            check(f"{path} {how}: create", ["neuron-packager", "create", "-i", "members", "-o", "made.neff"], ["members"],
                  16 << 20)
        with open(path, "wb") as file:
            file.write(data)
    inspected = sorted(os.path.join(f, n) for f, _, names in os.walk("inspected") for n in names)
    for path in inspected:
        folder, name = os.path.split(path)
        if name.endswith((".pb", ".ntff", ".json")):
            attack_within(folder, name, ["neuron-profile", "view", "-d", "inspected", "--output-format", "json",
                                         "--output-file", "out.json"], ["inspected"])
        if name in ("ntrace.pb", "trace_info.pb"):
            attack_within(folder, name, ["neuron-profile", "view", "-d", "inspected", "--output-format",
                                         "kineto" if name == "trace_info.pb" else "chakra",
                                         "--output-file", "ranks"], ["inspected"])
    for path in sys.argv[2:]:
        copy = os.path.basename(path)
        shutil.copy(path, copy)
        os.chmod(copy, 0o600)
        neff = os.path.splitext(path)[0] + ".neff"
        if copy.endswith(".ntff"):
            attack(copy, ntff_commands(neff if os.path.exists(neff) else None), [neff] if os.path.exists(neff) else [])
        else:
            attack(copy, neff_commands())
    print(f"{runs} changed files; maximum memory above that of a valid file: "
          + json.dumps({name: f"{bytes_ >> 20} MB" for name, bytes_ in worst.items()}))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
