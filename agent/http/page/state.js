// Keeps the last value of each group of the reports, because groups may have different periods.

import { merge, percentile } from './histogram.js';

export const ENGINES = [['pe', 'PE', 'tensor engine'], ['act', 'ACT', 'activation engine'], ['pool', 'POOL', 'pool engine'],
  ['dve', 'DVE', 'vector engine'], ['sp', 'SP', 'sync engine'], ['dma', 'DMA', 'queues']];
export const ERROR_CLASSES = ['generic', 'numerical', 'transient', 'model', 'runtime', 'hardware'];

export const state = {
  report: null, // last report as received
  period: null, // period of the reports in seconds
  runtimes: [], // see runtimeOf()
  cores: new Map(), // logical core -> coreOf()
  devices: [],
  errors: Object.fromEntries(ERROR_CLASSES.map((name) => [name, { period: 0, page: 0 }])),
  stored: null, // with a database: errors by class in a range of History, { range, row: null until it is known }
  failed: 0, // number of failures since the page was opened
};

const remembered = new Map(); // pid/start -> groups
const system = {};

function remember(entry) {
  const key = `${entry.pid}/${entry.report.neuron_ext?.start_time ?? ''}/${entry.neuron_runtime_tag}`;
  const old = entry.ended ? {} : remembered.get(key) ?? {};
  const groups = { ...old };
  for (const [name, group] of Object.entries(entry.report)) {
    groups[name] = name === 'neuron_ext' ? { ...old.neuron_ext, ...group } : group;
  }
  remembered.set(key, groups);
  return [key, groups];
}

const add = (all, count) => all + count;

// Counts of failures in a row exclude what ran before the agent restarted.
const unwatchedOf = (ext, from, to) => Object.values(ext.neuroncores ?? {}).reduce((all, core) =>
  all + (core.unwatched?.execution_summary ?? []).slice(from, to).reduce(add, 0), 0);

function runtimeOf(entry, groups) {
  const ext = groups.neuron_ext ?? {};
  const stats = groups.execution_stats;
  const used = groups.memory_used?.neuron_runtime_used_bytes;
  const period = stats?.period;
  const completed = stats?.execution_summary.completed ?? null;
  const failed = stats ? Object.values(stats.execution_summary).reduce(add, 0) - completed : null;
  return {
    pid: entry.pid,
    tag: entry.neuron_runtime_tag,
    ended: entry.ended === true,
    command: ext.command ?? '',
    user: ext.user ?? '',
    pod: ext.pod_name ? `${ext.namespace}/${ext.pod_name}` : ext.container_id?.slice(0, 12) ?? '',
    lnc: ext.lnc ?? 1,
    hooks: [ext.hooks, ext.cores_guessed && 'cores guessed', { part: 'executions partly counted', none: 'executions not counted' }[ext.executions_counted]].filter(Boolean).join(', '),
    period,
    completed,
    failed,
    rate: period ? (completed - unwatchedOf(ext, 0, 1)) / period : null,
    failureRate: period ? (failed - unwatchedOf(ext, 1)) / period : null,
    errors: stats?.error_summary,
    latency: stats?.latency_stats,
    totalHistogram: ext.total_latency,
    deviceHistogram: ext.device_latency,
    inFlight: ext.in_flight,
    deviceBytes: used?.neuron_device ?? null,
    tellsMemory: !['preloaded', 'attached'].includes(ext.hooks),
    uncounted: ext.executions_counted !== undefined,
    deviceEstimated: (ext.models ?? []).some((model) => model.memory_estimated && model.loaded !== false),
    hostBytes: used?.host ?? null,
    rssBytes: used?.rss_bytes ?? null,
    vcpu: groups.neuron_runtime_vcpu_usage ? groups.neuron_runtime_vcpu_usage.vcpu_usage.user + groups.neuron_runtime_vcpu_usage.vcpu_usage.system : null,
    cores: groups.neuroncore_counters?.neuroncores_in_use ?? {},
    coresPeriod: groups.neuroncore_counters?.period,
    physical: ext.neuroncores ?? {},
    memory: ext.memory_by_category ?? [],
    models: ext.models ?? [],
  };
}

// An unknown value adds nothing and does not make a sum known.
const plus = (all, value) => (value === undefined || value === null ? all : (all ?? 0) + value);

