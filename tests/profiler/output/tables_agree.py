#!/usr/bin/env python3
"""tables_agree FILE.sqlite CSV-FOLDER PARQUET-FOLDER - all three have the same columns, types, rows and
absent values.

A small Parquet reader covers what the writer uses: the footer in Thrift's compact protocol, plain values in
Snappy pages, definition levels as runs."""
import csv
import os
import sqlite3
import struct
import sys

TEXT_ROWS = 2000  # at each end are compared as text; comparing all would take too long

BOOLEAN, INT32, INT64, DOUBLE, BYTE_ARRAY = 0, 1, 2, 5, 6


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return value

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def take(self, count):
        self.at += count
        assert self.at <= len(self.data), "ends early"
        return self.data[self.at - count : self.at]

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind in (5, 6):
            return self.zigzag()
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.byte()
            count = head >> 4 if head >> 4 != 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        fields, last = {}, 0
        while head := self.byte():
            last += head >> 4
            fields[last] = self.value(head & 15)
        return fields


def unsnap(data):
    r, out = Reader(data), bytearray()
    size = r.varint()
    while r.at < len(data):
        tag = r.byte()
        if tag & 3 == 0:
            length = tag >> 2
            if length >= 60:
                length = int.from_bytes(r.take(length - 59), "little")
            out += r.take(length + 1)
            continue
        if tag & 3 == 1:
            length, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | r.byte()
        else:
            length, offset = (tag >> 2) + 1, int.from_bytes(r.take(2 if tag & 3 == 2 else 4), "little")
        start = len(out) - offset
        assert start >= 0, "a copy from before the start"
        piece = out[start : start + length]  # shorter where the copy overlaps itself: then it repeats
        out += (piece * (length // len(piece) + 1))[:length]
    assert len(out) == size
    return bytes(out)


def levels_of(r, rows):
    end, levels = struct.unpack("<I", r.take(4))[0] + r.at, []
    while r.at < end:
        head = r.varint()
        assert head & 1 == 0, "bit-packed levels are not written"
        levels += [r.byte()] * (head >> 1)
    assert r.at == end and len(levels) == rows, "levels do not cover the rows"
    return levels


def column(data, chunk, kind, is_optional):
    meta = chunk[3]
    r = Reader(data, meta[9])
    page = r.value(12)
    rows = page[5][1]
    body = r.take(page[3])
    assert r.at - meta[9] == meta[7] and meta[4] == 1 and meta[1] == kind and meta[5] == rows
    body = unsnap(body)
    assert len(body) == page[2]
    r = Reader(body)
    levels = levels_of(r, rows) if is_optional else [1] * rows
    count = sum(levels)
    if kind == BOOLEAN:
        packed = r.take((count + 7) // 8)
        values = [bool(packed[i // 8] >> i % 8 & 1) for i in range(count)]
    elif kind == BYTE_ARRAY:
        values = [r.take(int.from_bytes(r.take(4), "little")).decode() for _ in range(count)]
    else:
        form = {INT32: "i", INT64: "q", DOUBLE: "d"}[kind]
        values = struct.unpack(f"<{count}{form}", r.take(count * struct.calcsize(f"<{form}")))
    assert r.at == len(body), "bytes after the values"
    there = iter(values)
    return [next(there) if level else None for level in levels]


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PAR1"
    length = struct.unpack("<I", data[-8:-4])[0]
    r = Reader(data, len(data) - 8 - length)
    footer = r.value(12)
    assert r.at == len(data) - 8, "the footer is longer or shorter than it says"
    root, *schema = footer[2]
    assert root[5] == len(schema)
    names = [s[4].decode() for s in schema]
    columns = [[] for _ in schema]
    for group in footer[4]:
        for i, chunk in enumerate(group[1]):
            assert chunk[3][3] == [schema[i][4]]
            columns[i] += column(data, chunk, schema[i][1], schema[i][3] == 1)
        assert len(columns[0]) <= footer[3]
    assert all(len(c) == footer[3] for c in columns)
    return names, [s[1] for s in schema], list(zip(*columns))


def check(name, database, csv_path, parquet_path):
    cursor = database.execute(f'select * from "{name}"')
    head = [d[0] for d in cursor.description]
    wanted = cursor.fetchall()
    if not wanted:
        assert not os.path.exists(csv_path) and not os.path.exists(parquet_path), "a file without rows"
        return 0
    names, kinds, rows = read(parquet_path)
    with open(csv_path, encoding="utf-8", newline="") as file:
        csv_head, *lines = csv.reader(file)
    assert names == head == csv_head, "other columns"
    assert len(rows) == len(lines) == len(wanted), f"{len(rows)}, {len(lines)} and {len(wanted)} rows"
    for row, cells in zip(rows, wanted):
        assert row == cells, f"{row} in Parquet, {cells} in the database"
    ends = list(range(len(rows)))
    for i in ends[:TEXT_ROWS] + ends[TEXT_ROWS:][-TEXT_ROWS:]:
        for column, kind, value, text in zip(names, kinds, rows[i], lines[i]):
            if value is None:
                same = text == ""
            elif kind == DOUBLE:
                same = float(text) == value
            elif kind == BOOLEAN:
                same = text == str(value).lower()
            else:
                same = str(value) == text
            assert same, f"{column}: {value!r} is {text!r} in the CSV"
    return len(rows)


def main():
    database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    assert database.execute("pragma integrity_check").fetchall() == [("ok",)]
    assert database.execute("pragma user_version").fetchall() == [(70400,)]
    tables = [r[0] for r in database.execute("select name from sqlite_master where type = 'table' order by 1")]
    described = set(database.execute("select table_name, field_name from SchemaFields"))
    there = {(t, c[1]) for t in tables for c in database.execute(f'pragma table_info("{t}")')}
    assert described == there, f"SchemaFields differs from the tables: {described ^ there}"
    total = 0
    for name in tables:
        try:
            total += check(name, database, f"{sys.argv[2]}/{name}.csv", f"{sys.argv[3]}/{name}.parquet")
        except AssertionError as error:
            sys.exit(f"{name}: {error}")
    files = sum(len(os.listdir(f)) for f in sys.argv[2:4])
    assert files <= 2 * len(tables), "files that are not tables"
    print(len(tables), "tables,", total, "rows")


main()
