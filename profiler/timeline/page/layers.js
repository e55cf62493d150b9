// Shows the largest costs: layers as a tree by name, operations, instructions.

import { make, choice } from './dom.js';
import { bytes, count, whole } from './format.js';
import { analysis, source, sourceChoice } from './answers.js';
import { psOf } from './engines.js';
import { setRange } from './input.js';
import { addTab, bar, refresh, table } from './panel.js';
import { duration } from './time.js';
import { glideTo, state } from './state.js';

let kind = 'layers';
const opened = new Set();
let isFresh = true;

const SUMS = ['count', 'instruction_ns', 'active_ns', 'path_ns', 'flops', 'hbm_read_bytes', 'hbm_write_bytes'];

// Nodes of "a/b/c" nested; a node has the sums of its children.
function treeOf(layers) {
  const root = { children: new Map() };
  for (const layer of layers) {
    let node = root;
    const parts = layer.name.split('/');
    parts.forEach((part, depth) => {
      if (!node.children.has(part)) {
        node.children.set(part, { name: part, path: parts.slice(0, depth + 1).join('/'), depth, children: new Map(), start_ns: Infinity, end_ns: -Infinity, ...Object.fromEntries(SUMS.map((key) => [key, 0])) });
      }
      node = node.children.get(part);
      for (const key of SUMS) node[key] += layer[key] ?? 0;
      node.start_ns = Math.min(node.start_ns, layer.start_ns);
      node.end_ns = Math.max(node.end_ns, layer.end_ns);
    });
  }
  return root;
}

function visible(node, list = []) {
  for (const child of [...node.children.values()].sort((a, b) => a.start_ns - b.start_ns)) {
    list.push(child);
    if (opened.has(child.path)) visible(child, list);
  }
  return list;
}

// When the layer ran, within the time of all layers.
function lane(node, begin, end) {
  const box = make('span', { class: 'lane', role: 'img', 'aria-label': `from ${duration(node.start_ns * 1000)} to ${duration(node.end_ns * 1000)}` });
  const part = make('i', {});
  part.style.left = `${((node.start_ns - begin) / (end - begin)) * 100}%`;
  part.style.width = `${Math.max(0.7, ((node.end_ns - node.start_ns) / (end - begin)) * 100)}%`;
  box.append(part);
  return { element: box, value: node.start_ns, text: '' };
}

function nameCell(node) {
  const hasMore = node.children.size > 0;
  const element = make('span', { class: 'branch' }, hasMore ? make('button', { type: 'button', class: 'fold-button', 'aria-expanded': String(opened.has(node.path)), 'aria-label': `Layers below ${node.path}`, onclick: (event) => {
    event.stopPropagation();
    if (!opened.delete(node.path)) opened.add(node.path);
    refresh('layers');
  } }, make('span', { class: 'fold' })) : make('span', { class: 'no-fold' }), node.name);
  element.style.paddingLeft = `${node.depth * 16}px`;
  return { element, text: node.path };
}

function go(start, end) {
  setRange(psOf(start), psOf(end), true);
  glideTo(psOf(start), psOf(end), 0.8);
}

function layers(top) {
  const tree = treeOf(top.layers);
  const nodes = visible(tree);
  const begin = Math.min(...top.layers.map((layer) => layer.start_ns));
  const end = Math.max(...top.layers.map((layer) => layer.end_ns));
  const total = Math.max(top.layers.reduce((sum, layer) => sum + layer.path_ns, 0), 1); // the path is as long as the execution
  return table([['Layer', true], ['When', true], ['Instructions'], ['Busy'], ['On critical path'], ['Share of execution'], ['FLOPs'], ['HBM read'], ['HBM written']], nodes.map((node) => ({
    onclick: () => go(node.start_ns, node.end_ns),
    cells: [nameCell(node), lane(node, begin, end), { value: node.count, text: whole(node.count) }, { value: node.active_ns, text: duration(node.active_ns * 1000) },
      { value: node.path_ns, text: duration(node.path_ns * 1000) }, bar(node.path_ns / total), { value: node.flops, text: node.flops ? count(node.flops) : '' },
      { value: node.hbm_read_bytes, text: node.hbm_read_bytes ? bytes(node.hbm_read_bytes) : '' }, { value: node.hbm_write_bytes, text: node.hbm_write_bytes ? bytes(node.hbm_write_bytes) : '' }],
  })));
}

function costs(list) {
  const hasSlot = list.some((row) => row.pc !== undefined);
  const columns = [['Engine', true], ['Operation', true], ...(hasSlot ? [['PC'], ['Layer', true]] : []), ['Count'], ['Busy'], ['Share of execution'], ['On critical path'], ['FLOPs']];
  return table(columns, list.map((row) => ({
    onclick: row.start_ns === undefined ? null : () => go(row.start_ns, row.end_ns),
    cells: [row.engine, row.opcode ?? row.name, ...(hasSlot ? [{ value: row.pc, text: String(row.pc) }, row.layer ?? ''] : []), { value: row.count, text: whole(row.count) },
      { value: row.active_ns, text: duration(row.active_ns * 1000) }, bar(row.active_ratio ?? 0), { value: row.path_ns ?? 0, text: row.path_ns ? duration(row.path_ns * 1000) : '' },
      { value: row.flops ?? 0, text: row.flops ? count(row.flops) : '' }],
  })));
}

function render(box) {
  const body = make('div', {});
  const top = analysis(body, 'layers', 'top');
  if (top && isFresh) {
    for (const node of treeOf(top.layers).children.values()) opened.add(node.path);
    if (!top.layers.length) kind = 'operations';
    isFresh = false;
  }
  const head = make('div', { class: 'pane-head' }, sourceChoice('layers'));
  const group = make('div', { role: 'radiogroup', 'aria-label': 'Costs by' });
  choice(group, [['layers', 'Layers'], ['operations', 'Operations'], ['instructions', 'Instructions']], kind, (value) => {
    kind = value;
    refresh('layers');
    document.querySelector('.pane-layers [aria-checked=true]')?.focus();
  });
  head.append(group);
  box.append(head, body);
  if (!top) return;
  if (kind === 'layers') {
    body.append(top.layers.length ? layers(top) : make('p', { class: 'soft' }, state.meta.sources[source()]?.has_neff ? 'The NEFF contains no layer names: see Operations and Instructions.' : 'No layer names: pass the NEFF that contains them with -n.'));
  } else {
    body.append(costs(top[kind]));
  }
}

export const start = () => addTab('layers', 'Layers', render);
