#!/usr/bin/env python3
"""debug_members write|damage FOLDER | check JSON SQLITE CSV CHROME | perfetto TEXT JSON | none JSON - names of instructions by a rule.

Slot s > 1 of engine e has the BIR id 1000 * e + s, the name I-e-s and, where s is even, Penguin id s with a text;
it follows slot s - 1 (flow), slot 2 of engine 0 (a kind that nobody knows), and one that is nowhere. Slots 4 and 5
share an id, slot 6 is described by nobody.
"""
import csv
import json
import os
import re
import sqlite3
import sys

ENGINES = ["PE", "Activation", "Pool", "DVE", "SP"]
TITLES = ["Tensor", "Scalar", "GpSimd", "Vector", "Sync"]
COLUMNS = ["bir_id", "raw_bir_id", "bir_instruction_name", "penguin_id", "raw_penguin_id", "penguin_text", "hlo_name", "hlo_attrs"]


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def text(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def number(field, value):
    return varint(field << 3) + varint(value)


def packed(field, *values):
    return text(field, b"".join(map(varint, values)))


def bir_of(engine, slot):
    return 0 if slot < 2 else 1000 * engine + (4 if slot == 5 else slot)


def penguin_of(slot):
    return f"float32<128 x {slot}> ${slot}[i_{slot}, “é”]"


def predecessors_of(engine, bir):
    slot = bir - 1000 * engine
    return {**({1000 * engine + slot - 1: 4} if slot > 2 else {}), 2: 77, 999999: 1}


def write(folder):
    os.makedirs(f"{folder}/debug_info", exist_ok=True)
    slots = set()
    for e, name in enumerate(ENGINES):
        path = f"{folder}/sg00/{name}.bin"
        count = os.path.getsize(path) // 64 if os.path.exists(path) else 0
        asm = text(1, b"slots") + text(2, b"x")
        backend = text(1, b"instructions")
        for s in range(count):
            asm += text(3, packed(3, bir_of(e, s)) if s > 1 else b"")
            if s < 2 or s in (5, 6):
                continue
            by = predecessors_of(e, bir_of(e, s))
            entry = number(1, bir_of(e, s)) + text(2, f"I-{e}-{s}".encode()) + packed(4, *by) + packed(9, *by.values())
            entry += packed(5, 2) + packed(10, 77) + number(6, 3)
            if s % 2 == 0:
                entry += packed(3, s)
                slots.add(s)
            backend += text(3, entry)
        with open(f"{folder}/sg00/debug_info_asm_{name}.dbg", "wb") as f:
            f.write(asm)
        with open(f"{folder}/sg00/debug_info_backend_{name}.dbg", "wb") as f:
            f.write(backend)
    with open(f"{folder}/debug_info/debug_info_penguin.dbg_sg000000", "wb") as f:
        f.write(text(1, b"operations") + b"".join(text(3, number(1, s) + text(2, penguin_of(s).encode())) for s in sorted(slots)))


def damage(folder):
    path = f"{folder}/sg00/debug_info_backend_PE.dbg"
    with open(path, "r+b") as f:
        f.truncate(os.path.getsize(path) - 1)


def wanted(row, ids):
    engine = TITLES.index(row["subgroup"])
    slot = row.get("compiler_pc", 0)
    bir = bir_of(engine, slot)
    has_name = bir and slot != 6
    named = bir - 1000 * engine
    has_penguin = has_name and named % 2 == 0
    out = {
        "bir_id": f"sg0000:{bir}" if bir else "", "raw_bir_id": bir, "bir_instruction_name": f"I-{engine}-{named}" if has_name else "",
        "penguin_id": f"sg0000:{named}" if has_penguin else "", "raw_penguin_id": named if has_penguin else 0,
        "hlo_name": "", "hlo_attrs": "[]" if bir else "",
    }
    if has_penguin:
        out["penguin_text"] = penguin_of(named)
    types = {4: "FLOW_DEPENDENCE", 77: "77"}
    by = predecessors_of(engine, bir) if has_name else {}
    edges = [{"id": i, "type": types[kind]} for b, kind in sorted(by.items()) for i in ids.get(b, [])]
    if edges:
        out["predecessors"] = edges
    return out


def check(path, sqlite, folder, chrome):
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["instruction"]
    ids = {}
    for row in rows:  # those that a member describes
        slot = row.get("compiler_pc", 0)
        bir = bir_of(TITLES.index(row["subgroup"]), slot)
        if bir and slot != 6:
            ids.setdefault(bir, []).append(row["id"])
    edges = 0
    for row in rows:
        want = wanted(row, ids)
        has = {k: row[k] for k in [*COLUMNS, "predecessors"] if k in row}
        assert has == want, f"{row}\nis not\n{want}"
        edges += len(want.get("predecessors", []))
    assert edges > 20 and any(len(list_) > 1 for list_ in ids.values()), (edges, len(rows))
    by_id = {row["id"]: row for row in rows}
    columns = [*COLUMNS, "predecessors"]
    with sqlite3.connect(sqlite) as db:
        for values in db.execute(f"select id, {', '.join(columns)} from Instruction"):
            row = by_id[values[0]]
            has = dict(zip(columns, values[1:]))
            has["predecessors"] = json.loads(has["predecessors"]) if has["predecessors"] else None
            assert has == {k: row.get(k) for k in columns}, (has, row)
    with open(f"{folder}/Instruction.csv", encoding="utf-8", newline="") as f:
        for values in csv.DictReader(f):
            assert values["bir_instruction_name"] == by_id[int(values["id"])]["bir_instruction_name"], values
    with open(chrome, encoding="utf-8") as f:
        shown = [e["args"] for e in json.load(f)["traceEvents"] if "pc" in e.get("args", {})]
    assert sorted(a.get("bir_instruction_name", "") for a in shown) == sorted(r["bir_instruction_name"] for r in rows)
    assert sorted(a.get("penguin_text", "") for a in shown) == sorted(r.get("penguin_text", "") for r in rows)
    print(f"{len(rows)} instructions, {edges} edges")


def perfetto(path, wanted):
    """Pairs of name and tensor, through the tables of the first packet."""
    with open(path, encoding="utf-8") as f:
        trace = f.read()
    plain = lambda t: bytes(t, "utf-8").decode("unicode_escape").encode("latin-1").decode("utf-8")
    names = dict(re.findall(r'debug_annotation_names \{\s+iid: (\d+)\s+name: "(.*)"', trace))
    texts = {i: plain(t) for i, t in re.findall(r'debug_annotation_string_values \{\s+iid: (\d+)\s+str: "(.*)"', trace)}
    pairs = []
    follows = 0
    for packet in re.split(r"^packet \{$", trace, flags=re.M):
        args = {names[n]: texts[v] for n, v in re.findall(r"name_iid: (\d+)\s+string_value_iid: (\d+)", packet)}
        if "type: SLICE_BEGIN" in packet and "bir_instruction_name" in args:
            pairs.append((args["bir_instruction_name"], args.get("penguin_text", "")))
            follows += "predecessors" in args
    with open(wanted, encoding="utf-8") as f:
        rows = json.load(f)["instruction"]
    want = [(r["bir_instruction_name"], r.get("penguin_text", "")) for r in rows if r["bir_instruction_name"]]
    assert sorted(pairs) == sorted(want) and want, (sorted(pairs)[:3], sorted(want)[:3])
    assert follows, "nothing follows anything"


def none(path):
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["instruction"]
    assert rows and not any(k in row for row in rows for k in [*COLUMNS, "predecessors"])


if __name__ == "__main__":
    {"write": write, "damage": damage, "check": check, "perfetto": perfetto, "none": none}[sys.argv[1]](*sys.argv[2:])
