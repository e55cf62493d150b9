// Colours: an operation has the same colour everywhere; waiting and bookkeeping are grey.

const GREY = [214, 7];
const QUIET = /^(EVENT_SEMAPHORE|DRAIN|NOP|NOTIFY|WRITE|SET_ORDERING_MODE|COMPARE_BRANCH|BRANCH|CALL|RETURN|HALT)|^instruction$/;
// [pattern, hue, saturation]; the first match counts.
const KNOWN = [
  [QUIET, ...GREY],
  [/^MATMUL/, 216, 78], [/^LDWEIGHTS/, 199, 80], [/TRANSPOSE/, 232, 58],
  [/^ACTIVATE/, 26, 84], [/ACT_TABLE/, 40, 60],
  [/^DMA|_DMA|^TENSOR_LOAD|^TENSOR_STORE|^TENSOR_SAVE/, 268, 52],
  [/REDUCE/, 158, 58], [/^TENSOR_SCALAR/, 174, 62], [/^TENSOR_TENSOR/, 142, 46], [/^COPY/, 190, 42], [/^CAST/, 52, 58], [/^MEMSET/, 92, 36],
  [/RECIPROCAL|POWER|EXP/, 336, 60], [/RNG|RANDOM|IOTA|SELECT/, 300, 42],
  [/^(io|input)$/, 158, 52], [/^output$/, 190, 52], [/^data$/, 216, 66], [/^software_dynamic$/, 26, 78], [/^hardware_dynamic$/, 268, 52],
  [/^compute.*, critical path$/, 216, 88], [/^compute/, 212, 58], [/^host, critical path$/, 36, 92], [/^host$/, 42, 62], [/^wait for the last/, 348, 56], [/^communicate, critical path$/, 158, 72], [/^communicate$/, 162, 42], [/^unknown/, ...GREY],
  [/^nc_idle$/, ...GREY], [/^thread_(running|garbage)/, 142, 46], [/^thread_(lock|gil)$/, 356, 60], [/^thread_(cpu_pressure|throttled)$/, 40, 80], [/^thread_(read|write|file|memory)$/, 26, 72], [/^thread_(network|ioctl)$/, 300, 42], [/^thread_page_fault$/, 336, 60], [/^thread_(sleep|wait|poll|child)$/, 232, 44], [/^thread_/, 200, 14],
  [/^by Tensor/, 216, 78], [/^by Scalar/, 26, 84], [/^by Vector/, 158, 58], [/^by GpSimd/, 300, 42], [/^by Sync/, 336, 60], [/^by DMA/, 268, 52],
];
const HUES = [12, 48, 84, 120, 180, 204, 252, 284, 316, 348];

function hash(text) {
  let sum = 2166136261;
  for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 16777619);
  return sum >>> 0;
}

function rgb(hue, saturation, lightness) {
  const s = saturation / 100;
  const l = lightness / 100;
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

// Dark text except on dark colours: the contrast is at least 3 to 1.
const textOn = (r, g, b) => (0.299 * r + 0.587 * g + 0.114 * b > 130 ? '#10202f' : '#ffffff');

function make(name, isDark) {
  const known = KNOWN.find(([pattern]) => pattern.test(name));
  const sum = hash(name);
  const [hue, saturation] = known ? known.slice(1) : [HUES[sum % HUES.length], 50];
  const isQuiet = known && known[0] === QUIET;
  const lightness = isQuiet ? (isDark ? 34 : 78) : (isDark ? 56 : 57) + ((sum >>> 8) % 5) - 2;
  const [r, g, b] = rgb(hue, saturation, lightness);
  return {
    css: `rgb(${r} ${g} ${b})`,
    word: (0xff000000 | (b << 16) | (g << 8) | r) >>> 0,
    text: textOn(r, g, b),
  };
}

// Indexed by the number of the what.
export const palette = (whats, isDark) => whats.map((what) => ({ ...make(what.name, isDark), isQuiet: QUIET.test(what.name) }));

// ---- meaning of colours
// ---------------------------------------------------------------------------------

// The meanings of colours, by name.
export const MODES = [['operation', 'operation'], ['engine', 'engine'], ['tensor', 'tensor'], ['wait', 'wait']];

const GOLDEN = 137.508; // golden angle in degrees: neighbours get very different hues
const ENGINES = { Tensor: [216, 78], Scalar: [26, 84], Vector: [158, 58], GpSimd: [300, 42], Sync: [336, 60], DMA: [268, 52] };
export const OTHER = 'other';

function ofHue([hue, saturation], isDark, lightness = isDark ? 56 : 57) {
  const [r, g, b] = rgb(hue, saturation, lightness);
  return { css: `rgb(${r} ${g} ${b})`, word: (0xff000000 | (b << 16) | (g << 8) | r) >>> 0, text: textOn(r, g, b) };
}

const greyOf = (isDark) => ofHue(GREY, isDark, isDark ? 34 : 78);

// Waiting before an instruction as a share of both times: upper limit, name, hue.
const WAITS = [[0.1, 'waits for less than 10% of its time', [216, 46]], [0.5, '10% to 50%', [44, 88]], [0.9, '50% to 90%', [26, 90]], [Infinity, 'above 90%', [356, 74]]];

// The entries of a mode's legend, by key: { name, css, word, text }. A key is a text or negative: numbers from 0 on are
// operations, which other rows keep.
export function entriesOf(mode, isDark, tensors) {
  const grey = { name: OTHER, ...greyOf(isDark) };
  if (mode === 'engine') return new Map([...Object.entries(ENGINES).map(([name, hue]) => [name, { name, ...ofHue(hue, isDark) }]), [OTHER, { ...grey, name: 'waits and bookkeeping' }]]);
  if (mode === 'wait') return new Map([...WAITS.map(([, name, hue], i) => [-1 - i, { name, ...ofHue(hue, isDark) }]), [OTHER, { ...grey, name: 'not an engine' }]]);
  if (mode === 'tensor') return new Map([...tensors.map((name, i) => [tensorKey(i + 1), { name, ...ofHue([(i * GOLDEN) % 360, 60], isDark, (isDark ? 52 : 50) + (i % 3) * 6) }]), [tensorKey(0), { ...grey, name: 'no tensor, or an unknown one' }]]);
  return new Map();
}

// A bucket without any work waits.
export const waitKey = (waited, worked) => -1 - (worked > 0 ? WAITS.findIndex(([most]) => waited / (waited + worked) < most) : WAITS.length - 1);
// Tensor number 0 means no tensor, or an unknown one.
export const tensorKey = (tensor) => -1 - tensor;

// Reads the theme's colours from the style sheet.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const names = ['paper', 'card', 'ink', 'soft', 'line', 'accent', 'accent2', 'bad', 'focus', 'band', 'grid', 'rate', 'shade', 'pick'];
  return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}
