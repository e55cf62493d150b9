// Contains the common code of all drawings: a canvas in device pixels, and the colours of the theme.

export function prepare(canvas, height) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(50, canvas.clientWidth);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.clearRect(0, 0, width, height);
  return { context, width, height };
}

export function colours() {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: colour('ink'), soft: colour('soft'), line: colour('line'), accent: colour('accent'), accent2: colour('accent2'), bad: colour('bad'), empty: colour('empty') };
}
