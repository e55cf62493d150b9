# frames - runs neuron-top in a separate terminal and interprets its output with a model of a terminal: each
# frame is one write(2), nothing is cleared between frames, unchanged text is not sent again, and the final content
# is the screen. frames.py PROGRAM; prints what was wrong, exit 1.
import fcntl
import inspect
import os
import pty
import re
import select
import struct
import sys
import termios
import time
import unicodedata

PATIENCE = 120 * int(os.environ.get("NTK_TEST_PATIENCE") or 1)  # seconds; as tests/e2e/lib.sh
# Short runs of unchanged cells between changed ones are cheaper to write than to skip.
RUN_MAX = 12


class Terminal:
    """Interprets curses output as xterm does."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [[(" ", ())] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.style = ()
        self.last = " "
        self.rest = b""
        self.alternate = False
        self.begin_frame()

    def begin_frame(self):
        self.cleared = self.changed = self.unchanged = self.run = self.longest = 0

    def resize(self, rows, columns):
        self.cells = [
            [self.cells[r][c] if r < self.rows and c < self.columns else (" ", ()) for c in range(columns)]
            for r in range(rows)
        ]
        self.rows, self.columns = rows, columns

    def text(self):
        return "\n".join("".join(c[0] for c in row).rstrip() for row in self.cells)

    def put(self, char):
        width = 2 if unicodedata.east_asian_width(char) in "WF" else 1
        if self.column + width > self.columns:
            raise ValueError(f"{char!r} at {self.row},{self.column} is beyond the last column")
        for i in range(width):
            self.set(self.row, self.column + i, (char if i == 0 else "", self.style), True)
        self.column += width
        self.last = char

    def set(self, row, column, cell, printed):
        if self.cells[row][column] == cell:
            self.unchanged += 1
            self.run += printed
            self.longest = max(self.longest, self.run)
        else:
            self.changed += 1
            self.run = 0
        self.cells[row][column] = cell

    def erase(self, row, first, last):
        for column in range(first, last):
            self.set(row, column, (" ", tuple(s for s in self.style if s[0] == "4")), False)
        self.run = 0

    def control(self, private, numbers, final):
        n = numbers[0] if numbers and numbers[0] else 1
        if final in "Hf":
            self.row = (numbers[0] or 1) - 1 if numbers else 0
            self.column = (numbers[1] or 1) - 1 if len(numbers) > 1 else 0
        elif final == "A":
            self.row -= n
        elif final == "B":
            self.row += n
        elif final == "C":
            self.column += n
        elif final == "D":
            self.column -= n
        elif final == "G":
            self.column = n - 1
        elif final == "d":
            self.row = n - 1
        elif final == "K":
            mode = numbers[0] if numbers else 0
            self.erase(self.row, 0 if mode else self.column, self.column + 1 if mode == 1 else self.columns)
        elif final == "J":
            mode = numbers[0] if numbers else 0
            if mode == 2 or (self.row == 0 and self.column == 0):
                self.cleared += 1
            self.erase(self.row, self.column, self.columns)
            for row in range(0 if mode == 2 else self.row + 1, self.rows):
                self.erase(row, 0, self.columns)
        elif final == "X":
            self.erase(self.row, self.column, min(self.column + n, self.columns))
        elif final == "b":
            for _ in range(n):
                self.put(self.last)
        elif final == "P":
            line = self.cells[self.row]
            del line[self.column : self.column + n]
            line.extend([(" ", ())] * (self.columns - len(line)))
        elif final == "@":
            line = self.cells[self.row]
            line[self.column : self.column] = [(" ", ())] * n
            del line[self.columns :]
        elif final in "LMST":
            top, bottom = getattr(self, "margins", (0, self.rows))
            at = self.row if final in "LM" else top
            for _ in range(n):
                blank = [(" ", ())] * self.columns
                if final in "LT":
                    self.cells.pop(bottom - 1)
                    self.cells.insert(at, blank)
                else:
                    self.cells.pop(at)
                    self.cells.insert(bottom - 1, blank)
        elif final == "m":
            self.colour(numbers)
        elif final in "hl":
            if private and numbers[0] == 1049:
                self.alternate = final == "h"
        elif final == "r":
            self.row = self.column = 0
            self.margins = (n - 1, numbers[1] if len(numbers) > 1 and numbers[1] else self.rows)
        elif final not in "tn":
            raise ValueError(f"unknown sequence CSI {private}{numbers}{final}")
        if final in "HfABCDGdr":
            self.run = 0

    def colour(self, numbers):
        style = dict(self.style)
        numbers = list(numbers) or [0]
        while numbers:
            n = numbers.pop(0) or 0
            if n == 0:
                style = {}
            elif n in (38, 48):
                style[str(n // 10)] = ("256", numbers[1])
                del numbers[:2]
            elif 30 <= n <= 37 or 90 <= n <= 97:
                style["3"] = n
            elif 40 <= n <= 47 or 100 <= n <= 107:
                style["4"] = n
            elif n in (39, 49):
                style.pop(str(n // 10), None)
            elif n < 10:
                style["a%d" % n] = 1
            elif n in (22, 24, 27):
                for k in {22: ("a1", "a2"), 24: ("a4",), 27: ("a7",)}[n]:
                    style.pop(k, None)
        self.style = tuple(sorted(style.items()))

    def feed(self, data):
        data = self.rest + data
        i = 0
        while i < len(data):
            c = data[i]
            if c == 0x1B:
                m = re.compile(rb"\x1b(?:\[([?>]?)([0-9;]*)([@-~])|[()][A-Z0-9]|[=>78M]|\][^\x07]*\x07)").match(data, i)
                if not m:
                    if len(data) - i < 32:
                        break  # the rest follows
                    raise ValueError(f"unknown sequence {data[i:i + 16]!r}")
                if m[3]:
                    numbers = [int(x) if x else None for x in m[2].split(b";")] if m[2] else []
                    self.control(m[1].decode(), numbers, m[3].decode())
                i = m.end()
            elif c < 0x20:
                self.run = 0
                if c == 13:
                    self.column = 0
                elif c == 10:
                    self.row += 1
                elif c == 8:
                    self.column -= 1
                i += 1
            else:
                length = 1 if c < 0x80 else 2 if c < 0xE0 else 3 if c < 0xF0 else 4
                if i + length > len(data):
                    break
                self.put(data[i : i + length].decode())
                i += length
        self.rest = data[i:]


class Program:
    def __init__(self, program, scene, rows, columns, *options):
        self.terminal = Terminal(rows, columns)
        self.sent = 0
        with open("writes", "wb") as count:
            count.write(bytes(8 * 3))
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # In the child after the fork: sets the size first, so that the program starts with it.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.environ.update(NTK_TEST_SCENE=scene, TERM="xterm-256color", LC_ALL="C.UTF-8", NTK_TEST_WRITES="writes")
            os.environ.pop("NO_COLOR", None)
            os.execv(program, [program, "--layout", "vendor", *options])
        self.wait(lambda: "vCPU Utilization" in self.terminal.text())
        self.settle()

    def counts(self):
        """Returns the number of writes, drawn frames and polls so far."""
        with open("writes", "rb") as counts:  # tty_writes.c
            return struct.unpack("=3Q", counts.read())

    def writes(self):
        return self.counts()[0]

    def is_waiting(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "S"

    def take(self):
        """Interprets what has arrived; False if nothing arrived."""
        if not select.select([self.fd], [], [], 0.02)[0]:
            return False
        data = os.read(self.fd, 1 << 16)
        self.sent += len(data)
        self.terminal.feed(data)
        return True

    def wait(self, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > end:
                what = inspect.getsource(condition).strip()
                fail(f"timed out after {PATIENCE} s, waiting for: {what}\nThe screen is\n{self.terminal.text()}")
            self.take()

    def settle(self):
        self.wait(lambda: not self.take() and self.is_waiting())

    def frame(self, act, changes=True):
        """Returns the number of writes that one act causes: one frame is one write, or none."""
        before, self.sent = self.writes(), 0
        self.terminal.begin_frame()
        act()
        if changes:
            self.wait(lambda: self.writes() > before)
        self.settle()
        return self.writes() - before

    def key(self, keys):
        return self.frame(lambda: os.write(self.fd, keys.encode()))

    def resize(self, rows, columns):
        def act():
            self.terminal.resize(rows, columns)
            fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

        return self.frame(act)

    def end(self):
        os.write(self.fd, b"q")
        try:
            self.wait(lambda: False)
        except OSError:
            pass  # it has exited: everything that it wrote has arrived
        os.close(self.fd)
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        if status != 0 or self.terminal.alternate:
            fail(f"ended with {status}; the terminal is {'not ' * self.terminal.alternate}restored")


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def check(what, program, writes, may_clear=False):
    t = program.terminal
    if writes != 1:
        fail(f"{what}: {writes} writes for one frame of {program.sent} bytes")
    if t.cleared and not may_clear:
        fail(f"{what}: the screen is cleared between two frames")
    if t.longest > RUN_MAX and not may_clear:
        fail(f"{what}: {t.longest} unchanged cells in a row are sent ({t.changed} changed)\n{t.text()}")
    if not t.alternate or (t.rows >= 24 and "vCPU Utilization" not in t.text() and "Keys" not in t.text()):
        fail(f"{what}: invalid screen:\n{t.text()}")


def main():
    path = sys.argv[1]

    # Keys, one frame each; no refresh in between.
    p = Program(path, "trn2", 50, 200, "-d", "1h")
    if p.terminal.text().count("\n") != 49 or "trn2.48xlarge" not in p.terminal.text().split("\n")[0]:
        fail(f"the first frame:\n{p.terminal.text()}")
    for keys in ["f", "f", "x", "x", "d", "d", "a", "1", "\x1bOB", "\r", "?", "h", "-", "+"]:
        what = f"key {keys!r}"
        before = p.terminal.text()
        check(what, p, p.key(keys))
        if p.terminal.text() == before and p.terminal.changed == 0:
            fail(f"{what} has no effect")
    if p.frame(lambda: os.write(p.fd, b"~"), changes=False) != 0 or p.sent != 0:
        fail(f"a key without a meaning sends {p.sent} bytes")
    # Sizes far beyond curses' own buffer.
    for rows, columns in [(24, 80), (100, 400), (8, 40), (50, 200), (100, 400)]:
        check(f"{columns}x{rows}", p, p.resize(rows, columns), may_clear=True)
        check(f"a key at {columns}x{rows}", p, p.key("x"))
    p.end()

    # Values that change: the text next to them is not sent again.
    p = Program(path, "moving", 50, 200, "-d", "100ms")
    average = lambda: re.search(r"Avg: *([0-9.]+)%", p.terminal.text())[1]
    bytes_most = changed_most = 0
    for _ in range(12):
        old = average()
        p.terminal.begin_frame()
        p.sent = 0
        p.wait(lambda: average() != old)
        bytes_most, changed_most = max(bytes_most, p.sent), max(changed_most, p.terminal.changed)
        if p.terminal.cleared or p.terminal.longest > RUN_MAX:
            fail(f"a refresh sends {p.terminal.longest} unchanged cells in a row, clears {p.terminal.cleared} times")
    p.end()
    print(f"128 cores at 200x50: a refresh changes at most {changed_most} cells and sends {bytes_most} bytes")

    # Between two refreshes, checks that find no change draw nothing; a new size does.
    p = Program(path, "looked", 30, 120, "-d", "1h")
    _, before, looks = p.counts()
    p.wait(lambda: p.counts()[2] >= looks + 5)
    if p.counts()[1] != before:
        fail(f"{p.counts()[1] - before} frames were drawn without a change")
    check("a size between two polls", p, p.resize(40, 120), may_clear=True)
    if p.counts()[1] != before + 1:
        fail(f"a new size draws {p.counts()[1] - before} frames")
    p.end()

    # Wide characters stay complete.
    p = Program(path, "wide", 30, 120, "-d", "1h")
    check("the wide tag", p, p.key("d"))
    if ">[2]:深層学習<" not in p.terminal.text():
        fail(p.terminal.text())
    p.end()


main()
