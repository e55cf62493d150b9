// Shows the time of the engines as a flame graph, of the whole capture or of the selected range.

import { make, choice } from './dom.js';
import { whole } from './format.js';
import { answer, source, sourceChoice } from './answers.js';
import { colourOf } from './draw.js';
import { addToFlame, flameRoot, flames } from './flames.js';
import { addTab, refresh } from './panel.js';
import { duration } from './time.js';
import { on, state } from './state.js';

let order = 'engine';
let hasWaits = false;
let zoomed = []; // names from the root down

// The parts of a layer's name are separate levels.
const LEVELS = {
  engine: (row) => [...(row.cores > 1 ? [`NeuronCore ${row.core}`] : []), row.engine, ...row.layer.split('/'), row.operation],
  layer: (row) => [...row.layer.split('/'), row.engine, row.operation],
};

// Frames around each stack come from the files: core, engine, layer, regions, functions, line, operation.
function flameOfStacks({ frames, stacks }) {
  const root = flameRoot('all engines');
  const namesOf = (frame) => {
    const names = [];
    for (let at = frame + 1; at; at = frames[at - 1][0]) names.unshift(frames[at - 1][1]);
    return names;
  };
  for (const [frame, busy, waited, count] of stacks) {
    const sum = (busy + (hasWaits ? waited : 0)) * 1000;
    if (sum > 0) addToFlame(root, namesOf(frame), sum, count);
  }
  return root;
}

function flameOf(rows, levels) {
  const cores = new Set(rows.map((row) => row.core)).size;
  const root = flameRoot('all engines');
  for (const row of rows) {
    if (!row.is_wait || hasWaits) addToFlame(root, levels({ ...row, cores }), row.sum, row.count);
  }
  return root;
}

function colour(node, depth) {
  const what = state.meta.whats.findIndex(({ name }) => name === node.name);
  if (what >= 0) return colourOf(what);
  const hues = ['#8aa4c8', '#9fb6d6', '#b3c5e0', '#c4d2e8', '#d3ddee'];
  return { css: hues[Math.min(depth, hues.length - 1)], text: '#10202f' };
}

function rootOfStacks(box) {
  const found = answer(box, 'flame', `flame stacks ${source()}`, () => state.source.flameStacks(source()));
  return found && flameOfStacks(found);
}

function rootOfRange(box, from, until) {
  const rows = answer(box, 'flame', `flame ${source()} ${Math.floor(from)} ${Math.ceil(until)}`, () => state.source.flame(source(), from, until));
  return rows && flameOf(rows, LEVELS[order]);
}

function render(box) {
  const { range, meta } = state;
  const [from, until] = range ? [range.from, range.to] : [0, meta.span];
  const group = make('div', { role: 'radiogroup', 'aria-label': 'Order of levels' });
  const again = () => {
    zoomed = [];
    refresh('flame');
  };
  choice(group, [['engine', 'Engine, layer, operation'], ['layer', 'Layer, engine, operation'], ['region', 'Region, source line, operation']], order, (value) => { order = value; again(); });
  const waits = make('input', { type: 'checkbox', id: 'flame-waits', onchange: (event) => { hasWaits = event.target.checked; again(); } });
  waits.checked = hasWaits;
  box.append(make('div', { class: 'pane-head' }, sourceChoice('flame'), group, make('label', { for: 'flame-waits' }, waits, ' include waits (EVENT_SEMAPHORE)'),
    make('span', { class: 'soft' }, range && order !== 'region' ? `selected range, ${duration(until - from)}` : 'whole capture'), make('span', { class: 'space' }),
    zoomed.length ? make('button', { type: 'button', onclick: again }, 'Show all') : null));
  const root = order === 'region' ? rootOfStacks(box) : rootOfRange(box, from, until);
  if (!root) return;
  if (root.sum === 0) {
    box.append(make('p', { class: 'soft' }, 'No instruction ran in this range.'));
    return;
  }
  box.append(flames(root, zoomed, {
    colour,
    textOf: (path, node) => `${path.slice(1).join(', ') || node.name}: ${duration(node.sum)}, ${((node.sum / root.sum) * 100).toFixed(1)}% of the time shown, ${whole(node.count)} instructions`,
    zoom: (names) => { zoomed = names; refresh('flame'); },
  }));
}

export function start() {
  addTab('flame', 'Flame', render);
  on('range', () => refresh('flame'));
}
