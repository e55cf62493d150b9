"""Checks that the page shows everything: shown.py BROWSER PROFILE_FOLDER SAMPLE_ADDRESS ADDRESS BUBBLES.json
SUMMARY.json RANKS_ADDRESS RANKS.html STACKS.folded.

The sample is tests/support/trace_sample.h with 1000 slices in each row, one every 1000 ns. The first tile of
level 19 has 536 of them, so the server sends buckets; the second ends early and has 463, so the server sends
slices."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'))
from browser import Browser  # noqa: E402

MIDDLE = 1 << 29  # ps: where the second tile begins
STATE = "const { state, show, showAll, tell, to, xOf } = await import('/state.js');"


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
        self.browser.wait_for("document.documentElement?.dataset.state === 'complete'")
        self.browser.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        self.browser.wait_for("document.documentElement.dataset.state === 'complete'")

    def run(self, code):
        value = self.browser.evaluate(f'(async () => {{ {STATE} {code} }})()')
        self.complete()
        return value

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector('{selector}')?.textContent")

    def pixels(self, name, x, width):
        """Returns the average distance of pixels from the background in each column of the row with this
        name."""
        return self.run(f"""const {{ rows }} = await import('/rows.js');
          const row = rows.list.find(({{ track }}) => track !== undefined && state.meta.tracks[track].name === '{name}');
          const canvas = document.querySelector('#canvas');
          const image = canvas.getContext('2d').getImageData({x}, row.y - document.querySelector('#rows').scrollTop + 3, {width}, row.height - 6).data;
          let sum = 0;
          for (let i = 0; i < image.length; i += 4) sum += 3 * 255 - image[i] - image[i + 1] - image[i + 2];
          return sum / {width};""")

    def colours(self, name):
        """Returns the colours of a row's pixels, as rgb(), with the count of each."""
        return self.run(f"""const {{ rows }} = await import('/rows.js');
          const row = rows.list.find(({{ track }}) => track !== undefined && state.meta.tracks[track].name === '{name}');
          const image = document.querySelector('#canvas').getContext('2d').getImageData(0, row.y - document.querySelector('#rows').scrollTop + 3, Math.floor(state.width), row.height - 6).data;
          const found = {{}};
          for (let i = 0; i < image.length; i += 4) {{
            const key = `rgb(${{image[i]}} ${{image[i + 1]}} ${{image[i + 2]}})`;
            found[key] = (found[key] ?? 0) + 1;
          }}
          return found;""")

    def legend(self):
        self.browser.wait_for("document.querySelectorAll('#legend span').length > 0")
        return dict(self.browser.evaluate("[...document.querySelectorAll('#legend span')].map((e) => [e.textContent, getComputedStyle(e.firstChild).backgroundColor.replaceAll(',', '')])"))

    def picture(self, name):
        folder = os.environ.get('NTK_SCREENSHOTS')
        if folder:
            self.complete()
            self.browser.screenshot(os.path.join(folder, f'shown-{name}.png'), whole=False)


def check_alike(page):
    """A row looks the same on both sides of a tile's end, although one side has buckets and the other slices."""
    page.run("const { reveal } = await import('/rows.js'); reveal(state.meta.tracks.findIndex(({ kind }) => kind === 'semaphore'));")
    page.run(f"document.querySelector('#rows').scrollTop = 0; show({MIDDLE} - 200e6, 400e3);")  # 400 ns per pixel
    forms = page.run(f"""return state.meta.tracks.flatMap(({{ kind }}, t) => (['engine', 'queue', 'semaphore'].includes(kind)
      ? [[19, 0], [19, 1]].map(([level, tile]) => state.tiles.find(t, level, tile).form) : []));""")
    assert forms and all(form == (1, 2)[i % 2] for i, form in enumerate(forms)), f'buckets, then slices: {forms}'
    middle = int(page.run(f'return xOf({MIDDLE});'))
    for name in ('Tensor', 'Vector', 'qSyncDynamicHW', 'Semaphore 7'):
        left, right = (page.pixels(name, x, 300) for x in (middle - 350, middle + 50))
        near(f'{name}, left and right of the end of a tile', right / left, 1, 0.04)
    page.picture('alike')


