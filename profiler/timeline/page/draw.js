// Draws the rows. Buckets of a tile are painted once into a bitmap and then only stretched; slices are rectangles. So the
// cost of a frame depends on the screen, not on the capture.

import { bucketsOf } from './buckets.js';
import { byId } from './dom.js';
import { entriesOf, OTHER, palette, tensorKey, theme, waitKey } from './colours.js';
import { bytes, count as countText, percent, whole } from './format.js';
import { padOf, rowOfTrack, rows, showShare } from './rows.js';
import { ownWindow } from './runs.js';
import { ticks } from './time.js';
import { changed, state, to, xOf } from './state.js';
import { FORM_SLICES } from './tiles.js';

const FONT = '11px system-ui, "DejaVu Sans", sans-serif';
const LABELS_MAX = 500; // maximum number of texts per frame
const SHARE_MS = 250;
const PAINT_MS = 6; // maximum time per frame; further bitmaps wait for the next one

let canvas;
let context;
let ratio = 1;
let height = 1;
let colours = [];
let entries = new Map(); // entries of the legend in the chosen mode
let pixels = new Map(); // number of pixels of each entry in this frame, for the legend
let look = {};
let labelsLeft = 0;
let sharesAt = 0;
let shareTimer = 0;
let paintUntil = 0;
const widths = new Map();

export const drawn = { hit: null, incomplete: false, slices: 0, bitmaps: 0 };

export function start() {
  canvas = byId('canvas');
  context = canvas.getContext('2d', { alpha: false });
}

export function restyle() {
  look = theme();
  const isDark = document.documentElement.dataset.theme === 'dark';
  colours = palette(state.meta.whats, isDark);
  entries = entriesOf(state.colour, isDark, state.tensors);
  state.tiles.repaint();
}

// The current meaning of colours: the entries of the mode, or the operations, by descending number
// of pixels.
export function legend() {
  const name = (key) => entries.get(key) ?? { name: state.meta.whats[key].name, ...colours[key] };
  const isMode = state.colour === 'engine' || state.colour === 'wait' || state.colour === 'tensor';
  return [...pixels].filter(([key]) => entries.has(key) || (!isMode && !['region', 'semaphore', 'counter'].includes(state.meta.whats[key].family))).sort((a, b) => b[1] - a[1]).map(([key, count]) => ({ ...name(key), count }));
}

export const colourOf = (what) => colours[what];

