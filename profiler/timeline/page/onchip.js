// The contents of the state buffer and of PSUM: a map of addresses over the window, above it the amount in use, below it what is
// at the pointer. Unused addresses are omitted.

import { make } from './dom.js';
import { bytes, whole } from './format.js';
import { absence, analysis, source, sourceChoice } from './answers.js';
import { palette, theme } from './colours.js';
import { drawOver } from './draw.js';
import { addTab, panel } from './panel.js';
import { duration } from './time.js';
import { glideTo, state, to, xOf } from './state.js';

const CURVE = 34; // pixels of the curve
const MAP = 120; // pixels of the map of addresses
const GAP = 3; // pixels between addresses that are not adjacent
const LISTED = 12;
const TITLES = { sbuf: 'State buffer', psum: 'PSUM' };

let views = []; // views of the visible tab, one per space
let pointed = null; // time in ps at the pointer on a map; null if there is none

const address = (value) => `0x${value.toString(16)}`;

// Used addresses side by side: [{ from, until, y }] as shares of the height, and the height of a byte.
function placesOf(values) {
  const joined = [];
  for (const { address: from, bytes: size } of [...values].sort((a, b) => a.address - b.address)) {
    const last = joined[joined.length - 1];
    if (last && from <= last.until) last.until = Math.max(last.until, from + size);
    else joined.push({ from, until: from + size });
  }
  const used = joined.reduce((sum, { from, until }) => sum + until - from, 0);
  const tall = (MAP - GAP * Math.max(0, Math.min(joined.length - 1, MAP / GAP / 4))) / used;
  const gap = joined.length > 1 ? (MAP - tall * used) / (joined.length - 1) : 0;
  let y = CURVE + 6;
  for (const one of joined) {
    one.y = y;
    y += (one.until - one.from) * tall + gap;
  }
  return { joined, tall };
}

// The amount in use from each moment on, exact if all values are loaded.
function curveOf(space, ofTime) {
  if (space.values.length < space.value_count) {
    const piece = (state.meta.sources[source()].total ?? 0) / space.over_time.length;
    return space.over_time.map((size, i) => [ofTime(0) + i * piece, size]);
  }
  const edges = space.values.flatMap(({ from, until, bytes: size }) => [[from, size], [until, -size]]).sort((a, b) => a[0] - b[0]);
  const points = [];
  let now = 0;
  for (const [time, change] of edges) {
    now += change;
    if (points.length && points[points.length - 1][0] === time) points[points.length - 1][1] = now;
    else points.push([time, now]);
  }
  return points;
}

function prepare(space) {
  const { begin, sources } = state.meta;
  const ofTime = (ns) => ns * 1000 + sources[source()].offset - begin;
  const values = space.values.map((one) => ({ ...one, from: ofTime(one.from_ns), until: ofTime(one.until_ns), title: one.name ?? `${one.engine} ${one.opcode}` }));
  const names = [...new Set(values.map(({ title }) => title))];
  const full = { ...space, values };
  return { ...full, names, ...placesOf(values), curve: curveOf(full, ofTime) };
}

const wantedTime = () => pointed ?? state.pointer?.time ?? state.selected?.start ?? (state.from + to()) / 2;

const yOf = ({ joined, tall }, at) => {
  const place = joined.find(({ from, until }) => at >= from && at < until);
  return place.y + (at - place.from) * tall;
};

function drawMap(view, context, left, look) {
  const isDark = document.documentElement.dataset.theme === 'dark';
  const colours = new Map(palette(view.names.map((name) => ({ name })), isDark).map(({ css, text }, i) => [view.names[i], { css, text }]));
  for (const value of view.values) {
    const x0 = Math.max(-2, xOf(value.from)) + left;
    const x1 = Math.min(state.width + 2, xOf(value.until)) + left;
    if (x1 < left || x0 > left + state.width) continue;
    const y = yOf(view, value.address);
    const height = Math.max(1, value.bytes * view.tall - (value.bytes * view.tall > 3 ? 0.5 : 0));
    context.fillStyle = colours.get(value.title).css;
    context.fillRect(x0, y, Math.max(1, x1 - x0 - 0.5), height);
    if (height >= 11 && x1 - x0 > 40) {
      context.fillStyle = colours.get(value.title).text;
      context.save();
      context.beginPath();
      context.rect(x0, y, x1 - x0 - 3, height);
      context.clip();
      context.fillText(value.title, Math.max(x0, left) + 3, y + height / 2 + 4);
      context.restore();
    }
  }
  context.fillStyle = look.soft;
  context.textAlign = 'right';
  let above = -Infinity;
  for (const { from, y } of view.joined) {
    if (y - above < 12) continue;
    context.fillText(address(from), left - 6, y + 9);
    above = y;
  }
  context.textAlign = 'left';
}

