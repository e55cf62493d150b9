// Which rows there are, how high, and their names at the left; a tree of groups and tracks.

import { byId, make, setText } from './dom.js';
import { changed, state, tell } from './state.js';

const GROUP_HEIGHT = 24;
const LANE_HEIGHT = 16;
const HEIGHTS = { engine: 30, queue: 22, semaphore: 18, rate: 40, host: 24, counter: 36 };
export const PAD = 3; // above and below what is drawn of a row

export const rows = { list: [], height: 0 };

function heightOf(track, id) {
  if (state.tall.has(id)) return Math.max(60, track.lanes * LANE_HEIGHT) + 2 * PAD;
  if (track.kind === 'engine' || track.kind === 'host') return Math.max(HEIGHTS.engine, track.lanes * LANE_HEIGHT + 2 * PAD);
  if (track.kind === 'queue' && track.lanes > 1) return Math.min(48, Math.max(HEIGHTS.queue, track.lanes * 3 + 2 * PAD));
  return HEIGHTS[track.kind] ?? HEIGHTS.queue;
}

function isHidden(group) {
  for (let g = group; g !== undefined; g = state.meta.groups[g].parent) if (state.folded.has(g)) return true;
  return false;
}

const depthOf = (group) => {
  let depth = 0;
  for (let g = state.meta.groups[group].parent; g !== undefined; g = state.meta.groups[g].parent) depth++;
  return depth;
};

// Groups in their order, each with the rate first, then its tracks, then the groups below it.
function walk(parent, visit) {
  state.meta.groups.forEach((group, g) => {
    if (group.parent !== parent) return;
    visit({ group: g });
    const own = state.meta.tracks.map((track, t) => t).filter((t) => state.meta.tracks[t].group === g);
    for (const t of own) visit({ track: t });
    walk(g, visit);
  });
}

function trackTitle(track) {
  if (track.kind === 'rate') return `${track.name}: bytes per second of all queues`;
  const what = { semaphore: 'changes', queue: 'packets', host: 'events', counter: 'samples' }[track.kind] ?? 'instructions';
  const lanes = track.kind === 'queue' ? `, DMA engines ${track.engines.join(', ')}; busy: any of them` : '';
  return `${track.name}: ${track.slices.toLocaleString('en')} ${what}${lanes}. The share is of the time that is shown. Click: taller or lower`;
}

function groupRow(g) {
  const group = state.meta.groups[g];
  const button = make('button', {
    type: 'button', class: 'group', 'aria-expanded': String(!state.folded.has(g)), 'data-group': g,
    onclick: () => fold(g),
  }, make('span', { class: 'fold', 'aria-hidden': 'true' }), group.name);
  button.style.paddingLeft = `${8 + depthOf(g) * 12}px`;
  return button;
}

function trackRow(t) {
  const track = state.meta.tracks[t];
  const button = make('button', { type: 'button', class: 'track', title: trackTitle(track), 'data-track': t, onclick: () => tall(t) },
    make('span', { class: 'name' }, track.name), make('span', { class: 'share', 'aria-hidden': 'true' }));
  button.style.paddingLeft = `${20 + depthOf(track.group) * 12}px`;
  return button;
}

export function layout() {
  const labels = byId('labels');
  const focused = document.activeElement?.dataset;
  let y = 0;
  rows.list = [];
  walk(undefined, ({ group, track }) => {
    if (group !== undefined) {
      const { parent } = state.meta.groups[group];
      if (parent !== undefined && isHidden(parent)) return;
      rows.list.push({ group, y, height: GROUP_HEIGHT, element: groupRow(group) });
      y += GROUP_HEIGHT;
    } else if (!isHidden(state.meta.tracks[track].group)) {
      const height = heightOf(state.meta.tracks[track], track);
      rows.list.push({ track, y, height, element: trackRow(track) });
      y += height;
    }
  });
  rows.height = y;
  for (const row of rows.list) {
    row.element.style.top = `${row.y}px`;
    row.element.style.height = `${row.height}px`;
  }
  labels.style.height = `${y}px`;
  labels.replaceChildren(...rows.list.map((row) => row.element));
  if (focused?.group !== undefined) labels.querySelector(`[data-group="${focused.group}"]`)?.focus();
  if (focused?.track !== undefined) labels.querySelector(`[data-track="${focused.track}"]`)?.focus();
  tell('layout');
  changed();
}

function fold(g) {
  if (!state.folded.delete(g)) state.folded.add(g);
  layout();
}

function tall(t) {
  if (!state.tall.delete(t)) state.tall.add(t);
  layout();
}

const rowOfTrack = (track) => rows.list.find((row) => row.track === track);
export const rowAt = (y) => rows.list.find((row) => y >= row.y && y < row.y + row.height);

// Makes a track visible: unfolds what hides it and scrolls there.
export function reveal(track) {
  let isNew = false;
  for (let g = state.meta.tracks[track].group; g !== undefined; g = state.meta.groups[g].parent) isNew = state.folded.delete(g) || isNew;
  if (isNew) layout();
  const row = rowOfTrack(track);
  const box = byId('rows');
  if (row && (row.y < box.scrollTop || row.y + row.height > box.scrollTop + box.clientHeight)) box.scrollTop = row.y - box.clientHeight / 3;
}

// How busy the row is in the window; said now and then, not in every frame.
export function showShare(row, text) {
  setText(row.element.lastElementChild, text);
}
