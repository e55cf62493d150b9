// Shows the history in the database: answers of /api/v1, drawn as charts.

import { byId, choice, fillTable } from './dom.js';
import { createChart } from './chart.js';
import * as format from './format.js';
import { state } from './state.js';
import { drawErrors } from './tables.js';

// [name, window, step, refresh interval in ms]
const RANGES = [['5m', '5m', '2s', 5000], ['1h', '1h', '30s', 30000], ['6h', '6h', '3m', 60000], ['24h', '24h', '12m', 120000], ['7d', '168h', '90m', 300000]];
const OFTEN_MS = 5000;

let range = RANGES[0];
let core = null; // the only shown logical core; null for all
let due = 0;
let asking = false;

async function ask(question, parameters = {}) {
  const query = new URLSearchParams({ last: range[1], ...parameters });
  const response = await fetch(`/api/v1/${question}?${query}`, { cache: 'no-store' });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? response.status);
  return answer;
}

const series = (metric, parameters) => ask('series', { metric, step: range[2], ...parameters }).then((rows) => rows.map((row) => ({ ...row, value: row[metric] })));

// Adds up series step by step; null plus a number is the number.
function add(lists) {
  return lists[0].map((row, i) => {
    const values = lists.map((list) => list[i]?.value).filter((value) => value !== null && value !== undefined);
    return { ...row, value: values.length ? values.reduce((a, b) => a + b, 0) : null };
  });
}

const physicalOf = (index) => Array.from({ length: state.lnc ?? 1 }, (_, i) => index * (state.lnc ?? 1) + i);
const logicalOf = (index) => Math.floor(index / (state.lnc ?? 1));
const coreSeries = (metric) => (core === null ? series(metric) : Promise.all(physicalOf(core).map((number) => series(metric, { core: number }))).then(add));

const CHARTS = [
  { title: 'Busy cores', lines: [{ name: 'busy', colour: 'accent' }], write: (value) => (value === 0 ? '0' : value.toFixed(2)), async load() {
    const rows = await coreSeries('utilization');
    const lnc = state.lnc ?? 1;
    return [rows, [rows.map((row) => (row.value === null ? null : row.value / lnc))]];
  } },
  { title: 'Executions per second', lines: [{ name: 'completed', colour: 'accent' }, { name: 'failed', colour: 'bad' }], write: format.rate, async load() {
    const rows = await coreSeries('executions');
    const failed = await coreSeries('errors');
    return [rows, [rows.map((row) => row.value), failed.map((row) => row.value)]];
  } },
  { title: 'Latency', lines: [{ name: 'p50', colour: 'accent' }, { name: 'p99', colour: 'accent2' }], write: format.nanoseconds, async load() {
    const parameters = { percentiles: '50,99', step: range[2] };
    if (core !== null) [parameters.core] = physicalOf(core);
    const rows = (await ask('latency', parameters)).filter((row) => row.model === '(all)');
    return [rows, [rows.map((row) => row.p50_ns), rows.map((row) => row.p99_ns)]];
  } },
  { title: 'Device memory in use', lines: [{ name: 'used', colour: 'accent' }], write: format.bytes, base: 1024, async load() {
    const rows = await series('device_memory_used_bytes', core === null ? {} : { device: state.cores.get(core)?.device ?? 0 });
    return [rows, [rows.map((row) => row.value)]];
  } },
];

const EVENTS_SHOWN = 50;
const EVENTS_ASKED = 30000; // the server's limit
const EVENTS = [
  { name: 'time', text: true, value: (event) => event.time.replace('T', ' ').replace('Z', '') },
  { name: 'event', text: true, value: (event) => event.kind, bad: (event) => event.kind === 'error' },
  { name: 'process', text: true, value: (event) => event.tag },
  { name: 'pid', value: (event) => String(event.pid) },
  { name: 'core', value: (event) => (event.core === null ? '-' : String(logicalOf(event.core))) },
  { name: 'model', text: true, value: (event) => event.model ?? '-' },
  { name: 'what', text: true, value: (event) => event.what ?? '-' },
  { name: 'status', value: (event) => (event.nrt_status === null ? '-' : String(event.nrt_status)) },
  { name: 'took', value: (event) => format.nanoseconds(event.duration_ns) },
];

// Returns the newest events, with a share for each process and kind, so that a process with thousands of events does not
// hide those of another.
function chooseEvents(rows) {
  const seen = new Map();
  const ranked = rows.map((row, place) => ({ row, place })).reverse().map((entry) => {
    const key = `${entry.row.kind === 'error'} ${entry.row.pid} ${entry.row.tag}`;
    seen.set(key, (seen.get(key) ?? 0) + 1);
    return { ...entry, turn: seen.get(key), other: entry.row.kind !== 'error' };
  });
  ranked.sort((a, b) => a.turn - b.turn || a.other - b.other || b.place - a.place);
  return ranked.slice(0, EVENTS_SHOWN).sort((a, b) => b.place - a.place).map((entry) => entry.row);
}

// Returns true if there may be more events than were read.
async function drawEvents() {
  const rows = await ask('events', { newest: EVENTS_ASKED, ...(core === null ? {} : { core: physicalOf(core)[0] }) });
  fillTable(byId('events'), EVENTS, chooseEvents(rows), 'No events in this time range.');
  return rows.length === EVENTS_ASKED;
}

// Counts errors of the whole machine and range; shows a dash until they are known.
async function loadErrors() {
  const stored = { range: range[0], row: state.stored?.range === range[0] ? state.stored.row : null };
  state.stored = stored;
  drawErrors();
  [stored.row] = await ask('errors');
  drawErrors();
}

function note(text) {
  byId('history-note').textContent = text;
  byId('history-note').hidden = !text;
}

async function refresh() {
  if (asking) {
    due = 0; // update again after the answer
    return;
  }
  const asked = range;
  asking = true;
  try {
    await loadErrors();
    for (const chart of CHARTS) {
      const [rows, values] = await chart.load();
      const times = rows.map((row) => (Date.parse(row.from) + Date.parse(row.to)) / 2);
      chart.view.set({ times, values, from: rows.length ? Date.parse(rows[0].from) : 0, to: rows.length ? Date.parse(rows.at(-1).to) : 1 });
    }
    const isCut = await drawEvents();
    note([core === null ? '' : `Showing only core ${core} and its device. Click its cell again for the whole machine.`,
      isCut ? `Too many events: showing the last ${EVENTS_ASKED}.` : ''].join(' ').trim());
    document.documentElement.dataset.history = asked[0];
  } catch (error) {
    note(error.message);
  } finally {
    asking = false;
  }
}

export function tick(now) {
  if (now < due || document.hidden) return;
  due = now + Math.max(OFTEN_MS, range[3]);
  refresh();
}

export function showCore(index) {
  core = index;
  due = 0;
  tick(Date.now());
}

export const draw = () => CHARTS.forEach((chart) => chart.view.draw());

export async function start() {
  for (const chart of CHARTS) chart.view = createChart(chart.title, chart.lines, chart.write, chart.base);
  const machine = await (await fetch('/api/v1/machine', { cache: 'no-store' })).json();
  if (!machine.history) {
    byId('range').remove();
    due = Infinity;
    note('History requires a database: start neuron-monitor with --db FILE.');
    return;
  }
  choice(byId('range'), RANGES.map(([name]) => [name, name]), range[0], (value) => {
    range = RANGES.find(([name]) => name === value);
    due = 0;
    tick(Date.now());
  });
  byId('charts').replaceChildren(...CHARTS.map((chart) => chart.view.figure));
  tick(Date.now());
}