function drawCurve(view, context, left, look) {
  const y = (size) => CURVE - (size / Math.max(1, view.peak_bytes)) * (CURVE - 12);
  context.beginPath();
  context.moveTo(left, CURVE);
  let before = 0;
  for (const [time, size] of view.curve) {
    const x = Math.min(state.width, Math.max(0, xOf(time))) + left;
    context.lineTo(x, y(before));
    context.lineTo(x, y(size));
    before = size;
  }
  context.lineTo(left + state.width, y(before));
  context.lineTo(left + state.width, CURVE);
  context.fillStyle = look.rate;
  context.globalAlpha = 0.55;
  context.fill();
  context.globalAlpha = 1;
  context.fillStyle = look.soft;
  context.textAlign = 'right';
  context.fillText(bytes(view.peak_bytes), left - 6, 14);
  context.textAlign = 'left';
}

function listAt(view, time) {
  const there = view.values.filter(({ from, until }) => from <= time && time < until).sort((a, b) => a.address - b.address);
  const sum = there.reduce((all, { bytes: size }) => all + size, 0);
  const isWhole = view.values.length === view.value_count;
  const lines = there.slice(0, LISTED).map((one) => make('li', {}, make('code', {}, `${address(one.address)}–${address(one.address + one.bytes)}`), ` ${one.title}`,
    make('span', { class: 'soft' }, ` ${bytes(one.bytes)}, by ${one.engine} ${one.opcode}, for ${duration(one.until - one.from)}`)));
  view.list.replaceChildren(make('p', { class: 'soft' }, `At ${duration(time + state.meta.begin)}: ${isWhole ? '' : 'at least '}${bytes(sum)}${view.partition_bytes ? ` of ${bytes(view.partition_bytes)}` : ''} of each partition`
    + (there.length > LISTED ? `, the first ${LISTED} of ${whole(there.length)} values` : '')), make('ul', {}, ...lines));
}

function paint() {
  if (panel.current !== 'on-chip' || !views.length) return;
  const ratio = window.devicePixelRatio || 1;
  const look = theme();
  const time = wantedTime();
  const rows = document.querySelector('#canvas').getBoundingClientRect().left;
  for (const view of views) {
    const { canvas } = view;
    if (!canvas.isConnected) continue;
    const box = canvas.getBoundingClientRect();
    const left = rows - box.left;
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round((CURVE + MAP + 10) * ratio);
    const context = canvas.getContext('2d');
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = '11px system-ui, "DejaVu Sans", sans-serif';
    drawMap(view, context, left, look);
    drawCurve(view, context, left, look);
    context.fillStyle = look.focus;
    context.fillRect(left + xOf(time), 0, 1, CURVE + MAP + 10);
    listAt(view, time);
  }
}

function pointAt(event) {
  const box = document.querySelector('#canvas').getBoundingClientRect();
  pointed = Math.max(state.from, Math.min(to(), state.from + (event.clientX - box.left) * state.scale));
  paint();
}

// Zooms to the value under the pointer.
function zoomTo(view, event) {
  const box = view.canvas.getBoundingClientRect();
  const y = event.clientY - box.top;
  pointAt(event);
  const found = view.values.find((one) => one.from <= pointed && pointed < one.until && y >= yOf(view, one.address) && y < yOf(view, one.address) + Math.max(2, one.bytes * view.tall));
  if (found) glideTo(found.from, found.until, 0.5);
}

function show(space) {
  const view = prepare(space);
  const left = space.value_count - space.values.length;
  view.canvas = make('canvas', { class: 'chip-map', role: 'img', 'aria-label': `${TITLES[space.space]} of NeuronCore ${space.core}: ${whole(space.value_count)} values, peak ${bytes(space.peak_bytes)}` });
  view.list = make('div', { class: 'chip-list' });
  view.canvas.addEventListener('pointermove', pointAt);
  view.canvas.addEventListener('pointerleave', () => { pointed = null; paint(); });
  view.canvas.addEventListener('dblclick', (event) => zoomTo(view, event));
  views.push(view);
  return make('section', {}, make('h3', {}, `${TITLES[space.space]} of NeuronCore ${space.core}`), left ? make('p', { class: 'soft' }, `${whole(left)} smaller or short-lived values are not shown.`) : '', view.canvas, view.list);
}

function render(box) {
  views = [];
  const choice = sourceChoice('on-chip');
  if (choice) box.append(choice);
  const spaces = analysis(box, 'on-chip', 'on-chip');
  if (!spaces) return;
  if (!spaces.length) box.append(make('p', { class: 'soft' }, 'No value on the chip was written and read.'));
  box.append(...spaces.map(show));
  requestAnimationFrame(paint);
}

export function start() {
  addTab('on-chip', 'On the chip', render, () => absence('on-chip', 'on-chip'));
  drawOver(paint);
}
