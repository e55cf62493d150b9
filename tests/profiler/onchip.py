#!/usr/bin/env python3
"""Derives the content of on-chip memory, byte by byte, from the texts of the executed instructions.

onchip.py ROWS.json ON-CHIP.json LISTING: rows of view, the answer of analyze, and the output of disasm for
the program of hardware. Each byte of a partition is followed separately: which instruction wrote it, from
when, and until when it was read. The answer must have each byte of each value exactly once, with the
instruction that made it and its times. Peak and mean must be those of all bytes."""
import collections
import json
import re
import sys

SIZES = {'fp32': 4, 'int32': 4, 'uint32': 4, 'bfloat16': 2, 'fp16': 2}
PSUM = 0x2000000
PARTITION = 1 << 18
TILE = re.compile(r'(\w+)=(?:(\w+)@)?(0x[0-9a-f]+)\[([-\d,]+)\]\[([\d,]+)\]')
DIRECT = re.compile(r'(src|dst)_elem_size=(\d+)')
LINE = re.compile(r';     \w+ (\S+) <- (\S+)')
SIDE = re.compile(r'SB\(\d+\)\+(\d+):\w+\[([-\d:,]+)\]')
TWO_NS = 2.001  # start and duration of rows are whole ns


def extent(at, size, steps, counts):
    """Returns the bytes from the first to the last that a tile touches."""
    reach = [step * (count - 1) for step, count in zip(steps, counts)]
    return at + size * sum(r for r in reach if r < 0), at + size * (sum(r for r in reach if r > 0) + 1)


def place(address, low, high):
    return ('psum', low - PSUM, high - PSUM) if address >= PSUM else ('sbuf', low, high)


def of_tiles(opcode, text):
    """Returns (reads, writes, whether it continues a sum) for an instruction of an engine."""
    reads, writes = [], []
    for name, dtype, address, steps, counts in TILE.findall(text):
        if name not in ('src', 'src0', 'src1', 'dst'):
            continue
        address = int(address, 16)
        size = 4 if opcode == 'MATMUL' and name == 'dst' else SIZES[dtype]
        low, high = extent(address, size, *([int(n) for n in numbers.split(',')] for numbers in (steps, counts)))
        (writes if name == 'dst' else reads).append(place(address, low, high))
    for dtype, address in re.findall(r'bias_ptr=(\w+)@(0x[0-9a-f]+)', text):
        reads.append(place(int(address, 16), int(address, 16), int(address, 16) + SIZES[dtype]))
    found = re.search(r'imm=(\S+),(\S+) imm_src=(\w+),(\w+)', text)
    for value, kind in ((found[1], found[3]), (found[2], found[4])) if found else ():
        if kind == 'PTR':
            reads.append(place(int(value, 16), int(value, 16), int(value, 16) + 4))
    flags = re.search(r'acc_flags=(\d+)', text)
    return reads, writes, bool(flags) and not int(flags[1]) & 1


def of_direct(text):
    """Returns the sides of a transfer that are in the instruction."""
    sides = {}
    for side, element in DIRECT.findall(text):
        address = int(re.search(side + r'_addr_imm=(0x[0-9a-f]+)', text)[1], 16) if side + '_addr_imm' in text else 0
        if not address >> 37 & 1 or address >> 56 == 0x20:
            continue
        steps, counts = ([int(n) for n in group.split(',')] for group in re.search(side + r'_pattern=\[([-\d,]+)\]\[([\d,]+)\]', text).groups())
        # The innermost dimension of the pattern comes last if it stands for one element.
        inside = [(step, count) for step, count in zip(steps, counts) if step % PARTITION and count > 1]
        at = address % PARTITION
        reach = sum(step * (count - 1) for step, count in inside)
        sides[side] = [('sbuf', at, at + int(element) + reach)]
    return sides.get('src', []), sides.get('dst', []), False


def of_group(lines):
    reads, writes = [], []
    for line in lines:
        for text, kept in zip(LINE.match(line).groups(), (writes, reads)):
            found = SIDE.match(text)
            if found:
                dims = [tuple(int(n) for n in dim.split(':')) for dim in found[2].split(',')]
                reach = sum(step * (count - 1) for count, step in dims if step % PARTITION)
                kept.append(('sbuf', int(found[1]) % PARTITION, int(found[1]) % PARTITION + 1 + reach))
    return reads, writes, False


