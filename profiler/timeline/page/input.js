// Handles mouse input on the rows: hover, select, drag a range, pan, zoom.

import { byId } from './dom.js';
import { drawOver } from './draw.js';
import { rowAt } from './rows.js';
import { changed, on, pan, state, stopGlide, tell, timeOf, xOf, zoom } from './state.js';

const WHEEL_ZOOM = 0.0022;
const DRAG_LEAST = 4; // pixels; a shorter drag is a click
const PINCH_ZOOM = 0.01;

function place(event) {
  const box = byId('canvas').getBoundingClientRect();
  const x = event.clientX - box.left;
  const y = event.clientY - box.top;
  return { x, y, time: timeOf(x), row: rowAt(y + byId('rows').scrollTop), hit: state.pointer?.hit ?? null };
}

function wheel(event) {
  const lines = event.deltaMode === 1 ? 16 : 1;
  if (event.ctrlKey || event.metaKey || event.altKey) {
    event.preventDefault();
    stopGlide();
    const speed = event.ctrlKey && Math.abs(event.deltaY) < 40 ? PINCH_ZOOM : WHEEL_ZOOM; // a pinch comes as small steps
    zoom(Math.exp(event.deltaY * lines * speed), place(event).x);
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    stopGlide();
    pan((event.deltaX || event.deltaY) * lines);
  }
}

function drag(canvas, event, move, end) {
  canvas.setPointerCapture(event.pointerId);
  const stop = (e) => {
    canvas.removeEventListener('pointermove', move);
    canvas.removeEventListener('pointerup', stop);
    canvas.removeEventListener('pointercancel', stop);
    end(e);
  };
  canvas.addEventListener('pointermove', move);
  canvas.addEventListener('pointerup', stop);
  canvas.addEventListener('pointercancel', stop);
}

function dragPan(canvas, event) {
  let last = place(event);
  canvas.classList.add('panning');
  drag(canvas, event, (e) => {
    const now = place(e);
    pan(last.x - now.x);
    byId('rows').scrollTop += last.y - now.y;
    last = now;
  }, () => canvas.classList.remove('panning'));
}

function dragRange(canvas, event) {
  const begin = place(event);
  let isRange = false;
  drag(canvas, event, (e) => {
    const now = place(e);
    isRange = isRange || Math.abs(now.x - begin.x) >= DRAG_LEAST;
    if (isRange) setRange(begin.time, now.time, false);
  }, (e) => {
    if (isRange) setRange(begin.time, place(e).time, true);
    else tell('pick', state.pointer?.hit ?? null);
  });
}

export function setRange(a, b, isDone) {
  const { span } = state.meta;
  const from = Math.min(Math.max(Math.min(a, b), 0), span);
  const until = Math.min(Math.max(Math.max(a, b), 0), span);
  state.range = until > from ? { from, to: until } : null;
  if (isDone) tell('range', state.range);
  changed();
}

function drawRange(context, look, height) {
  if (!state.range) return;
  const x0 = xOf(state.range.from);
  const x1 = xOf(state.range.to);
  context.fillStyle = look.shade;
  context.fillRect(0, 0, Math.max(0, x0), height);
  context.fillRect(x1, 0, Math.max(0, state.width - x1), height);
  context.fillStyle = look.accent;
  context.fillRect(x0 - 1, 0, 1, height);
  context.fillRect(x1, 0, 1, height);
}

function drawMarkers(context, look, height) {
  context.fillStyle = look.accent2;
  for (const marker of state.markers) context.fillRect(Math.round(xOf(marker)), 0, 1, height);
}

function drawCursor(context, look, height) {
  if (!state.pointer) return;
  context.fillStyle = look.soft;
  context.globalAlpha = 0.5;
  context.fillRect(Math.round(state.pointer.x), 0, 1, height);
  context.globalAlpha = 1;
}

export function start() {
  const canvas = byId('canvas');
  canvas.addEventListener('wheel', wheel, { passive: false });
  canvas.addEventListener('pointermove', (event) => {
    state.pointer = place(event);
    changed();
  });
  canvas.addEventListener('pointerleave', () => {
    state.pointer = null;
    tell('leave');
    changed();
  });
  canvas.addEventListener('pointerdown', (event) => {
    stopGlide();
    if (event.button === 1 || (event.button === 0 && event.shiftKey)) {
      event.preventDefault();
      dragPan(canvas, event);
    } else if (event.button === 0) {
      dragRange(canvas, event);
    }
  });
  canvas.addEventListener('dblclick', () => state.pointer?.hit && tell('zoom', state.pointer.hit));
  canvas.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    tell('mark', place(event).time);
  });
  byId('rows').addEventListener('scroll', changed, { passive: true });
  drawOver(drawRange);
  drawOver(drawMarkers);
  drawOver(drawCursor);
  on('layout', () => { state.pointer = null; });
}
