// Shows the tables of the page: processes, models, memory, errors.

import { byId, fillTable, make, setText } from './dom.js';
import * as format from './format.js';
import { merge, percentile } from './histogram.js';
import { state, ERROR_CLASSES } from './state.js';

const sum = (list) => (list ?? []).reduce((a, b) => a + b, 0);

// Returns a text such as "0-3,8" for sorted numbers.
function ranges(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const parts = [];
  for (const number of sorted) {
    const last = parts.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',') || '-';
}

// A model is loaded on physical cores; the rest of the page uses logical ones.
function logical(first, count, lnc) {
  return Array.from({ length: Math.ceil(count / lnc) }, (_, i) => Math.floor(first / lnc) + i);
}

const PROCESSES = [
  { name: 'process', text: true, value: (r) => r.tag },
  { name: 'pid', value: (r) => String(r.pid) },
  { name: 'command', text: true, value: (r) => r.command || '-' },
  { name: 'user', text: true, value: (r) => r.user || '-' },
  { name: 'pod', text: true, value: (r) => r.pod || '-' },
  { name: 'cores', text: true, value: (r) => ranges(Object.keys(r.cores).map(Number)) },
  { name: 'busy', help: 'mean utilization of its cores', value: (r) => format.percent(r.busy), raw: (r) => r.busy ?? '' },
  { name: 'exec/s', value: (r) => format.rate(r.rate), raw: (r) => r.completed ?? '' },
  { name: 'failed/s', value: (r) => format.rate(r.failureRate), raw: (r) => r.failed ?? '', bad: (r) => r.failed > 0 },
  { name: 'p50', value: (r) => format.seconds(r.latency?.total_latency?.p50), raw: (r) => r.latency?.total_latency?.p50 ?? '' },
  { name: 'p99', value: (r) => format.seconds(r.latency?.total_latency?.p99), raw: (r) => r.latency?.total_latency?.p99 ?? '' },
  { name: 'in flight', value: (r) => format.whole(r.inFlight), raw: (r) => r.inFlight ?? '' },
  { name: 'device mem', help: '~: estimated from the memory in use before and after model loads', value: (r) => format.bytes(r.deviceBytes, r.deviceEstimated), raw: (r) => r.deviceBytes ?? '' },
  { name: 'host mem', value: (r) => format.bytes(r.hostBytes), raw: (r) => r.hostBytes ?? '' },
  { name: 'RSS', value: (r) => format.bytes(r.rssBytes), raw: (r) => r.rssBytes ?? '' },
  { name: 'vCPU', value: (r) => format.percent(r.vcpu), raw: (r) => r.vcpu ?? '' },
  { name: 'hooks', text: true, help: 'type of hooks, and what they cannot report', value: (r) => r.hooks || '-' },
];

const MODELS = [
  { name: 'model', text: true, value: (m) => m.name },
  { name: 'process', text: true, value: (m) => m.tag },
  { name: 'id', value: (m) => String(m.model_id) },
  { name: 'cores', text: true, value: (m) => (m.core === undefined ? '-' : ranges(logical(m.core, m.core_count ?? 1, m.lnc))) },
  { name: 'exec/s', value: (m) => format.rate(m.period && m.executions !== undefined ? m.executions / m.period : null), raw: (m) => m.executions ?? '' },
  { name: 'errors', value: (m) => format.whole(m.errors), raw: (m) => m.errors ?? '', bad: (m) => m.errors > 0 },
  { name: 'p50', value: (m) => format.nanoseconds(percentile(m.histogram, 50)) },
  { name: 'p99', value: (m) => format.nanoseconds(percentile(m.histogram, 99)) },
  { name: 'max', value: (m) => format.nanoseconds(percentile(m.histogram, 100)) },
  { name: 'in flight', value: (m) => format.whole(m.in_flight) },
  { name: 'load time', value: (m) => format.nanoseconds(m.load_ns) },
];

const MEMORY = [
  { name: 'category', text: true, value: (row) => row.category },
  { name: 'bytes', value: (row) => format.bytes(row.bytes, row.estimated), raw: (row) => row.bytes },
  { name: 'peak', help: 'sum of the peaks of all processes', value: (row) => format.bytes(row.peak, row.estimated), raw: (row) => row.peak },
];

function drawProcesses() {
  const rows = state.runtimes.map((runtime) => {
    const busy = Object.values(runtime.cores).map((core) => core.neuroncore_utilization).filter((share) => share !== undefined);
    return { ...runtime, busy: busy.length ? sum(busy) / busy.length : null };
  });
  fillTable(byId('processes'), PROCESSES, rows, 'No application uses NeuronCores.', (row) => (row.ended ? 'ended' : ''));
  const models = state.runtimes.flatMap((runtime) => runtime.models.map((model) =>
    ({ ...model, tag: runtime.tag, lnc: runtime.lnc, period: runtime.period, histogram: model.total_latency ? merge([model.total_latency]) : null })));
  fillTable(byId('models'), MODELS, models, 'No model is loaded.', (row) => (row.loaded === false ? 'ended' : ''));
}

