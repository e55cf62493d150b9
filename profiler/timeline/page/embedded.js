// The data source of a page in a single file: the data that neuron-profile wrote into it. Replaces source.js. The file contains
// answers (JSON); all slices in one tile, unless there are too many; tiles for the other rows, from the top level down until all
// slices are included or the file would be too large; and details of slices, as far as they fit.

import { decode, FORM_SLICES, section } from './tiles.js';
import { bytes, whole } from './format.js';
import { duration } from './time.js';

const SLICE_BYTES = 32;

const HIT_BUCKETS = 512;
const HITS_MAX = 1000;
const NAMED_MAX = 8; // maximum number of rows that a text names

async function unpack(id) {
  const text = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}

const unpackJson = async (id) => JSON.parse(new TextDecoder().decode(await unpack(id)));

const made = new Map();
const once = (name, make) => made.get(name) ?? made.set(name, make()).get(name);
const answers = () => once('answers', () => unpackJson('data-answers'));
const optional = (id) => once(id, async () => (document.getElementById(id) ? unpackJson(id) : null));
const positions = () => optional('data-positions');
const tensors = () => optional('data-tensors');

// Details of a slice, { slice, flow }; null if not in the file.
async function detailsOf(track, slice) {
  const { chunk } = await extent();
  const found = await optional(`data-details-${track}-${Math.floor(slice / chunk)}`);
  return found && { slice: found.slices[slice % chunk], flow: found.flows[slice % chunk] };
}

// From "level/tile" to the bytes of a tile.
const tiles = () => once('tiles', async () => {
  const found = new Map();
  for (const element of document.querySelectorAll('[data-tile]')) found.set(element.dataset.tile, await unpack(element.id));
  return found;
});

function absent(what) {
  return new Error(`${what} is not in this file: use neuron-profile view`);
}

// The part of the timeline in the file.
const extent = () => once('extent', () => unpackJson('data-extent'));

// A short and a long text about omitted data.
async function metaWithNote() {
  const { meta } = await answers();
  const there = await extent();
  const notes = []; // elements are [short text, full text]
  if (!there.has_slices) notes.push([`no detail below ${duration(2 ** there.level)}`, `levels below ${duration(2 ** there.level)} where slices are dense, search and range statistics`]);
  else if (there.details < there.slices) notes.push([`operands and waits of ${whole(there.details)} of ${whole(there.slices)} slices`, `operands, names and waits of ${lackingRows(meta, there)}`]);
  if (there.lacks_positions) notes.push(['no source lines of individual instructions', 'the source lines of individual instructions']);
  if (there.lacks_tensors) notes.push(['no colours by tensor', 'the tensors of slices']);
  if (there.lacks_host) notes.push(['no Host tab', 'the activity of the host']);
  if (!notes.length) return meta;
  return { ...meta, note: `${notes.map(([short]) => short).join(', ')} in this file`,
    note_more: `Limited to ${bytes(there.bytes_max)}, this file omits ${notes.map(([, full]) => full).join('; ')}. Use a larger --html-size, or neuron-profile view, which shows everything.` };
}

// The rows with slices without details, and the first such slice.
function lackingRows(meta, { chunk }) {
  const found = meta.tracks.flatMap(({ name, slices: count }, t) => {
    const chunks = Math.ceil(count / chunk);
    let there = 0;
    while (there < chunks && document.getElementById(`data-details-${t}-${there}`)) there++;
    if (there === chunks) return [];
    return there ? `${name} (from slice ${whole(there * chunk)} of ${whole(count)})` : name;
  });
  const most = found.slice(0, NAMED_MAX).join(', ');
  return found.length > NAMED_MAX ? `${most} and ${found.length - NAMED_MAX} more rows` : most;
}

const wholeTile = () => once('whole', async () => (document.getElementById('data-whole') ? unpack('data-whole') : null));

