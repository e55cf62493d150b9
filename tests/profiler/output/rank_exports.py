#!/usr/bin/env python3
"""rank_exports RANKS KINETO CHAKRA [JOINED.json] - compares files of ranks with each other and with the
analysis.

Kineto: applies the rules of Holistic Trace Analysis for kernels: communication by the name, the rest is
computation. The union of each, their overlap and idle times must be those of `analyze joined`. Chakra: checks
the stream of messages by the numbers of the public schema; the dependencies reproduce the times."""

import json
import os
import re
import sys


def demand(truth, what):
    if not truth:
        print(what)
        sys.exit(1)


# ---- intervals ----


def union(spans):
    out = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([start, end])
    return out


def length(spans):
    return sum(end - start for start, end in spans)


def within(spans, first, last):
    return [[max(a, first), min(b, last)] for a, b in spans if max(a, first) < min(b, last)]


def both(left, right):
    return union([piece for a, b in left for piece in within(right, a, b)])


# ---- kineto ----


def nanoseconds(us):
    return round(us * 1000)


def is_communication(name):
    return re.match(r"^nccl.*Kernel", name) is not None and "ncclKernel" in name


def is_memory(name):
    return "Memcpy" in name or "Memset" in name or "dma" in name


def read_kineto(path):
    with open(path, "rb") as file:
        text = file.read()
    trace = json.loads(text)
    found = re.search(rb'"rank": (\d+)', text)
    demand(found and int(found[1]) == trace["distributedInfo"]["rank"], f"{path}: the rank is not found by its text")
    demand(trace["schemaVersion"] == 1 and trace["deviceProperties"][0]["id"] == 0, f"{path}: head")
    demand(trace["distributedInfo"]["backend"], f"{path}: backend")
    launches = {}
    kernels = []
    for event in trace["traceEvents"]:
        demand(isinstance(event["pid"], int) and isinstance(event["tid"], int), f"{path}: {event}")
        if event["ph"] != "X":
            demand(event["ph"] in "Mi" and "dur" not in event, f"{path}: {event}")
            continue
        demand(event["cat"] in ("kernel", "cpu_op", "cuda_runtime", "user_annotation"), f"{path}: {event}")
        demand(event["dur"] >= 0 and event["ts"] >= 0 and event["name"], f"{path}: {event}")
        if event["cat"] == "cuda_runtime":
            demand(event["args"]["correlation"] not in launches, f"{path}: two launches {event}")
            launches[event["args"]["correlation"]] = event
        if event["cat"] == "kernel":
            demand(event["args"]["stream"] == event["tid"] and event["tid"] > 0 and event["pid"] == 0, f"{path}: {event}")
            kernels.append(event)
        else:
            demand("stream" not in event["args"], f"{path}: {event}")
    for event in kernels:
        if is_communication(event["name"]):
            demand(event["args"]["dtype"] == "Byte" and event["args"]["In msg nelems"] >= 0, f"{path}: {event}")
        else:
            launch = launches.get(event["args"]["correlation"])
            demand(launch and launch["ts"] <= event["ts"] and not is_memory(event["name"]), f"{path}: no launch of {event}")
    return trace, kernels


def spans_of(kernels):
    return [[nanoseconds(e["ts"]), nanoseconds(e["ts"]) + nanoseconds(e["dur"])] for e in kernels]


def check_kineto(trace, kernels, worker, ranks):
    """Compares the breakdown of Holistic Trace Analysis with the analysis, in the time that the former
    covers."""
    path = f"rank {trace['distributedInfo']['rank']}"
    talk = [e for e in kernels if is_communication(e["name"])]
    for event in talk:
        args = event["args"]
        demand(args["Group size"] == ranks and args["Process Group Ranks"] == str(list(range(ranks))), f"{path}: {event}")
        demand(args["Collective name"] in ("barrier", "all_gather"), f"{path}: {event}")
        demand(event["name"] == "ncclKernel_" + args["Collective name"], f"{path}: {event}")
    ends = sorted(end for _, end in spans_of(talk))
    first, last = ends[0], ends[-1]
    comm = within(union(spans_of(talk)), first, last)
    comp = within(union(spans_of([e for e in kernels if e not in talk])), first, last)
    parts = worker["parts_ns"]
    overlap = length(both(comm, comp))
    demand(worker["span_ns"] == last - first, f"{path}: spans {worker['span_ns']} and {last - first}")
    demand(parts["unknown"] == 0, f"{path}: {parts}")
    demand(parts["run"] + parts["inside"] == length(comp) > 0, f"{path}: computation {length(comp)}, {parts}")
    demand(parts["inside"] == overlap, f"{path}: overlap {overlap}, {parts}")
    demand(worker["exposed_ns"] == length(comm) - overlap > 0, f"{path}: exposed {length(comm) - overlap}, {parts}")
    idle = last - first - length(union(comm + comp))
    demand(parts["host"] == idle, f"{path}: idle {idle}, {parts}")


# ---- chakra ----


def varint(data, at):
    value = shift = 0
    while True:
        demand(at < len(data), "a varint is cut off")
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        demand(tag & 7 in (0, 2), f"wire type {tag & 7}")
        value, at = varint(data, at)
        if tag & 7 == 2:
            demand(at + value <= len(data), "a field is cut off")
            value, at = data[at : at + value], at + value
        yield tag >> 3, value


