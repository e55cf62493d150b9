#!/usr/bin/env python3
"""trace_rows TRACE.txt TRACE.json FILE.sqlite - compares a Perfetto trace, as protoc prints it, and a Chrome
trace with the tables.

Both have every instruction, packet and transfer once, on lines without overlaps, and every counter. Counters
without a table are the same in both, and add up to the figures of the summary."""
import collections
import json
import re
import sqlite3
import struct
import sys


def perfetto(path):
    """Returns spans as (core, thread, name, start, duration), counters as (core, name, time, value)."""
    tracks, names, open_spans = {}, {}, {}
    spans, counters = [], []
    with open(path, encoding="utf-8") as file:
        for packet in re.split(r"^packet \{$", file.read(), flags=re.M)[1:]:
            field = lambda name: re.search(rf"^ +{name}: (.*)$", packet, re.M)
            get = lambda name: field(name) and field(name).group(1)
            for iid, name in re.findall(r'event_names \{\s+iid: (\d+)\s+name: "(.*)"', packet):
                names[iid] = name
            if "track_descriptor {" in packet:
                process = get("process_name")
                tracks[get("uuid")] = {
                    "name": (process or get("thread_name") or get("name")).strip('"'),
                    "pid": get("pid"), "parent": get("parent_uuid"), "counter": "counter {" in packet,
                    "process": bool(process),
                }
                continue
            kind, track, time = get("type"), get("track_uuid"), int(get("timestamp") or 0)
            if kind == "SLICE_BEGIN":
                assert track not in open_spans, "two overlapping spans on one line"
                name = re.search(r"type: SLICE_BEGIN\n +name_iid: (\d+)", packet).group(1)
                open_spans[track] = (names[name], time)
            elif kind == "SLICE_END":
                name, start = open_spans.pop(track)
                spans.append((track, name, start, time - start))
            elif kind == "COUNTER":
                assert tracks[track]["counter"], "a value of a track that is not a counter"
                value = get("counter_value") or get("double_counter_value") or 0
                counters.append((tracks[track]["parent"], tracks[track]["name"], time, float(value)))
    assert not open_spans
    def root(track):
        of = tracks[track]
        return of["pid"] or root(of["parent"])
    lines = collections.Counter((t, s) for t, _, s, d in spans if d)
    assert all(n == 1 for n in lines.values()), "two spans start simultaneously on one line"
    return ([(int(root(t)) - 1, tracks[t]["name"], n, s, d) for t, n, s, d in spans],
            [(int(root(p)) - 1, n, t, v) for p, n, t, v in counters])


def chrome(path):
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    lines = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans, last, counters = [], {}, []
    for e in events:
        if e["ph"] == "X":
            start, duration = round(e["ts"] * 1000), round(e["dur"] * 1000)
            key = e["pid"], e["tid"]
            assert last.get(key, 0) <= start, "spans overlap"
            last[key] = start + duration
            spans.append((e["pid"] - 1, lines[key], e["name"], start, duration))
        elif e["ph"] == "C":
            (value,) = e["args"].values()
            counters.append((e["pid"] - 1, e["name"], round(e["ts"] * 1000), float(value)))
    return spans, counters


