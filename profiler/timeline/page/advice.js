// What to look at first, each with the number behind it, as `neuron-profile analyze advice` says.

import { make } from './dom.js';
import { analysis, sourceChoice } from './answers.js';
import { addTab, bar } from './panel.js';

function render(box) {
  const choice = sourceChoice('advice');
  if (choice) box.append(choice);
  const list = analysis(box, 'advice', 'advice');
  if (!list) return;
  if (!list.length) box.append(make('p', { class: 'soft' }, 'Nothing stands out.'));
  box.append(make('ol', { class: 'advice' }, ...list.map((one) => make('li', {}, make('b', {}, one.text), make('span', {}, one.what_to_do),
    make('small', { class: 'soft' }, `${one.measured}: ${one.value.toLocaleString('en', { maximumFractionDigits: 3 })}, told beyond ${one.threshold}. Concerns `,
      bar(one.share_of_execution ?? 0).element, ' of the execution')))));
}

export const start = () => addTab('advice', 'Advice', render);
