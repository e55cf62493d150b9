// Two captures: what became slower or faster from the first to the second, as `neuron-profile diff` says.

import { make } from './dom.js';
import { bytes } from './format.js';
import { answer } from './answers.js';
import { addTab, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

// Kinds of measures by their key, in the order in which they are shown.
const TITLES = { total: 'All of it', path_resources: 'On the critical path, by engine and queue', path_layers: 'On the critical path, by layer', operations: 'Operations, busy', engines: 'Engines, busy',
  queues: 'DMA queues, busy', queue_bytes: 'DMA queues, bytes' };

function change(row, write) {
  const [before, after] = values(row);
  const difference = (after ?? 0) - (before ?? 0);
  const text = difference === 0 ? '' : `${difference > 0 ? '+' : '−'}${write(Math.abs(difference))}`;
  return { value: difference, text, element: make('span', { class: difference > 0 ? 'slower' : difference < 0 ? 'faster' : '' }, text) };
}

const values = (row) => ['before', 'after'].map((side) => (row[`${side}_ns`] !== undefined ? (row[`${side}_ns`] === null ? null : row[`${side}_ns`] * 1000) : row[side] ?? row[`${side}_bytes`] ?? null));

function part(key, rows) {
  const isTime = rows.some((row) => row.before_ns !== undefined);
  const write = isTime ? duration : bytes;
  const cell = (value) => ({ value: value ?? -1, text: value === null ? '-' : write(value) });
  return make('section', {}, make('h3', {}, TITLES[key] ?? key.replaceAll('_', ' ')), table([['Name', true], ['Before'], ['After'], ['Change'], ['Share']], rows.map((row) => {
    const [before, after] = values(row);
    return { cells: [row.name, cell(before), cell(after), change(row, write),
      { value: row.change_ratio ?? 0, text: row.change_ratio ? `${row.change_ratio > 0 ? '+' : '−'}${Math.abs(row.change_ratio * 100).toFixed(1)}%` : '' }] };
  }), { most: 100 }));
}

function render(box) {
  const all = answer(box, 'compare', 'compare', () => state.source.compare());
  if (!all) return;
  // What only one of two different programs has tells nothing.
  const shown = (rows) => (all.is_unrelated ? rows.filter((row) => values(row).every((value) => value !== null)) : rows);
  const parts = Object.entries(all).filter(([, value]) => Array.isArray(value)).map(([key, rows]) => [key, shown(rows)]).filter(([, rows]) => rows.length);
  const [total] = all.total ?? [];
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, total ? `${duration(total.before_ns * 1000)} → ${duration(total.after_ns * 1000)}` : 'Comparison'),
    make('span', { class: 'soft' }, `before: ${state.meta.sources[0].name}, after: ${state.meta.sources[1].name}`)),
  ...(all.is_unrelated ? [make('p', { class: 'soft' }, 'Different programs: nearly no layer or region is in both. The tables show what both have.')] : []),
  make('div', { class: 'parts' }, ...parts.map(([key, rows]) => part(key, rows))));
}

export const start = () => addTab('compare', 'Compare', render);
