// Shows dependencies: arrows from what ended a wait, possibly via a transfer, to what waited, and links in the details.

import { boxOf, drawOver } from './draw.js';
import { make } from './dom.js';
import { bytes, count, whole } from './format.js';
import { addMore, goTo } from './details.js';
import { refresh } from './panel.js';
import { duration } from './time.js';
import { changed, on, state } from './state.js';

const RELEASES_SHOWN = 8;
const TRANSFER_TITLES = { engine: 'Started transfer', queue: 'Transfer', semaphore: 'Changed by transfer' };

let flows = null; // dependencies of state.selected
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
    if (wait.by) rows.push(line(wait.by_transfer ? 'Transfer started by' : 'Changed by', linkTo(wait.by)));
    else rows.push(line('Changed by', wait.by_transfer ? `DMA${wait.queue ? `, ${wait.queue}` : ''}` : 'unknown'));
    if (wait.by_transfer && wait.by && wait.queue) rows.push(line('Queue', wait.queue));
    if (wait.change) rows.push(line('Change', linkTo(wait.change)));
  } else {
    rows.push(line('For', isKnown ? 'no semaphore' : 'unknown'));
  }
  if (previous) rows.push(line('Previous', linkTo(previous)));
  return rows;
}

const longLine = (name, text) => make('div', {}, make('dt', {}, name), make('dd', { class: 'long' }, text));

// The instruction that it follows according to the compiler: the reason, and its last execution
// before.
function followed({ predecessors, predecessor_count: total }) {
  const words = { ORDERED: 'program order', FLOW_DEPENDENCE: 'reads its output', ANTI_DEPENDENCE: 'overwrites its input', OUTPUT_DEPENDENCE: 'overwrites its output' };
  const more = total - predecessors.length;
  return [...predecessors.map(({ kind, name, last }) => line(words[kind] ?? 'unknown', make('span', {}, name ?? '', ' ', last ? linkTo(last) : 'not executed before'))),
    more ? line('', `${whole(more)} more`) : null];
}

// Shows the number of dependencies, then the first ones.
function released(list, total) {
  return [...list.slice(0, RELEASES_SHOWN).map((slice) => line('', linkTo(slice))), total > RELEASES_SHOWN ? line('', `${whole(total - RELEASES_SHOWN)} more`) : null];
}

function transferRows(title, { queue, name, op, source, dest, count: packets, bytes: moved, duration: took, first, last }, by) {
  return make('section', {}, make('h3', {}, title), make('dl', {}, by ? line('Started by', linkTo(by)) : null, name ? line('Name', name) : null,
    source || dest ? longLine(op ? op[0].toUpperCase() + op.slice(1) : 'Moves', `${source ?? 'unknown'} \u2192 ${dest ?? 'unknown'}`) : null, line('Queue', queue),
    line('Moved', `${bytes(moved)} in ${whole(packets)} ${packets === 1 ? 'packet' : 'packets'}, ${duration(took)}`),
    line('First packet', linkTo(first)), line('Last packet', linkTo(last))));
}

function show(full, columns) {
  if (!flows || of !== state.selected) return;
  if (flows.layer || flows.flops || flows.name) {
    columns.append(make('section', {}, make('h3', {}, 'Model'), make('dl', {}, flows.layer ? line('Layer', flows.layer) : null, flows.tensor ? line('Tensor', flows.tensor) : null,
      flows.name ? line('Name', flows.name) : null, flows.flops ? line('FLOPs', count(flows.flops)) : null)));
  }
  if (flows.operands !== undefined) {
    columns.append(make('section', {}, make('h3', {}, 'Operands'), make('dl', {}, longLine('Operands', flows.operands || 'none'),
      flows.compiler_opcode ? line('Compiled as', flows.compiler_opcode) : null,
      flows.compiler_operands ? longLine('Compiled operands', flows.compiler_operands) : null)));
  }
  if (flows.predecessors?.length) columns.append(make('section', {}, make('h3', {}, 'Depends on'), make('dl', {}, ...followed(flows))));
  const { kind } = state.meta.tracks[full.track];
  if (flows.wait !== undefined) columns.append(make('section', {}, make('h3', {}, 'Waited'), make('dl', {}, ...waitRows(flows))));
  else if (kind !== 'queue' && flows.by) columns.append(make('section', {}, make('h3', {}, 'Changed'), make('dl', {}, line('By', linkTo(flows.by)))));
  if (flows.wait?.transfer) columns.append(transferRows('Waited for transfer', flows.wait.transfer));
  if (flows.transfer) columns.append(transferRows(TRANSFER_TITLES[kind], flows.transfer, kind === 'queue' ? flows.by : null));
  if (flows.transfer_releases?.length) {
    columns.append(make('section', {}, make('h3', {}, 'Released by the transfer'), make('dl', {}, ...released(flows.transfer_releases, flows.transfer_release_count))));
  }
  if (flows.releases?.length) columns.append(make('section', {}, make('h3', {}, 'Released'), make('dl', {}, ...released(flows.releases, flows.release_count))));
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

// A frame around the time of a transfer in its row; an arrow to its first packet and one from the last.
function through(context, from, { first, last, duration: took }, to, colour) {
  const top = boxOf({ ...first, lane: 0, end: first.start + took });
  const bottom = boxOf({ ...first, lane: state.meta.tracks[first.track].lanes - 1 });
  if (top && top.x < state.width && top.x + top.width > 0) {
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.strokeRect(top.x, top.y - 1, Math.max(2, top.width), bottom.y + bottom.height - top.y + 2);
  }
  if (from) arrow(context, from, first, colour);
  for (const slice of to) arrow(context, last, slice, colour);
}

const moment = (slice) => ({ ...slice, end: slice.start }); // of a change: it exists from its start on

function draw(context, look) {
  if (!flows || of !== state.selected || !state.selected) return;
  const { wait } = flows;
  const { kind } = state.meta.tracks[state.selected.track];
  const self = kind === 'semaphore' ? moment(state.selected) : state.selected;
  if (wait?.transfer) through(context, wait.by, wait.transfer, [wait.change ?? self], look.accent2);
  else if (wait?.by) arrow(context, wait.by, self, look.accent2);
  if (wait?.change) arrow(context, moment(wait.change), self, look.accent2);
  if (kind === 'engine' && flows.transfer) through(context, self, flows.transfer, flows.transfer_releases, look.accent);
  else if (flows.transfer) through(context, flows.by, flows.transfer, kind === 'queue' ? flows.transfer_releases : [self], look.accent2);
  else if (flows.by) arrow(context, flows.by, self, look.accent2);
  else for (const slice of flows.transfer_releases ?? []) arrow(context, self, slice, look.accent);
  for (const slice of flows.releases ?? []) arrow(context, self, slice, look.accent);
}

async function load() {
  const { selected } = state;
  flows = null;
  if (!selected) return;
  const { kind } = state.meta.tracks[selected.track];
  if (kind !== 'engine' && kind !== 'semaphore' && kind !== 'queue') return;
  try {
    const answer = await state.source.flows(selected.track, selected.slice);
    if (state.selected !== selected) return;
    flows = answer;
    of = selected;
    document.documentElement.dataset.flows = `${selected.track},${selected.slice}`;
    refresh('slice');
    changed();
  } catch { /* the details work without them */ }
}

export function start() {
  addMore(show);
  drawOver(draw);
  on('selected', load);
}