def check_buckets(page):
    """Slices become the same buckets as on the server."""
    found = page.run("""const { bucketsOf } = await import('/buckets.js');
      const { decode } = await import('/tiles.js');
      const tracks = state.meta.tracks.map((track, t) => t).filter((t) => ['engine', 'queue', 'semaphore'].includes(state.meta.tracks[t].kind));
      const sums = { queue: 'time', engine: 'start' };
      const whole = decode(await state.source.tiles(20, 0, tracks));
      let compared = 0;
      for (let tile = 0; tile < 4; tile++) {
        const parts = decode(await state.source.tiles(18, tile, tracks));
        for (const t of tracks) {
          const { kind } = state.meta.tracks[t];
          const [a, b] = [whole.get(t), parts.get(t)];
          if (a.form !== 1 || b.form !== 2) return `forms ${a.form} and ${b.form}`;
          if (kind === 'semaphore') { // shown as what changed it
            for (let i = 0; i < a.count; i++) if (state.meta.whats[a.halves[i * 8 + 1]].family !== kind) return `bucket ${i} of a semaphore is ${state.meta.whats[a.halves[i * 8 + 1]].name}`;
          }
          const made = bucketsOf(b, { isValue: kind === 'semaphore', sums: sums[kind] }, 20, 0, state.meta.tile_buckets);
          const mine = new Map(Array.from({ length: made.count }, (_, i) => [made.halves[i * 8], i]));
          for (let i = 0; i < a.count; i++) {
            const index = a.halves[i * 8];
            if (Math.floor(index / 256) !== tile) continue;
            const m = mine.get(index);
            if (m === undefined) return `${kind} has no bucket ${index}`;
            const [x, y] = [a, made].map((one, n) => [one.halves[(n ? m : i) * 8 + 1], one.words[(n ? m : i) * 4 + 1], one.floats[(n ? m : i) * 4 + 2], one.floats[(n ? m : i) * 4 + 3]]);
            if (x[0] !== y[0] || x[1] !== y[1] || Math.abs(x[2] - y[2]) > 1e-3 * Math.abs(x[2]) + 1e-4 || Math.abs(x[3] - y[3]) > 1e-3 * Math.abs(x[3]) + 1e-3) {
              return `${kind}, bucket ${index}: ${y}, the server has ${x}`;
            }
            compared++;
          }
        }
      }
      return compared;""")
    assert isinstance(found, int) and found > 3000, found


def check_window(page):
    """The line below the rows shows the visible part, and leads back."""
    page.run('showAll();')
    equal('all', page.text('#shown'), 'all 1.001 ms shown')
    page.run('show(72.1e6, (98e6 - 72.1e6) / state.width);')
    equal('a part', page.text('#shown'), 'zoomed to 72.1–98 us of 1.001 ms; press 0 to show all')
    page.browser.evaluate("document.querySelector('#canvas').focus()")
    page.browser.key('0')
    page.browser.wait_for("document.querySelector('#shown').textContent === 'all 1.001 ms shown'")
    equal('reference of shares', page.text('#corner'), 'busy share of the time shown')