function addCores(runtime) {
  for (const [index, counters] of Object.entries(runtime.cores)) {
    const core = state.cores.get(Number(index));
    if (!core) continue;
    core.busy = plus(core.busy, counters.neuroncore_utilization);
    core.flops = plus(core.flops, counters.effective_flops ?? counters.flops);
    core.users.push(runtime);
  }
  const period = runtime.coresPeriod;
  for (const [index, physical] of Object.entries(runtime.physical)) {
    const core = state.cores.get(Math.floor(Number(index) / runtime.lnc));
    if (!core || !period) continue;
    core.physical.push(Number(index));
    for (const [name] of ENGINES) {
      if (physical.engine_busy_ns?.[name] === undefined) continue;
      const busy = physical.engine_busy_ns[name] - (physical.unwatched?.engine_busy_ns?.[name] ?? 0);
      core.engines[name] = (core.engines[name] ?? 0) + busy / (period * 1e7) / runtime.lnc;
    }
    const watched = (name) => (physical[name] === undefined ? null : (physical[name] - (physical.unwatched?.[name] ?? 0)) / period);
    core.read = plus(core.read, watched('hbm_read_bytes'));
    core.written = plus(core.written, watched('hbm_written_bytes'));
    core.inFlight = plus(core.inFlight, physical.in_flight);
    core.busyOfCalls = core.busyOfCalls || physical.busy_of_calls === true;
    if (physical.failing_since_ns) core.deadSince = Math.min(core.deadSince ?? Infinity, physical.failing_since_ns / 1e6);
  }
}

function layOut(report) {
  const info = report.neuron_hardware_info ?? {};
  const lnc = info.logical_neuroncore_config || 1;
  const perDevice = (info.neuroncore_per_device_count ?? 0);
  state.lnc = lnc;
  state.memoryType = report.neuron_ext?.hardware?.memory_type ?? 'HBM';
  state.coresPerDevice = Math.max(1, Math.floor(((report.neuron_ext?.hardware?.cores_per_device) ?? perDevice * lnc) / lnc));
  const deviceCount = info.neuron_device_count ?? 0;
  const ext = report.neuron_ext?.devices ?? [];
  state.devices = Array.from({ length: deviceCount }, (_, i) => ({ index: i, ...ext.find((device) => device.index === i) }));
  state.cores = new Map();
  for (let i = 0; i < deviceCount * state.coresPerDevice; i++) {
    state.cores.set(i, { index: i, device: Math.floor(i / state.coresPerDevice), busy: null, flops: null, engines: {}, physical: [], users: [] });
  }
}

export function take(report) {
  state.report = report;
  state.period = (report.neuron_ext?.period_ns ?? 0) / 1e9 || null;
  if (report.system_data) Object.assign(system, report.system_data);
  state.system = system;
  layOut(report);
  const seen = new Set();
  state.runtimes = (report.neuron_runtime_data ?? []).map((entry) => {
    const [key, groups] = remember(entry);
    seen.add(key);
    const runtime = runtimeOf(entry, groups);
    if (entry.report.execution_stats) {
      state.failed += runtime.failed;
    }
    return runtime;
  });
  for (const key of remembered.keys()) if (!seen.has(key)) remembered.delete(key);
  for (const name of ERROR_CLASSES) {
    const now = (report.neuron_runtime_data ?? []).reduce((sum, entry) => sum + (entry.report.execution_stats?.error_summary[name] ?? 0), 0);
    state.errors[name].period = now;
    state.errors[name].page += now;
  }
  state.runtimes.forEach(addCores);
  for (const core of state.cores.values()) {
    if (core.deadSince) core.busy = 0; // a dead core does no work
  }
}

const sum = (list, value) => list.reduce((all, item) => (value(item) === null || value(item) === undefined ? all : (all ?? 0) + value(item)), null);

export function totals() {
  const busy = sum([...state.cores.values()], (core) => core.busy);
  const total = merge(state.runtimes.map((runtime) => runtime.totalHistogram));
  const capacity = state.devices.reduce((all, device) => all + (device.memory_capacity_bytes ?? []).reduce((a, b) => a + b, 0), 0);
  // Sums exclude devices without a report; a sum of nothing is unknown, or 0 if there is no process.
  const used = sum(state.devices, (device) => device.memory_used_bytes?.reduce(add, 0));
  const nothing = state.runtimes.length ? null : 0;
  return {
    busy: busy === null ? nothing : busy / 100,
    cores: state.cores.size,
    rate: sum(state.runtimes, (runtime) => runtime.rate) ?? nothing,
    failureRate: sum(state.runtimes, (runtime) => runtime.failureRate) ?? nothing,
    uncounted: state.runtimes.filter((runtime) => runtime.uncounted).length,
    unreported: state.devices.filter((device) => !device.memory_used_bytes).length,
    p50: percentile(total, 50),
    p99: percentile(total, 99),
    used,
    capacity: capacity || state.report?.neuron_hardware_info?.neuron_device_memory_size * state.devices.length || null,
    vcpu: system.vcpu_usage?.average_usage ? 100 - system.vcpu_usage.average_usage.idle : null,
    memory: system.memory_info?.memory_used_bytes ?? null,
    memoryTotal: system.memory_info?.memory_total_bytes ?? null,
    flops: sum([...state.cores.values()], (core) => core.flops) ?? nothing,
  };
}
