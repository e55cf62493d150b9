#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""disasm make FOLDER | text LISTING | json FILE | capture JSON ROWS - makes a program in the encoding of
hardware, and checks its listings."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "output"))
import debug_members  # noqa: E402


def slot(opcode, *fields):
    """Returns 64 bytes with (offset, bytes) copied into them."""
    made = bytearray(64)
    made[0:2] = bytes([opcode, 0x10])
    for offset, value in fields:
        made[offset:offset + len(value)] = value
    return bytes(made)


# The program of SP: slot, opcode, operands.
PROGRAM = [
    (slot(0xB1), "SET_ORDERING_MODE", " ordering_mode=relaxed "),
    (slot(0xCC), "OP_0xcc", " "),
    (slot(0xC1, (4, b"\x05\xc8"), (8, b"\x10"), (12, b"qSPIO0"), (48, b"\x07")), "PSEUDO_DMA_TRIGGER",
     "$S[200]>=16 queue=qSPIO0 group=7 "),
    (slot(0xA4, (12, b"\x20")), "NOP", " cycle=32 "),
    (slot(0x95, (12, b"\x01\x02\x03\x04\x05")), "OP_0x95", " bytes=0102030405 "),
    (slot(0xA2), "DRAIN", " "),
    # One of two passes of a product of 32 bits: 64 rows, 32 columns, 16 moving; it transposes.
    (slot(0x02, (26, b"\x10\0\x01\0\x01\0"), (32, b"\x0a\x03\x01\0\0\0\x40\x20"), (51, b"\x02"), (58, b"\x10\0\x01\0\x01\0")), "MATMUL",
     " acc_flags=0 fp32_mode=LOW_HIGH src=fp32@0x0[0,0,0][16,1,1] dst=0x2000000[0,0,0][16,1,1] 64*32 "),
    # 8 rows of 256 bytes from the input, variable 1, to the state buffer, variable 0.
    (slot(0xD4, (20, b"\x01\0\0\x10"), (32, b"\x08\0\x01\0\0\x01"), (47, b"\x10"), (56, b"\x08\0\x01\0\0\x01")), "PSEUDO_DMA_DIRECT2D",
     " dge_op=DIRECT2D semaphore=0 sem_increment=0  src_elem_size=256 dst_elem_size=256 src_pattern=[0,0][8,1] dst_pattern=[0,0][8,1] "
     "src_var_id=1 src_var_offset=0 src_shape_reg=0 dst_var_id=0 dst_var_offset=0 dst_shape_reg=0   "),
    (slot(0xC1, (12, b"qSPIO0")), "PSEUDO_DMA_TRIGGER", " queue=qSPIO0 group=0 "),
    (slot(0xA8, (12, b"\x06\x09\x01\0\x3c\0\0\0\x3d\0\0\0\x02")), "REGISTER_ALU", " op=MULTIPLY dtype=uint32 src=$R[60] dst=$R[61] imm=2 "),
    (slot(0xA7, (24, b"\x3d"), (32, b"\x05")), "REGISTER_MOVE", " dst=$R[61] imm=0x5 "),
    (slot(0x49, (32, b"\x0a"), (34, b"\x80"), (40, b"\x07"), (44, b"\x10"), (56, b"\x04\0\x01\0\x01\0\x01\0")), "MEMSET",
     " value=0x7 dst=fp32@0x10[0,0,0,0][4,1,1,1] channels=128 "),
    (slot(0xCE, (12, b"\x09\0\x01\x01"), (32, b"\x3c")), "PSEUDO_TENSOR_LOAD", " addr=uint32@0x0[0,0][1,1] data=$R[60] "),
]

BYTES = [f"{memory}_{way}_bytes" for memory in ("sbuf", "psum", "hbm") for way in ("read", "write")] + ["psum_read_sbuf_write_bytes"]
FLOPS = ["elements", "raw_flops", "adjusted_flops", "flops_transpose", "adjusted_flops_transpose"]
# The computed and moved data of slots; all other known ones move nothing.
FIGURES = {
    6: dict(zip(FLOPS, [64 * 32 * 16, 64 * 32 * 16, 4 * 64 * 32 * 16, 64 * 32 * 16, 4 * 64 * 32 * 16]), instruction_type="TRANSPOSE",
            sbuf_read_bytes=4 * 16 * 64, psum_write_bytes=4 * 16 * 32),
    7: {"hbm_read_bytes": 2048, "sbuf_write_bytes": 2048},
    8: {"hbm_read_bytes": 4096 * 128, "sbuf_write_bytes": 4096 * 128},
}
UNKNOWN = {1, 2, 4, 11}  # unknown layout, unknown group, unknown bytes


