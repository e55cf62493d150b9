#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tutorials - every command of a tutorial, and of some other pages, runs and prints what the page shows.

A page's blocks marked `console` have commands after "$ ", each followed by its output. All commands of a page
run in order in one scratch folder. A line that ends in a backslash continues on the next line, and a
here-document ends at its word. --update writes the output of the commands into the pages. The line with the
path of the library depends on the build and is not shown.

A comment `<!-- picture: FILE.html WIDTHxHEIGHT -->` before an image says that the image is a screenshot of
this file, which the commands created. If Chromium is installed, the file must show as much again; --update
takes a new screenshot."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["NTK_SOURCE_DIR"], "tests", "e2e", "page"))
from browser import PATIENCE, Browser  # noqa: E402

FENCE = "```"
OTHERS = ["../graph.md"]
LIBRARY = re.compile(r"neuron-\w+: library /.*libnrt\.so\.1 \(software\)$")

# The rows, and the shares next to their names, which follow them.
DRAWN = """document.documentElement?.dataset.state === 'complete' &&
  [...document.querySelectorAll('#labels .share')].some((share) => share.textContent)"""


def blocks(lines):
    """Yields (start, end) of the lines inside each console block."""
    start = None
    for number, line in enumerate(lines):
        if start is None and line.strip() == FENCE + "console":
            start = number + 1
        elif start is not None and line.strip() == FENCE:
            yield start, number
            start = None


def commands(lines):
    """Returns the commands of a block with their output lines: [(command lines, output lines)]."""
    found = []
    is_continued = False
    here = None  # the word that ends a here-document
    for line in lines:
        if here:
            found[-1][0].append(line)
            here = None if line == here else here
            continue
        if is_continued:
            found[-1][0].append(line)
        elif line.startswith("$ "):
            found.append(([line], []))
        elif found:
            found[-1][1].append(line)
        else:
            raise SystemExit("a console block begins without a command: " + line)
        is_command = is_continued or line.startswith("$ ")
        word = re.search(r"<<'(\w+)'$", line)
        here = word.group(1) if is_command and word else None
        is_continued = is_command and line.endswith("\\")
    return found


def run(command_lines, folder, environment):
    """Keeps exported variables for later commands."""
    command = "\n".join([command_lines[0][2:]] + command_lines[1:])
    exported = os.path.join(folder, "..", "exported")
    done = subprocess.run(
        ["bash", "-c", f"{command}\ncode=$?\nenv -0 >'{exported}'\nexit $code"], cwd=folder, env=environment,
        timeout=PATIENCE, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if os.path.exists(exported):
        with open(exported, encoding="utf-8") as file:
            environment.update(line.split("=", 1) for line in file.read().split("\0") if "=" in line)
    lines = done.stdout.decode().splitlines()
    return done.returncode, [line.rstrip() for line in lines if not LIBRARY.match(line)]


def screenshot(html, size, png):
    """Takes a screenshot of the page after it has drawn everything; False without a browser."""
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not program:
        return False
    browser = Browser(program, os.path.join(tempfile.mkdtemp(), "profile"))
    try:
        browser.size(*map(int, size.split("x")))
        browser.call("Page.navigate", url="file://" + html)
        browser.wait_for(DRAWN)
        browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        browser.screenshot(png, whole=False)
    finally:
        browser.close()
    return True


def check_pictures(page, lines, work, update):
    """A new screenshot is at least half as large as the one in the page, or it shows too little."""
    failures = 0
    for number, line in enumerate(lines):
        found = re.match(r"<!-- picture: (\S+) (\d+x\d+) -->", line)
        if not found:
            continue
        image = re.match(r"!\[[^\]]+\]\(([^)]+\.png)\)", lines[number + 1])
        png = os.path.join(os.path.dirname(page), image.group(1))
        fresh = os.path.join(work, "picture.png")
        if not screenshot(os.path.join(work, found.group(1)), found.group(2), fresh):
            print(f"no Chromium: {image.group(1)} is not compared")
            fresh = png
        elif update:
            shutil.copyfile(fresh, png)
        sizes = [os.path.getsize(path) if os.path.exists(path) else 0 for path in (fresh, png)]
        if sizes[0] == 0 or sizes[0] < sizes[1] / 2:
            failures += 1
            print(f"FAILED: {page}: {found.group(1)} shows less than {image.group(1)}: {sizes}")
    return failures


def end_processes(folder):
    """Ends processes that a failed page left running: those with a hooks folder below this folder."""
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                if b"\0NEURON_HOOKS_DIR=" + folder.encode() in b"\0" + file.read():
                    os.kill(int(path.split("/")[2]), signal.SIGKILL)
        except OSError:
            pass  # it has exited, or belongs to another user


def check(page, update):
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if os.environ.get("NTK_SANITIZE") and any("ctypes" in line for line in lines):
        print(f"{page}: skipped: an interpreter cannot load a library with a sanitizer")
        return 0
    folder = tempfile.mkdtemp(prefix="ntk-tutorial-")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("NEURON_")}
    environment.update(PATH=os.environ["NTK_BIN_DIR"] + ":" + os.environ["PATH"], LC_ALL="C.UTF-8",
                       LD_LIBRARY_PATH=os.environ["NTK_LIB_DIR"],
                       NEURON_HOOKS_DIR=os.path.join(folder, "hooks"), NEURON_RT_LOG_LEVEL="QUIET")
    work = os.path.join(folder, "work")
    os.makedirs(work)
    os.makedirs(environment["NEURON_HOOKS_DIR"], mode=0o700)
    # The reader's folder was previously used with another machine.
    subprocess.run(["neuron-bench", "machine"], env={**environment, "NEURON_SOFT_INSTANCE": "inf1.xlarge"},
                   stdout=subprocess.DEVNULL, check=True)
    failures = 0
    count = 0
    result = []
    last = 0
    try:
        for start, end in blocks(lines):
            result += lines[last:start]
            for command, expected in commands(lines[start:end]):
                count += 1
                code, printed = run(command, work, environment)
                result += command + printed
                if code != 0:
                    failures += 1
                    print(f"FAILED: {page}: exit code {code}: {command[0]}", *printed, sep="\n    | ")
                elif not update and printed != expected:
                    failures += 1
                    print(f"FAILED: {page}: {command[0]} prints", *printed, sep="\n    | ")
                    print("  and not", *expected, sep="\n    | ")
            last = end
        result += lines[last:]
        failures += check_pictures(page, lines, work, update)
    finally:
        end_processes(folder)
        shutil.rmtree(folder)
    if count == 0:
        failures += 1
        print(f"FAILED: {page}: no commands")
    if update and failures == 0:
        with open(page, "w", encoding="utf-8") as file:
            file.write("\n".join(result) + "\n")
    return failures


def main():
    folder = os.path.join(os.environ["NTK_SOURCE_DIR"], "docs", "tutorials")
    pages = sorted(name for name in os.listdir(folder) if name.endswith(".md")) + OTHERS
    failures = 0 if pages else 1
    for page in pages:
        failures += check(os.path.join(folder, page), "--update" in sys.argv[1:])
    sys.exit(1 if failures else 0)


main()
