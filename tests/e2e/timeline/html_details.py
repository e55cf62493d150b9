"""Compares all details of a page in one file with the answers of a server: html_details.py FILE.html ADDRESS
[KEY...].

Each key must be in the answer for some slice."""
import base64
import json
import re
import sys
import urllib.request
import zlib


def main():
    path, address, *keys = sys.argv[1:]
    with open(path, encoding='utf-8') as page:
        text = page.read()

    def unpacked(name):
        packed = re.search(rf'id="data-{name}">([^<]*)<', text)
        return packed and json.loads(zlib.decompress(base64.b64decode(packed.group(1))))
    meta = unpacked('answers')['meta']
    chunk = unpacked('extent')['chunk']
    details = {'slices': [], 'flows': []}
    for track, about in enumerate(meta['tracks']):
        chunks = [unpacked(f'details-{track}-{n}') for n in range(-(-about['slices'] // chunk))]
        for kind, answers in details.items():
            answers.append([one for part in chunks for one in part[kind]])
            assert len(answers[-1]) == about['slices'], f'{kind} of {about["name"]}: {len(answers[-1])} of {about["slices"]}'
    places = unpacked('positions')  # numbers from 1 on
    details['positions'] = [[places['places'][i - 1] if i else None for i in track] for track in places['of']] if places else []
    seen = set()
    compared = 0
    for kind, name in (('slices', 'slice'), ('flows', 'flows'), ('positions', 'position')):
        for track, answers in enumerate(details[kind]):
            for index, ours in enumerate(answers):
                if name != 'slice' and index % 5:
                    continue
                with urllib.request.urlopen(f'{address}api/v1/{name}?track={track}&slice={index}') as answer:
                    theirs = json.load(answer)
                assert ours == theirs, f'{name} {track} {index}: {json.dumps(ours)[:400]}, served {json.dumps(theirs)[:400]}'
                seen |= {key for key, value in (theirs or {}).items() if value not in (None, [], '')}
                compared += 1
    assert compared and seen >= set(keys), f'{compared} compared, without {set(keys) - seen}'
    print(f'{compared} answers equal')


main()