// Joins the slices of adjacent tiles into one list per track; a slice that overlaps two tiles is in the first.
function strung(list, width) {
  const parts = new Map(); // by track: views of the bytes of slices
  list.forEach(({ tile, buffer }) => decode(buffer).forEach(({ form, count, times }, track) => {
    if (form !== FORM_SLICES) return;
    let first = 0;
    while (tile > 0 && first < count && times[4 * first] < tile * width) first++;
    if (!parts.has(track)) parts.set(track, []);
    parts.get(track).push(new Uint8Array(buffer, times.byteOffset + first * SLICE_BYTES, (count - first) * SLICE_BYTES));
  }));
  return new Map([...parts].map(([track, views]) => {
    const all = new Uint8Array(views.reduce((sum, view) => sum + view.length, 0));
    let at = 0;
    for (const view of views) {
      all.set(view, at);
      at += view.length;
    }
    return [track, section(all.buffer, 0, FORM_SLICES, all.length / SLICE_BYTES)];
  }));
}

// All slices by track, or null if not all are in the file.
const slices = () => once('slices', async () => {
  const tile = await wholeTile();
  if (tile) return decode(tile);
  const { has_slices: isAll, level } = await extent();
  if (!isAll) return null;
  const { meta } = await answers();
  const finest = [...await tiles()].map(([key, buffer]) => ({ level: Number(key.split('/')[0]), tile: Number(key.split('/')[1]), buffer }))
    .filter((one) => one.level === level).sort((a, b) => a.tile - b.tile);
  return strung(finest, meta.tile_buckets * 2 ** level);
});

async function allSlices(what) {
  const tracks = await slices();
  if (!tracks) throw absent(what);
  return tracks;
}

function* each(found) {
  for (let i = 0; i < found.count; i++) {
    yield {
      start: found.times[4 * i], end: found.times[4 * i + 1], slice: found.words[8 * i + 4], value: found.words[8 * i + 5],
      what: found.halves[16 * i + 12], lane: found.octets[32 * i + 26], isWait: found.octets[32 * i + 27] === 1,
    };
  }
}

// A tile of a missing level: its coarser one at the finer scale, with the same content.
function stretch(buffer, levels, tile) {
  const view = new DataView(buffer);
  const sections = [];
  let at = 24;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const form = view.getUint32(at + 4, true);
    const count = view.getUint32(at + 8, true);
    const bytes = count * (form === 2 ? 32 : 16);
    if (form === 2) {
      sections.push(buffer.slice(at, at + 16 + bytes));
    } else {
      const entries = [];
      for (let i = 0; i < count; i++) {
        const entry = at + 16 + i * 16;
        const first = view.getUint16(entry, true) * 2 ** levels - (tile % 2 ** levels) * 1024;
        for (let b = Math.max(0, first); b < Math.min(1024, first + 2 ** levels); b++) {
          const copy = new DataView(buffer.slice(entry, entry + 16));
          copy.setUint16(0, b, true);
          copy.setUint32(4, 0, true);
          entries.push(copy.buffer);
        }
      }
      const head = new DataView(buffer.slice(at, at + 16));
      head.setUint32(8, entries.length, true);
      sections.push(head.buffer, ...entries);
    }
    at += 16 + bytes;
  }
  return new Blob([buffer.slice(0, 24), ...sections]).arrayBuffer();
}

// Merges two tiles of the same place.
async function joined(a, b) {
  const head = new DataView(a.slice(0, 24));
  head.setUint32(16, new DataView(a).getUint32(16, true) + new DataView(b).getUint32(16, true), true);
  return new Blob([head.buffer, a.slice(24), b.slice(24)]).arrayBuffer();
}

async function tileOf(level, tile) {
  const { meta } = await answers();
  const all = await wholeTile();
  if (all && level === meta.level_top) {
    const rest = (await tiles()).get(`${level}/0`);
    return rest ? joined(all, rest) : all;
  }
  const found = await tiles();
  for (let up = level; up <= meta.level_top; up++) {
    const coarser = found.get(`${up}/${Math.floor(tile / 2 ** (up - level))}`);
    if (coarser) return up === level ? coarser : stretch(coarser, up - level, tile);
  }
  throw absent('This tile');
}

