// Shows the latency of the period: percentiles of each process, and the histogram of all processes.

import { byId, fillTable, choice } from './dom.js';
import * as format from './format.js';
import { merge, bounds, percentile } from './histogram.js';
import { prepare, colours } from './canvas.js';
import { state } from './state.js';

const PERCENTILES = ['p0', 'p1', 'p25', 'p50', 'p75', 'p99', 'p100'];
const BARS = 48;
const GAP = 8; // pixels between two labels
const ROW = 12; // height of a row of labels in pixels
let kind = 'total';

// Places labels right to left, each as near to its middle as there is room; null: no room.
export function placeLabels(labels, width) {
  let room = labels.reduce((all, { wide }) => all + wide + GAP, 0); // pixels for a label and all labels on its left
  let end = width;
  if (room - GAP > width) return null;
  return labels.toReversed().map(({ x, wide }) => {
    room -= wide + GAP;
    const left = Math.max(room, Math.min(x - wide / 2, end - wide));
    end = left - GAP;
    return left;
  }).reverse();
}

// Draws bars of equal width on a logarithmic axis.
function drawHistogram() {
  const canvas = byId('histogram');
  const { context, width, height } = prepare(canvas, 130);
  const ink = colours();
  const histogram = merge(state.runtimes.map((runtime) => runtime[`${kind}Histogram`]));
  context.font = '11px system-ui, sans-serif';
  context.fillStyle = ink.soft;
  canvas.dataset.labels = '[]';
  if (histogram.count === 0) {
    context.fillText('no execution in this period', 4, 20);
    canvas.setAttribute('aria-label', 'Histogram of latency: no execution in this period');
    return;
  }
  const low = Math.log(Math.max(1, bounds(histogram.buckets[0][0])[0]) / 1.25);
  const [lastLow, lastWidth] = bounds(histogram.buckets.at(-1)[0]);
  const high = Math.log((lastLow + lastWidth) * 1.25);
  const bars = new Array(BARS).fill(0);
  for (const [bucket, count] of histogram.buckets) {
    const [from, wide] = bounds(bucket);
    bars[Math.min(BARS - 1, Math.floor((Math.log(Math.max(1, from + wide / 2)) - low) / (high - low) * BARS))] += count;
  }
  const most = Math.max(...bars);
  const floor = height - 18;
  const at = (ns) => (Math.log(ns) - low) / (high - low) * width;
  const labels = [50, 99].map((percent) => {
    const ns = percentile(histogram, percent);
    const text = `p${percent} ${format.nanoseconds(ns)}`;
    return { text, x: at(Math.max(1, ns)), wide: context.measureText(text).width };
  });
  const lefts = placeLabels(labels, width); // null: draw the labels one above the other
  const head = lefts ? ROW : ROW * labels.length;
  context.fillStyle = ink.accent;
  bars.forEach((count, i) => {
    const tall = count === 0 ? 0 : Math.max(1, count / most * (floor - head - 4));
    context.fillRect(i * width / BARS + 1, floor - tall, width / BARS - 2, tall);
  });
  context.fillStyle = ink.line;
  context.fillRect(0, floor, width, 1);
  context.fillStyle = ink.accent2;
  const boxes = labels.map(({ text, x, wide }, i) => {
    const left = lefts ? lefts[i] : Math.max(0, Math.min(x - wide / 2, width - wide));
    const bottom = lefts ? ROW : ROW * (i + 1);
    context.fillRect(x, bottom, 1, floor - bottom);
    context.fillText(text, left, bottom - 2);
    return { left, right: left + wide, top: bottom - ROW, bottom };
  });
  canvas.dataset.labels = JSON.stringify(boxes);
  context.fillStyle = ink.soft;
  const first = format.nanoseconds(Math.exp(low));
  const last = format.nanoseconds(Math.exp(high));
  context.fillText(first, 0, height - 4);
  context.fillText(last, width - context.measureText(last).width, height - 4);
  canvas.setAttribute('aria-label', `Histogram of ${kind} latency of ${histogram.count} executions from ${first} to ${last}`);
}

export function draw() {
  drawHistogram();
  fillTable(byId('latency'), [
    { name: 'process', text: true, value: (runtime) => runtime.tag },
    ...PERCENTILES.filter((name) => name !== 'p1' && name !== 'p25' && name !== 'p75').map((name) => ({
      name: name === 'p0' ? 'min' : name === 'p100' ? 'max' : name,
      value: (runtime) => format.seconds(runtime.latency?.[`${kind}_latency`]?.[name]),
      raw: (runtime) => runtime.latency?.[`${kind}_latency`]?.[name] ?? '',
    })),
  ], state.runtimes, 'No application uses NeuronCores.');
}

export function start() {
  choice(byId('latency-kind'), [['total', 'total', 'time seen by the caller'], ['device', 'device', 'time on the core; for software cores, host time']], kind, (value) => {
    kind = value;
    draw();
  });
}
