// Requests to the node that serves this page, and whether it answers.

import { authorization, logIn } from './login.js';

/** What the node refused, with its words. */
export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Whether the node answers. Tells `change` when that is another one. */
export const connection = new EventTarget();
connection.isLost = false;

function answers(does) {
  if (connection.isLost === !does) return;
  connection.isLost = !does;
  connection.dispatchEvent(new Event('change'));
}

/** What an answer says is wrong. */
export function said(status, text) {
  try {
    const { error } = JSON.parse(text);
    if (typeof error === 'string') return new Problem(status, error);
  } catch {
    // It is no JSON, and shown as it is.
  }
  return new Problem(status, text.trim() || `the node answered ${status}`);
}

/** A node that is busy, or has just started, asks to come again; so often a question does. */
const ATTEMPTS = 4;

async function send(method, path, options) {
  const { headers, ...more } = options;
  for (let attempt = 1; ; attempt += 1) {
    const who = authorization();
    let answer;
    try {
      answer = await fetch(path, { method, headers: { ...who, ...headers }, cache: 'no-store', credentials: 'omit', ...more });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      answers(false);
      throw new Problem(0, 'the node does not answer');
    }
    answers(true);
    if (answer.ok) return answer;
    const problem = said(answer.status, await answer.text());
    if (answer.status === 503 && method === 'GET' && attempt < ATTEMPTS) {
      await sleep(1000 * (Number(answer.headers.get('Retry-After')) || 1), more.signal);
      continue;
    }
    if (answer.status === 401 && (await logIn(who.Authorization, problem.message))) continue;
    throw problem;
  }
}

/** Sends a request; the answer, or a `Problem`. */
export const request = (method, path, options = {}) => send(method, path, options);

/** The answer as JSON. */
export const json = async (method, path, options) => (await request(method, path, options)).json();

export const get = (path, options) => json('GET', path, options);

/** Sends a change that is said in JSON. */
export const change = (method, path, value) =>
  json(method, path, { body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } });

/** Where an object is. */
export function pathOf(bucket, name = null) {
  const parts = [bucket, ...(name === null ? [] : name.split('/'))];
  if (parts.some((part) => part === '.' || part === '..')) {
    throw new Problem(0, 'a browser cannot name it, since a part of its name is . or ..: use `slotcast get`');
  }
  return `/v2/${parts.map(encodeURIComponent).join('/')}`;
}

/** From a failed attempt to the next: twice as long each time, and not all pages at once. */
export function* pauses() {
  for (let pause = 500; ; pause = Math.min(pause * 2, 15000)) yield pause * (0.75 + Math.random() / 2);
}

export const sleep = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, { once: true });
});

/** No byte for so long: the way to the node is broken, whatever the system says. */
const SILENCE = 10000;

async function listen(path, take, signal) {
  const own = new AbortController();
  const stop = () => own.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, SILENCE);
  try {
    const answer = await send('GET', path, { signal: own.signal, headers: { Accept: 'text/event-stream' } });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE);
      text += value;
      const events = text.split('\n\n');
      text = events.pop();
      for (const event of events) {
        const lines = event.split('\n');
        const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join('\n');
        const data = field('data');
        if (data) take(field('event') || 'message', JSON.parse(data));
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/**
 * Follows Server-Sent Events until `signal` says stop, with `fetch`, since `EventSource` sends no header that says who asks.
 * `tell` hears why nothing comes, or null when something does.
 */
export async function follow(path, take, tell, signal) {
  let waits = pauses();
  while (!signal.aborted) {
    let why = 'the node has ended the stream';
    try {
      await listen(path, (event, data) => {
        waits = pauses();
        tell(null);
        take(event, data);
      }, signal);
    } catch (error) {
      why = error.name === 'AbortError' ? 'nothing was heard for a while' : error.message;
    }
    if (signal.aborted) return;
    tell(why);
    await sleep(waits.next().value, signal);
  }
}
