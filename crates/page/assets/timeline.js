// The timeline of reservations: what each target has promised, and what came of it.

import { fill, h, icon, put } from './dom.js';
import { count, percent, size, span as spanText } from './format.js';
import { draw, sharpen } from './picture.js';
import { node } from './status.js';
import { ACCEPTED, feed, GIVEN_UP, USED, watch } from './windows.js';

const SPANS = [30000, 10000, 3000, 1000, 300, 100, 30, 10, 3, 1];
const isCalm = matchMedia('(prefers-reduced-motion: reduce)');
/** Spans shorter than this would fly past: they are held for a while, and then replaced by what came last. */
const LIVE = 2500;
const STILL = 2000;
/** Rows of the table that stands for the picture. */
const MAX_LINES = 60;

const spanName = (ms) => spanText(ms / 1000);

/** The targets of this node, and those of which windows are known. */
export function rowsOf(status, windows) {
  const numbers = new Set(status?.targets.map((target) => target.target));
  for (const target of windows.rows.keys()) numbers.add(target);
  return [...numbers].sort((a, b) => a - b).map((target) => ({ target, label: `${target}`, row: windows.rows.get(target) }));
}

export function legend() {
  const part = (kind, name, text) => h('li', null, h('span', { class: `swatch ${kind}`, 'aria-hidden': 'true' }), h('span', null, h('b', null, name), ` ${text}`));
  return h('ul', { class: 'legend' },
    part('tentative', 'Tentative', 'bid, and no more so far'),
    part('accepted', 'Accepted', 'promised to one chunk'),
    part('used', 'Used', 'until the chunk was there'),
    part('late', 'Late', 'after its window'));
}

/** What is said of a window under the pointer. */
function describe(window, target) {
  const states = { [USED]: 'used', [ACCEPTED]: 'accepted', [GIVEN_UP]: 'given up' };
  const clock = new Date(feed.windows.dateOf(window.start));
  const time = `${clock.toLocaleTimeString('en-GB')}.${String(clock.getMilliseconds()).padStart(3, '0')}`;
  const lines = [
    `Target ${target}, ${window.outgoing ? 'get: a chunk leaves' : 'put: a chunk comes'}`,
    `${states[window.state] ?? 'tentative'}, ${size(window.bytes)}, request ${window.request}`,
    `window of ${spanText((window.end - window.start) / 1000)} at ${time}`,
  ];
  if (window.state === USED) lines.push(`the chunk was there ${spanText(Math.max(0, window.usedAt - window.start) / 1000)} after its beginning`);
  if (window.start > window.at) lines.push(`bid ${spanText((window.start - window.at) / 1000)} ahead`);
  return lines;
}

/** The state of the view, apart from the elements that show it. */
class View {
  constructor() {
    this.span = 10000;
    this.held = null;
    this.stillUntil = 0;
    this.still = null;
  }

  get isHeld() {
    return this.held !== null;
  }

  /** What is shown at `now` (of the page) of these targets: from, to, and the mark that times are counted from. */
  range(now, targets) {
    const { span } = this;
    if (this.held !== null) return { from: this.held - span / 2, to: this.held + span / 2, mark: this.held, isHeld: true };
    const present = feed.windows.present(now);
    if (span >= LIVE) return { from: present - span * 0.84, to: present + span * 0.16, mark: present, isHeld: false };
    if (now >= this.stillUntil) {
      const latest = feed.windows.latest(targets);
      this.still = latest === null ? present : latest;
      this.stillUntil = now + STILL;
    }
    return { from: this.still - span * 0.7, to: this.still + span * 0.3, mark: this.still, isHeld: true };
  }

  hold(at) {
    this.held = at;
  }

  /** Another span, around a time that stays where it is. */
  zoom(span, around, part) {
    this.span = span;
    this.stillUntil = 0;
    if (this.held !== null && around !== undefined) this.held = around + span * (0.5 - part);
  }

