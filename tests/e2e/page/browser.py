"""Controls headless Chromium through its debugging pipe: the part of the protocol that tests of pages need."""
import base64
import json
import os
import select
import signal
import subprocess
import time

PATIENCE = 120 * int(os.environ.get('NTK_TEST_PATIENCE') or 1)  # seconds; as tests/e2e/lib.sh


class Browser:
    def __init__(self, program, folder):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        # The browser reads descriptor 3 and writes 4; our own descriptors must be above these.
        safe = [os.dup(fd) for fd in (to_read, from_write)]
        self.process = subprocess.Popen(
            ['bash', '-c', f'exec 3<&{safe[0]} 4>&{safe[1]}; exec "$@"', 'bash', program, '--headless', '--no-sandbox',
             '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
             '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
             '--hide-scrollbars', f'--user-data-dir={folder}', '--remote-debugging-pipe', 'about:blank'],
            pass_fds=safe, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        for fd in (to_read, from_write, *safe):
            os.close(fd)
        self.to, self.back, self.rest, self.number = to_write, from_read, b'', 0
        self.session = None
        self.said = []  # errors that the page logged
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _next(self, end):
        while b'\0' not in self.rest:
            if not select.select([self.back], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('the browser does not answer')
            block = os.read(self.back, 1 << 20)
            if not block:
                raise EOFError('the browser ended')
            self.rest += block
        line, self.rest = self.rest.split(b'\0', 1)
        message = json.loads(line)
        self._listen(message)
        return message

    def _listen(self, message):
        method, params = message.get('method'), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.said.append(details.get('exception', {}).get('description') or details['text'])
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning', 'assert'):
            self.said.append('console: ' + ' '.join(str(a.get('value', a.get('description'))) for a in params['args']))
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.said.append(f"{params['entry']['source']}: {params['entry']['text']} {params['entry'].get('url', '')}")

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        end = time.monotonic() + PATIENCE
        while True:
            answer = self._next(end)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer['result']

    def evaluate(self, code):
        result = self.call('Runtime.evaluate', expression=code, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(result['exceptionDetails'].get('exception', {}).get('description', str(result)))
        return result['result'].get('value')

    def wait_for(self, code):
        """Returns the first value that counts as true. A page may be incomplete, so code that fails is tried again."""
        end = time.monotonic() + PATIENCE
        while True:
            why = ''
            try:
                value = self.evaluate(code)
            except RuntimeError as error:
                value, why = None, f' ({error})'
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError('timed out waiting for: ' + code + why)
            time.sleep(0.05)

    def size(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, value):
        self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': value},
                                                      {'name': 'prefers-reduced-motion', 'value': 'reduce'}])

    def key(self, key, code=None):
        codes = {'Tab': 9, 'Enter': 13, 'Escape': 27, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40, 'Home': 36, 'End': 35}
        common = {'key': key, 'code': code or key, 'windowsVirtualKeyCode': codes.get(key, ord(key[0].upper()))}
        text = {'text': '\r'} if key == 'Enter' else {'text': key} if len(key) == 1 else {}
        self.call('Input.dispatchKeyEvent', type='keyDown', **common, **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', **common)

    def mouse(self, kind, x, y, button='none', modifiers=0, **more):
        held = {'left': 1, 'right': 2, 'middle': 4}.get(button, 0) if kind != 'mouseReleased' else 0
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button=button, buttons=held, modifiers=modifiers, **more)

    def click(self, x, y, button='left', modifiers=0):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button, modifiers, clickCount=1)
        self.mouse('mouseReleased', x, y, button, modifiers, clickCount=1)

    def drag(self, x0, x1, y, modifiers=0):
        self.mouse('mouseMoved', x0, y, modifiers=modifiers)
        self.mouse('mousePressed', x0, y, 'left', modifiers, clickCount=1)
        for part in (0.3, 0.7, 1):
            self.mouse('mouseMoved', x0 + (x1 - x0) * part, y, 'left', modifiers)
        self.mouse('mouseReleased', x1, y, 'left', modifiers, clickCount=1)

    def screenshot(self, path, whole=True):
        data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole)['data']
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data))
