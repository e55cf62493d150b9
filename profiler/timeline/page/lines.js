// The source: each line with its stall, time, bytes and instructions, with the text of its file if available, and loops with
// their iterations. A line marks its instructions on the timeline, a selected instruction its line.

import { byId, make } from './dom.js';
import { bytes, whole } from './format.js';
import { answer, source, sourceChoice } from './answers.js';
import { addTab, bar, panel, refresh, showTab } from './panel.js';
import * as place from './place.js';
import { run } from './search.js';
import { strip } from './strip.js';
import { duration } from './time.js';
import { glideTo, on, state } from './state.js';

const ROW = 18; // pixels, as in style.css
const LOOPS_OPEN = 3; // number of loops with the longest waits that are open initially
const TEXTS_MAX = 8;  // number of files with text in a list of lines of several files

const MEASURES = [['wait', 'Stall', (v) => duration(v * 1000)], ['duration', 'Time', (v) => duration(v * 1000)], ['bytes', 'HBM', bytes], ['count', 'Instr.', whole]];
const REASONS = { runtime: 'from the runtime', compiler: 'from the compiler', no_debug_info: 'without debug information' };

const view = { order: null, file: null, chosen: null, top: 0, opened: new Map() };

const same = (a, b) => Boolean(a && b && a.file === b.file && a.line === b.line);

function choose(line, found) {
  view.chosen = { source: source(), file: line.file, line: line.line };
  const { path } = found.files[line.file];
  const isClear = found.files.filter((one) => place.baseName(one.path) === place.baseName(path)).length === 1;
  run(`line ${isClear ? place.baseName(path) : path}:${line.line}`, true);
  refresh('lines');
}

// ---- the rows ------------------------------------------------------------------------------------

const textKey = (file) => `text ${source()} ${file}`;
function textOf(box, found, file) {
  return found.files[file].has_text ? answer(box, 'lines', textKey(file), async () => (await state.source.sourceFile(source(), file)) ?? { lines: null, is_missing: true }) : null;
}

// A note about omitted lines and texts.
function omissions(found, texts) {
  const notes = [];
  if (found.lines.length < found.line_count) notes.push(`${whole(found.line_count - found.lines.length)} of ${whole(found.line_count)} lines are not shown: neuron-profile lines --json prints all`);
  for (const [file, text] of texts) {
    const name = place.baseName(found.files[file].path);
    if (text?.is_cut) notes.push(`the text of ${name} is truncated after line ${whole(text.lines.length)}`);
    if (text?.is_missing) notes.push(`the text of ${name} does not fit in this file`);
  }
  return notes.length ? make('p', { class: 'soft omitted' }, `${notes.join('; ').replace(/^t/, 'T')}.`) : null;
}

// [{ number, text, line }]; line is null if it has no cost. texts: known texts by file.
function rowsOf(waits, found, texts) {
  const costly = found.lines.filter(({ file }) => file !== undefined);
  if (view.order === 'line') {
    const here = costly.filter(({ file }) => file === view.file);
    texts.set(view.file, textOf(waits, found, view.file));
    const { lines, is_cut: isCut } = texts.get(view.file) ?? {};
    if (lines) {
      const byNumber = new Map(here.map((line) => [line.line, line]));
      const rows = lines.map((text, i) => ({ number: `${i + 1}`, text, line: byNumber.get(i + 1) ?? null }));
      const missing = isCut ? '(the text is truncated before this line)' : '(no such line: the file is a different version)';
      here.filter(({ line }) => line > lines.length).forEach((line) => rows.push({ number: `${line.line}`, text: missing, line }));
      return rows;
    }
    return here.sort((a, b) => a.line - b.line).map((line) => ({ number: `${line.line}`, text: line.function ?? '', line }));
  }
  for (const file of [...new Set(costly.map((line) => line.file))].slice(0, TEXTS_MAX)) texts.set(file, textOf(waits, found, file));
  return costly.sort((a, b) => b[view.order] - a[view.order]).map((line) => ({ number: place.lineName({ path: found.files[line.file].path, line: line.line }),
    text: texts.get(line.file)?.lines?.[line.line - 1]?.trim() ?? line.function ?? '', line }));
}

