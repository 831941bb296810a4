// Uploads: several at a time, each with its progress, also of whole folders that are dropped.

import { fill, h, iconButton, put, toast } from './dom.js';
import { counted, rate, size } from './format.js';
import { pathOf, said } from './http.js';
import { authorization, logIn } from './login.js';

const AT_A_TIME = 3;
/** A busy node asks to come again; so often that is tried. */
const ATTEMPTS = 6;

/** Files that were dropped, with their names below the folder that they were in. */
export async function dropped(transfer) {
  // What is dropped is only there until the first pause.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ file, name: file.name }));
  const found = [];
  const visit = async (entry) => {
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ file, name: entry.fullPath.replace(/^\//, '') });
      return;
    }
    const reader = entry.createReader();
    for (;;) {
      const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const each of some) await visit(each);
    }
  };
  for (const entry of entries) await visit(entry);
  return found;
}

/** Sends a file, with its progress, which `fetch` does not tell. */
function send(path, file, tell, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('PUT', path);
    const who = authorization();
    for (const [name, value] of Object.entries(who)) request.setRequestHeader(name, value);
    if (file.type) request.setRequestHeader('Content-Type', file.type);
    request.upload.addEventListener('progress', (event) => tell(event.loaded));
    request.addEventListener('load', () => {
      if (request.status < 300) resolve(null);
      else resolve({ problem: said(request.status, request.responseText), used: who.Authorization });
    });
    request.addEventListener('error', () => resolve({ problem: said(0, 'the node does not answer') }));
    request.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.send(file);
  });
}

async function upload(bucket, name, file, tell, signal) {
  const path = pathOf(bucket, name);
  for (let attempt = 1; ; attempt += 1) {
    const failed = await send(path, file, tell, signal);
    if (!failed) return;
    const { problem, used } = failed;
    if (problem.status === 401 && (await logIn(used, problem.message))) continue;
    if (![0, 503].includes(problem.status) || attempt === ATTEMPTS) throw problem;
    await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** attempt));
    if (signal.aborted) throw new DOMException('', 'AbortError');
  }
}

/** The list of uploads of a bucket; `ended` is called when one has ended well. */
export function uploads(ended) {
  const list = h('ul', { class: 'uploads' });
  const text = h('h2', { role: 'status' });
  const element = h('section', { class: 'card', 'aria-label': 'Uploads', hidden: true }, text, list);
  const waiting = [];
  let active = 0;
  let done = 0;
  let failed = 0;
  const see = () => {
    element.hidden = list.childNodes.length === 0;
    const left = active + waiting.length;
    fill(text, left ? `Uploads: ${counted(left, 'file')} to go` : `Uploads: ${counted(done, 'file')} stored${failed ? `, ${failed} not` : ''}`);
  };
  const next = async () => {
    if (active >= AT_A_TIME || waiting.length === 0) return;
    const { bucket, name, file, row, abort } = waiting.shift();
    active += 1;
    see();
    const began = performance.now();
    try {
      await upload(bucket, name, file, (loaded) => row.tell(loaded, began), abort.signal);
      done += 1;
      row.end('stored', 'ok');
      setTimeout(() => { row.element.remove(); see(); }, 4000);
      ended(name);
    } catch (error) {
      failed += 1;
      row.end(error.name === 'AbortError' ? 'cancelled' : error.message, 'bad');
      if (error.name !== 'AbortError') toast(`${name} was not stored: ${error.message}`, { bad: true });
    }
    active -= 1;
    see();
    next();
  };
  const makeRow = (name, file, abort) => {
    const fillBar = h('i');
    const bar = h('div', { class: 'bar', role: 'progressbar', 'aria-label': `Upload of ${name}`, 'aria-valuemin': '0', 'aria-valuemax': '100', 'aria-valuenow': '0' }, fillBar);
    const state = h('span', { class: 'small muted' }, `${size(file.size)}, waits`);
    const cancel = iconButton('close', `Cancel the upload of ${name}`, () => abort.abort());
    const row = h('li', null, h('span', { class: 'name' }, name), bar, state, cancel);
    const show = (part) => {
      fillBar.style.setProperty('width', `${part * 100}%`);
      bar.setAttribute('aria-valuenow', `${Math.round(part * 100)}`);
    };
    return {
      element: row,
      tell(loaded, began) {
        const part = file.size ? loaded / file.size : 1;
        show(part);
        const pace = loaded / ((performance.now() - began) / 1000);
        fill(state, part < 1 ? `${size(loaded)} of ${size(file.size)}, ${rate(pace)}` : 'being stored on all targets');
      },
      end(what, kind) {
        if (kind === 'ok') show(1);
        fill(state, what);
        state.className = `small pill ${kind}`;
        fill(cancel, '');
        cancel.hidden = true;
        if (kind !== 'ok') put(row, iconButton('close', `Dismiss ${name}`, () => { row.remove(); see(); }));
      },
    };
  };
  const add = (bucket, files) => {
    for (const { file, name } of files) {
      const abort = new AbortController();
      const row = makeRow(name, file, abort);
      list.append(row.element);
      waiting.push({ bucket, name, file, row, abort });
    }
    see();
    for (let n = 0; n < AT_A_TIME; n += 1) next();
  };
  return { element, add };
}
