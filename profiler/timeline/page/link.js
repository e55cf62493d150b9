// Stores the view in the fragment of the URL, so that a link restores it.

import { byId, setText } from './dom.js';
import { select } from './details.js';
import { panel, showTab } from './panel.js';
import { load as loadRange } from './range.js';
import { layout } from './rows.js';
import { run as search } from './search.js';
import { changed, on, show, state, tell, to } from './state.js';

const WAIT_MS = 200;
let timer = 0;
let written = '';

const numbers = (text) => (text ? text.split(',').map(Number).filter(Number.isFinite) : []);
const sets = (set) => [...set].sort((a, b) => a - b).join(',');

export function write() {
  const parts = new URLSearchParams();
  parts.set('from', state.from.toFixed(1));
  parts.set('to', to().toFixed(1));
  if (byId('rows').scrollTop) parts.set('y', Math.round(byId('rows').scrollTop));
  if (state.selected) parts.set('slice', `${state.selected.track},${state.selected.slice}`);
  if (state.range) parts.set('range', `${state.range.from.toFixed(0)},${state.range.to.toFixed(0)}`);
  if (state.markers.length) parts.set('markers', state.markers.map((marker) => marker.toFixed(0)).join(','));
  if (byId('search').value) parts.set('search', byId('search').value);
  parts.set('folded', sets(state.folded));
  if (state.colour !== 'operation') parts.set('colour', state.colour);
  if (state.tall.size) parts.set('tall', sets(state.tall));
  if (panel.current) parts.set('tab', panel.current);
  written = `#${parts}`;
  if (location.hash !== written) history.replaceState(null, '', written);
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(write, WAIT_MS);
}

// True if the URL contained a view. A link may be for another capture: invalid numbers are ignored.
export function read() {
  const parts = new URLSearchParams(location.hash.slice(1));
  const { meta } = state;
  if (!parts.has('from')) return false;
  const from = Number(parts.get('from'));
  const until = Number(parts.get('to'));
  if (parts.has('folded')) state.folded = new Set(numbers(parts.get('folded')).filter((g) => g < meta.groups.length));
  state.tall = new Set(numbers(parts.get('tall')).filter((t) => t < meta.tracks.length));
  state.markers = numbers(parts.get('markers')).filter((marker) => marker >= 0 && marker <= meta.span);
  tell('colour', parts.get('colour') ?? 'operation');
  layout();
  if (until > from) show(from, (until - from) / state.width);
  byId('rows').scrollTop = Number(parts.get('y')) || 0;
  const [start, end] = numbers(parts.get('range'));
  state.range = end > start ? { from: start, to: end } : null;
  loadRange(true);
  const [track, slice] = numbers(parts.get('slice'));
  if (meta.tracks[track]?.slices > slice) select({ track, slice }, true);
  else select(null, true);
  search(parts.get('search') ?? '', true);
  if (byId(`tab-${parts.get('tab')}`)) showTab(parts.get('tab'));
  changed();
  return true;
}

async function copy() {
  write();
  try {
    await navigator.clipboard.writeText(location.href);
    setText(byId('said'), 'Link copied.');
  } catch {
    setText(byId('said'), 'Cannot copy: the link is in the address bar.');
  }
}

export function start() {
  for (const event of ['window', 'view', 'layout']) on(event, soon);
  byId('rows').addEventListener('scroll', soon, { passive: true });
  window.addEventListener('hashchange', () => { if (location.hash !== written) read(); });
  byId('link').addEventListener('click', copy);
}

