// Light, dark, or the system's setting; the choice stays in this browser.

import { byId, setText } from './dom.js';

const CHOICES = ['auto', 'light', 'dark'];
const system = window.matchMedia('(prefers-color-scheme: dark)');

function stored() {
  try {
    return localStorage.getItem('theme');
  } catch {
    return null; // a browser without storage
  }
}

let chosen = CHOICES.includes(stored()) ? stored() : 'auto';

export function start(onChange) {
  const apply = () => {
    document.documentElement.dataset.theme = chosen === 'auto' ? (system.matches ? 'dark' : 'light') : chosen;
    setText(byId('theme'), `Theme: ${chosen}`);
    onChange();
  };
  system.addEventListener('change', apply);
  byId('theme').addEventListener('click', () => {
    chosen = CHOICES[(CHOICES.indexOf(chosen) + 1) % CHOICES.length];
    try {
      localStorage.setItem('theme', chosen);
    } catch { /* for this visit only */ }
    apply();
  });
  apply();
}
