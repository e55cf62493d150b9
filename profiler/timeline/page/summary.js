// All metrics of a capture, the most important ones at the top.

import { make } from './dom.js';
import { bytes, count, share } from './format.js';
import { answer, source, sourceChoice } from './answers.js';
import { addTab, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

const time = (value) => duration(value * 1e12);

const EXECUTION = 'of the execution';

// [name, metric, format, base of a share]
const TILES = [
  ['Execution', 'total_time', time], ['Any engine or DMA', 'total_active_time_percent', share, EXECUTION],
  ['Tensor', 'tensor_engine_active_time_percent', share, EXECUTION], ['Vector', 'vector_engine_active_time_percent', share, EXECUTION],
  ['Scalar', 'scalar_engine_active_time_percent', share, EXECUTION], ['GpSimd', 'gpsimd_engine_active_time_percent', share, EXECUTION],
  ['Sync', 'sync_engine_active_time_percent', share, EXECUTION], ['DMA', 'dma_active_time_percent', share, EXECUTION],
  ['Hardware FLOPs', 'hardware_flops', count], ['MFU', 'mfu_estimated_percent', share, 'of the peak FLOPs'], ['HFU', 'hfu_estimated_percent', share, 'of the peak FLOPs'],
  ['MBU', 'mbu_estimated_percent', share, 'of the peak of one memory stack'], ['HBM read', 'hbm_read_bytes', bytes], ['HBM written', 'hbm_write_bytes', bytes],
];

function written(name, value) {
  if (typeof value !== 'number') return String(value);
  if (/percent/.test(name)) return share(value);
  if (/_time$|_time_nc|latency/.test(name)) return time(value);
  if (/bytes/.test(name)) return bytes(value);
  return value.toLocaleString('en', { maximumFractionDigits: 6 });
}

function render(box) {
  const choice = sourceChoice('summary');
  if (choice) box.append(choice);
  const all = answer(box, 'summary', `summary ${source()}`, () => state.source.summary(source()));
  if (!all) return;
  const metrics = Object.values(all)[0];
  const cores = state.meta.sources[source()].cores.length;
  if (cores > 1) {
    box.append(make('p', { class: 'soft' }, `As in the vendor's tool, shares refer to all ${cores} cores: the part of the execution in which the engine of any core was active. The rows above and the Engines tab show each core.`));
  }
  box.append(make('div', { class: 'tiles' }, ...TILES.filter(([, metric]) => metrics[metric] !== undefined).map(([name, metric, write, of]) =>
    make('div', { title: metric }, make('span', {}, name), make('b', {}, write(metrics[metric])), make('small', {}, of ?? '')))),
  table([['Metric', true], ['Shown'], ['Value']], Object.entries(metrics).map(([name, value]) => ({
    cells: [name, written(name, value), { value, text: typeof value === 'number' ? value.toLocaleString('en', { maximumFractionDigits: 12 }) : String(value) }],
  })), { most: 1000 }));
}

export const start = () => addTab('summary', 'Summary', render);