  nearest(step) {
    const at = SPANS.findIndex((span) => span <= this.span * 1.0001);
    return SPANS[Math.max(0, Math.min(SPANS.length - 1, at + step))];
  }
}

function table(rows, { from, to }) {
  const { windows } = feed;
  const all = rows.map(({ target }) => ({ target, ...windows.numbers(target, from, to) }));
  const busy = rows.length > MAX_LINES ? all.sort((a, b) => b.bid - a.bid).slice(0, MAX_LINES) : all;
  const line = (of) => h('tr', null,
    h('th', { scope: 'row' }, `Target ${of.target}`),
    [count(of.bid), count(of.accepted), count(of.used), count(of.late), percent(Math.min(1, of.promised)), size(of.bytes)].map((text) => h('td', { class: 'number' }, text)));
  const heads = ['Target', 'Bid', 'Accepted', 'Used', 'Late', 'Time promised', 'Content'];
  return [
    rows.length > MAX_LINES && h('p', { class: 'small muted' }, `The ${MAX_LINES} busiest of ${count(rows.length)} targets.`),
    h('div', { class: 'scroll' }, h('table', { class: 'small' },
      h('caption', { class: 'unseen' }, 'Windows of each target in the time that is shown'),
      h('thead', null, h('tr', null, heads.map((name, place) => h('th', { scope: 'col', class: place ? 'number' : null }, name)))),
      h('tbody', null, busy.map(line)))),
  ];
}

function summary(rows, { from, to }) {
  const sum = { bid: 0, accepted: 0, used: 0, late: 0 };
  let most = null;
  for (const { target } of rows) {
    const of = feed.windows.numbers(target, from, to);
    for (const key of Object.keys(sum)) sum[key] += of[key];
    if (of.accepted > 0 && (most === null || of.promised > most.promised)) most = { target, promised: of.promised };
  }
  const length = spanName(to - from);
  if (sum.bid === 0) return `No windows in the ${length} that are shown.`;
  const late = sum.late ? ` ${count(sum.late)} came late.` : '';
  const busiest = most ? ` The busiest is target ${most.target}, promised for ${percent(Math.min(1, most.promised))} of the time.` : '';
  return `In the ${length} that are shown ${count(sum.bid)} windows were bid, ${count(sum.accepted)} accepted and ${count(sum.used)} used.${late}${busiest}`;
}

/** The picture with all that moves it; `more` is what else is below it. */
function build(view) {
  const canvas = h('canvas', { role: 'img', tabindex: '0', 'aria-label': 'Timeline of reservations', 'aria-describedby': 'keys summary' });
  const spacer = h('div', { class: 'spacer' });
  const box = h('div', { class: 'lanes' }, canvas, spacer);
  const tip = h('div', { class: 'tip', hidden: true, 'aria-hidden': 'true' });
  const said = h('p', { id: 'summary', class: 'small muted' });
  const lines = h('div');
  const details = h('details', { class: 'card' }, h('summary', null, 'The same as a table'), lines);
  const state = { rows: [], shown: null, last: 0, told: 0, pointer: null, drag: null };
  return { view, canvas, spacer, box, tip, said, lines, details, state };
}

function layout(box) {
  const { clientWidth: width } = box;
  const isSmall = width < 560;
  return { left: isSmall ? 34 : 56, top: 26, right: 10, rowHeight: isSmall ? 34 : 40, width };
}

function render(parts, now) {
  const { view, canvas, spacer, box, state } = parts;
  const { left, top, right, rowHeight, width } = layout(box);
  state.rows = rowsOf(node.status, feed.windows);
  const content = top + state.rows.length * rowHeight + 8;
  const height = Math.min(content, Math.max(260, Math.min(innerHeight - 250, 760)));
  if (box.style.height !== `${height}px`) box.style.setProperty('height', `${height}px`);
  // The canvas stays while the spacer makes the box as tall as all rows.
  spacer.style.setProperty('height', `${Math.max(0, content - height)}px`);
  canvas.style.setProperty('height', `${height}px`);
  const first = Math.floor(box.scrollTop / rowHeight);
  const seen = state.rows.slice(first, first + Math.ceil(height / rowHeight)).map((row) => row.target);
  const range = view.range(now, seen);
  const shown = { ...range, left, top, width: width - left - right, height, rowHeight, offset: box.scrollTop, rows: state.rows, labels: true };
  const context = sharpen(canvas, width, height);
  state.drawn = draw(context, shown);
  state.shown = shown;
  canvas.dataset.rows = `${state.drawn.last - state.drawn.first + 1}`;
}

