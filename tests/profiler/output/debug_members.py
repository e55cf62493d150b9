#!/usr/bin/env python3
"""debug_members write|damage FOLDER | check JSON SQLITE CSV CHROME | perfetto TEXT JSON | none JSON | source
JSON | lines JSON JSON BY - names of instructions by a rule.

Slot s > 1 of engine e has the BIR id 1000 * e + s, the name I-e-s and, if s is even, Penguin id s with a
text. It follows slot s - 1 (flow), slot 2 of engine 0 (an unknown kind), and a slot that does not exist.
Slots 4 and 5 share an id; slot 6 has no description.

All slots except 3 have a line, 100 * e + s, of b.py if e + s is odd, else of a.py. The tables of a member
start with a.py if e is even. Slot 4 is in the kernel tree, as inst.e of iteration h=0, t=e; if e is odd,
through a call of g in b.py, where engine 0 has another line. Slot 4 belongs to XLA operation 4 with frame 2,
slot 2 to operation 2; in the framework, both are parts of one model."""
import csv
import json
import os
import re
import sqlite3
import sys

ENGINES = ["PE", "Activation", "Pool", "DVE", "SP"]
TITLES = ["Tensor", "Scalar", "GpSimd", "Vector", "Sync"]
COLUMNS = ["bir_id", "raw_bir_id", "bir_instruction_name", "penguin_id", "raw_penguin_id", "penguin_text", "hlo_name", "hlo_attrs"]
POSITIONS = ["nki_source_location", "bir_debug_info_source_location", "kernel_instruction_name", "kernel_function", "iteration",
             "stack_frame_ids"]
HLOS = {4: {"hlo_name": "%dot.4 = dot(%x, %y)", "hlo_attrs": '[op_type="dot" source_file="/m.py" source_line=58]', "stack_frame_ids": "2"},
        2: {"hlo_name": "%add.2 = add(%x)", "hlo_attrs": '[op_type="add"]'}}
FRAMEWORK = {9: "Model/Layer[0]/dot.4", 8: "/Model//Layer[1]/"}


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


FILES = ["/k/a.py", "/k/“b”.py"]


def pair(key, value):
    return text(7, text(1, key.encode()) + text(2, str(value).encode()))


def name_of(engine, slot):
    return f"inst.{engine}-wait-0" if slot == 4 else f"I-{engine}-{slot}"


def line_of(engine, slot):
    """Returns the line of the back end; None: no line."""
    return None if slot == 3 else (FILES[(engine + slot) % 2], 100 * engine + slot)


def kernel_line_of(engine):
    return FILES[engine % 2], 100 * engine + 4 + (engine == 0)


def tree():
    def inst(e):
        return {"inst": {"name": f"inst.{e}", "line": kernel_line_of(e)[1]}}

    def call(e):
        return inst(e) if e % 2 == 0 else {"func": {"name": "g", "file": FILES[1], "line": 1, "children": [inst(e)]}}
    inner = [{"iter": {"var": "t", "val": str(e), "line": 7, "children": [call(e)]}} for e in range(5)]
    outer = {"iter": {"var": "h", "val": "0", "line": 6, "children": inner}}
    return [{"lnc": 1, "info": [{"func": {"name": "__main__.f", "file": FILES[0], "line": 5, "children": [outer]}}]}]


