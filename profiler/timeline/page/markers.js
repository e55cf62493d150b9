// Marked moments: they snap to ends of slices; the table shows the times between them.

import { make } from './dom.js';
import { setRange } from './input.js';
import { addTab, refresh, showTab, table } from './panel.js';
import { duration, exact } from './time.js';
import { changed, on, show, state, tell, xOf } from './state.js';

const NEAR = 8; // distance in pixels

function snap(time) {
  const hit = state.pointer?.hit;
  if (hit?.start === undefined) return time;
  const ends = [hit.start, hit.end].filter((end) => Math.abs(xOf(end) - xOf(time)) <= NEAR);
  return ends.length ? ends.sort((a, b) => Math.abs(a - time) - Math.abs(b - time))[0] : time;
}

function toggle(time) {
  const at = state.markers.findIndex((marker) => Math.abs(xOf(marker) - xOf(time)) <= NEAR);
  if (at >= 0) state.markers.splice(at, 1);
  else state.markers.push(Math.round(snap(time)));
  state.markers.sort((a, b) => a - b);
  showTab('markers');
  tell('view');
  changed();
}

function render(box) {
  if (!state.markers.length) {
    box.append(make('p', { class: 'soft' }, 'Press m or right-click to set a marker; do it again to remove the marker.'));
    return;
  }
  box.append(table([['Marker'], ['Time'], ['Since previous marker'], ['Statistics']], state.markers.map((marker, i) => ({
    onclick: () => show(marker - (state.scale * state.width) / 2, state.scale),
    cells: [String(i + 1), exact(marker + state.meta.begin), i ? duration(marker - state.markers[i - 1]) : '',
      i ? { element: make('button', { type: 'button', onclick: (event) => {
        event.stopPropagation();
        setRange(state.markers[i - 1], marker, true);
      } }, 'Show the interval') } : ''],
  }))), make('button', { type: 'button', onclick: () => {
    state.markers = [];
    refresh('markers');
    tell('view');
    changed();
  } }, 'Remove all'));
}

export function start() {
  addTab('markers', 'Markers', render);
  on('mark', toggle);
}
