// The source position of a slice: requested for the slice under the pointer and for the selected one.

import { make } from './dom.js';
import { addMore } from './details.js';
import { refresh } from './panel.js';
import { changed, on, state, tell } from './state.js';

const KEPT = 2000;
const WAIT_MS = 60;
const SHORT_SLICES = 100000; // slow for a longer capture at first: not for a passing pointer

const known = new Map(); // "track slice": the answer
let isAwake = false;
let timer = 0;
let wanted = '';

export let selected = null; // the position of state.selected

export const baseName = (path) => path.slice(path.lastIndexOf('/') + 1);
export const lineName = ({ path, line }) => `${path ? baseName(path) : '?'}:${line}`;
const shortFunction = (name) => name.slice(name.lastIndexOf('.') + 1);

// "attn.py:278, in attention", "kv_h=0 s_t=3"
export const placeTexts = (place) => [`${lineName(place)}${place.function ? `, in ${shortFunction(place.function)}` : ''}`, place.iteration].filter(Boolean);

const answers = new Map();
// The costs of lines and loops of a capture.
export function linesOf(source) {
  if (!answers.has(source)) answers.set(source, state.source.lines(source));
  return answers.get(source);
}

const kindOf = (track) => state.meta.tracks[track].kind;
const mayHave = (track) => state.meta.sources.length > 0 && (kindOf(track) === 'engine' || kindOf(track) === 'queue');

async function ask(track, slice) {
  const key = `${track} ${slice}`;
  if (!known.has(key)) {
    if (known.size >= KEPT) known.delete(known.keys().next().value);
    known.set(key, await state.source.position(track, slice).catch(() => null));
  }
  return known.get(key);
}

// Known details of a slice; unknown ones are requested when the pointer rests.
export function placeOf(track, slice) {
  if (slice === undefined || !mayHave(track)) return null;
  const key = `${track} ${slice}`;
  if (known.has(key)) return known.get(key);
  if (wanted !== key && (isAwake || state.meta.slices <= SHORT_SLICES)) {
    wanted = key;
    clearTimeout(timer);
    timer = setTimeout(() => ask(track, slice).then(changed), WAIT_MS);
  }
  return null;
}

async function load() {
  const mine = state.selected;
  selected = null;
  if (!mine || !mayHave(mine.track)) {
    tell('place');
    return;
  }
  isAwake = true;
  const place = await ask(mine.track, mine.slice);
  if (state.selected !== mine) return;
  selected = place;
  if (place) refresh('slice');
  tell('place');
}

function show(full, columns) {
  if (!selected || !state.selected || full.slice !== state.selected.slice || full.track !== state.selected.track) return;
  const row = (name, ...values) => make('div', {}, make('dt', {}, name), make('dd', {}, ...values));
  const isLink = selected.file !== undefined;
  columns.append(make('section', {}, make('h3', {}, 'Source'), make('dl', {},
    row('Line', isLink ? make('button', { type: 'button', class: 'as-link', title: selected.path, onclick: () => tell('line', selected) }, lineName(selected)) : lineName(selected)),
    selected.function ? row('Function', selected.function) : null, selected.iteration ? row('Iteration', selected.iteration) : null)));
}

export function start() {
  addMore(show);
  on('selected', load);
  on('view', () => { if (!state.selected && selected) load(); });
}
