// The windows that targets have promised, as the node tells them while somebody watches. Times are milliseconds of the node's
// clock since the first that was told.

import { follow } from './http.js';

export const TENTATIVE = 0;
export const ACCEPTED = 1;
export const USED = 2;
export const GIVEN_UP = 3;

/** Windows that ended longer ago are forgotten. */
const KEEPS = 65000;
/** The most of one target. */
const MAX_WINDOWS = 20000;

/** The windows of one target. */
class Row {
  constructor(target) {
    this.target = target;
    /** In the order in which they were bid. */
    this.windows = [];
    this.open = new Map();
  }

  take(state, key, window) {
    const known = this.open.get(key);
    if (state === TENTATIVE || !known) {
      // Of one that was bid before anybody watched, only the end is told.
      const begun = { ...window, state, usedAt: null };
      if (state === USED) begun.usedAt = window.at;
      this.windows.push(begun);
      if (state === TENTATIVE || state === ACCEPTED) this.open.set(key, begun);
      return;
    }
    known.state = known.state === ACCEPTED && state === GIVEN_UP ? GIVEN_UP : state;
    if (state === ACCEPTED) [known.start, known.end] = [window.start, window.end];
    else this.open.delete(key);
    if (state === USED) known.usedAt = window.at;
  }

  forget(before) {
    const { windows } = this;
    let gone = Math.max(0, windows.length - MAX_WINDOWS);
    while (gone < windows.length && windows[gone].end < before) gone += 1;
    if (gone === 0) return;
    windows.splice(0, gone);
    for (const [key, window] of this.open) if (window.end < before) this.open.delete(key);
  }
}

/** All that is known of windows. */
export class Windows {
  constructor() {
    this.clear();
  }

  clear() {
    this.rows = new Map();
    this.first = null;
    this.told = 0;
    this.date = 0;
    this.leftOut = 0;
    this.events = 0;
    this.ahead = null;
  }

  /** What the node has told, which came at `came` milliseconds. */
  take({ now, date, left_out: leftOut, events }, came = performance.now()) {
    // A clock that was set back is that of a node that was started anew.
    if (this.first === null || now < this.first) {
      this.clear();
      this.first = now;
    }
    const present = (now - this.first) / 1000;
    this.told = present;
    this.date = date;
    this.leftOut += leftOut;
    this.events += events.length;
    // What comes fastest is nearest to the truth; clocks that drift are followed slowly.
    const ahead = present - came;
    this.ahead = this.ahead === null || ahead > this.ahead ? ahead : this.ahead + (ahead - this.ahead) * 0.01;
    for (const [state, target, outgoing, initiator, serial, round, start, end, at, bytes] of events) {
      const window = { start: present + start / 1e6, end: present + end / 1e6, at: present + at / 1e6, outgoing, bytes, round, request: `${initiator}.${serial}` };
      this.row(target).take(state, `${outgoing}.${initiator}.${serial}.${round}`, window);
    }
    for (const row of this.rows.values()) row.forget(present - KEEPS);
  }

  row(target) {
    let row = this.rows.get(target);
    if (!row) this.rows.set(target, (row = new Row(target)));
    return row;
  }

  /** The present on the node's clock, as far as it can be told between two messages. */
  present(now = performance.now()) {
    return this.ahead === null ? 0 : Math.min(now + this.ahead, this.told + 1500);
  }

  /** When the last window of these targets began, up to now; null without any. */
  latest(targets) {
    let latest = null;
    for (const target of targets) {
      const windows = this.rows.get(target)?.windows ?? [];
      for (let place = windows.length - 1; place >= Math.max(0, windows.length - 50); place -= 1) {
        const { start } = windows[place];
        if (latest === null || start > latest) latest = start;
      }
    }
    return latest;
  }

  /** The time of day, in milliseconds since 1970, of a time here. */
  dateOf(time) {
    return this.date + (time - this.told);
  }

  /** What became of the windows of a target that began in this time, and the shares of it that were promised and used. */
  numbers(target, from, to) {
    const numbers = { bid: 0, accepted: 0, used: 0, givenUp: 0, bytes: 0, late: 0, promised: 0 };
    for (const window of this.rows.get(target)?.windows ?? []) {
      if (window.start < from || window.start >= to) continue;
      numbers.bid += 1;
      if (window.state === ACCEPTED || window.state === USED) {
        numbers.accepted += 1;
        numbers.promised += window.end - window.start;
      }
      if (window.state === USED) {
        numbers.used += 1;
        numbers.bytes += window.bytes;
        if (window.usedAt > window.end) numbers.late += 1;
      }
      if (window.state === GIVEN_UP) numbers.givenUp += 1;
    }
    numbers.promised /= to - from;
    return numbers;
  }
}

/** What this page knows. Tells `windows` when there is more, and `problem` when nothing comes. */
export const feed = new EventTarget();
feed.windows = new Windows();
feed.problem = null;

let watchers = 0;
let stop = null;

function run() {
  stop = new AbortController();
  const tell = (why) => {
    if (why === feed.problem) return;
    feed.problem = why;
    feed.dispatchEvent(new Event('problem'));
  };
  const take = (event, data) => {
    if (event === 'missed') feed.windows.leftOut += data;
    if (event !== 'windows') return;
    feed.windows.take(data);
    feed.dispatchEvent(new Event('windows'));
  };
  follow('/v1/events', take, tell, stop.signal);
}

function see() {
  const isWanted = watchers > 0 && !document.hidden;
  if (isWanted && !stop) run();
  if (!isWanted && stop) {
    stop.abort();
    stop = null;
    // What was missed meanwhile is not known: nothing is better than half of it.
    feed.windows.clear();
  }
}

document.addEventListener('visibilitychange', see);

/** Begins to watch; call what this gives when that is no longer wanted. */
export function watch() {
  watchers += 1;
  see();
  return () => {
    watchers -= 1;
    // The next view may watch, too: it goes on with what is known.
    setTimeout(see, 3000);
  };
}
