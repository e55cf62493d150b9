"""Checks the page in a browser: page.py BROWSER PROFILE_FOLDER URL REPORTS."""
import json
import os
import sys
import time

from browser import PATIENCE, Browser

FAILURES = ('completed_with_err', 'completed_with_num_err', 'timed_out', 'incorrect_input', 'failed_to_queue')

# The report that is shown and the screen, at the same moment.
LOOK = '''(async () => {
  const { state } = await import('/state.js');
  const rows = (id) => [...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
    [...row.cells].map((cell) => [cell.textContent, cell.dataset.value]));
  return {
    report: state.report,
    tiles: Object.fromEntries([...document.querySelectorAll('#tiles > div')].map((tile) => [tile.id, [tile.textContent, tile.dataset.value]])),
    cells: [...document.querySelectorAll('.cell')].map((cell) => [cell.dataset.value, cell.getAttribute('aria-label')]),
    processes: rows('processes'), models: rows('models'), memory: rows('memory'), errors: rows('errors'), latency: rows('latency'),
    heads: [...document.querySelectorAll('#processes th')].map((head) => head.textContent),
  };
})()'''

# What a user of a screen reader would miss.
NAMELESS = '''[...document.querySelectorAll('button, a, canvas, meter, [tabindex="0"], [role="img"]')]
  .filter((e) => e.offsetParent !== null && !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim()))
  .map((e) => e.outerHTML)'''


def equal(what, shown, expected):
    if shown != expected:
        raise AssertionError(f'{what}: the page says {shown!r}, the report {expected!r}')


def number(text):
    return None if text in ('', None) else float(text)


def check_numbers(look, lines):
    """Compares every value with the report, which is a line of stdout."""
    report = look['report']
    assert as_floats(report) in lines, 'the report on the page is not a line of stdout'
    columns = {name: i for i, name in enumerate(look['heads'])}
    equal('processes', len(look['processes']), len(report['neuron_runtime_data']))
    latency = {row[0][0]: row for row in look['latency']}
    for row, entry in zip(look['processes'], report['neuron_runtime_data']):
        groups = entry['report']
        stats, used = groups['execution_stats'], groups['memory_used']['neuron_runtime_used_bytes']
        cores = groups['neuroncore_counters']['neuroncores_in_use']
        vcpu = groups['neuron_runtime_vcpu_usage']['vcpu_usage']
        expected = {
            'exec/s': stats['execution_summary']['completed'],
            'failed/s': sum(stats['execution_summary'][name] for name in FAILURES),
            'p50': stats['latency_stats']['total_latency']['p50'],
            'p99': stats['latency_stats']['total_latency']['p99'],
            'device mem': used['neuron_device'], 'host mem': used['host'], 'RSS': used['rss_bytes'],
            'busy': sum(core['neuroncore_utilization'] for core in cores.values()) / len(cores),
            'vCPU': vcpu['user'] + vcpu['system'],
        }
        equal('process', row[0][0], entry['neuron_runtime_tag'])
        equal('pid', row[columns['pid']][0], str(entry['pid']))
        for name, value in expected.items():
            equal(f"{entry['neuron_runtime_tag']} {name}", number(row[columns[name]][1]), value)
        equal('p100', number(latency[entry['neuron_runtime_tag']][-1][1]), stats['latency_stats']['total_latency']['p100'])
    busy = {}
    for entry in report['neuron_runtime_data']:
        for core, counters in entry['report']['neuroncore_counters']['neuroncores_in_use'].items():
            busy[int(core)] = busy.get(int(core), 0) + counters['neuroncore_utilization']
    for core, (value, label) in enumerate(look['cells']):
        equal(f'core {core}', number(value), busy.get(core))
        equal(f'core {core}', label, f'Core {core}, busy {busy[core]:.1f}%' if core in busy else f'Core {core}, no process')
    equal('device memory', number(look['tiles']['tile-device'][1]),
          sum(sum(device['memory_used_bytes']) for device in report['neuron_ext']['devices']))
    by_category = {}
    for entry in report['neuron_runtime_data']:
        for row in entry['report']['neuron_ext']['memory_by_category']:
            if 'core' in row and not row['category'].startswith('host_'):
                by_category[row['category']] = by_category.get(row['category'], 0) + row['current_bytes']
    for row in look['memory']:
        equal(row[0][0], number(row[1][1]), by_category[row[0][0]])
    for row in look['errors']:
        equal(row[0][0], number(row[1][1]),
              sum(entry['report']['execution_stats']['error_summary'][row[0][0]] for entry in report['neuron_runtime_data']))


def as_floats(value):
    """Rounds integers above 2^53, as a browser does."""
    return json.loads(json.dumps(value), parse_int=float)


