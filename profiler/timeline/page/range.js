// Shows how busy each row is in the dragged range, and with which work.

import { make } from './dom.js';
import { bytes, share, whole } from './format.js';
import { addTab, bar, refresh, showTab, table } from './panel.js';
import { coreOf, reveal } from './rows.js';
import { ownWindow } from './runs.js';
import { duration, exact } from './time.js';
import { changed, glideTo, on, state, tell } from './state.js';

let stats = null;

function byWhat() {
  const sums = new Map();
  for (const { track, whats } of stats.tracks) {
    for (const { what, count, sum, longest, bytes: moved } of whats) {
      const key = `${what}`;
      const entry = sums.get(key) ?? { what, rows: new Set(), count: 0, sum: 0, longest: 0, bytes: 0 };
      entry.rows.add(state.meta.tracks[track].name);
      entry.count += count;
      entry.sum += sum;
      entry.longest = Math.max(entry.longest, longest);
      entry.bytes += moved ?? 0;
      sums.set(key, entry);
    }
  }
  return [...sums.values()].sort((a, b) => b.sum - a.sum);
}


// As a share of the time of its run in the range: a shorter run is not idle after its end.
function ownBusy(track, busy) {
  const { from, to } = state.range;
  const own = ownWindow(state.meta.tracks[track], from, to);
  return own > 0 ? (busy * (to - from)) / own : 0;
}

// A queue is busy while any of its DMA engines is.
function busyOf(track, ofWindow) {
  const { kind, lanes } = state.meta.tracks[track];
  const busy = ownBusy(track, ofWindow);
  return kind === 'queue' && lanes > 1
    ? bar(busy, `${share(busy)} (at least one of ${lanes})`, `busy for ${share(busy)} of the range (at least one of ${lanes} DMA engines)`)
    : bar(busy, share(busy), `busy for ${share(busy)} of the range`);
}

// Over all rows of a kind, including those without slices in the range.
function total(kind, name) {
  const all = state.meta.tracks.filter((track) => track.kind === kind).length;
  const found = stats.tracks.filter(({ track }) => state.meta.tracks[track].kind === kind);
  if (all < 2 || !found.length) return null;
  const sum = (key) => found.reduce((all, one) => all + (one[key] ?? 0), 0);
  const busy = found.reduce((sum, one) => sum + ownBusy(one.track, one.busy ?? 0), 0) / all;
  return { cells: [`${all} ${name}`, 'mean and sums', bar(busy, share(busy), `busy for ${share(busy)} of the range (mean of ${all} rows)`),
    { text: whole(sum('count')) }, kind === 'queue' ? { text: bytes(sum('bytes')) } : ''] };
}

function rowsTable() {
  return table([['Row', true], ['Core', true], ['Busy share of range'], ['Slices'], ['Bytes']], stats.tracks.map(({ track, busy, count, bytes: moved }) => ({
    onclick: () => reveal(track),
    cells: [state.meta.tracks[track].name, coreOf(track), busyOf(track, busy), { value: count, text: whole(count) }, moved === undefined ? '' : { value: moved, text: bytes(moved) }],
  })), { foot: [total('engine', 'engines'), total('queue', 'queues'), total('host', 'host rows')].filter(Boolean) });
}

function whatsTable() {
  const all = byWhat();
  return table([['Name', true], ['Row', true], ['Count'], ['Total'], ['Mean'], ['Longest'], ['Bytes']], all.map((entry) => ({
    cells: [state.meta.whats[entry.what].name, [...entry.rows].join(', '), { value: entry.count, text: whole(entry.count) },
      { value: entry.sum, text: duration(entry.sum) }, { value: entry.sum / entry.count, text: duration(entry.sum / entry.count) },
      { value: entry.longest, text: duration(entry.longest) }, entry.bytes ? { value: entry.bytes, text: bytes(entry.bytes) } : ''],
  })));
}

function render(box) {
  if (!stats || !state.range) {
    box.append(make('p', { class: 'soft' }, 'Drag over the rows to select a range and see its statistics here.'));
    return;
  }
  const { from, to } = state.range;
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, duration(to - from)),
    make('span', { class: 'soft' }, `${exact(from + state.meta.begin)} to ${exact(to + state.meta.begin)}`), make('span', { class: 'space' }),
    make('button', { type: 'button', onclick: () => glideTo(from, to, 0.9) }, 'Zoom to range'),
    make('button', { type: 'button', onclick: () => clear() }, 'Clear')),
  make('div', { class: 'two' }, rowsTable(), whatsTable()));
}

function clear() {
  state.range = null;
  stats = null;
  refresh('range');
  tell('range', null);
  changed();
}

export async function load(isQuiet) {
  const { range } = state;
  if (!range) return;
  try {
    const answer = await state.source.stats(range.from, range.to);
    if (state.range !== range) return;
    stats = answer;
    if (!isQuiet) showTab('range');
    else refresh('range');
  } catch (error) {
    tell('error', error);
  }
}

export function start() {
  addTab('range', 'Range', render);
  on('range', () => { load(); tell('view'); });
  on('escape', clear);
}
