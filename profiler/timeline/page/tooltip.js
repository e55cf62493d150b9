// A few facts next to the pointer.

import { byId, make } from './dom.js';
import { bytes, count, percent } from './format.js';
import { duration } from './time.js';
import { isValueTrack, valueText } from './draw.js';
import { placeOf, placeTexts } from './place.js';
import { on, state } from './state.js';

function waited(cycles, track) {
  const { mhz } = state.meta.sources[state.meta.groups[track.group].source];
  return mhz ? duration((cycles * 1e6) / mhz) : `${cycles} cycles`;
}

// [title, [line ...]] for the object under the pointer.
export function describe(hit) {
  const track = state.meta.tracks[hit.track];
  if (hit.rate !== undefined) return [track.name, [`${count(hit.rate)}B/s`]];
  const what = state.meta.whats[hit.what].name;
  if (hit.bucket) {
    const { mean, extra } = hit.bucket;
    if (isValueTrack(track)) return [track.name, [`${hit.bucket.count.toLocaleString('en')} changes in ${duration(hit.end - hit.start)}`, `mean ${valueText(track, Number(mean.toFixed(2)))}, maximum ${valueText(track, extra)}`]];
    const ofLanes = track.kind === 'queue' && track.lanes > 1 ? ` (at least one of ${track.lanes} DMA engines)` : '';
    return [`mostly ${what}`, [`${track.name}, busy for ${percent(mean * 100)} of ${duration(hit.end - hit.start)}${ofLanes}`,
      `${hit.bucket.count.toLocaleString('en')} start here${track.kind === 'queue' ? `, ${bytes(extra)}` : track.kind === 'engine' && extra ? `, after waits of ${waited(extra, track)}` : ''}`]];
  }
  const lines = [`${duration(hit.end - hit.start)} at ${duration(hit.start + state.meta.begin)}`];
  if (track.kind === 'queue') lines.push(`${bytes(hit.value)} by DMA engine ${track.engines[hit.lane]}`, track.name);
  else if (isValueTrack(track)) return [`${track.name} = ${valueText(track, hit.value)}`, [`${track.kind === 'semaphore' ? `${what}, ` : ''}for ${lines[0]}`]];
  else if (track.kind === 'host') lines.push(track.name + (hit.value ? `, ${bytes(hit.value)}` : ''));
  else lines.push(track.name + (hit.value ? `, after a wait of ${waited(hit.value, track)}` : ''));
  return [what, lines];
}

export function draw() {
  const box = byId('tooltip');
  const { pointer } = state;
  if (!pointer?.hit) {
    box.hidden = true;
    return;
  }
  const [title, lines] = describe(pointer.hit);
  const place = pointer.hit.bucket || pointer.hit.rate !== undefined ? null : placeOf(pointer.hit.track, pointer.hit.slice);
  if (place) lines.push(...placeTexts(place));
  const key = JSON.stringify([title, lines]);
  if (box.dataset.key !== key) {
    box.dataset.key = key;
    box.replaceChildren(make('b', {}, title), ...lines.map((line) => make('span', {}, line)));
  }
  box.hidden = false;
  const area = byId('canvas').getBoundingClientRect();
  const { offsetWidth, offsetHeight } = box;
  const x = area.left + pointer.x + 14;
  const y = area.top + pointer.y + 18;
  box.style.left = `${x + offsetWidth > window.innerWidth - 4 ? area.left + pointer.x - offsetWidth - 10 : x}px`;
  box.style.top = `${y + offsetHeight > window.innerHeight - 4 ? area.top + pointer.y - offsetHeight - 10 : y}px`;
}

on('leave', () => { byId('tooltip').hidden = true; });
