// Nodes and targets. Of a thousand targets only those are in the page that can be seen.

import { dialog, fill, h, put } from './dom.js';
import { count, counted, percent, rate, size, span } from './format.js';
import { gainedBy, node } from './status.js';

const ROW = 46;
const TALL_ROW = 96;
/** Rows beyond what is seen, so that none is missing while somebody scrolls. */
const SPARE = 4;

const LEVEL = { open: 'ok', opening: 'warn', full: 'warn', 'read-only': 'bad', gone: 'bad', failed: 'bad' };

const pill = (state) => h('span', { class: `pill ${LEVEL[state] ?? ''}` }, state);

/** What is taken of the file system, by whomever. */
function fillOf({ free_bytes: free, capacity_bytes: all }) {
  return free === null || free === undefined || !all ? null : 1 - free / all;
}

function bar(part) {
  const kind = part > 0.95 ? 'bar bad' : part > 0.85 ? 'bar warn' : 'bar';
  return h('div', { class: kind, 'aria-hidden': 'true' }, h('i', { style: { width: `${part * 100}%` } }));
}

function repairText({ repair }) {
  const short = repair.under_replicated_chunks;
  if (repair.walk) {
    const left = repair.walk.remaining_seconds;
    return `scans, ${count(repair.walk.visited_chunks)} looked at${left === null ? '' : `, ${span(left)} left`}`;
  }
  return short ? `${counted(short, 'chunk')} short` : repair.walks ? 'nothing short' : 'not looked yet';
}

function scrubText({ repair, chunks }) {
  if (repair.scrub) return chunks ? `${percent(Math.min(1, repair.scrub.read_chunks / chunks))} read` : 'reads';
  return repair.scrubs ? counted(repair.scrubs, 'time') : 'not yet';
}

const busy = (target) => {
  const part = gainedBy(target.target, (of) => of.disk_busy_ns);
  return part === null ? null : Math.min(1, part / 1e9);
};
const inRate = (target) => gainedBy(target.target, (of) => of.received_bytes);
const outRate = (target) => gainedBy(target.target, (of) => of.sent_bytes);
const said = (value, text) => (value === null ? '–' : text(value));

const COLUMNS = [
  { name: 'Target', key: (of) => of.target, cell: (of) => h('button', { type: 'button', class: 'plain name', onclick: () => details(of.target) }, `Target ${of.target}`) },
  { name: 'State', key: (of) => of.state, cell: (of) => pill(of.state) },
  { name: 'Disk taken', key: (of) => fillOf(of) ?? -1, cell: (of) => said(fillOf(of), (part) => h('div', { class: 'taken' }, bar(part), h('span', null, percent(part)))) },
  { name: 'Content', key: (of) => of.content_bytes, cell: (of) => size(of.content_bytes), isNumber: true },
  { name: 'In', key: (of) => inRate(of) ?? -1, cell: (of) => said(inRate(of), rate), isNumber: true },
  { name: 'Out', key: (of) => outRate(of) ?? -1, cell: (of) => said(outRate(of), rate), isNumber: true },
  { name: 'Disk busy', key: (of) => busy(of) ?? -1, cell: (of) => said(busy(of), percent), isNumber: true },
  { name: 'Windows', key: (of) => of.windows, cell: (of) => count(of.windows), isNumber: true },
  { name: 'Repair', key: (of) => of.repair.under_replicated_chunks, cell: repairText },
  { name: 'Scrub', key: (of) => of.repair.scrubs, cell: scrubText },
];

