#!/usr/bin/env python3
"""vendor_json OURS THEIRS DOC - compares every array, row and key of our JSON with the original tool's for
the same capture.

Rows are compared as sets, with all their keys. The table of docs/formats/profile-json.md (DOC) between its
two marks lists all permitted differences. A difference that is not in the table is an error, and so is an
entry without a difference.

    other     in both, with another value        absent   only in the original's
    more      only in ours                       N        no further apart than N      N of it    than N times itself
    unknown   unknown in theirs, in each row: "unknown", or a list of it, or an empty text
    ends      theirs counts only starts: so do ours without the rows in which a span ends"""
import collections
import json
import re
import sys


def differences(path):
    """Returns {array: {key: how}}; key None: the whole array; array None: its keys are arrays."""
    with open(path, encoding="utf-8") as page:
        table = re.search(r"<!-- differences:begin -->\n(.*?)<!-- differences:end -->", page.read(), re.S).group(1)
    found = {}
    for line in table.splitlines()[2:]:
        array, keys, how, why = (cell.strip() for cell in line.strip("|").split("|"))
        assert why, line
        for key in re.findall(r"`([^`]+)`", keys) or [None]:
            assert key not in found.setdefault(array.strip("`") or None, {}), line
            found[array.strip("`") or None][key] = how
    return found


def allowed(known, name, *hows):
    return {key for key, how in known.get(name, {}).items() if how in hows}


def text(row, keys):
    return json.dumps({k: row[k] for k in sorted(keys) if k in row}, sort_keys=True)


def name_predecessors(rows):
    """Replaces ids by the rows that they name, because ids need only be unique. Sorts them."""
    whose = {r["id"]: [r["subgraph"], r["label"], r["timestamp"], r["pc"]] for r in rows}
    for row in rows:
        if "predecessors" in row:
            row["predecessors"] = sorted([*whose[p["id"]], p["type"]] for p in row["predecessors"])
    return sum(len(r.get("predecessors", [])) for r in rows)


def same_row(name, row):
    """Returns the key that pairs one of our rows with one of theirs."""
    return (row["subgraph"], row["label"], row["timestamp"], row["pc"]) if name == "instruction" else 0


def align(known, name, ours, theirs):
    """Copies their figures into our rows if they are as close as the table permits; returns the number of
    copies."""
    given = 0
    for key, how in known.get(name, {}).items():
        if key is None or not how[0].isdigit():
            continue
        near = float(how.split()[0])
        figures = {same_row(name, row): row[key] for row in theirs if key in row}
        for row in ours:
            figure = figures.get(same_row(name, row))
            if figure is None or key not in row or row[key] == figure:
                continue
            if abs(row[key] - figure) <= (near * abs(figure) if how.endswith("of it") else near):
                row[key] = figure
                given += 1
    return given


UNKNOWN = ("unknown", ["unknown"], [["unknown"]], "")


def without_ends(rows, key):
    """Rows are in time order; each that starts a span adds one to its subgraph."""
    last, begun, kept = {}, collections.Counter(), []
    for row in rows:
        core = row["subgraph"]
        if row[key] > last.get(core, 0):
            begun[core] += 1
            kept.append({**row, key: begun[core]})
        assert abs(row[key] - last.get(core, 0)) == 1 and row[key] >= 0, row
        last[core] = row[key]
    assert not any(last.values()), "a span has no end"
    return kept


def keys_of(rows):
    return set().union(*rows, set())


def compare_keys(known, ours, theirs):
    """Compares the keys of arrays (name None) and of the rows of each."""
    failures = []
    pairs = {None: (set(ours), set(theirs))}
    pairs.update((name, (keys_of(ours.get(name, [])), keys_of(theirs.get(name, [])))) for name in set(ours) | set(theirs))
    for name, (has, needs) in pairs.items():
        listed = known.get(name, {})
        if name is not None and (name not in ours or name not in theirs):
            continue
        for what, keys, how in (("is missing", needs - has, "absent"), ("is not the original's", has - needs, "more")):
            failures += [f"{key} of {name or 'all'} {what}" for key in sorted(keys - allowed(known, name, how))]
        for key, how in listed.items():
            there = (key in needs and key not in has) if how == "absent" else (
                (key in has and key not in needs) if how == "more" else key is None or key in has & needs)
            if not there:
                failures.append(f"the table of differences says {how} of {key} of {name}, and it is not")
    return failures


def main():
    with open(sys.argv[1], encoding="utf-8") as a, open(sys.argv[2], encoding="utf-8") as b:
        ours, theirs = json.load(a), json.load(b)
    known = differences(sys.argv[3])
    ours["warnings"] = [row for row in ours["warnings"] if row["category"] != "metrics"]  # only in our output
    edges = name_predecessors(ours["instruction"])
    name_predecessors(theirs["instruction"])
    failures = compare_keys(known, ours, theirs)
    values = given = 0
    for name in sorted(set(ours) & set(theirs)):
        if None in known.get(name, {}):
            continue
        given += align(known, name, ours[name], theirs[name])
        for key in allowed(known, name, "ends"):
            ours[name] = without_ends(ours[name], key)
        for key in allowed(known, name, "unknown"):
            failures += [f"{key} of {name} is known: {row[key]}" for row in theirs[name] if row[key] not in UNKNOWN]
        keys = (keys_of(ours[name]) | keys_of(theirs[name])) - allowed(known, name, "other", "absent", "more", "unknown")
        left = collections.Counter(text(r, keys) for r in ours[name])
        left.subtract(collections.Counter(text(r, keys) for r in theirs[name]))
        wrong = [(n, r) for r, n in left.items() if n]
        for count, row in wrong:
            failures.append(f"{name} only {'ours' if count > 0 else 'theirs'} {row[:300]}")
        values += sum(len(keys & set(row)) for row in theirs[name])
    for failure in failures[:40]:
        print(failure)
    print(f"{values} values compared, {given} of them near, {edges} edges to predecessors among them")
    return 1 if failures or not values else 0


sys.exit(main())
