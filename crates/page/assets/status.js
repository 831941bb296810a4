// How the node is, asked again and again while somebody looks, and what follows from two answers.

import { get, pauses, sleep } from './http.js';

const PERIOD = 2000;
/** Rates are those of the last few answers. */
const RECENT = 4;
const HISTORY = 90;

/** Tells `status` with each answer, and `problem` where there is none. */
export const node = new EventTarget();
node.status = null;
node.problem = null;
/** Earlier answers, the oldest first: when, the sums of all targets, and each of the recent ones by target. */
node.samples = [];

function sampled(status, at) {
  const sum = (of) => status.targets.reduce((total, target) => total + of(target), 0);
  return {
    at,
    received: sum((target) => target.received_bytes),
    sent: sum((target) => target.sent_bytes),
    targets: new Map(status.targets.map((target) => [target.target, target])),
    requests: status.requests ?? null,
  };
}

/** Takes an answer that came at `at` milliseconds. */
export function take(status, at = performance.now()) {
  const sample = sampled(status, at);
  const last = node.samples.at(-1);
  // A node that counts from zero again was started anew.
  if (last && (sample.received < last.received || sample.sent < last.sent)) node.samples.length = 0;
  node.samples.push(sample);
  if (node.samples.length > HISTORY) node.samples.shift();
  // Of the older ones only sums are needed.
  const old = node.samples.at(-RECENT - 1);
  if (old) old.targets = null;
  node.status = status;
  node.problem = null;
  node.dispatchEvent(new Event('status'));
}

/** The two samples between which rates are measured; none before there are two. */
function pair() {
  const recent = node.samples.slice(-RECENT);
  return recent.length < 2 ? null : [recent[0], recent.at(-1)];
}

/** What `of` has gained per second of late, of all targets; null if it is not known. */
export function gained(of) {
  const two = pair();
  return two && (of(two[1]) - of(two[0])) / ((two[1].at - two[0].at) / 1000);
}

/** The same of one target. */
export function gainedBy(target, of) {
  const two = pair();
  const [before, now] = two ? [two[0].targets?.get(target), two[1].targets.get(target)] : [];
  return before && now ? Math.max(0, of(now) - of(before)) / ((two[1].at - two[0].at) / 1000) : null;
}

/** The course of something per second, one value for each answer. */
export function course(of) {
  const { samples } = node;
  return samples.slice(1).map((sample, place) => Math.max(0, of(sample) - of(samples[place])) / ((sample.at - samples[place].at) / 1000));
}

/** Requests of a kind (`put`, `get`) that ended in the last minute: how many, how many failed, and quantiles of their time. */
export function latency(kind) {
  const last = node.samples.at(-1);
  const first = node.samples.find((sample) => last.at - sample.at <= 60000 && sample.requests);
  const of = (sample) => sample?.requests?.[kind];
  if (!last || !of(last) || !of(first) || first === last) return null;
  const [now, before] = [of(last), of(first)];
  const buckets = now.buckets.map((n, place) => n - before.buckets[place]);
  const total = buckets.reduce((sum, n) => sum + n, 0);
  return {
    count: total,
    failed: now.failed - before.failed,
    seconds: (last.at - first.at) / 1000,
    quantile: (part) => quantile(last.requests.bounds, buckets, total, part),
  };
}

/** Within a bucket times are taken for spread evenly. */
export function quantile(bounds, buckets, total, part) {
  let left = total * part;
  for (const [place, n] of buckets.entries()) {
    if (n >= left && n > 0) {
      const from = place === 0 ? 0 : bounds[place - 1];
      const to = bounds[place] ?? from;
      return from + (to - from) * (left / n);
    }
    left -= n;
  }
  return bounds.at(-1);
}

async function run() {
  let waits = pauses();
  for (;;) {
    try {
      take(await get('/v1/status'));
      waits = pauses();
      await sleep(PERIOD);
    } catch (error) {
      node.problem = error;
      node.dispatchEvent(new Event('problem'));
      await sleep(error.status === 401 ? 60000 : waits.next().value);
    }
    if (document.hidden) {
      await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
      // What was missed is no course.
      node.samples.length = 0;
    }
  }
}

let isRunning = false;

/** Begins to ask. */
export function start() {
  if (!isRunning) run();
  isRunning = true;
}
