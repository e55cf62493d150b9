"""Checks the page in one file: html.py BROWSER PROFILE_FOLDER FILE.html LONG.html SHORT.html ADDRESS
BOTH.html DIFF.json.

ADDRESS serves the page of the same capture: both must give the same answers. BOTH.html compares two captures,
and DIFF.json is the output of diff for them."""
import json
import os
import re
import sys
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'))
from browser import Browser  # noqa: E402


class Watched(Browser):
    """A browser that records its requests."""

    def __init__(self, *args):
        self.asked = []
        super().__init__(*args)

    def _listen(self, message):
        if message.get('method') == 'Network.requestWillBeSent':
            self.asked.append(message['params']['request']['url'])
        super()._listen(message)


def served(address, path, **parameters):
    query = '?' + urllib.parse.urlencode(parameters) if parameters else ''
    try:
        with urllib.request.urlopen(f'{address}api/v1/{path}{query}') as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return {'error': error.read().decode().strip()}


def difference(a, b, at=''):
    """Returns where two answers differ, or ''; numbers that are sums may differ in their last digits."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next(filter(None, (difference(a[k], b[k], f'{at}.{k}') for k in a)), '')
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(filter(None, (difference(x, y, f'{at}[{i}]') for i, (x, y) in enumerate(zip(a, b)))), '')
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= 1e-9 * max(abs(a), abs(b)):
        return ''
    return '' if a == b else f'{at}: {json.dumps(a)[:300]}, served {json.dumps(b)[:300]}'


class Page:
    def __init__(self, browser, path):
        self.browser = browser
        browser.call('Page.navigate', url='file://' + os.path.abspath(path))
        browser.wait_for("document.documentElement?.dataset.state === 'complete'")

    def ask(self, call):
        return self.browser.evaluate(f"(async () => {{ const {{ server }} = await import('page/source.js'); "
                                     f"try {{ return await server.{call}; }} catch (error) {{ return {{ error: error.message }}; }} }})()")

    def picture(self, name):
        folder = os.environ.get('NTK_SCREENSHOTS')
        if folder:
            self.browser.screenshot(os.path.join(folder, f'html-{name}.png'), whole=False)


def check_functions(page, address):
    """The file answers every request of the page."""
    with urllib.request.urlopen(f'{address}source.js') as answer:
        text = answer.read().decode()
    asked = set(re.findall(r'^  (\w+): ', text[text.index('export const server'):], re.M))
    ours = set(page.browser.evaluate("(async () => Object.keys((await import('page/source.js')).server))()"))
    other = {'host', 'drop', 'sql', 'whatIf'}  # of a folder, of files that a server stores, and of queries and estimates that a server runs: a single file has none of them
    assert not page.browser.evaluate("document.querySelector('#tab-sql') !== null"), 'the file has a tab for queries'
    assert asked and asked - other == ours, f'the server has {asked - other - ours}, the file {ours - asked}'


def check_answers(page, address):
    meta = page.ask('meta()')
    theirs = served(address, 'meta')
    assert meta['tracks'] == theirs['tracks'] and meta['whats'] == theirs['whats'], 'the rows differ from those of the server'
    span = meta['span']
    same = [('summary(0)', 'summary', {'source': 0}), (f'flame(0, 0, {span})', 'flame', {'source': 0, 'from': 0, 'to': span}),
            (f'path(0, 0, {span})', 'path', {'source': 0, 'from': 0, 'to': span})]
    for name in ('engines', 'idle', 'critical-path', 'dma', 'roofline', 'layers', 'memory', 'advice'):
        same.append((f"analysis(0, '{name}')", 'analysis', {'source': 0, 'name': name, 'brief': 1}))
    for begin, end in ((0, span), (span // 3, span // 2), (span // 2, span // 2 + 1000)):
        same.append((f'stats({begin}, {end})', 'stats', {'from': begin, 'to': end}))
    whats = [w for w, what in enumerate(meta['whats']) if 'MATMUL' in what['name'] or what['family'] == 'dma']
    for begin, back in ((0, 0), (span // 2, 0), (span // 2, 1)):
        same.append((f"hits({whats}, {begin}, {'true' if back else 'false'})", 'hits',
                     {'whats': ','.join(map(str, whats)), 'from': begin, 'back': back}))
    for begin, back in ((0, 0), (span // 2, 1)):
        same.append((f"hits([], {begin}, {'true' if back else 'false'}, {{ pc: 3 }})", 'hits', {'pc': 3, 'from': begin, 'back': back}))
    for track, about in enumerate(meta['tracks']):
        for index in {0, about['slices'] // 2, about['slices'] - 1}:
            if about['slices']:
                same.append((f'slice({track}, {index})', 'slice', {'track': track, 'slice': index}))
    known = 0
    for call, path, parameters in same:
        ours, wanted = page.ask(call), served(address, path, **parameters)
        if path == 'analysis':
            if 'error' in wanted or 'absent' in wanted:
                assert ours['error'], f'{call} is only in the file'
                continue
            wanted = wanted['value']
        found = difference(ours, wanted)
        assert not found, f'{call}{found}'
        known += 1
    assert known > 20, f'{known} answers compared'
    engine = next(t for t, track in enumerate(meta['tracks']) if track['kind'] == 'engine')
    found = difference(page.ask(f'flows({engine}, 0)'), served(address, 'flows', track=engine, slice=0))
    assert not found, f'flows{found}'
    return meta


def check_hands(page):
    """Search leads to the first hit, as a user reaches it, after an expression that takes too long."""
    browser = page.browser
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('/')
    browser.call('Input.insertText', text='((((((((.+)+)+)+)+)+)+)+)+!')
    browser.wait_for("document.querySelector('#found').textContent === 'timed out after 1 s: try a simpler expression'")
    browser.evaluate("document.querySelector('#search').select()")
    browser.call('Input.insertText', text='^matmul$')
    browser.wait_for("/matches$/.test(document.querySelector('#found').textContent)")
    browser.key('Enter')
    browser.wait_for("(async () => (await import('page/state.js')).state.selected !== null)()")
    browser.wait_for("document.querySelector('#panel-box h2')?.textContent === 'MATMUL'")
    browser.wait_for("document.documentElement.dataset.state === 'complete'")


def check_both(page, diff_path):
    with open(diff_path) as file:
        diff = json.load(file)
    assert page.ask('meta()')['compares'], 'two captures are not compared'
    differs = difference(page.ask('compare()'), diff)
    assert not differs, f'the comparison differs from diff: {differs}'
    browser = page.browser
    browser.evaluate("document.querySelector('#tab-compare').click()")
    browser.wait_for("document.querySelector('.pane-compare table') !== null")
    page.picture('compare')
    browser.evaluate("document.querySelector('#tab-roofline').click()")
    browser.wait_for("document.querySelector('.roofline-frame .roof.run-1') !== null")
    for run in (0, 1):
        assert browser.evaluate(f"document.querySelectorAll('.roofline-frame path.all.run-{run}').length") <= 1
    page.picture('roofline')


def main():
    program, folder, path, long_path, short_path, address, both_path, diff_path = sys.argv[1:]
    browser = Watched(program, folder)
    try:
        browser.size(1440, 900)
        browser.scheme('light')
        page = Page(browser, path)
        page.picture('page')
        labels = browser.evaluate("[...document.querySelectorAll('#labels .track .name')].map((e) => e.textContent)")
        for name in ('Tensor', 'Scalar', 'Vector', 'GpSimd', 'Sync', 'DMA throughput'):
            assert name in labels, f'no row {name}: {labels}'
        check_functions(page, address)
        check_answers(page, address)
        check_hands(page)
        page.picture('search')

        check_both(Page(browser, both_path), diff_path)

        page = Page(browser, long_path)
        page.picture('long')
        meta = page.ask('meta()')
        assert meta['slices'] > 400000, 'the capture has too few slices'
        # Every slice is in the file, and the details of as many as fit.
        known, all_of = (int(n.replace(',', '')) for n in re.fullmatch(r'operands and waits of ([\d,]+) of ([\d,]+) slices in this file', meta['note']).groups())
        assert 50000 < known < all_of == sum(about['slices'] for about in meta['tracks']), meta['note']
        assert 'operands, names and waits of ' in meta['note_more'] and '--html-size' in meta['note_more'], meta['note_more']
        assert browser.evaluate("document.querySelector('#facts').textContent").startswith(meta['note']), 'the page does not name what is omitted'
        engine = next(t for t, about in enumerate(meta['tracks']) if about['kind'] == 'engine' and about['slices'] > 10)
        queue = max(range(len(meta['tracks'])), key=lambda t: meta['tracks'][t]['slices'])
        detail = page.ask(f"slice({engine}, {meta['tracks'][engine]['slices'] - 1})")
        assert 'Instruction' in [row['name'] for group in detail['groups'] for row in group['rows']], f'an instruction lacks its operands: {detail}'
        assert 'releases' in page.ask(f'flows({engine}, 5)'), 'an instruction lacks what it released'
        detail = page.ask(f"slice({queue}, {meta['tracks'][queue]['slices'] - 1})")
        assert detail['groups'][-1]['rows'][0]['name'] == 'Not in this file', f'unexpected details of the last packet: {detail}'
        counts = {row['track']: row['count'] for row in page.ask(f"stats(0, {meta['span'] + 1})")['tracks']}
        for track, about in enumerate(meta['tracks']):
            if about['kind'] in ('engine', 'queue'):
                assert counts.get(track, 0) == about['slices'], f'{about["name"]}: {counts.get(track)} slices of {about["slices"]}'
        track = max(counts, key=counts.get)
        last = meta['tracks'][track]['slices'] - 1
        assert page.ask(f'slice({track}, {last})')['slice'] == last, 'the last slice of the longest row'
        # Deeper than the levels in the file: the page still draws and does not wait for more data.
        browser.evaluate("(async () => { const { show, state } = await import('page/state.js'); show(state.meta.span / 2, state.meta.span / 1e6 / state.width); })()")
        browser.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        browser.wait_for("document.documentElement.dataset.state === 'complete'")
        page.picture('long-deep')
        drawn = browser.evaluate("(async () => { const { drawn } = await import('page/draw.js'); return [drawn.slices, drawn.bitmaps]; })()")
        assert drawn[0] > 0 and drawn[1] == 0, f'the deepest level is not drawn from slices: {drawn}'

        page = Page(browser, short_path)
        assert re.search('no detail below [0-9.]+ us.* in this file', browser.evaluate("document.querySelector('#facts').textContent")), 'the page does not name the omitted rows'
        assert '--html-size' in browser.evaluate("document.querySelector('#facts').title"), 'the page does not name the remedy'
        assert 'not in this file' in page.ask(f"stats(0, {meta['span']})")['error'], 'statistics of rows that are missing'
        page.picture('short')
        outside = [url for url in browser.asked if not url.startswith(('file://', 'data:', 'blob:', 'about:'))]
        files = {url for url in browser.asked if url.startswith('file://')}
        assert not outside, f'asks for {outside}'
        assert len(files) == 4, f'unexpected files next to the four pages: {files}'
        assert not browser.said, f'the page reports: {browser.said}'
    finally:
        browser.close()


main()
