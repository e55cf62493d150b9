// The rows, their heights, and their names at the left: a tree of groups and tracks. In a comparison, matching rows are shown
// together: one group per core, each row of the first capture before that of the second.

import { byId, make, setText } from './dom.js';
import { changed, state, tell } from './state.js';

const GROUP_HEIGHT = 24;
const LANE_HEIGHT = 16;
const HEIGHTS = { engine: 30, queue: 22, semaphore: 18, rate: 40, host: 24, counter: 36, value: 28, region: 22, rank: 22 };
const PAD = 3;
const RANKS_TALL = 16; // number of ranks above which their rows are smaller
const RANKS_LOW = 64;
// Padding above and below a row.
export const padOf = (row) => (row.height < 12 ? 1 : PAD);

export const rows = { list: [], height: 0 };

export const isRank = (track) => track.kind === 'rank' && track.name.startsWith('Rank');
const rankCount = () => state.meta.tracks.filter((track) => track.kind === 'rank').length - 1;

function heightOf(track, id) {
  if (state.tall.has(id)) return Math.max(60, track.lanes * LANE_HEIGHT) + 2 * PAD;
  if (track.kind === 'engine' || track.kind === 'host') return Math.max(HEIGHTS.engine, track.lanes * LANE_HEIGHT + 2 * PAD);
  if (track.kind === 'region') return Math.max(HEIGHTS.region, track.lanes * LANE_HEIGHT + 2 * PAD);
  if (track.kind === 'queue' && track.lanes > 1) return Math.min(48, Math.max(HEIGHTS.queue, track.lanes * 3 + 2 * PAD));
  if (track.kind === 'rank' && isRank(track)) return rankCount() > RANKS_LOW ? 7 : rankCount() > RANKS_TALL ? 14 : HEIGHTS.rank;
  if (track.help) return HEIGHTS.value;
  return HEIGHTS[track.kind] ?? HEIGHTS.queue;
}

// The group of the first capture that matches a group of the second.
const shownAs = new Map();
const leadOf = (g) => shownAs.get(g) ?? g;

// The enclosing groups, innermost first, without compared captures.
function* around(group) {
  for (let g = group; g !== undefined; g = state.meta.groups[g].parent) {
    if (!state.meta.compares || state.meta.groups[g].parent !== undefined) yield leadOf(g);
  }
}

const isHidden = (group) => [...around(group)].some((g) => state.folded.has(g));
const depthOf = (group) => [...around(group)].length - 1;

// Merges entries with the same name in several lists; the rest by order if isLoose.
function together(lists, nameOf, isLoose) {
  if (lists.length === 1) return lists[0].map((one) => [one]);
  const found = [];
  lists.forEach((list, side) => list.forEach((one) => {
    const free = (set) => set[side] === undefined;
    const set = found.find((other) => free(other) && nameOf(other.find((it) => it !== undefined)) === nameOf(one)) ??
      found.find((other) => free(other) && isLoose(one) && other.every((it) => it === undefined || !lists[side].some((mine) => nameOf(mine) === nameOf(it))) && isLoose(other.find((it) => it !== undefined)));
    if (set) set[side] = one;
    else found.push(Object.assign(new Array(lists.length), { [side]: one }));
  }));
  return found.map((set) => set.filter((one) => one !== undefined));
}

const plainName = (g) => state.meta.groups[g].name.replace(/, idle$/, '');
const isCore = (g) => state.meta.groups[g].name.startsWith('NeuronCore ');

// Groups in order, each with the rate first, then its tracks, then its subgroups. parents: groups shown as one.
function walk(parents, visit) {
  const { groups, tracks } = state.meta;
  const below = parents.map((parent) => groups.map((group, g) => g).filter((g) => groups[g].parent === parent));
  for (const set of together(below, plainName, isCore)) {
    set.slice(1).forEach((g) => shownAs.set(g, set[0]));
    visit({ group: set[0], set });
    const own = set.map((g) => tracks.map((track, t) => t).filter((t) => tracks[t].group === g));
    for (const t of together(own, (track) => `${tracks[track].kind} ${tracks[track].name}`, () => false).flat()) visit({ track: t });
    walk(set, visit);
  }
}

// The captures, if compared; else the single root of all groups.
const roots = () => (state.meta.compares ? state.meta.sources.map((source, s) => state.meta.groups.findIndex((group) => group.parent === undefined && group.source === s)) : [undefined]);

