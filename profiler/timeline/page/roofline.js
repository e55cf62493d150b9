// The roofline: work per byte against work per time, for an execution, its layers, regions and source lines; for two runs, each
// with its own roof.

import { make } from './dom.js';
import { bytes, count, share } from './format.js';
import { absence, answer, source, sourceChoice } from './answers.js';
import { addTab, bar, refresh, table } from './panel.js';
import { duration } from './time.js';
import { state } from './state.js';

const SVG = 'http://www.w3.org/2000/svg';
const EDGE = { left: 74, right: 18, top: 18, bottom: 40 };
const SIDE = { share: 0.36, most: 760, gap: 18, step: 150 }; // at the right: points without device memory traffic
const LEAST_HEIGHT = 170;
const REACH = 22; // distance in pixels from the pointer to a point
const LABELS = 14; // maximum number of labels, for the points with the longest times
const KINDS = [['all', 'Whole execution'], ['layer', 'Layers'], ['region', 'Regions'], ['line', 'Source lines']];
const RUNS = ['before', 'after'];

const hidden = new Set(); // hidden kinds of points
let watcher = null;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// ---- the data ---------------------------------------------------------------------------------

const rate = (value) => `${count(value)}FLOP/s`;
const power = (exponent) => (exponent >= 0 ? count(10 ** exponent).replace(/\.0+/, '') : String(10 ** exponent));
// A share that rounds to 0.0% has one digit that is not 0.
const part = (value) => (value > 0 && value < 0.0005 ? `${Number((value * 100).toPrecision(1))}%` : share(value));

// Rows of a run: [kind, name, figures].
function rowsOf({ roofline, run }) {
  const of = (kind, rows) => rows.map((row) => ({ ...row, kind, run, name: kind === 'all' ? 'Whole execution' : row[kind] }));
  return [...of('all', [roofline.total]), ...of('layer', roofline.layers), ...of('region', roofline.regions), ...of('line', roofline.lines)];
}

// A point needs known work and time, not 0. Without bytes it is at the side.
const pointsOf = (rows) => rows.filter((row) => row.flops > 0 && row.time_ns > 0)
  .map((row) => ({ ...row, rate: row.flops / (row.time_ns * 1e-9) }));

// The runs with loaded answers; messages go into box.
function runsOf(box) {
  const sources = state.meta.compares ? [0, 1] : [source()];
  return sources.map((s) => ({ s, run: state.meta.compares ? RUNS[s] : '', roofline: answer(box, 'roofline', `analysis ${s} roofline`, () => state.source.analysis(s, 'roofline')) }))
    .filter((one) => one.roofline);
}

// "31.5TFLOP/s, bf16 50%, fp32 50%, 1 of 2 cores"
function computeText({ ceilings, peak_flops_per_second: peak }) {
  const all = ceilings.types.reduce((sum, type) => sum + type.flops, 0);
  const mix = ceilings.types.length > 1 ? ceilings.types.map((type) => `${type.type} ${Math.round((type.flops / all) * 100)}%`).join(', ') : ceilings.types[0]?.type ?? '16 bits';
  return `${rate(peak)}, ${mix}, ${ceilings.core_count} of ${ceilings.core_total} ${ceilings.core_total === 1 ? 'core' : 'cores'}`;
}

function memoryText({ ceilings, peak_bytes_per_second: peak }) {
  const isDma = ceilings.dma_bytes_per_second < ceilings.memory_bytes_per_second;
  const stacks = `${ceilings.memory_stack_count} memory ${ceilings.memory_stack_count === 1 ? 'stack' : 'stacks'}`;
  return `${count(peak)}B/s, ${isDma ? `${ceilings.dma_engine_count} DMA engines` : stacks}`;
}

// ---- the picture -----------------------------------------------------------------------------------

function scalesOf(runs, points, width, height) {
  const inside = points.filter((one) => one.flops_per_byte > 0);
  const ridges = runs.map(({ roofline }) => roofline.ridge_flops_per_byte);
  const peaks = runs.flatMap(({ roofline }) => [roofline.peak_flops_per_second, ...roofline.ceilings.types.map((type) => type.flops_per_second)]);
  const xs = [Math.min(...ridges.map((ridge) => ridge / 100), ...inside.map((one) => one.flops_per_byte / 2)), Math.max(...ridges.map((ridge) => ridge * 10), ...inside.map((one) => one.flops_per_byte * 2))];
  const ys = [Math.min(Math.max(...peaks) / 1e3, ...points.map((one) => one.rate / 2)), Math.max(...peaks) * 2];
  const place = (value, [low, high], from, until) => from + ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (until - from);
  const side = sideOf(points, width);
  const right = width - EDGE.right - (side ? side.width + SIDE.gap : 0);
  return { xs, ys, side, right, taken: [], x: (value) => place(value, xs, EDGE.left, right), y: (value) => place(value, ys, height - EDGE.bottom, EDGE.top) };
}

