// Elements from data: the page never writes HTML as text, so a process name can never become code.

export const byId = (id) => document.getElementById(id);

export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === 'class') element.className = value;
    else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

// Only writes changes, so that a text selection survives a refresh.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// columns: [{ name, text: bool, value: row => string, raw: row => number, bad: row => bool }]
export function fillTable(table, columns, rows, none, rowClass = () => '') {
  if (!table.tHead) {
    table.append(make('thead', {}, make('tr', {}, ...columns.map((column) =>
      make('th', { scope: 'col', class: column.text ? 'text' : '', title: column.help }, column.name)))), make('tbody'));
  }
  columns.forEach((column, c) => setText(table.tHead.rows[0].cells[c], column.name));
  const body = table.tBodies[0];
  if (rows.length === 0) {
    body.replaceChildren(make('tr', {}, make('td', { class: 'none', colspan: columns.length }, none)));
    return;
  }
  if (body.querySelector('.none')) body.replaceChildren();
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  rows.forEach((row, i) => {
    let line = body.rows[i];
    if (!line) {
      line = make('tr', {}, ...columns.map((column) => make('td', { class: column.text ? 'text' : '' })));
      body.append(line);
    }
    line.className = rowClass(row);
    columns.forEach((column, c) => {
      const cell = line.cells[c];
      const text = column.value(row);
      setText(cell, text);
      if (column.text) cell.title = text;
      if (column.raw) cell.dataset.value = column.raw(row);
      cell.classList.toggle('bad', Boolean(column.bad && column.bad(row)));
    });
  });
}

// A choice as a group of radio buttons: one Tab stop, arrow keys choose.
export function choice(group, entries, chosen, on) {
  const buttons = entries.map(([value, label, help]) => make('button', {
    type: 'button', role: 'radio', 'data-choice': value, title: help, onclick: () => choose(value),
  }, label));
  const choose = (value, quiet) => {
    for (const button of buttons) {
      const is = button.dataset.choice === value;
      button.setAttribute('aria-checked', is);
      button.tabIndex = is ? 0 : -1;
      if (is && !quiet) button.focus();
    }
    if (!quiet) on(value);
  };
  group.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    choose(buttons[(at + step + buttons.length) % buttons.length].dataset.choice);
  });
  group.replaceChildren(...buttons);
  choose(chosen, true);
}
