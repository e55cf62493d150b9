// The time of the engines as a flame graph, of all or of the selected range.

import { make, choice } from './dom.js';
import { whole } from './format.js';
import { answer, source, sourceChoice } from './answers.js';
import { colourOf } from './draw.js';
import { addTab, refresh } from './panel.js';
import { duration } from './time.js';
import { on, state } from './state.js';

const ROW = 21;
const LEAST = 0.0015; // of the width; smaller parts are not drawn
let order = 'engine';
let hasWaits = false;
let zoomed = []; // names from the root down

// The parts of a layer's name are separate levels.
const LEVELS = {
  engine: (row) => [...(row.cores > 1 ? [`NeuronCore ${row.core}`] : []), row.engine, ...row.layer.split('/'), row.operation],
  layer: (row) => [...row.layer.split('/'), row.engine, row.operation],
};

function flameOf(rows, levels) {
  const cores = new Set(rows.map((row) => row.core)).size;
  const root = { name: 'all engines', sum: 0, count: 0, children: new Map() };
  for (const row of rows) {
    if (row.is_wait && !hasWaits) continue;
    let node = root;
    root.sum += row.sum;
    root.count += row.count;
    for (const name of levels({ ...row, cores })) {
      if (!node.children.has(name)) node.children.set(name, { name, sum: 0, count: 0, children: new Map() });
      node = node.children.get(name);
      node.sum += row.sum;
      node.count += row.count;
    }
  }
  return root;
}

function colour(node, depth) {
  const what = state.meta.whats.findIndex(({ name }) => name === node.name);
  if (what >= 0) return colourOf(what);
  const hues = ['#8aa4c8', '#9fb6d6', '#b3c5e0', '#c4d2e8', '#d3ddee'];
  return { css: hues[Math.min(depth, hues.length - 1)], text: '#10202f' };
}

function draw(box, node, depth, left, width, total, names) {
  const share = (node.sum / total) * 100;
  const look = colour(node, depth);
  const path = [...names, node.name];
  const text = `${path.slice(1).join(', ') || node.name}: ${duration(node.sum)}, ${share.toFixed(1)}% of what is shown, ${whole(node.count)} instructions`;
  const button = make('button', { type: 'button', class: 'flame', title: text, 'aria-label': text, onclick: () => {
    zoomed = path.slice(1);
    refresh('flame');
  } }, node.name);
  Object.assign(button.style, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * ROW}px`, background: look.css, color: look.text });
  box.append(button);
  let deepest = depth;
  let at = left;
  for (const child of [...node.children.values()].sort((a, b) => b.sum - a.sum)) {
    const part = node.sum > 0 ? width * (child.sum / node.sum) : 0;
    if (part >= LEAST) deepest = Math.max(deepest, draw(box, child, depth + 1, at, part, total, path));
    at += part;
  }
  return deepest;
}

function render(box) {
  const { range, meta } = state;
  const [from, until] = range ? [range.from, range.to] : [0, meta.span];
  const group = make('div', { role: 'radiogroup', 'aria-label': 'Order of levels' });
  const again = () => {
    zoomed = [];
    refresh('flame');
  };
  choice(group, [['engine', 'Engine, layer, operation'], ['layer', 'Layer, engine, operation']], order, (value) => { order = value; again(); });
  const waits = make('input', { type: 'checkbox', id: 'flame-waits', onchange: (event) => { hasWaits = event.target.checked; again(); } });
  waits.checked = hasWaits;
  box.append(make('div', { class: 'pane-head' }, sourceChoice('flame'), group, make('label', { for: 'flame-waits' }, waits, ' include waits (EVENT_SEMAPHORE)'),
    make('span', { class: 'soft' }, range ? `selected range, ${duration(until - from)}` : 'whole capture'), make('span', { class: 'space' }),
    zoomed.length ? make('button', { type: 'button', onclick: again }, 'Show all') : null));
  const rows = answer(box, 'flame', `flame ${source()} ${Math.floor(from)} ${Math.ceil(until)}`, () => state.source.flame(source(), from, until));
  if (!rows) return;
  let node = flameOf(rows, LEVELS[order]);
  const total = node.sum;
  const names = [];
  for (const name of zoomed) {
    if (!node.children.has(name)) break;
    names.push(node.name);
    node = node.children.get(name);
  }
  if (total === 0) {
    box.append(make('p', { class: 'soft' }, 'No instruction ran in this range.'));
    return;
  }
  const area = make('div', { class: 'flames' });
  area.style.height = `${(draw(area, node, 0, 0, 1, total, names) + 1) * ROW}px`;
  box.append(area);
}

export function start() {
  addTab('flame', 'Flame', render);
  on('range', () => refresh('flame'));
}
