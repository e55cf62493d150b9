// Handles the keyboard: keys and their actions are in one list, for the dispatcher and the help.

import { byId, make } from './dom.js';
import { glideTo, on, pan, showAll, state, stopGlide, tell, timeOf, zoom } from './state.js';

const ZOOM_PER_SECOND = 6;   // e-fold
const PAN_PER_SECOND = 1.6;  // widths of the window
const STEP_MOST = 0.05;

// Held keys move the window until they are released.
const HELD = { w: [-1, 0], s: [1, 0], a: [0, -1], d: [0, 1], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

const centre = () => (state.pointer ? state.pointer.x : state.width / 2);

// [keys, shown, description, action]; without action: see HELD.
const KEYS = [
  [['w'], 'w', 'zoom in at the pointer'],
  [['s'], 's', 'zoom out'],
  [['a', 'ArrowLeft'], 'a, ←', 'move left'],
  [['d', 'ArrowRight'], 'd, →', 'move right'],
  [['0', 'Home'], '0', 'show everything', () => showAll()],
  [['f'], 'f', 'zoom to the selection', () => focusSelection()],
  [['.'], '.', 'select the next slice of the row', () => tell('step', 1)],
  [[','], ',', 'select the previous slice of the row', () => tell('step', -1)],
  [['ArrowDown'], '↓', 'select the slice in the row below', () => tell('row', 1)],
  [['ArrowUp'], '↑', 'select the slice in the row above', () => tell('row', -1)],
  [['m'], 'm', 'set or remove a marker at the pointer', () => tell('mark', timeOf(centre()))],
  [['/'], '/', 'search', () => byId('search').focus()],
  [['n'], 'n', 'go to the next match', () => tell('hit', 1)],
  [['N'], 'N', 'go to the previous match', () => tell('hit', -1)],
  [['Escape'], 'Esc', 'clear the selection, the range and the search', () => tell('escape')],
  [['?'], '?', 'show this help', () => help()],
];

function focusSelection() {
  if (state.range) glideTo(state.range.from, state.range.to, 0.9);
  else if (state.selected) glideTo(state.selected.start, state.selected.end, 0.4);
}

const held = new Set();
let before = 0;

function step(key, seconds) {
  const [z, p] = HELD[key];
  if (z) zoom(Math.exp(z * ZOOM_PER_SECOND * seconds), centre());
  if (p) pan(p * PAN_PER_SECOND * seconds * state.width);
}

function move(now) {
  if (held.size === 0) return;
  const seconds = Math.min(STEP_MOST, (now - before) / 1000);
  before = now;
  for (const key of held) step(key, seconds);
  requestAnimationFrame(move);
}

function help() {
  const dialog = byId('help');
  byId('help-keys').replaceChildren(...KEYS.map(([, shown, what]) => make('tr', {}, make('td', {}, make('kbd', {}, shown)), make('td', { class: 'text' }, what))));
  if (!dialog.open) dialog.showModal();
}

function down(event) {
  const isText = event.target.closest?.('input, textarea, select');
  if (isText || event.ctrlKey || event.metaKey || event.altKey || byId('help').open) return;
  const row = KEYS.find(([keys]) => keys.includes(event.key));
  if (!row) return;
  if (event.target.closest?.('#panel') && event.key.startsWith('Arrow')) return; // they scroll, or change tabs and choices
  event.preventDefault();
  if (row[3]) {
    row[3]();
    return;
  }
  stopGlide();
  if (held.size === 0) {
    before = performance.now();
    requestAnimationFrame(move);
  }
  if (!held.has(event.key)) step(event.key, STEP_MOST); // a short press also moves
  held.add(event.key);
}

export function start() {
  document.addEventListener('keydown', down);
  document.addEventListener('keyup', (event) => held.delete(event.key));
  window.addEventListener('blur', () => held.clear());
  byId('help-button').addEventListener('click', help);
  byId('help-close').addEventListener('click', () => byId('help').close());
  on('zoom', (hit) => glideTo(hit.start, hit.end, 0.5));
}
