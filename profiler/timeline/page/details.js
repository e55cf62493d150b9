// Shows the details of the selected slice, and links to its neighbours.

import { byId, make, setText } from './dom.js';
import { bytes, count } from './format.js';
import { describe } from './tooltip.js';
import { addTab, refresh, showTab } from './panel.js';
import { reveal, rows } from './rows.js';
import { duration, exact } from './time.js';
import { changed, glideTo, on, show, state, tell, to } from './state.js';
import { FORM_SLICES } from './tiles.js';

let full = null; // the source's answer about state.selected
let bucket = null;

const WRITE = {
  ps: (value) => [duration(value), exact(value)],
  bytes: (value) => [bytes(value), `${value.toLocaleString('en')} bytes`],
  'bytes/s': (value) => [`${count(value)}B/s`, ''],
  cycles: (value) => [`${value} cycles`, ''],
  number: (value) => [value.toLocaleString('en'), ''],
  hex: (value) => [`0x${value.toString(16).padStart(4, '0')}`, ''],
  text: (value) => [value, ''],
};

function row({ name, unit, value }) {
  const [text, more] = WRITE[unit](value);
  return make('div', {}, make('dt', {}, name), make('dd', { title: more || text, class: text.length > 40 ? 'long' : '' }, text));
}

let asked = null; // the slice to select; another one may replace it meanwhile

// Selects a slice, { track, slice }, once its details are loaded. Returns true when selected.
export async function select(slice, isQuiet) {
  asked = slice;
  bucket = null;
  if (!slice) {
    state.selected = null;
    full = null;
    refresh('slice');
    tell('view');
    changed();
    return false;
  }
  try {
    const answer = await state.source.slice(slice.track, slice.slice);
    if (asked !== slice) return false;
    full = answer;
    state.selected = { track: slice.track, slice: slice.slice, start: answer.start, end: answer.end, what: answer.what, lane: answer.lane };
    setText(byId('said'), `${answer.name} on ${state.meta.tracks[slice.track].name}, ${duration(answer.end - answer.start)}`);
  } catch (error) {
    tell('error', error);
    return false;
  }
  if (!isQuiet) showTab('slice');
  else refresh('slice');
  tell('selected', full);
  tell('view');
  changed();
  return true;
}

// Scrolls to a slice that was selected elsewhere.
export async function goTo(track, index) {
  if (!await select({ track, slice: index })) return;
  reveal(track);
  const slice = state.selected;
  const length = slice.end - slice.start;
  if (slice.end < state.from || slice.start > to() || length > state.scale * state.width) {
    if (length > state.scale * state.width || length < state.scale * 2) glideTo(slice.start, slice.end, 0.2);
    else show((slice.start + slice.end) / 2 - (state.scale * state.width) / 2, state.scale);
  }
}

// Returns the loaded slice of a row that is nearest to a time.
function nearest(track, time) {
  const found = state.tiles.find(track, state.meta.level_top, 0);
  let best = null;
  const exact = found?.form === FORM_SLICES ? [found] : [...state.tiles.tracks[track].values()].filter(({ form }) => form === FORM_SLICES);
  for (const { times, words, count: entries } of exact) {
    for (let i = 0; i < entries; i++) {
      const distance = Math.max(times[i * 4] - time, time - times[i * 4 + 1], 0);
      if (!best || distance < best.distance) best = { distance, slice: words[i * 8 + 4] };
    }
  }
  return best;
}

// Moves to the next row above or below with loaded slices; without a selection to the first one.
function stepRow(by) {
  const { selected } = state;
  const tracks = rows.list.filter(({ track }) => track !== undefined).map(({ track }) => track);
  const time = selected ? selected.start : Math.max(0, state.from);
  for (let at = selected ? tracks.indexOf(selected.track) + by : 0; at >= 0 && at < tracks.length; at += by) {
    const best = nearest(tracks[at], time);
    if (best) {
      goTo(tracks[at], best.slice);
      return;
    }
  }
}

function step(by) {
  const { selected } = state;
  if (!selected) {
    stepRow(1);
    return;
  }
  const next = selected.slice + by;
  if (next >= 0 && next < state.meta.tracks[selected.track].slices) goTo(selected.track, next);
}

const more = []; // content that other modules add below: (full, box) => void
export const addMore = (call) => more.push(call);

function render(box) {
  if (bucket) {
    const [title, lines] = describe(bucket);
    box.append(make('h2', {}, title), ...lines.map((line) => make('p', {}, line)),
      make('p', { class: 'soft' }, 'Too many slices to show individually. '),
      make('button', { type: 'button', onclick: () => glideTo(bucket.start, bucket.end, 0.3) }, 'Zoom in'));
    return;
  }
  if (!full || !state.selected) {
    box.append(make('p', { class: 'soft' }, 'Click a slice for its details; drag over the rows for the statistics of a range.'));
    return;
  }
  const track = state.meta.tracks[full.track];
  const here = full;
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, full.name), make('span', { class: 'soft' }, `${track.name} · ${state.meta.groups[track.group].name}`),
    make('span', { class: 'space' }),
    make('button', { type: 'button', onclick: () => step(-1), disabled: full.slice === 0, 'aria-label': 'Previous slice' }, '‹'),
    make('button', { type: 'button', onclick: () => step(1), disabled: full.slice + 1 >= track.slices, 'aria-label': 'Next slice' }, '›'),
    make('button', { type: 'button', onclick: () => glideTo(here.start, here.end, 0.4) }, 'Zoom to slice')));
  const columns = make('div', { class: 'facts' });
  for (const { title, rows } of full.groups) columns.append(make('section', {}, make('h3', {}, title), make('dl', {}, ...rows.map(row))));
  box.append(columns);
  for (const call of more) call(full, columns);
}

export function start() {
  addTab('slice', 'Slice', render);
  on('pick', (hit) => {
    if (hit?.slice !== undefined) select({ track: hit.track, slice: hit.slice });
    else {
      select(null, true);
      bucket = hit?.bucket ? hit : null;
      if (bucket) showTab('slice');
    }
  });
  on('step', step);
  on('row', stepRow);
  on('escape', () => select(null, true));
}
