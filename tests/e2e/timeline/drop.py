"""drop ADDRESS FOLDER [BROWSER PROFILE] - tests the server of drop.sh, which keeps dropped files in FOLDER;
with a browser also the gesture."""
import base64
import http.client
import json
import os
import sys
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '..', 'page'))


def read(name):
    with open(name, 'rb') as file:
        return file.read()


def put(address, files, headers=None, query=None, body=None):
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
    query = urllib.parse.urlencode([('file', f'{len(data)},{name}') for name, data in files]) if query is None else query
    connection.request('PUT', f'/api/v1/drop?{query}', body=b''.join(data for _, data in files) if body is None else body, headers=headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode().strip()


def meta(port):
    with urllib.request.urlopen(f'http://localhost:{port}/api/v1/meta') as answer:
        return json.load(answer)


def expect(what, got, status, text):
    if got[0] != status or text not in got[1]:
        raise SystemExit(f'drop: {what}: {got}, expected {status} and {text!r}')


def check_server(address, folder):
    ntff, neff, other = read('attention.ntff'), read('attention.neff'), read('mlp.neff')
    status, text = put(address, [('run.ntff', ntff), ('other.neff', other), ('mine.neff', neff)])
    assert status == 200, (status, text)
    answer = json.loads(text)
    assert answer['said'] == [], answer
    shown = meta(answer['port'])
    assert shown['title'] == 'run.ntff' and shown['sources'][0]['neff'] == 'attention', shown['sources']
    with urllib.request.urlopen(f"http://localhost:{answer['port']}/api/v1/analysis?source=0&name=tensors") as tensors:
        assert json.load(tensors)['value'], 'the NEFF of the dropped capture is not used'
    # Messages about the files are printed, and the files are shown.
    status, text = put(address, [('run.ntff', ntff), ('other.neff', other)])
    answer = json.loads(text)
    assert status == 200 and len(answer['said']) == 1 and 'no NEFF' in answer['said'][0], text
    assert meta(answer['port'])['title'] == 'run.ntff'
    kept = sorted(os.listdir(folder))
    assert len(kept) == 2, kept
    assert all(os.stat(os.path.join(folder, name)).st_mode & 0o077 == 0 for name in kept), 'other users can read the dropped file'
    # Files that cannot be shown are rejected with one message, and removed.
    for what, files, status, text in (
            ('no capture', [('a.neff', neff)], 400, 'no capture (*.ntff)'),
            ('nothing', [], 400, 'no capture (*.ntff)'),
            ('another kind', [('a.ntff', ntff), ('a.txt', b'x')], 400, 'a.txt is neither a capture (*.ntff) nor a NEFF (*.neff)'),
            ('two captures', [('a.ntff', ntff), ('b.ntff', ntff)], 400, 'a.ntff and b.ntff are two captures'),
            ('one name', [('a.ntff', ntff), ('a.neff', neff), ('a.neff', neff)], 400, 'duplicate file \'a.neff\''),
            ('many files', [('a.ntff', ntff)] + [(f'{i}.neff', b'') for i in range(16)], 400, 'too many files (at most 16)'),
            ('a path', [('../a.ntff', ntff)], 400, 'invalid file: expected SIZE,NAME'),
            ('a hidden file', [('.ntff', ntff)], 400, 'invalid file: expected SIZE,NAME'),
            ('a line break', [('a\n.ntff', ntff)], 400, 'invalid file: expected SIZE,NAME'),
            ('a NEFF as a capture', [('a.ntff', neff)], 422, 'a.ntff is a NEFF, not a capture (NTFF)'),
            ('no file', [('a.ntff', b'')], 422, 'a.ntff'),
            ('anything', [('a.ntff', b'anything' * 1000)], 422, 'a.ntff')):
        expect(what, put(address, files), status, text)
    name = 'file=10,a.ntff'
    expect('fewer bytes', put(address, [], query=name, body=b'123'), 400, '10 bytes of files, received 3')
    expect('more bytes', put(address, [], query=name, body=b'12345678901'), 400, '10 bytes of files, received 11')
    expect('more bytes than exist', put(address, [], query='file=18446744073709551615,a.ntff&file=1,b.neff', body=b'1'), 400, 'bytes of files, received 1')
    expect('no number', put(address, [], query='file=-1,a.ntff', body=b'1'), 400, 'invalid file: expected SIZE,NAME')
    expect('without a length', put(address, [], query=name, body=iter([b'12345', b'67890'])), 411, 'require Content-Length')
    expect('a foreign host name', put(address, [('a.ntff', ntff)], headers={'Host': 'evil.example'}), 403, 'host name is not accepted')
    disk = os.statvfs(folder)
    much = disk.f_bavail * disk.f_frsize + 1
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
    connection.putrequest('PUT', f'/api/v1/drop?file={much},a.ntff')
    connection.putheader('Content-Length', str(much))
    connection.endheaders()
    connection.close()  # half an upload: it is removed after any failure
    for method, status in (('OPTIONS', 405), ('POST', 405), ('GET', 404)):
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(address).netloc)
        connection.request(method, '/api/v1/drop')
        assert connection.getresponse().status == status, method
    assert sorted(os.listdir(folder)) == kept, f'files were not removed: {os.listdir(folder)}'
    # The maximum number of captures, and one more; the shown ones stay.
    for _ in range(6):
        status, text = put(address, [('run.ntff', ntff)])
        assert status == 200, text
    expect('one more than allowed', put(address, [('run.ntff', ntff)]), 503, 'too many open captures (at most 8)')
    for port in (answer['port'], json.loads(text)['port']):
        assert meta(port)['title'] == 'run.ntff'


