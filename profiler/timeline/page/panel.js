// The panel below the rows: one tab per analysis; the bar above it changes its height.

import { byId, make } from './dom.js';
import { changed, tell } from './state.js';

const tabs = [];
const LEAST = 90;

export const panel = { current: null };

// render(box) fills the tab when it is shown; refresh() calls it again. absent() returns why the tab is empty, if known: then the
// tab is grey.
export function addTab(id, title, render, absent = () => null) {
  tabs.push({ id, title, render, absent });
}

export function markAbsent() {
  for (const { id, absent } of tabs) {
    const why = absent();
    byId(`tab-${id}`).classList.toggle('absent', Boolean(why));
    byId(`tab-${id}`).title = why ?? '';
  }
}

export function showTab(id) {
  panel.current = id;
  for (const { id: other } of tabs) {
    const button = byId(`tab-${other}`);
    button.setAttribute('aria-selected', String(other === id));
    button.tabIndex = other === id ? 0 : -1;
  }
  const box = byId('panel-box');
  box.setAttribute('aria-labelledby', `tab-${id}`);
  box.scrollTop = 0;
  refresh(id);
  tell('view');
}

// Redraws the tab if it is visible.
export function refresh(id) {
  const tab = tabs.find((one) => one.id === id);
  if (!tab || panel.current !== id) return;
  const box = byId('panel-box');
  const fresh = make('div', { class: `pane pane-${id}` });
  tab.render(fresh);
  box.replaceChildren(fresh);
}

function setHeight(height) {
  const most = window.innerHeight - 220;
  byId('panel').style.height = `${Math.round(Math.max(LEAST, Math.min(most, height)))}px`;
  changed();
}

function startBar() {
  const bar = byId('panel-bar');
  bar.addEventListener('pointerdown', (event) => {
    bar.setPointerCapture(event.pointerId);
    const begin = byId('panel').offsetHeight + event.clientY;
    const move = (e) => setHeight(begin - e.clientY);
    bar.addEventListener('pointermove', move);
    bar.addEventListener('pointerup', () => bar.removeEventListener('pointermove', move), { once: true });
  });
  bar.addEventListener('keydown', (event) => {
    const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    setHeight(byId('panel').offsetHeight + step);
  });
}

export function start() {
  const list = byId('panel-tabs');
  list.append(...tabs.map(({ id, title }) => make('button', {
    type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': 'panel-box', 'aria-selected': 'false', tabindex: -1, onclick: () => showTab(id),
  }, title)));
  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(({ id }) => id === panel.current);
    const next = tabs[(at + step + tabs.length) % tabs.length].id;
    showTab(next);
    byId(`tab-${next}`).focus();
  });
  startBar();
  markAbsent();
}

// A table from rows of cells: { text, value } or text; columns: [title, isText]. Headings sort; options.foot are rows that stay
// at the bottom.
export function table(columns, rows, options = {}) {
  let sorted = options.sorted ?? -1;
  let isDown = true;
  const body = make('tbody');
  const lineOf = (row) => make('tr', { class: row.onclick ? 'link' : '' }, ...row.cells.map((cell, i) =>
    make('td', { class: columns[i][1] ? 'text' : '', title: cell?.title ?? (columns[i][1] ? cell?.text ?? cell : null) }, cell?.element ?? cell?.text ?? cell)));
  const fill = () => {
    const order = [...rows];
    if (sorted >= 0) {
      const value = (row) => row.cells[sorted]?.value ?? row.cells[sorted]?.text ?? row.cells[sorted];
      order.sort((a, b) => (value(a) < value(b) ? 1 : value(a) > value(b) ? -1 : 0) * (isDown ? 1 : -1));
    }
    body.replaceChildren(...order.slice(0, options.most ?? 500).map((row) => {
      const line = lineOf(row);
      if (row.onclick) {
        line.tabIndex = 0;
        line.addEventListener('click', row.onclick);
        line.addEventListener('keydown', (event) => event.key === 'Enter' && row.onclick());
      }
      return line;
    }));
  };
  const heads = columns.map(([title, isText], i) => make('th', { scope: 'col', class: isText ? 'text' : '' },
    make('button', { type: 'button', onclick: () => {
      isDown = sorted === i ? !isDown : !isText;
      sorted = i;
      fill();
    } }, title)));
  fill();
  return make('table', {}, make('thead', {}, make('tr', {}, ...heads)), body, options.foot?.length ? make('tfoot', {}, ...options.foot.map(lineOf)) : null);
}

// Returns a share as a small bar with its number and its base.
export function bar(share, text, title) {
  const inner = make('span', { class: 'bar-in' });
  inner.style.width = `${Math.min(100, Math.max(0, share * 100))}%`;
  return { value: share, element: make('span', { class: 'bar-out' }, inner, make('span', { class: 'bar-text' }, text ?? `${(share * 100).toFixed(1)}%`)), text: text ?? '', title };
}
