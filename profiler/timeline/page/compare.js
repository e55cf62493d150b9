// Compares two captures: what became slower or faster from the first to the second, as in `neuron-profile diff`.

import { make } from './dom.js';
import { bytes, share } from './format.js';
import { answer } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

// Kinds of measures by key, in display order.
const TITLES = { total: 'Total', chip_use: 'Chip use', memory_bytes: 'Memory', regions: 'Regions, median', path_resources: 'Critical path by engine and queue', path_layers: 'Critical path by layer', operations: 'Operations, active time', engines: 'Engines, active time',
  queues: 'DMA queues, active time', queue_bytes: 'DMA queues, bytes' };

// Shares of the maximum: more is better.
const SHARES = new Set(['chip_use']);

const isUnknown = (row) => row.change_ns === null || row.change === null;

function change(row, write, isShare) {
  if (isUnknown(row)) return { value: 0, text: 'unknown' };
  const [before, after] = values(row);
  const difference = (after ?? 0) - (before ?? 0);
  const text = difference === 0 ? '' : `${difference > 0 ? '+' : '−'}${write(Math.abs(difference))}`;
  const worse = isShare ? -difference : difference;
  return { value: difference, text, element: make('span', { class: worse > 0 ? 'slower' : worse < 0 ? 'faster' : '' }, text) };
}

const values = (row) => ['before', 'after'].map((side) => (row[`${side}_ns`] !== undefined ? (row[`${side}_ns`] === null ? null : row[`${side}_ns`] * 1000) : row[side] ?? row[`${side}_bytes`] ?? null));

function part(key, rows) {
  const isTime = rows.some((row) => row.before_ns !== undefined);
  const isShare = SHARES.has(key);
  const hasRuns = rows.some((row) => row.before_ratio !== undefined || row.after_ratio !== undefined);
  const write = isTime ? duration : isShare ? (value) => `${(value * 100).toFixed(2)}%` : bytes;
  const cell = (value) => ({ value: value ?? -1, text: value === null ? '-' : write(value) });
  const ofRun = (ratio) => (ratio === undefined ? '' : bar(ratio, share(ratio), `${share(ratio)} of the time of this run`));
  return make('section', {}, make('h3', {}, TITLES[key] ?? key.replaceAll('_', ' ')), table([['Name', true], ['Before'], ...(hasRuns ? [['Share of run']] : []), ['After'], ...(hasRuns ? [['Share of run']] : []), ['Change'], ['Relative to before']], rows.map((row) => {
    const [before, after] = values(row);
    return { cells: [row.name, cell(before), ...(hasRuns ? [ofRun(row.before_ratio)] : []), cell(after), ...(hasRuns ? [ofRun(row.after_ratio)] : []), change(row, write, isShare),
      { value: row.change_ratio ?? 0, text: row.change_ratio ? `${row.change_ratio > 0 ? '+' : '−'}${Math.abs(row.change_ratio * 100).toFixed(1)}%` : '' }] };
  }), { most: 100 }));
}

// Layers and regions of both sides, matched by their work; those that kept their name need no row.
function matches(list) {
  const isShown = list.some(({ relation, before, after }) => before && after && (relation !== 'kept' || before.key !== after.key));
  if (!isShown) return null;
  const unit = (one) => (one ? [one.name, { value: one.busy_ns, text: duration(one.busy_ns * 1000) }, bar(one.ratio, share(one.ratio), `${share(one.ratio)} of the time of this part`)] : ['', '', '']);
  return make('section', { class: 'matches' }, make('h3', {}, 'Corresponding parts'), make('p', { class: 'soft' }, 'Matched by shape, type and source of data. Sum: time of the instructions, including overlaps. Share of part: how much of the part the other side covers.'),
    table([['Before', true], ['Sum'], ['Share of part'], ['Became', true], ['After', true], ['Sum'], ['Share of part']], list.map(({ relation, before, after }) => ({ cells: [...unit(before), relation, ...unit(after)] })), { most: 100 }));
}

// Lengths of the executions of both captures, if one has several: one slow execution is named.
function lengths(executions) {
  const sides = Object.entries(executions).filter(([, side]) => side.count);
  if (!sides.some(([, side]) => side.count > 1)) return '';
  const time = (ns) => ({ value: ns, text: duration(ns * 1000) });
  return make('section', { class: 'matches' }, make('h3', {}, 'Length of executions'), table([['Capture', true], ['Executions'], ['Minimum'], ['Median'], ['Maximum'], ['Outliers', true]], sides.map(([name, side]) => ({
    cells: [name, side.count, time(side.min_ns), time(side.median_ns), time(side.max_ns), side.outliers.map((one) => `${one.source ?? `execution ${one.number}`} (${duration(one.total_ns * 1000)})`).join('; ')],
  }))));
}

function render(box) {
  const all = answer(box, 'compare', 'compare', () => state.source.compare());
  if (!all) return;
  // Of two different programs, rows that only one side has are meaningless.
  const shown = (rows) => (all.is_unrelated ? rows.filter((row) => values(row).every((value) => value !== null)) : rows);
  const parts = Object.entries(all).filter(([key, value]) => key !== 'matches' && Array.isArray(value)).map(([key, rows]) => [key, shown(rows)]).filter(([, rows]) => rows.length);
  const [total] = all.total ?? [];
  box.append(make('div', { class: 'pane-head' }, make('h2', {}, total ? values(total).map((value) => (value === null ? 'unknown' : duration(value))).join(' → ') : 'Comparison'),
    make('span', { class: 'soft' }, `${all.before_count > 1 || all.after_count > 1 ? 'median of an execution; ' : ''}before: ${state.meta.sources[0].name}, after: ${state.meta.sources[1].name}`)),
  ...(all.is_unrelated ? [make('p', { class: 'soft' }, 'Different programs: they share almost no layers or regions. The tables show what they have in common.')] : []),
  lengths(all.executions), matches(all.matches ?? []) ?? '', make('div', { class: 'parts' }, ...parts.map(([key, rows]) => part(key, rows))));
}

export const start = () => addTab('compare', 'Compare', render);
