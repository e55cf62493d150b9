"""kernel_members FOLDER SOURCES - adds a kernel around the program of an unpacked NEFF, as a compiler records
it.

Each slot of an engine has a line of kernel.py and a place in the kernel tree: the first eighth is before the
loops, the rest in two iterations of kv_h, each with four of s_t and then two of g. SOURCES gets the text of
kernel.py."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', '..', 'profiler', 'output'))
from debug_members import ENGINES, number, packed, pair, text  # noqa: E402

PATH = '/home/user/src/attention/kernel.py'
FUNCTION = '__main__.attention'
KERNEL = 4  # Penguin id
LOOPS = {'kv_h': 12, 's_t': 14, 'g': 30}
BODY = {'': (4, 6), 'kv_h': (13, 13), 's_t': (15, 26), 'g': (31, 38)}


def place(i, count):
    """Returns [(variable, value)] of the slot, outermost first, and its line."""
    before = max(1, count // 8)
    path = []
    if i >= before:
        at = (i - before) / max(1, count - before) * 2
        head, at = int(at), at % 1 * 6
        path = [('kv_h', head), ('s_t', int(at)) if at < 4 else ('g', int(at) - 4)]
    first, last = BODY[path[-1][0] if path else '']
    return path, first + i % (last - first + 1)


def tree(insts):
    """Returns nodes of instructions in program order; equal neighbours of a path are one node."""
    root = {'func': {'name': FUNCTION, 'file': PATH, 'line': 3, 'children': []}}
    nodes = {(): root['func']['children']}
    for path, line, name in insts:
        for depth in range(len(path)):
            key = tuple(path[:depth + 1])
            if key not in nodes:
                variable, value = key[-1]
                node = {'var': variable, 'val': str(value), 'line': LOOPS[variable], 'children': []}
                nodes[key[:-1]].append({'iter': node})
                nodes[key] = node['children']
        nodes[tuple(path)].append({'inst': {'name': name, 'line': line}})
    return [{'lnc': 1, 'info': [root]}]


def write(folder):
    insts = []
    for e, engine in enumerate(ENGINES):
        path = f'{folder}/sg00/{engine}.bin'
        count = os.path.getsize(path) // 64 if os.path.exists(path) else 0
        asm, backend = text(1, b'slots'), text(1, b'instructions')
        for s in range(count):
            asm += text(3, packed(3, 100000 * e + s + 1))
            at, line = place(s, count)
            name = f'inst.{100000 * e + s + 1}'
            insts.append((at, line, name))
            backend += text(3, number(1, 100000 * e + s + 1) + text(2, name.encode()) + packed(3, KERNEL) + pair('kernel_file', 0) +
                            pair('kernel_line', line) + pair('kernel_name', 0))
        backend += text(5, PATH.encode()) + text(7, FUNCTION.encode())
        for level, data in (('asm', asm), ('backend', backend)):
            with open(f'{folder}/sg00/debug_info_{level}_{engine}.dbg', 'wb') as file:
                file.write(data)
    os.makedirs(f'{folder}/debug_info', exist_ok=True)
    with open(f'{folder}/debug_info/debug_info_penguin.dbg_sg000000', 'wb') as file:
        file.write(text(1, b'operations') + text(3, number(1, KERNEL) + text(2, b'attention')))
    insts.sort(key=lambda one: (len(one[0]) > 0, one[0][:1]))  # one node per iteration, for all engines
    with open(f'{folder}/kernel_debug_info.json', 'w', encoding='utf-8') as file:
        json.dump({'debug_info_files': [{'file_name': 'f.klir.debuginfo.json', 'kernel_name': FUNCTION, 'parent_tensorizer_id': KERNEL}]}, file)
    with open(f'{folder}/f.klir.debuginfo.json', 'w', encoding='utf-8') as file:
        json.dump(tree(insts), file)


def sources(folder):
    os.makedirs(f'{folder}/attention', exist_ok=True)
    with open(f'{folder}/attention/kernel.py', 'w', encoding='utf-8') as file:
        for line in range(1, 41):
            file.write(f'    text_of({line})\n')
    os.utime(f'{folder}/attention/kernel.py', (946684800, 946684800))  # older than the NEFF


if __name__ == '__main__':
    write(sys.argv[1])
    sources(sys.argv[2])
