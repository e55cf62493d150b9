// A capture dropped onto the page, alone or with its NEFF: the server shows it on a separate page.

import { byId, make, setText } from './dom.js';
import { bytes } from './format.js';
import { state } from './state.js';

let depth = 0; // nesting depth of dragged-over elements
let isBusy = false;

const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');

const HINT = 'Drop a capture (*.ntff), optionally with its NEFF (*.neff)';

// Shows a message below the rows until the next one or a click.
function say(text, isBad, ...more) {
  const box = byId('drop');
  setText(box, text);
  box.append(...more);
  box.hidden = !text;
  box.classList.toggle('bad', Boolean(isBad));
}

// Checks what the server would reject, before sending anything.
function whatIsWrong(files) {
  const captures = files.filter(({ name }) => name.endsWith('.ntff'));
  const other = files.find(({ name }) => !/\.(ntff|neff)$/.test(name));
  if (!state.source.drop) return 'This file contains one capture: use neuron-profile view for others';
  if (other) return `${other.name} is neither a capture (*.ntff) nor a NEFF (*.neff)`;
  if (!captures.length) return 'No capture (*.ntff): drop it together with its NEFF';
  if (captures.length > 1) return `${captures[0].name} and ${captures[1].name} are two captures: drop one at a time`;
  return '';
}

export async function open(files) {
  const wrong = isBusy ? 'The previous files are still being uploaded' : whatIsWrong(files);
  if (wrong) {
    say(wrong, true);
    return;
  }
  const { name } = files.find((file) => file.name.endsWith('.ntff'));
  isBusy = true;
  say(`Reading ${name} (${bytes(files.reduce((sum, { size }) => sum + size, 0))}) …`);
  try {
    const { port, said } = await state.source.drop(files);
    const address = `${location.protocol}//${location.hostname}:${port}/`;
    if (said.length) say(`${said.join('. ')}. `, false, make('a', { href: address }, `Show ${name}`));
    else location.assign(address);
  } catch (error) {
    say(`${name} cannot be shown: ${error.message}`, true);
  } finally {
    isBusy = false;
  }
}

export function start() {
  byId('drop').addEventListener('click', () => { if (!isBusy) say(''); });
  addEventListener('dragenter', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth++;
    say(HINT);
  });
  addEventListener('dragover', (event) => { if (hasFiles(event)) event.preventDefault(); });
  addEventListener('dragleave', (event) => {
    if (!hasFiles(event)) return;
    depth = Math.max(0, depth - 1);
    if (!depth) say('');
  });
  addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    open([...event.dataTransfer.files]);
  });
}
