// The line below the rows: the visible time, what colours show, and the legend.

import { byId, make, setText } from './dom.js';
import { entriesOf, MODES } from './colours.js';
import { drawn, legend as seen, restyle } from './draw.js';
import * as ruler from './ruler.js';
import { duration, span } from './time.js';
import { changed, on, state, tell, to } from './state.js';

const WAIT_MS = 250;
const MOST = 24;
let shownAt = 0;
let timer = 0;

// The window, and a button to leave it.
export function windowText() {
  const { begin, span: all } = state.meta;
  const from = Math.max(0, state.from);
  const until = Math.min(all, to());
  if (until - from >= all * 0.999) return `all ${duration(all)} shown`;
  return `zoomed to ${span(from + begin, until + begin)} of ${duration(all)}; press 0 to show all`;
}

function fill() {
  const found = seen();
  const fixed = entriesOf(state.colour, false, []);
  const order = [...fixed.values()].map(({ name }) => name);
  const isFixed = state.colour === 'engine' || state.colour === 'wait';
  const shown = (isFixed ? found.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name)) : found).slice(0, MOST);
  const key = JSON.stringify(shown.map(({ name, css }) => [name, css]));
  const box = byId('legend');
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  box.replaceChildren(...shown.map(({ name, css }) => {
    const mark = make('i', {});
    mark.style.background = css;
    return make('span', { role: 'listitem', title: name }, mark, name);
  }));
}

export function draw(now) {
  setText(byId('shown'), windowText());
  clearTimeout(timer);
  if (now - shownAt < WAIT_MS || drawn.incomplete) {
    timer = setTimeout(changed, WAIT_MS); // repeat for the last frame of a movement
    return;
  }
  shownAt = now;
  fill();
}

async function choose(mode) {
  const wanted = MODES.some(([name]) => name === mode) ? mode : 'operation';
  byId('colour').value = wanted;
  if (wanted === state.colour) return;
  if (wanted === 'tensor' && !state.tensors.length) {
    try {
      state.tensors = (await state.source.tensors()).names;
      if (!state.tensors.length) throw new Error('No colours by tensor: the files do not name the tensors of transfers');
    } catch (error) {
      byId('colour').value = state.colour;
      tell('error', error);
      return;
    }
    if (byId('colour').value !== wanted) return; // another one was selected meanwhile
  }
  const hadTensors = state.colour === 'tensor';
  state.colour = wanted;
  if (hadTensors !== (wanted === 'tensor')) {
    state.tiles.setTensors(wanted === 'tensor');
    state.meta.tracks.forEach((track, t) => state.tiles.want(t, state.meta.level_top, 0)); // tiles for the overview
    state.tiles.flush();
  }
  restyle();
  ruler.restyle();
  shownAt = 0;
  tell('view');
  changed();
}

export function start() {
  byId('colour').append(...MODES.map(([value, name]) => make('option', { value }, name)));
  byId('colour').value = state.colour;
  byId('colour').addEventListener('change', (event) => choose(event.target.value));
  on('colour', choose);
}
