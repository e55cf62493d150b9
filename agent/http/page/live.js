// Receives the stream of reports: one JSON line each, while the page is open and visible.

const RETRY_MS = 2000;
const LINE_CHARS_MAX = 32 * 1024 * 1024;

async function read(response, onReport) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    let end;
    let last = null; // if several arrive at once, only the newest is shown, but each is counted
    while ((end = rest.indexOf('\n')) >= 0) {
      if (last !== null) onReport(JSON.parse(last), false);
      last = rest.slice(0, end);
      rest = rest.slice(end + 1);
    }
    if (last !== null) onReport(JSON.parse(last), true);
    if (rest.length > LINE_CHARS_MAX) throw new Error('a report is too long');
  }
}

// onReport(report, isNewest); onState('live' | 'lost', message). Reconnects forever.
export async function follow(url, onReport, onState) {
  for (;;) {
    try {
      const response = await fetch(url, { cache: 'no-store' });
      if (!response.ok) throw new Error(`${response.status} ${(await response.text()).trim()}`);
      onState('live', 'live');
      await read(response, onReport);
      onState('lost', 'the agent exited; retrying');
    } catch (error) {
      onState('lost', `${error.message}; retrying`);
    }
    await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
  }
}
