// The iterations of a loop side by side: upwards their times, downwards the waits of their instructions. The slowest is marked,
// and that of the selected instruction; it is one tab stop with arrow keys, and a click zooms.

import { make } from './dom.js';
import { whole } from './format.js';
import { duration } from './time.js';
import { glideTo } from './state.js';

const COLUMNS_MAX = 240; // more iterations share columns

function columnsOf(iterations) {
  const each = Math.max(1, Math.ceil(iterations.length / COLUMNS_MAX));
  const columns = [];
  for (let i = 0; i < iterations.length; i += each) {
    const list = iterations.slice(i, i + each);
    columns.push({ list, worst: list.reduce((worst, one) => (one.end - one.start > worst.end - worst.start ? one : worst)), wait: Math.max(...list.map(({ wait }) => wait)) });
  }
  return columns;
}

const named = (names, values) => values.split(',').map((value, i) => `${names[i] ?? '?'}=${value}`).join(' ');

// names: of the variables, outermost first; here: the values of the selected instruction, or null.
export function strip(names, iterations, here) {
  const columns = columnsOf(iterations);
  const spanOf = ({ worst }) => worst.end - worst.start;
  const spanMost = Math.max(1, ...columns.map(spanOf));
  const waitMost = Math.max(1, ...columns.map(({ wait }) => wait));
  const slowest = columns.find((column) => spanOf(column) === spanMost);
  const textOf = (column) => `${named(names, column.worst.values)}: span ${duration(spanOf(column))}, stall ${duration(column.wait * 1000)}${column.list.length > 1 ? `, the slowest of ${whole(column.list.length)} iterations here` : ''}${column === slowest ? ', slowest of all' : ''}`;
  const buttons = columns.map((column) => {
    const isHere = here !== null && column.list.some(({ values }) => values === here);
    const up = make('i', { class: 'up' });
    const down = make('i', { class: 'down' });
    up.style.height = `${(spanOf(column) / spanMost) * 100}%`;
    down.style.height = `${(column.wait / waitMost) * 100}%`;
    const text = textOf(column) + (isHere ? ', contains the selected instruction' : '');
    return make('button', { type: 'button', class: `turn${column === slowest ? ' slowest' : ''}${isHere ? ' here' : ''}`, tabindex: column === slowest ? 0 : -1, title: text, 'aria-label': text,
      onclick: () => glideTo(column.worst.start, column.worst.end, 0.8) }, make('span', {}, up), make('span', {}, down));
  });
  const box = make('div', { class: 'strip', role: 'group', 'aria-label': 'Iterations: span above, stall below the line' }, ...buttons);
  box.addEventListener('keydown', (event) => {
    const at = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const to = buttons[Math.max(0, Math.min(buttons.length - 1, next))];
    buttons.forEach((button) => { button.tabIndex = button === to ? 0 : -1; });
    to.focus();
  });
  return box;
}
