// Shows why cores were idle: what host threads did in each gap, as `neuron-profile idle --record` observed it.

import { make } from './dom.js';
import { whole } from './format.js';
import { answer } from './answers.js';
import { addToFlame, flameRoot, flames } from './flames.js';
import { addTab, bar, refresh, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

const HUES = ['#e8a87c', '#efb991', '#f3c9a7', '#f7d8bf', '#fae6d6'];

let chosen = 0;
let zoomed = [];

const time = (seconds) => duration(seconds * 1e12);
const cell = (seconds) => ({ value: seconds, text: time(seconds) });
const shareOf = (row) => bar(row.percent / 100, `${row.percent.toFixed(1)}%`, 'of the idle time');

function causes(process) {
  return table([['Cause', true], ['Share of idle time'], ['Time'], ['Gaps'], ['Longest in a gap'], ['Meaning', true]], process.causes.map((row) => ({
    cells: [row.cause, shareOf(row), cell(row.seconds), { value: row.gaps, text: whole(row.gaps) }, cell(row.longest_seconds), row.meaning ?? ''],
  })));
}

const thread = (one) => (one ? `${one.name ?? 'thread'} (${one.tid})` : '');

function rows(process) {
  return table([['Share of idle time'], ['Time'], ['Cause', true], ['Thread', true], ['Function', true], ['Call', true], ['File or holder', true]], process.rows.map((row) => ({
    cells: [shareOf(row), cell(row.seconds), row.cause, thread(row.thread), row.function ? `${row.function}${row.module ? ` (${row.module})` : ''}` : '', row.syscall ?? '',
      row.object ?? (row.held_by ? `held by ${thread(row.held_by)}` : '')],
  })), { most: 100 });
}

function steps(process) {
  return table([['Step'], ['Idle'], ['Gaps'], ['Longest gap'], ['Main cause', true]], process.steps.map((row) => ({
    cells: [{ value: row.step, text: String(row.step) }, cell(row.idle_seconds), { value: row.gaps, text: whole(row.gaps) }, cell(row.longest_seconds), row.cause],
  })), { sorted: 1, most: 50 });
}

function advice(process) {
  const meaning = (name) => process.causes.find((row) => row.cause === name)?.meaning ?? name;
  return make('ul', { class: 'idle-advice' }, ...process.advice.map((one) => make('li', {}, make('b', {}, `${one.percent.toFixed(0)}% of the idle time: ${meaning(one.cause)}`),
    one.evidence ? make('span', { class: 'soft' }, ` ${one.evidence}`) : null, make('div', {}, one.advice))));
}

function stacks(process) {
  const root = flameRoot(`all idle time, ${time(process.idle_seconds)}`);
  for (const { seconds, frames } of process.stacks ?? []) addToFlame(root, frames, seconds, 1);
  if (!(root.sum > 0)) return make('p', { class: 'soft' }, 'No stacks were recorded.');
  return flames(root, zoomed, {
    colour: (node, depth) => ({ css: HUES[Math.min(depth, HUES.length - 1)], text: '#2b1a0d' }),
    textOf: (path, node) => `${path.slice(1).join(', ') || node.name}: ${time(node.sum)}, ${((node.sum / root.sum) * 100).toFixed(1)}% of the idle time`,
    zoom: (names) => { zoomed = names; refresh('idle'); },
  });
}

function choice(processes) {
  if (processes.length < 2) return null;
  const select = make('select', { 'aria-label': 'Process', onchange: (event) => {
    chosen = Number(event.target.value);
    zoomed = [];
    refresh('idle');
  } }, ...processes.map((one, i) => make('option', { value: i }, `${one.command} (${one.pid})`)));
  select.value = String(chosen);
  return select;
}

function render(box) {
  const processes = answer(box, 'idle', 'host threads', () => state.source.host('host-threads'));
  if (!processes) return;
  const process = processes[Math.min(chosen, processes.length - 1)];
  box.append(make('div', { class: 'pane-head' }, choice(processes), make('h2', {}, `${process.idle_percent.toFixed(1)}% idle`),
    make('span', {}, `${time(process.idle_seconds)} of ${time(process.held_seconds)} on ${process.cores} ${process.cores === 1 ? 'core' : 'cores'}, in ${whole(process.gaps)} ${process.gaps === 1 ? 'gap' : 'gaps'}, the longest ${time(process.longest_gap_seconds)}`),
    make('span', { class: 'soft' }, `${process.command} (${process.pid}), method ${process.method}${process.lost ? `, ${whole(process.lost)} records lost` : ''}`)));
  if (process.reason) box.append(make('p', { class: 'soft' }, `Coarse: ${process.reason}`));
  if (!process.causes.length) {
    box.append(make('p', {}, 'The cores had no gaps.'));
    return;
  }
  const head = (text) => make('h3', {}, text);
  box.append(make('div', { class: 'two' }, make('div', {}, head('Causes'), causes(process)), ...(process.advice.length ? [make('div', {}, head('Advice'), advice(process))] : [])),
    make('div', { class: 'pane-head' }, head('Host stacks by idle time'), zoomed.length ? make('button', { type: 'button', onclick: () => { zoomed = []; refresh('idle'); } }, 'Show all') : null), stacks(process),
    head('Threads and functions'), rows(process), ...(process.steps.length ? [head('Steps with the most idle time'), steps(process)] : []));
}

// The recording has a row of each gap, if there are any.
const absent = () => (state.meta.whats.some(({ name }) => name === 'nc_idle') ? null : 'no host threads were recorded: use neuron-profile idle --record');

export const start = () => addTab('idle', 'Idle', render, absent);
