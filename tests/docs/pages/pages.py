# SPDX-License-Identifier: MIT
"""pages - every document of docs/ is reachable by links from docs/README.md, and README.md links to that
page. Every alert of neuron.rules.yml has one section in docs/alerts.md, in the same order, and its
runbook_url points there. All Markdown files have lines of at most 100 columns (except code, links and
addresses) and table cells of at most 200 characters. Man pages have lines of at most 100 columns and
sentences of at most 30 words."""
import os
import re
import sys

ROOT = os.environ["NTK_SOURCE_DIR"]
DOCS = os.path.join(ROOT, "docs")
START = os.path.join(DOCS, "README.md")
RULES = os.path.join(ROOT, "exporters/prometheus/rules/neuron.rules.yml")
BASE = "file:///usr/share/doc/neuron-toolkit/alerts.md#"
FENCE = "```"
PARTS = ("Means", "Confirm", "Do")
failures = []


def check(condition, text):
    if not condition:
        failures.append(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def links(page):
    """Returns the pages that a page links to."""
    for target in re.findall(r"\]\(([^)\s#]+)", read(page)):
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if os.path.isfile(path) and path.endswith(".md"):
            yield path
        elif os.path.isfile(os.path.join(path, "README.md")):
            yield os.path.join(path, "README.md")


def reachable(start):
    found, waiting = {start}, [start]
    while waiting:
        page = waiting.pop()
        fresh = {path for path in links(page) if path.startswith(DOCS + os.sep)} - found
        found |= fresh
        waiting += fresh
    return found


def check_reach():
    pages = {os.path.join(folder, name) for folder, _, names in os.walk(DOCS) for name in names if name.endswith(".md")}
    for page in sorted(pages - reachable(START)):
        check(False, f"{os.path.relpath(page, ROOT)} is not reachable from docs/README.md")
    check(START in links(os.path.join(ROOT, "README.md")), "README.md does not link to docs/README.md")


def check_alerts():
    rules = re.split(r"^ +- alert: ", read(RULES), flags=re.M)[1:]
    names = [rule.split()[0] for rule in rules]
    sections = re.split(r"^## ", read(os.path.join(DOCS, "alerts.md")), flags=re.M)[1:]
    sections = {section.split("\n")[0]: section for section in sections}
    named = [title for title in sections if title.startswith("Neuron")]
    check(names == named, f"alerts without a section: {sorted(set(names) - set(named))}, sections without an alert: "
          f"{sorted(set(named) - set(names))}, or another order")
    for name, rule in zip(names, rules):
        expected = f"runbook_url: {BASE}{name.lower()}\n"
        check(expected in rule, f"{name}: expected in its annotations: {expected.strip()}")
        section = sections.get(name, "")
        severity = re.search(r"severity: (\w+)", rule).group(1)
        check(f"Severity: {severity}" in section, f"docs/alerts.md: {name}: severity is not {severity}")
        for part in PARTS:
            check(f"**{part}.**" in section, f"docs/alerts.md: {name} lacks '{part}'")
        check("```sh\n" in section, f"docs/alerts.md: {name} shows no command")


def files(ending):
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in (".git", "build")]
        for name in names:
            if name.endswith(ending):
                yield os.path.relpath(os.path.join(folder, name), ROOT)


def width_faults(lines):
    """Yields (number, text) of the lines and cells that are too long."""
    is_code = False
    for number, line in enumerate(lines, 1):
        if line.strip().startswith(FENCE):
            is_code = not is_code
        elif is_code:
            continue
        elif line.startswith("|"):
            longest = max(len(cell.strip()) for cell in re.split(r"(?<!\\)\|", line))
            if longest > 200:
                yield number, f"a cell has {longest} characters (at most 200: move the rest below the table)"
        elif len(line) > 100 and not re.search(r"\]\(|://", line):
            yield number, f"the line has {len(line)} columns (at most 100)"


def check_width():
    planted = ["x" * 101, "| a |", "| " + "x" * 201 + " |", FENCE, "x" * 101, FENCE, "| " + "\\|x " * 60 + " |", "[x](" + "y" * 101 + ")"]
    found = [number for number, _ in width_faults(planted)]
    check(found == [1, 3, 7], f"planted faults: found on lines {found}, expected 1, 3 and 7")
    for page in sorted(files(".md")):
        for number, text in width_faults(read(os.path.join(ROOT, page)).splitlines()):
            check(False, f"{page}:{number}: {text}")


def man_faults(lines):
    """Yields (number, text) of the lines and sentences of a man page's template that are too long."""
    is_code = is_tag = False
    start, words = 0, []
    for number, line in enumerate(lines + [".PP"], 1):
        if len(line) > 100:
            yield number, f"the line has {len(line)} columns (at most 100)"
        is_code = is_code or line in (".nf", ".EX")
        font = re.match(r"\.(BR?|IR?|RB|RI|BI|IB) ", line)
        if is_code or is_tag or line.startswith("@") or line.startswith(".") and not font:
            end = True
        else:
            start = start if words else number
            text = re.sub(r"\.\w+ ", "", line, count=1) if font else line
            alternates = font and len(font.group(1)) > 1
            parts = re.findall(r'"[^"]*"|\S+', text) if alternates else [text + " "]
            words += re.split(r"\s+", ("" if alternates else " ").join(part.strip('"') for part in parts).strip())
            end = bool(re.search(r"[.:;?!][\")]?$", line))
        if end:
            for sentence in re.split(r"(?<=[.:;?!]) ", " ".join(words)):
                count = len(sentence.split())
                if count > 30:
                    yield start, f"a sentence has {count} words (at most 30): {sentence[:60]}"
            words = []
        is_code = is_code and line not in (".fi", ".EE")
        is_tag = line in (".TP", ".TQ")


def check_man():
    long = "w " * 31
    planted = ["x" * 101, "One.", long, ".PP", "w " * 16, ".BR a ,", "w " * 15, ".TP", long, "a: " + "w " * 30,
               ".nf", long, ".fi", "One two. " + "w " * 29]
    found = [number for number, _ in man_faults(planted)]
    check(found == [1, 3, 5], f"planted faults of a man page: found on lines {found}, expected 1, 3 and 5")
    pages = sorted(files(".1.in"))
    check(len(pages) >= 16, f"only {len(pages)} man pages found")
    for page in pages:
        for number, text in man_faults(read(os.path.join(ROOT, page)).splitlines()):
            check(False, f"{page}:{number}: {text}")


check_reach()
check_width()
check_man()
check_alerts()
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
