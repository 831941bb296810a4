// Draws windows on a canvas: a row for each target, time to the right. Above the middle of a row are windows for chunks that
// come (puts), below it those for chunks that leave (gets). The higher, the more certain: tentative, accepted, used.

import { ACCEPTED, GIVEN_UP, USED } from './windows.js';

const HEIGHTS = { tentative: 0.36, accepted: 0.68, used: 1 };
/** From so many pixels on a window is drawn by itself; narrower ones are summed up by pixel. */
const WIDE = 3;

let colours = null;

/** Colours of the style sheet. */
function palette() {
  if (colours) return colours;
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = Object.fromEntries(['tentative', 'tentative-soft', 'accepted', 'accepted-soft', 'used', 'grid', 'line', 'ink', 'muted', 'surface', 'bad', 'strong-line', 'sunken'].map((name) => [name, of(name)]));
  return colours;
}

const forget = () => { colours = null; };
document.addEventListener('theme', forget);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', forget);

/** Makes a canvas as sharp as the screen; gives its context, in CSS pixels, and whether it has another size than before. */
export function sharpen(canvas, width, height) {
  const ratio = Math.min(devicePixelRatio || 1, 3);
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The first window that may reach into a time: they are nearly in order. */
function firstAt(windows, from) {
  let [low, high] = [0, windows.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (windows[middle].at < from - 5000) low = middle + 1;
    else high = middle;
  }
  return low;
}

function addTo(sums, from, to) {
  const first = Math.max(0, Math.floor(from));
  const last = Math.min(sums.length - 1, Math.floor(to));
  for (let pixel = first; pixel <= last; pixel += 1) {
    sums[pixel] += Math.max(Math.min(to, pixel + 1) - Math.max(from, pixel), 0.002);
  }
}

const KINDS = ['tentative', 'accepted', 'used'];

/** Pieces of sums by pixel: the more of a pixel's time is taken, the stronger. */
function drawSums(context, sums, colour, [left, middle, reach], [faint, strength]) {
  context.fillStyle = colour;
  for (let pixel = 0; pixel < sums.length; pixel += 1) {
    if (sums[pixel] === 0) continue;
    context.globalAlpha = Math.min(1, faint + (1 - faint) * Math.sqrt(sums[pixel])) * strength;
    context.fillRect(left + pixel, middle, 1, reach);
  }
  context.globalAlpha = 1;
}

function box(context, x, y, width, height, colour, outline) {
  if (width < 4) {
    // Narrow ones are sharp, and have no room for an outline.
    context.fillStyle = outline ?? colour;
    context.fillRect(Math.round(x), Math.min(y, y + height), Math.max(1, Math.round(width)), Math.abs(height));
    return;
  }
  context.beginPath();
  context.roundRect(x, Math.min(y, y + height), Math.max(1, width), Math.abs(height), Math.min(2.5, width / 2));
  context.fillStyle = colour;
  context.fill();
  if (outline && width > 5) {
    context.strokeStyle = outline;
    context.lineWidth = 1;
    context.stroke();
  }
}

/** One row, whose middle is at `y`. */
function drawRow(context, row, view, y) {
  const { left, width, from, to, reach } = view;
  const scale = width / (to - from);
  const colour = palette();
  const sums = [0, 1].map(() => KINDS.map(() => new Float32Array(Math.ceil(width))));
  const has = [[false, false, false], [false, false, false]];
  const wide = [];
  const { windows } = row;
  for (let place = firstAt(windows, from); place < windows.length; place += 1) {
    const window = windows[place];
    const end = Math.max(window.end, window.usedAt ?? 0);
    if (end < from || window.start > to) continue;
    if ((window.end - window.start) * scale >= WIDE) {
      wide.push(window);
      continue;
    }
    const kind = window.state === USED ? 2 : window.state === ACCEPTED ? 1 : 0;
    addTo(sums[window.outgoing][kind], (window.start - from) * scale, (end - from) * scale);
    has[window.outgoing][kind] = true;
  }
  for (const outgoing of [0, 1]) {
    for (const [kind, name] of KINDS.entries()) {
      if (!has[outgoing][kind]) continue;
      const height = reach * HEIGHTS[name];
      drawSums(context, sums[outgoing][kind], colour[name], [left, outgoing ? y + 1 : y - 1 - height, height], kind === 0 ? [0.2, 0.7] : [0.35, 1]);
    }
  }
  const order = (window) => (window.state === USED ? 2 : window.state === ACCEPTED ? 1 : 0);
  wide.sort((a, b) => order(a) - order(b));
  for (const window of wide) {
    const x = left + (window.start - from) * scale;
    const sign = window.outgoing ? 1 : -1;
    const base = y + sign;
    const span = (window.end - window.start) * scale;
    if (window.state === ACCEPTED || window.state === USED) {
      box(context, x, base, span, sign * reach * HEIGHTS.accepted, colour['accepted-soft'], colour.accepted);
    } else {
      context.globalAlpha = window.state === GIVEN_UP ? 0.75 : 1;
      box(context, x, base, span, sign * reach * HEIGHTS.tentative, colour['tentative-soft'], colour.tentative);
      context.globalAlpha = 1;
    }
    if (window.state === USED) {
      // From its beginning until the chunk was there; later than promised is told apart.
      const used = (Math.max(window.usedAt, window.start) - window.start) * scale;
      box(context, x, base, Math.max(2, Math.min(used, span)), sign * reach, colour.used);
      if (used > span) box(context, x + span, base, used - span, sign * reach * HEIGHTS.accepted, colour.bad);
    }
  }
}

const STEPS = [1, 2, 5];

/** A step between ticks of which there is room for so many. */
export function tickStep(span, most) {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  return (STEPS.find((step) => step * power >= raw) ?? 10) * power;
}

/** A time from the mark, in milliseconds, with a unit that fits the step. */
export function tickText(time, step) {
  const [unit, scale] = step >= 1000 ? ['s', 1000] : step >= 1 ? ['ms', 1] : ['µs', 0.001];
  const value = Math.round((time / scale) * 1000) / 1000;
  return `${value > 0 ? '+' : value < 0 ? '−' : ''}${Math.abs(value)} ${unit}`;
}

/**
 * Draws rows. The view says which time is shown where: `from`, `to`, `mark` (the present, or the middle of what is held),
 * `left`, `top`, `width`, `height`, `rowHeight`, `offset` (pixels scrolled), `rows` ([{ target, label, row }] by number), `labels`.
 */
export function draw(context, view) {
  const { left, top, width, height, from, to, mark, rowHeight, offset, rows } = view;
  const colour = palette();
  const scale = width / (to - from);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  // The future is promised, not yet so.
  if (!view.isHeld) {
    const x = left + (mark - from) * scale;
    context.fillStyle = colour.sunken;
    context.globalAlpha = 0.6;
    context.fillRect(x, top, left + width - x, height - top);
    context.globalAlpha = 1;
  }
  const step = tickStep(to - from, Math.max(2, width / 110));
  context.fillStyle = colour.muted;
  context.strokeStyle = colour.grid;
  context.lineWidth = 1;
  context.textAlign = 'center';
  for (let n = Math.ceil((from - mark) / step); mark + n * step <= to; n += 1) {
    const x = Math.round(left + (mark + n * step - from) * scale) + 0.5;
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, height);
    context.stroke();
    const text = n === 0 ? (view.isHeld ? '0' : 'now') : tickText(n * step, step);
    const half = context.measureText(text).width / 2;
    if (top > 0 && x - half > left - 6 && x + half < left + width + 2) context.fillText(text, x, top - 11);
  }
  context.save();
  context.beginPath();
  context.rect(0, top, left + width, height - top);
  context.clip();
  const reach = rowHeight / 2 - 3;
  const first = Math.max(0, Math.floor(offset / rowHeight));
  const last = Math.min(rows.length - 1, Math.floor((offset + height - top) / rowHeight));
  for (let place = first; place <= last; place += 1) {
    const { label, row } = rows[place];
    const y = Math.round(top + place * rowHeight - offset + rowHeight / 2);
    context.strokeStyle = colour.line;
    context.beginPath();
    context.moveTo(left, y + 0.5);
    context.lineTo(left + width, y + 0.5);
    context.stroke();
    if (view.labels) {
      context.fillStyle = colour.muted;
      context.textAlign = 'right';
      context.fillText(label, left - 10, y + 0.5);
    }
    if (row) {
      context.save();
      context.beginPath();
      context.rect(left, y - rowHeight / 2, width, rowHeight);
      context.clip();
      drawRow(context, row, { left, width, from, to, reach }, y);
      context.restore();
    }
  }
  context.restore();
  if (!view.isHeld) {
    const x = Math.round(left + (mark - from) * scale) + 0.5;
    context.strokeStyle = colour['strong-line'];
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, height);
    context.stroke();
  }
  return { first, last };
}

/** The course of a number as a line with an area under it. */
export function drawCourse(canvas, values, colourName) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0) return;
  const context = sharpen(canvas, width, height);
  const colour = getComputedStyle(document.documentElement).getPropertyValue(`--${colourName}`).trim();
  const most = Math.max(...values, 1e-9);
  const points = values.map((value, place) => [
    values.length < 2 ? width : (place / (values.length - 1)) * width,
    height - 2 - (value / most) * (height - 6),
  ]);
  if (points.length < 2) return;
  context.beginPath();
  points.forEach(([x, y]) => context.lineTo(x, y));
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.lineJoin = 'round';
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(0, height);
  context.fillStyle = colour;
  context.globalAlpha = 0.12;
  context.fill();
  context.globalAlpha = 1;
}
