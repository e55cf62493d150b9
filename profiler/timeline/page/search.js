// Search by regular expression over the names of slices, rows, layers and tensors, or with "pc 76" for the instructions at a
// place of their program, with "line kernel.py:12" for those of a source line. Slices are counted everywhere and listed in time
// order; n and N step through them.

import { byId, make, setText } from './dom.js';
import { bytes, whole } from './format.js';
import { source } from './answers.js';
import { goTo } from './details.js';
import { linesOf } from './place.js';
import { psOf } from './engines.js';
import { addTab, refresh, showTab, table } from './panel.js';
import { coreOf, reveal } from './rows.js';
import { duration, exact } from './time.js';
import { changed, glideTo, on, state, tell } from './state.js';

const WAIT_MS = 150;
const SHOWN = 300;
const MATCH_MS = 1000;
let timer = 0;
let stop = () => {}; // cancels the running match
let asked = 0;
let others = null; // rows and layers found

// Why an expression cannot be searched for.
class Hopeless extends Error {}

// For each list the numbers of matching names. Runs in a worker, which the next search stops; this promise is then never settled.
function matching(text, lists) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(import.meta.resolve('./match.js'));
    let clock = 0;
    stop = () => {
      clearTimeout(clock);
      worker.terminate();
    };
    const fail = (why) => {
      stop();
      reject(new Hopeless(why));
    };
    worker.onmessage = ({ data }) => {
      if (!data) {
        clock = setTimeout(fail, MATCH_MS, 'timed out after 1 s: try a simpler expression');
        return;
      }
      stop();
      resolve(data);
    };
    worker.onerror = (event) => {
      event.preventDefault(); // it is reported here
      fail('this browser does not support the expression');
    };
    worker.postMessage({ text, lists: lists.map((named) => named.map(({ name }) => name)) });
  });
}

// Only if the NEFF has names.
const analysis = (name) => (state.meta.sources.length ? state.source.analysis(source(), name).catch(() => null) : null);
const allNamed = async () => [(await analysis('top'))?.layers ?? [], await analysis('tensors') ?? []];

function clear(message) {
  state.hits = null;
  others = null;
  byId('search').setAttribute('aria-invalid', String(Boolean(message)));
  setText(byId('found'), message ?? '');
  refresh('search');
  changed();
}

export async function run(text, isQuiet) {
  const mine = ++asked;
  stop();
  byId('search').value = text;
  tell('view');
  if (!text) {
    clear();
    return;
  }
  try {
    RegExp(text, 'i');
  } catch {
    clear('invalid regular expression');
    return;
  }
  try {
    const where = await whereOf(text);
    const [named, tracks] = where ? [[], []] : await matching(text, [state.meta.whats, state.meta.tracks]);
    const whats = named.filter((w) => state.meta.whats[w].family !== 'counter'); // only their rows are found
    const answer = where || whats.length ? await state.source.hits(whats, 0, false, where) : null;
    if (mine !== asked) return;
    state.hits = answer?.total || answer?.repetitions ? { ...answer, whats, where, isHit: isHitOf(whats, where, answer), text } : null;
    others = { tracks, layers: [], tensors: [] };
    const isShown = state.hits || tracks.length;
    if (isShown) show(isQuiet);
    const more = where ? [[], []] : await allNamed(); // slow for a long capture
    if (mine !== asked) return;
    const found = more.some((list) => list.length) ? await matching(text, more) : [[], []];
    [others.layers, others.tensors] = found.map((list, n) => list.map((i) => more[n][i]));
    if (isShown || found.some((list) => list.length)) show(isShown || isQuiet);
    else clear('no match');
  } catch (error) {
    if (error instanceof Hopeless) clear(error.message);
    else tell('error', error);
  }
}

// A place of the program, or a source line, if the text names one.
async function whereOf(text) {
  const pc = text.match(/^pc\s+(\d+)$/i)?.[1];
  const named = text.match(/^line\s+(\S+):(\d+)$/i);
  if (pc) return { pc: Number(pc) };
  if (!named || !state.meta.sources.length) return undefined;
  const { files } = await linesOf(source());
  const file = files.findIndex(({ path }) => path === named[1] || path.endsWith(`/${named[1]}`));
  if (file < 0) throw new Hopeless('no such file');
  return { source: source(), file, line: Number(named[2]) };
}

// If not all are listed, lists those that start in the window.
let listing = 0;
function relist() {
  const { hits } = state;
  clearTimeout(listing);
  if (!hits?.where || hits.total <= hits.hits.length) return; // places belong to instructions: no repetitions
  listing = setTimeout(async () => {
    const answer = await state.source.hits(hits.whats, Math.max(0, state.from), false, hits.where).catch(() => null);
    if (!answer || state.hits !== hits) return;
    hits.hits = answer.hits;
    hits.isHit = isHitOf(hits.whats, hits.where, answer);
    changed();
  }, WAIT_MS);
}