export function resize() {
  const box = byId('rows');
  ratio = window.devicePixelRatio || 1;
  state.width = Math.max(50, box.clientWidth - byId('labels').offsetWidth);
  height = Math.max(50, box.clientHeight);
  canvas.width = Math.round(state.width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${state.width}px`;
  canvas.style.height = `${height}px`;
  state.tiles.repaint();
}

// Returns true for rows that show a value over time.
export const isValueTrack = (track) => track.kind === 'semaphore' || track.kind === 'counter';

const VALUES = {
  KiB: (value) => bytes(value * 1024),
  B: bytes,
  'B/s': (value) => `${countText(value)}B/s`,
  '%': percent,
  transfers: (value) => `${whole(value)} transfer${value === 1 ? '' : 's'}`,
};

// A value as in tiles: whole numbers in the row's scale.
export function valueText(track, value) {
  const write = VALUES[track.unit] ?? String;
  return write(value * (track.scale ?? 1));
}

// ---- colours of a row -----------------------------------------------------------------------------------

// By mode and row: key(what, waited, worked, tensor) is the key of an entry, or an operation number.
export function keysOf(track) {
  const { kind } = track;
  if (state.colour === 'engine' && (kind === 'engine' || kind === 'queue')) {
    const own = kind === 'queue' ? 'DMA' : track.name;
    return (what) => (colours[what].isQuiet || !entries.has(own) ? OTHER : own);
  }
  if (state.colour === 'wait' && kind === 'engine') return (what, waited, worked) => waitKey(waited, worked);
  if (state.colour === 'wait' && kind === 'queue') return () => OTHER;
  if (state.colour === 'tensor' && (kind === 'engine' || kind === 'queue')) return (what, waited, worked, tensor) => tensorKey(tensor ?? 0);
  return (what) => what;
}

export const colourFor = (key) => entries.get(key) ?? colours[key];
const seen = (key, count) => pixels.set(key, (pixels.get(key) ?? 0) + count);

// Length in ps of a cycle of an instruction's wait.
export function cycleOf(track) {
  const { mhz } = state.meta.sources[state.meta.groups[track.group].source] ?? {};
  return mhz ? 1e6 / mhz : 0;
}

// ---- texts ----------------------------------------------------------------------------------------

function widthOf(text) {
  let width = widths.get(text);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(text, width = context.measureText(text).width);
  }
  return width;
}

// Returns as much of the text as fits, or nothing.
function fit(text, room) {
  if (widthOf(text) <= room) return text;
  const count = Math.floor((room / widthOf(text)) * text.length) - 1;
  return count >= 2 ? `${text.slice(0, count)}…` : '';
}

function label(text, x, y, room, colour) {
  if (labelsLeft <= 0 || room < 18) return;
  const shown = fit(text, room);
  if (!shown) return;
  labelsLeft--;
  context.fillStyle = colour;
  context.fillText(shown, x, y);
}

// ---- buckets ----------------------------------------------------------------------------------------

function paintColumn(words, width, rowsHigh, x, high, word) {
  const top = rowsHigh - high;
  for (let y = top; y < rowsHigh; y++) words[y * width + x] = word;
}

const mix = (word, alpha) => ((word & 0xffffff) | (alpha << 24)) >>> 0;

// One pixel per bucket, in the dominant colour; the height is the busy share.
function paint(tile, track, rowsHigh) {
  const width = state.meta.tile_buckets;
  const bitmap = new OffscreenCanvas(width, rowsHigh);
  const context2d = bitmap.getContext('2d');
  const image = context2d.createImageData(width, rowsHigh);
  const words = new Uint32Array(image.data.buffer);
  const isValue = isValueTrack(track);
  const keyOf = keysOf(track);
  const cycle = cycleOf(track);
  const bucket = 2 ** tile.level;
  const { halves, floats } = tile;
  const shown = new Set();
  tile.keys = new Map(); // number of buckets by key
  for (let i = 0; i < tile.count; i++) {
    const x = halves[i * 8];
    const key = keyOf(halves[i * 8 + 1], isValue ? 0 : floats[i * 4 + 3] * cycle, floats[i * 4 + 2] * bucket, tile.tensors?.[i]);
    const { word } = colourFor(key);
    shown.add(halves[i * 8 + 1]);
    tile.keys.set(key, (tile.keys.get(key) ?? 0) + 1);
    if (isValue) {
      const scale = rowsHigh / Math.max(1, track.max);
      paintColumn(words, width, rowsHigh, x, Math.max(1, Math.round(floats[i * 4 + 3] * scale)), mix(word, 110));
      paintColumn(words, width, rowsHigh, x, Math.max(1, Math.round(floats[i * 4 + 2] * scale)), word);
    } else {
      paintColumn(words, width, rowsHigh, x, rowsHigh, mix(word, 46));
      paintColumn(words, width, rowsHigh, x, Math.max(1, Math.round(Math.min(1, floats[i * 4 + 2]) * rowsHigh)), word);
    }
  }
  context2d.putImageData(image, 0, 0);
  tile.shown = [...shown];
  return bitmap;
}

function drawBuckets(tile, row, track, y, from, until) {
  const high = Math.round((row.height - 2 * padOf(row)) * ratio);
  if (tile.bitmap?.height !== high) {
    if (performance.now() > paintUntil) {
      drawn.incomplete = true;
      changed();
      return;
    }
    tile.bitmap = paint(tile, track, high);
  }
  const width = state.tiles.width(tile.level);
  const begin = tile.tile * width;
  const first = Math.max(0, Math.floor(((from - begin) / width) * state.meta.tile_buckets));
  const last = Math.min(state.meta.tile_buckets, Math.ceil(((until - begin) / width) * state.meta.tile_buckets));
  if (last <= first) return;
  const bucket = width / state.meta.tile_buckets;
  const x0 = xOf(begin + first * bucket);
  const x1 = xOf(begin + last * bucket);
  const isDim = state.hits && !tile.shown.some((what) => state.hits.isHit(what, row.track));
  if (isDim) context.globalAlpha = 0.25;
  context.drawImage(tile.bitmap, first, 0, last - first, high, x0, y + padOf(row), x1 - x0, row.height - 2 * padOf(row));
  if (isDim) context.globalAlpha = 1;
  tile.keys.forEach((count, key) => seen(key, (count / state.meta.tile_buckets) * ((x1 - x0) / (last - first)) * state.meta.tile_buckets));
  drawn.bitmaps++;
}

// Share of the window from buckets: sum of mean * width, in ps.
function busyOfBuckets(tile, from, until) {
  const width = 2 ** tile.level;
  const begin = tile.tile * state.tiles.width(tile.level);
  let sum = 0;
  for (let i = 0; i < tile.count; i++) {
    const at = begin + tile.halves[i * 8] * width;
    if (at + width > from && at < until) sum += tile.floats[i * 4 + 2] * Math.min(width, until - at, at + width - from);
  }
  return sum;
}

// ---- slices -----------------------------------------------------------------------------------------

// The first slice that may overlap the time; slices are in order of start, and lanes overlap little.
function drawSlices(tile, row, track, y, from, until) {
  const { times, halves, octets, words } = tile;
  const laneHigh = (row.height - 2 * padOf(row)) / track.lanes;
  const gap = laneHigh > 8 ? 1 : 0;
  const rights = new Float64Array(track.lanes).fill(-1);
  const hasText = laneHigh >= 12;
  const { pointer } = state;
  const keyOf = keysOf(track);
  const cycle = cycleOf(track);
  let busy = 0;
  let busyUntil = from;
  let last = null;
  for (let i = 0; i < tile.count; i++) {
    const start = times[i * 4];
    const end = times[i * 4 + 1];
    if (start >= until) break;
    if (end < from) continue;
    const lane = octets[i * 32 + 26];
    const left = Math.max(busyUntil, start); // overlaps count once
    const right = Math.min(end, until);
    if (right > left && !octets[i * 32 + 27]) {
      busy += right - left;
      busyUntil = right;
    }
    let x0 = (start - state.from) / state.scale;
    let x1 = (end - state.from) / state.scale;
    if (x1 < rights[lane] + 0.5 && x1 - x0 < 1) continue; // too small to see
    x0 = Math.max(x0, -2);
    x1 = Math.max(Math.min(x1, state.width + 2), x0 + 1);
    rights[lane] = x1;
    const what = halves[i * 16 + 12];
    const key = keyOf(what, words[i * 8 + 5] * cycle, octets[i * 32 + 27] ? 0 : end - start, tile.tensors?.[i]);
    const colour = colourFor(key);
    seen(key, x1 - x0);
    if (key !== last) {
      context.fillStyle = colour.css;
      last = key;
    }
    const top = y + padOf(row) + lane * laneHigh;
    const isDim = state.hits && !state.hits.isHit(what, row.track, words[i * 8 + 4]);
    if (isDim) context.globalAlpha = 0.25;
    context.fillRect(x0, top, x1 - x0 > 3 ? x1 - x0 - 0.6 : x1 - x0, laneHigh - gap);
    if (track.kind === 'region' && x1 - x0 > 3) { // times of one region overlap: show where each starts
      context.fillStyle = look.card;
      context.fillRect(x0, top, 1, laneHigh - gap);
      last = null;
    }
    drawn.slices++;
    if (hasText && x1 - x0 > 26) {
      label(state.meta.whats[what].name, Math.max(x0, 0) + 5, top + laneHigh / 2 - gap / 2, x1 - Math.max(x0, 0) - 9, colour.text);
      last = null;
    }
    if (isDim) context.globalAlpha = 1;
    if (pointer && pointer.row === row && pointer.x >= x0 - 1 && pointer.x < x1 + 1 && pointer.y >= top && pointer.y < top + laneHigh) {
      drawn.hit = { track: row.track, slice: words[i * 8 + 4], value: words[i * 8 + 5], what, lane, start, end };
    }
  }
  return busy;
}

// Draws the largest value of the row in its corner.
function scaleText(row, track, y) {
  if (!track.help || row.height < 24) return;
  cornerText(valueText(track, track.max), row, y);
}

function cornerText(text, row, y) {
  context.fillStyle = look.card;
  context.globalAlpha = 0.75;
  context.fillRect(2, y + padOf(row), widthOf(text) + 6, 13);
  context.globalAlpha = 1;
  context.fillStyle = look.soft;
  context.fillText(text, 5, y + padOf(row) + 7);
}

// Draws a value over time as steps.
function drawSteps(tile, row, track, y, from, until) {
  const { times, words, halves } = tile;
  const high = row.height - 2 * padOf(row);
  const { pointer } = state;
  for (let i = 0; i < tile.count; i++) {
    const start = times[i * 4];
    const end = times[i * 4 + 1];
    if (start >= until) break;
    if (end < from) continue;
    const x0 = Math.max(xOf(start), -2);
    const x1 = Math.max(Math.min(xOf(end), state.width + 2), x0 + 1);
    const value = words[i * 8 + 5];
    const what = halves[i * 16 + 12];
    const tall = Math.max(1, (value / Math.max(1, track.max)) * high);
    context.fillStyle = value ? colours[what].css : look.line;
    context.fillRect(x0, y + padOf(row) + high - tall, x1 - x0, tall);
    drawn.slices++;
    if (!track.help && x1 - x0 > 26 && high >= 12) label(valueText(track, value), Math.max(x0, 0) + 4, y + padOf(row) + high / 2, x1 - x0 - 6, tall > high * 0.6 ? colours[what].text : look.ink);
    if (pointer && pointer.row === row && pointer.x >= x0 && pointer.x < x1) {
      drawn.hit = { track: row.track, slice: words[i * 8 + 4], value, what, lane: 0, start, end };
    }
  }
}

// ---- rows -------------------------------------------------------------------------------------------

function levelNow() {
  return Math.min(state.meta.level_top, Math.max(0, Math.ceil(Math.log2(state.scale / ratio))));
}

// The best loaded tiles of a row in the window; requests better ones.
function tilesOf(track) {
  const level = levelNow();
  const width = state.tiles.width(level);
  const first = Math.max(0, Math.floor(state.from / width));
  const last = Math.min(Math.floor(state.meta.span / width), Math.floor(to() / width));
  const found = [];
  found.isBest = true;
  for (let tile = first; tile <= last; tile++) {
    const here = state.tiles.find(track, level, tile);
    if (!state.tiles.isBest(here, level)) {
      state.tiles.want(track, level, tile);
      drawn.incomplete = true;
      found.isBest = false;
    }
    const from = Math.max(state.from, tile * width);
    const until = Math.min(to(), (tile + 1) * width);
    const before = found[found.length - 1];
    if (before && before.here === here) before.until = until;
    else if (here) found.push({ here, from, until });
  }
  return found;
}

function drawRate(row, track, y, parts) {
  const high = row.height - 2 * padOf(row);
  let most = 0;
  for (const { here } of parts) for (let i = 0; i < here.count; i++) most = Math.max(most, here.floats[i * 4 + 2]);
  if (most === 0) return;
  let shown = null;
  context.fillStyle = look.rate;
  context.beginPath();
  for (const { here, from, until } of parts) {
    const bucket = 2 ** here.level;
    const begin = here.tile * state.tiles.width(here.level);
    for (let i = 0; i < here.count; i++) {
      const at = begin + here.halves[i * 8] * bucket;
      if (at + bucket < from || at > until) continue;
      const x = xOf(at);
      const tall = (here.floats[i * 4 + 2] / most) * high;
      context.rect(x, y + padOf(row) + high - tall, Math.max(1, bucket / state.scale + 0.3), tall);
      if (state.pointer?.row === row && state.pointer.time >= at && state.pointer.time < at + bucket) shown = here.floats[i * 4 + 2];
    }
  }
  context.fill();
  cornerText(`${countText(most)}B/s`, row, y);
  if (state.pointer?.row === row) drawn.hit = { track: row.track, rate: shown ?? 0, from: state.pointer.time };
}

const SUMS = { queue: 'time', engine: 'start' }; // how to sum values of slices

// If one part of the row has buckets and another slices, converts slices to buckets, tile by tile.
function alike(parts, track) {
  if (parts.every(({ here }) => here.form === FORM_SLICES) || !parts.some(({ here }) => here.form === FORM_SLICES)) return parts;
  const level = levelNow();
  const width = state.tiles.width(level);
  const same = [];
  same.isBest = parts.isBest;
  for (const part of parts) {
    if (part.here.form !== FORM_SLICES) {
      same.push(part);
      continue;
    }
    for (let tile = Math.floor(part.from / width); tile * width < part.until; tile++) {
      same.push({ here: state.tiles.derived(part.here, level, tile, (found) => bucketsOf(found, { isValue: isValueTrack(track), sums: SUMS[track.kind] }, level, tile, state.meta.tile_buckets)),
        from: Math.max(part.from, tile * width), until: Math.min(part.until, (tile + 1) * width) });
    }
  }
  return same;
}

function drawTrack(row, y, wantsShare) {
  const track = state.meta.tracks[row.track];
  const parts = alike(tilesOf(row.track), track);
  let busy = 0;
  if (track.kind === 'rate') {
    drawRate(row, track, y, parts);
    return;
  }
  for (const { here, from, until } of parts) {
    if (here.form === FORM_SLICES) {
      if (isValueTrack(track)) drawSteps(here, row, track, y, from, until);
      else busy += drawSlices(here, row, track, y, from, until);
    } else {
      drawBuckets(here, row, track, y, from, until);
      if (wantsShare) busy += busyOfBuckets(here, from, until);
      if (state.pointer?.row === row && state.pointer.time >= from && state.pointer.time < until) bucketHit(here, row);
    }
  }
  if (isValueTrack(track)) scaleText(row, track, y);
  if (wantsShare && parts.isBest && !isValueTrack(track) && track.kind !== 'rank') {
    const window = ownWindow(track, state.from, Math.min(to(), state.meta.span));
    showShare(row, window > 0 ? `${((busy / window) * 100).toFixed(busy / window < 0.0995 ? 1 : 0)}%` : '');
  }
}

function bucketHit(tile, row) {
  const bucket = 2 ** tile.level;
  const index = Math.floor((state.pointer.time - tile.tile * state.tiles.width(tile.level)) / bucket);
  for (let i = 0; i < tile.count; i++) {
    if (tile.halves[i * 8] === index) {
      drawn.hit = { track: row.track, bucket: { count: tile.words[i * 4 + 1], mean: tile.floats[i * 4 + 2], extra: tile.floats[i * 4 + 3] },
        what: tile.halves[i * 8 + 1], start: tile.tile * state.tiles.width(tile.level) + index * bucket, end: tile.tile * state.tiles.width(tile.level) + (index + 1) * bucket };
      return;
    }
  }
}

// The position of a slice on the screen; null if its row is hidden.
export function boxOf({ track, lane, start, end }) {
  const row = rowOfTrack(track);
  if (!row) return null;
  const { lanes } = state.meta.tracks[track];
  const high = (row.height - 2 * padOf(row)) / lanes;
  const x0 = xOf(start);
  return { x: x0, y: row.y - byId('rows').scrollTop + padOf(row) + (lane ?? 0) * high, width: Math.max(1.5, xOf(end) - x0), height: high };
}

// The row of a track on the screen; null if hidden.
export function rowBox(track) {
  const row = rowOfTrack(track);
  return row ? { y: row.y - byId('rows').scrollTop, height: row.height } : null;
}

function outline(slice, colour, width) {
  const box = boxOf(slice);
  if (!box || box.x > state.width || box.x + box.width < 0) return;
  const x0 = Math.max(box.x, -5);
  const x1 = Math.min(box.x + box.width, state.width + 5);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(x0, box.y, x1 - x0, box.height);
}

// ---- the whole frame --------------------------------------------------------------------------------------

const over = []; // drawn above the rows by other modules: (context, look, height) => void
export const drawOver = (call) => over.push(call);

function grid() {
  const { begin } = state.meta;
  context.fillStyle = look.grid;
  for (const tick of ticks(state.from + begin, to() + begin, state.width, 110).list) context.fillRect(Math.round(xOf(tick - begin)), 0, 1, height);
}

export function frame(now) {
  const { scrollTop } = byId('rows');
  const wantsShare = now - sharesAt > SHARE_MS;
  clearTimeout(shareTimer);
  if (wantsShare) sharesAt = now;
  else shareTimer = setTimeout(changed, SHARE_MS); // repeat for the last frame of a movement
  paintUntil = performance.now() + PAINT_MS;
  Object.assign(drawn, { hit: null, incomplete: false, slices: 0, bitmaps: 0 });
  labelsLeft = LABELS_MAX;
  pixels = new Map();
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  context.font = FONT;
  context.textBaseline = 'middle';
  context.fillStyle = look.card;
  context.fillRect(0, 0, state.width, height);
  grid();
  for (const row of rows.list) {
    const y = row.y - scrollTop;
    if (y + row.height < 0 || y > height) continue;
    if (row.group !== undefined) {
      context.fillStyle = look.band;
      context.fillRect(0, y, state.width, row.height);
    } else {
      drawTrack(row, y, wantsShare);
    }
    context.fillStyle = look.line;
    context.fillRect(0, y + row.height - 1, state.width, 1);
  }
  if (state.pointer) state.pointer.hit = drawn.hit;
  if (drawn.hit?.slice !== undefined) outline(drawn.hit, look.ink, 1);
  if (state.selected) outline(state.selected, look.pick, 2);
  for (const call of over) call(context, look, height);
  state.tiles.flush();
  if (wantsShare && drawn.incomplete) sharesAt = 0; // repeat when more is loaded
  if (!drawn.incomplete && !performance.getEntriesByName('first-picture').length) performance.mark('first-picture');
  document.documentElement.dataset.state = drawn.incomplete ? 'loading' : 'complete';
}

