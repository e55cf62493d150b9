// Shows the cores as a heat map by device, and one core in detail.

import { byId, make, setText, fillTable, choice } from './dom.js';
import * as format from './format.js';
import { state, ENGINES } from './state.js';

let shown = 'busy'; // "busy", or the name of an engine
let selected = null; // number of the selected logical core; null if none
let cells = new Map();
let laidOut = '';
let onSelect = () => {};

const valueOf = (core) => (shown === 'busy' ? core.busy : core.engines[shown] ?? (core.busy === null ? null : core.engines[shown] ?? null));
const labelOf = (core) => {
  const name = shown === 'busy' ? 'busy' : ENGINES.find(([id]) => id === shown)[2];
  const value = valueOf(core);
  if (core.deadSince) return `Core ${core.index}, dead since ${new Date(core.deadSince).toLocaleTimeString()}`;
  return `Core ${core.index}, ${value === null || value === undefined ? 'no process' : `${name} ${format.percent(value)}`}`;
};

function select(index) {
  selected = selected === index ? null : index;
  draw();
  onSelect(selected);
}

function move(event) {
  const at = Number(event.target.dataset.core);
  const grid = event.target.closest('.grid');
  const wide = grid ? getComputedStyle(grid).gridTemplateColumns.split(' ').length : 1;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + wide, ArrowUp: at - wide, Home: 0, End: cells.size - 1 }[event.key];
  if (to === undefined || !cells.has(to)) return;
  event.preventDefault();
  rove(to);
  cells.get(to).button.focus();
}

// One cell is the tab stop; arrow keys move between cells.
function rove(index) {
  for (const [i, cell] of cells) cell.button.tabIndex = i === index ? 0 : -1;
}

function layOut() {
  const heat = byId('heat');
  const illness = (device) => (device.health && device.health.verdict !== 'healthy' ? device.health.verdict : '');
  const sign = `${state.coresPerDevice}/${state.devices.map(illness)}`;
  if (sign === laidOut) return;
  laidOut = sign;
  cells = new Map();
  const columns = state.coresPerDevice <= 2 ? 2 : 4;
  const devices = state.devices.map((device) => {
    const heading = make('span');
    const grid = make('div', { class: 'grid' });
    grid.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
    for (const core of state.cores.values()) {
      if (core.device !== device.index) continue;
      const value = make('span');
      const button = make('button', { type: 'button', class: 'cell', 'data-core': core.index, tabindex: cells.size === 0 ? 0 : -1,
        onclick: () => { rove(core.index); select(core.index); }, onkeydown: move }, make('b', {}, String(core.index)), value);
      cells.set(core.index, { button, value });
      grid.append(button);
    }
    return make('div', { class: 'device' }, make('h3', {}, make('span', illness(device) === 'unhealthy' ? { class: 'bad' } : {}, `Device ${device.index} ${illness(device)}`.trim()), heading), grid);
  });
  heat.replaceChildren(...devices);
  if (devices.length === 0) heat.append(make('p', { class: 'note' }, 'No Neuron devices.'));
}

function drawDetail() {
  const box = byId('core');
  const core = selected === null ? null : state.cores.get(selected);
  if (!core) {
    box.replaceChildren(make('p', { class: 'note' }, state.cores.size ? 'Select a core to show its engines, memory traffic and history.' : ''));
    return;
  }
  let table = box.querySelector('table');
  if (!table) {
    table = make('table');
    box.replaceChildren(make('h3', {}), table);
  }
  setText(box.querySelector('h3'), `Core ${core.index} on device ${core.device}${state.lnc > 1 && core.physical.length ? ` (physical ${core.physical.join(', ')})` : ''}`);
  const rows = [
    [core.busyOfCalls ? 'busy (time of calls, including waiting)' : 'busy', format.percent(core.busy), core.busy],
    ...ENGINES.map(([id, name, help]) => [`${name} ${help}`, format.percent(core.engines[id]), core.engines[id]]),
    ['FLOP/s', format.count(core.flops), core.flops],
    [`${state.memoryType} read`, core.read === undefined ? '-' : `${format.bytes(core.read)}/s`, core.read],
    [`${state.memoryType} written`, core.written === undefined ? '-' : `${format.bytes(core.written)}/s`, core.written],
    ['in flight', format.whole(core.inFlight), core.inFlight],
    ...(core.deadSince ? [['dead since', new Date(core.deadSince).toLocaleTimeString(), core.deadSince]] : []),
    ['processes', core.users.map((runtime) => runtime.tag).join(', ') || '-', core.users.length],
  ];
  fillTable(table, [{ name: 'figure', text: true, value: (row) => row[0] }, { name: 'now', value: (row) => row[1], raw: (row) => row[2] ?? '' }], rows, '');
}

export function draw() {
  layOut();
  for (const core of state.cores.values()) {
    const cell = cells.get(core.index);
    const value = valueOf(core);
    const heat = value === null || value === undefined ? '' : `h${Math.max(0, Math.min(9, Math.floor(value / 10)))}`;
    cell.button.className = `cell ${heat}`;
    cell.button.setAttribute('aria-pressed', core.index === selected);
    cell.button.setAttribute('aria-label', labelOf(core));
    cell.button.dataset.value = value ?? '';
    setText(cell.value, core.deadSince ? 'dead' : value === null || value === undefined ? '·' : value >= 99.95 ? '100' : value.toFixed(value < 10 ? 1 : 0));
  }
  drawDetail();
}

export function start(on) {
  onSelect = on;
  choice(byId('engine'), [['busy', 'busy', 'busy share of the core'], ...ENGINES.map(([id, name, help]) => [id, name, `busy share of the ${name} ${help}`])], shown, (value) => {
    shown = value;
    draw();
  });
}
