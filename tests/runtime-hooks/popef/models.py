#!/usr/bin/env python3
"""models - files in the encoding OPEF 1, made by hand, that popef_run must and must not run.

Usage: models.py: writes them into the working folder. The bytes follow docs/formats/popef.md, not our writer."""
import gzip
import io
import json
import struct
import sys
import tarfile
import zlib

TYPES = {"F32": 3, "U8": 6}


def text(value):
    return struct.pack("<I", len(value.encode())) + value.encode()


def programs(indices):
    return struct.pack(f"<I{len(indices)}I", len(indices), *indices)


def info(kind, shape):
    return struct.pack(f"<BI{len(shape)}q", TYPES[kind], len(shape), *shape)


def blob(kind, head, data=b""):
    return (b"OPEF" + struct.pack("<HHIIQQQQ", 1, 0, kind, 6, 56 + (len(head) + 7) // 8 * 8 + len(data), len(head), len(data), len(data))
            + b"ours-1\0\0" + head + bytes(-len(head) % 8) + data)


def compressed(name, data):
    """An executable with a zlib stream as data."""
    stored, head = zlib.compress(data, 1), text(name)
    return (b"OPEF" + struct.pack("<HHIIQQQQ", 1, 1, 0, 6, 56 + (len(head) + 7) // 8 * 8 + len(stored), len(head), len(stored), len(data))
            + b"ours-1\0\0" + head + bytes(-len(head) % 8) + stored)


def archive(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def anchor(name, handle, kind, shape, where, replica=False, remote=False, repeats=1, dtype="F32"):
    return (text(name) + text(handle) + struct.pack("<B??q", {"in": 1, "out": 2}[kind], replica, remote, repeats)
            + info(dtype, shape) + programs(where))


def metadata(anchors, load=(), main=(), save=(), name="m", replicas=1, iterations=1, processes=1, seed=""):
    return blob(1, text(name) + struct.pack("<qqq??qq", replicas, 1, 2, True, False, processes, iterations) + text(seed) + bytes(8)
                + programs(load) + programs(main) + programs(save) + bytes(4) + struct.pack("<I", len(anchors)) + b"".join(anchors))


def executable(kinds, files, name="m", document=None):
    document = document or {"version": 1, "programs": kinds}
    return blob(0, text(name), archive({"programs.json": json.dumps(document).encode(), **files}))


def write(path, *blobs):
    with open(path, "wb") as file:
        file.write(b"".join(blobs))


def main():
    neff = open("add.neff", "rb").read()
    one = {"5": {"kind": "neff", "file": "a.neff"}}
    files = {"a.neff": neff}
    x = anchor("x", "h2d_user_input", "in", [2], [5])
    w = anchor("w", "h2d_input_parameter", "in", [2], [0])
    y = anchor("y", "anchor_d2h_Add:0", "out", [2], [5])
    copy = {"0": {"kind": "copy_in"}, "7": {"kind": "copy_out"}, **one}
    floats = lambda *values: struct.pack(f"<{len(values)}f", *values)
    weight = blob(2, text("w") + info("F32", [2]), floats(100, 200))
    feed = lambda name, shape, count, *values: blob(3, text(name) + info("F32", shape) + struct.pack("<Q", count), floats(*values))
    write("plain.popef", executable(copy, files), metadata([x, w, y], [0], [5], []), weight, feed("x", [2], 3, 1, 2, 3, 4, 5, 6))
    # Remote buffers of three repeats: a program that sees one block at a time uses them in turn.
    repeated = anchor("w", "h2d_input_parameter", "in", [3, 2], [0], remote=True, repeats=3)
    write("repeats.popef", executable(copy, files), metadata([x, repeated, y], [0], [5], []),
          blob(2, text("w") + info("F32", [3, 2]), floats(10, 10, 20, 20, 30, 30)), feed("x", [2], 4, *range(8)))
    # Two replicas: weights and separate feeds, with the feed described both with and without the replica dimension.
    both = [anchor("x", "h2d_user_input", "in", [2, 2], [5], replica=True), anchor("w", "h2d_input_parameter", "in", [2, 2], [0], replica=True),
            anchor("y", "anchor_d2h_Add:0", "out", [2, 2], [5], replica=True), anchor("w", "save_w", "out", [2, 2], [7], replica=True)]
    for name, shape, count in (("plain", [2], 6), ("extended", [2, 2], 3)):
        write(f"replicas_{name}.popef", executable(copy, files), metadata(both, [0], [5], [7], replicas=2, iterations=2),
              blob(2, text("w") + info("F32", [2, 2]), floats(10, 20, 30, 40)), feed("x", shape, count, *range(12)))
    write("half.popef", executable(copy, files), metadata(both, [0], [5], [7], replicas=2),
          blob(2, text("w") + info("F32", [2, 2]), floats(10, 20, 30, 40)), feed("x", [2], 3, *range(6)))
    # Two programs: the second reads what the first wrote, and both add the same weight.
    second = {**copy, "6": {"kind": "neff", "file": "b.neff"}}
    write("chain.popef", executable(second, {**files, "b.neff": open("chain.neff", "rb").read()}),
          metadata([x, w, anchor("z", "out_z", "out", [2], [6])], [0], [5, 6], []), weight, feed("x", [2], 2, 1, 2, 3, 4))
    write("seed.popef", executable(copy, files), metadata([anchor("s", "h2d_user_input", "in", [2], [5]), w, y], [0], [5], [], seed="h2d_user_input"), weight)
    # ---- rejected ----
    write("unfed.popef", executable(copy, files), metadata([x, w, y], [0], [5], []), weight)
    write("unlisted.popef", executable(copy, files), metadata([x, anchor("w", "h2d_input_parameter", "in", [2], [3]), y], [0], [5], []), weight,
          feed("x", [2], 1, 1, 2))
    write("no_anchor.popef", executable(copy, files), metadata([x, y], [0], [5], []), feed("x", [2], 1, 1, 2))
    write("flow.popef", executable(one, files), metadata([x, w, y], [0], [5], []), weight, feed("x", [2], 1, 1, 2))
    write("size.popef", executable(copy, files), metadata([anchor("x", "h2d_user_input", "in", [3], [5]), w, y], [0], [5], []), weight,
          feed("x", [3], 1, 1, 2, 3))
    write("uneven.popef", executable(copy, files), metadata([x, anchor("w", "h2d_input_parameter", "in", [2], [5]), y], [], [5], []),
          feed("x", [2], 3, *range(6)), feed("w", [2], 2, *range(4)))
    write("output.popef", executable(copy, files), metadata([x, w, anchor("q", "nowhere", "out", [2], [5])], [0], [5], []), weight,
          feed("x", [2], 1, 1, 2))
    write("processes.popef", executable(copy, files), metadata([x, w, y], [0], [5], [], processes=4), weight, feed("x", [2], 1, 1, 2))
    write("many.popef", executable(copy, files), metadata([x, w, y], [0], [5], [], replicas=1 << 40), weight, feed("x", [2], 1, 1, 2))
    write("never.popef", executable(copy, files), metadata([x, w, y], [0], [5], [], iterations=0), weight, feed("x", [2], 1, 1, 2))
    write("empty.popef", executable(copy, files), metadata([x, w, y], [0], [5], []), weight, feed("x", [2], 0))
    write("two.popef", executable(copy, files), metadata([x, w, y], [0], [5], []), executable(copy, files, "n"), weight,
          feed("x", [2], 1, 1, 2))
    write("opaque_data.popef", blob(0, text("m"), b"whatever Poplar puts here"), metadata([x, w, y], [0], [5], []))
    write("no_list.popef", blob(0, text("m"), archive({"a.neff": neff})), metadata([x, w, y], [0], [5], []))
    write("climbing.popef", executable({"5": {"kind": "neff", "file": "../a.neff"}}, {"../a.neff": neff}), metadata([], [], [5], []))
    write("no_file.popef", executable({"5": {"kind": "neff", "file": "b.neff"}}, files), metadata([], [], [5], []))
    write("kind.popef", executable({"5": {"kind": "spell"}}, {}), metadata([], [], [5], []))
    write("number.popef", executable({"five": {"kind": "copy_in"}}, {}), metadata([], [], [], []))
    write("version.popef", executable({}, {}, document={"version": 2, "programs": {}}), metadata([], [], [], []))
    write("json.popef", blob(0, text("m"), archive({"programs.json": b"[1"})), metadata([], [], [], []))
    # 70 MiB in a small file, compressed once and twice.
    write("inflates.popef", compressed("m", archive({"a.neff": bytes(70 << 20)})), metadata([], [], [5], []))
    write("nested.popef", compressed("m", gzip.compress(archive({"a.neff": bytes(70 << 20)}), 1)), metadata([], [], [5], []))
    write("no_neff.popef", executable(one, {"a.neff": b"not a NEFF"}), metadata([], [], [5], []))


if __name__ == "__main__":
    sys.exit(main())
