# SPDX-License-Identifier: MIT
"""pages - each document of docs/ is reachable by links from docs/README.md; README.md links to that; each alert of
neuron.rules.yml has one section of docs/alerts.md, in the same order, and its runbook_url leads there; the pages that lead to the
others have lines of at most 100 columns and cells of at most 200 characters."""
import os
import re
import sys

ROOT = os.environ["NTK_SOURCE_DIR"]
DOCS = os.path.join(ROOT, "docs")
START = os.path.join(DOCS, "README.md")
RULES = os.path.join(ROOT, "exporters/prometheus/rules/neuron.rules.yml")
BASE = "file:///usr/share/doc/neuron-toolkit/alerts.md#"
NARROW = ["README.md"] + ["docs/" + name for name in ("README.md", "start.md", "programs.md", "operate.md", "alerts.md", "kubernetes.md")]
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


def check_width():
    for page in NARROW:
        for number, line in enumerate(read(os.path.join(ROOT, page)).splitlines(), 1):
            if line.startswith("|"):
                longest = max(len(cell.strip()) for cell in line.split("|"))
                check(longest <= 200, f"{page}:{number}: a cell has {longest} characters (at most 200)")
            else:
                check(len(line) <= 100, f"{page}:{number}: the line has {len(line)} columns (at most 100)")


check_reach()
check_width()
check_alerts()
print(*failures, sep="\n")
sys.exit(1 if failures else 0)
