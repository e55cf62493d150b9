// Answers of analyses: asked once, and shown with what is to be said while they are made or where there are none.

import { make } from './dom.js';
import { refresh } from './panel.js';
import { state } from './state.js';

const known = new Map();

// The answer, or null while it is on its way (the tab is drawn again when it came); a sentence goes into box.
export function answer(box, tab, key, ask) {
  const entry = known.get(key);
  if (entry?.value !== undefined) return entry.value;
  if (entry?.error) {
    box.append(make('p', { class: 'soft' }, `Not known: ${entry.error}.`));
    return null;
  }
  if (!entry) {
    known.set(key, {});
    ask().then((value) => known.set(key, { value }), (error) => known.set(key, { error: error.message })).finally(() => refresh(tab));
  }
  box.append(make('p', { class: 'soft' }, 'Working it out …'));
  return null;
}

// Which of several captures a tab is about.
const chosen = { source: 0 };
export const source = () => chosen.source;

export function sourceChoice(tab) {
  if (state.meta.sources.length < 2) return null;
  const select = make('select', { 'aria-label': 'Capture', onchange: (event) => {
    chosen.source = Number(event.target.value);
    refresh(tab);
  } }, ...state.meta.sources.map((one, i) => make('option', { value: i }, one.name)));
  select.value = String(chosen.source);
  return select;
}

export const analysis = (box, tab, name) => answer(box, tab, `analysis ${chosen.source} ${name}`, () => state.source.analysis(chosen.source, name));