const BLOCKERS = { ...REASONS, no_condition: 'no semaphore', unknown: 'unknown', runtime: 'the runtime', compiler: 'instructions without a line' };
const blockerName = (found, line, by) => (by.reason ? BLOCKERS[by.reason] : `${by.file === line.file ? '' : place.baseName(found.files[by.file].path)}:${by.line}`);
const blockers = (found, line) => line.blocked_by.filter(() => line.wait > 0).map((by) => `${blockerName(found, line, by)} ${((by.wait / line.wait) * 100).toFixed(0)}% of its stall`).join(', ');

function rowOf(found, row, i, most) {
  const { line } = row;
  const isHere = line && place.selected && same(line, place.selected);
  const isChosen = line && same(line, view.chosen);
  const cells = MEASURES.map(([key, , write]) => (line && line[key] > 0 ? bar(line[key] / most[key], write(line[key])).element : make('span', { class: 'bar-none' })));
  const says = line ? `${MEASURES.map(([key, title, write]) => `${title} ${write(line[key])}`).join(', ')}, active ${duration(line.active)}${line.blocked_by.length ? `, waits for ${blockers(found, line)}` : ''}${line.function ? `, in ${line.function}` : ''}` : '';
  const element = make('div', { class: `line${isChosen ? ' chosen' : ''}${isHere ? ' here' : ''}${line ? ' link' : ''}`, role: 'option', id: `line-${i}`, 'aria-selected': String(Boolean(isChosen)), title: says,
    'aria-label': line ? `${row.number}: ${row.text.trim()}. ${says}${isHere ? '. Contains the selected instruction' : ''}` : `${row.number}: ${row.text}`,
    onclick: line ? () => choose(line, found) : undefined },
  make('span', { class: 'mark', 'aria-hidden': 'true' }, isHere ? '▶' : isChosen ? '●' : ''), make('span', { class: 'number' }, row.number), ...cells, make('code', {}, row.text));
  element.style.top = `${i * ROW}px`;
  return element;
}

// Only visible rows are elements.
function code(found, rows, isReady) {
  const most = Object.fromEntries(MEASURES.map(([key]) => [key, Math.max(1, ...found.lines.filter(({ file }) => file !== undefined).map((line) => line[key]))]));
  const list = make('div', { class: 'code-rows' });
  const box = make('div', { class: 'code', role: 'listbox', tabindex: 0, 'aria-label': 'Source lines; the arrow keys select lines with a cost and highlight their instructions' }, list);
  list.style.height = `${rows.length * ROW}px`;
  const fill = () => {
    const first = Math.max(0, Math.floor(view.top / ROW) - 10);
    const last = Math.min(rows.length, Math.ceil((view.top + box.clientHeight) / ROW) + 10);
    list.replaceChildren(...rows.slice(first, last).map((row, i) => rowOf(found, row, first + i, most)));
  };
  box.addEventListener('scroll', () => {
    if (!box.isConnected) return; // it was redrawn meanwhile
    view.top = box.scrollTop;
    fill();
  });
  const chosenAt = () => rows.findIndex(({ line }) => line && same(line, view.chosen));
  box.addEventListener('keydown', (event) => {
    const costly = rows.flatMap(({ line }, i) => (line ? [i] : []));
    const at = costly.indexOf(chosenAt());
    const next = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: costly.length - 1 }[event.key];
    if (next === undefined || !costly.length) return;
    event.preventDefault();
    event.stopPropagation();
    const to = costly[Math.max(0, Math.min(costly.length - 1, next))];
    view.top = Math.max(Math.min(view.top, to * ROW - ROW), (to + 2) * ROW - box.clientHeight);
    choose(rows[to].line, found);
    document.querySelector('.code')?.focus();
  });
  const active = chosenAt();
  if (active >= 0) box.setAttribute('aria-activedescendant', `line-${active}`);
  requestAnimationFrame(() => {
    if (!box.isConnected) return;
    if (view.reveal && isReady) {
      const seen = (at) => at * ROW >= view.top && (at + 1) * ROW <= view.top + box.clientHeight;
      const at = rows.findIndex(({ line }) => line && same(line, view.reveal));
      if (at >= 0 && !seen(at)) view.top = Math.max(0, at * ROW - box.clientHeight / 2);
      if (at >= 0) view.reveal = null;
    }
    box.scrollTop = view.top;
    fill();
  });
  return box;
}