// As wide as its points need, so that their names fit.
function sideOf(points, width) {
  const outside = points.filter((one) => !(one.flops_per_byte > 0)).length;
  const side = Math.round(Math.min((outside + 1) * SIDE.step, SIDE.most, (width - EDGE.left - EDGE.right) * SIDE.share));
  return outside ? { from: width - EDGE.right - side, width: side } : null;
}

function grid({ xs, ys, x, y, side, right }, height) {
  const parts = [];
  for (let exponent = Math.ceil(Math.log10(xs[0])); exponent <= Math.log10(xs[1]); exponent++) {
    const at = x(10 ** exponent);
    parts.push(svg('line', { class: 'grid', x1: at, x2: at, y1: EDGE.top, y2: height - EDGE.bottom }),
      svg('text', { x: at, y: height - EDGE.bottom + 15, 'text-anchor': 'middle' }, power(exponent)));
  }
  for (let exponent = Math.ceil(Math.log10(ys[0])); exponent <= Math.log10(ys[1]); exponent++) {
    const at = y(10 ** exponent);
    if (side) parts.push(svg('line', { class: 'grid', y1: at, y2: at, x1: side.from, x2: side.from + side.width }));
    parts.push(svg('line', { class: 'grid', y1: at, y2: at, x1: EDGE.left, x2: right }),
      svg('text', { x: EDGE.left - 7, y: at + 4, 'text-anchor': 'end' }, power(exponent)));
  }
  if (side) {
    parts.unshift(svg('rect', { class: 'side', x: side.from, y: EDGE.top, width: side.width, height: height - EDGE.bottom - EDGE.top }));
    parts.push(svg('text', { x: side.from + side.width / 2, y: height - EDGE.bottom + 15, 'text-anchor': 'middle' }, side.width < 200 ? 'no HBM' : 'without traffic to device memory'));
  }
  return [...parts,
    svg('text', { x: (EDGE.left + right) / 2, y: height - 6, 'text-anchor': 'middle' }, 'FLOPs per byte of device memory'),
    svg('text', { x: 14, y: height / 2, 'text-anchor': 'middle', transform: `rotate(-90 14 ${height / 2})` }, 'FLOPs per second')];
}

const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;

// A text at the first of its places that is free; none if all are taken, unless it must be there.
function textAt(taken, text, places, attributes, isRequired) {
  for (const [i, [x, y, anchor]] of places.entries()) {
    const width = text.length * 6.2;
    const box = { x0: anchor === 'end' ? x - width : x, x1: anchor === 'end' ? x : x + width, y0: y - 10, y1: y + 3 };
    if (taken.some((other) => meet(box, other)) && !(isRequired && i + 1 === places.length)) continue;
    taken.push(box);
    return [svg('text', { ...attributes, x, y, 'text-anchor': anchor }, text)];
  }
  return [];
}

// The slope of memory up to the ridge, then the compute limit; limits of single types are dashed.
function roof({ roofline, run, s }, { xs, ys, x, y, side, right, taken }, below) {
  const { peak_flops_per_second: peak, peak_bytes_per_second: speed, ridge_flops_per_byte: ridge, ceilings } = roofline;
  const low = Math.max(xs[0], ys[0] / speed);
  const name = run ? `${run}: ` : '';
  const parts = [svg('polyline', { class: `roof run-${s}`, points: `${x(low)},${y(low * speed)} ${x(ridge)},${y(peak)} ${x(xs[1])},${y(peak)}` })];
  if (side) parts.push(svg('line', { class: `roof run-${s}`, x1: side.from, x2: side.from + side.width, y1: y(peak), y2: y(peak) }));
  const top = y(peak);
  parts.push(...textAt(taken, `${name}${computeText(roofline)}`, [15, 28, 41, 15].map((down) => [right, top + (below ? down : -6), 'end']), { class: `roof-text run-${s}` }, true));
  if (ceilings.types.length > 1) {
    for (const type of ceilings.types) {
      const [x1, x2, height] = [x(Math.min(type.flops_per_second / speed, xs[1])), x(xs[1]), y(type.flops_per_second)];
      const places = [[right, height - 4, 'end'], [x1 + 4, height + 12, 'start'], [x1 + 4, height - 4, 'start']];
      parts.push(svg('line', { class: `ceiling run-${s}`, x1, x2, y1: height, y2: height }), ...textAt(taken, `${name}${type.type} ${rate(type.flops_per_second)}`, type.flops_per_second < peak ? places.slice(1) : places, {}));
    }
  }
  const middle = Math.sqrt(low * ridge);
  const angle = (Math.atan2(y(ridge * speed) - y(low * speed), x(ridge) - x(low)) * 180) / Math.PI;
  const [mx, my] = [x(middle), y(middle * speed) + (below ? 15 : -7)];
  parts.push(svg('text', { class: `roof-text run-${s}`, x: mx, y: my, 'text-anchor': 'middle', transform: `rotate(${angle} ${mx} ${my})` }, `${name}${memoryText(roofline)}`));
  return parts;
}

