// The critical path: its shares as tables, its steps as a line over the rows.

import { make } from './dom.js';
import { boxOf, drawOver } from './draw.js';
import { absence, analysis, source, sourceChoice } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { rows } from './rows.js';
import { duration } from './time.js';
import { byId } from './dom.js';
import { changed, on, state, tell, to, xOf } from './state.js';

const WAIT_MS = 120;
let isShown = false;
let steps = null; // steps of the path in the window
let timer = 0;

const KINDS = { instruction: 'execution', transfer: 'transfers', latency: 'semaphore latency', wait: 'waits', start: 'before the first instruction', end: 'after the last instruction', issue: 'issue', drain: 'drain' };

async function load() {
  if (!isShown) return;
  const from = Math.max(0, state.from);
  const until = Math.min(state.meta.span, to());
  try {
    steps = await state.source.path(source(), from, Math.max(from, until));
  } catch (error) {
    tell('error', error);
  }
  document.documentElement.dataset.path = steps ? String(steps.steps.length) : '';
  changed();
}

function soon() {
  clearTimeout(timer);
  if (isShown) timer = setTimeout(load, WAIT_MS);
}

// Height of a step: its slice, or the row of its queue.
function heightOf(step) {
  if (step.kind === 'transfer' && step.queue) {
    const row = rows.list.find(({ track }) => track !== undefined && state.meta.tracks[track].name === step.queue &&
      state.meta.groups[state.meta.tracks[track].group].source === source());
    if (row) return row.y + row.height / 2 - byId('rows').scrollTop;
  }
  const box = step.at ? boxOf(step.at) : null;
  return box ? box.y + box.height / 2 : null;
}

function draw(context, look) {
  if (!isShown || !steps) return;
  context.strokeStyle = look.bad;
  context.lineWidth = 2.5;
  context.lineJoin = 'round';
  context.globalAlpha = 0.85;
  context.beginPath();
  let isBegun = false;
  for (const step of steps.steps) {
    const y = heightOf(step);
    if (y === null) continue;
    const x0 = Math.min(Math.max(xOf(step.start), -20), state.width + 20);
    const x1 = Math.min(Math.max(xOf(step.end), -20), state.width + 20);
    if (isBegun) context.lineTo(x0, y);
    else context.moveTo(x0, y);
    context.lineTo(x1, y);
    isBegun = true;
  }
  context.stroke();
  context.globalAlpha = 1;
}

function shares(title, list) {
  return table([[title, true], ['Steps'], ['On critical path'], ['Share of execution']], list.map((one) => ({
    cells: [one.name ?? one.layer, { value: one.steps, text: String(one.steps) }, { value: one.path_ns, text: duration(one.path_ns * 1000) }, bar(one.path_ratio)],
  })), { most: 100 });
}

function render(box) {
  const choice = sourceChoice('path');
  if (choice) box.append(choice);
  const path = analysis(box, 'path', 'critical-path');
  if (!path) return;
  const toggle = make('input', { type: 'checkbox', id: 'path-shown', onchange: (event) => {
    isShown = event.target.checked;
    load();
    changed();
  } });
  toggle.checked = isShown;
  const kinds = Object.entries(path.kinds_ns).filter(([, ns]) => ns > 0).map(([kind, ns]) => `${KINDS[kind] ?? kind} ${duration(ns * 1000)}`);
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, duration(path.total_ns * 1000)), make('span', { class: 'soft' }, kinds.join(', ')),
    make('span', { class: 'space' }), make('label', { for: 'path-shown' }, toggle, ' Draw the path over the rows')),
  make('div', { class: 'three' }, shares('Engine or queue', path.resources), shares('Operation', path.opcodes), path.layers.length ? shares('Layer', path.layers) : null));
}

export function start() {
  addTab('path', 'Critical path', render, () => absence('path', 'critical-path'));
  drawOver(draw);
  on('window', soon);
}