function heads(found) {
  const button = (key, title, help) => make('button', { type: 'button', 'aria-pressed': String(view.order === key), title: help, onclick: () => {
    view.order = key;
    view.top = 0;
    view.reveal = view.chosen;
    refresh('lines');
  } }, `${title}${view.order === key ? ' ▾' : ''}`);
  return make('div', { class: 'line line-head' }, make('span', { class: 'mark' }), button('line', 'Line', 'Show the text in file order'),
    ...MEASURES.map(([key, title]) => button(key, title, 'Sort by this column')),
    found.files.length > 1 ? make('select', { 'aria-label': 'File', onchange: (event) => {
      view.file = Number(event.target.value);
      view.order = 'line';
      view.top = 0;
      refresh('lines');
    } }, ...found.files.map(({ path }, i) => make('option', { value: i, selected: i === view.file, title: path }, place.baseName(path)))) :
      make('span', { class: 'soft', title: found.files[0]?.path }, found.files[0]?.path ?? ''));
}

// ---- loops ---------------------------------------------------------------------------------------

function pathOf(loop, byId) {
  const names = [];
  for (let at = loop; at; at = byId.get(at.parent)) names.unshift(at.variable);
  return names;
}

// The values of the selected instruction in this loop: "0,3", or null.
function valuesHere(names) {
  const parts = (place.selected?.iteration ?? '').split(' ').map((part) => part.split('='));
  return parts.length >= names.length && names.every((name, i) => parts[i][0] === name) ? names.map((_, i) => parts[i][1]).join(',') : null;
}

function loopBox(loop, byId, isOpen) {
  const names = pathOf(loop, byId);
  const box = make('section', { class: 'loop' });
  box.style.marginLeft = `${(names.length - 1) * 12}px`;
  const isShown = view.opened.get(loop.id) ?? isOpen;
  const id = `loop-${loop.id}`;
  box.append(make('div', { class: 'loop-head' },
    make('button', { type: 'button', class: 'fold-button', 'aria-expanded': String(isShown), 'aria-controls': id, 'aria-label': `Iterations of ${names.join(' › ')}`, onclick: () => {
      view.opened.set(loop.id, !isShown);
      refresh('lines');
    } }, make('span', { class: 'fold' })),
    make('button', { type: 'button', class: 'as-link', title: `${loop.path}:${loop.line}: show the loop`, onclick: () => glideTo(loop.start, loop.end, 0.9) }, `${names.join(' › ')} :${loop.line}`),
    make('span', { class: 'soft', title: 'Sum of the iteration spans divided by the span of the loop; 1 if iterations do not overlap' },
      `${whole(loop.iterations)} iterations in ${duration(loop.end - loop.start)}, stall ${duration(loop.wait * 1000)}, overlap ${loop.overlap.toFixed(2)}`)));
  if (isShown) {
    const inner = make('div', { id });
    const found = answer(inner, 'lines', `iterations ${source()} ${loop.id}`, () => state.source.iterations(source(), loop.id));
    if (found) {
      inner.append(strip(names, found.iterations, valuesHere(names)));
      if (found.count > found.iterations.length) inner.append(make('p', { class: 'soft' }, `Showing the ${whole(found.iterations.length)} slowest of ${whole(found.count)} iterations.`));
    }
    box.append(inner);
  }
  return box;
}