def tables(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    title = {"tensor": "Tensor", "scalar": "Scalar", "gpsimd": "GpSimd", "vector": "Vector", "sync": "Sync"}
    spans = [(c, title[e], o, s, d) for c, e, o, s, d in
             db.execute("select pcore_idx, engine, opcode, start_ts, duration_ns from Instruction")]
    spans += [(c, (f"{n} " if n else "") + f"Q{q}-E{e}", t, s, d) for c, n, q, e, t, s, d in db.execute(
        "select pcore_idx, queue_name, queue_idx, engine_idx, queue_type, start_ts, duration_ns from DmaPacket")]
    spans += [(c, f"Transfers {n}", o or "transfer", s, d) for c, n, o, s, d in db.execute(
        "select pcore_idx, queue_name, op, start_ts, duration_ns from DmaPacketAggregated")]
    counters = [(c, "DMA throughput", t, v) for c, t, v in
                db.execute("select pcore_idx, timestamp, current_throughput from DmaUsage")]
    counters += [(c, "Pending DMA", t, v) for c, t, v in db.execute("select pcore_idx, timestamp, value from PendingDma")]
    counters += [(c, f"Semaphore {i}", t, v) for c, i, t, v in
                 db.execute("select pcore_idx, id, timestamp, value from SemaphoreUpdate")]
    counters += [(c, "Throttle limit", t, k / n) for c, t, k, n in
                 db.execute("select pcore_idx, timestamp, k, n from Throttle")]
    return spans, counters


DERIVED = re.compile(r"(SBUF|PSUM|PSUM bank \d) live|MFU|HBM (read|written)")


def parted(rows):
    """Returns spans and counters of tables, and other counters by core and name, in time order."""
    derived = collections.defaultdict(list)
    for core, name, time, value in rows[1]:
        if DERIVED.fullmatch(name):
            derived[core, name].append((time, value))
    return [rows[0], [r for r in rows[1] if not DERIVED.fullmatch(r[1])]], dict(derived)


def sums(derived, database):
    """Compares HBM bytes and MFU of all cores over time with the summary. Times of the file are whole ns."""
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    (row,) = db.execute("select * from Summary").fetchall()
    cores = db.execute("select count(distinct pcore_idx) from Instruction").fetchone()[0]
    known = {"HBM read": row["hbm_read_bytes"], "HBM written": row["hbm_write_bytes"]}
    if row["mfu_inst_estimated_percent"] is not None and row["total_time"]:
        known["MFU"] = row["mfu_inst_estimated_percent"] * 100 * cores * row["total_time"]
    for name, wanted in known.items():
        series = [points for (_, n), points in derived.items() if n == name]
        if not series:
            continue
        got = sum(v * (after - t) * 1e-9 for points in series for (t, v), (after, _) in zip(points, points[1:]))
        slack = sum(abs(b[1] - a[1]) for points in series for a, b in zip(points, points[1:])) * 2e-9
        if wanted is None or abs(got - wanted) > slack + 1e-6 * wanted:
            sys.exit(f"{name}: {got} over time, the summary has {wanted}")
    for (core, name), points in derived.items():
        if points[-1][1] != 0 or min(v for _, v in points) < 0:
            sys.exit(f"{name} of core {core} does not end with 0, or is negative: {points[-3:]}")
        if name == "MFU" and not 0 < max(v for _, v in points) <= 100.0001:
            sys.exit(f"MFU is always 0, or above 100%: {max(v for _, v in points)}")
    for (core, name), points in derived.items():
        if name == "PSUM live":
            banks = max(v for (c, n), of in derived.items() if c == core and "bank" in n for _, v in of)
            if max(v for _, v in points) < banks:
                sys.exit("a bank of PSUM has more than PSUM")


def same(what, ours, wanted):
    # Rates have 24 bits: Chrome's text is the shortest one that reads back as the same number.
    bits = lambda value: struct.pack("<f", value)
    ours = [[(*r[:-1], bits(r[-1])) for r in rows] for rows in ours]
    wanted = [[(*r[:-1], bits(r[-1])) for r in rows] for rows in wanted]
    for kind, a, b in zip(("spans", "counters"), ours, wanted):
        left = collections.Counter(a)
        left.subtract(collections.Counter(b))
        wrong = [(r, n) for r, n in left.items() if n]
        if wrong or not a:
            sys.exit(f"{what}: {kind}: {len(wrong)} differ, such as {wrong[:3]}")


def words(traces, database):
    """Compares operands, origins and predecessors of instructions: how often each text is an argument, in
    both and in the table."""
    keys = ("operands", "compiler_operands", "penguin_text", "bir_instruction_name", "layer")
    with open(traces[0], encoding="utf-8") as file:
        text = file.read()
    plain = lambda t: bytes(t, "utf-8").decode("unicode_escape").encode("latin-1").decode("utf-8")
    names = dict(re.findall(r'debug_annotation_names \{\s+iid: (\d+)\s+name: "(.*)"', text))
    texts, shown = {}, [collections.Counter(), collections.Counter(), collections.Counter()]
    follows = [0, 0, 0]
    # A text is defined before it is used.
    for packet in re.split(r"^packet \{$", text, flags=re.M)[1:]:
        texts.update((i, plain(t)) for i, t in re.findall(r'debug_annotation_string_values \{\s+iid: (\d+)\s+str: "(.*)"', packet))
        if "type: SLICE_BEGIN" in packet:
            args = {names[n]: texts[v] for n, v in re.findall(r"name_iid: (\d+)\s+string_value_iid: (\d+)", packet)}
            args.update((names[n], plain(t)) for n, t in re.findall(r'name_iid: (\d+)\s+string_value: "(.*)"', packet))
            shown[0].update((k, args[k].strip()) for k in keys if k in args)
            follows[0] += "predecessors" in args
    with open(traces[1], encoding="utf-8") as file:
        for event in json.load(file)["traceEvents"]:
            shown[1].update((k, event["args"][k].strip()) for k in keys if event["ph"] == "X" and k in event["args"])
            follows[1] += event["ph"] == "X" and "predecessors" in event["args"]
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for row in db.execute(f"select {', '.join(keys)}, predecessors from Instruction"):
        shown[2].update((k, v.strip()) for k, v in zip(keys, row) if v)
    shown = [collections.Counter({k: n for k, n in one.items() if k[1]}) for one in shown]
    for name, one in (("perfetto", shown[0]), ("chrome", shown[1])):
        left = (one - shown[2]) + (shown[2] - one)
        if left:
            sys.exit(f"{name}: texts of instructions: {list(left.items())[:3]}")
    if follows[0] != follows[1]:
        sys.exit(f"perfetto has {follows[0]} instructions that follow others, chrome {follows[1]}")


def main():
    wanted = tables(sys.argv[3])
    io = [[(c, n, "io" if t == "unknown" else t, s, d) for c, n, t, s, d in wanted[0]], wanted[1]]
    theirs, derived = parted(perfetto(sys.argv[1]))
    same("perfetto", theirs, io)
    theirs, again = parted(chrome(sys.argv[2]))
    same("chrome", theirs, wanted)
    if derived != again:
        sys.exit(f"counters differ: {[k for k in {*derived, *again} if derived.get(k) != again.get(k)]}")
    sums(derived, sys.argv[3])
    words(sys.argv[1:3], sys.argv[3])


main()