/** All that the node says of a target. */
function details(number) {
  const target = node.status.targets.find((of) => of.target === number);
  if (!target) return;
  const known = (value, text) => (value === null || value === undefined ? 'not known' : text(value));
  const rows = [
    ['State', [pill(target.state), target.reason && ` ${target.reason}`]],
    target.expected && ['Its folder should hold', target.expected],
    target.remedy && ['What to do', target.remedy],
    ['Folder', h('code', null, target.folder)],
    ['Chunks', `${count(target.chunks)}, ${size(target.content_bytes)}`],
    ['Removed, awaits compaction', size(target.void_bytes)],
    ['Segments', count(target.segments)],
    ['Free on its file system', known(target.free_bytes, (free) => `${size(free)} of ${known(target.capacity_bytes, size)}`)],
    ['Disk, as measured', known(target.disk_rate_bytes_per_s, rate)],
    ['Link, as measured', known(target.link_rate_bytes_per_s, rate)],
    ['Windows promised or bid', count(target.windows)],
    ['Chunks at its disk', count(target.chunks_at_disk)],
    ['Since the start', `${size(target.received_bytes)} in, ${size(target.sent_bytes)} out, ${counted(target.flushed_batches, 'batch', 'batches')} flushed`],
    ['Repair', `${repairText(target)}; ${counted(target.repair.healed_chunks, 'chunk')} healed, ${counted(target.repair.failed_attempts, 'attempt')} failed`],
    ['Scrub', `${scrubText(target)}; ${counted(target.repair.scrubbed_chunks, 'chunk')} read since the start`],
    ['Lost or unreadable', `${count(target.lost_chunks)} lost, ${count(target.unreadable_chunks)} unreadable, ${counted(target.unreadable_segments, 'segment')} unreadable`],
  ];
  dialog(`Target ${number}`, (close) => h('form', { method: 'dialog' },
    h('dl', { class: 'facts' }, rows.filter(Boolean).map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
    h('div', { class: 'actions' }, h('button', { type: 'button', autofocus: true, onclick: () => close() }, 'Close'))));
}

/** The nodes of the cluster, as this one hears them. */
function nodes() {
  const body = h('div');
  const element = h('section', { class: 'card', 'aria-label': 'Nodes', hidden: true }, h('h2', null, 'Nodes'), body);
  const row = ({ node: number, address, state, reason, clock_ahead_ns: ahead, clock_doubt_ns: doubt, version }) => h('tr', null,
    h('th', { scope: 'row' }, `Node ${number}`),
    h('td', null, h('span', { class: `pill ${state === 'up' && !reason ? 'ok' : 'bad'}` }, reason ? 'not believed' : state === 'up' ? 'heard' : 'not heard')),
    h('td', null, h('code', null, address)),
    h('td', null, ahead === null ? 'not known' : `${span(Math.abs(ahead) / 1e9)} ${ahead < 0 ? 'behind' : 'ahead'}, to ${span((doubt ?? 0) / 1e9)}`),
    h('td', null, version ?? 'not known'));
  const see = ({ network }) => {
    element.hidden = !network?.peers.length;
    if (element.hidden) return;
    fill(body, h('div', { class: 'scroll' }, h('table', null,
      h('thead', null, h('tr', null, ['Node', 'State', 'Address', 'Its clock', 'Datagram version'].map((name) => h('th', { scope: 'col' }, name)))),
      h('tbody', null, network.peers.map(row)))),
    h('p', { class: 'small muted' }, `The others, as node ${network.node} hears them. Their targets are on their own pages.`));
  };
  return { element, see };
}

/** A table of which only the rows in sight are there. */
function virtual(view) {
  const body = h('div', { class: 'rows', role: 'rowgroup' });
  const heads = COLUMNS.map((column, place) => {
    const button = h('button', { type: 'button', class: 'plain', onclick: () => view.sortBy(place) }, column.name);
    return h('div', { role: 'columnheader', class: column.isNumber ? 'number' : null }, button);
  });
  const head = h('div', { class: 'grid-row head-row', role: 'row', 'aria-rowindex': '1' }, heads);
  const space = h('div', { class: 'space', role: 'presentation' }, body);
  const box = h('div', { class: 'grid', role: 'table', tabindex: '0', 'aria-label': 'Targets of this node' }, h('div', { role: 'rowgroup', class: 'head-group' }, head), space);
  let list = [];
  const made = new Map();
  const isTall = () => box.clientWidth < 700;
  const place = () => {
    const height = isTall() ? TALL_ROW : ROW;
    box.classList.toggle('tall', isTall());
    space.style.setProperty('height', `${list.length * height}px`);
    const top = Math.max(0, box.scrollTop - head.offsetHeight);
    const first = Math.max(0, Math.floor(top / height) - SPARE);
    const last = Math.min(list.length, Math.ceil((top + box.clientHeight) / height) + SPARE);
    return { first, last, height };
  };
  const draw = () => {
    const { first, last, height } = place();
    const wanted = new Set();
    for (let at = first; at < last; at += 1) {
      const target = list[at];
      wanted.add(target.target);
      let row = made.get(target.target);
      if (!row) {
        const cells = COLUMNS.map((column) => h('div', { role: 'cell', class: column.isNumber ? 'number' : null, 'data-name': column.name }));
        row = { element: h('div', { class: 'grid-row', role: 'row' }, cells), cells, of: null };
        made.set(target.target, row);
      }
      if (row.of !== target) {
        row.of = target;
        COLUMNS.forEach((column, n) => {
          // The button of a row that has the focus stays.
          if (n > 0 || row.cells[n].childNodes.length === 0) fill(row.cells[n], column.cell(target));
        });
      }
      row.element.style.setProperty('transform', `translateY(${at * height}px)`);
      row.element.setAttribute('aria-rowindex', `${at + 2}`);
      if (row.element.parentNode !== body) body.append(row.element);
    }
    for (const [target, row] of made) {
      if (wanted.has(target) || row.element.contains(document.activeElement)) continue;
      row.element.remove();
      made.delete(target);
    }
  };
  box.addEventListener('scroll', () => requestAnimationFrame(draw), { passive: true });
  const show = (targets, sort, isDown) => {
    list = targets;
    box.setAttribute('aria-rowcount', `${list.length + 1}`);
    heads.forEach((element, n) => element.setAttribute('aria-sort', n !== sort ? 'none' : isDown ? 'descending' : 'ascending'));
    draw();
  };
  return { element: box, show, draw };
}

export function targets(main) {
  const state = { sort: 0, isDown: false };
  const search = h('input', { type: 'search', placeholder: 'Number or folder', 'aria-label': 'Find a target' });
  const which = h('select', { 'aria-label': 'State of the targets' }, ['All states', 'Not open', ...Object.keys(LEVEL)].map((name) => h('option', null, name)));
  const found = h('p', { class: 'small muted', role: 'status' });
  const view = {
    sortBy(place) {
      state.isDown = state.sort === place ? !state.isDown : place > 0;
      state.sort = place;
      see();
    },
  };
  const [list, all] = [virtual(view), nodes()];
  function see() {
    if (!node.status) return;
    all.see(node.status);
    const text = search.value.trim().toLowerCase();
    const isWanted = (of) => (which.value === 'All states' || (which.value === 'Not open' ? of.state !== 'open' : of.state === which.value))
      && (text === '' || `${of.target}` === text || of.folder.toLowerCase().includes(text));
    const wanted = node.status.targets.filter(isWanted);
    const { key } = COLUMNS[state.sort];
    const keyed = wanted.map((of) => ({ of, by: key(of) }));
    const sign = state.isDown ? -1 : 1;
    keyed.sort((a, b) => (a.by < b.by ? -sign : a.by > b.by ? sign : a.of.target - b.of.target));
    list.show(keyed.map(({ of }) => of), state.sort, state.isDown);
    fill(found, wanted.length === node.status.targets.length ? `${counted(wanted.length, 'target')} of this node` : `${count(wanted.length)} of ${counted(node.status.targets.length, 'target')}`);
  }
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Nodes and targets'), search, which),
    h('div', { class: 'stack' }, h('section', { class: 'card flush', 'aria-label': 'Targets' }, list.element), found, all.element));
  search.addEventListener('input', see);
  which.addEventListener('change', see);
  node.addEventListener('status', see);
  addEventListener('resize', list.draw);
  see();
  return () => {
    node.removeEventListener('status', see);
    removeEventListener('resize', list.draw);
  };
}