def check_colours(page):
    """Each choice has a legend with the colours of the rows; a link restores the choice."""
    browser = page.browser
    page.run('show(100e6, 20e3);')  # individual slices
    legend = page.legend()
    assert {'MATMUL', 'TENSOR_REDUCE', 'EVENT_SEMAPHORE'} <= set(legend), f'operations: {legend}'
    for row, name in (('Tensor', 'MATMUL'), ('Tensor', 'EVENT_SEMAPHORE'), ('Vector', 'TENSOR_REDUCE')):
        assert page.colours(row).get(legend[name], 0) > 500, f'{row} has no {name} in {legend[name]}'
    choose = "(() => {{ const s = document.querySelector('#colour'); s.value = '{0}'; s.dispatchEvent(new Event('change')); }})()"
    wait = "(async () => (await import('/state.js')).state.colour === '{0}')()"
    browser.evaluate(choose.format('engine'))
    browser.wait_for(wait.format('engine'))
    browser.wait_for("document.querySelector('#legend').textContent.includes('DMA')")
    legend = page.legend()
    equal('engines', list(legend), ['Tensor', 'Vector', 'DMA', 'waits and bookkeeping'])
    for row, name in (('Tensor', 'Tensor'), ('Vector', 'Vector'), ('Tensor', 'waits and bookkeeping')):
        assert page.colours(row).get(legend[name], 0) > 500, f'{row} has no {name} in {legend[name]}'
    page.picture('engines')
    browser.evaluate("(async () => (await import('/link.js')).write())()")
    address = browser.evaluate('location.href')
    assert 'colour=engine' in address, address
    browser.call('Page.navigate', url='about:blank')
    page.open(address)
    browser.wait_for(wait.format('engine'))
    browser.evaluate(choose.format('wait'))
    browser.wait_for(wait.format('wait'))
    browser.wait_for("document.querySelector('#legend').textContent.includes('above 90%')")
    legend = page.legend()
    assert page.colours('Tensor').get(legend['above 90%'], 0) > 500, 'EVENT_SEMAPHORE waits all its time'
    assert page.colours('Vector').get(legend['waits for less than 10% of its time'], 0) > 500, 'TENSOR_REDUCE does not wait'
    # Other rows keep the colours of their operations, which are numbered from 0.
    equal('keys of operations', page.run("const { entriesOf } = await import('/colours.js'); return [...entriesOf('wait', false, []).keys(), ...entriesOf('tensor', false, ['q']).keys()]"
                                                         ".filter((key) => key >= 0);"), [])
    browser.evaluate(choose.format('tensor'))  # the sample has no NEFF
    browser.wait_for("document.querySelector('#note').textContent.startsWith('No colours by tensor')")
    equal('the choice is kept', browser.evaluate("document.querySelector('#colour').value"), 'wait')


def check_tensors(page):
    """A load and its packets have the colour of their tensor."""
    browser = page.browser
    page.run("showAll(); tell('colour', 'tensor');")
    browser.wait_for("(async () => (await import('/state.js')).state.colour === 'tensor')()")
    browser.wait_for("[...document.querySelectorAll('#legend span')].some((e) => e.textContent === 'q')")
    legend = page.legend()
    assert {'q', 'k', 'v', 'out', 'no tensor, or an unknown one'} <= set(legend), f'tensors: {legend}'
    equal('colours', len(set(legend.values())), len(legend))
    queue = page.run("return state.meta.tracks.findIndex(({ name }) => name === 'qSyncIO0');")
    page.run(f"const {{ reveal }} = await import('/rows.js'); reveal({queue});")
    there = set(page.colours('qSyncIO0')) & {legend[name] for name in ('q', 'k', 'v')}
    assert there, f'no tensor among the packets: {legend}'
    page.picture('tensors')
    page.run("document.querySelector('#rows').scrollTop = 0; tell('colour', 'operation');")


def check_bubbles(page, bubbles):
    """The tab lists the bubbles of analyze; a click leads to the gap."""
    browser = page.browser
    page.run('showAll();')
    browser.evaluate("document.querySelector('#tab-bubbles').click()")
    browser.wait_for("document.querySelectorAll('.pane-bubbles table').length === 2")
    shown = browser.wait_for("[...document.querySelector('.pane-bubbles table').tBodies[0].rows].map((row) => [row.cells[0].textContent, row.cells[1].textContent, row.cells[3].textContent])")
    equal('causes', shown, [[one['cause'], f"{one['count']:,}", f"{one['idle_ratio'] * 100:.1f}%"] for one in bubbles['causes']])
    equal('all gaps', page.text('.pane-bubbles h2'), f"{bubbles['count']:,} gaps")
    second = bubbles['causes'][1]
    browser.evaluate("document.querySelector('.pane-bubbles table').tBodies[0].rows[1].click()")
    gap = second['gaps'][0]
    page.complete()
    window = page.run('return [state.from + state.meta.begin, to() + state.meta.begin];')
    start, end = gap['start_ns'] * 1000, (gap['start_ns'] + gap['gap_ns']) * 1000
    assert window[0] <= start and end <= window[1], f'the window {window} is not around the longest gap {start} to {end}'
    near('share of the window', (end - start) / (window[1] - window[0]), 0.5, 0.02)
    listed = browser.wait_for("[...document.querySelectorAll('.pane-bubbles table')[1].tBodies[0].rows].map((row) => [row.cells[3].textContent, row.cells[4].textContent, row.cells[7].textContent])")
    equal('gaps of the cause', listed, [[one['engine'], second['cause'], one.get('before', 'the end')] for one in second['gaps']])
    page.picture('bubbles')
    engine = second['gaps'][0]['engine']
    browser.evaluate(f"(() => {{ const s = document.querySelector('.pane-bubbles [aria-label=engines]'); s.value = '{engine}'; s.dispatchEvent(new Event('change')); }})()")
    browser.wait_for(f"[...document.querySelectorAll('.pane-bubbles table')[1].tBodies[0].rows].every((row) => row.cells[3].textContent === '{engine}')")
    equal('gaps of the engine', browser.evaluate("document.querySelectorAll('.pane-bubbles table')[1].tBodies[0].rows.length"), len([one for one in second['gaps'] if one['engine'] == engine]))


