// Shows what to fix first, each item with its number, as in `neuron-profile analyze advice`.

import { make } from './dom.js';
import { share } from './format.js';
import { analysis, answer, source, sourceChoice } from './answers.js';
import { addTab, bar } from './panel.js';
import { lineName, linesOf } from './place.js';
import { tell } from './state.js';
import { duration } from './time.js';

// Turns references to source lines in a text into links.
function linked(text, found) {
  const parts = text.split(/([\w./+-]*[\w+-]\.\w+:\d+)/);
  return parts.map((part, i) => {
    const line = i % 2 ? found?.lines.find(({ file, line: number }) => file !== undefined && (part === lineName({ path: found.files[file].path, line: number }) || part === `${found.files[file].path}:${number}`)) : null;
    return line ? make('button', { type: 'button', class: 'as-link', onclick: () => tell('line', line) }, part) : part;
  });
}

const gain = (one) => (one.estimated_gain_ns === undefined ? ''
  : `. Estimated gain ${duration(one.estimated_gain_ns * 1e3)} (${share(one.estimated_gain_of_execution)} of the execution), at most ${duration(one.largest_gain_ns * 1e3)} (${share(one.largest_gain_of_execution)})`);

function render(box) {
  const choice = sourceChoice('advice');
  if (choice) box.append(choice);
  const list = analysis(box, 'advice', 'advice');
  if (!list) return;
  const found = answer(make('div'), 'advice', `lines of advice ${source()}`, () => linesOf(source()));
  if (!list.length) box.append(make('p', { class: 'soft' }, 'No findings: all figures are within their thresholds.'));
  if (list.filter((one) => one.estimated_gain_ns !== undefined).length > 1) box.append(make('p', { class: 'soft' }, 'Estimated gains overlap: do not add them up.'));
  box.append(make('ol', { class: 'advice' }, ...list.map((one) => make('li', {}, make('b', {}, ...linked(one.text, found)), make('span', {}, ...linked(one.what_to_do, found)),
    make('small', { class: 'soft' }, `${one.measured}: ${one.value.toLocaleString('en', { maximumFractionDigits: 3 })}, threshold ${one.threshold}. Affects `,
      bar(one.share_of_execution ?? 0).element, ` of the execution${gain(one)}`)))));
}

export const start = () => addTab('advice', 'Advice', render);
