#!/usr/bin/env python3
"""flame_rows PROFILE.txt FOLDED SUMMARY.json - compares a pprof profile, as protoc prints it with the
published description, and the folded stacks of the same capture with its summary. The summary counts moments
of several cores once, so for a capture with several cores the sums only have bounds.

Prints the number of samples. Also checks what readers of pprof expect of a profile."""
import collections
import json
import re
import sys

ENGINES = {"tensor", "vector", "scalar", "gpsimd", "sync"}


def message(lines):
    """Returns the fields of a message in protoc's text: {name: [value, ...]}."""
    fields = collections.defaultdict(list)
    for line in lines:
        line = line.strip()
        if line == "}":
            break
        if line.endswith(" {"):
            fields[line[:-2]].append(message(lines))
        else:
            name, value = line.split(": ", 1)
            assert not name.isdigit(), f"a field that a profile does not have: {line}"
            if value.startswith('"'):
                value = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), value[1:-1].encode())
                value = value.replace(b'\\"', b'"').replace(b"\\'", b"'").replace(b"\\\\", b"\\").decode()
            else:
                value = value == "true" if value in ("true", "false") else int(value)
            fields[name].append(value)
    return fields


def one(fields, name, default=0):
    assert len(fields[name]) < 2, f"{name} twice"
    return fields[name][0] if fields[name] else default


def by_id(rows):
    ids = [one(row, "id") for row in rows]
    assert ids == list(range(1, len(rows) + 1)), "ids are not 1, 2 ..."
    return dict(zip(ids, rows))


def profile_of(path):
    with open(path, encoding="utf-8") as file:
        profile = message(iter(file.read().splitlines()))
    texts = profile["string_table"]
    assert texts[0] == "" and len(set(texts)) == len(texts), "the string table"
    types = [(texts[one(t, "type")], texts[one(t, "unit")]) for t in profile["sample_type"]]
    assert types == [("busy", "nanoseconds"), ("instructions", "count"), ("wait", "nanoseconds")], types
    assert texts[one(profile, "default_sample_type")] == "busy" and one(profile, "period") == 1
    assert not one(profile, "drop_frames") and not one(profile, "keep_frames")
    [mapping] = profile["mapping"]
    assert one(mapping, "id") == 1 and texts[one(mapping, "filename")]
    for has in ("has_functions", "has_filenames", "has_line_numbers"):
        assert one(mapping, has) is True
    functions = by_id(profile["function"])
    names, files, lines = {}, {}, {}
    for number, location in by_id(profile["location"]).items():
        [line] = location["line"]
        assert one(location, "mapping_id") == 1
        function = functions[one(line, "function_id")]
        names[number] = texts[one(function, "name")]
        files[number] = texts[one(function, "filename")]
        lines[number] = one(line, "line")
        place = re.fullmatch(r"(.*):(\d+)", names[number]) if files[number] else None
        assert names[number] and (bool(files[number]) or not lines[number])
        assert not place or (files[number].endswith(place[1]) and lines[number] == int(place[2])), names[number]
    samples = []
    for sample in profile["sample"]:
        labels = {texts[one(l, "key")]: texts[one(l, "str")] or one(l, "num") for l in sample["label"]}
        stack = tuple(names[l] for l in reversed(sample["location_id"]))
        assert len(sample["value"]) == 3 and min(sample["value"]) >= 0
        samples.append((labels["core"], labels["engine"], stack, *sample["value"]))
    stacks = [s[:3] for s in samples]
    assert len(set(stacks)) == len(stacks), "a duplicate stack"
    return samples, one(profile, "duration_nanos")


def main():
    text, folded, path = sys.argv[1:]
    samples, duration = profile_of(text)
    busy, counts, cores = collections.Counter(), collections.Counter(), {core for core, *_ in samples}
    for _, engine, stack, value, count, _ in samples:
        busy[engine] += value
        counts[engine] += count
        assert engine in ENGINES and engine == stack[len(cores) > 1].lower()
    with open(path, encoding="utf-8") as file:
        [summary] = json.load(file).values()
    assert duration == int(summary["total_time"] * 1e9 + 1e-4)
    for engine in ENGINES:
        # Seconds in the summary are a whole number of ps.
        wanted = round(summary.get(f"{engine}_engine_active_time", 0) * 1e12) // 1000
        assert busy[engine] == wanted if len(cores) == 1 else busy[engine] + len(cores) > wanted, (engine, busy[engine], wanted)
        wanted = summary.get(f"{engine}_engine_instruction_count", 0)
        assert counts[engine] == wanted, (engine, counts[engine], wanted)
    lines = collections.Counter()
    with open(folded, encoding="utf-8") as file:
        for line in file:
            stack, value = re.fullmatch(r"(.+) ([1-9]\d*)\n", line).groups()
            lines[tuple(stack.split(";"))] += int(value)
    wanted = {tuple(f.replace(";", ":") for f in stack): value for _, _, stack, value, *_ in samples if value}
    assert lines == wanted, "folded stacks are not those of the profile"
    print(f"{len(samples)} samples")


main()
