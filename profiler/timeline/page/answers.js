// Answers of analyses: asked once, and shown with what is to be said while they are made or if
// there are none.

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

// The answer, or null while it is on its way (the tab is drawn again when it came); a message goes
// into box.
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

// Which of several captures a tab is about.
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

// Why the files do not answer it: shown for the analysis of a capture that is short enough, else
// once it was asked.
const SHORT_SLICES = 100000;
export function absence(tab, name) {
  const key = keyOf(name);
  if (!known.has(key) && state.meta.slices <= SHORT_SLICES) begin(tab, key, () => state.source.analysis(chosen.source, name));
  return known.get(key)?.error ?? null;
}
