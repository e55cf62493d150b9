"""source BROWSER PROFILE LONG SHORT (NAME BARE SERVED FILE)... - see source.sh."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'page'))
from browser import PATIENCE, Browser  # noqa: E402


def equal(what, got, wanted):
    if got != wanted:
        raise SystemExit(f'source: {what}: {got!r}, expected {wanted!r}')


def read(browser, code):
    """Returns the value of the code once it is not null; panes are redrawn when answers arrive."""
    end = time.monotonic() + PATIENCE
    while (value := browser.evaluate(code)) is None:
        if time.monotonic() > end:
            raise TimeoutError('timed out waiting for: ' + code)
        time.sleep(0.05)
    return value


def click(browser, element):
    """Clicks the element of that expression once it exists."""
    read(browser, f"(() => {{ const e = {element}; e?.click(); return e ? true : null; }})()")


def check(browser, address, lines, loops, iterations):
    text = browser.evaluate
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines') !== null && document.querySelector('#tab-lines[aria-selected=false]') !== null")
    click(browser, "document.querySelector('#tab-lines')")
    # The text of the file, at the most expensive line, with its figures.
    first = lines[0]
    number = first['line_number']
    browser.wait_for(f"[...document.querySelectorAll('.code .line.link')].some((e) => e.textContent.includes('text_of({number})'))")
    # Rows are drawn in the next frame, so the checks below poll.
    says = read(browser, f"[...document.querySelectorAll('.code .line')].find((e) => e.textContent.includes('text_of({number})'))?.title")
    for part in (f"Instr. {first['instruction_count']}", f"in {first['function']}"):
        assert part in says, f'{part!r} is not in {says!r}'
    # A line marks its instructions on the timeline.
    click(browser, f"[...document.querySelectorAll('.code .line')].find((e) => e.textContent.includes('text_of({number})'))")
    browser.wait_for("/match(es)?$/.test(document.querySelector('#found').textContent)")
    browser.wait_for(f"document.querySelector('#found').textContent === '{first['instruction_count']} matches'")
    browser.wait_for(f"document.querySelector('.line.chosen .number')?.textContent === '{number}'")
    # Selecting an instruction shows its line, including in the details, and its iteration.
    text("document.querySelector('#canvas').focus()")
    browser.key('n')
    browser.wait_for("document.querySelector('.pane-slice')?.textContent.includes('Iteration')")
    path = read(browser, "[...document.querySelectorAll('.pane-slice dt')].find((e) => e.textContent === 'Iteration')?.nextElementSibling.textContent")
    click(browser, "[...document.querySelectorAll('.pane-slice .as-link')].find((e) => /[.]py:/.test(e.textContent))")
    browser.wait_for("document.querySelector('.line.here') !== null && document.querySelector('.turn.here') !== null")
    browser.wait_for(f"document.querySelector('.line.here .number')?.textContent === '{number}'")
    if os.path.basename(first['file_path']) == 'kernel.py':  # in a capture of hardware, a neighbour may be on the same pixel
        check_hover(browser, path)
    # Arrow keys go from line to line.
    browser.wait_for("(() => { const e = document.querySelector('.code'); e?.focus(); return e !== null && document.activeElement === e; })()")
    browser.key('ArrowDown')
    after = min(one['line_number'] for one in lines if one['file_path'] == first['file_path'] and one['line_number'] > number)
    browser.wait_for(f"document.querySelector('.line.chosen .number')?.textContent === '{after}'")
    browser.wait_for("document.activeElement.className === 'code'")
    # Loops with their iterations; the slowest has a mark, a click zooms to it.
    shown = sum(1 for one in loops if one['iteration_count'])
    browser.wait_for(f"document.querySelectorAll('.strip').length === {min(3, shown)}")
    browser.wait_for(f"document.querySelectorAll('.loop').length === {shown}")
    loop = next(one for one in loops if one['variable_name'] == 's_t')
    mine = [one for one in iterations if one['loop_id'] == loop['id']]
    at = text(f"[...document.querySelectorAll('.loop')].findIndex((e) => e.textContent.includes('kv_h › s_t :{loop['line_number']}'))")
    browser.wait_for(f"document.querySelectorAll('.loop')[{at}]?.querySelectorAll('.turn').length === {len(mine)}")
    slowest = dict(zip(('kv_h', 's_t'), max(mine, key=lambda one: one['span'])['values'].split(',')))
    title = read(browser, f"document.querySelectorAll('.loop')[{at}]?.querySelector('.slowest')?.title")
    assert title.startswith(' '.join(f'{name}={value}' for name, value in slowest.items()) + ': span '), title
    before = text('location.hash')
    click(browser, f"document.querySelectorAll('.loop')[{at}]?.querySelector('.slowest')")
    browser.wait_for(f"location.hash !== {json.dumps(before)}")
    # Ordered by the cost of lines.
    click(browser, "[...document.querySelectorAll('.line-head button')].find((e) => e.textContent === 'Time')")
    longest = max(one['duration'] for one in lines)  # whole ns of each row, because the page has exact times
    names = [f"{os.path.basename(one['file_path'])}:{one['line_number']}" for one in lines if one['duration'] + one['instruction_count'] >= longest]
    browser.wait_for("document.querySelector('.line-head [aria-pressed=true]')?.textContent.startsWith('Time')")
    browser.wait_for("(() => { const e = document.querySelector('.code'); if (e) e.scrollTop = 0;"
                     f" return {json.dumps(names)}.includes(document.querySelector('#line-0 .number')?.textContent); }})()")
    check_advice(browser)


def check_hover(browser, path):
    """Pointing at the selected instruction shows its line and the values of the loops around it."""
    where = """(async () => {
      const from = async (name) => import(location.protocol === 'file:' ? `page/${name}` : `/${name}`);
      const { state } = await from('state.js');
      const { boxOf } = await from('draw.js');
      const { left, top } = document.querySelector('#canvas').getBoundingClientRect();
      const box = boxOf(state.selected);
      return [left + box.x + box.width / 2, top + box.y + box.height / 2]; })()"""
    shows = "!document.querySelector('#tooltip').hidden && document.querySelector('#tooltip').textContent.includes('kv_h=')"
    end = time.monotonic() + PATIENCE
    while not browser.evaluate(shows):  # the view may still be moving there
        assert time.monotonic() < end, f'no tooltip at {browser.evaluate(where)}'
        browser.mouse('mouseMoved', *browser.evaluate(where))
    said = browser.evaluate("[...document.querySelectorAll('#tooltip span')].map((e) => e.textContent)")
    assert path in said and any('.py:' in one for one in said), f'{said}, selected: {path}'


def check_advice(browser):
    """A finding that names a line leads to it."""
    click(browser, "document.querySelector('#tab-advice')")
    browser.wait_for("document.querySelector('.advice .as-link') !== null")
    name = read(browser, "document.querySelector('.advice .as-link')?.textContent")
    click(browser, "document.querySelector('.advice .as-link')")
    browser.wait_for(f"{json.dumps(name)}.endsWith(document.querySelector('.line.chosen .number')?.textContent ?? '-')")
    browser.wait_for(f"document.querySelector('#search').value === {json.dumps('line ' + name)}")
    equal('complaints of the page', browser.said, [])


def check_bare(browser, address, lines):
    """Without source text, the tab lists the lines, beginning with the longest waits."""
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines[aria-selected=false]') !== null")
    click(browser, "document.querySelector('#tab-lines')")
    first = max(lines, key=lambda one: one['evt_wait_time'])
    name = f"{os.path.basename(first['file_path'])}:{first['line_number']}"
    browser.wait_for(f"document.querySelector('#line-0 .number')?.textContent === {json.dumps(name)}")
    check_advice(browser)


def check_long(browser, address):
    """A file without details of slices has their lines, and marks where a text is truncated."""
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines[aria-selected=false]') !== null")
    click(browser, "document.querySelector('#tab-lines')")
    browser.wait_for("document.querySelector('.code .line.link') !== null")
    click(browser, "document.querySelector('.code .line.link')")
    browser.wait_for("/match(es)?$/.test(document.querySelector('#found').textContent)")
    browser.wait_for("/^The text of kernel.py is truncated after line [0-9,]+[.]$/.test(document.querySelector('.omitted')?.textContent ?? '')")
    equal('complaints of the page', browser.said, [])


def check_many(browser, address):
    """An answer with only a part of the lines, like that for a program with more than 20,000: the page shows
    how many are missing."""
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines[aria-selected=false]') !== null")
    browser.evaluate("(async () => { (await (await import('/place.js')).linesOf(0)).line_count += 20000; })()")
    click(browser, "document.querySelector('#tab-lines')")
    browser.wait_for("/^20,000 of 20,[0-9]{3} lines are not shown: neuron-profile lines --json prints all[.]$/.test(document.querySelector('.omitted')?.textContent ?? '')")
    equal('complaints of the page', browser.said, [])


def check_short(browser, address):
    """A page without room for lines reports it."""
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#facts')?.textContent.includes('no source lines of individual instructions')")


def main():
    program, profile, long, short, *pages = sys.argv[1:]
    browser = Browser(program, profile)
    try:
        browser.size(1600, 1000)
        browser.scheme('light')
        for i in range(0, len(pages), 4):
            name, bare, *addresses = pages[i:i + 4]
            with open(f'{name}.lines', encoding='utf-8') as file:
                lines = [one for one in json.load(file)['source_line'] if 'file_path' in one]
            with open(f'{name}.loops', encoding='utf-8') as file:
                answer = json.load(file)
            for address in addresses:
                check(browser, address, lines, answer['source_loop'], answer['source_iteration'])
            check_bare(browser, bare, lines)
            check_many(browser, addresses[0])
        check_long(browser, long)
        check_short(browser, short)
    finally:
        browser.close()


main()
