// Keeps answers of analyses: they are requested once, and shown with a message while loading or if missing.

import { make } from './dom.js';
import { markAbsent, refresh } from './panel.js';
import { state } from './state.js';

const known = new Map();

function begin(tab, key, ask) {
  known.set(key, {});
  ask().then((value) => known.set(key, { value }), (error) => known.set(key, { error: error.message })).finally(() => {
    markAbsent();
    refresh(tab);
  });
}

// Returns the answer, or null while loading (the tab is redrawn when it arrives); messages go into box.
export function answer(box, tab, key, ask) {
  const entry = known.get(key);
  if (entry?.value !== undefined) return entry.value;
  if (entry?.error) {
    box.append(make('p', { class: 'soft' }, `Unknown: ${entry.error}.`));
    return null;
  }
  if (!entry) begin(tab, key, ask);
  box.append(make('p', { class: 'soft' }, 'Computing …'));
  return null;
}

// Returns the capture that a tab shows.
const chosen = { source: 0 };
export const source = () => chosen.source;

export function sourceChoice(tab) {
  if (state.meta.sources.length < 2) return null;
  const select = make('select', { 'aria-label': 'Capture', onchange: (event) => {
    chosen.source = Number(event.target.value);
    markAbsent();
    refresh(tab);
  } }, ...state.meta.sources.map((one, i) => make('option', { value: i }, one.name)));
  select.value = String(chosen.source);
  return select;
}

const keyOf = (name) => `analysis ${chosen.source} ${name}`;
export const analysis = (box, tab, name) => answer(box, tab, keyOf(name), () => state.source.analysis(chosen.source, name));

// Why the files cannot answer it: known for analyses of short captures, else after the first request.
const SHORT_SLICES = 100000;
export function absence(tab, name) {
  const key = keyOf(name);
  if (!known.has(key) && state.meta.slices <= SHORT_SLICES) begin(tab, key, () => state.source.analysis(chosen.source, name));
  return known.get(key)?.error ?? null;
}
