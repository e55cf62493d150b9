// Draws a flame graph: nodes with their children below them, as wide as their sums; a click makes one the widest.

import { make } from './dom.js';

const ROW = 21;
const LEAST = 0.0015; // minimum share of the width; narrower nodes are not drawn

export const flameRoot = (name) => ({ name, sum: 0, count: 0, children: new Map() });

// names: from below the root to the innermost.
export function addToFlame(root, names, sum, count) {
  let node = root;
  root.sum += sum;
  root.count += count;
  for (const name of names) {
    if (!node.children.has(name)) node.children.set(name, flameRoot(name));
    node = node.children.get(name);
    node.sum += sum;
    node.count += count;
  }
}

function draw(box, node, depth, left, width, names, { colour, textOf, zoom }) {
  const look = colour(node, depth);
  const path = [...names, node.name];
  const text = textOf(path, node);
  const button = make('button', { type: 'button', class: 'flame', title: text, 'aria-label': text, onclick: () => zoom(path.slice(1)) }, node.name);
  Object.assign(button.style, { left: `${left * 100}%`, width: `${width * 100}%`, top: `${depth * ROW}px`, background: look.css, color: look.text });
  box.append(button);
  let deepest = depth;
  let at = left;
  for (const child of [...node.children.values()].sort((a, b) => b.sum - a.sum)) {
    const part = node.sum > 0 ? width * (child.sum / node.sum) : 0;
    if (part >= LEAST) deepest = Math.max(deepest, draw(box, child, depth + 1, at, part, path, { colour, textOf, zoom }));
    at += part;
  }
  return deepest;
}

// zoomed: names of what is the widest, from below the root. look: { colour(node, depth), textOf(path, node), zoom(names) }
export function flames(root, zoomed, look) {
  let node = root;
  const names = [];
  for (const name of zoomed) {
    if (!node.children.has(name)) break;
    names.push(node.name);
    node = node.children.get(name);
  }
  const area = make('div', { class: 'flames' });
  area.style.height = `${(draw(area, node, 0, 0, 1, names, look) + 1) * ROW}px`;
  return area;
}
