// Device memory: its uses, and how often tensors are transferred.

import { make } from './dom.js';
import { bytes, count, whole } from './format.js';
import { analysis, source, sourceChoice } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { state } from './state.js';

function use({ core, memory }) {
  const entries = Object.entries(memory).filter(([, size]) => size > 0).sort((a, b) => b[1] - a[1]);
  const total = entries.reduce((sum, [, size]) => sum + size, 0);
  return make('section', {}, make('h3', {}, `NeuronCore ${core}, ${bytes(total)}`),
    table([['Use', true], ['Bytes'], ['Share of used bytes']], entries.map(([name, size]) => ({ cells: [name, { value: size, text: bytes(size) }, bar(size / total)] }))));
}

function tensors(box) {
  const list = analysis(box, 'memory', 'tensors');
  if (!list) return;
  box.append(make('h3', {}, 'Tensors'), table([['Tensor', true], ['Kind', true], ['Size'], ['Read'], ['Reads'], ['Written'], ['Writes'], ['Reloads']], list.map((one) => ({
    cells: [one.name, one.kind, { value: one.size_bytes, text: bytes(one.size_bytes) }, { value: one.read_bytes, text: bytes(one.read_bytes) }, { value: one.read_count, text: whole(one.read_count) },
      { value: one.write_bytes, text: bytes(one.write_bytes) }, { value: one.write_count, text: whole(one.write_count) }, { value: one.reload_ratio ?? 0, text: one.reload_ratio === null ? '' : one.reload_ratio.toFixed(2) }],
  }))));
}

function queues(box) {
  const dma = analysis(box, 'memory', 'dma');
  if (!dma) return;
  box.append(make('h3', {}, 'DMA queues'), table([['Queue', true], ['Core', true], ['Class', true], ['Packets'], ['Bytes'], [`Share of bytes in packets below ${bytes(4096)}`], ['Rate'], ['Share of engine capacity']], dma.queues.map((one) => ({
    cells: [one.queue, String(one.core), one.class, { value: one.packet_count, text: whole(one.packet_count) }, { value: one.bytes, text: bytes(one.bytes) },
      one.bytes ? bar(1 - one.bytes_by_size.from_4096 / one.bytes) : '', one.bytes_per_second ? { value: one.bytes_per_second, text: `${count(one.bytes_per_second)}B/s` } : '',
      one.efficiency_ratio === null || one.efficiency_ratio === undefined ? '' : bar(one.efficiency_ratio)],
  }))));
}

function render(box) {
  const choice = sourceChoice('memory');
  if (choice) box.append(choice);
  const right = make('div', {});
  tensors(right);
  queues(right);
  box.append(make('div', { class: 'two' }, make('div', {}, ...state.meta.sources[source()].cores.map(use)), right));
}

export const start = () => addTab('memory', 'Memory', render);