async function sliceOf(track, slice) {
  const full = (await detailsOf(track, slice))?.slice;
  if (full) return full;
  const { meta } = await answers();
  for (const one of each((await allSlices('The list of slices')).get(track))) {
    if (one.slice !== slice) continue;
    const { start, end, what, lane } = one;
    return {
      track, slice, start, end, what, lane, name: meta.whats[what].name,
      groups: [{ title: 'Timing', rows: [{ name: 'Start', unit: 'ps', value: start + meta.begin }, { name: 'End', unit: 'ps', value: end + meta.begin },
        { name: 'Duration', unit: 'ps', value: end - start }] },
      { title: 'More', rows: [{ name: 'Not in this file', unit: 'text', value: 'operands, names, bytes and waits of this slice, for lack of space: use a larger --html-size, or neuron-profile view' }] }],
    };
  }
  throw new Error(`track ${track} has no slice ${slice}`);
}

// Counts like the server: overlaps once, without waiting.
function statsOf(found, track, from, to) {
  const isQueue = track.kind === 'queue';
  const whats = new Map();
  let lastEnd = -Infinity;
  let busy = 0;
  let count = 0;
  let bytes = 0;
  for (const one of each(found)) {
    if (one.end < from || one.start >= to || (one.end === from && one.start < from)) continue;
    const start = Math.max(one.start, from);
    const end = Math.min(one.end, to);
    const whole = one.end - one.start;
    const moved = isQueue ? one.value * (whole > 0 ? (end - start) / whole : 1) : 0;
    const sum = whats.get(one.what) ?? { what: one.what, count: 0, sum: 0, longest: 0, bytes: 0 };
    whats.set(one.what, { what: one.what, count: sum.count + 1, sum: sum.sum + end - start, longest: Math.max(sum.longest, whole), bytes: sum.bytes + moved });
    count++;
    bytes += moved;
    if (!one.isWait && end > lastEnd) {
      busy += end - Math.max(start, lastEnd);
      lastEnd = end;
    }
  }
  const plain = ({ bytes: b, ...rest }) => (isQueue ? { ...rest, bytes: b } : rest);
  return { count, busy: to > from ? busy / (to - from) : 0, ...(isQueue ? { bytes } : {}),
    whats: [...whats.values()].sort((a, b) => a.what - b.what).map(plain) };
}

async function statsIn(from, to) {
  const { meta } = await answers();
  const found = await allSlices('The data for range statistics');
  const tracks = [];
  for (const [t, section] of found) {
    if (['semaphore', 'counter', 'rate'].includes(meta.tracks[t].kind)) continue;
    const stats = statsOf(section, meta.tracks[t], from, to);
    if (stats.count) tracks.push({ track: t, ...stats });
  }
  return { from, to, tracks };
}

const sourceLines = () => once('lines', async () => (document.getElementById('data-lines') ? unpackJson('data-lines') : null));
async function linesOf(source) {
  const all = await sourceLines();
  if (!all) throw absent('The cost of source lines');
  return all[source];
}

// By track, the slices of the instructions at a place of their program, or of a source line.
async function slicesAt({ pc, source, file, line }) {
  const { meta } = await answers();
  if (pc === undefined) {
    const known = await positions();
    if (!known) throw absent('The source line of each instruction');
    const wanted = new Set(known.places.flatMap((one, i) => (one.file === file && one.line === line ? [i + 1] : [])));
    return known.of.map((list, t) => new Set(meta.tracks[t].kind === 'engine' && meta.groups[meta.tracks[t].group].source === source
      ? list.flatMap((place, i) => (wanted.has(place) ? [i] : [])) : []));
  }
  const isThere = (one) => one?.groups.some(({ rows }) => rows.some(({ name, value }) => name === 'PC' && value === pc));
  return Promise.all(meta.tracks.map(async ({ kind, slices: count }, t) => {
    const wanted = new Set();
    for (let i = 0; kind === 'engine' && i < count; i++) {
      const found = await detailsOf(t, i);
      if (!found) throw absent('The PC of all instructions');
      if (isThere(found.slice)) wanted.add(i);
    }
    return wanted;
  }));
}

