"""source BROWSER PROFILE LINES.json LOOPS.json ADDRESS... - see source.sh."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'page'))
from browser import Browser  # noqa: E402


def equal(what, got, wanted):
    if got != wanted:
        raise SystemExit(f'source: {what}: {got!r}, expected {wanted!r}')


def check(browser, address, lines, loops, iterations):
    text = browser.evaluate
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines') !== null && document.querySelector('#tab-lines[aria-selected=false]') !== null")
    text("document.querySelector('#tab-lines').click()")
    # The text of the file, at the line that costs most, with its figures.
    first = lines[0]
    number = first['line_number']
    browser.wait_for(f"[...document.querySelectorAll('.code .line.link')].some((e) => e.textContent.includes('text_of({number})'))")
    says = text(f"[...document.querySelectorAll('.code .line')].find((e) => e.textContent.includes('text_of({number})')).title")
    for part in (f"Instr. {first['instruction_count']}", f"in {first['function']}"):
        assert part in says, f'{part!r} is not in {says!r}'
    # A line marks its instructions on the timeline.
    text(f"[...document.querySelectorAll('.code .line')].find((e) => e.textContent.includes('text_of({number})')).click()")
    browser.wait_for("/hits?$/.test(document.querySelector('#found').textContent)")
    equal('instructions of the line', text("document.querySelector('#found').textContent"), f"{first['instruction_count']} hits")
    equal('chosen line', text("document.querySelector('.line.chosen .number').textContent"), f'{number}')
    # A selected instruction shows its line, in the details too, and its iteration.
    text("document.querySelector('#canvas').focus()")
    browser.key('n')
    browser.wait_for("document.querySelector('.pane-slice')?.textContent.includes('Iteration')")
    text("[...document.querySelectorAll('.pane-slice .as-link')].find((e) => /[.]py:/.test(e.textContent)).click()")
    browser.wait_for("document.querySelector('.line.here') !== null && document.querySelector('.turn.here') !== null")
    equal('line of the selected one', text("document.querySelector('.line.here .number').textContent"), f'{number}')
    # Arrow keys go from line to line.
    text("document.querySelector('.code').focus()")
    browser.key('ArrowDown')
    after = min(one['line_number'] for one in lines if one['file_path'] == first['file_path'] and one['line_number'] > number)
    browser.wait_for(f"document.querySelector('.line.chosen .number')?.textContent === '{after}'")
    equal('focus', text("document.activeElement.className"), 'code')
    # Loops with their iterations; the slowest has a mark, a click zooms to it.
    browser.wait_for("document.querySelectorAll('.strip').length === 3")
    equal('loops', text("document.querySelectorAll('.loop').length"), sum(1 for one in loops if one['iteration_count']))
    loop = next(one for one in loops if one['variable_name'] == 's_t')
    mine = [one for one in iterations if one['loop_id'] == loop['id']]
    at = text("[...document.querySelectorAll('.loop')].findIndex((e) => e.textContent.includes('kv_h › s_t :378'))")
    equal('iterations', text(f"document.querySelectorAll('.loop')[{at}].querySelectorAll('.turn').length"), len(mine))
    slowest = dict(zip(('kv_h', 's_t'), max(mine, key=lambda one: one['span'])['values'].split(',')))
    title = text(f"document.querySelectorAll('.loop')[{at}].querySelector('.slowest').title")
    assert title.startswith(' '.join(f'{name}={value}' for name, value in slowest.items()) + ': span '), title
    before = text('location.hash')
    text(f"document.querySelectorAll('.loop')[{at}].querySelector('.slowest').click()")
    browser.wait_for(f"location.hash !== {json.dumps(before)}")
    # In the order of what lines cost.
    text("[...document.querySelectorAll('.line-head button')].find((e) => e.textContent === 'Time').click()")
    longest = max(lines, key=lambda one: one['duration'])
    name = f"{os.path.basename(longest['file_path'])}:{longest['line_number']}"
    browser.wait_for("document.querySelector('.line-head [aria-pressed=true]').textContent.startsWith('Time')")
    text("document.querySelector('.code').scrollTop = 0")
    browser.wait_for(f"document.querySelector('#line-0 .number')?.textContent === {json.dumps(name)}")
    check_advice(browser)


def check_advice(browser):
    """A finding that names a line leads to it."""
    browser.evaluate("document.querySelector('#tab-advice').click()")
    browser.wait_for("document.querySelector('.advice .as-link') !== null")
    name = browser.evaluate("document.querySelector('.advice .as-link').textContent")
    browser.evaluate("document.querySelector('.advice .as-link').click()")
    browser.wait_for(f"{json.dumps(name)}.endsWith(document.querySelector('.line.chosen .number')?.textContent ?? '-')")
    browser.wait_for(f"document.querySelector('#search').value === {json.dumps('line ' + name)}")
    equal('what the page complained about', browser.said, [])


def check_bare(browser, address, lines):
    """Without text there are the lines, those that wait longest first."""
    browser.call('Page.navigate', url='about:blank')
    browser.call('Page.navigate', url=address)
    browser.wait_for("document.querySelector('#tab-lines[aria-selected=false]') !== null")
    browser.evaluate("document.querySelector('#tab-lines').click()")
    first = max(lines, key=lambda one: one['evt_wait_time'])
    name = f"{os.path.basename(first['file_path'])}:{first['line_number']}"
    browser.wait_for(f"document.querySelector('#line-0 .number')?.textContent === {json.dumps(name)}")
    check_advice(browser)


def main():
    program, profile, lines_path, loops_path, bare, *addresses = sys.argv[1:]
    with open(lines_path, encoding='utf-8') as file:
        lines = [one for one in json.load(file)['source_line'] if 'file_path' in one]
    with open(loops_path, encoding='utf-8') as file:
        answer = json.load(file)
    browser = Browser(program, profile)
    try:
        browser.size(1600, 1000)
        browser.scheme('light')
        for address in addresses:
            check(browser, address, lines, answer['source_loop'], answer['source_iteration'])
        check_bare(browser, bare, lines)
    finally:
        browser.close()


main()