/** The window at a place of the picture, the one that is most certain. */
function windowAt(parts, x, y) {
  const { shown, rows } = parts.state;
  if (!shown || x < shown.left || y < shown.top) return null;
  const place = Math.floor((y - shown.top + shown.offset) / shown.rowHeight);
  const of = rows[place];
  if (!of?.row) return null;
  const scale = shown.width / (shown.to - shown.from);
  const middle = shown.top + place * shown.rowHeight - shown.offset + shown.rowHeight / 2;
  const outgoing = y > middle ? 1 : 0;
  const slack = 2 / scale;
  const time = shown.from + (x - shown.left) / scale;
  const hit = (window) => window.outgoing === outgoing && window.start - slack <= time && Math.max(window.end, window.usedAt ?? 0) + slack >= time;
  const found = of.row.windows.filter(hit);
  const order = (window) => (window.state === USED ? 0 : window.state === ACCEPTED ? 1 : 2);
  found.sort((a, b) => order(a) - order(b));
  return found.length ? { window: found[0], target: of.target, more: found.length - 1 } : null;
}

function showTip(parts) {
  const { tip, box, state } = parts;
  const at = state.pointer && !state.drag ? windowAt(parts, state.pointer.x, state.pointer.y) : null;
  tip.hidden = !at;
  if (!at) return;
  const more = at.more ? [`and ${count(at.more)} more at this place`] : [];
  tip.replaceChildren(...[...describe(at.window, at.target), ...more].map((line) => h('div', null, line)));
  const x = Math.min(state.pointer.x + 14, box.clientWidth - tip.offsetWidth - 4);
  const below = state.pointer.y + 18 + tip.offsetHeight < box.clientHeight;
  tip.style.setProperty('left', `${Math.max(4, x)}px`);
  tip.style.setProperty('top', `${below ? state.pointer.y + 18 : Math.max(4, state.pointer.y - tip.offsetHeight - 10)}px`);
}

function controls(parts, changed) {
  const { view } = parts;
  const hold = h('button', { type: 'button', id: 'hold' });
  const spans = h('select', { id: 'span', 'aria-label': 'Time shown' }, SPANS.map((ms) => h('option', { value: `${ms}` }, spanName(ms))));
  const [shorter, longer] = [[1, 'plus', 'Show less time'], [-1, 'minus', 'Show more time']].map(([step, name, label]) =>
    h('button', { type: 'button', class: 'square', 'aria-label': label, title: label, onclick: () => zoom(step) }, icon(name)));
  const see = () => {
    fill(hold, icon(view.isHeld ? 'play' : 'pause'), view.isHeld ? 'Go on' : 'Hold');
    spans.value = `${SPANS.reduce((best, ms) => (Math.abs(Math.log(ms / view.span)) < Math.abs(Math.log(best / view.span)) ? ms : best))}`;
    changed();
  };
  const toggle = () => {
    view.hold(view.isHeld || !parts.state.shown ? null : (parts.state.shown.from + parts.state.shown.to) / 2);
    view.stillUntil = 0;
    see();
  };
  const zoom = (step, around, part) => {
    view.zoom(view.nearest(step), around ?? view.held ?? undefined, part ?? 0.5);
    see();
  };
  hold.addEventListener('click', toggle);
  spans.addEventListener('change', () => { view.zoom(Number(spans.value), view.held ?? undefined, 0.5); see(); });
  see();
  const pan = (part) => {
    const { shown } = parts.state;
    if (!shown) return;
    view.hold((shown.from + shown.to) / 2 + view.span * part);
    see();
  };
  return { elements: [hold, h('span', { class: 'row' }, longer, spans, shorter)], toggle, zoom, pan, see };
}

