# SPDX-License-Identifier: MIT
"""formats - every key of a report's schema is in docs/formats/report.md. (tests/docs/names has the other direction; tests of
the store draw store.md and archive-columns.md.)"""
import json
import os
import re
import subprocess
import sys

ROOT = os.environ["NTK_SOURCE_DIR"]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def words(page):
    """What the page has as code."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", read(page)))))


def keys(node):
    """The keys of all objects that the schema describes."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from keys(child)


def main():
    monitor = os.path.join(os.environ["NTK_BUILD_DIR"], "bin/neuron-monitor")
    schema = json.loads(subprocess.run([monitor, "--schema"], check=True, capture_output=True).stdout)
    missing = {f"docs/formats/report.md: key {key}" for key in keys(schema) if key not in words("docs/formats/report.md")}
    for text in sorted(missing):
        print("missing:", text)
    sys.exit(bool(missing))


main()