def position_of(engine, slot):
    """Returns the names that describe this slot in a row."""
    line = line_of(engine, slot)
    out = {} if line is None else {"bir_debug_info_source_location": f"{line[0]}:{line[1]}"}
    if slot == 4:
        file, number = kernel_line_of(engine)
        out |= {"nki_source_location": f"{file}:{number}", "kernel_instruction_name": f"inst.{engine}:4",
                "kernel_function": "g" if engine % 2 else "__main__.f",
                "iteration": [{"name": "h", "value": 0, "line": 6}, {"name": "t", "value": engine, "line": 7}]}
    return out


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
            entry = number(1, bir_of(e, s)) + text(2, name_of(e, s).encode()) + packed(4, *by) + packed(9, *by.values())
            entry += packed(5, 2) + packed(10, 77) + number(6, 3)
            if line_of(e, s):
                file, line = line_of(e, s)
                entry += pair("kernel_file", (FILES.index(file) + e) % 2) + pair("kernel_line", line) + pair("kernel_name", 0)
            if s % 2 == 0:
                entry += packed(3, s)
                slots.add(s)
            backend += text(3, entry)
        backend += text(5, FILES[e % 2].encode()) + text(5, FILES[1 - e % 2].encode()) + text(7, b"__main__.f")
        with open(f"{folder}/sg00/debug_info_asm_{name}.dbg", "wb") as f:
            f.write(asm)
        with open(f"{folder}/sg00/debug_info_backend_{name}.dbg", "wb") as f:
            f.write(backend)
    with open(f"{folder}/debug_info/debug_info_penguin.dbg_sg000000", "wb") as f:
        f.write(text(1, b"operations") + b"".join(
            text(3, number(1, s) + text(2, penguin_of(s).encode()) + (packed(3, s) if s in HLOS else b"")) for s in sorted(slots)))
    upper = {
        "hlo": text(3, number(1, 4) + text(2, HLOS[4]["hlo_name"].encode()) + packed(3, 9) + pair("op_type", "dot")
                    + pair("source_file", "/m.py") + pair("source_line", 58) + number(8, 2))
        + text(3, number(1, 2) + text(2, HLOS[2]["hlo_name"].encode()) + packed(3, 8) + pair("op_type", "add")),
        "pttf": b"".join(text(3, number(1, i) + text(2, name.encode())) for i, name in FRAMEWORK.items()),
    }
    for level, data in upper.items():
        with open(f"{folder}/debug_info/debug_info_{level}.dbg_sg000000", "wb") as f:
            f.write(text(1, b"operations") + data)
    with open(f"{folder}/debug_info/debug_info_stack_frame_index.dbg", "wb") as f:
        frames = text(1, b"/m.py") + text(2, b"<module>") + text(2, b"run")
        frames += b"".join(text(3, number(1, 1) + number(2, i) + number(3, 50 + i)) for i in (1, 2))
        f.write(text(6, frames + text(4, number(1, 1)) + text(4, number(1, 2) + number(2, 1))))
    with open(f"{folder}/kernel_debug_info.json", "w", encoding="utf-8") as f:
        json.dump({"debug_info_files": [{"file_name": "f.klir.debuginfo.json", "kernel_name": "f", "parent_tensorizer_id": 4}]}, f)
    with open(f"{folder}/f.klir.debuginfo.json", "w", encoding="utf-8") as f:
        json.dump(tree(), f)


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
        "bir_id": f"sg0000:{bir}" if bir else "", "raw_bir_id": bir, "bir_instruction_name": name_of(engine, named) if has_name else "",
        "penguin_id": f"sg0000:{named}" if has_penguin else "", "raw_penguin_id": named if has_penguin else 0,
        "hlo_name": "", "hlo_attrs": "[]" if bir else "",
    }
    if has_name:
        out |= position_of(engine, named)
    if has_name and named in HLOS:
        out |= HLOS[named]
    if has_penguin:
        out["penguin_text"] = penguin_of(named)
    types = {4: "FLOW_DEPENDENCE", 77: "77"}
    by = predecessors_of(engine, bir) if has_name else {}
    edges = [{"id": i, "type": types[kind]} for b, kind in sorted(by.items()) for i in ids.get(b, [])]
    if edges:
        out["predecessors"] = edges
    return out


SUMS = {"duration": "duration", "evt_wait_time": "evt_wait_time",
        **{f"{place}_{what}_bytes": f"{place}_{what}_bytes" for place in ("hbm", "sbuf", "psum") for what in ("read", "write")}}


def add(rows, count="instruction_count"):
    """Returns sums of rows of `instruction`, as a line, loop or iteration has them."""
    out = {count: len(rows), **{to: sum(r.get(of, 0) for r in rows) for of, to in SUMS.items()}}
    for title in TITLES:
        out[f"{title.lower()}_instruction_count"] = sum(r["subgroup"] == title for r in rows)
    return out


def cover(rows):
    """Returns the union of spans; rows have whole ns, so one ns per row may be missing."""
    end, total = None, 0
    for start, stop in sorted((r["timestamp"], r["timestamp"] + r["duration"]) for r in rows if r["opcode"] != "EVENT_SEMAPHORE"):
        total += max(0, stop - max(start, start if end is None else end))
        end = stop if end is None else max(end, stop)
    return total


def sums_agree(row, rows, prefix=""):
    for key, value in add(rows).items():
        assert row[prefix + key] == value, (row, prefix + key, value)
    assert abs(row[prefix + "active_time"] - cover(rows)) <= 2 * len(rows), (row, cover(rows))


