// The overview: health in a sentence, what fits, what is done, how long it takes, and the windows of the moment.

import { fill, h, icon, put } from './dom.js';
import { count, counted, percent, perSecond, rate, size, span } from './format.js';
import { health, LEVELS } from './health.js';
import { draw, drawCourse, sharpen } from './picture.js';
import { course, gained, latency, node } from './status.js';
import { legend, rowsOf } from './timeline.js';
import { feed, watch } from './windows.js';

const isCalm = matchMedia('(prefers-reduced-motion: reduce)');
/** Rows of the small timeline. */
const MAX_ROWS = 9;
const SPAN = 10000;

/** Room on the file systems of the targets: each counts once, however many targets share it. */
export function room(targets) {
  const systems = new Map();
  let unknown = 0;
  for (const { target, file_system: system, free_bytes: free, capacity_bytes: all } of targets) {
    if (free === null || free === undefined || !all) unknown += 1;
    else systems.set(system ?? `target ${target}`, { free, all });
  }
  const of = [...systems.values()];
  return {
    free: of.reduce((sum, { free }) => sum + free, 0),
    all: of.reduce((sum, { all }) => sum + all, 0),
    systems: of.length,
    unknown,
  };
}

function stat(title, value, ...more) {
  return h('section', { class: 'card stat' }, h('h2', { class: 'quiet-heading' }, title), value, ...more);
}

function capacity() {
  const value = h('p', { class: 'figure' });
  const bar = h('div', { class: 'bar', 'aria-hidden': 'true' }, h('i'));
  const text = h('p', { class: 'small muted' });
  const see = ({ targets }) => {
    const { free, all, systems, unknown } = room(targets);
    const stored = targets.reduce((sum, target) => sum + target.content_bytes, 0);
    if (all === 0) {
      fill(value, h('span', { class: 'unknown-figure' }, 'Not known'));
      bar.hidden = true;
      fill(text, 'The file systems of the targets do not say how large they are.');
      return;
    }
    const part = 1 - free / all;
    bar.hidden = false;
    fill(value, size(free), h('small', null, ' free'));
    bar.className = part > 0.95 ? 'bar bad' : part > 0.85 ? 'bar warn' : 'bar';
    bar.firstChild.style.setProperty('width', `${part * 100}%`);
    fill(text, `${percent(part)} of ${size(all)} on ${counted(systems, 'file system')} taken, ${size(stored)} of it by chunks${unknown ? `; ${counted(unknown, 'target')} not counted` : ''}`);
  };
  return { element: stat('Capacity of this node', value, bar, text), see };
}

/** What comes in, or goes out. */
function flow(title, kind, bytes, colour) {
  const value = h('p', { class: 'figure' });
  const picture = h('canvas', { class: 'course', 'aria-hidden': 'true' });
  const text = h('p', { class: 'small muted' });
  const see = () => {
    const perS = gained(bytes);
    const done = latency(kind);
    fill(value, ...(done ? [perSecond(done.count / done.seconds).replace('/s', ''), h('small', null, ' per second')] : [h('span', { class: 'unknown-figure' }, 'Not known yet')]));
    const failed = done?.failed ? `; ${count(done.failed)} failed` : '';
    fill(text, perS === null ? '' : `${rate(perS)} of content, every replica counted${failed}`);
    drawCourse(picture, course(bytes), colour);
  };
  return { element: stat(title, value, picture, text), see };
}

function times() {
  const cell = () => h('td', { class: 'number' });
  const row = (name) => {
    const cells = [cell(), cell(), cell()];
    return { cells, element: h('tr', null, h('th', { scope: 'row' }, name), cells) };
  };
  const [puts, gets] = [row('Puts'), row('Gets')];
  const text = h('p', { class: 'small muted' });
  const see = () => {
    const all = [latency('put'), latency('get')];
    for (const [place, { cells }] of [puts, gets].entries()) {
      const of = all[place];
      [0.5, 0.99].forEach((part, at) => fill(cells[at], of?.count ? span(of.quantile(part)) : '–'));
      fill(cells[2], of ? count(of.count) : '–');
    }
    const seconds = all[0]?.seconds ?? 0;
    fill(text, seconds ? `Of the last ${span(seconds)}, to the last byte of the answer` : 'Not known yet');
  };
  const head = ['', 'Median', '99 %', 'Count'].map((name, place) => h('th', { scope: 'col', class: place ? 'number' : null }, name || h('span', { class: 'unseen' }, 'Requests')));
  const element = stat('Latency of requests', h('table', { class: 'times' }, h('thead', null, h('tr', null, head)), h('tbody', null, puts.element, gets.element)), text);
  return { element, see };
}