async function hitsOf(whats, from, isBack, where) {
  const { meta } = await answers();
  const wanted = new Set(whats);
  const at = where === undefined ? null : await slicesAt(where);
  const [events, repetitions] = [0, 0].map(() => new Array(HIT_BUCKETS).fill(0));
  const sum = (counts) => counts.reduce((all, n) => all + n, 0);
  const hits = [];
  for (const [track, section] of await allSlices('The search index')) {
    if (meta.tracks[track].kind === 'counter' && meta.tracks[track].help) continue; // computed, like the next ones
    const counts = meta.tracks[track].kind === 'region' ? repetitions : events; // not events of the capture
    for (const one of each(section)) {
      if (at ? !at[track].has(one.slice) : !wanted.has(one.what)) continue;
      counts[Math.min(HIT_BUCKETS - 1, Math.floor((one.start / meta.span) * HIT_BUCKETS))]++;
      if (isBack ? one.start < from : one.start >= from) hits.push({ track, slice: one.slice, start: one.start, end: one.end, what: one.what, lane: one.lane });
    }
  }
  hits.sort((a, b) => a.start - b.start || a.track - b.track || a.slice - b.slice);
  return { counts: sum(events) ? events : repetitions, total: sum(events), repetitions: sum(repetitions), hits: isBack ? hits.slice(-HITS_MAX) : hits.slice(0, HITS_MAX) };
}

// A tile with tensor numbers instead of the kinds of slices; buckets have none.
async function tensorTile(level, tile) {
  const known = await tensors();
  const buffer = (await tileOf(level, tile)).slice(0);
  for (const [track, { form, count, words, halves }] of decode(buffer)) {
    for (let i = 0; i < count; i++) {
      if (form === FORM_SLICES) halves[16 * i + 12] = known.of[track]?.[words[8 * i + 4]] ?? 0;
      else halves[8 * i + 1] = 0;
    }
  }
  return buffer;
}

async function hostOf(name) {
  const { value, absent: why } = (await optional('data-host'))[name] ?? {};
  if (value === undefined) throw new Error(why ?? `unknown analysis ${name}`);
  return value;
}

export const server = {
  meta: metaWithNote,
  tiles: tileOf,
  slice: sliceOf,
  stats: (from, to) => statsIn(Math.floor(from), Math.ceil(to)),
  hits: (whats, from, isBack, where) => hitsOf(whats, Math.floor(from), isBack, where),
  analysis: async (source, name) => {
    const { value, absent: why } = (await answers()).analyses[source][name] ?? {};
    if (value === undefined) throw new Error(why ?? `unknown analysis ${name}`);
    return value;
  },
  compare: async () => {
    const { compare } = await answers();
    if (!compare) throw absent('A comparison');
    return compare;
  },
  flows: async (track, slice) => {
    const found = (await detailsOf(track, slice))?.flow;
    if (!found) throw absent('What released a slice');
    return found;
  },
  path: async (source, from, to) => {
    const whole = (await answers()).paths[source];
    return whole && { ...whole, steps: whole.steps.filter((step) => step.end > from && step.start < to) };
  },
  flame: async (source, from, to) => {
    const { meta, flames } = await answers();
    if (from > 0 || to < meta.span) throw absent('The time by layer in a range');
    return flames[source];
  },
  flameStacks: async (source) => (await answers()).flame_stacks[source],
  lines: async (source) => (await linesOf(source)).lines,
  iterations: async (source, loop) => {
    const found = (await linesOf(source)).iterations[loop];
    if (!found) throw absent('This loop');
    return found;
  },
  sourceFile: async (source, file) => {
    const id = `data-file-${source}-${file}`;
    return document.getElementById(id) ? unpackJson(id) : null;
  },
  position: async (track, slice) => {
    const known = await positions();
    return known?.places[(known.of[track]?.[slice] ?? 0) - 1] ?? null;
  },
  summary: async (source) => (await answers()).summaries[source],
  tensors: async () => {
    const known = await tensors();
    if (!known && (await extent()).lacks_tensors) throw absent('The tensors of slices');
    return known?.tensors ?? { names: [] };
  },
  tensorTiles: tensorTile,
  ...(document.getElementById('data-host') ? { host: hostOf } : {}),
};