def source(path):
    """Every sum of lines, loops and iterations is that of their rows; every row is in exactly one line."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    rows, lines = data["instruction"], data["source_line"]
    by_line, reasons = {}, {"runtime": [], "compiler": [], "no_debug_info": []}
    without = "compiler" if any("bir_debug_info_source_location" in r for r in rows) else "no_debug_info"
    for r in rows:
        if "bir_debug_info_source_location" in r:
            by_line.setdefault(r["bir_debug_info_source_location"], []).append(r)
        else:
            reasons[without if "compiler_pc" in r else "runtime"].append(r)
    seen = set()
    for line in lines:
        place = f"{line['file_path']}:{line['line_number']}" if "file_path" in line else line["reason"]
        assert place not in seen and ("reason" in line) != ("file_path" in line), line
        seen.add(place)
        of = by_line[place] if "file_path" in line else reasons[place]
        sums_agree(line, of)
        functions = [r["kernel_function"] for r in of if "kernel_function" in r]
        assert line.get("function") == (functions[0] if functions and "file_path" in line else None), line
        by = line.get("blocked_by", [])
        lines_by = [one for one in by if "file_path" in one]
        waited = sum(one["evt_wait_time"] for one in by)
        assert all(("reason" in one) != ("file_path" in one) for one in by) and len(lines_by) <= 3, line
        assert waited == line["evt_wait_time"] or "reason" in line or (len(lines_by) == 3 and waited < line["evt_wait_time"]), line
    assert seen == set(by_line) | {reason for reason, of in reasons.items() if of}
    for key in ["instruction_count", *SUMS]:
        assert sum(line[key] for line in lines) == add(rows)[key], key
    cost = [(line["evt_wait_time"] + line["duration"]) for line in lines if "file_path" in line]
    assert cost == sorted(cost, reverse=True)
    moved = sum(t.get("write_size", 0) for t in data["dma_transfer"])
    assert sum(line["transfer_bytes"] for line in lines) == moved
    triggers = {r["id"]: r for r in rows}
    for t in data["dma_transfer"]:
        key = "bir_debug_info_source_location"
        assert t.get(key) == triggers[t["trigger_id"]].get(key), t
    loops(data, [r for r in rows if "iteration" in r])
    print(f"{len(lines)} lines, {len(data['source_loop'])} loops, {len(data['source_iteration'])} iterations")


def loops(data, rows):
    by_id = {loop["id"]: loop for loop in data["source_loop"]}

    def path(loop):
        return (path(by_id[loop["parent_id"]]) if "parent_id" in loop else ()) + ((loop["variable_name"], loop["line_number"]),)
    own = lambda r: tuple((i["name"], i["line"]) for i in r["iteration"])
    values = lambda r, depth: ",".join(str(i["value"]) for i in r["iteration"][:depth])
    for loop in by_id.values():
        at = path(loop)
        inside = [r for r in rows if own(r)[:len(at)] == at]
        sums_agree(loop, [r for r in inside if own(r) == at])
        sums_agree(loop, inside, "total_")
        iterations = [i for i in data["source_iteration"] if i["loop_id"] == loop["id"]]
        assert len(iterations) == loop["iteration_count"] == len({values(r, len(at)) for r in inside}), loop
        for i in iterations:
            of = [r for r in inside if values(r, len(at)) == i["values"]]
            sums_agree(i, of, "total_")
            sums_agree(i, [r for r in of if own(r) == at])
            assert i["start"] == min(r["timestamp"] for r in of) and i["span"] == i["end"] - i["start"], i
            assert 0 <= i["end"] - max(r["timestamp"] + r["duration"] for r in of) <= 1, i
        if iterations:
            spans = [i["span"] for i in iterations]
            assert loop["max_span"] == max(spans) and loop["mean_span"] == sum(spans) / len(spans), loop
            assert loop["max_span"] == next(i for i in iterations if i["values"] == loop["max_span_value"])["span"], loop
            assert loop["span"] == max(i["end"] for i in iterations) - min(i["start"] for i in iterations), loop
            assert abs(loop["overlap"] - (sum(spans) / loop["span"] if loop["span"] else 0)) < 1e-9, loop
    assert sum(loop["instruction_count"] for loop in by_id.values()) == len(rows)


def arrays(path):
    """The tree and the frames are as they were written."""
    with open(path, encoding="utf-8") as f:
        data = json.load(f)
    assert [(k["kernel_instruction_name"], k["stack_frame_depth"], k["iteration_variables_id"], k["iteration_variable_depth"],
             k["file_path"], k["line_number"]) for k in data["kernel_instruction"]] == [
        (f"inst.{e}:4", 1 + e % 2, 2 + e, 2, *kernel_line_of(e)) for e in range(5)], data["kernel_instruction"]
    assert [(v["variable_name"], v["variable_value"], v.get("parent_iteration_variable_id"), v["file_path"], v["line_number"])
            for v in data["kernel_iteration_variable"]] == [("h", 0, None, FILES[0], 6)] + [
        ("t", e, 1, FILES[0], 7) for e in range(5)], data["kernel_iteration_variable"]
    assert [(f["stack_frame_id"], f["fully_qualified_function_name"], f.get("parent_stack_frame_id"), f["line_number"])
            for f in data["kernel_stack_frame"]] == [(1, "__main__.f", None, 5), (2, "g", 1, 1), (3, "g", 1, 1)]
    assert {k.get("pcore_idx") for key in ("kernel_instruction", "kernel_iteration_variable", "kernel_stack_frame") for k in data[key]} == {0}
    assert data["stack_frame"] == [{"id": "1", "file_location_id": 1, "parent_frame_id": "0"},
                                   {"id": "2", "file_location_id": 2, "parent_frame_id": "1"}]
    assert data["stack_frame_file_location"] == [
        {"id": str(i), "file_name_id": 1, "function_name_id": i, "line_number": 50 + i} for i in (1, 2)]
    assert data["stack_frame_file_name"] == [{"id": "1", "name": "/m.py"}]
    assert data["stack_frame_function_name"] == [{"id": "1", "name": "<module>"}, {"id": "2", "name": "run"}]
    assert len(data["source_iteration"]) > 3 and any("blocked_by" in line for line in data["source_line"])
    assert any("disagree on the lines of 2 slots" in w["message"] for w in data["warnings"]), data["warnings"]


def lines(path, ranked, by):
    """The lines of the profile in another order; a.py has texts up to line 150."""
    with open(path, encoding="utf-8") as f:
        wanted = json.load(f)["source_line"]
    with open(ranked, encoding="utf-8") as f:
        got = json.load(f)["source_line"]
    rank = {"stall": lambda r: r["evt_wait_time"], "time": lambda r: r["duration"],
            "bytes": lambda r: r["hbm_read_bytes"] + r["hbm_write_bytes"]}[by]
    place = lambda r: (r.get("file_path", ""), r.get("line_number", 0), r.get("reason", ""))
    for row in got:
        is_known = row.get("file_path") == FILES[0] and row["line_number"] <= 150
        assert row.pop("text", None) == (f"load({row['line_number']})" if is_known else None), row
    assert sorted(got, key=place) == sorted(wanted, key=place)
    ranks = [rank(r) for r in got if "file_path" in r]
    assert ranks == sorted(ranks, reverse=True) and len(ranks) > 10, ranks
    assert all("reason" in r for r in got[len(ranks):])


def check(path, sqlite, folder, chrome):
    arrays(path)
    source(path)
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
        has = {k: row[k] for k in [*COLUMNS, *POSITIONS, "predecessors"] if k in row}
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
    """Returns pairs of name and tensor, through the tables of the first packet."""
    with open(path, encoding="utf-8") as f:
        trace = f.read()
    plain = lambda t: bytes(t, "utf-8").decode("unicode_escape").encode("latin-1").decode("utf-8")
    names = dict(re.findall(r'debug_annotation_names \{\s+iid: (\d+)\s+name: "(.*)"', trace))
    texts = {i: plain(t) for i, t in re.findall(r'debug_annotation_string_values \{\s+iid: (\d+)\s+str: "(.*)"', trace)}
    pairs = []
    follows = 0
    for packet in re.split(r"^packet \{$", trace, flags=re.M):
        args = {names[n]: texts[v] for n, v in re.findall(r"name_iid: (\d+)\s+string_value_iid: (\d+)", packet)}
        args.update((names[n], plain(t)) for n, t in re.findall(r'name_iid: (\d+)\s+string_value: "(.*)"', packet))
        if "type: SLICE_BEGIN" in packet and "bir_instruction_name" in args:
            pairs.append((args["bir_instruction_name"], args.get("penguin_text", "")))
            follows += "predecessors" in args
    with open(wanted, encoding="utf-8") as f:
        rows = json.load(f)["instruction"]
    want = [(r["bir_instruction_name"], r.get("penguin_text", "")) for r in rows if r["bir_instruction_name"]]
    assert sorted(pairs) == sorted(want) and want, (sorted(pairs)[:3], sorted(want)[:3])
    assert follows, "no instruction has a predecessor"


def none(path):
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)["instruction"]
    assert rows and not any(k in row for row in rows for k in [*COLUMNS, *POSITIONS, "predecessors"])
    source(path)


if __name__ == "__main__":
    {"write": write, "damage": damage, "check": check, "perfetto": perfetto, "none": none, "source": source, "lines": lines}[sys.argv[1]](*sys.argv[2:])
