// Converts slices to buckets by the rules of timeline_pyramid.c. A row with buckets in one part of the window is drawn as
// buckets everywhere, else the other parts would look busier or less busy than they are.

import { FORM_BUCKETS } from './tiles.js';

const BUCKET_BYTES = 16;
const WAIT_VOTE = 1024; // waiting counts this much less than work in a bucket

// Finds the majority in one pass (Boyer and Moore).
function vote(at, what, weight, votes, whats) {
  if (whats[at] === what) votes[at] += weight;
  else if (votes[at] < weight) {
    votes[at] = weight - votes[at];
    whats[at] = what;
  } else votes[at] -= weight;
}

// A value over time is shown as the slice that made it the largest, the last of several.
function largest(at, what, value, votes, whats) {
  if (value < votes[at]) return;
  votes[at] = value;
  whats[at] = what;
}

// The buckets of a tile from a section with slices, with their tensors if slices have them. row: { isValue, sums }: a value over
// time; whether values of slices are summed over their 'time' or at their 'start'.
export function bucketsOf(found, row, level, tile, buckets) {
  const made = fill(found, row, level, tile, buckets);
  if (found.tensors) {
    const about = fill({ ...found, halves: null }, row, level, tile, buckets);
    const numbers = new Map(Array.from({ length: about.count }, (_, i) => [about.halves[i * 8], about.halves[i * 8 + 1]]));
    made.tensors = Uint16Array.from({ length: made.count }, (_, i) => numbers.get(made.halves[i * 8]) ?? 0);
  }
  return made;
}

// halves null: the kind of slices is the tensor.
function fill(found, row, level, tile, buckets) {
  const width = 2 ** level;
  const begin = tile * buckets * width;
  const end = begin + buckets * width;
  const { times, words, halves, octets } = found;
  const counts = new Uint32Array(buckets);
  const whats = new Uint16Array(buckets);
  const [busy, votes, sums] = [0, 0, 0].map(() => new Float64Array(buckets));
  let busyUntil = -Infinity;

  const each = (from, until, call) => {
    let at = Math.max(from, begin);
    for (let b = Math.floor((at - begin) / width); b < buckets && at < until; b++) {
      const next = Math.min(until, begin + (b + 1) * width);
      call(b, next - at);
      at = next;
    }
  };
  for (let i = 0; i < found.count; i++) {
    const from = times[i * 4];
    const until = times[i * 4 + 1];
    if (from >= end) break;
    if (until <= begin && from < begin) continue;
    const value = words[i * 8 + 5];
    const what = halves ? halves[i * 16 + 12] : found.tensors[i];
    const isWait = octets[i * 32 + 27] === 1;
    if (row.sums === 'time' && until > from) each(from, until, (b, ps) => { sums[b] += (ps * value) / (until - from); });
    each(Math.max(from, busyUntil), until, (b, ps) => {
      if (row.isValue) {
        busy[b] += ps * value;
        largest(b, what, Math.fround(value), votes, whats);
      } else if (isWait) vote(b, what, ps / WAIT_VOTE, votes, whats);
      else {
        busy[b] += ps;
        vote(b, what, ps, votes, whats);
      }
    });
    if (!isWait) busyUntil = Math.max(busyUntil, until);
    if (from < begin) continue;
    const b = Math.floor((from - begin) / width);
    if (row.sums === 'start' || (row.sums === 'time' && until <= from)) sums[b] += value;
    if (counts[b] === 0 && votes[b] === 0) whats[b] = what; // instants in a bucket without other slices
    counts[b]++;
    if (row.isValue) largest(b, what, Math.fround(value), votes, whats);
  }
  return packed({ counts, whats, busy, votes, sums }, row, width);
}

// As in a tile: empty buckets are omitted.
function packed({ counts, whats, busy, votes, sums }, row, width) {
  const list = [];
  for (let b = 0; b < counts.length; b++) if (counts[b] || votes[b] || busy[b]) list.push(b);
  const buffer = new ArrayBuffer(list.length * BUCKET_BYTES);
  const halves = new Uint16Array(buffer);
  const words = new Uint32Array(buffer);
  const floats = new Float32Array(buffer);
  list.forEach((b, i) => {
    halves[i * 8] = b;
    halves[i * 8 + 1] = whats[b];
    words[i * 4 + 1] = counts[b];
    floats[i * 4 + 2] = busy[b] / width;
    floats[i * 4 + 3] = row.isValue ? votes[b] : sums[b];
  });
  return { form: FORM_BUCKETS, count: list.length, bytes: buffer.byteLength, halves, words, floats };
}
