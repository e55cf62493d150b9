"""sql capture ADDRESS PID QUERY WANTED.csv | cut ADDRESS | folder ADDRESS | page ADDRESS BROWSER PROFILE
QUERY WANTED.csv | endless ADDRESS PID - tests the server of sql.sh."""
import http.client
import json
import os
import resource
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'page'))

ENDLESS = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n'
# One call of one function, which nothing inside SQLite can stop.
ONE_CALL = "SELECT instr(hex(zeroblob(5000000)), hex(zeroblob(2400000)) || '1')"
# Fails in a row beyond the output buffer of the program.
FAILS_LATE = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
              "SELECT hex(zeroblob(300)) AS h, CASE WHEN i = 900 THEN abs(-9223372036854775808) END AS x FROM n")
WAIT_S = 240


class Server:
    def __init__(self, address):
        self.address = address.rstrip('/')

    def get(self, path, headers=None, **parameters):
        """Returns status and text."""
        query = f'?{urllib.parse.urlencode(parameters)}' if parameters else ''
        request = urllib.request.Request(f'{self.address}/api/v1/{path}{query}', headers=headers or {})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def json(self, path, **parameters):
        status, text = self.get(path, **parameters)
        assert status == 200, (path, parameters, status, text)
        return json.loads(text)

    def begin(self, sql, source=0, rows=1000, seconds=120):
        return self.json('sql', sql=sql, source=source, rows=rows, seconds=seconds)['id']

    def answer(self, number):
        """Returns the answer after the query has finished."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            answer = self.json('sql_answer', id=number)
            if answer['state'] != 'running':
                return answer
            time.sleep(0.02)
        raise SystemExit(f'query {number} did not end')

    def run(self, sql, **options):
        return self.answer(self.begin(sql, **options))


def children(pid):
    found = []
    for task in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as file:
                found += file.read().split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended meanwhile
    return {int(p) for p in found}


def expect(what, answer, state, text=''):
    if answer['state'] != state or text not in answer.get('message', '') or ('csv' in answer) != (state == 'done'):
        raise SystemExit(f'{what}: {str(answer)[:400]}, expected {state} with {text!r}')


def check_capture(server, pid, query, wanted):
    sources = server.json('sql_sources')
    assert [s['folders'] for s in sources['sources']] == [False], sources['sources']
    assert any(t['table'] == 'Instruction' and len(t['columns']) > 10 for t in sources['tables'])
    with open(wanted, encoding='utf-8') as file:
        assert server.run(query)['csv'] == file.read()
    one = server.run("SELECT 1 AS a, NULL AS b, '' AS c, 'x,\"y\"' AS a")
    assert one['csv'] == 'a,b,c,a\n1,,"","x,""y"""\n', one
    assert server.run('-- a comment first\nSELECT 7 AS seven')['csv'] == 'seven\n7\n'
    assert server.run("SELECT CAST(x'ff41' AS TEXT) AS t")['csv'].endswith('A\n')
    assert server.run('SELECT 1 AS n WHERE 0')['csv'] == 'n\n'
    rows = server.run('SELECT id FROM Instruction', rows=10)['csv'].splitlines()
    assert len(rows) == 1 + 11, rows  # one more; other values are valid

    for what, sql, text in (
            ('no table', 'SELECT * FROM nowhere', 'no such table: nowhere'),
            ('no SQL', 'SELEC 1', 'syntax error'),
            ('nothing', ' ', 'the query is empty'),
            ('standard input', '-', 'the query is empty'),
            ('two', 'SELECT 1; SELECT 2', 'only one SQL statement is allowed'),
            ('attach', "ATTACH '/etc/passwd' AS p", 'use one SELECT'),
            ('pragma', 'PRAGMA database_list', 'use one SELECT'),
            ('pragma as a table', 'SELECT * FROM pragma_database_list', 'not authorized'),
            ('delete', 'DELETE FROM Instruction', 'use one SELECT'),
            ('vacuum', f"VACUUM INTO '{os.getcwd()}/stolen'", 'use one SELECT'),
            ('extension', "SELECT load_extension('/tmp/x.so')", 'authorized'),
            ('file', "SELECT readfile('/etc/passwd')", 'no such function'),
            ('an option', '--help', 'the query is empty'),
            ('overflow', 'SELECT abs(-9223372036854775808)', 'integer overflow')):
        expect(what, server.run(sql), 'failed', text)
    assert not os.path.exists('stolen')
    # More than an answer may have, both in many rows and in one value, and more than a value may have.
    series = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)'
    expect('long rows', server.run(f'{series} SELECT i, hex(zeroblob(4000)) FROM n', rows=10000), 'failed', 'larger than 16 MiB')
    expect('a long value', server.run('SELECT hex(zeroblob(20000000))'), 'failed', 'larger than 16 MiB')
    expect('more than SQLite holds', server.run('SELECT length(zeroblob(2000000000))'), 'failed', 'too big')
    assert len(server.run(f'{series} SELECT i FROM n', rows=100)['csv'].splitlines()) == 102, 'an endless table has its first rows'

    # Endless queries stop after their time limit, or when cancelled. Other requests are answered meanwhile.
    expect('an endless query', server.run(ENDLESS, seconds=1), 'failed', 'stopped after 1 s (time limit)')
    expect('an endless function', server.run(ONE_CALL, seconds=1), 'failed', 'stopped after 1 s (time limit)')
    numbers = [server.begin(sql, seconds=600) for sql in (ENDLESS, ONE_CALL, ENDLESS, ENDLESS)]
    status, text = server.get('sql', sql='SELECT 1', source=0, rows=1, seconds=1)
    assert status == 503 and 'too many queries' in text, (status, text)
    assert server.json('meta')['title'] == 'attention.ntff'
    assert server.json('analysis', source=0, name='idle')['value']
    assert all(server.json('sql_answer', id=n)['state'] == 'running' for n in numbers)
    assert len(children(pid)) == 4, children(pid)
    for number in numbers:
        assert server.json('sql_cancel', id=number) == {}
    for number in numbers:
        expect('a cancelled query', server.answer(number), 'cancelled')
    assert not children(pid), f'left: {children(pid)}'
    assert server.json('sql_cancel', id=numbers[0]) == {}, 'a finished query'
    assert server.run('SELECT 1 AS n')['csv'] == 'n\n1\n', 'there is room again'

    for path, parameters, status, text in (
            ('sql', {'source': 0, 'rows': 1, 'seconds': 1}, 400, 'missing sql'),
            ('sql', {'sql': 'SELECT 1', 'source': 1, 'rows': 1, 'seconds': 1}, 400, 'source: expected a number from 0 to 0'),
            ('sql', {'sql': 'SELECT 1', 'source': 0, 'rows': 0, 'seconds': 1}, 400, 'rows: expected a number from 1 to 10000'),
            ('sql', {'sql': 'SELECT 1', 'source': 0, 'rows': 1, 'seconds': 'x'}, 400, 'seconds: expected a number from 1 to 600'),
            ('sql', {'sql': 'x' * 9000, 'source': 0, 'rows': 1, 'seconds': 1}, 414, ''),
            ('sql_answer', {}, 400, 'id: expected a number'),
            ('sql_answer', {'id': 1}, 404, 'unknown query'),
            ('sql_cancel', {'id': 999}, 404, 'unknown query')):
        got = server.get(path, **parameters)
        assert got[0] == status and text in got[1], (path, parameters, got)
    # Like the other routes: not for pages under a foreign host name.
    for path in ('sql?sql=SELECT+1&source=0&rows=1&seconds=1', 'sql_sources', 'sql_answer?id=1', 'sql_cancel?id=1', 'meta'):
        assert server.get(path, headers={'Host': 'evil.example'})[0] in (403, 421), path
    for path in ('sql?sql=SELECT+1&source=0&rows=1&seconds=1', 'sql_cancel?id=1'):
        assert server.get(path, headers={'Sec-Fetch-Site': 'cross-site'})[0] == 403, path


    expect('late', server.run(FAILS_LATE, rows=10000), 'failed', 'the query failed after its first rows: integer overflow')
    check_no_room(server, pid)


