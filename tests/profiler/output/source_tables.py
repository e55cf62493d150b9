#!/usr/bin/env python3
"""source_tables JSON SQLITE CHROME PERFETTO - tables and traces show the same source and compiler data as the
JSON profile."""
import collections
import json
import sqlite3
import sys

profile = json.load(open(sys.argv[1]))
database = sqlite3.connect(sys.argv[2])
database.row_factory = sqlite3.Row
chrome = json.load(open(sys.argv[3]))
perfetto = open(sys.argv[4]).read()


def rows(table):
    return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]


def expect(what, left, right):
    if left != right:
        sys.exit(f"{what}: {str(left)[:400]} is not {str(right)[:400]}")


# The same rows.
NS = {"duration": "duration_ns", "evt_wait_time": "evt_wait_time_ns", "active_time": "active_time_ns", "total_duration": "total_duration_ns",
      "total_evt_wait_time": "total_evt_wait_time_ns", "total_active_time": "total_active_time_ns", "span": "span_ns", "mean_span": "mean_span_ns",
      "max_span": "max_span_ns", "start": "start_ts", "end": "end_ts"}
for array, table in {"kernel_instruction": "KernelInstructions", "kernel_iteration_variable": "KernelIterationVariables",
                     "kernel_stack_frame": "KernelStackFrames", "stack_frame": "StackFrame", "stack_frame_file_location": "StackFrameFileLocation",
                     "stack_frame_file_name": "StackFrameFileName", "stack_frame_function_name": "StackFrameFunctionName",
                     "source_line": "SourceLine", "source_loop": "SourceLoop", "source_iteration": "SourceIteration"}.items():
    source = array.startswith("source_")
    wanted = [{NS.get(key, key) if source else key: json.dumps(value, separators=(",", ":"), ensure_ascii=False) if isinstance(value, list) else value
               for key, value in row.items()} for row in profile[array]]
    found = [{key: str(value) if key in ("id", "parent_frame_id") and array.startswith("stack_frame") else value
              for key, value in row.items() if value is not None} for row in rows(table)]
    expect(table, found, wanted)
    print(table, len(found))

# Values in the state buffer, and the instructions that wrote them.
allocations = [{key: value for key, value in row.items() if value is not None} for row in rows("SbufAllocation")]
expect("SbufAllocation", allocations, profile["sbuf_allocation"])
owners = {row["id"]: row for row in profile["instruction"]}
transfers = {row["trigger_id"]: row for row in profile["dma_transfer"]}
for row in allocations:
    by, transfer = owners[row["instruction_id"]], transfers.get(row["instruction_id"])
    start = transfer["timestamp"] if transfer else by["timestamp"]
    expect(f"owner of {row}", (row["op_source_type"], row["start_ts"], row.get("opcode"), row.get("queue_name"), row.get("tensor_name")),
           ("dma", start, None, transfer["queue_name"], transfer.get("variable")) if transfer else
           ("instruction", start, by["opcode"], None, None))
    expect("place", row["partition"] % 32 == 0 and 0 <= row["start_address"] <= row["end_address"] < 2 ** 18 and row["start_ts"] <= row["end_ts"],
           True)
expect("kinds", {row["op_source_type"] for row in allocations}, {"dma", "instruction"})
print("SbufAllocation", len(allocations))

# Edges.
edges = collections.Counter((by["id"], row["id"], by["type"]) for row in profile["instruction"] for by in row.get("predecessors", []))
flows = rows("Flow")
expect("Flow", collections.Counter((row["in_id"], row["out_id"], row["dependency_type"]) for row in flows if row["out_table"] == "Instruction"), edges)
expect("triggers", [(row["in_id"], row["out_id"]) for row in flows if row["dependency_type"] == "DGE_TRIGGER"],
       [(row["trigger_id"], row["id"]) for row in profile["dma_transfer"]])
times = {row["id"]: row for table in ("Instruction", "DmaPacketAggregated") for row in rows(table)}
for row in flows:
    expect(f"gap of {row}", row["gap_time"], times[row["out_id"]]["start_ts"] - times[row["in_id"]]["end_ts"])
print("Flow", len(flows))

# Levels: a row combines all its instructions.
instructions = rows("Instruction")
for table, column in {"BirInstruction": "raw_bir_id", "PenguinInstruction": "raw_penguin_id", "HloInstruction": "raw_hlo_id",
                      "FrameworkInstruction": "raw_framework_id"}.items():
    groups = collections.defaultdict(list)
    for row in instructions:
        named = {"raw_bir_id": row["bir_id"], "raw_penguin_id": row["penguin_id"], "raw_hlo_id": row["hlo_name"]}.get(column, row[column])
        if named:
            groups[row[column]].append(row)
    found = {row["id"]: row for row in rows(table)}
    expect(table, sorted(found), sorted(groups))
    for number, group in groups.items():
        row = found[number]
        expect(f"{table} {number}", (row[column], row["start_ts"], row["end_ts"], row["hbm_read_bytes"], row["sbuf_write_bytes"]),
               (number, min(one["start_ts"] for one in group), max(one["end_ts"] for one in group),
                sum(one["hbm_read_bytes"] or 0 for one in group), sum(one["sbuf_write_bytes"] or 0 for one in group)))
        intervals = json.loads(row["time_intervals"])
        expect("ends", (intervals[0][0], intervals[-1][1]), (row["start_ts"], row["end_ts"]))
        expect("elements", sum(json.loads(row["element_count_per_interval"])), sum(one["tensor_elements"] or 0 for one in group))
        expect("intervals", len(json.loads(row["hbm_transfer_size_per_interval"])), len(intervals))
    print(table, len(found))