const SHAPES = {
  all: (x, y, r) => `M${x} ${y - r - 2}L${x + r + 2} ${y}L${x} ${y + r + 2}L${x - r - 2} ${y}Z`,
  layer: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
  region: (x, y, r) => `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
  line: (x, y, r) => `M${x} ${y - r}L${x + r} ${y + r}L${x - r} ${y + r}Z`,
};

const short = (name, most) => (name.length > most ? `${name.slice(0, most - 2)}…` : name);

// Names of the points with the longest times, if they fit.
function labels(placed, { side, right, taken }) {
  return [...placed].sort((a, b) => (b.kind === 'all') - (a.kind === 'all') || b.time_ns - a.time_ns).slice(0, LABELS).flatMap((point) => {
    const isAtSide = !(point.flops_per_byte > 0);
    const [low, high] = isAtSide ? [side.from, side.from + side.width] : [EDGE.left, right];
    const text = short(point.name, isAtSide ? 30 : 44);
    const box = { x0: point.x + 9, x1: point.x + 13 + text.length * 6.2, y0: point.y - 7, y1: point.y + 7 };
    if (box.x1 > high) Object.assign(box, { x0: point.x - 13 - text.length * 6.2, x1: point.x - 9 });
    if (box.x0 < low || taken.some((other) => meet(box, other))) return [];
    taken.push(box);
    return [svg('text', { class: 'name', x: box.x0, y: point.y + 4 }, text)];
  });
}

function facts(point) {
  return make('div', {}, make('b', {}, point.name), ...[
    [point.run, point.kind === 'all' ? '' : point.kind].filter(Boolean).join(', '),
    `${rate(point.rate)} ${point.flops_per_byte > 0 ? `at ${point.flops_per_byte.toFixed(1)} FLOPs per byte` : 'without device memory traffic'}`,
    `${count(point.flops)}FLOP and ${bytes(point.hbm_bytes)} in ${duration(point.time_ns * 1000)}`,
    `${point.bound} bound, at least ${duration(point.least_ns * 1000)}${point.is_hidden ? '; its transfers continue after it' : ''}`,
    point.roofline_ratio === null ? '' : `${part(point.roofline_ratio)} of the attainable rate`,
  ].filter(Boolean).map((text) => make('div', {}, text)));
}

// Shows the name of the point closest to the pointer.
function hover(frame, picture, placed) {
  const note = make('div', { class: 'roofline-note', hidden: true });
  let near = null;
  const choose = (point) => {
    if (near === point) return;
    near?.mark.classList.remove('near');
    near = point;
    note.hidden = !point;
    if (!point) return;
    point.mark.classList.add('near');
    note.replaceChildren(facts(point));
    note.style.left = `${Math.max(4, Math.min(point.x + 14, frame.clientWidth - note.offsetWidth - 6))}px`;
    note.style.top = `${Math.max(4, point.y + 14 + note.offsetHeight > frame.clientHeight ? point.y - note.offsetHeight - 12 : point.y + 14)}px`;
  };
  picture.addEventListener('pointermove', (event) => {
    const { left, top } = picture.getBoundingClientRect();
    const far = (point) => Math.hypot(point.x - (event.clientX - left), point.y - (event.clientY - top));
    const best = placed.reduce((found, point) => (!found || far(point) < far(found) ? point : found), null);
    choose(best && far(best) <= REACH ? best : null);
  });
  picture.addEventListener('pointerleave', () => choose(null));
  return note;
}

function plot(frame, runs, points) {
  const width = Math.max(420, frame.clientWidth);
  const height = frame.clientHeight;
  const scales = scalesOf(runs, points, width, height);
  const main = runs[runs.length - 1].roofline.total;
  const picture = svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, class: 'roofline', role: 'img', 'aria-label': `Roofline: ${main.bound} bound, ${part(main.roofline_ratio ?? 0)} of the attainable rate` });
  const placed = points.map((point) => ({ ...point, x: scales.x(point.flops_per_byte), y: scales.y(point.rate) }));
  // At the side, points are spread by their rate: those of similar height are far from each other.
  const sidePoints = placed.filter((point) => !(point.flops_per_byte > 0)).sort((a, b) => a.y - b.y);
  const columns = Math.max(1, Math.round((scales.side?.width ?? 0) / SIDE.step));
  sidePoints.forEach((point, i) => {
    const row = Math.floor(i / columns) % 3;
    point.x = scales.side.from + 12 + 11 * row + ((i % columns) * (scales.side.width - 46)) / columns;
  });
  scales.taken.push(...placed.map(({ x, y }) => ({ x0: x - 5, x1: x + 5, y0: y - 4, y1: y + 4 })));
  picture.append(...grid(scales, height), ...runs.flatMap((one, i) => roof(one, scales, i > 0)));
  for (const point of [...placed].reverse()) {
    point.mark = svg('path', { class: `${point.kind} run-${point.run === 'after' ? 1 : 0}`, d: SHAPES[point.kind](point.x, point.y, point.kind === 'all' ? 6 : 4.5), 'aria-label': point.name });
    picture.append(point.mark);
  }
  picture.append(...labels(placed, scales));
  frame.replaceChildren(picture, hover(frame, picture, placed));
}

// ---- the tab ---------------------------------------------------------------------------------------

function legend(points) {
  return KINDS.filter(([kind]) => points.some((point) => point.kind === kind)).map(([kind, title]) => {
    const check = make('input', { type: 'checkbox', onchange: () => {
      if (check.checked) hidden.delete(kind);
      else hidden.add(kind);
      refresh('roofline');
    } });
    check.checked = !hidden.has(kind);
    const mark = svg('svg', { width: 14, height: 14, class: 'roofline key', 'aria-hidden': 'true' }, svg('path', { class: `${kind} run-0`, d: SHAPES[kind](7, 7, 4) }));
    return make('label', {}, check, mark, ` ${title} (${points.filter((point) => point.kind === kind).length})`);
  });
}

function rowsTable(rows, hasRuns) {
  return table([['Name', true], ['Kind', true], ...(hasRuns ? [['Run', true]] : []), ['Time'], ['FLOPs'], ['HBM'], ['FLOPs/byte'], ['Bound', true], ['Minimum'], ['Share of roofline']], rows.map((one) => ({
    cells: [one.name, one.kind === 'all' ? '' : one.kind, ...(hasRuns ? [one.run] : []), { value: one.time_ns, text: duration(one.time_ns * 1000) }, { value: one.flops, text: count(one.flops) }, { value: one.hbm_bytes, text: bytes(one.hbm_bytes) },
      { value: one.flops_per_byte ?? -1, text: one.flops_per_byte === null ? '' : one.flops_per_byte.toFixed(1) }, one.bound,
      { value: one.least_ns, text: one.least_ns ? duration(one.least_ns * 1000) : '' }, one.roofline_ratio === null ? (one.is_hidden ? 'hidden' : '') : bar(one.roofline_ratio, undefined, 'of the attainable work in this time')],
  })));
}

function render(box) {
  watcher?.disconnect();
  const choice = state.meta.compares ? null : sourceChoice('roofline');
  const head = make('div', { class: 'pane-head' }, ...(choice ? [choice] : []));
  const runs = runsOf(box);
  if (!runs.length) {
    if (choice) box.prepend(head);
    return;
  }
  const rows = runs.flatMap(rowsOf);
  const all = pointsOf(rows);
  const points = all.filter((point) => !hidden.has(point.kind));
  head.append(...legend(all), make('span', { class: 'soft' }, runs.map(({ run, roofline }) => `${run ? `${run}: ` : ''}${roofline.mfu_ratio === null ? '' : `MFU ${part(roofline.mfu_ratio)}, `}memory is the limit below ${roofline.ridge_flops_per_byte.toFixed(1)} FLOPs per byte`).join(' · ')));
  if (runs.length > 1) head.append(make('span', { class: 'roofline-runs' }, ...runs.map(({ run, s }) => make('span', { class: `run-${s}` }, run))));
  const frame = make('div', { class: 'roofline-frame' });
  frame.style.minHeight = `${LEAST_HEIGHT}px`;
  const rest = rows.length - all.length;
  box.append(head, frame, ...(rest ? [make('p', { class: 'soft' }, `${rest} without matrix products ${rest === 1 ? 'has' : 'have'} no point and ${rest === 1 ? 'is' : 'are'} only in the table.`)] : []), rowsTable(rows, runs.length > 1));
  watcher = new ResizeObserver(() => frame.isConnected && plot(frame, runs, points));
  watcher.observe(frame);
}

export const start = () => addTab('roofline', 'Roofline', render, () => absence('roofline', 'roofline'));
