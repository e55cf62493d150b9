// The roofline: work per byte against work per time, all of it and each layer.

import { make } from './dom.js';
import { bytes, count } from './format.js';
import { absence, analysis, sourceChoice } from './answers.js';
import { addTab, bar, table } from './panel.js';
import { duration } from './time.js';

const SVG = 'http://www.w3.org/2000/svg';
const WIDTH = 560;
const HEIGHT = 300;
const EDGE = { left: 62, right: 14, top: 14, bottom: 34 };

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Points that can be drawn: work and bytes are known and not 0.
function pointsOf(roofline) {
  return [{ layer: 'all of it', isAll: true, ...roofline.total }, ...roofline.layers]
    .filter((one) => one.flops > 0 && one.flops_per_byte > 0 && one.time_ns > 0)
    .map((one) => ({ ...one, rate: one.flops / (one.time_ns * 1e-9) }));
}

function plot(roofline) {
  const points = pointsOf(roofline);
  const ridge = roofline.ridge_flops_per_byte;
  const xs = [Math.min(ridge / 100, ...points.map((one) => one.flops_per_byte / 3)), Math.max(ridge * 20, ...points.map((one) => one.flops_per_byte * 3))];
  const ys = [Math.min(roofline.peak_flops_per_second / 1e4, ...points.map((one) => one.rate / 3)), roofline.peak_flops_per_second * 3];
  const place = (value, [low, high], from, to) => from + ((Math.log10(value) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (to - from);
  const x = (value) => place(value, xs, EDGE.left, WIDTH - EDGE.right);
  const y = (value) => place(value, ys, HEIGHT - EDGE.bottom, EDGE.top);
  const picture = svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'roofline', role: 'img', 'aria-label': `Roofline: ${roofline.total.bound} bound, ${((roofline.total.roofline_ratio ?? 0) * 100).toFixed(1)}% of what the roof allows` });
  for (let power = Math.ceil(Math.log10(xs[0])); power <= Math.log10(xs[1]); power++) {
    picture.append(svg('line', { class: 'grid', x1: x(10 ** power), x2: x(10 ** power), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
      svg('text', { x: x(10 ** power), y: HEIGHT - EDGE.bottom + 14, 'text-anchor': 'middle' }, power >= 0 ? count(10 ** power) : String(10 ** power)));
  }
  for (let power = Math.ceil(Math.log10(ys[0])); power <= Math.log10(ys[1]); power++) {
    picture.append(svg('line', { class: 'grid', y1: y(10 ** power), y2: y(10 ** power), x1: EDGE.left, x2: WIDTH - EDGE.right }),
      svg('text', { x: EDGE.left - 6, y: y(10 ** power) + 4, 'text-anchor': 'end' }, count(10 ** power)));
  }
  picture.append(svg('polyline', { class: 'roof', points: `${x(xs[0])},${y(Math.max(ys[0], xs[0] * roofline.peak_bytes_per_second))} ${x(ridge)},${y(roofline.peak_flops_per_second)} ${x(xs[1])},${y(roofline.peak_flops_per_second)}` }),
    svg('text', { x: WIDTH - EDGE.right, y: y(roofline.peak_flops_per_second) - 6, 'text-anchor': 'end' }, `${count(roofline.peak_flops_per_second)}FLOP/s`),
    svg('text', { x: (EDGE.left + WIDTH - EDGE.right) / 2, y: HEIGHT - 4, 'text-anchor': 'middle' }, 'FLOPs per byte of device memory'),
    svg('text', { x: 12, y: HEIGHT / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${HEIGHT / 2})` }, 'FLOPs per second'));
  for (const point of points) {
    const dot = svg('circle', { class: point.isAll ? 'all' : 'layer', cx: x(point.flops_per_byte), cy: y(point.rate), r: point.isAll ? 6 : 4 });
    dot.append(svg('title', {}, `${point.layer}: ${count(point.rate)}FLOP/s at ${point.flops_per_byte.toFixed(1)} FLOPs per byte`));
    picture.append(dot, svg('text', { class: 'name', x: x(point.flops_per_byte) + 9, y: y(point.rate) + 4 }, point.layer));
  }
  return picture;
}

function render(box) {
  const choice = sourceChoice('roofline');
  if (choice) box.append(choice);
  const roofline = analysis(box, 'roofline', 'roofline');
  if (!roofline) return;
  const all = [{ layer: 'all of it', ...roofline.total }, ...roofline.layers];
  box.append(make('div', { class: 'two' }, plot(roofline),
    table([['Layer', true], ['Time'], ['FLOPs'], ['HBM'], ['FLOPs/byte'], ['Bound', true], ['At least'], ['Of the roof']], all.map((one) => ({
      cells: [one.layer, { value: one.time_ns, text: duration(one.time_ns * 1000) }, { value: one.flops, text: count(one.flops) }, { value: one.hbm_bytes, text: bytes(one.hbm_bytes) },
        { value: one.flops_per_byte ?? -1, text: one.flops_per_byte === null ? '' : one.flops_per_byte.toFixed(1) }, one.bound,
        { value: one.least_ns, text: one.least_ns ? duration(one.least_ns * 1000) : '' }, one.roofline_ratio === null ? '' : bar(one.roofline_ratio)],
    })))));
}

export const start = () => addTab('roofline', 'Roofline', render, () => absence('roofline', 'roofline'));
