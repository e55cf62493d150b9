// Numbers in the form of neuron-top: three figures and a unit, a dash if unknown.

function scaled(value, steps, suffixes) {
  let i = 0;
  while (i + 1 < suffixes.length && value >= steps - steps / 20000) {
    value /= steps;
    i++;
  }
  return (i === 0 ? value.toFixed(0) : value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)) + suffixes[i];
}

const known = (value, write) => (value === null || value === undefined || Number.isNaN(value) ? '-' : write(value));

export const count = (value) => known(value, (v) => scaled(v, 1000, ['', 'k', 'M', 'G', 'T', 'P']));
export const whole = (value) => known(value, (v) => v.toLocaleString('en', { maximumFractionDigits: 0 }));
export const rate = (value) => known(value, (v) => (v > 0 && v < 100 ? v.toFixed(1) : count(v)));
export const percent = (value) => known(value, (v) => `${v.toFixed(1)}%`);
export const share = (value) => known(value, (v) => percent(v * 100)); // of a value from 0 to 1
export const seconds = (value) => known(value, (v) => scaled(v * 1e9, 1000, ['ns', 'us', 'ms', 's']));
export const nanoseconds = (value) => known(value, (v) => scaled(v, 1000, ['ns', 'us', 'ms', 's']));

export function bytes(value, estimated = false) {
  return known(value, (v) => {
    const suffixes = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
    let i = 0;
    while (i + 1 < suffixes.length && v >= 1023.95) {
      v /= 1024;
      i++;
    }
    return (estimated && value > 0 ? '~' : '') + (i === 0 ? `${v.toFixed(0)}B` : `${v.toFixed(1)}${suffixes[i]}`);
  });
}