const sideOf = (track) => (state.meta.compares ? ['before', 'after'][state.meta.groups[track.group].source] : '');

// The place of a row, for tables with rows of several cores or captures.
export function coreOf(t) {
  const track = state.meta.tracks[t];
  const g = ['queue', 'semaphore'].includes(track.kind) ? state.meta.groups[track.group].parent ?? track.group : track.group;
  return [state.meta.groups[g].name, sideOf(track)].filter(Boolean).join(', ');
}

// All rows from top to bottom, including folded ones.
export function inOrder() {
  const order = [];
  walk(roots(), ({ track }) => track !== undefined && order.push(track));
  return order;
}

function trackTitle(track) {
  if (track.kind === 'rate') return `${track.name}: bytes per second of all queues; overlapping packets add up`;
  if (track.help) return `${track.name}${sideOf(track) && `, ${sideOf(track)}`}: ${track.help}. Click to change the height`;
  const what = { semaphore: 'changes', queue: 'packets', host: 'events', counter: 'samples', region: 'repetitions', rank: 'intervals' }[track.kind] ?? 'instructions';
  const lanes = track.kind === 'queue' ? `, DMA engines ${track.engines.join(', ')}; the queue is busy while at least one of them is busy` : '';
  return `${track.name}${sideOf(track) && `, ${sideOf(track)}`}: ${track.slices.toLocaleString('en')} ${what}${lanes}. The share refers to the visible time. Click to change the height`;
}

function groupRow(g, set) {
  const name = [...new Set(set.map((one) => state.meta.groups[one].name))].join(' → ');
  const button = make('button', {
    type: 'button', class: 'group', 'aria-expanded': String(!state.folded.has(g)), 'data-group': g,
    onclick: () => fold(g),
  }, make('span', { class: 'fold', 'aria-hidden': 'true' }), name);
  button.style.paddingLeft = `${8 + depthOf(g) * 12}px`;
  return button;
}

function trackRow(t) {
  const track = state.meta.tracks[t];
  const button = make('button', { type: 'button', class: 'track', title: trackTitle(track), 'data-track': t, onclick: () => tall(t) },
    make('span', { class: 'name' }, track.name), sideOf(track) ? make('span', { class: `side ${sideOf(track)}` }, sideOf(track)) : '', make('span', { class: 'share', 'aria-hidden': 'true' }));
  button.style.paddingLeft = `${20 + depthOf(track.group) * 12}px`;
  if (isRank(track) && rankCount() > RANKS_TALL) button.classList.add(rankCount() > RANKS_LOW && Number(track.name.slice(5)) % 4 ? 'unnamed' : 'low');
  return button;
}

export function layout() {
  const labels = byId('labels');
  const focused = document.activeElement?.dataset;
  let y = 0;
  rows.list = [];
  walk(roots(), ({ group, set, track }) => {
    if (group !== undefined) {
      const { parent } = state.meta.groups[group];
      if (parent !== undefined && isHidden(parent)) return;
      rows.list.push({ group, y, height: GROUP_HEIGHT, element: groupRow(group, set) });
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

// Rows folded initially in only one of two compared captures are not folded.
export function unfoldWork() {
  walk(roots(), ({ set }) => {
    if (set && !set.every((g) => state.folded.has(g))) set.forEach((g) => state.folded.delete(g));
  });
}

function fold(g) {
  if (!state.folded.delete(g)) state.folded.add(g);
  layout();
}

function tall(t) {
  if (!state.tall.delete(t)) state.tall.add(t);
  layout();
}

// Returns the row of a track; undefined if hidden.
export const rowOfTrack = (track) => rows.list.find((row) => row.track === track);
export const rowAt = (y) => rows.list.find((row) => y >= row.y && y < row.y + row.height);

// Makes a track visible: unfolds its groups and scrolls to it.
export function reveal(track) {
  let isNew = false;
  for (const g of around(state.meta.tracks[track].group)) isNew = state.folded.delete(g) || isNew;
  if (isNew) layout();
  const row = rowOfTrack(track);
  const box = byId('rows');
  if (row && (row.y < box.scrollTop || row.y + row.height > box.scrollTop + box.clientHeight)) box.scrollTop = row.y - box.clientHeight / 3;
}

// How busy the row is in the window; updated occasionally, not every frame.
export function showShare(row, text) {
  setText(row.element.lastElementChild, text);
}
