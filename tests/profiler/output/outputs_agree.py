#!/usr/bin/env python3
"""outputs_agree CAPTURE.ntff [FILE.neff] - every output of one capture uses the same name for a DMA queue,
and the same share of the execution for a row.

The name is that of the NEFF with the engine's word as the original tool shows it. Queues without a name in
the capture are named by their kind, (instruction)."""
import csv
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

SHOWN = {'Pe': 'Tensor', 'Act': 'Scalar', 'Pool': 'GpSimd', 'Dve': 'Vector', 'SP': 'Sync'}


def shown(name):
    """Returns a name of a NEFF as outputs show it."""
    for word, title in SHOWN.items():
        if name.startswith('q' + word) and not name.startswith('qDveTable'):
            return 'q' + title + name[1 + len(word):]
    return name


class Page:
    def __init__(self, arguments):
        self.server = subprocess.Popen(['neuron-profile', 'view', '--port', '0', '--no-open', *arguments], stdout=subprocess.PIPE, text=True)
        self.address = next(line.split()[-1] for line in self.server.stdout if line.startswith('View profile at '))

    def ask(self, path, **parameters):
        with urllib.request.urlopen(f'{self.address}api/v1/{path}?{urllib.parse.urlencode(parameters)}') as answer:
            return json.load(answer)

    def close(self):
        self.server.terminate()
        self.server.wait()


def texts(value):
    """Yields all texts in a JSON value, except keys."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


def names_of_neff(neff, folder):
    if not neff:
        return set()
    target = os.path.join(folder, 'neff')
    os.mkdir(target)
    subprocess.run(['neuron-packager', 'unpack', os.path.abspath(neff)], cwd=target, check=True, stdout=subprocess.DEVNULL)
    found = set()
    for at, _, files in os.walk(target):
        if 'def.json' in files:
            with open(os.path.join(at, 'def.json'), encoding='utf-8') as file:
                found |= {shown(name) for name in json.load(file).get('dma_queue') or {}}
    return found


def names(page, arguments, analyses, folder):
    """Returns the names of queues that moved data, for each output."""
    def view(form):
        path = os.path.join(folder, form)
        subprocess.run(['neuron-profile', 'view', *arguments, '--output-format', form, '--output-file', path], check=True)
        return path

    meta = page.ask('meta')
    tracks = [track for track, about in enumerate(meta['tracks']) if about['kind'] == 'queue']
    slices = [page.ask('slice', track=track, slice=0) for track in tracks]
    text = subprocess.run(['neuron-profile', 'analyze', *arguments, 'dma'], check=True, capture_output=True, text=True).stdout
    with open(os.path.join(view('csv'), 'DmaPacket.csv'), encoding='utf-8', newline='') as file:
        rows = {row['queue_name'] for row in csv.DictReader(file)}
    with open(view('chrome'), encoding='utf-8') as file:
        threads = [event['args']['name'] for event in json.load(file)['traceEvents'] if event['name'] == 'thread_name']
    return {
        'rows of the page': {meta['tracks'][track]['name'] for track in tracks},
        'details of the page': {row['value'] for one in slices for group in one['groups'] for row in group['rows'] if row['name'] == 'Queue'},
        'analyze dma': {row['queue'] for row in analyses['dma']['queues']},
        'analyze dma as text': set(re.findall(r'(?m)^ *\d+  (.+?) {2,}\d', text)),
        'analyze activity': {row['name'] for row in analyses['activity']['rows'] if row['kind'] == 'queue'},
        'CSV': rows,
        'SQLite': {name for name, in sqlite3.connect(view('sqlite')).execute('select distinct queue_name from DmaPacket')},
        'chrome': {match[1] for match in (re.fullmatch(r'(.*) Q\d+-E\d+', name) for name in threads) if match},
    }


def check_names(page, arguments, analyses, neff, folder):
    found = names(page, arguments, analyses, folder)
    wanted = found['CSV']
    assert wanted, 'no queue moved anything'
    for output, those in found.items():
        assert those == wanted, f'{output} has {sorted(those - wanted)}, and not {sorted(wanted - those)}'
    path = os.path.join(folder, 'json')
    subprocess.run(['neuron-profile', 'view', *arguments, '--output-format', 'json', '--output-file', path], check=True)
    with open(path, encoding='utf-8') as file:
        known = {row['q_name'] for row in json.load(file)['dma_queues_info']}
    known |= names_of_neff(neff, folder) | {'(instruction)'}
    assert wanted <= known, f'{sorted(wanted - known)} is not in the files'
    # Analyses use the same names.
    said = {name for text in texts(analyses) for name in re.findall(r'\bq[A-Z]\w+', text)}
    assert said <= known, f'an analysis says {sorted(said - known)}'
    print(f'{len(wanted)} queues in {len(found)} outputs')


def check_shares(page, analyses):
    """Returns how busy each row was in the execution, according to the page and to the analyses."""
    if not analyses['activity']:
        return
    meta = page.ask('meta')
    about = meta['sources'][0]
    begin = about['offset'] - meta['begin']
    counted = {row['track']: row['busy'] for row in page.ask('stats', **{'from': begin, 'to': begin + about['total']})['tracks']}
    activity = {(row['core'], row['name'].lower()): row['busy_ratio'] for row in analyses['activity']['rows']}
    others = {(row['core'], row['engine']): row['busy_ratio'] for row in analyses['idle']['engines']}
    others |= {(row['core'], row['queue'].lower()): row['active_ns'] / analyses['activity']['total_ns'] for row in analyses['dma']['queues']}
    compared = 0
    for track, busy in counted.items():
        if meta['tracks'][track]['kind'] == 'region':
            continue
        group = meta['groups'][meta['tracks'][track]['group']]
        group = group if group['name'].startswith('NeuronCore ') else meta['groups'][group['parent']]
        row = int(re.match(r'NeuronCore (\d+)', group['name'])[1]), meta['tracks'][track]['name'].lower()
        for analysis, shares in (('activity', activity), ('idle or dma', others)):
            assert abs(shares[row] - busy) < 1e-6, f'{row} is busy {busy} on the page, {shares[row]} in {analysis}'
        compared += 1
    assert compared, 'no row was busy'
    print(f'{compared} shares')


def main():
    capture, *neff = sys.argv[1:]
    arguments = ['-s', capture, *(['-n', *neff] if neff else [])]
    analyses = json.loads(subprocess.run(['neuron-profile', 'analyze', '--json', *arguments], check=True, capture_output=True).stdout)
    page = Page(arguments)
    try:
        with tempfile.TemporaryDirectory() as folder:
            check_names(page, arguments, analyses, neff[0] if neff else None, folder)
            check_shares(page, analyses)
    finally:
        page.close()


main()
