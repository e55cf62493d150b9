#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""names - everything that the pages name exists: links, headings, files, identifiers, variables, paths of the
HTTP servers, commands of ./dev, options of programs, and the files that comments in sources name.

Pages are all Markdown files of the tree; of man pages only the options are checked. Names are in back quotes
or code blocks. Text with a placeholder (<x>, X.c, NNNN, ...) is not a name. others.txt lists names that are
mentioned because they are absent or belong to other projects."""
import functools
import itertools
import os
import re
import subprocess
import sys

ROOT = os.environ["NTK_SOURCE_DIR"]
BIN = os.environ["NTK_BIN_DIR"]
TOP = ("agent", "cmake", "docs", "exporters", "profiler", "runtime-hooks", "shared", "tests", "top", ".ci")
FENCE = "```"



def tree():
    """Returns the files of the tree that git tracks; all files if the tree is not a checkout of ours."""
    try:
        found = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], check=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL).stdout.decode().split("\0")
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, inside, names in os.walk(ROOT):
            inside[:] = [name for name in inside if name not in (".git", "build")]
            found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return {path for path in found if os.path.isfile(os.path.join(ROOT, path))}


files = tree()
folders = {os.path.dirname(path) for path in files}
for folder in list(folders):
    while folder:
        folders.add(folder)
        folder = os.path.dirname(folder)
base_names = {os.path.basename(path) for path in files}
with open(os.path.join(ROOT, "tests/docs/names/others.txt"), encoding="utf-8") as others_file:
    others = {line.split()[0] for line in others_file if line.strip() and not line.startswith("#")}
others_used = set()
failures = []


def bad(page, number, text, name=None):
    if name in others:
        others_used.add(name)
    else:
        failures.append(f"{page}:{number}: {text}")


@functools.lru_cache(maxsize=None)
def sources():
    """Returns the text of the C and page sources, to search for names that are not single words."""
    text = []
    for path in sorted(files):
        if path.endswith((".c", ".h", ".js")) and not path.startswith("tests/"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text.append(file.read())
    return "\n".join(text)


@functools.lru_cache(maxsize=None)
def words():
    """Returns every word and every --option of the tree except its pages. Names of columns made from rows are
    added."""
    found = set()
    for path in files:
        is_page = path.endswith((".md", ".png", ".1")) and path != "docs/formats/archive-columns.md"
        if is_page or path.startswith(("tests/corpus/", "tests/docs/names/")):
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
            found.update(re.findall(r"--[a-z][\w.-]*|[A-Za-z0-9_]+", text))
            for family in re.findall(r"^NTK_STORE_TABLE_TIERS\((\w+)", text, re.M):
                found.update((f"{family}_sample", f"{family}_minute", f"{family}_hour"))
    return found


@functools.lru_cache(maxsize=None)
def options_of(program, command):
    """Returns the options in the help of a program, or of one of its commands; None if the command does not
    exist."""
    done = subprocess.run([os.path.join(BIN, program), *([command] if command else []), "--help"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return None
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][\w.-]*", done.stdout.decode()))


programs = sorted(name for name in os.listdir(BIN) if name.startswith("neuron-"))
with open(os.path.join(ROOT, "dev"), encoding="utf-8") as dev_file:
    dev_commands = set(re.findall(r"[a-z]+", " ".join(re.findall(r"^([a-z |-]+)\)", dev_file.read(), re.M))))


@functools.lru_cache(maxsize=None)
def all_options():
    found = set()
    for program in programs:
        found |= options_of(program, None)
        with open(os.path.join(os.environ["NTK_BUILD_DIR"], "share/man/man1", f"{program}.1"), encoding="utf-8") as file:
            text = re.sub(r"\\f.", " ", file.read().replace("\\-", "-"))
            found |= set(re.findall(r"(?<![\w-])--[A-Za-z][\w.-]*", text))
    return found


def check_command(page, number, text):
    """Returns the words of one command of a pipe or list."""
    words_of = re.findall(r"(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+", text)
    while words_of and re.match(r"[A-Z_]+=|sudo$|nice$|env$|timeout$|\$$|[0-9]+$", words_of[0]):
        words_of.pop(0)
    if not words_of:
        return
    program = os.path.basename(words_of[0])
    if words_of[0] == "./dev":
        for word in words_of[1:2]:
            if re.fullmatch("[a-z]+", word) and word not in dev_commands:
                bad(page, number, f"./dev has no command {word}")
    if program not in programs:
        return
    known = options_of(program, None)
    command = words_of[1] if len(words_of) > 1 and re.fullmatch("[a-z][a-z-]+", words_of[1]) else None
    own = options_of(program, command) if command else None
    for word in words_of[1:]:
        if word == "--":
            break
        name = word.split("=")[0].rstrip(",.;:)]}")
        if re.fullmatch(r"--[a-z][\w.-]*", name) and name not in known | (own or set()):
            bad(page, number, f"{program} {command or ''} has no option {name}")


def check_code(page, number, text):
    """Yields the text in back quotes or on a line of a block."""
    for part in re.split(r"\|\||&&|[|;&]|\$\(|\s#\s", text):
        check_command(page, number, part)


def check_man_page(page):
    """A man page mentions only options of the program and its commands, apart from those of other programs."""
    program = os.path.basename(page)[:-2]
    if program not in programs:
        return
    known = options_of(program, None)
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        lines = file.read().replace("\\-", "-").splitlines()
    for command in set(re.findall(r"\b%s ([a-z-]+)" % program, re.sub(r'["\\]f?[BIR]?', "", "\n".join(lines)))):
        known = known | (options_of(program, command) or set())
    for number, line in enumerate(lines, 1):
        around = lines[max(number - 3, 0):number]
        if any(re.search(r"\b%s\b(?!-)" % other, text) for text in around for other in programs if other != program):
            continue
        for name in re.findall(r"(?<![\w-])--[a-z][\w.-]*[a-z]", line):
            if name not in known:
                bad(page, number, f"{program} has no option {name}", name)


def is_placeholder(text):
    return re.search(r"[<>*?$]|\.\.\.|…|\bX\b|X_|NNNN|NAME|FILE", text) is not None


def expanded(text):
    """Returns a.h and a.c for a.{h,c}."""
    parts = re.split(r"\{([^{}]*)\}", text)
    choices = [[part] if i % 2 == 0 else part.split(",") for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def check_span(page, number, text):
    folder = os.path.dirname(page)
    if is_placeholder(text):
        return
    for name in expanded(text):
        first = name.split("/")[0]
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", name) and "/" in name.rstrip("/") and (first in TOP or first in folders):
            path = name.rstrip("/")
            near = os.path.normpath(os.path.join(folder, path))
            if not {path, near} & (files | folders) and not any(os.path.splitext(f)[0] in (path, near) for f in files):
                bad(page, number, f"{name} does not exist")
        elif re.fullmatch(r"[\w.-]+\.(c|h|def|py|sh|proto|sql|js|css|html|map|md|cmake|yaml|service)", name):
            if name not in base_names and not re.search(r"\.map$|^\.", name):
                bad(page, number, f"no file is called {name}", name)
        elif name.startswith(("/api/", "/-/")):
            path = name.split("?")[0]
            if path not in sources() and f'"{os.path.basename(path)}"' not in sources():
                bad(page, number, f"no server has {name}")
        elif re.fullmatch(r"--[a-z][\w.-]*", name.split("=")[0]):
            name = name.split("=")[0]
            if name not in all_options() and name not in words():
                bad(page, number, f"no program has the option {name}")
        elif re.fullmatch(r"[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*(\(\))?", name):
            if page == "docs/metrics.md":
                continue  # its tables are generated from the catalogue and names.def: test_catalogue.c compares them
            if page == "docs/formats/top-samples.md":
                name = re.sub("_(percent|per_second)$", "", name)  # suffixes that a column adds to the name of a row
            if name.rstrip("()") not in words() and not any(word.startswith(name.rstrip("()")) for word in words()):
                bad(page, number, f"nothing is called {name}", name)


def check_source(path):
    """Yields the files that comments and messages of a source name from the root."""
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.startswith("#include"):  # of the compiler
                continue
            for name in re.findall(r"(?<![\w/.$}])(?:%s)/[\w./-]+\.(?:md|c|h|def|sh|py|txt|proto|sql)\b" % "|".join(TOP), line):
                near = os.path.normpath(os.path.join(os.path.dirname(path), name))
                if not is_placeholder(name) and name not in files and near not in files:
                    bad(path, number, f"{name} does not exist", name)


def slug(heading):
    text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@functools.lru_cache(maxsize=None)
def anchors(page):
    found, fenced = set(), False
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for line in file:
            fenced ^= line.strip().startswith(FENCE)
            if not fenced and line.startswith("#"):
                found.add(slug(line.lstrip("#")))
    return found


def check_link(page, number, target):
    if re.match(r"[a-z]+:", target):
        return
    path, _, anchor = target.partition("#")
    whole = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if whole not in files and whole not in folders:
        bad(page, number, f"a link to {target}, which is not there")
    elif anchor and whole.endswith(".md") and anchor not in anchors(whole):
        bad(page, number, f"a link to {target}, but no such heading")


def check_page(page):
    fenced = False
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip().startswith(FENCE):
                fenced = not fenced
            elif fenced:
                check_code(page, number, line.strip())
            else:
                for span in re.findall(r"`([^`]+)`", line):
                    check_code(page, number, span)
                    check_span(page, number, span)
                for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                    check_link(page, number, target)


def main():
    pages = sorted(path for path in files if path.endswith(".md"))
    for page in pages:
        check_page(page)
    for path in sorted(files):
        if path.endswith(".1"):
            check_man_page(path)
        if re.search(r"\.(c|h|def|py|sh|txt|js|css|proto|sql|cmake)$", path) and not path.startswith(
                ("tests/corpus/", "tests/docs/names/")):
            check_source(path)
    for name in sorted(others - others_used):
        print(f"tests/docs/names/others.txt: {name} exists, or no page names it: remove its row")
    for failure in failures:
        print(failure)
    print(f"{len(pages)} pages, {len(failures)} missing names")
    sys.exit(1 if failures or len(pages) < 50 else 0)


main()
