// The estimated length of the execution after a change, as in `neuron-profile analyze what-if`; with a server also for custom
// changes.

import { make } from './dom.js';
import { share } from './format.js';
import { analysis, answer, source, sourceChoice } from './answers.js';
import { addTab, bar, refresh, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

const PARTS = { dma: 'DMA', 'dma-latency': 'start of DMA transfers', latency: 'signals between engines', transposes: 'transposes', engines: 'all engines' };
const SHOWN_PARTS = 3;
let asked = ''; // custom changes, as the user left them
let tried = '';

const time = (ns) => ({ value: ns, text: duration(ns * 1000) });
const named = (part) => PARTS[part] ?? (part.startsWith('line:') ? `source line ${part.slice(5)}` : part === 'gpsimd' ? 'GpSimd' : part.charAt(0).toUpperCase() + part.slice(1));

// "dma=2,wait:20" as a text for users.
function words(changes, makers) {
  return changes.split(',').map((change) => {
    const [part, factor] = change.split('=');
    if (part.startsWith('wait:')) return `no waits: ${/^\d+$/.test(part.slice(5)) ? 'semaphore ' : ''}${part.slice(5)}${makers ? ` (changed by ${makers})` : ''}`;
    return factor === undefined ? `${named(part)}: no time` : `${named(part)}: ${factor} times as fast`;
  }).join('; ');
}

// "tensor 61%, dma 30%"
function pathText(row) {
  return Object.entries(row.path_by_part_ns).filter(([, ns]) => ns > 0).sort((a, b) => b[1] - a[1]).slice(0, SHOWN_PARTS).map(([part, ns]) => `${part} ${share(ns / row.total_ns)}`).join(', ');
}

function changesTable(found) {
  return table([['Change', true], ['Execution'], ['Gain'], ['Share of the execution'], ['Lower bound'], ['set by', true], ['New critical path', true]], found.changes.map((row) => ({
    cells: [{ text: words(row.change, row.semaphore_changed_by), title: `neuron-profile analyze what-if --what-if ${row.change}` }, time(row.total_ns), time(row.gain_ns), bar(row.gain_ratio, share(row.gain_ratio), `${share(row.gain_ratio)} of the execution`),
      time(row.least_ns), row.bound, pathText(row)],
  })));
}

// What other cores decide, and may move.
function outsideText(found) {
  const row = found.changes[0];
  const { outside_waits: waits, meetings } = found;
  const range = row && row.least_gain_ns !== undefined ? `The gain is at least ${duration(row.least_gain_ns * 1000)} if other cores keep their times, and at most ${duration(row.largest_gain_ns * 1000)} if this core never waits for them. ` : '';
  return (waits ? `${waits} of these waits ${waits === 1 ? 'is' : 'are'} for other cores or DMA outside the capture. ` : '')
    + (meetings ? `${meetings === 1 ? '1 instruction is a barrier, an exchange or part of a collective: its wait for other cores keeps its length' : `${meetings} instructions are barriers, exchanges or parts of collectives: their waits for other cores keep their length`}. ` : '') + range;
}

// The parts of the path after one change.
function pathTable(row) {
  return table([['Then on the critical path', true], ['Time'], ['Share of the path']], row.path.map((one) => ({ cells: [one.name, time(one.path_ns), bar(one.path_ratio, share(one.path_ratio), `${share(one.path_ratio)} of the new execution`)] })));
}

function form() {
  const text = make('input', { type: 'text', id: 'what-if-text', size: 40, spellcheck: 'false', autocomplete: 'off', placeholder: 'dma=2,transposes', 'aria-label': 'Changes', oninput: (event) => { asked = event.target.value; } });
  text.value = asked;
  text.addEventListener('keydown', (event) => event.stopPropagation()); // letters are shortcuts of the page
  const begin = (changes) => {
    asked = changes;
    tried = changes.trim();
    refresh('what-if');
  };
  return make('form', { class: 'sql-line', onsubmit: (event) => {
    event.preventDefault();
    begin(asked);
  } }, text, make('button', { type: 'submit', id: 'what-if-run' }, 'Estimate'), tried ? make('button', { type: 'button', onclick: () => begin('') }, 'Usual changes') : '',
  make('span', { class: 'soft' }, 'Several changes at once: dma, dma-latency, latency, transposes, engines, tensor … sync, line:FILE:LINE, each with =FACTOR (without it, the part takes no time); wait:SEMAPHORE, wait:ENGINE, wait:QUEUE'));
}

function render(box) {
  const choice = sourceChoice('what-if');
  if (choice) box.append(choice);
  const place = make('div');
  const found = tried ? answer(place, 'what-if', `what-if ${source()} ${tried}`, () => state.source.whatIf(source(), tried)) : analysis(place, 'what-if', 'what-if');
  if (found) {
    const { baseline } = found;
    place.append(make('div', { class: 'pane-head' }, make('h2', {}, `${duration(found.measured_ns * 1000)} now`),
      make('span', { class: 'soft' }, `from dependencies alone: ${duration(baseline.dependencies_only_ns * 1000)} (${share(baseline.dependencies_only_error_ratio)})${found.is_partial ? '. The capture is incomplete' : ''}`)),
    changesTable(found), tried && found.changes.length === 1 ? pathTable(found.changes[0]) : '',
    make('p', { class: 'soft' }, `${found.unknown_waits ? `${found.unknown_waits === 1 ? '1 wait keeps its' : `${found.unknown_waits} waits keep their`} length, because the capture does not contain the cause. ` : ''}${outsideText(found)}${found.limits}.`));
  }
  box.append(state.source.whatIf ? form() : '', place);
}

export const start = () => addTab('what-if', 'What if', render);