def varints(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def attribute(data):
    name = value = None
    for number, what in fields(data):
        if number == 1:
            name = what.decode()
        else:  # int64, uint64, bool, string
            demand(number in (9, 13, 27, 29), f"a value of kind {number}")
            value = what.decode() if number == 29 else bool(what) if number == 27 else what
            value = value - (1 << 64) if number == 9 and value >= 1 << 63 else value
    return name, value


def read_chakra(path):
    with open(path, "rb") as file:
        data = file.read()
    at, messages = 0, []
    while at < len(data):
        size, at = varint(data, at)
        demand(at + size <= len(data), f"{path}: cut off")
        messages.append(data[at : at + size])
        at += size
    head, nodes = {}, []
    for number, value in fields(messages[0]):
        demand(number in (1, 2), f"{path}: field {number} of the head")
        name, value = ("version", value.decode()) if number == 1 else attribute(value)
        head[name] = value
    names = {1: "id", 2: "name", 3: "type", 4: "ctrl", 5: "data", 6: "start", 7: "duration", 10: "attr"}
    for message in messages[1:]:
        node = {"ctrl": [], "data": [], "attr": {}}
        for number, value in fields(message):
            demand(number in names, f"{path}: field {number} of a node")
            if number in (4, 5):
                node[names[number]] += varints(value)
            elif number == 10:
                name, value = attribute(value)
                node["attr"][name] = value
            else:
                node[names[number]] = value.decode() if number == 2 else value
        nodes.append(node)
    return head, nodes


def check_chakra(path, trace, kernels):
    head, nodes = read_chakra(path)
    rank = trace["distributedInfo"]
    demand((head["version"], head["rank"], head["world_size"]) == ("0.0.4", rank["rank"], rank["world_size"]), f"{path}: {head}")
    demand(head["base_time_ns"] == trace["baseTimeNanoseconds"], f"{path}: another time 0: {head}")
    ends = {}
    end_us = {}
    kinds = {"run": [], "comm": [], "barrier": []}
    for node in nodes:
        before = node["data"] + node["ctrl"]
        # Depends only on earlier nodes, so no cycle is possible.
        demand(node["id"] not in ends and all(b in ends for b in before), f"{path}: dependencies of {node}")
        start = max((ends[b] for b in before), default=0)
        demand(start // 1000 == node["start"], f"{path}: dependencies end at {start} ns: {node}")
        demand(max((end_us[b] for b in before), default=0) == node["start"], f"{path}: rounded times of {node}")
        ends[node["id"]] = start + node["attr"]["duration_ns"]
        end_us[node["id"]] = node["start"] + node["duration"]
        demand(node["type"] in (4, 7), f"{path}: {node}")
        span = [start, ends[node["id"]]]
        if node["type"] == 7:
            kinds["comm"].append(span)
            demand(node["attr"]["comm_size"] >= 0 and node["attr"]["is_cpu_op"] is False, f"{path}: {node}")
            wanted = {"barrier": 9, "all_gather": 2, "all_reduce": 0, "reduce_scatter": 7}[node["name"]]
            demand(node["attr"]["comm_type"] == wanted, f"{path}: {node}")
            kinds["barrier"] += [span] if wanted == 9 else []
        elif not node["attr"]["is_cpu_op"]:
            kinds["run"].append(span)
    inside = [e for e in kernels if e["args"].get("Collective name") == "program"]
    demand(head["collectives_in_programs"] == len(inside), f"{path}: collectives in programs: {head}")
    talk = [e for e in kernels if is_communication(e["name"]) and e not in inside]
    demand(sorted(kinds["comm"]) == sorted(spans_of(talk)), f"{path}: collectives")
    demand(len(kinds["barrier"]) == sum("barrier" in e["name"] for e in talk), f"{path}: barriers")
    demand(union(kinds["run"]) == union(spans_of([e for e in kernels if e not in talk and e not in inside])), f"{path}: executions")
    sizes = sum(n["attr"].get("comm_size", 0) for n in nodes)
    demand(sizes == sum(e["args"]["In msg nelems"] for e in talk), f"{path}: bytes")
    return [n["attr"].get("sequence") for n in nodes if n["type"] == 7]


def main():
    count, kineto, chakra = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    names = sorted(os.listdir(kineto))
    ranks = [int(re.fullmatch(r"rank_(\d+)\.json", name)[1]) for name in names]
    demand(len(ranks) == count, f"files of ranks: {names}")
    wanted = {f"rank.{rank}.et" for rank in ranks} | {"comm_groups.json"}
    demand(set(os.listdir(chakra)) == wanted, f"files of ranks: {os.listdir(chakra)}")
    joined = json.load(open(sys.argv[4], encoding="utf-8"))["joined"] if len(sys.argv) > 4 else None
    bases, sequences = set(), []
    for rank in ranks:
        trace, kernels = read_kineto(f"{kineto}/rank_{rank}.json")
        demand(trace["distributedInfo"]["rank"] == rank, f"rank_{rank}.json is of {trace['distributedInfo']}")
        bases.add(trace["baseTimeNanoseconds"])
        if joined:
            demand(trace["distributedInfo"]["world_size"] == count, f"{trace['distributedInfo']}")
            worker = [w for w in joined["workers"] if w["worker_gid"] == trace["neuron"]["worker_gid"]][0]
            check_kineto(trace, kernels, worker, count)
        sequences.append(check_chakra(f"{chakra}/rank.{rank}.et", trace, kernels))
    demand(len(bases) == 1, f"several times 0: {bases}")
    demand(all(s == sequences[0] for s in sequences), f"not the same collectives: {sequences}")


main()
