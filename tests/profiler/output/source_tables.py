#!/usr/bin/env python3
"""source_tables JSON SQLITE CHROME PERFETTO - tables and traces say of the source and the compiler what the JSON profile says."""
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
      "max_span": "max_span_ns", "start": "start_ts", "end": "end_ts", "values": "variable_values"}
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

# What occupies the state buffer, and who put it there.
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
times = {row["id"]: row for array in ("instruction", "dma_transfer") for row in profile[array]}
for row in flows:
    gap = times[row["out_id"]]["timestamp"] - times[row["in_id"]]["timestamp"] - times[row["in_id"]]["duration"]
    if abs(gap - row["gap_time"]) > 2:  # three times are cut off to whole ns
        sys.exit(f"gap of {row}: {gap}")
print("Flow", len(flows))

# Levels: a row has all that its instructions have.
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