// Whether a slice matches the search: (what, track, slice); without a slice, whether some of the row may match. For a place only
// the listed ones are known.
function isHitOf(whats, where, answer) {
  const wanted = new Set(whats);
  if (!where) return (what) => wanted.has(what);
  const listed = new Set(answer.hits.map(({ track, slice }) => `${track} ${slice}`));
  const tracks = new Set(answer.hits.map(({ track }) => track));
  return (what, track, slice) => (slice === undefined ? tracks.has(track) : listed.has(`${track} ${slice}`));
}

function show(isQuiet) {
  byId('search').setAttribute('aria-invalid', 'false');
  setText(byId('found'), foundText());
  if (isQuiet) refresh('search');
  else showTab('search');
  changed();
}

const countOf = (number, name) => `${whole(number)} ${name}${number === 1 ? '' : name === 'match' ? 'es' : 's'}`;

function foundText() {
  const parts = [[state.hits?.total, 'match'], [state.hits?.repetitions, 'repetition'], [others.tracks.length, 'row'], [others.layers.length, 'layer'], [others.tensors.length, 'tensor']];
  return parts.filter(([number]) => number).map(([number, name]) => countOf(number, name)).join(', ');
}

// Selects the next or previous hit.
async function step(by) {
  if (!state.hits) return;
  const { selected, hits } = state;
  const at = hits.hits.findIndex((hit) => selected && hit.track === selected.track && hit.slice === selected.slice);
  const isHit = at >= 0 || (selected && hits.isHit(selected.what, selected.track, selected.slice));
  let next = at >= 0 ? hits.hits[at + by] : null;
  if (!next) {
    const from = selected ? selected.start + (isHit && by > 0 ? 1 : 0) : by > 0 ? Math.max(0, state.from) : state.meta.span;
    const answer = await state.source.hits(hits.whats, from, by < 0, hits.where);
    next = by > 0 ? answer.hits[0] : answer.hits[answer.hits.length - 1];
    if (next) hits.hits = answer.hits;
  }
  if (next) goTo(next.track, next.slice);
  else setText(byId('said'), 'no more matches');
}

function renderOthers(box) {
  const link = (text, onclick) => make('button', { type: 'button', class: 'as-link', onclick }, text);
  const group = (title, links) => links.length && box.append(make('p', {}, make('span', { class: 'soft' }, `${title}: `), ...links.flatMap((one, i) => (i ? [', ', one] : [one]))));
  group('Rows', others.tracks.slice(0, SHOWN).map((t) => link(`${state.meta.tracks[t].name} (${coreOf(t)})`, () => reveal(t))));
  group('Layers', others.layers.slice(0, SHOWN).map((layer) => link(layer.name, () => glideTo(psOf(layer.start_ns), psOf(layer.end_ns), 0.8))));
  group('Tensors', others.tensors.slice(0, SHOWN).map((one) => link(`${one.name} (${one.kind}, ${bytes(one.size_bytes)}, read ${whole(one.read_count)} times, written ${whole(one.write_count)})`, () => showTab('memory'))));
}

function render(box) {
  const { hits } = state;
  if (others) renderOthers(box);
  if (!hits) {
    if (!others) box.append(make('p', { class: 'soft' }, 'Search for operations, rows, layers and tensors with a regular expression such as matmul|reduce, for an instruction such as pc 76, or for a source line such as line kernel.py:12.'));
    return;
  }
  const shown = hits.hits.slice(0, SHOWN);
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, `${countOf(hits.total, 'match')}${hits.repetitions ? `, ${countOf(hits.repetitions, 'repetition')}` : ''}`),
    make('span', { class: 'soft' }, `${hits.where ? hits.text.replace(/^pc/i, 'PC') : hits.whats.map((w) => state.meta.whats[w].name).join(', ')}${hits.total + hits.repetitions > shown.length ? `; showing the first ${shown.length}` : ''}`),
    make('span', { class: 'space' }), make('button', { type: 'button', onclick: () => step(-1) }, 'Previous'), make('button', { type: 'button', onclick: () => step(1) }, 'Next')),
  table([['What', true], ['Row', true], ['Core', true], ['Start'], ['Duration']], shown.map((hit) => ({
    onclick: () => goTo(hit.track, hit.slice),
    cells: [state.meta.whats[hit.what].name, state.meta.tracks[hit.track].name, coreOf(hit.track), { value: hit.start, text: exact(hit.start + state.meta.begin) },
      { value: hit.end - hit.start, text: duration(hit.end - hit.start) }],
  }))));
}

export function start() {
  addTab('search', 'Search', render);
  const input = byId('search');
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => run(input.value), WAIT_MS);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
    if (event.key === 'Escape') {
      run('');
      byId('canvas').focus();
    }
  });
  on('hit', step);
  on('escape', () => { if (byId('search').value) run('', true); });
  on('window', relist);
}