function loops(found) {
  const byId_ = new Map(found.loops.map((loop) => [loop.id, loop]));
  const open = new Set([...found.loops].sort((a, b) => b.wait - a.wait).slice(0, LOOPS_OPEN).map(({ id }) => id));
  const box = make('div', { class: 'loops' }, make('h3', {}, 'Loops: ▲ span, ▼ stall of each iteration'));
  if (!found.loops.length) box.append(make('p', { class: 'soft' }, 'No loops: the NEFF has no kernel tree for the executed code (compile the kernel with NKI_DEBUG_INFO=True).'));
  box.append(...found.loops.map((loop) => loopBox(loop, byId_, open.has(loop.id))));
  if (found.loops.length >= 1000) box.append(make('p', { class: 'soft' }, `Showing the first ${whole(found.loops.length)} loops of the kernel: neuron-profile lines --loops --json prints all.`));
  return box;
}

// ---- the tab -------------------------------------------------------------------------------------

function says(found) {
  const rest = found.lines.filter(({ reason }) => reason);
  const mine = found.lines.reduce((sum, { file, count }) => sum + (file === undefined ? 0 : count), 0);
  const all = rest.reduce((sum, { count }) => sum + count, mine);
  const time = found.lines.reduce((sum, { duration }) => sum + duration, 0);
  const known = found.lines.reduce((sum, { file, duration }) => sum + (file === undefined ? 0 : duration), 0);
  const share = mine && time > 0 ? `, ${((known / time) * 100).toFixed(1)}% of the time of all instructions` : '';
  return `${whole(mine)} of ${whole(all)} instructions have a source line${share}${rest.map(({ reason, count }) => `; ${whole(count)} ${REASONS[reason]}`).join('')}. Stall and time are sums over engines, which run concurrently.`;
}

function render(box) {
  const choice = sourceChoice('lines');
  if (choice) box.append(choice);
  const found = answer(box, 'lines', `lines ${source()}`, () => place.linesOf(source()));
  if (!found) return;
  if (!found.has_lines) {
    box.append(make('p', { class: 'soft' }, state.meta.sources[source()].has_neff ? 'No source lines: the compiler did not record any in the NEFF.' : 'No source lines: pass the NEFF that contains them with -n.'));
    return;
  }
  const first = found.lines.find(({ file }) => file !== undefined);
  if (view.source !== source()) Object.assign(view, { source: source(), order: null, file: first.file, chosen: null, top: 0 });
  if (!view.order) {
    view.order = found.files[view.file].has_text ? 'line' : 'wait';
    view.reveal = view.chosen ?? first;
  }
  const notes = make('div');
  const texts = new Map();
  const rows = rowsOf(notes, found, texts);
  const isReady = !notes.hasChildNodes(); // no text is being loaded
  box.append(make('div', { class: `source ${view.order === 'line' ? 'by-line' : ''}` }, make('div', { class: 'source-lines' }, make('p', { class: 'soft', title: says(found) }, says(found)), notes, ...[omissions(found, texts)].filter(Boolean), heads(found), code(found, rows, isReady)), loops(found)));
}

// Shows a line named elsewhere, and marks its instructions.
async function open({ file, line }) {
  const found = await place.linesOf(source());
  Object.assign(view, { source: source(), order: view.order ?? (found.files[file].has_text ? 'line' : 'wait'), file, reveal: { file, line } });
  choose({ file, line }, found);
  showTab('lines');
}

export function start() {
  addTab('lines', 'Source', render);
  on('line', open);
  on('place', () => {
    if (place.selected?.file !== undefined && state.meta.groups[state.meta.tracks[state.selected.track].group].source === source()) {
      if (view.order === 'line') view.file = place.selected.file;
      view.reveal = place.selected;
    }
    if (panel.current !== 'lines') return;
    const hadFocus = byId('panel-box').querySelector('.code') === document.activeElement;
    refresh('lines');
    if (hadFocus) byId('panel-box').querySelector('.code')?.focus();
  });
}