def read_lines(path, count):
    """Waits until there are more than count of them."""
    end = time.monotonic() + PATIENCE
    while True:
        with open(path, encoding='utf-8') as file:
            lines = [json.loads(line, parse_int=float) for line in file if line.endswith('\n')]
        if len(lines) > count or time.monotonic() > end:
            return lines
        time.sleep(0.05)


def check_keyboard(browser):
    """Tab reaches everything; arrows move; Enter opens a core."""
    browser.evaluate('document.activeElement.blur()')
    seen = []
    for _ in range(40):
        browser.key('Tab')
        seen.append(browser.evaluate(
            '(document.activeElement.id || document.activeElement.dataset.choice || document.activeElement.classList[0] || document.activeElement.tagName)'))
        if seen[-1] == 'cell' and seen.count('cell') == 1:
            browser.key('End')
            equal('End', browser.evaluate('document.activeElement.dataset.core'), '1')
            browser.key('ArrowLeft')
            equal('ArrowLeft', browser.evaluate('document.activeElement.dataset.core'), '0')
            browser.key('Enter')
            browser.wait_for("document.querySelector('#core table') !== null")
            equal('Enter', browser.evaluate("document.querySelector('.cell[data-core=\"0\"]').getAttribute('aria-pressed')"), 'true')
            assert 'Core 0 on device 0' in browser.evaluate("document.querySelector('#core').textContent")
    for stop in ('skip', 'theme', 'busy', 'cell', 'total', '5m'):
        assert stop in seen, f'Tab does not reach {stop}: {seen}'
    browser.evaluate("document.querySelector('#engine [aria-checked=true]').focus()")
    browser.key('ArrowRight')
    equal('ArrowRight', browser.evaluate("document.querySelector('#engine [aria-checked=true]').dataset.choice"), 'pe')
    equal('names', browser.evaluate(NAMELESS), [])


def check_history(browser):
    browser.wait_for("document.documentElement.dataset.history === '5m'")
    browser.wait_for("/used|MB|KB|GB/.test(document.querySelectorAll('#charts canvas')[3].getAttribute('aria-label'))")
    browser.wait_for("/completed [1-9]/.test(document.querySelectorAll('#charts canvas')[1].getAttribute('aria-label')) ||"
                     "(document.querySelectorAll('#charts canvas')[1].focus(), false)")
    equal('note', browser.evaluate("document.querySelector('#history-note').hidden"), True)
    happened = "[...document.querySelectorAll('#events tbody tr')].map((row) => row.cells[1]?.textContent)"
    for event in ('first_seen', 'load', 'error'):
        browser.wait_for(f"{happened}.includes('{event}')")


# The labels of both percentiles, wherever they are and however little room there is.
CROWDED_LABELS = '''(async () => {
  const { placeLabels } = await import('/latency.js');
  const bad = [];
  for (let width = 50; width < 700; width += 50) {
    for (let a = 0; a <= width; a += 10) {
      for (let b = a; b <= width; b += 10) {
        const lefts = placeLabels([{ x: a, wide: 60 }, { x: b, wide: 70 }], width);
        if (lefts === null ? width >= 138 : lefts[0] < 0 || lefts[0] + 60 + 8 > lefts[1] || lefts[1] + 70 > width) bad.push([width, a, b, lefts]);
      }
    }
  }
  return bad;
})()'''

# Drawn boxes that overlap or leave the picture.
MEETING_LABELS = '''(() => {
  const canvas = document.querySelector('#histogram');
  const boxes = JSON.parse(canvas.dataset.labels);
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  return boxes.filter((a, i) => a.left < 0 || a.right > canvas.clientWidth || boxes.some((b, j) => j > i && meet(a, b)));
})()'''

# Devices or cells of figures that are outside the visible part of their box, without a scroll bar.
HIDDEN = '''['#devices', '.scroll.whole'].map((name) => document.querySelector(name))
  .filter((box) => box === null || box.scrollHeight > box.clientHeight).map((box) => box?.id)'''


def check_many_devices(browser):
    """The page shows as many rows as on the largest machines, with figures from the test."""
    equal('devices', browser.evaluate('''(async () => {
      const { state } = await import('/state.js');
      const tables = await import('/tables.js');
      state.devices = Array.from({ length: 16 }, (_, index) => ({ ...state.devices[0], index }));
      tables.draw();
      return document.querySelectorAll('.hbm').length;
    })()'''), 16)
    equal('hidden devices', browser.evaluate(HIDDEN), [])


