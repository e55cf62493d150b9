// SQL over the tables of the capture: a statement, its result, and its time. Requires a server.

import { make, setText } from './dom.js';
import { whole } from './format.js';
import { addTab, table } from './panel.js';
import { state } from './state.js';

const ROWS = [100, 1000, 10000];
const SECONDS = [10, 30, 120, 600];
const POLL_MS = [50, 100, 200, 400]; // the last one repeats
const FIRST = 'SELECT engine, opcode, count(*) AS n, sum(duration_ns) AS ns\nFROM Instruction GROUP BY 1, 2 ORDER BY ns DESC';

const asked = { sql: FIRST, source: 0, rows: 1000, seconds: 30 }; // as the user left it
let known = null; // what can be asked
let running = null; // { id }
let result = null; // { state, ms, message, columns, rows, hasMore, most }
let shown = null; // parts of the tab that change: input fields are kept

// CSV has a quote before cells that a spreadsheet would evaluate.
const plainText = (text) => text.replace(/^'(?=[=+\-@])/, '');

// Lines of fields: a, or "say ""a""" with any content. null: an absent value, which has no quotes.
export function parseCsv(text) {
  const lines = [];
  let line = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n|$)/y;
  while (field.lastIndex < text.length) {
    const [, quoted, plain, end] = field.exec(text);
    line.push(quoted !== undefined ? plainText(quoted.replaceAll('""', '"')) : plain === '' ? null : plainText(plain));
    if (end !== ',') {
      lines.push(line);
      line = [];
    }
  }
  return lines;
}

const isNumber = (text) => text === null || /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);

function resultOf({ csv, ...rest }, most) {
  if (csv === undefined) return rest;
  const [columns = [], ...rows] = parseCsv(csv);
  return { ...rest, columns, rows: rows.slice(0, most), hasMore: rows.length > most, most };
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

async function follow(query, most) {
  for (let turn = 0; running === query; turn++) {
    const answer = await state.source.sql.answer(query.id);
    if (running !== query) return;
    if (answer.state !== 'running') {
      running = null;
      result = resultOf(answer, most);
      return;
    }
    result = { state: 'running', ms: answer.ms };
    showStatus();
    await pause(POLL_MS[Math.min(turn, POLL_MS.length - 1)]);
  }
}

async function run() {
  if (running) return;
  const query = { id: 0 };
  const most = asked.rows;
  running = query;
  result = { state: 'running', ms: 0 };
  update();
  try {
    query.id = (await state.source.sql.begin(asked)).id;
    await follow(query, most);
  } catch (error) {
    running = null;
    result = { state: 'failed', message: error.message };
  }
  update();
}

function cancel() {
  if (running?.id) state.source.sql.cancel(running.id).catch(() => {});
}

const took = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

function statusText() {
  if (!result) return '';
  if (result.state === 'running') return `Running for ${took(result.ms)} …`;
  if (result.state === 'done') {
    const count = `${result.hasMore ? 'the first ' : ''}${whole(result.rows.length)} row${result.rows.length === 1 ? '' : 's'}`;
    return `${count} in ${took(result.ms)}${result.hasMore ? '; there are more' : ''}${result.message ? `. ${result.message}` : ''}`;
  }
  return result.message;
}

function showStatus() {
  if (shown) setText(shown.status, statusText());
}

// One of two buttons is enabled; the focus moves from one to the other.
function showButtons() {
  const [on, off] = running ? [shown.cancel, shown.run] : [shown.run, shown.cancel];
  const hadFocus = document.activeElement === off;
  on.disabled = false;
  if (hadFocus) on.focus();
  off.disabled = true;
}

function update() {
  if (!shown) return;
  showStatus();
  showButtons();
  shown.status.className = result?.state === 'failed' ? 'bad' : 'soft';
  shown.result.replaceChildren(resultTable());
}

const showTables = () => shown.tables.replaceChildren(tableNames());

function showKnown() {
  shown.sources.replaceChildren(known.sources.length > 1 ? choice('Capture', known.sources.map((one, s) => s), 'source', (s) => known.sources[s].name, showTables) : '');
  showTables();
  update();
}

function choice(label, values, name, textOf, then = () => {}) {
  const select = make('select', { 'aria-label': label, title: label, onchange: (event) => { asked[name] = Number(event.target.value); then(); } },
    ...values.map((value) => make('option', { value }, textOf(value))));
  select.value = String(asked[name]);
  return select;
}

function tableNames() {
  if (!known) return '';
  const tables = known.sources[asked.source]?.folders ? known.folder_tables : known.tables;
  const names = tables.map(({ table: name, meaning, columns }) => make('button', {
    type: 'button', class: 'sql-table', title: `${meaning}\n${columns.map(({ column, unit }) => (unit ? `${column} (${unit})` : column)).join(', ')}`,
    onclick: () => {
      asked.sql = `SELECT * FROM "${name}"`;
      shown.text.value = asked.sql;
      run();
    },
  }, name));
  return make('details', { class: 'sql-tables' }, make('summary', {}, `${whole(names.length)} tables`), make('div', {}, ...names));
}

function resultTable() {
  if (result?.state !== 'done' || !result.columns.length) return '';
  const columns = result.columns.map((name, c) => [name, !result.rows.every((row) => isNumber(row[c]))]);
  const cell = (text, c) => {
    if (text === null) return { value: -Infinity, text: '-' };
    return columns[c][1] ? text : { value: Number(text), text };
  };
  return make('div', { class: 'sql-result' }, table(columns, result.rows.map((row) => ({ cells: row.map(cell) })), { most: result.most }));
}

function render(box) {
  if (!known) {
    known = { sources: [], tables: [], folder_tables: [] };
    state.source.sql.sources().then((answer) => { known = answer; }, (error) => { result = { state: 'failed', message: error.message }; }).finally(showKnown);
  }
  const text = make('textarea', { id: 'sql-text', rows: 4, spellcheck: 'false', autocomplete: 'off', 'aria-label': 'SQL', oninput: (event) => { asked.sql = event.target.value; } });
  text.value = asked.sql;
  text.addEventListener('keydown', (event) => {
    event.stopPropagation(); // letters are shortcuts of the page
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
    if (event.key === 'Escape') {
      if (running) cancel();
      else text.blur();
    }
  });
  shown = {
    text,
    run: make('button', { type: 'button', id: 'sql-run', title: 'Ctrl+Enter', onclick: run }, 'Run'),
    cancel: make('button', { type: 'button', id: 'sql-cancel', title: 'Escape', onclick: cancel }, 'Cancel'),
    status: make('span', { id: 'sql-status', role: 'status' }),
    sources: make('span', { class: 'sql-sources' }),
    tables: make('div'),
    result: make('div'),
  };
  box.append(make('div', { class: 'sql-box' }, text, make('div', { class: 'sql-line' }, shown.run, shown.cancel, shown.sources,
    choice('At most this many rows', ROWS, 'rows', (n) => `${whole(n)} rows`),
    choice('Time limit', SECONDS, 'seconds', (n) => `${n} s`), shown.status)), shown.tables, shown.result);
  showKnown();
}

export function start() {
  addTab('sql', 'SQL', render);
}