function sentence() {
  const mark = h('div', { class: 'mark' });
  const text = h('p', { class: 'sentence' });
  const level = h('p', { class: 'quiet-heading' });
  const list = h('ul', { class: 'found' });
  const element = h('section', { class: 'card health', 'aria-label': 'Health' }, mark, h('div', { class: 'grow' }, level, text, list));
  const see = () => {
    const { level: of, sentence: said, found } = health(node.status);
    element.dataset.level = of;
    fill(mark, icon(LEVELS[of].icon));
    fill(level, LEVELS[of].name);
    fill(text, said);
    const line = ({ text: what, remedy }) => h('li', null, what, remedy && h('span', { class: 'muted' }, ` ${remedy}`));
    list.hidden = found.length === 0 || (found.length === 1 && !found[0].remedy);
    fill(list, ...found.map(line));
  };
  return { element, see };
}

function lanes() {
  const canvas = h('canvas', { role: 'img', class: 'small-lanes', 'aria-label': 'Windows of the last ten seconds' });
  const more = h('p', { class: 'small muted' });
  const element = h('section', { class: 'card', 'aria-label': 'Reservations' },
    h('div', { class: 'row' }, h('h2', { class: 'grow' }, 'Reservations, live'), h('a', { href: '#/timeline' }, 'Open the timeline')),
    legend(), canvas, more);
  const see = (now) => {
    const all = rowsOf(node.status, feed.windows);
    const rows = all.slice(0, MAX_ROWS);
    const isSmall = canvas.clientWidth < 560;
    const rowHeight = 22;
    const height = 22 + rows.length * rowHeight + 4;
    canvas.style.setProperty('height', `${height}px`);
    const width = canvas.clientWidth;
    const left = isSmall ? 26 : 34;
    const mark = feed.windows.present(now);
    draw(sharpen(canvas, width, height), {
      from: mark - SPAN * 0.86, to: mark + SPAN * 0.14, mark, isHeld: false, left, top: 22, width: width - left - 4, height, rowHeight, offset: 0, rows, labels: true,
    });
    const cut = all.length > rows.length ? `The first ${rows.length} of ${count(all.length)} targets. ` : '';
    fill(more, feed.problem ? `Nothing is heard of windows: ${feed.problem}.` : `${cut}${feed.windows.events === 0 ? 'No window was bid since this page is open.' : `${counted(feed.windows.events, 'event')} since this page is open.`}`);
  };
  return { element, see };
}

function about() {
  const facts = h('dl', { class: 'facts' });
  const see = ({ version, targets, network }) => {
    const chunks = targets.reduce((sum, target) => sum + target.chunks, 0);
    const rows = [
      ['Version', version],
      ['Part of', network ? `a cluster of ${counted(network.peers.length + 1, 'node')}: this is node ${network.node}, in epoch ${network.epoch}` : 'a whole cluster in one process'],
      ['Chunks on its targets', count(chunks)],
      ['Healed since the start', counted(targets.reduce((sum, target) => sum + target.repair.healed_chunks, 0), 'chunk')],
    ];
    fill(facts, ...rows.flatMap(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
  };
  return { element: h('section', { class: 'card' }, h('h2', { class: 'unseen' }, 'About this node'), facts), see };
}

export function overview(main) {
  const parts = [
    capacity(),
    flow('Puts', 'put', (sample) => sample.received, 'used'),
    flow('Gets', 'get', (sample) => sample.sent, 'accepted'),
    times(),
  ];
  const [said, windows, rest] = [sentence(), lanes(), about()];
  put(main,
    h('div', { class: 'head' }, h('h1', null, 'Overview')),
    said.element,
    h('div', { class: 'stats' }, parts.map((part) => part.element)),
    windows.element,
    rest.element);
  const see = () => {
    said.see();
    if (!node.status) return;
    [...parts, rest].forEach((part) => part.see(node.status));
  };
  const turned = () => see();
  node.addEventListener('status', see);
  document.addEventListener('theme', turned);
  see();
  const unwatch = watch();
  let last = 0;
  let frame = requestAnimationFrame(function step(now) {
    frame = requestAnimationFrame(step);
    if (now - last < (isCalm.matches ? 1000 : 40)) return;
    last = now;
    windows.see(now);
  });
  return () => {
    node.removeEventListener('status', see);
    document.removeEventListener('theme', turned);
    cancelAnimationFrame(frame);
    unwatch();
  };
}