def check_no_room(server, pid):
    """A query that cannot start takes nothing from earlier ones: the server has one descriptor left, and a
    pipe needs two."""
    numbers = [server.begin(f'SELECT {i} AS n') for i in range(4)]
    for number in numbers:
        server.answer(number)
    connection = http.client.HTTPConnection(urllib.parse.urlparse(server.address).netloc)

    def get(path, **parameters):
        connection.request('GET', f'/api/v1/{path}?{urllib.parse.urlencode(parameters)}')
        answer = connection.getresponse()
        return answer.status, answer.read().decode()

    assert get('sql_answer', id=numbers[0])[0] == 200  # this connection stays open
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(fd) for fd in os.listdir(f'/proc/{pid}/fd')}
    most = next(n for n in range(1, 100000) if len([fd for fd in range(n) if fd not in used]) == 1)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, limits[1]))
    status, text = get('sql', sql='SELECT 5 AS n', source=0, rows=1, seconds=10)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    assert status == 500 and 'Too many open files' in text, (status, text)
    for i, number in enumerate(numbers):
        assert server.answer(number)['csv'] == f'n\n{i}\n', 'an earlier answer is gone'
    connection.close()


def check_cut(server):
    """Rows of an incomplete capture come with the message; those of a failed query look different."""
    answer = server.run('SELECT count(*) AS n FROM Instruction')
    expect('a truncated capture', answer, 'done', 'the file ends inside the DMA records')
    assert answer['csv'].startswith('n\n'), answer
    expect('a late query of a truncated capture', server.run(FAILS_LATE, rows=10000), 'failed', 'the query failed after its first rows: ')