# Parts of the framework's names: a row combines everything below it.
names = {row["id"]: [part for part in row["framework_name"].split("/") if part] for row in rows("FrameworkInstruction")}
below = collections.defaultdict(list)
for row in instructions:
    path = names.get(row["raw_framework_id"], [])
    for depth in range(1, len(path) + 1):
        below[tuple(path[:depth])].append(row)
nodes = rows("FrameworkNode")
expect("FrameworkNode", [(row["parent_name"], row["node_name"]) for row in nodes], [(path[-2] if len(path) > 1 else "", path[-1]) for path in below])
CHIP = {row["profile_schema_version"]: row for row in rows("Metadata")}["7.4.0"]
PEAK = 2 * CHIP["tensor_engine_num_rows"] * CHIP["tensor_engine_num_cols"] * CHIP["tensor_engine_clock_freq"]  # flops per ns
for node, path in zip(nodes, below):
    group = below[path]
    parts = [p for p in below if p[:-1] == path]
    listed = [part[-1] for part in parts]
    expect("children", node["children_names"], f"[{', '.join(listed)}]")
    expect("ids", set(json.loads(node["children_ids"])), {row["raw_framework_id"] for row in group})
    expect(f"sums of {path}", (node["start_ts"], node["end_ts"], node["hbm_read_bytes"], node["sbuf_write_bytes"]),
           (min(one["start_ts"] for one in group), max(one["end_ts"] for one in group), sum(one["hbm_read_bytes"] or 0 for one in group),
            sum(one["sbuf_write_bytes"] or 0 for one in group)))
    for engine in ("tensor", "scalar", "sync", "gpsimd", "vector"):
        own = [one for one in group if one["engine"] == engine]
        expect(engine, (node[f"{engine}_engine_instruction_count"], json.loads(node[f"total_time_{engine}"])),
               (len(own), [min(one["start_ts"] for one in own), max(one["end_ts"] for one in own)] if own else []))
    spans = []  # of whole ns: adjacent ones may be one or two
    for one in sorted(group, key=lambda one: one["start_ts"]):
        if spans and one["start_ts"] <= spans[-1][1] + 1:
            spans[-1][1] = max(spans[-1][1], one["end_ts"])
        else:
            spans.append([one["start_ts"], one["end_ts"]])
    intervals = json.loads(node["time_intervals"])
    expect("times", (intervals[0][0], intervals[-1][1]), (node["start_ts"], node["end_ts"]))
    elements, moved = json.loads(node["element_count_per_interval"]), json.loads(node["hbm_transfer_size_per_interval"])
    expect("elements", (sum(elements), sum(moved)), (sum(one["tensor_elements"] or 0 for one in group),
                                                     sum((one["hbm_read_bytes"] or 0) + (one["hbm_write_bytes"] or 0) for one in group)))
    flops, mfu, mbu = sum(one["adjusted_flops"] or 0 for one in group), json.loads(node["mfu_per_interval"]), json.loads(node["mbu_per_interval"])
    busy = sum(end - start for start, end in spans)
    if abs(node["hfu"] * PEAK * busy - flops) > 0.01 * flops + PEAK * len(spans):
        sys.exit(f"hfu of {path}: {node['hfu']} of {flops} flops in {busy} ns")
    for (start, end), bytes_count, share in zip(intervals, moved, mbu):
        if abs(share * CHIP["hbm_ddr_bandwidth"] / 1e9 * (end - start) - bytes_count) > 0.01 * bytes_count + 2 * CHIP["hbm_ddr_bandwidth"] / 1e9:
            sys.exit(f"mbu of {path}: {share} of {bytes_count} bytes in {end - start} ns")
    expect("intervals", {len(intervals)}, {len(elements), len(moved), len(mfu), len(mbu), len(json.loads(node["hfu_per_interval"]))})
expect("framework_node", [{key: value for key, value in row.items() if value is not None} for row in nodes],
       [{key: f"[{', '.join(value)}]" if key == "children_names" else json.dumps(value) if isinstance(value, list) else value
         for key, value in row.items()} for row in profile["framework_node"]])
print("FrameworkNode", len(nodes))

# Columns of Instruction, and arguments of traces.
KEYS = ["nki_source_location", "bir_debug_info_source_location", "kernel_instruction_name", "stack_frame_ids"]
expect("Instruction", [[row[key] for key in KEYS] for row in instructions], [[row.get(key) for key in KEYS] for row in profile["instruction"]])


def place(row):
    path = ",".join(f"{one['name']}={one['value']}" for one in row.get("iteration", []))
    return row.get("bir_debug_info_source_location", row.get("nki_source_location")), row.get("kernel_function"), path or None


places = collections.Counter(map(place, profile["instruction"]))
events = [event["args"] for event in chrome["traceEvents"] if "pc" in event.get("args", {})]
expect("chrome", collections.Counter((event.get("source"), event.get("function"), event.get("iteration")) for event in events), places)
for line, _, path in places:
    if (path and f'"{path}"' not in perfetto) or (line and line.isascii() and f'"{line}"' not in perfetto):
        sys.exit(f"Perfetto has no {line}, {path}")
print("places", len(places))
