# SPDX-License-Identifier: MIT
"""pages - each document of docs/ is reachable by links from docs/README.md; README.md links to that; each alert of
neuron.rules.yml has one section of docs/alerts.md, in the same order, and its runbook_url leads there; all Markdown files have
lines of at most 100 columns (code, links and addresses excepted) and table cells of at most 200 characters."""
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
    """The pages that a page links to."""
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


def markdown_files():
    for folder, inside, names in os.walk(ROOT):
        inside[:] = [name for name in inside if name not in (".git", "build")]
        for name in names:
            if name.endswith(".md"):
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
    for page in sorted(markdown_files()):
        for number, text in width_faults(read(os.path.join(ROOT, page)).splitlines()):
            check(False, f"{page}:{number}: {text}")


check_reach()
check_width()
check_alerts()
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
