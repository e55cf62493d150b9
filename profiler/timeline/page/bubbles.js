// Shows gaps of the engines by cause, as in `neuron-profile analyze bubbles`, each with a link to its place.

import { make } from './dom.js';
import { whole } from './format.js';
import { absence, analysis, sourceChoice } from './answers.js';
import { drawOver, rowBox } from './draw.js';
import { psOf, trackOf } from './engines.js';
import { addTab, bar, refresh, table } from './panel.js';
import { reveal } from './rows.js';
import { duration } from './time.js';
import { changed, glideTo, on, state, xOf } from './state.js';

const SHOWN = 300;
const ALL = '';
const chosen = { cause: null, engine: ALL, core: ALL };
let shown = null; // { track, start, end } of the gap shown last

const time = (ns) => ({ value: ns, text: duration(ns * 1000) });

function goTo(gap) {
  const track = trackOf(gap.core, gap.engine);
  const start = psOf(gap.start_ns);
  shown = { track, start, end: start + gap.gap_ns * 1000 };
  if (track >= 0) reveal(track);
  glideTo(shown.start, shown.end, 0.5);
  changed();
}

const isWanted = (gap) => (chosen.engine === ALL || gap.engine === chosen.engine) && (chosen.core === ALL || String(gap.core) === chosen.core);
const isFiltered = () => chosen.engine !== ALL || chosen.core !== ALL;

function select(name, title, values) {
  if (values.length < 2) return null;
  const element = make('select', { 'aria-label': title, onchange: (event) => {
    chosen[name] = event.target.value;
    refresh('bubbles');
  } }, make('option', { value: ALL }, `all ${title}`), ...values.map((value) => make('option', { value }, name === 'core' ? `NeuronCore ${value}` : value)));
  element.value = values.includes(chosen[name]) ? chosen[name] : ALL;
  return element;
}

function causesTable(found) {
  return table([['Cause', true], ['Gaps'], ['Total'], ['Share of idle time'], ['Longest']], found.causes.map((cause, i) => ({
    onclick: () => {
      chosen.cause = chosen.cause === i ? null : i;
      refresh('bubbles');
      const longest = cause.gaps.find(isWanted);
      if (chosen.cause === i && longest) goTo(longest);
    },
    cells: [{ text: cause.cause, element: make('span', { class: chosen.cause === i ? 'now' : '' }, cause.cause) }, { value: cause.count, text: whole(cause.count) }, time(cause.gaps_ns),
      bar(cause.idle_ratio, undefined, `${(cause.idle_ratio * 100).toFixed(1)}% of the idle time of all engines`), time(cause.longest_ns)],
  })), { most: 100 });
}

function gapsTable(gaps) {
  return table([['Gap'], ['At'], ['Core', true], ['Engine', true], ['Cause', true], ['Share of gap'], ['Root', true], ['Before', true]], gaps.slice(0, SHOWN).map(([gap, cause]) => ({
    onclick: () => goTo(gap),
    cells: [time(gap.gap_ns), { value: gap.start_ns, text: duration(gap.start_ns * 1000) }, String(gap.core), gap.engine, cause.cause, { value: gap.due_ns / gap.gap_ns, text: `${((gap.due_ns / gap.gap_ns) * 100).toFixed(1)}%`, title: `${duration(gap.due_ns * 1000)} of this gap are due to the cause` },
      gap.root === undefined ? '' : gap.root ?? 'unknown', gap.before ?? 'the end'],
  })));
}

function render(box) {
  const choice = sourceChoice('bubbles');
  if (choice) box.append(choice);
  const found = analysis(box, 'bubbles', 'bubbles');
  if (!found) return;
  const all = found.causes.flatMap((cause) => cause.gaps.map((gap) => [gap, cause]));
  const cause = found.causes[chosen.cause];
  const gaps = all.filter(([gap, of]) => isWanted(gap) && (!cause || of === cause)).sort((a, b) => (a[1].reason === 'end') - (b[1].reason === 'end') || b[0].gap_ns - a[0].gap_ns || a[0].start_ns - b[0].start_ns);
  const values = (key) => [...new Set(all.map(([gap]) => String(gap[key])))].sort();
  const listed = cause ? cause.gaps.length : all.length;
  const count = cause ? cause.count : found.count;
  const more = listed < count ? `, the longest of ${whole(count)}` : '';
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, `${whole(found.count)} gaps`),
    make('span', { class: 'soft' }, `${duration(found.idle_ns * 1000)} of idle time on ${found.engine_count} engines in an execution of ${duration(found.total_ns * 1000)}`),
    make('span', { class: 'space' }), select('core', 'cores', values('core')), select('engine', 'engines', values('engine'))),
  make('div', { class: 'two' }, causesTable(found),
    make('div', {}, make('p', { class: 'soft' }, cause || isFiltered() ? `${whole(gaps.length)} gaps${cause ? `: ${cause.cause}` : ''}${more}. ` : `Click a cause to show its gaps.${more && ` Listed: the ${whole(listed)} longest of ${whole(count)}.`} `,
      cause ? make('button', { type: 'button', onclick: () => { chosen.cause = null; refresh('bubbles'); } }, 'All causes') : ''), gapsTable(gaps))));
}

// Draws a frame around the gap that was shown last.
function draw(context, look) {
  const box = shown && rowBox(shown.track);
  if (!box) return;
  const x0 = Math.max(xOf(shown.start), -4);
  const x1 = Math.min(xOf(shown.end), state.width + 4);
  if (x1 < 0 || x0 > state.width) return;
  context.strokeStyle = look.bad;
  context.lineWidth = 1.5;
  context.setLineDash([4, 3]);
  context.strokeRect(x0, box.y + 1.5, Math.max(1, x1 - x0), box.height - 3);
  context.setLineDash([]);
}

export function start() {
  addTab('bubbles', 'Bubbles', render, () => absence('bubbles', 'bubbles'));
  drawOver(draw);
  on('escape', () => { shown = null; });
}
