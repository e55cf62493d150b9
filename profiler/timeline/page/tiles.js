// Tiles: the loaded ones, requests in progress, and the choice of tiles for a part of a row.

const MAGIC = 0x544c544e;
const HEAD = 24;
const SECTION = 16;
const BUCKET = 16;
const SLICE = 32;
export const FORM_BUCKETS = 1;
export const FORM_SLICES = 2;

const ASKED_AT_ONCE = 4;
const AGAIN_MS = 2000; // after a failure
const BYTES_MAX = 192 * 1024 * 1024;
const DERIVED_MAX = 64; // of one section

// One track of a tile; fields are views into the answer, with a stride between entries.
export function section(buffer, at, form, count) {
  if (form === FORM_SLICES) {
    return {
      form, count, bytes: count * SLICE,
      times: new Float64Array(buffer, at, count * 4), // start, end at 4 i
      words: new Uint32Array(buffer, at, count * 8),  // slice, value at 8 i + 4
      halves: new Uint16Array(buffer, at, count * 16), // what at 16 i + 12
      octets: new Uint8Array(buffer, at, count * SLICE), // lane, is it waiting at 32 i + 26
    };
  }
  return {
    form, count, bytes: count * BUCKET,
    halves: new Uint16Array(buffer, at, count * 8), // index, what at 8 i
    words: new Uint32Array(buffer, at, count * 4),  // count at 4 i + 1
    floats: new Float32Array(buffer, at, count * 4), // mean, extra at 4 i + 2
  };
}

// Map from track to section.
export function decode(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < HEAD || view.getUint32(0, true) !== MAGIC || view.getUint16(4, true) !== 1) throw new Error('not a version 1 tile');
  const tracks = new Map();
  let at = HEAD;
  for (let left = view.getUint32(16, true); left > 0; left--) {
    const form = view.getUint32(at + 4, true);
    const count = view.getUint32(at + 8, true);
    tracks.set(view.getUint32(at, true), section(buffer, at + SECTION, form, count));
    at += SECTION + count * (form === FORM_SLICES ? SLICE : BUCKET);
  }
  return tracks;
}

export class Tiles {
  constructor(source, meta, arrived, failed) {
    Object.assign(this, { source, meta, arrived, failed });
    this.tracks = meta.tracks.map(() => new Map());
    this.onTheWay = new Set();
    this.flying = 0;
    this.queue = new Map();
    this.bytes = 0;
    this.frame = 0;
    this.quietUntil = 0; // after a failure
    this.hasTensors = false; // entries include the number of their tensor
  }

  // Switches between entries with and without tensors.
  setTensors(has) {
    this.hasTensors = has;
    this.tracks.forEach((map) => map.clear());
    this.bytes = 0;
  }

  key(level, tile) { return tile * 64 + level; }

  width(level) { return this.meta.tile_buckets * 2 ** level; }

  // The best loaded tile for a place: the tile itself, or a coarser one. Slices are exact at any zoom.
  find(track, level, tile) {
    for (let up = level; up <= this.meta.level_top; up++) {
      const found = this.tracks[track].get(this.key(up, Math.floor(tile / 2 ** (up - level))));
      if (found) {
        found.seen = this.frame;
        return found;
      }
    }
    return null;
  }

  // Whether nothing better than the result of find() exists.
  isBest(found, level) { return found && (found.level === level || found.form === FORM_SLICES); }

  want(track, level, tile) {
    const key = this.key(level, tile);
    if (this.onTheWay.has(track * 2 ** 48 + key)) return;
    let entry = this.queue.get(key);
    if (!entry) this.queue.set(key, entry = { level, tile, tracks: [] });
    entry.tracks.push(track);
  }

  // Once per frame: requests what find() lacked. Drops requests that are no longer needed.
  flush() {
    for (const { level, tile, tracks } of this.queue.values()) {
      if (this.flying >= ASKED_AT_ONCE || performance.now() < this.quietUntil) break;
      this.fetch(level, tile, tracks.sort((a, b) => a - b));
    }
    this.queue.clear();
    this.frame++;
    if (this.bytes > BYTES_MAX) this.evict();
  }

  async fetch(level, tile, tracks) {
    const key = this.key(level, tile);
    const names = tracks.map((track) => track * 2 ** 48 + key);
    names.forEach((name) => this.onTheWay.add(name));
    this.flying++;
    const { hasTensors } = this;
    try {
      const decoded = decode(await this.source.tiles(level, tile, tracks));
      if (hasTensors) await this.addTensors(decoded, level, tile);
      for (const [track, found] of hasTensors === this.hasTensors ? decoded : []) {
        this.tracks[track].set(key, Object.assign(found, { level, tile, seen: this.frame, bitmap: null }));
        this.bytes += found.bytes + 64;
      }
      this.quietUntil = 0;
    } catch (error) {
      this.quietUntil = performance.now() + AGAIN_MS;
      setTimeout(this.arrived, AGAIN_MS);
      this.failed(error);
    }
    this.flying--;
    names.forEach((name) => this.onTheWay.delete(name));
    if (!this.quietUntil) this.arrived();
  }

  async addTensors(decoded, level, tile) {
    const tracks = [...decoded.keys()].filter((track) => ['engine', 'queue'].includes(this.meta.tracks[track].kind));
    if (!tracks.length) return;
    for (const [track, { form, count, halves }] of decode(await this.source.tensorTiles(level, tile, tracks))) {
      const found = decoded.get(track);
      const isSlices = form === FORM_SLICES;
      const numbers = new Map(); // buckets with the same index are merged
      for (let i = 0; i < count; i++) numbers.set(isSlices ? i : halves[i * 8], isSlices ? halves[i * 16 + 12] : halves[i * 8 + 1]);
      found.tensors = Uint16Array.from({ length: found.count }, (_, i) => numbers.get(found.form === FORM_SLICES ? i : found.halves[i * 8]) ?? 0);
    }
  }

  get isIdle() { return this.flying === 0; }

  // Drops tiles that were not visible for long; keeps the top, so that there is always something to show.
  evict() {
    const all = [];
    this.tracks.forEach((map) => map.forEach((found, key) => found.level < this.meta.level_top && all.push([found.seen, map, key, found.bytes])));
    all.sort((a, b) => a[0] - b[0]);
    for (const [, map, key, bytes] of all.slice(0, Math.ceil(all.length / 2))) {
      map.delete(key);
      this.bytes -= bytes + 64;
    }
  }

  // Converts a section with slices to a tile of buckets, once.
  derived(found, level, tile, make) {
    found.derived ??= new Map();
    const key = this.key(level, tile);
    if (!found.derived.has(key)) {
      if (found.derived.size >= DERIVED_MAX) found.derived.clear();
      found.derived.set(key, Object.assign(make(found), { level, tile, bitmap: null }));
    }
    return found.derived.get(key);
  }

  repaint() {
    this.tracks.forEach((map) => map.forEach((found) => {
      found.bitmap = null;
      found.derived = null;
    }));
  }
}
