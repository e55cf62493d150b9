// The time axis above the rows, and an overview of the whole capture above it.

import { byId } from './dom.js';
import { colourFor, cycleOf, keysOf } from './draw.js';
import { theme } from './colours.js';
import { inOrder } from './rows.js';
import { tickText, ticks } from './time.js';
import { on, pan, show, state, stopGlide, to, xOf } from './state.js';

const HEIGHT = { ruler: 26, overview: 38 };
const MARKER = 7;
const LINES_MAX = 32;
let look = {};
let small = null; // the overview without its window, painted when its data arrived

function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.width = `${state.width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(state.width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  return context;
}

// ---- ruler ------------------------------------------------------------------------------------------

function drawRuler() {
  const context = prepare(byId('ruler'), HEIGHT.ruler);
  const { begin } = state.meta;
  const { step, list } = ticks(state.from + begin, to() + begin, state.width, 110);
  context.fillStyle = look.soft;
  for (const tick of list) {
    const x = Math.round(xOf(tick - begin));
    context.fillRect(x, HEIGHT.ruler - 7, 1, 7);
    const text = tickText(tick, step, state.scale * state.width);
    if (x + 4 + context.measureText(text).width <= state.width) context.fillText(text, x + 4, HEIGHT.ruler / 2);
  }
  context.fillStyle = look.line;
  for (let i = 0; i < list.length; i++) {
    for (let part = 1; part < 5; part++) context.fillRect(Math.round(xOf(list[i] - begin + (step * part) / 5)), HEIGHT.ruler - 4, 1, 4);
  }
  state.markers.forEach((marker, i) => {
    const x = xOf(marker);
    context.fillStyle = look.accent2;
    context.beginPath();
    context.moveTo(x, HEIGHT.ruler);
    context.lineTo(x - MARKER, HEIGHT.ruler - 15);
    context.lineTo(x + MARKER, HEIGHT.ruler - 15);
    context.fill();
    context.fillStyle = look.card;
    context.textAlign = 'center';
    context.fillText(String(i + 1), x, HEIGHT.ruler - 11);
    context.textAlign = 'start';
  });
}

// ---- overview ---------------------------------------------------------------------------------------

// One line per engine, coloured while busy. Made from the top tile, which is always loaded.
function paintSmall() {
  const ratio = window.devicePixelRatio || 1;
  const canvas = new OffscreenCanvas(Math.round(state.width * ratio), Math.round(HEIGHT.overview * ratio));
  const context = canvas.getContext('2d');
  const engines = inOrder().filter((t) => ['engine', 'host'].includes(state.meta.tracks[t].kind)).slice(0, LINES_MAX);
  const lines = engines.length ? engines : inOrder().slice(0, 8);
  const high = (canvas.height - 6) / Math.max(1, lines.length);
  const { span } = state.meta;
  lines.forEach((track, line) => {
    const tile = state.tiles.find(track, state.meta.level_top, 0);
    if (!tile) return;
    const top = 3 + line * high;
    const keyOf = keysOf(state.meta.tracks[track]);
    const cycle = cycleOf(state.meta.tracks[track]);
    for (let i = 0; i < tile.count; i++) {
      const isSlice = tile.form === 2;
      const start = isSlice ? tile.times[i * 4] : tile.halves[i * 8] * 2 ** tile.level;
      const end = isSlice ? tile.times[i * 4 + 1] : start + 2 ** tile.level;
      const mean = isSlice ? 1 : Math.min(1, tile.floats[i * 4 + 2]);
      const x = (start / span) * canvas.width;
      const waited = (isSlice ? tile.words[i * 8 + 5] : tile.floats[i * 4 + 3]) * cycle;
      const worked = isSlice && tile.octets[i * 32 + 27] ? 0 : (end - start) * mean;
      context.fillStyle = colourFor(keyOf(isSlice ? tile.halves[i * 16 + 12] : tile.halves[i * 8 + 1], waited, worked, tile.tensors?.[i])).css;
      context.globalAlpha = 0.25 + 0.75 * mean;
      context.fillRect(x, top, Math.max(1, ((end - start) / span) * canvas.width), Math.max(1, high - 1));
    }
  });
  small = canvas;
}

function drawOverview() {
  if (!small) paintSmall();
  const context = prepare(byId('overview'), HEIGHT.overview);
  const { span } = state.meta;
  context.drawImage(small, 0, 0, state.width, HEIGHT.overview);
  const x0 = Math.max(0, (state.from / span) * state.width);
  const x1 = Math.min(state.width, (to() / span) * state.width);
  if (x1 - x0 < state.width - 1) {
    context.fillStyle = look.shade;
    context.fillRect(0, 0, x0, HEIGHT.overview);
    context.fillRect(x1, 0, state.width - x1, HEIGHT.overview);
    context.fillStyle = look.accent;
    context.fillRect(x0 - 1, 0, 2, HEIGHT.overview);
    context.fillRect(x1 - 1, 0, 2, HEIGHT.overview);
  }
  if (state.hits) {
    context.fillStyle = look.bad;
    const most = Math.max(...state.hits.counts);
    state.hits.counts.forEach((count, i) => {
      if (count) context.fillRect((i / state.hits.counts.length) * state.width, HEIGHT.overview - 2 - 6 * (count / most), 2, 2 + 6 * (count / most));
    });
  }
}

export function draw() {
  drawRuler();
  drawOverview();
}

export function restyle() {
  look = theme();
  small = null;
}

// Dragging the axis moves the window; dragging on the overview selects it.
function startRuler() {
  const canvas = byId('ruler');
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    stopGlide();
    canvas.setPointerCapture(event.pointerId);
    let last = event.offsetX;
    const move = (e) => { pan(last - e.offsetX); last = e.offsetX; };
    canvas.addEventListener('pointermove', move);
    canvas.addEventListener('pointerup', () => canvas.removeEventListener('pointermove', move), { once: true });
  });
}

function startOverview() {
  const canvas = byId('overview');
  canvas.addEventListener('pointerdown', (event) => {
    stopGlide();
    canvas.setPointerCapture(event.pointerId);
    const ps = (x) => (x / state.width) * state.meta.span;
    const begin = ps(event.offsetX);
    const isInside = begin > state.from && begin < to();
    const held = isInside ? begin - state.from : 0;
    const move = (e) => {
      if (isInside) show(ps(e.offsetX) - held, state.scale);
      else if (Math.abs(e.offsetX - event.offsetX) > 3) {
        const [from, until] = [begin, ps(e.offsetX)].sort((a, b) => a - b);
        show(from, (until - from) / state.width);
      }
    };
    const end = (e) => {
      canvas.removeEventListener('pointermove', move);
      if (!isInside && Math.abs(e.offsetX - event.offsetX) <= 3) show(begin - (state.scale * state.width) / 2, state.scale);
    };
    canvas.addEventListener('pointermove', move);
    canvas.addEventListener('pointerup', end, { once: true });
  });
}

export function start() {
  startRuler();
  startOverview();
  on('tiles', () => { if (state.tiles.isIdle) small = null; });
  on('size', () => { small = null; });
}

