// Two runs side by side: shares refer to the time of each run.

import { state } from './state.js';

// The part of a window, in ps, in which the run of a track executes; all of it for a single run or tracks without a run.
export function ownWindow(track, from, until) {
  const source = state.meta.compares ? state.meta.sources[state.meta.groups[track.group].source] : undefined;
  const hasTotal = source?.total !== undefined;
  const start = hasTotal ? source.offset - state.meta.begin : 0;
  const end = hasTotal ? start + source.total : state.meta.span;
  return Math.max(0, Math.min(until, end) - Math.max(from, start, 0));
}
