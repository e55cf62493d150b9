// Draws a line chart over time with a crosshair. Gaps are not connected; the caption shows the values.

import { make, setText } from './dom.js';
import { prepare, colours } from './canvas.js';

const HEIGHT = 120;
const AXIS = 16;
const LEFT = 56;

// Returns a round number that divides the axis into two or four.
function roundUp(value, base) {
  if (!(value > 0)) return 1;
  const scale = base ** Math.floor(Math.log(value) / Math.log(base));
  const unit = scale * 10 ** Math.floor(Math.log10(value / scale));
  if (base === 1024 && value > 500 * scale) return 1024 * scale;
  return [1, 2, 4, 5, 8, 10].find((step) => value <= step * unit) * unit;
}

const timeText = (ms, span) => new Date(ms).toLocaleString('sv', span > 36e5 * 30
  ? { month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } : { hour: '2-digit', minute: '2-digit', second: '2-digit' });

// base: 1024 where write() is for bytes. lines: [{ name, colour: 'accent' }]; set({ times: [ms], values: [[number or null] per line] }).
export function createChart(title, lines, write, base = 10) {
  const reading = make('span');
  const canvas = make('canvas', { height: HEIGHT, role: 'img', tabindex: 0, 'aria-label': title });
  const figure = make('figure', {}, make('figcaption', {}, make('b', {}, title), reading), canvas);
  let data = { times: [], values: [], from: 0, to: 1 };
  let hover = null;

  const plot = (width) => ({ left: LEFT, right: width - 4, top: 6, bottom: HEIGHT - AXIS });
  const xOf = (ms, box) => box.left + (ms - data.from) / (data.to - data.from) * (box.right - box.left);

  function readingAt(i) {
    const parts = lines.map((line, l) => `${lines.length > 1 ? `${line.name} ` : ''}${data.values[l][i] === null ? '-' : write(data.values[l][i])}`);
    return `${timeText(data.times[i], data.to - data.from)}  ${parts.join('  ')}`;
  }

  function draw() {
    const { context, width } = prepare(canvas, HEIGHT);
    const ink = colours();
    const box = plot(width);
    const most = roundUp(Math.max(0, ...data.values.flat().filter((value) => value !== null)), base);
    const yOf = (value) => box.bottom - value / most * (box.bottom - box.top);
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (const part of [0, 0.5, 1]) {
      const y = Math.round(yOf(part * most)) + 0.5;
      context.fillStyle = ink.line;
      context.fillRect(box.left, y, box.right - box.left, 1);
      context.fillStyle = ink.soft;
      const text = write(part * most);
      context.fillText(text, box.left - 6 - context.measureText(text).width, y);
    }
    context.textBaseline = 'alphabetic';
    for (const part of [0, 0.5, 1]) {
      const text = timeText(data.from + part * (data.to - data.from), data.to - data.from);
      const wide = context.measureText(text).width;
      context.fillText(text, Math.min(box.right - wide, Math.max(box.left, box.left + part * (box.right - box.left) - wide / 2)), HEIGHT - 3);
    }
    lines.forEach((line, l) => {
      context.strokeStyle = ink[line.colour];
      context.fillStyle = ink[line.colour];
      context.lineWidth = 1.5;
      context.beginPath();
      let open = false;
      (data.values[l] ?? []).forEach((value, i) => {
        if (value === null) {
          open = false;
          return;
        }
        const x = xOf(data.times[i], box);
        if (open) context.lineTo(x, yOf(value));
        else context.moveTo(x, yOf(value));
        if (!open && (data.values[l][i + 1] ?? null) === null) context.fillRect(x - 1, yOf(value) - 1, 2.5, 2.5); // draw a dot
        open = true;
      });
      context.stroke();
    });
    if (hover !== null && hover < data.times.length) {
      const x = Math.round(xOf(data.times[hover], box));
      context.fillStyle = ink.soft;
      context.fillRect(x, box.top, 1, box.bottom - box.top);
      lines.forEach((line, l) => {
        const value = data.values[l][hover];
        if (value === null) return;
        context.fillStyle = ink[line.colour];
        context.beginPath();
        context.arc(x + 0.5, yOf(value), 3, 0, 7);
        context.fill();
      });
    }
    const last = data.times.length - 1;
    setText(reading, last < 0 ? '' : readingAt(hover ?? last));
    canvas.setAttribute('aria-label', last < 0 ? `${title}: no stored data` : `${title}: ${readingAt(hover ?? last)}`);
  }

  function point(i) {
    hover = i === null || data.times.length === 0 ? null : Math.max(0, Math.min(data.times.length - 1, i));
    draw();
  }
  canvas.addEventListener('pointermove', (event) => {
    const box = plot(canvas.clientWidth);
    const ms = data.from + (event.offsetX - box.left) / (box.right - box.left) * (data.to - data.from);
    let best = 0;
    data.times.forEach((time, i) => {
      if (Math.abs(time - ms) < Math.abs(data.times[best] - ms)) best = i;
    });
    point(best);
  });
  canvas.addEventListener('pointerleave', () => point(null));
  canvas.addEventListener('blur', () => point(null));
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === 'Escape') point(null);
    if (!step) return;
    event.preventDefault();
    point((hover ?? data.times.length - 1) + step);
  });
  return { figure, draw, set(next) { data = next; hover = null; draw(); } };
}
