// The state of the screen, and listeners to its changes.

export const state = {
  meta: null,
  source: null,
  tiles: null,
  from: 0,          // the window: its start in ps ...
  scale: 1,         // ... and ps per pixel
  width: 1,         // width of the rows in pixels
  pointer: null,    // { x, time, row, hit } on the rows
  selected: null,   // { track, slice, what, lane, start, end }
  range: null,      // { from, to }
  markers: [],      // [ps]
  hits: null,       // of the search
  colour: 'operation', // what colours show: MODES of colours.js
  tensors: [],      // names, if colours are by tensor
  folded: new Set(),
  tall: new Set(),
};

export const to = () => state.from + state.scale * state.width;
export const xOf = (ps) => (ps - state.from) / state.scale;
export const timeOf = (x) => state.from + x * state.scale;

const listeners = {};

export function on(event, call) {
  (listeners[event] ??= []).push(call);
}

export function tell(event, detail) {
  for (const call of listeners[event] ?? []) call(detail);
}

// ---- frames: one per screen refresh, and only when something changed --------------------------------

let draw = () => {};
let isAsked = false;
// Script time of the last frames, ms.
export const frames = { times: [], count: 0 };
const FRAMES_KEPT = 600;

export function onFrame(call) {
  draw = call;
}

export function changed() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame((now) => {
    isAsked = false;
    const start = performance.now();
    draw(now);
    frames.times[frames.count++ % FRAMES_KEPT] = performance.now() - start;
  });
}

// ---- the window --------------------------------------------------------------------------------------

const SCALE_MIN = 0.05;

export function show(from, scale) {
  const { span } = state.meta;
  const most = (span * 1.02) / state.width;
  state.scale = Math.min(Math.max(scale, SCALE_MIN), Math.max(most, SCALE_MIN));
  const seen = state.scale * state.width;
  const margin = seen * 0.01;
  state.from = seen >= span ? (span - seen) / 2 : Math.min(Math.max(from, -margin), span - seen + margin);
  tell('window');
  changed();
}

export function zoom(factor, x) {
  const time = timeOf(x);
  const scale = Math.min(Math.max(state.scale * factor, SCALE_MIN), (state.meta.span * 1.02) / state.width);
  show(time - x * scale, scale);
}

export const pan = (pixels) => show(state.from + pixels * state.scale, state.scale);
export const showAll = () => show(0, (state.meta.span * 1.02) / state.width);

// With a margin on both sides.
export function showRange(from, until, share = 0.7) {
  const scale = Math.max((until - from) / (state.width * share), SCALE_MIN);
  show((from + until) / 2 - (scale * state.width) / 2, scale);
}

// Animates the move, so that the user can follow.
let glide = 0;
export function glideTo(from, until, share = 0.7) {
  const scale = Math.max((until - from) / (state.width * share), SCALE_MIN);
  const goal = [(from + until) / 2, Math.log(scale)];
  const middle = () => state.from + (state.scale * state.width) / 2;
  const mine = ++glide;
  let left = 60; // a target beyond the limits is never reached
  if (window.matchMedia('(prefers-reduced-motion: reduce)').matches) {
    showRange(from, until, share);
    return;
  }
  const step = () => {
    if (mine !== glide) return;
    const rest = goal[1] - Math.log(state.scale);
    const s = Math.exp(Math.log(state.scale) + rest * 0.25);
    const m = middle() + (goal[0] - middle()) * (s < state.scale ? 0.45 : 0.3);
    const isThere = Math.abs(rest) < 0.01 && Math.abs(goal[0] - m) < s;
    if (isThere || --left < 0) showRange(from, until, share);
    else {
      show(m - (s * state.width) / 2, s);
      requestAnimationFrame(step);
    }
  };
  step();
}
export const stopGlide = () => { glide++; };
