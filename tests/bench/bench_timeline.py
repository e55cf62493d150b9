"""Measures the timeline page: bench_timeline.py BROWSER PROFILE_FOLDER ADDRESS ROUNDS DIVISOR. Movements have
1/DIVISOR of the frames. Prints lines of "VALUE TARGET NAME"; bench_timeline.sh compares them with the
targets."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'e2e', 'page'))
from browser import Browser  # noqa: E402

FIRST_PICTURE_MS = 1000
FRAME_MS = 16

# Steps of a movement, one per frame; the script time of each frame in ms.
RUN = '''(async (divisor) => {
  const s = await import('/state.js');
  const moves = {
    'zoom in': [150, () => s.zoom(0.92, 700)], 'move in the depth': [150, () => s.pan(40)],
    'zoom out': [150, () => s.zoom(1.09, 300)], 'zoom half in': [60, () => s.zoom(0.9, 300)],
    'move in the middle': [150, () => s.pan(-60)], 'zoom all out': [100, () => s.zoom(1.15, 500)],
  };
  const all = {};
  for (const [name, [count, step]] of Object.entries(moves)) {
    const frames = Math.ceil(count / divisor);
    const first = s.frames.count;
    await new Promise((done) => {
      let i = 0;
      const tick = () => { step(); if (++i < frames) requestAnimationFrame(tick); else requestAnimationFrame(done); };
      requestAnimationFrame(tick);
    });
    const times = [];
    for (let i = Math.max(first, s.frames.count - s.frames.times.length); i < s.frames.count; i++) times.push(s.frames.times[i % 600]);
    all[name] = times.sort((a, b) => a - b);
  }
  return all;
})'''


def main():
    program, profile, address, rounds, divisor = sys.argv[1:]
    browser = Browser(program, profile)
    try:
        browser.size(1440, 900)
        browser.call('Page.navigate', url='about:blank')
        first = []
        for _ in range(int(rounds)):
            browser.call('Page.navigate', url='about:blank')
            browser.call('Page.navigate', url=address)
            browser.wait_for("document.documentElement?.dataset.state === 'complete'")
            first.append(browser.evaluate("performance.getEntriesByName('first-picture')[0].startTime"))
        print(f'{sorted(first)[len(first) // 2]:.3f} {FIRST_PICTURE_MS} first picture, median')
        print(f'{max(first):.3f} - first picture, worst')
        for name, times in browser.evaluate(f'{RUN}({int(divisor)})').items():
            print(f'{times[len(times) // 2]:.3f} - {name}, a frame, median')
            print(f'{times[int(len(times) * 0.99)]:.3f} {FRAME_MS} {name}, a frame, 99th percentile')
            print(f'{times[-1]:.3f} - {name}, a frame, worst')
    finally:
        browser.close()
    if browser.said:
        sys.exit(f'the page reports: {browser.said}')


main()
