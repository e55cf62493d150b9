// Who let whom go: arrows from what ended a wait to what waited, and links in the details.

import { boxOf, drawOver } from './draw.js';
import { make } from './dom.js';
import { count } from './format.js';
import { addMore, goTo } from './details.js';
import { refresh } from './panel.js';
import { duration } from './time.js';
import { changed, on, state } from './state.js';

let flows = null; // of state.selected
let of = null;

const nameOf = ({ track, what, start, end }) => `${state.meta.tracks[track].name} ${state.meta.whats[what].name}, ${duration(end - start)}`;

const linkTo = (slice) => make('button', { type: 'button', class: 'as-link', onclick: () => goTo(slice.track, slice.slice) }, nameOf(slice));

function line(name, ...values) {
  return make('div', {}, make('dt', {}, name), make('dd', {}, ...values));
}

function condition({ is_event: isEvent, number, relation, value }) {
  return isEvent ? `event ${number} ${relation}` : `semaphore ${number} ${relation} ${value}`;
}

function waitRows({ wait, previous, is_wait_known: isKnown }) {
  const rows = [];
  if (wait) {
    rows.push(line('For', condition(wait)));
    if (wait.by) rows.push(line(wait.by_transfer ? 'Transfer begun by' : 'Changed by', linkTo(wait.by)));
    else rows.push(line('Changed by', wait.by_transfer ? `DMA${wait.queue ? `, ${wait.queue}` : ''}` : 'not known'));
    if (wait.by_transfer && wait.by && wait.queue) rows.push(line('Queue', wait.queue));
    if (wait.change) rows.push(line('The change', linkTo(wait.change)));
  } else {
    rows.push(line('For', isKnown ? 'no semaphore' : 'not known'));
  }
  if (previous) rows.push(line('Before it', linkTo(previous)));
  return rows;
}

function show(full, columns) {
  if (!flows || of !== state.selected) return;
  if (flows.layer || flows.flops) {
    columns.append(make('section', {}, make('h3', {}, 'Model'), make('dl', {}, flows.layer ? line('Layer', flows.layer) : null, flows.flops ? line('FLOPs', count(flows.flops)) : null)));
  }
  if (flows.wait !== undefined) columns.append(make('section', {}, make('h3', {}, 'Waited'), make('dl', {}, ...waitRows(flows))));
  else if (flows.by) columns.append(make('section', {}, make('h3', {}, 'Changed'), make('dl', {}, line('By', linkTo(flows.by)))));
  if (flows.releases?.length) {
    columns.append(make('section', {}, make('h3', {}, 'Let go'), make('dl', {}, ...flows.releases.slice(0, 8).map((slice) => line('', linkTo(slice))),
      flows.release_count > 8 ? line('', `${flows.release_count - 8} more`) : null)));
  }
}

// ---- arrows -----------------------------------------------------------------------------------------

function arrow(context, from, to, colour) {
  const a = boxOf(from);
  const b = boxOf(to);
  if (!a || !b) return;
  const x0 = a.x + a.width;
  const y0 = a.y + a.height / 2;
  const x1 = b.x;
  const y1 = b.y + b.height / 2;
  if (Math.max(x0, x1) < -50 || Math.min(x0, x1) > state.width + 50) return;
  const bend = Math.min(120, Math.max(18, Math.abs(x1 - x0) / 2));
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 1.6;
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
  context.stroke();
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x1 - 8, y1 - 4);
  context.lineTo(x1 - 8, y1 + 4);
  context.fill();
}

function draw(context, look) {
  if (!flows || of !== state.selected || !state.selected) return;
  if (flows.wait?.by) arrow(context, flows.wait.by, state.selected, look.accent2);
  if (flows.wait?.change) arrow(context, { ...flows.wait.change, end: flows.wait.change.start }, state.selected, look.accent2);
  if (flows.by) arrow(context, flows.by, state.selected, look.accent2);
  for (const slice of flows.releases ?? []) arrow(context, state.meta.tracks[state.selected.track].kind === 'semaphore' ? { ...state.selected, end: state.selected.start } : state.selected, slice, look.accent);
}

async function load() {
  const { selected } = state;
  flows = null;
  if (!selected) return;
  const { kind } = state.meta.tracks[selected.track];
  if (kind !== 'engine' && kind !== 'semaphore') return;
  try {
    const answer = await state.source.flows(selected.track, selected.slice);
    if (state.selected !== selected) return;
    flows = answer;
    of = selected;
    document.documentElement.dataset.flows = `${selected.track},${selected.slice}`;
    refresh('slice');
    changed();
  } catch { /* the details stand without them */ }
}

export function start() {
  addMore(show);
  drawOver(draw);
  on('selected', load);
}
