"""Checks the timeline in a browser: timeline.py BROWSER PROFILE_FOLDER ADDRESS SUMMARY.json ANALYSES.json
LARGE_ADDRESS FOLDER_ADDRESS COMPARE_ADDRESS DIFF.json."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'))
from browser import Browser  # noqa: E402

CTRL = 2
SHIFT = 8
WIDTH, HEIGHT = 1440, 900

NAMELESS = '''[...document.querySelectorAll('button, a, canvas, input, [tabindex="0"], [role="img"]')]
  .filter((e) => e.offsetParent !== null && !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))
  .map((e) => e.outerHTML)'''


# Tables that overlap, or are wider than the pane.
COLLIDING = '''(() => {
  const box = document.querySelector('#panel-box').getBoundingClientRect();
  const tables = [...document.querySelectorAll('#panel-box table')].map((e) => [e.getBoundingClientRect(), e.textContent.slice(0, 30)]);
  return tables.flatMap(([a, name], i) => [...(a.right > box.right + 1 ? [`${name} is cut off`] : []),
    ...tables.slice(i + 1).filter(([b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(([, other]) => `${name} over ${other}`)]);
})()'''


def equal(what, shown, expected):
    if shown != expected:
        raise AssertionError(f'{what}: {shown!r}, expected {expected!r}')


def near(what, shown, expected, most):
    if abs(shown - expected) > most:
        raise AssertionError(f'{what}: {shown!r}, expected {expected!r} within {most!r}')


class Page:
    def __init__(self, browser):
        self.browser = browser

    def open(self, address):
        self.browser.call('Page.navigate', url=address)
        self.complete()

    def complete(self):
        """Waits until all tiles of the window are painted, and no animation is in progress."""
        self.browser.wait_for("document.documentElement?.dataset.state === 'complete'")
        self.browser.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        self.browser.wait_for("document.documentElement.dataset.state === 'complete'")

    def state(self, expression):
        return self.browser.evaluate(f"(async () => {{ const {{ state, to, xOf, frames }} = await import('/state.js'); "
                                     f"const {{ drawn, boxOf }} = await import('/draw.js'); return {expression}; }})()")

    def window(self):
        return self.state('[state.from, to()]')

    def canvas(self):
        return self.browser.evaluate("(() => { const b = document.querySelector('#canvas').getBoundingClientRect(); return [b.left, b.top]; })()")

    def labels(self):
        return self.browser.evaluate("[...document.querySelectorAll('#labels .track .name')].map((e) => e.textContent)")

    @staticmethod
    def share_code(name):
        return (f"[...document.querySelectorAll('#labels .track')].find((e) => e.querySelector('.name').textContent === '{name}')"
                ".lastElementChild.textContent")

    def share(self, name):
        self.browser.wait_for(f"{self.share_code(name)} !== ''")
        return self.browser.evaluate(self.share_code(name))

    def expect_share(self, name, expected, most):
        """Labels follow a change of the window once its tiles have arrived."""
        try:
            self.browser.wait_for(f'Math.abs(parseFloat({self.share_code(name)}) - {expected}) <= {most}')
        except TimeoutError:
            near(f'share of {name}', float(self.share(name).rstrip('%')), expected, most)
            raise

    def picture(self, name):
        folder = os.environ.get('NTK_SCREENSHOTS')
        self.complete()
        if folder:
            self.browser.screenshot(os.path.join(folder, f'timeline-{name}.png'), whole=False)


def check_regions(page, analyses):
    """A page without a position in its address starts at the region with the longest total; the tab lists the
    regions of analyze."""
    browser = page.browser
    regions = analyses['regions']['regions']
    busiest = page.state('state.meta.busiest')
    equal('busiest', [busiest['name'], busiest['count']], [regions[0]['name'], regions[0]['count']])
    equal('tab', browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').textContent"), 'Regions')
    window = page.window()
    assert window[0] <= busiest['from'] and window[1] >= busiest['to'], f'the window {window} is not around {busiest}'
    near('share of the window', (busiest['to'] - busiest['from']) / (window[1] - window[0]), 0.9, 0.01)
    browser.wait_for("document.querySelectorAll('.pane-regions tbody tr').length > 0")
    shown = browser.wait_for("[...document.querySelectorAll('.pane-regions tbody tr')].map((row) => [row.cells[0].textContent, row.cells[1].textContent, row.cells[3].textContent])")
    equal('regions', shown, [[f"{'· ' * one['depth']}{one['name']}", one['kind'], f"{one['count']:,}"] for one in regions])
    tracks = page.state("state.meta.tracks.filter(({ kind }) => kind === 'region').map(({ name, slices }) => [name, slices])")
    of_row = {}
    for one in regions:
        name = 'Layers' if one['engine'] is None else f"{next(t for t in page.labels() if t.lower() == one['engine'])} regions"
        of_row[name] = of_row.get(name, 0) + one['count']
    equal('times of the rows of regions', dict(tracks), of_row)
    page.picture('regions')
    # The longest time links to its place.
    first = regions[0]
    browser.evaluate("document.querySelector('.pane-regions tbody tr .as-link').click()")
    browser.wait_for("(async () => (await import('/state.js')).state.selected?.end > 0)()")
    selected = page.state('[state.selected.start, state.selected.end, state.meta.tracks[state.selected.track].kind]')
    near('the longest time', selected[1] - selected[0], first['worst_ns'] * 1000, 1)
    equal('row of the longest time', selected[2], 'region')
    browser.evaluate("(async () => (await import('/details.js')).select(null))()")
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('0')


def check_rows(page, summary):
    """The busy time of the rows matches the summary."""
    labels = page.labels()
    for name in ('Tensor', 'Scalar', 'Vector', 'GpSimd', 'Sync', 'DMA throughput'):
        assert name in labels, f'no row {name}: {labels}'
    assert not any(name.startswith('Semaphore') for name in labels), 'semaphores are folded at first'
    window = page.state('state.meta.span') / 1e12
    for name in ('Tensor', 'Vector', 'Scalar'):
        page.expect_share(name, summary[f'{name.lower()}_engine_active_time'] / window * 100, 0.51)


def check_fold(page):
    browser = page.browser
    browser.evaluate("[...document.querySelectorAll('#labels .group')].find((e) => e.textContent === 'Semaphores').click()")
    assert any(name.startswith('Semaphore') for name in page.labels()), 'semaphores unfold'
    equal('aria-expanded', browser.wait_for("[...document.querySelectorAll('#labels .group')].find((e) => e.textContent === 'Semaphores').getAttribute('aria-expanded')"), 'true')
    page.picture('semaphores')
    browser.evaluate("[...document.querySelectorAll('#labels .group')].find((e) => e.textContent === 'Semaphores').click()")


def check_moving(page):
    """Wheel, drag and keys keep the moment under the pointer in place."""
    browser = page.browser
    left, top = page.canvas()
    before = page.window()
    x, y = left + 400, top + 60
    under = before[0] + 400 / page.state('state.width') * (before[1] - before[0])
    browser.mouse('mouseMoved', x, y)
    browser.mouse('mouseWheel', x, y, modifiers=CTRL, deltaX=0, deltaY=-300)
    after = page.window()
    assert after[1] - after[0] < (before[1] - before[0]) * 0.7, 'ctrl and wheel zoom'
    near('the moment under the pointer', after[0] + 400 / page.state('state.width') * (after[1] - after[0]), under, (after[1] - after[0]) / 200)
    browser.mouse('mouseWheel', x, y, modifiers=SHIFT, deltaX=0, deltaY=100)
    moved = page.window()
    assert moved[0] > after[0], 'shift and wheel move'
    browser.drag(x, x + 100, y, SHIFT)
    near('shift and drag move', page.window()[0], moved[0] - 100 / page.state('state.width') * (moved[1] - moved[0]), 2 * (moved[1] - moved[0]) / 1000)
    browser.key('0')
    equal('0 shows everything', page.state('state.from <= 0 && to() >= state.meta.span'), True)
    browser.key('w')
    shown = "(async () => {{ const {{ state, to }} = await import('/state.js'); return {}; }})()"
    browser.wait_for(shown.format('to() - state.from < state.meta.span'))
    for key, done in (('d', 'state.from > {0}'), ('a', 'state.from < {0}'), ('s', 'to() - state.from > {1} - {0}')):
        page.complete()
        before = page.window()
        browser.key(key)
        browser.wait_for(shown.format(done.format(*before)))
    browser.key('0')


def check_pointer(page):
    """The tooltip describes the slice under the pointer."""
    browser = page.browser
    left, top = page.canvas()
    slice_ = page.state('''(() => { const t = state.meta.tracks.findIndex((track) => track.name === 'Tensor');
      const tile = state.tiles.find(t, state.meta.level_top, 0); let best = 0;
      for (let i = 1; i < tile.count; i++) if (tile.times[i * 4 + 1] - tile.times[i * 4] > tile.times[best * 4 + 1] - tile.times[best * 4]) best = i;
      return { track: t, slice: tile.words[best * 8 + 4], lane: tile.octets[best * 32 + 26], start: tile.times[best * 4], end: tile.times[best * 4 + 1],
        what: state.meta.whats[tile.halves[best * 16 + 12]].name }; })()''')
    box = page.state(f"boxOf({json.dumps({k: slice_[k] for k in ('track', 'lane', 'start', 'end')})})")
    x, y = left + box['x'] + box['width'] / 2, top + box['y'] + box['height'] / 2
    browser.mouse('mouseMoved', x, y)
    browser.wait_for("!document.querySelector('#tooltip').hidden")
    equal('tooltip', browser.evaluate("document.querySelector('#tooltip b').textContent"), slice_['what'])
    return slice_, x, y


def check_slice(page, slice_, x, y):
    """A click shows all details; full stop and comma select the neighbours."""
    browser = page.browser
    browser.click(x, y)
    browser.wait_for("document.querySelector('.pane-slice h2') !== null")
    equal('title', browser.evaluate("document.querySelector('.pane-slice h2').textContent"), slice_['what'])
    facts = browser.wait_for("Object.fromEntries([...document.querySelectorAll('.facts dl > div')].map((e) => [e.children[0].textContent, e.children[1].title]))")
    equal('duration', facts['Duration'], f"{(slice_['end'] - slice_['start']) / 1000:,.3f}".rstrip('0').rstrip('.') + ' ns')
    assert 'Instruction' in facts, f'the instruction is decoded: {facts}'
    browser.key('f')
    browser.wait_for(f"(async () => {{ const {{ state, to }} = await import('/state.js'); return state.from <= {slice_['start']} && to() >= {slice_['end']}"
                     f" && to() - state.from < 5 * {slice_['end'] - slice_['start']}; }})()")
    browser.key('0')
    for key, by in (('.', 1), (',', 0)):
        browser.key(key)
        browser.wait_for(f"(async () => (await import('/state.js')).state.selected?.slice === {slice_['slice'] + by})()")
    browser.key('ArrowDown')
    browser.wait_for(f"(async () => (await import('/state.js')).state.selected?.track > {slice_['track']})()")
    browser.key('ArrowUp')
    browser.wait_for(f"(async () => (await import('/state.js')).state.selected?.track === {slice_['track']})()")
    page.picture('slice')


def check_range(page):
    """The statistics of a range are those of the slices in it."""
    browser = page.browser
    left, top = page.canvas()
    browser.drag(left + 300, left + 900, top + 10)
    browser.wait_for("document.querySelector('.pane-range table') !== null")
    from_, to = page.state('[state.range.from, state.range.to]')
    expected = page.state(f'''(() => {{ const t = state.meta.tracks.findIndex((track) => track.name === 'Vector');
      const tile = state.tiles.find(t, state.meta.level_top, 0); let count = 0;
      for (let i = 0; i < tile.count; i++) if (tile.times[i * 4] < {to} && tile.times[i * 4 + 1] > {from_}) count++;
      return count; }})()''')
    shown = browser.wait_for("[...document.querySelectorAll('.pane-range table:first-of-type tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
    equal('slices of Vector', [row[3] for row in shown if row[0] == 'Vector'], [str(expected)])
    lanes = page.state("Object.fromEntries(state.meta.tracks.map((track) => [track.name, track.lanes]))")
    several = [row for row in shown if row[0].startswith('q') and lanes[row[0]] > 1]
    assert several, f'no queue of several DMA engines: {shown}'
    for row in several:
        assert row[2].endswith(f'% (at least one of {lanes[row[0]]})'), f'the busy time of a queue does not name its engines: {row}'
    said = browser.evaluate("""(async () => { const { describe } = await import('/tooltip.js'); const { state } = await import('/state.js');
      return ['queue', 'engine'].map((kind) => { const t = state.meta.tracks.findIndex((track) => track.kind === kind && (track.lanes > 1 || kind === 'engine'));
        return describe({ track: t, what: 0, start: 0, end: 1000, bucket: { mean: 0.25, count: 3, extra: 10 } })[1][0].split(' (at least one of ')[1]
          === (kind === 'queue' ? `${state.meta.tracks[t].lanes} DMA engines)` : undefined); }); })()""")
    equal('tooltips of pieces, which mention the engines of a queue', said, [True, True])
    engines = page.state("state.meta.tracks.filter(({ kind }) => kind === 'engine').map(({ name }) => name)")
    foot = next(row for row in shown if row[0] == f'{len(engines)} engines')
    near('mean of the engines', float(foot[2].rstrip('%')), sum(float(row[2].rstrip('%')) for row in shown if row[0] in engines) / len(engines), 0.06)
    equal('slices of the engines', foot[3], str(sum(int(row[3]) for row in shown if row[0] in engines)))
    equal('tables of a range', browser.evaluate(COLLIDING), [])
    page.picture('range')


def check_search(page):
    browser = page.browser
    browser.evaluate("(async () => (await import('/details.js')).select(null))()")
    browser.key('/')
    equal('focus', browser.evaluate('document.activeElement.id'), 'search')
    browser.call('Input.insertText', text='^matmul$|RECIP')
    browser.wait_for("document.querySelector('#found').textContent === '12 matches'")
    browser.key('Enter')
    browser.wait_for("(async () => (await import('/state.js')).state.selected !== null)()")
    first = page.state('[state.selected.start, state.meta.whats[state.selected.what].name]')
    equal('first hit', first[1], 'MATMUL')
    page.picture('search')
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('n')
    browser.wait_for(f"(async () => (await import('/state.js')).state.selected.start > {first[0]})()")
    browser.key('N')
    browser.wait_for(f"(async () => (await import('/state.js')).state.selected.start === {first[0]})()")
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = 'softmax|qSyncIO'; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("document.querySelector('#found').textContent === '2 repetitions, 1 row, 1 layer'") # of a region named after its operation
    equal('rows and layers', browser.evaluate("[...document.querySelectorAll('.pane-search .as-link')].map((e) => e.textContent)"), ['qSyncIO0 (NeuronCore 0)', 'softmax'])
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = '(('; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("document.querySelector('#found').textContent === 'invalid regular expression'")
    equal('invalid', browser.evaluate("document.querySelector('#search').getAttribute('aria-invalid')"), 'true')
    # Finds an instruction by its place, on every engine that has it, and a tensor by its name, even if no other
    # object has that name.
    pc, count, first = page.state("""await (async () => {
        const { meta, source } = state, places = [];
        for (const [t, track] of meta.tracks.entries()) {
          for (let s = 0; track.kind === 'engine' && s < track.slices; s++) {
            const slice = await source.slice(t, s);
            places.push([slice.groups.flatMap(({ rows }) => rows).find(({ name }) => name === 'PC').value, slice.start]);
          }
        }
        const [pc] = places.find(([at]) => at > 5), hits = places.filter(([at]) => at === pc);
        return [pc, hits.length, Math.min(...hits.map(([, start]) => start))];
      })()""")
    browser.evaluate(f"(() => {{ const s = document.querySelector('#search'); s.value = 'pc {pc}'; s.dispatchEvent(new Event('input')); }})()")
    browser.wait_for(f"document.querySelector('#found').textContent === '{count} match{'' if count == 1 else 'es'}'")
    equal('head of the hits', browser.evaluate("document.querySelector('.pane-search h2 + span').textContent"), f'PC {pc}')
    browser.evaluate("(async () => (await import('/details.js')).select(null))()")
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('n')
    browser.wait_for(f"(async () => (await import('/state.js')).state.selected?.start === {first})()")
    page.picture('search-pc')
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = 'pc 123456'; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("document.querySelector('#found').textContent === 'no match'")
    tensor = page.state("(await state.source.analysis(0, 'tensors'))[0].name")
    browser.evaluate(f"(() => {{ const s = document.querySelector('#search'); s.value = '^{tensor}$'; s.dispatchEvent(new Event('input')); }})()")
    browser.wait_for("/1 tensor$/.test(document.querySelector('#found').textContent)")
    assert browser.evaluate("[...document.querySelectorAll('.pane-search .as-link')].at(-1).textContent").startswith(f'{tensor} ('), 'no tensor'
    browser.evaluate("[...document.querySelectorAll('.pane-search .as-link')].at(-1).click()")
    browser.wait_for("document.querySelector('[role=tab][aria-selected=true]').textContent === 'Memory'")
    # A query that takes longer than any user waits, and one nested deeper than a browser supports: the page reports
    # it, and stays usable.
    for name, expression, said in (('slow', '((((((((.+)+)+)+)+)+)+)+)+!', 'timed out after 1 s: try a simpler expression'),
                                   ('deep', '(' * 20000 + ')' * 20000, 'this browser does not support the expression')):
        browser.evaluate(f"(() => {{ const s = document.querySelector('#search'); s.value = '{expression}'; s.dispatchEvent(new Event('input')); }})()")
        browser.wait_for(f"document.querySelector('#found').textContent === '{said}'")
        equal(f'{name} invalid', browser.evaluate("document.querySelector('#search').getAttribute('aria-invalid')"), 'true')
        page.picture(f'search-{name}')
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = 'activate'; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("document.querySelector('#found').textContent === '2 matches'")


def check_markers(page):
    browser = page.browser
    left, top = page.canvas()
    for x in (500, 700):
        browser.click(left + x, top + 10, 'right')
    browser.wait_for("document.querySelectorAll('.pane-markers tbody tr').length === 2")
    browser.mouse('mouseMoved', left + 700, top + 10)
    browser.key('m')
    browser.wait_for("document.querySelectorAll('.pane-markers tbody tr').length === 1")
    page.picture('markers')


def check_link(page):
    """The address restores the view, even in a later visit."""
    browser = page.browser
    browser.evaluate("(async () => (await import('/link.js')).write())()")
    view = "[state.from, to(), state.selected?.track, state.selected?.slice, state.range?.from, state.markers, [...state.folded], document.querySelector('#search').value]"
    before = page.state(view)
    address = browser.evaluate('location.href')
    browser.call('Page.navigate', url='about:blank')
    page.open(address)
    browser.wait_for("document.querySelector('#found').textContent === '2 matches'")
    browser.wait_for("(async () => (await import('/state.js')).state.selected !== null)()")
    after = page.state(view)
    for index, (a, b) in enumerate(zip(after, before)):
        if isinstance(b, float):
            near(f'restored {index}', a, b, 2)
        else:
            equal(f'restored {index}', a, b)
    equal('tab', browser.evaluate("document.querySelector('[role=tab][aria-selected=true]').textContent"), 'Markers')
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('Escape')
    browser.wait_for("(async () => { const { state } = await import('/state.js'); return !state.selected && !state.range && !state.hits; })()")


def check_panes(page, summary, analyses):
    """Each tab shows the same figures as the programs."""
    browser = page.browser

    def open_tab(name, ready):
        browser.evaluate(f"document.querySelector('#tab-{name}').click()")
        browser.wait_for(ready)
        for width in (1000, WIDTH):
            browser.size(width, HEIGHT)
            equal(f'tables of {name} at {width}', browser.evaluate(COLLIDING), [])
        page.picture(name)

    def cells(selector):
        return browser.wait_for(f"[...document.querySelectorAll('{selector} tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")

    open_tab('summary', "document.querySelectorAll('.pane-summary tbody tr').length > 10")
    equal('metrics', [row[0] for row in cells('.pane-summary')], list(summary))
    open_tab('advice', "document.querySelectorAll('.advice li').length > 0")
    equal('advice', browser.evaluate("[...document.querySelectorAll('.advice b')].map((e) => e.textContent)"), [one['text'] for one in analyses['advice']])
    open_tab('engines', "document.querySelectorAll('.pane-engines .stack').length > 0")
    equal('engines', [row[1] for row in cells('.pane-engines table:first-of-type')][:5], [engine['engine'] for engine in analyses['idle']['engines']])
    longest = max((wait for engine in analyses['idle']['engines'] for wait in engine['waits']), key=lambda wait: wait['idle_ns'])
    shown = cells('.pane-engines table:last-of-type')
    near('longest wait', float(shown[0][5].rstrip('%')), longest['idle_ratio'] * 100, 0.06)
    open_tab('layers', "document.querySelectorAll('.pane-layers tbody tr').length > 3")
    equal('layers', sorted(row[0] for row in cells('.pane-layers')), sorted(layer['name'] for layer in analyses['top']['layers']))
    browser.evaluate("[...document.querySelectorAll('.pane-layers tbody tr')].find((row) => row.cells[0].textContent === 'softmax').click()")
    browser.wait_for("document.querySelector('.pane-range table') !== null")
    softmax = next(layer for layer in analyses['top']['layers'] if layer['name'] == 'softmax')
    near('range of a layer', page.state('state.range.from') / 1000, softmax['start_ns'], 1)
    open_tab('flame', "document.querySelectorAll('.flame').length > 5")
    in_range = browser.evaluate("document.querySelector('.flame').title")
    browser.evaluate("document.querySelector('#canvas').focus()")
    browser.key('Escape')
    browser.wait_for(f"document.querySelector('.flame')?.title !== {json.dumps(in_range)} && document.querySelector('.flame') !== null")
    browser.evaluate("[...document.querySelectorAll('.flame')].find((e) => e.textContent === 'Vector').click()")
    browser.wait_for("document.querySelector('.flame').textContent === 'Vector'")
    vector = next(engine for engine in analyses['idle']['engines'] if engine['engine'] == 'vector')
    assert f"{vector['instruction_count']} instructions" in browser.evaluate("document.querySelector('.flame').title"), 'instructions of Vector'
    open_tab('roofline', "document.querySelector('.roofline .all') !== null")
    roofline = analyses['roofline']
    assert roofline['total']['bound'] in browser.evaluate("document.querySelector('.roofline-frame .roofline').getAttribute('aria-label')")
    # One point for the whole and for each layer, region and line with products; the pointer shows their names.
    for key, kind in (('layers', 'layer'), ('regions', 'region'), ('lines', 'line')):
        equal(f'points of {key}', browser.evaluate(f"document.querySelectorAll('.roofline-frame path.{kind}').length"),
              sum(row['flops'] > 0 and row['time_ns'] > 0 for row in roofline[key]))
    assert browser.evaluate("(() => { const frame = document.querySelector('.roofline-frame'); return frame.querySelector('svg').clientWidth >= frame.parentElement.clientWidth - 40; })()"), 'not full width'
    browser.evaluate("(() => { const { x, y, width, height } = document.querySelector('.roofline-frame path.all').getBoundingClientRect(); document.querySelector('.roofline-frame svg').dispatchEvent("
                     "new PointerEvent('pointermove', { clientX: x + width / 2, clientY: y + height / 2 })); })()")
    note = browser.evaluate("document.querySelector('.roofline-note').hidden ? '' : document.querySelector('.roofline-note').textContent")
    assert 'Whole execution' in note and f"{roofline['total']['bound']} bound" in note, f'the pointer shows {note}'
    page.picture('roofline')
    open_tab('memory', "document.querySelectorAll('.pane-memory table').length >= 3")
    equal('tensors', [row[0] for row in cells('.pane-memory .two > div:last-child table:first-of-type')], [one['name'] for one in analyses['tensors']])
    open_tab('on-chip', "document.querySelectorAll('.pane-on-chip .chip-list li').length > 0")
    spaces = analyses['on-chip']
    labels = browser.evaluate("[...document.querySelectorAll('.chip-map')].map((e) => e.getAttribute('aria-label'))")
    equal('maps', [label.split(' of ')[0] for label in labels], [{'sbuf': 'State buffer', 'psum': 'PSUM'}[space['space']] for space in spaces])
    for label, space in zip(labels, spaces):
        assert f"{space['value_count']:,} values" in label, f"{label}: not {space['value_count']}"
    # With the pointer in the middle of the rows, the list shows the values that live at that time.
    shown = browser.evaluate('''(() => {
        const rows = document.querySelector('#canvas').getBoundingClientRect();
        const map = document.querySelector('.chip-map');
        map.dispatchEvent(new PointerEvent('pointermove', { clientX: rows.left + rows.width / 2, clientY: map.getBoundingClientRect().top + 60, bubbles: true }));
        return [...document.querySelectorAll('.chip-list')].map((list) => [...list.querySelectorAll('li code')].map((e) => parseInt(e.textContent, 16)));
    })()''')
    middle = page.state('state.from + state.scale * state.width / 2 + state.meta.begin - state.meta.sources[0].offset') / 1000
    assert shown[0], 'nothing is listed'
    for items, space in zip(shown, spaces):
        there = sorted(one['address'] for one in space['values'] if one['from_ns'] <= middle < one['until_ns'])
        equal(f"values in {space['space']} at {middle} ns", items, there[:12])
    open_tab('path', "document.querySelectorAll('.pane-path table').length === 3")
    near('on the path', float(cells('.pane-path table:first-of-type')[0][3].rstrip('%')), analyses['critical-path']['resources'][0]['path_ratio'] * 100, 0.06)
    browser.key('0')
    browser.evaluate("document.querySelector('#path-shown').click()")
    browser.wait_for(f"document.documentElement.dataset.path === '{len(analyses['critical-path']['steps'])}'")
    page.picture('path-shown')
    browser.evaluate("document.querySelector('#path-shown').click()")


def check_flows(page):
    """The details name the instruction that ended the wait, and lead to it."""
    browser = page.browser
    browser.evaluate("(async () => (await import('/details.js')).goTo((await import('/state.js')).state.meta.tracks.findIndex((t) => t.name === 'Vector'), 1))()")
    by = browser.wait_for("[...document.querySelectorAll('.pane-slice dl > div')].find((e) => e.firstChild.textContent === 'Changed by').textContent")
    assert 'Tensor MATMUL' in by, f'Vector waits for the product: {by}'
    page.picture('flows')
    browser.wait_for("[...document.querySelectorAll('.pane-slice dl > div')].find((e) => e.firstChild.textContent === 'Changed by').querySelector('button').click() ?? true")
    browser.wait_for("document.querySelector('.pane-slice h2').textContent === 'MATMUL'")
    browser.wait_for("[...document.querySelectorAll('.pane-slice h3')].some((e) => e.textContent === 'Released')")


def check_transfer(page):
    """Links lead from the instruction that started a transfer through its packets to the one that waited, and
    back from a packet."""
    browser = page.browser
    names = "[...document.querySelectorAll('.pane-slice h3')].map((e) => e.textContent)"
    row = "[...document.querySelectorAll('.pane-slice dl > div')].find((e) => e.firstChild.textContent === '{}')"
    go = "(async () => (await import('/details.js')).goTo((await import('/state.js')).state.meta.tracks.findIndex((t) => t.name === '{}'), {}))()"
    browser.evaluate(go.format('Sync', 4))
    browser.wait_for(f"{names}.includes('Started transfer')")
    moved = browser.wait_for(row.format('Moved') + '.textContent')
    assert '16.0KB in 16 packets' in moved, f'data of the last load: {moved}'
    page.picture('transfer')
    browser.evaluate(row.format('Last packet') + ".querySelector('button').click()")
    browser.wait_for(f"{names}.includes('Transfer')")
    equal('row of the packet', page.state('state.meta.tracks[state.selected.track].kind'), 'queue')
    assert 'Sync DMA_TRIGGER' in browser.wait_for(row.format('Started by') + '.textContent'), 'a packet names the instruction that started it'
    browser.wait_for(f"{names}.includes('Released by the transfer')")
    page.picture('packet')
    browser.evaluate("[...document.querySelectorAll('.pane-slice section')].find((e) => e.firstChild.textContent === 'Released by the transfer').querySelector('button').click()")
    browser.wait_for(f"{names}.includes('Waited for transfer')")
    page.picture('waited')


def check_help(page):
    browser = page.browser
    browser.key('?')
    browser.wait_for("document.querySelector('#help').open")
    shown = browser.evaluate("document.querySelector('#help').textContent")
    for word in ('zoom in at the pointer', 'show everything', 'search', 'right click'):
        assert word in shown, f'the help does not say {word}'
    page.picture('help')
    browser.evaluate("document.querySelector('#help-close').click()")


def check_large(page, address):
    """400,000 events: the page loads only the data of the window, at every zoom."""
    page.open(address)
    counts = []
    for _ in range(24):
        counts.append(page.state('[drawn.slices, drawn.bitmaps, state.tiles.bytes]'))
        page.state("(await import('/state.js')).zoom(0.5, 500)")
        page.complete()
    slices, bitmaps, _ = (max(column) for column in zip(*counts))
    few = page.state("state.meta.tracks.filter(({ kind }) => kind === 'region').reduce((sum, { slices }) => sum + slices, 0)") # a region is a thousand instructions
    assert 0 < few == counts[0][0] and counts[0][1] > 0, f'the whole is drawn from buckets: {counts[0]}, {few} times of regions'
    assert counts[-1][0] > 0 and counts[-1][1] == 0, f'the depth is drawn from slices: {counts[-1]}'
    assert slices < 4 * 3 * 512 and bitmaps < 40, f'a frame draws what is on the screen: {slices} slices, {bitmaps} bitmaps'


def check_folder(page, address):
    """Host threads and the captured execution use the same clock."""
    page.open(address)
    labels = page.labels()
    assert any(name.startswith('Thread ') for name in labels) and 'NC 0 on the device' in labels and 'Device memory' in labels, f'rows of the host: {labels}'
    first = page.state('''(() => { const at = (name) => { const t = state.meta.tracks.findIndex((track) => track.name === name);
        const tile = state.tiles.find(t, state.meta.level_top, 0); return [tile.times[0], tile.times[1]]; };
      return [at('NC 0 on the device'), at('Tensor')]; })()''')
    near('the first execution on the host and in the capture', first[0][0], first[1][0], 1000)
    page.picture('folder')
    page.browser.evaluate("document.querySelector('#tab-host').click()")
    page.browser.wait_for("document.querySelectorAll('.pane-host table').length >= 2")
    gaps = page.browser.wait_for("[...document.querySelector('.pane-host table').tBodies[0].rows[0].cells].map((cell) => cell.textContent)")
    equal('executions and gaps', gaps[2:4], ['5', '4'])
    page.picture('host')


def check_compare(page, address, diff):
    browser = page.browser
    page.open(address)
    # Each row of the first capture is above the matching row of the second, in one group per core.
    groups = browser.evaluate("[...document.querySelectorAll('#labels .group')].map((e) => e.textContent)")
    equal('groups', groups, ['NeuronCore 0', 'Counters', 'PSUM banks', 'DMA queues', 'Semaphores'])
    for name in ('attention.ntff', 'mlp.ntff'):
        assert name in browser.evaluate("document.querySelector('#facts').textContent"), f'{name} is not named'
    shown = browser.evaluate("[...document.querySelectorAll('#labels .track')].map((e) => [e.querySelector('.name').textContent, e.querySelector('.side').textContent])")
    for name in ('Tensor', 'Vector', 'Sync', 'DMA throughput'):
        at = shown.index([name, 'before'])
        equal(f'{name} of both', shown[at + 1], [name, 'after'])
    equal('rows', len(shown), len({tuple(row) for row in shown}))
    browser.evaluate("document.querySelector('#labels .group').click()")
    equal('folded', browser.evaluate("document.querySelectorAll('#labels .track').length"), 0)
    last = page.state("state.meta.tracks.findLastIndex(({ kind }) => kind === 'semaphore')")
    browser.evaluate(f"(async () => (await import('/rows.js')).reveal({last}))()")
    assert browser.evaluate(f"document.querySelector('[data-track=\"{last}\"] .side')?.textContent") == 'after', 'a row of the second capture is not found'
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = '^matmul$'; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("document.querySelectorAll('.pane-search tbody tr').length > 10")
    equal('places of hits', browser.wait_for("[...new Set([...document.querySelectorAll('.pane-search tbody tr')].map((row) => row.cells[2].textContent))].sort()"),
          ['NeuronCore 0, after', 'NeuronCore 0, before'])
    browser.evaluate("document.querySelector('#tab-compare').click()")
    browser.wait_for("document.querySelector('.pane-compare table') !== null")
    equal('tables that compare', browser.evaluate(COLLIDING), [])
    page.picture('compare-pane')
    shown = browser.wait_for("[...document.querySelectorAll('.pane-compare .parts table:first-of-type tbody tr')].map((row) => row.cells[4].textContent)")[0]
    near('change', float(shown.strip('+%')), diff['total'][0]['change_ratio'] * 100, 0.06)
    # Shares refer to the time of their own run, in the tables and next to the rows.
    for key, title in (('engines', 'Engines, active time'), ('path_resources', 'Critical path by engine and queue')):
        cells = browser.wait_for(f"[...[...document.querySelectorAll('.pane-compare section')].find((e) => e.querySelector('h3').textContent === {json.dumps(title)})"
                                 ".querySelectorAll('tbody tr')].map((row) => [0, 2, 4].map((i) => row.cells[i].textContent))")
        rows = {row['name']: row for row in diff[key]}
        for name, before, after in cells:
            for text, side in ((before, 'before'), (after, 'after')):
                if text:
                    near(f'{name} {side}', float(text.strip('%')), 100 * rows[name][f'{side}_ns'] / diff['total'][0][f'{side}_ns'], 0.06)
    if any(one['relation'] != 'kept' and one['before'] and one['after'] for one in diff['matches']):
        equal('matching parts', browser.evaluate("document.querySelectorAll('.pane-compare .matches tbody tr').length"), len(diff['matches']))
    else:
        equal('tables of matching parts', browser.evaluate("document.querySelectorAll('.pane-compare .matches').length"), 0)
    own = browser.evaluate("(async () => { const { ownWindow } = await import('/runs.js'); const { state } = await import('/state.js'); return state.meta.tracks.filter(({ kind }) => kind === 'engine')"
                           ".map((track) => [state.meta.groups[track.group].source, ownWindow(track, 0, state.meta.span)]); })()")
    for one, window in own:
        near('time to which the shares of a row refer', window / 1000, diff['total'][0][('before_ns', 'after_ns')[one]], 0.01)
    browser.evaluate("document.querySelector('#tab-summary').click()")
    browser.wait_for("document.querySelectorAll('.pane-summary tbody tr').length > 10")
    before = browser.evaluate("document.querySelector('.tiles b').textContent")
    browser.evaluate("(() => { const s = document.querySelector('.pane-summary select'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
    browser.wait_for(f"document.querySelector('.tiles b')?.textContent !== undefined && document.querySelector('.tiles b').textContent !== {json.dumps(before)}")
    page.picture('compare')


def check_absent(page, address):
    """A tab explains which data the files lack; if the NEFF names no layers, the tab of layers starts with
    operations."""
    browser = page.browser
    page.open(address)
    browser.wait_for("document.querySelector('#tab-roofline.absent') !== null && document.querySelector('#tab-on-chip.absent') !== null")
    assert 'unknown' in browser.evaluate("document.querySelector('#tab-roofline').title"), 'no reason'
    equal('empty tabs', browser.evaluate("[...document.querySelectorAll('[role=tab].absent')].map((e) => e.textContent)"), ['Roofline', 'On the chip'])
    browser.evaluate("document.querySelector('#tab-layers').click()")
    browser.wait_for("document.querySelectorAll('.pane-layers tbody tr').length > 2")
    equal('costs by', browser.evaluate("document.querySelector('.pane-layers [aria-checked=true]').textContent"), 'Operations')
    page.picture('absent')
    browser.evaluate("document.querySelector('#tab-lines').click()")
    browser.wait_for("document.querySelector('.pane-lines')?.textContent === 'No source lines: pass the NEFF that contains them with -n.'")


def main():
    program, profile, address, summary_path, analyses_path, large, folder, compare, diff_path, bare = sys.argv[1:]
    with open(summary_path, encoding='utf-8') as file:
        summary = next(iter(json.load(file).values()))
    with open(analyses_path, encoding='utf-8') as file:
        analyses = json.load(file)
    with open(diff_path, encoding='utf-8') as file:
        diff = json.load(file)
    browser = Browser(program, profile)
    page = Page(browser)
    try:
        browser.size(WIDTH, HEIGHT)
        browser.scheme('light')
        page.open(address)
        check_regions(page, analyses)
        check_rows(page, summary)
        check_fold(page)
        check_moving(page)
        page.picture('light')
        check_slice(page, *check_pointer(page))
        check_range(page)
        check_search(page)
        check_markers(page)
        check_link(page)
        check_panes(page, summary, analyses)
        check_flows(page)
        check_transfer(page)
        check_help(page)
        equal('names', browser.evaluate(NAMELESS), [])
        browser.scheme('dark')
        browser.wait_for("document.documentElement.dataset.theme === 'dark'")
        page.picture('dark')
        browser.size(600, 800)
        equal('scrolls sideways', browser.evaluate('document.documentElement.scrollWidth > window.innerWidth'), False)
        browser.size(WIDTH, HEIGHT)
        check_large(page, large)
        check_absent(page, bare)
        check_folder(page, folder)
        check_compare(page, compare, diff)
        equal('complaints', browser.said, [])
        browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.broken = 1\"><p id=styled style=\"color: red\">x</p>')")
        browser.wait_for("document.querySelector('img[src=x]').complete")
        equal('policy', browser.evaluate("[window.broken === undefined, document.querySelector('#styled').style.color]"), [True, ''])
    except Exception as error:
        print(f'timeline: {error}\ntimeline: complaints: {browser.said}', file=sys.stderr)
        return 1
    finally:
        browser.close()
    return 0


sys.exit(main())
