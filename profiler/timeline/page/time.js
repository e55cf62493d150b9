// Times are ps; formatted for users, and as ticks of an axis.

const UNITS = [['s', 1e12], ['ms', 1e9], ['us', 1e6], ['ns', 1e3], ['ps', 1]];

const trim = (text) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);

// Four figures.
export function duration(ps) {
  const size = Math.abs(ps);
  const [unit, one] = UNITS.find(([, least]) => size >= least * 0.99995) ?? UNITS[4];
  const value = ps / one;
  const whole = Math.abs(value) >= 1000 ? 4 : Math.floor(Math.log10(Math.max(1, Math.abs(value)))) + 1;
  return `${trim(value.toFixed(Math.max(0, 4 - whole)))} ${unit}`;
}

// All of it, in ns.
export const exact = (ps) => `${(ps / 1000).toLocaleString('en', { maximumFractionDigits: 3 })} ns`;

// Steps of 1, 2 or 5 that are at least `room` pixels apart.
export function ticks(from, to, pixels, room) {
  const least = ((to - from) / pixels) * room;
  const power = 10 ** Math.floor(Math.log10(Math.max(1e-3, least)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((s) => s >= least * 0.9999);
  const list = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++) list.push(i * step + 0); // no -0
  return { step, list };
}

// A tick in the unit of the window, with the digits that the step needs.
export function tickText(ps, step, window) {
  const [unit, one] = UNITS.find(([, least]) => window >= least * 2) ?? UNITS[4];
  const figures = Math.max(0, -Math.floor(Math.log10(step / one) + 1e-9));
  return `${(ps / one).toLocaleString('en', { minimumFractionDigits: figures, maximumFractionDigits: figures })} ${unit}`;
}

// Start and end in the unit of the window, with digits for a hundredth of it: "72.1 to 98 us".
export function span(from, to) {
  const size = Math.max(Math.abs(from), Math.abs(to));
  const [unit, one] = UNITS.find(([, least]) => size >= least) ?? UNITS[4];
  const figures = Math.min(6, Math.max(0, Math.ceil(-Math.log10((to - from) / one / 100) - 1e-9)));
  const text = (ps) => trim((ps / one + 0).toFixed(figures)).replace(/^-0$/, '0');
  return `${text(from)}–${text(to)} ${unit}`;
}
