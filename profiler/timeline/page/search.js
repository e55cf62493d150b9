// Search by regular expression over the names of what slices are; hits are counted everywhere, listed in order of
// time, and gone through with n and N.

import { byId, make, setText } from './dom.js';
import { whole } from './format.js';
import { goTo } from './details.js';
import { addTab, refresh, showTab, table } from './panel.js';
import { duration, exact } from './time.js';
import { changed, on, state, tell } from './state.js';

const WAIT_MS = 150;
const SHOWN = 300;
let timer = 0;
let asked = 0;

// The numbers of the whats that match.
export function matches(text) {
  const pattern = new RegExp(text, 'i');
  return state.meta.whats.map((what, w) => w).filter((w) => pattern.test(state.meta.whats[w].name));
}

function clear(message) {
  state.hits = null;
  byId('search').setAttribute('aria-invalid', String(Boolean(message)));
  setText(byId('found'), message ?? '');
  refresh('search');
  changed();
}

export async function run(text, isQuiet) {
  const mine = ++asked;
  byId('search').value = text;
  tell('view');
  if (!text) {
    clear();
    return;
  }
  let whats;
  try {
    whats = matches(text);
  } catch (error) {
    clear('no regular expression');
    return;
  }
  if (!whats.length) {
    clear('no hit');
    return;
  }
  try {
    const answer = await state.source.hits(whats, 0, false);
    if (mine !== asked) return;
    state.hits = { ...answer, whats, wanted: new Set(whats), text };
  } catch (error) {
    tell('error', error);
    return;
  }
  byId('search').setAttribute('aria-invalid', 'false');
  setText(byId('found'), `${whole(state.hits.total)} ${state.hits.total === 1 ? 'hit' : 'hits'}`);
  if (isQuiet) refresh('search');
  else showTab('search');
  changed();
}

// The hit after, or before, what is selected.
async function step(by) {
  if (!state.hits) return;
  const { selected, hits } = state;
  const isHit = selected && hits.wanted.has(selected.what);
  const at = hits.hits.findIndex((hit) => selected && hit.track === selected.track && hit.slice === selected.slice);
  let next = at >= 0 ? hits.hits[at + by] : null;
  if (!next) {
    const from = selected ? selected.start + (isHit && by > 0 ? 1 : 0) : by > 0 ? Math.max(0, state.from) : state.meta.span;
    const answer = await state.source.hits(hits.whats, from, by < 0);
    next = by > 0 ? answer.hits[0] : answer.hits[answer.hits.length - 1];
    if (next) hits.hits = answer.hits;
  }
  if (next) goTo(next.track, next.slice);
  else setText(byId('said'), 'no more hits');
}

function render(box) {
  const { hits } = state;
  if (!hits) {
    box.append(make('p', { class: 'soft' }, 'Search for operations with a regular expression, such as matmul|reduce.'));
    return;
  }
  const shown = hits.hits.slice(0, SHOWN);
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, `${whole(hits.total)} hits`),
    make('span', { class: 'soft' }, `${hits.whats.map((w) => state.meta.whats[w].name).join(', ')}${hits.total > shown.length ? `; the first ${shown.length}` : ''}`),
    make('span', { class: 'space' }), make('button', { type: 'button', onclick: () => step(-1) }, 'Before'), make('button', { type: 'button', onclick: () => step(1) }, 'Next')),
  table([['What', true], ['Row', true], ['Start'], ['Duration']], shown.map((hit) => ({
    onclick: () => goTo(hit.track, hit.slice),
    cells: [state.meta.whats[hit.what].name, state.meta.tracks[hit.track].name, { value: hit.start, text: exact(hit.start + state.meta.begin) },
      { value: hit.end - hit.start, text: duration(hit.end - hit.start) }],
  }))));
}

export function start() {
  addTab('search', 'Search', render);
  const input = byId('search');
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => run(input.value), WAIT_MS);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') {
      run('');
      byId('canvas').focus();
    }
  });
  on('hit', step);
  on('escape', () => { if (state.hits) run('', true); });
}