def check_what_if(page, what_if):
    """The tab lists the estimates of analyze and estimates further changes, or shows the reason why it cannot."""
    browser = page.browser
    browser.evaluate("document.querySelector('#tab-what-if').click()")
    browser.wait_for("document.querySelector('.pane-what-if table') !== null")
    rows = "[...document.querySelector('.pane-what-if table').tBodies[0].rows]"
    titles = browser.wait_for(f"{rows}.map((row) => [row.cells[0].title.split(' ').pop(), row.cells[3].textContent, row.cells[5].textContent])")
    equal('changes', titles, [[one['change'], f"{one['gain_ratio'] * 100:.1f}%", one['bound']] for one in what_if['changes']])
    assert 'DMA: 2 times as fast' in browser.wait_for(f"{rows}.map((row) => row.cells[0].textContent)"), 'dma=2 has no words'
    page.picture('what-if')

    def estimate(text):
        browser.evaluate(f"(() => {{ const t = document.querySelector('#what-if-text'); t.value = '{text}'; t.dispatchEvent(new Event('input')); }})()")
        browser.evaluate("document.querySelector('#what-if-run').click()")

    estimate('dma=2,tensor=2')
    browser.wait_for("document.querySelectorAll('.pane-what-if table').length === 2")
    equal('changes at once', browser.wait_for(f"{rows}.map((row) => row.cells[0].textContent)"), ['DMA: 2 times as fast; Tensor: 2 times as fast'])
    estimate('bogus')
    browser.wait_for("document.querySelector('.pane-what-if').textContent.includes(\"'bogus': expected dma\")")


def check_flame(page, path):
    """By region and source line, the tab has the stacks of the folded export, with the same shares."""
    browser = page.browser
    browser.evaluate("document.querySelector('#tab-flame').click()")
    browser.wait_for("document.querySelectorAll('.flame').length > 5")
    browser.evaluate("[...document.querySelectorAll('.pane-flame [role=radio]')].find((e) => e.textContent.startsWith('Region')).click()")
    browser.wait_for("[...document.querySelectorAll('.flame')].some((e) => /:[0-9]+$/.test(e.textContent))")
    sums = {}
    with open(path, encoding='utf-8') as file:
        for line in file:
            stack, ns = line.rsplit(' ', 1)
            frames = stack.split(';')
            for depth in range(1, len(frames) + 1):
                key = ', '.join(frames[:depth])
                sums[key] = sums.get(key, 0) + int(ns)
    whole = sum(ns for key, ns in sums.items() if ', ' not in key)
    shown = browser.evaluate("[...document.querySelectorAll('.flame')].map((e) => e.title)")
    page.picture('flame')
    assert shown[0].startswith('all engines: ') and len(shown) > 10, shown[:3]
    for title in shown[1:]:
        key, share = title.split(': ')[0] if title.count(': ') == 1 else title.rsplit(': ', 1)[0], float(title.split('% of the time shown')[0].rsplit(' ', 1)[1])
        assert key in sums, f'{key} is not a stack of the export'
        near(f'share of {key}', share, 100 * sums[key] / whole, 0.06)
    browser.evaluate("[...document.querySelectorAll('.pane-flame [role=radio]')][0].click()")