def check_browser(address, program, profile):
    from browser import Browser
    browser = Browser(program, profile)

    def drop(files):
        data = [[name, base64.b64encode(content).decode()] for name, content in files]
        browser.evaluate(f"""(() => {{ const transfer = new DataTransfer();
          for (const [name, data] of {json.dumps(data)}) transfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
          for (const type of ['dragenter', 'dragover', 'drop']) window.dispatchEvent(new DragEvent(type, {{ dataTransfer: transfer, bubbles: true, cancelable: true }})); }})()""")

    try:
        browser.call('Page.navigate', url=address)
        browser.wait_for("document.documentElement?.dataset.state === 'complete'")
        assert browser.evaluate("document.title") == 'attention.ntff - neuron-profile'
        drop([('a.txt', b'x')])
        browser.wait_for("document.querySelector('#drop').textContent === 'a.txt is neither a capture (*.ntff) nor a NEFF (*.neff)'")
        drop([('a.ntff', b'anything')])
        browser.wait_for("document.querySelector('#drop').textContent.startsWith('a.ntff cannot be shown: ')")
        browser.evaluate("document.querySelector('#drop').click()")
        browser.wait_for("document.querySelector('#drop').hidden")
        drop([('mlp.ntff', read('mlp.ntff')), ('attention.neff', read('attention.neff'))])
        browser.wait_for("document.querySelector('#drop a')?.textContent === 'Show mlp.ntff'")
        drop([('mlp.ntff', read('mlp.ntff')), ('mlp.neff', read('mlp.neff'))])
        browser.wait_for("document.title === 'mlp.ntff - neuron-profile' && document.documentElement.dataset.state === 'complete'")
        assert 'mlp ·' in browser.evaluate("document.querySelector('#facts').textContent"), 'the page of the dropped capture lacks its NEFF'
        folder = os.environ.get('NTK_SCREENSHOTS')
        if folder:
            browser.screenshot(os.path.join(folder, 'timeline-dropped.png'), whole=False)
        assert browser.said in ([], None) or all('422' in str(one) for one in browser.said), browser.said
    finally:
        browser.close()


def main():
    address, folder = sys.argv[1:3]
    if len(sys.argv) > 3:
        check_browser(address, *sys.argv[3:5])
    else:
        check_server(address, folder)


main()
