#!/usr/bin/env python3
"""vendor_json OURS THEIRS - every row and key of our JSON against the original's of the same capture.

Rows are compared as sets, with the keys that we print. Left out: numbers that are merely unique, our own
version and paths, wording of warnings. Known not to be reproducible: a nanosecond of evt_wait_time in a few
rows, hfu_estimated_percent in the 8th digit (docs/formats/profile-json.md).
"""
import collections
import json
import sys

FREE = {
    "instruction": {"id", "penguin_text"},
    "dma": {"id", "packet_aggregation_id"},
    "profile_info": {"ntff_filename", "profiler_version", "profile_name", "neff_name"},
    "summary": {"profiler_version"},
    "warnings": {"message"},
    "terminology": None,
}
# What cannot be known from capture and NEFF alone; any other array or key of theirs must be among ours.
ABSENT = {
    None: set(),
    "dma": {"dest", "op", "source", "variable"},
    "metadata": {"total_point_count"},
    "profile_info": {"profiler_build_time"},
}
WAIT_NS = 1
HFU_RATIO = 3e-8


def text(row, keys):
    return json.dumps({k: row[k] for k in sorted(keys) if k in row}, sort_keys=True)


def name_predecessors(rows):
    """Ids are merely unique: whose they are is what counts. Order means nothing."""
    whose = {r["id"]: [r["subgraph"], r["label"], r["timestamp"], r["pc"]] for r in rows}
    for row in rows:
        if "predecessors" in row:
            row["predecessors"] = sorted([*whose[p["id"]], p["type"]] for p in row["predecessors"])
    return sum(len(r.get("predecessors", [])) for r in rows)


def align(name, ours, theirs):
    """Gives our rows their figure where it is within the known tolerance."""
    if name == "summary":
        for a, b in zip(ours, theirs):
            if abs(a["hfu_estimated_percent"] / b["hfu_estimated_percent"] - 1) < HFU_RATIO:
                a["hfu_estimated_percent"] = b["hfu_estimated_percent"]
    if name == "instruction":
        key = lambda r: (r["subgraph"], r["label"], r["timestamp"], r["pc"])
        waits = {key(r): r["evt_wait_time"] for r in theirs}
        for row in ours:
            wait = waits.get(key(row))
            if wait is not None and abs(row["evt_wait_time"] - wait) <= WAIT_NS:
                row["evt_wait_time"] = wait


def main():
    with open(sys.argv[1], encoding="utf-8") as a, open(sys.argv[2], encoding="utf-8") as b:
        ours, theirs = json.load(a), json.load(b)
    failures = values = 0
    for name in sorted(set(ours) - set(theirs)):
        print("the original has no array", name)
        failures += 1
    edges = name_predecessors(ours["instruction"])
    name_predecessors(theirs["instruction"])
    wanted = {None: (set(ours), set(theirs))}
    wanted.update((n, (set().union(*ours.get(n, []), set()), set().union(*rows, set()))) for n, rows in theirs.items())
    for name, (has, needs) in wanted.items():
        for key in sorted(needs - has - ABSENT.get(name, set())):
            if name not in ABSENT[None]:
                print(f"{key} of {name} is missing" if name else f"the array {key} is missing")
                failures += 1
    for name, rows in ours.items():
        if FREE.get(name, set()) is None or name not in theirs:
            continue
        align(name, rows, theirs[name])
        keys = set().union(*rows, set()) - FREE.get(name, set())
        left = collections.Counter(text(r, keys) for r in rows)
        left.subtract(collections.Counter(text(r, keys) for r in theirs[name]))
        wrong = [(n, r) for r, n in left.items() if n]
        for count, row in wrong[:6]:
            print(name, "only ours" if count > 0 else "only theirs", row[:300])
        failures += len(wrong)
        values += len(rows) * len(keys)
    print(f"{values} values compared, {edges} edges to predecessors among them")
    return 1 if failures or not values else 0


sys.exit(main())