def groups_of(listing):
    """Returns the lines of each group of prepared transfers, by the compiler's name for the group."""
    groups, name = collections.defaultdict(list), None
    for line in open(listing):
        found = re.match(r'; group \d+ of queue .*: (\S+)-block-\d+$', line)
        if found:
            name = found[1]
        elif name and LINE.match(line):
            groups[name].append(line)
        else:
            name = None
    return groups


def follow(rows, groups):
    """Returns {space: {(byte, engine, pc): [(from, until)]}} of all values that were read."""
    now = {'sbuf': {}, 'psum': {}}
    lives = {'sbuf': collections.defaultdict(list), 'psum': collections.defaultdict(list)}

    def over(space, byte):
        value = now[space].pop(byte, None)
        if value and value[3] > value[2]:
            lives[space][byte, value[0], value[1]].append(value[2:])

    used = 0
    for row in sorted(rows, key=lambda row: row['timestamp']):
        name = row.get('bir_instruction_name', '')
        if row.get('compiler_pc') is None:
            continue
        if row['opcode'].startswith('DMA_DIRECT2D'):
            reads, writes, adds = of_direct(row['operands'])
        elif row['opcode'] == 'WRITE':
            reads, writes, adds = of_group(groups[name[:-len('-trig')]])
            used += bool(groups[name[:-len('-trig')]])
        else:
            reads, writes, adds = of_tiles(row['opcode'], row['operands'])
        end = row['timestamp'] + row['duration']
        for space, low, high in reads:
            for byte in range(low, high):
                if byte in now[space]:
                    now[space][byte][3] = max(end, now[space][byte][3])
        for space, low, high in writes:
            for byte in range(low, high):
                if adds and byte in now[space]:
                    now[space][byte][3] = max(end, now[space][byte][3])
                    continue
                over(space, byte)
                now[space][byte] = [row['subgroup'], row['pc'], end, end]
    for space, values in now.items():
        for byte in list(values):
            over(space, byte)
    return lives, used


def main(rows, answer, listing):
    document = json.load(open(rows))
    groups = groups_of(listing)
    truth, used = follow(document['instruction'], groups)
    spaces = json.load(open(answer))['on-chip']
    assert spaces, 'nothing is reported'
    for space in spaces:
        name = space['space']
        assert len(space['values']) == space['value_count'], f'{name}: not all values are reported'
        reported = collections.defaultdict(list)
        for value in space['values']:
            for byte in range(value['address'], value['address'] + value['bytes']):
                reported[byte, value['engine'], value['pc']].append((value['from_ns'], value['until_ns']))
        reported = {(byte, engine.lower(), pc): sorted(times) for (byte, engine, pc), times in reported.items()}
        wanted = {(byte, engine.lower(), pc): sorted(map(tuple, times)) for (byte, engine, pc), times in truth[name].items()}
        for key in sorted(reported.keys() ^ wanted.keys()):
            raise AssertionError(f'{name}: byte {key[0]:#x} by {key[1]} {key[2]} is reported as {reported.get(key)}, not {wanted.get(key)}')
        edges = []
        for key, times in wanted.items():
            assert len(times) == len(reported[key]), f'{name}: {key} has {reported[key]}, not {times}'
            for theirs, ours in zip(times, reported[key]):
                assert all(abs(a - b) <= TWO_NS for a, b in zip(theirs, ours)), f'{name}: {key} has {ours}, not {theirs}'
                edges += [(ours[0], 1), (ours[1], -1)]
        peak = now = 0
        for _, change in sorted(edges):  # ends before it starts
            now += change
            peak = max(peak, now)
        assert peak == space['peak_bytes'], f"{name}: peak {space['peak_bytes']}, not {peak}"
        assert max(space['over_time']) == peak
        print(f"{name}: {space['value_count']} values, {len(wanted)} bytes of values, at most {peak} at once; {used} prepared transfers")
    missing = [name for name, lives in truth.items() if lives and name not in [space['space'] for space in spaces]]
    assert not missing, f'{missing} are not reported'


main(*sys.argv[1:])