def make(folder):
    for path in glob.glob(f"{folder}/sg00/*.json"):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        if data.pop("nsx", None):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(data, file)
    for path in glob.glob(f"{folder}/sg00/*.bin"):
        with open(path, "wb") as file:
            file.write(b"".join(row[0] for row in PROGRAM) if path.endswith("/SP.bin") else bytes(64))
    debug_members.write(folder)


def names(number):
    """Returns name, text and source position of a slot, by the rule of debug_members."""
    bir = debug_members.bir_of(4, number)
    if not bir or number == 6:
        return None, None, {}
    own = bir - 4000
    return debug_members.name_of(4, own), debug_members.penguin_of(own) if own % 2 == 0 else None, debug_members.position_of(4, own)


def check_text(path):
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    at = lines.index(".engine SP sg00/SP.bin")
    shown = [line for line in lines[at:] if line.startswith("    ")]
    assert len(shown) == len(PROGRAM), shown
    for number, (_, opcode, operands) in enumerate(PROGRAM):
        name, statement, position = names(number)
        head = f"    {opcode} {operands.strip()}".rstrip()
        wanted = f"{head} ; {number}" + (f" {name}" if name else "") + (f" | {statement}" if statement else "")
        if position:
            wanted += " @ " + os.path.basename(position["bir_debug_info_source_location"])
            wanted += "".join(" " + ",".join(f"{i['name']}={i['value']}" for i in position[k]) for k in ("iteration",) if k in position)
        assert shown[number] == wanted, (shown[number], wanted)


def check_json(path):
    with open(path, encoding="utf-8") as file:
        engines = json.load(file)["subgraphs"][0]["engines"]
    assert [e["encoding"] for e in engines] == ["empty"] * 4 + ["hardware"], engines
    assert all(e["instructions"] == [] for e in engines[:4])
    for number, (row, (_, opcode, operands)) in enumerate(zip(engines[4]["instructions"], PROGRAM)):
        name, statement, position = names(number)
        assert (row["slot"], row["opcode"], row["operands"]) == (number, opcode, operands), row
        assert (row.get("name"), row.get("penguin_text")) == (name, statement), row
        assert {k: row[k] for k in debug_members.POSITIONS if k in row} == position, (row, position)
        assert row.get("bir_id", 0) == debug_members.bir_of(4, number), row
        known = {} if number in UNKNOWN else dict.fromkeys(BYTES, 0)
        figures = {"instruction_type": "REGULAR", **known, **FIGURES.get(number, {})}
        assert {k: row[k] for k in [*BYTES, *FLOPS, "instruction_type"] if k in row} == figures, row
    assert len(engines[4]["instructions"]) == len(PROGRAM)


def check_capture(path, rows_path):
    with open(path, encoding="utf-8") as file:
        listed = {(s["name"], e["engine"]): e["instructions"] for s in json.load(file)["subgraphs"] for e in s["engines"]}
    with open(rows_path, encoding="utf-8") as file:
        rows = json.load(file)["instruction"]
    engines = dict(zip(debug_members.TITLES, debug_members.ENGINES))
    compared = 0
    for row in rows:
        if "compiler_pc" not in row or "operands" not in row:
            continue
        made = listed[row["subgraph"], engines[row["subgroup"]]][row["compiler_pc"]]
        if made["opcode"] == "PSEUDO_DMA_TRIGGER":
            assert row["opcode"] == "WRITE", row
            continue
        loaded = (row.get("compiler_opcode") or row["opcode"], row.get("compiler_operands") or row["operands"])
        assert (made["opcode"], made["operands"]) == loaded, (made, row)
        assert made.get("name", "") == row["bir_instruction_name"], (made, row)
        assert all(made.get(k) == row.get(k) for k in debug_members.POSITIONS[:-1]), (made, row)
        assert all(made.get(k) == row.get(k) for k in FLOPS), (made, row)
        assert all(made.get(k, 0) == row.get(k, 0) for k in BYTES), (made, row)
        compared += 1
    assert compared > 0 or not rows, "nothing was compared"


{"make": make, "text": check_text, "json": check_json, "capture": check_capture}[sys.argv[1]](*sys.argv[2:])
