"""Checks the Idle tab: page.py BROWSER PROFILE_FOLDER IDLE.json ADDRESS FILE.html TRIGGERED.html."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'e2e', 'page'))
from browser import Browser  # noqa: E402


def equal(what, shown, expected):
    if shown != expected:
        raise AssertionError(f'{what}: {shown!r}, expected {expected!r}')


def open_tab(browser, url):
    browser.call('Page.navigate', url=url)
    browser.wait_for("document.documentElement?.dataset.state === 'complete'")
    browser.evaluate("document.querySelector('#tab-idle').click()")
    browser.wait_for("document.querySelectorAll('.pane-idle table').length >= 2")


def picture(browser, name):
    folder = os.environ.get('NTK_SCREENSHOTS')
    if folder:
        browser.screenshot(os.path.join(folder, f'idle-{name}.png'), whole=False)


def check_tab(browser, idle):
    """Causes with bars, advice, stacks and rows are those of the file."""
    rows = browser.evaluate("[...document.querySelector('.pane-idle table').tBodies[0].rows].map((row) => [row.cells[0].textContent, row.cells[1].textContent, parseFloat(row.querySelector('.bar-in').style.width)])")
    equal('causes', [row[:2] for row in rows], [[one['cause'], f"{one['percent']:.1f}%"] for one in idle['causes']])
    meanings = browser.evaluate("[...document.querySelector('.pane-idle table').tBodies[0].rows].map((row) => row.cells[row.cells.length - 1].textContent)")
    equal('meanings', meanings, [one['meaning'] for one in idle['causes']])
    for (_, _, width), one in zip(rows, idle['causes']):
        assert abs(width - min(100, one['percent'])) < 0.1, f'the bar of {one["cause"]} has {width}%'
    assert f"{idle['idle_percent']:.1f}% idle" in browser.evaluate("document.querySelector('.pane-idle h2').textContent"), 'the head'
    equal('advice', browser.evaluate("document.querySelectorAll('.idle-advice li').length"), len(idle['advice']))
    equal('threads and functions', browser.evaluate("document.querySelectorAll('.pane-idle table')[1].tBodies[0].rows.length"), min(100, len(idle['rows'])))
    flames = browser.evaluate("[...document.querySelectorAll('.pane-idle .flame')].map((e) => [e.textContent, e.title])")
    assert any(name == 'sleep' for name, _ in flames), f'no frame of the cause: {flames}'
    seconds = sum(one['seconds'] for one in idle['stacks'] if one['frames'][1] == 'sleep')
    whole = sum(one['seconds'] for one in idle['stacks'])
    assert any(name == 'sleep' and f'{100 * seconds / whole:.1f}% of the idle time' in title for name, title in flames), f'the share of sleep: {flames}'
    # A click zooms, and the button shows all again.
    browser.evaluate("[...document.querySelectorAll('.pane-idle .flame')].find((e) => e.textContent === 'sleep').click()")
    browser.wait_for("document.querySelector('.pane-idle .flame').textContent === 'sleep'")
    browser.evaluate("[...document.querySelectorAll('.pane-idle button')].find((e) => e.textContent === 'Show all').click()")
    browser.wait_for(f"document.querySelectorAll('.pane-idle .flame').length === {len(flames)}")


def check_rows(browser):
    """A gap is between two executions, and the thread sleeps in it: all rows use one clock."""
    spans = browser.evaluate("""(async () => {
      const { state } = await import(document.querySelector('script[src]') ? '/state.js' : 'page/state.js');
      const found = { nc_idle: [], thread_sleep: [], nrt_execute: [] };
      for (const [t, track] of state.meta.tracks.entries()) {
        if (track.kind !== 'host') continue;
        for (let s = 0; s < Math.min(track.slices, 400); s++) {
          const one = await state.source.slice(t, s);
          const name = state.meta.whats[one.what]?.name ?? one.name;
          found[name]?.push([one.start, one.end, t]);
        }
      }
      return found;
    })()""")
    gaps, sleeps = spans['nc_idle'], spans['thread_sleep']
    assert len(gaps) > 5 and sleeps, f'{len(gaps)} gaps, {len(sleeps)} sleeps'
    assert {t for *_, t in gaps}.isdisjoint({t for *_, t in sleeps}), 'gaps are on the row of the core, sleeps on that of the thread'
    asleep = sum(max(0, min(end, until) - max(start, since)) for start, end, _ in gaps for since, until, _ in sleeps)
    share = asleep / sum(end - start for start, end, _ in gaps)
    assert share > 0.5, f'the thread sleeps in {share:.0%} of the gaps'


def check_triggered(browser):
    """The captured executions are at the same time as in the trace of the process."""
    found = browser.evaluate("""(async () => {
      const { state } = await import('page/state.js');
      const first = state.meta.tracks.findIndex(({ kind, slices }) => kind === 'engine' && slices > 0);
      const core = state.meta.tracks.findIndex(({ name }) => name === 'NC 0 on the device');
      const runs = [];
      for (let s = 0; s < state.meta.tracks[core].slices; s++) {
        const one = await state.source.slice(core, s);
        if (one.name === 'nc_exec_running') runs.push(one.start);
      }
      return [(await state.source.slice(first, 0)).start, runs];
    })()""")
    start, runs = found
    assert len(runs) > 3 and start > runs[0], f'the capture begins at {start} ps, the trace has {len(runs)} runs from {runs[:1]}'
    assert any(abs(start - run) <= 1e6 for run in runs), f'no run begins at {start} ps'


def main():
    program, profile, idle_path, address, path, triggered = sys.argv[1:]
    with open(idle_path, encoding='utf-8') as file:
        idle = json.load(file)['processes'][0]
    browser = Browser(program, profile)
    try:
        browser.size(1440, 900)
        browser.scheme('light')
        open_tab(browser, address)
        check_tab(browser, idle)
        check_rows(browser)
        picture(browser, 'served')
        open_tab(browser, 'file://' + os.path.abspath(path))
        check_tab(browser, idle)
        open_tab(browser, 'file://' + os.path.abspath(triggered))
        check_triggered(browser)
        picture(browser, 'triggered')
        equal('complaints', browser.said, [])
    except Exception as error:
        print(f'page: {error}\npage: complaints: {browser.said}', file=sys.stderr)
        return 1
    finally:
        browser.close()
    return 0


sys.exit(main())