def check_folder(server):
    sources = server.json('sql_sources')
    names = [(s['name'].split('.')[-1], s['folders']) for s in sources['sources']]
    assert names.count(('ntff', False)) >= 1 and names[-1] == ('folders', True), names
    assert any(t['table'] == 'SystemProfileEvents' for t in sources['folder_tables'])
    assert int(server.run('SELECT count(*) AS n FROM SystemProfileEvents', source=len(names) - 1)['csv'].split()[1]) > 3
    assert int(server.run('SELECT count(*) AS n FROM Instruction', source=0)['csv'].split()[1]) > 10


def check_page(address, browser, profile, query, wanted):
    from browser import Browser
    with open(wanted, encoding='utf-8') as file:
        lines = [line.split(',') for line in file.read().splitlines()]
    page = Browser(browser, profile)
    try:
        page.size(1440, 900)
        page.call('Page.navigate', url=address)
        page.wait_for("document.documentElement?.dataset.state === 'complete'")
        page.evaluate("document.querySelector('#tab-sql').click()")
        page.wait_for("document.querySelectorAll('.sql-table').length > 10")

        def ask(sql):
            page.evaluate(f"(() => {{ const t = document.querySelector('#sql-text'); t.value = {json.dumps(sql)}; t.dispatchEvent(new Event('input')); "
                          "t.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true })); })()")

        def status(text):
            page.wait_for(f"document.querySelector('#sql-status').textContent.includes({json.dumps(text)})")

        def picture(name):
            if os.environ.get('NTK_SCREENSHOTS'):
                page.screenshot(os.path.join(os.environ['NTK_SCREENSHOTS'], f'sql-{name}.png'), whole=False)

        ask(query)
        status(f'{len(lines) - 1} rows in ')
        shown = page.evaluate("[...document.querySelectorAll('.sql-result tr')].map((row) => [...row.cells].map((cell) => cell.textContent))")
        assert shown == lines, (shown[:3], lines[:3])
        picture('table')
        ask("SELECT NULL AS absent, '' AS empty, '<b>x</b>, \"y\"' AS html")
        status('1 row in ')
        shown = page.evaluate("[...document.querySelectorAll('.sql-result tbody td')].map((cell) => cell.textContent)")
        assert shown == ['-', '', '<b>x</b>, "y"'], shown
        # The text box stays: text typed while a query runs is kept, and so is the focus.
        page.evaluate("(document.querySelector('#sql-text').focus(), document.querySelector('#sql-text').dataset.mark = 'same')")
        ask('SELECT 3 AS three')
        status('1 row in ')
        page.wait_for("document.querySelector('.sql-result tbody td')?.textContent === '3'")
        assert page.evaluate("document.activeElement.dataset.mark") == 'same', 'the text box lost the focus'
        ask('SELECT * FROM nowhere')
        status('no such table: nowhere')
        assert page.evaluate("document.querySelector('#sql-status').className") == 'bad'
        picture('error')
        ask(FAILS_LATE)
        status('the query failed after its first rows')
        assert page.evaluate("document.querySelector('#sql-status').className") == 'bad'
        page.evaluate("document.querySelector('#sql-run').focus()")
        ask(ENDLESS)
        status('Running for ')
        assert page.evaluate("document.activeElement.id") == 'sql-cancel', 'Cancel does not have the focus of Run'
        page.evaluate("document.querySelector('#tab-summary').click()")  # it continues while another tab is shown
        page.evaluate("document.querySelector('#tab-sql').click()")
        status('Running for ')
        picture('running')
        page.wait_for("!document.querySelector('#sql-cancel').disabled")
        page.wait_for("(document.querySelector('#sql-cancel').click(), document.querySelector('#sql-status').textContent.includes('cancelled'))")
        assert not page.evaluate("document.querySelector('#sql-run').disabled")
        page.evaluate("[...document.querySelectorAll('.sql-table')].find((e) => e.textContent === 'Instruction').click()")
        page.wait_for("document.querySelector('.sql-result th')?.textContent && !document.querySelector('#sql-run').disabled")
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth"), 'the page is wider than the window'
        picture('wide')
        ask('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n')
        status('the first 1,000 rows in ')
        status('there are more')
        assert page.evaluate("document.querySelectorAll('.sql-result tbody tr').length") == 1000
    finally:
        page.close()


def endless(server, pid):
    server.begin(ENDLESS, seconds=600)
    (child,) = children(pid)
    print(child)


what, address, *rest = sys.argv[1:]
if what == 'capture':
    check_capture(Server(address), int(rest[0]), *rest[1:])
elif what == 'cut':
    check_cut(Server(address))
elif what == 'folder':
    check_folder(Server(address))
elif what == 'page':
    check_page(address, *rest)
else:
    endless(Server(address), int(rest[0]))
