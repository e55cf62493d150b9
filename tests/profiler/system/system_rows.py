#!/usr/bin/env python3
"""system_rows TRACE.txt TRACE.json FILE.sqlite - compares folders of inspections as a Perfetto trace (as
protoc prints it) and as a Chrome trace with the tables: each event once, on its line, spans of one line
nested, every sample, and captures in their place."""
import collections
import json
import re
import sqlite3
import sys


def perfetto(path):
    """Returns the zero in ns since 1970; (process, line, name, start, duration); (process, name, time,
    value)."""
    tracks, stacks, spans, counters, zero = {}, collections.defaultdict(list), [], [], None
    events = []
    with open(path, encoding="utf-8") as file:
        for packet in re.split(r"^packet \{$", file.read(), flags=re.M)[1:]:
            field = lambda name: re.search(rf"^ +{name}: (.*)$", packet, re.M)
            get = lambda name: field(name) and field(name).group(1).strip('"')
            if "clock_snapshot {" in packet:
                zero = int(re.search(r"clock_id: 1\n +timestamp: (\d+)", packet).group(1))
            elif "track_descriptor {" in packet:
                name = get("process_name") or get("thread_name") or re.search(r"^    name: \"(.*)\"$", packet, re.M).group(1)
                tracks[get("uuid")] = {"name": name, "pid": get("pid"), "parent": get("parent_uuid"), "is_process": bool(get("process_name"))}
            elif "track_event {" in packet:
                name = re.search(r"^    name: \"(.*)\"$", packet, re.M)
                value = get("counter_value") or get("double_counter_value") or 0
                events.append((int(get("timestamp") or 0), get("type"), get("track_uuid"), name and name.group(1), value))
    processes = {t["pid"]: t["name"] for t in tracks.values() if t["is_process"]}
    def process(track):
        of = tracks[track]
        return processes[of["pid"]] if of["pid"] else process(of["parent"])
    for time, kind, track, name, value in sorted(events, key=lambda e: e[0]):  # stable, as readers sort
        if kind == "SLICE_BEGIN" and name:  # numbers of captures
            stacks[track].append((name, time))
        elif kind == "SLICE_END" and stacks[track]:
            name, start = stacks[track].pop()
            spans.append((process(track), tracks[track]["name"], name, start, time - start))
        elif kind == "INSTANT":
            spans.append((process(track), tracks[track]["name"], name, time, 0))
        elif kind == "COUNTER":
            counters.append((process(track), tracks[track]["name"], time, float(value)))
    assert not any(stacks.values()), "a span has no end"
    return zero, spans, counters


def chrome(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    events = document["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    lines = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    spans, counters, open_ends = [], [], collections.defaultdict(list)
    for e in events:
        if e["ph"] in "Xi" and "id" in e["args"]:
            start, duration = round(e["ts"] * 1000), round(e.get("dur", 0) * 1000)
            ends = open_ends[e["pid"], e["tid"]]
            while ends and ends[-1] <= start:
                ends.pop()
            if e["ph"] == "X":
                assert not ends or ends[-1] >= start + duration, "spans overlap"
                ends.append(start + duration)
            spans.append((processes[e["pid"]], lines[e["pid"], e["tid"]], e["name"], start, duration))
        elif e["ph"] == "C":
            (value,) = e["args"].values()
            counters.append((processes[e["pid"]], e["name"], round(e["ts"] * 1000), float(value)))
    return int(document["otherData"]["first_ts_ns"]), spans, counters


def tables(path, zero):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    spans = []
    for instance, pid, source, worker, nc, core, thread, name, start, duration in db.execute(
        "select instance_id, process_id, trace_event_source, worker_gid, nc_idx, pcore_idx, thread_id, name, start_ts, duration_ns"
        " from SystemProfileEvents"):
        line = f"{source} Worker {worker} NC {nc} " + (f"TID {thread}" if core is None else f"core {core}")
        spans.append((f"{instance} PID {pid}", line, name, start - zero, duration))
    counters = [(i, f"CPU {c}", t - zero, v) for i, c, t, v in db.execute("select instance_id, cpu_id, timestamp, util_percent from CpuUsage")]
    counters += [(i, "Host memory", t - zero, v) for i, t, v in db.execute("select instance_id, timestamp, used_bytes from HostMemUsage")]
    counters += [(i, f"HBM {d}:{h}", t - zero, v) for i, d, h, t, v in
                 db.execute("select instance_id, device_idx, hbm_idx, timestamp, total_bytes from SystemProfileHbmUsage")]
    return spans, counters


def same(what, ours, wanted):
    left = collections.Counter(ours)
    left.subtract(collections.Counter(wanted))
    wrong = [(r, n) for r, n in left.items() if n]
    if wrong or not ours:
        sys.exit(f"{what}: {len(wrong)} differ, such as {wrong[:3]}")


for kind, read in (("perfetto", perfetto), ("chrome", chrome)):
    zero, spans, counters = read(sys.argv[1] if kind == "perfetto" else sys.argv[2])
    wanted_spans, wanted_counters = tables(sys.argv[3], zero)
    same(f"{kind}: events", spans, wanted_spans)
    # Captures have separate counters, below their cores.
    same(f"{kind}: counters", [c for c in counters if " NC " not in c[0]], wanted_counters)
    if not any(" NC " in c[0] for c in counters):
        sys.exit(f"{kind}: the captures are missing")