function listen(parts, { toggle, zoom, pan, see }) {
  const { canvas, box, state, view } = parts;
  const keys = { ' ': toggle, ArrowLeft: () => pan(-0.1), ArrowRight: () => pan(0.1), '+': () => zoom(1), '=': () => zoom(1), '-': () => zoom(-1), End: () => view.isHeld && toggle() };
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  const place = (event) => {
    const frame = canvas.getBoundingClientRect();
    return { x: event.clientX - frame.left, y: event.clientY - frame.top };
  };
  canvas.addEventListener('pointermove', (event) => {
    state.pointer = place(event);
    if (state.drag) {
      const { at, middle } = state.drag;
      if (Math.abs(state.pointer.x - at) > 3) {
        view.hold(middle - ((state.pointer.x - at) / state.shown.width) * view.span);
        see();
      }
    }
    showTip(parts);
  });
  canvas.addEventListener('pointerleave', () => { state.pointer = null; showTip(parts); });
  canvas.addEventListener('pointerdown', (event) => {
    // A finger scrolls the page.
    if (event.pointerType === 'touch' || !state.shown) return;
    canvas.setPointerCapture(event.pointerId);
    state.drag = { at: place(event).x, middle: (state.shown.from + state.shown.to) / 2 };
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, () => { state.drag = null; });
  box.addEventListener('wheel', (event) => {
    if (!state.shown) return;
    const part = Math.max(0, Math.min(1, (place(event).x - state.shown.left) / state.shown.width));
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(event.deltaY > 0 ? -1 : 1, state.shown.from + part * view.span, part);
    } else if (event.deltaX && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan(event.deltaX / state.shown.width);
    }
  }, { passive: false });
}

export function timeline(main) {
  const parts = build(new View());
  const { state } = parts;
  const note = h('p', { class: 'note warn', role: 'status', hidden: true });
  const bar = controls(parts, () => { state.last = 0; });
  listen(parts, bar);
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Reservations'), ...bar.elements),
    note,
    h('section', { class: 'card timeline', 'aria-label': 'Timeline' },
      h('p', { class: 'muted small' }, 'Each row is a target. Above its line are windows for chunks that come (puts), below it for chunks that leave (gets).'),
      legend(), h('div', { class: 'lanes-frame' }, parts.box, parts.tip), parts.said),
    parts.details,
    h('p', { id: 'keys', class: 'small muted keys' }, 'Keys, when the picture has the focus: left and right move, + and − change the time shown, space holds. The mouse drags; with Ctrl its wheel zooms.'));
  const tell = () => {
    const lost = feed.windows.leftOut;
    note.hidden = !feed.problem && !lost;
    fill(note, feed.problem ? `Nothing is heard of windows: ${feed.problem}. Trying again.` : `${count(lost)} events are not shown: there were more than the page can follow.`);
  };
  const say = () => {
    if (!state.shown) return;
    fill(parts.said, summary(state.rows, state.shown));
    if (parts.details.open) parts.lines.replaceChildren(...table(state.rows, state.shown).filter(Boolean));
  };
  let frame;
  const step = (now) => {
    frame = requestAnimationFrame(step);
    // Whoever wants little motion sees a new picture now and then.
    if (now - state.last < (isCalm.matches ? 1000 : 30)) return;
    state.last = now;
    render(parts, now);
    showTip(parts);
    if (now - state.told < 1000) return;
    state.told = now;
    say();
    tell();
  };
  parts.details.addEventListener('toggle', say);
  const unwatch = watch();
  frame = requestAnimationFrame(step);
  return () => {
    cancelAnimationFrame(frame);
    unwatch();
  };
}