def check_counts(page, summary):
    """The header counts the same events as the summary; repetitions of regions are not search hits."""
    browser = page.browser
    events = page.run('return state.meta.slices;')
    equal('events', events, summary['trace_count'] - summary['dma_transfer_count'])
    assert f'{events:,} records' in page.text('#facts'), page.text('#facts')
    regions = page.run("return state.meta.tracks.reduce((sum, { kind, slices }) => sum + (kind === 'region' ? slices : 0), 0);")
    assert regions > 0, 'nothing repeats'
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = '.'; s.dispatchEvent(new Event('input')); })()")
    browser.wait_for("/matches/.test(document.querySelector('#found').textContent)")
    found = page.text('#found')
    assert found.startswith(f'{events:,} matches, {regions:,} repetitions'), f'{found}, expected {events:,} hits and {regions:,} repetitions'
    assert 'MFU (Counters)' in page.text('.pane-search'), 'the row of a counter is not found'
    assert 'MFU' not in page.text('.pane-search h2 + span'), 'a counter has hits'
    browser.evaluate("(() => { const s = document.querySelector('#search'); s.value = ''; s.dispatchEvent(new Event('input')); })()")


# Percentages without a column head or a text that names the whole.
NAKED = r'''(() => {
  const naked = [];
  for (const table of document.querySelectorAll('#panel-box table')) {
    const heads = [...(table.tHead?.rows[0].cells ?? [])].map((cell) => cell.textContent);
    for (const row of table.tBodies[0]?.rows ?? []) [...row.cells].forEach((cell, i) => {
      if (/^[\d.]+ ?%$/.test(cell.textContent.trim()) && !/\b[Oo]f\b|percent/.test(heads[i])) naked.push(`${heads[i]}: ${cell.textContent}`);
    });
  }
  for (const tile of document.querySelectorAll('.tiles > div')) if (/%/.test(tile.querySelector('b').textContent) && !/^of /.test(tile.querySelector('small').textContent)) naked.push(tile.textContent);
  return naked;
})()'''


def check_shares(page):
    browser = page.browser
    for tab in browser.evaluate("[...document.querySelectorAll('[role=tab]')].map((e) => e.id)"):
        browser.evaluate(f"document.querySelector('#{tab}').click()")
        browser.wait_for("!document.querySelector('#panel-box').textContent.includes('Computing')")
        equal(f'shares of {tab} without their reference', [one for one in browser.evaluate(NAKED) if not one.startswith('Shown:')], [])


def check_ranks(page, address, path):
    """The page of ranks has the same rows, tabs and figures as one file."""
    browser = page.browser
    seen = []
    for url in (address, 'file://' + os.path.abspath(path)):
        page.open(url)
        tabs = browser.evaluate("[...document.querySelectorAll('[role=tab]')].map((e) => e.textContent)")
        rows = browser.evaluate("[...document.querySelectorAll('#labels .name')].map((e) => e.textContent)")
        assert 'Host' in tabs and 'Rank 1' in rows, f'{url}: {tabs}, {rows}'
        browser.evaluate("document.querySelector('#tab-host').click()")
        browser.wait_for("!document.querySelector('#panel-box').textContent.includes('Computing')")
        seen.append([tabs, rows, browser.evaluate("document.querySelector('#panel-box').textContent")])
        page.picture(f'ranks-{len(seen)}')
    seen[0][0].remove('SQL')  # a file has no server to ask
    for what, served, ours in zip(('tabs', 'rows', 'what the host did'), *seen):
        equal(f'{what} of the file', ours, served)
    assert '2 ranks at ' in seen[0][2], f'no ranks: {seen[0][2]}'


def main():
    program, profile, sample, address, bubbles, what_if, summary, ranks, ranks_file, folded = sys.argv[1:]
    with open(bubbles, encoding='utf-8') as file:
        bubbles = json.load(file)['bubbles']
    with open(what_if, encoding='utf-8') as file:
        what_if = json.load(file)['what-if']
    with open(summary, encoding='utf-8') as file:
        summary = next(iter(json.load(file).values()))
    browser = Browser(program, profile)
    page = Page(browser)
    try:
        browser.size(1440, 900)
        browser.scheme('light')
        page.open(sample)
        check_alike(page)
        check_buckets(page)
        check_window(page)
        check_colours(page)
        page.open(address)
        check_tensors(page)
        check_bubbles(page, bubbles)
        check_what_if(page, what_if)
        check_flame(page, folded)
        check_counts(page, summary)
        check_shares(page)
        check_ranks(page, ranks, ranks_file)
        equal('complaints', [one for one in browser.said if 'getImageData' not in one and 'changes=bogus' not in one], [])  # caused by this test
    except Exception as error:
        print(f'shown: {error}\nshown: complaints: {browser.said}', file=sys.stderr)
        return 1
    finally:
        browser.close()
    return 0


sys.exit(main())