def check_logical_cores(browser):
    """Two physical cores are one core: a model is listed with its process."""
    equal('cores of a model', browser.evaluate('''(async () => {
      const { state } = await import('/state.js');
      const tables = await import('/tables.js');
      const runtime = state.runtimes[0];
      const models = [[0, 2], [2, 2], [4, 4]].map(([core, core_count]) => ({ ...runtime.models[0], core, core_count }));
      state.runtimes = [{ ...runtime, lnc: 2, models }];
      tables.draw();
      return [...document.querySelectorAll('#models tbody tr')].map((row) => row.cells[3].textContent);
    })()'''), ['0', '1', '2-3'])


def check_stored_errors(browser):
    """The database has the time before the page was opened."""
    browser.wait_for("document.querySelector('#errors th:last-child').textContent === 'last 5m'")
    shown = "Object.fromEntries([...document.querySelectorAll('#errors tbody tr')].map((row) => [row.cells[0].textContent, Number(row.cells[2].dataset.value)]))"
    stored = "fetch('/api/v1/errors?last=5m').then((answer) => answer.json()).then(([row]) => row)"
    before = browser.evaluate(stored)
    assert before['numerical'] > 0
    browser.wait_for(f"({shown}).numerical >= {before['numerical']}")  # errors continue meanwhile
    rows, after = browser.evaluate(shown), browser.evaluate(stored)
    for name, value in rows.items():
        assert before[name] <= value <= after[name], f'errors, {name}: the page says {value}, the database {before[name]} to {after[name]}'
    browser.evaluate("document.querySelector('#range [data-choice=\"1h\"]').click()")
    browser.wait_for("document.querySelector('#errors th:last-child').textContent === 'last 1h' &&"
                     "Number(document.querySelector('#errors tbody tr:nth-child(2)').cells[2].dataset.value) > 0")
    browser.evaluate("document.querySelector('#range [data-choice=\"5m\"]').click()")


def picture(browser, name, width, height, scheme):
    folder = os.environ.get('NTK_SCREENSHOTS')
    browser.size(width, height)
    browser.scheme(scheme)
    browser.wait_for(f"document.documentElement.dataset.theme === '{scheme}'")
    equal('scrolls sideways', browser.evaluate('document.documentElement.scrollWidth > window.innerWidth'), False)
    equal('labels', browser.evaluate(MEETING_LABELS), [])
    equal('hidden', browser.evaluate(HIDDEN), [])
    equal('flows over', browser.evaluate("[...document.querySelectorAll('#tiles > div, .hbm, .hbm p, #core td:last-child')].filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"), [])
    equal('collides', browser.evaluate("[...document.querySelectorAll('.hbm p')].filter((p) => p.children.length > 1 && p.lastElementChild.getBoundingClientRect().left < p.firstElementChild.getBoundingClientRect().right + 4 && p.lastElementChild.getBoundingClientRect().top < p.firstElementChild.getBoundingClientRect().bottom - 2).length"), 0)
    if folder:
        browser.screenshot(os.path.join(folder, f'page-{name}.png'))


def main():
    program, profile, url, reports = sys.argv[1:]
    browser = Browser(program, profile)
    try:
        browser.size(1440, 1000)
        browser.scheme('light')
        browser.call('Page.navigate', url=url)
        # Both applications ran for a whole period, and the failing one has failed.
        browser.wait_for("document.querySelectorAll('#processes tbody tr td:nth-child(2)').length === 2 &&"
                         "document.querySelectorAll('#models tbody tr td:nth-child(2)').length === 2 &&"
                         "Number(document.querySelector('#tile-failed')?.dataset.value) > 0 &&"
                         "Number(document.querySelector('#tile-rate')?.dataset.value) > 0")
        browser.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))')
        look = browser.evaluate(LOOK)
        # The page may be a moment ahead of stdout.
        check_numbers(look, read_lines(reports, len(read_lines(reports, 0))))
        check_history(browser)
        check_stored_errors(browser)
        check_keyboard(browser)
        equal('crowded labels', browser.evaluate(CROWDED_LABELS), [])
        check_many_devices(browser)
        check_logical_cores(browser)
        for name, width, height, scheme in (('light', 1440, 1000, 'light'), ('dark', 1440, 1000, 'dark'),
                                            ('small', 420, 800, 'light')):
            picture(browser, name, width, height, scheme)
        equal('complaints', browser.said, [])
        # The policy is enforced: injected code and style have no effect.
        browser.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.broken = 1\"><p id=styled style=\"color: red\">x</p>')")
        browser.wait_for("document.querySelector('img[src=x]').complete")
        equal('policy', browser.evaluate("[window.broken === undefined, document.querySelector('#styled').style.color]"), [True, ''])
    except Exception as error:
        print(f'page: {error}\npage: complaints: {browser.said}', file=sys.stderr)
        return 1
    finally:
        browser.close()
    return 0


sys.exit(main())