function drawMemory() {
  const box = byId('devices');
  while (box.children.length > state.devices.length) box.lastElementChild.remove();
  state.devices.forEach((device, i) => {
    const used = sum(device.memory_used_bytes);
    const capacity = sum(device.memory_capacity_bytes) || state.report.neuron_hardware_info.neuron_device_memory_size;
    let row = box.children[i];
    if (!row) {
      row = make('div', { class: 'hbm' }, make('p', {}, make('span'), make('b')), make('meter', { min: 0, 'aria-label': `Memory of device ${device.index}` }));
      box.append(row);
    }
    const text = device.memory_used_bytes ? `${format.bytes(used)} of ${format.bytes(capacity)}` : '-';
    setText(row.querySelector('span'), `device ${device.index}`);
    setText(row.querySelector('b'), text);
    const meter = row.querySelector('meter');
    meter.max = capacity;
    meter.value = used;
    meter.title = text;
    row.dataset.value = used;
  });
  const byCategory = new Map();
  for (const runtime of state.runtimes) {
    for (const { category, core, current_bytes: bytes, peak_bytes: peak } of runtime.memory) {
      if (core === undefined || category.startsWith('host_')) continue; // not memory of a device
      const row = byCategory.get(category) ?? { category, bytes: 0, peak: 0 };
      row.bytes += bytes;
      row.estimated = row.estimated || (category === 'uncategorized' && runtime.deviceEstimated);
      row.peak += peak ?? 0;
      byCategory.set(category, row);
    }
  }
  fillTable(byId('memory'), MEMORY, [...byCategory.values()].filter((row) => row.bytes || row.peak).sort((a, b) => b.bytes - a.bytes || a.category.localeCompare(b.category)), state.runtimes.some((runtime) => !runtime.tellsMemory) ? 'No process reports memory.' : 'Nothing is allocated.');
}

export function drawErrors() {
  const past = state.stored
    ? { name: `last ${state.stored.range}`, count: (name) => state.stored.row?.[name] }
    : { name: 'since page load', count: (name) => state.errors[name].page };
  fillTable(byId('errors'), [
    { name: 'class', text: true, value: (name) => name },
    { name: 'this period', value: (name) => format.whole(state.errors[name].period), raw: (name) => state.errors[name].period, bad: (name) => state.errors[name].period > 0 },
    { name: past.name, value: (name) => format.whole(past.count(name)), raw: (name) => past.count(name) ?? '', bad: (name) => past.count(name) > 0 },
  ], ERROR_CLASSES, '');
  // A row for each reason, and for a verdict without a known reason.
  const ill = state.devices.filter((device) => device.health && device.health.verdict !== 'healthy').flatMap((device) =>
    (device.health.reasons.length ? device.health.reasons : [{ reason: '-', message: '', action: device.health.action }]).map((reason) =>
      ({ device: device.index, verdict: device.health.verdict, since_ns: device.health.since_ns, ...reason })));
  fillTable(byId('health'), [
    { name: 'device', text: true, value: (row) => String(row.device) },
    { name: 'verdict', text: true, value: (row) => row.verdict, bad: (row) => row.verdict === 'unhealthy' },
    { name: 'since', text: true, value: (row) => new Date(row.since_ns / 1e6).toLocaleString() },
    { name: 'reason', text: true, value: (row) => row.reason },
    { name: 'problem', text: true, value: (row) => row.message },
    { name: 'action', text: true, value: (row) => row.action.replaceAll('_', ' ') },
  ], ill, state.devices.some((device) => device.health) ? 'All devices are healthy.' : 'No source reports device health.');
  const devices = state.devices.filter((device) => device.ecc_total);
  const column = (name, key) => ({ name, value: (device) => format.whole(device.ecc_total[key]), raw: (device) => device.ecc_total[key] ?? '', bad: (device) => key.endsWith('uncorrected') && device.ecc_total[key] > 0 });
  fillTable(byId('ecc'), [
    { name: 'device', text: true, value: (device) => String(device.index) },
    column(`${state.memoryType} corr.`, 'mem_ecc_corrected'), column(`${state.memoryType} uncorr.`, 'mem_ecc_uncorrected'),
    column('SRAM corr.', 'sram_ecc_corrected'), column('SRAM uncorr.', 'sram_ecc_uncorrected'),
  ], devices, 'No device counts ECC errors.');
}

export function draw() {
  drawProcesses();
  drawMemory();
  drawErrors();
}
