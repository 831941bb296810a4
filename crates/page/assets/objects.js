// What is in a bucket: by prefix and page by page, with versions, and deletions that can be taken back.

import { confirm, dialog, fill, h, icon, put, toast } from './dom.js';
import { count, counted, date, size } from './format.js';
import { get, json, pathOf, request } from './http.js';
import { authorization } from './login.js';
import { hashOf } from './buckets.js';
import { dropped, uploads } from './uploads.js';

const PAGE = 200;
/** Larger content is not taken into memory to be saved. */
const MAX_BLOB = 512 * 1024 * 1024;

function listing(bucket, query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  return get(`${pathOf(bucket)}?${new URLSearchParams(given)}`);
}

/** Saves content under its name. A browser can do that by itself, unless the node wants to know who asks. */
export async function download(bucket, { name, version, size: length }) {
  const query = version ? `?version=${encodeURIComponent(version)}` : '';
  const save = (href) => {
    const link = h('a', { href, download: name.split('/').at(-1) || name });
    document.body.append(link);
    link.click();
    link.remove();
  };
  try {
    const path = pathOf(bucket, name) + query;
    if (!authorization().Authorization) {
      save(path);
      return;
    }
    if (length > MAX_BLOB) throw new Error(`${size(length)} are more than this page saves for somebody who has logged in: use \`slotcast cp\``);
    const url = URL.createObjectURL(await (await request('GET', path)).blob());
    save(url);
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  } catch (error) {
    toast(`${name}: ${error.message}`, { bad: true });
  }
}

/** All versions of a name, the newest first. */
async function versionsOf(bucket, name) {
  const found = [];
  let from = null;
  do {
    const page = await listing(bucket, { prefix: name, versions: true, limit: PAGE, from });
    const own = page.objects.filter((of) => of.name === name);
    found.push(...own);
    // Names are in order: after the first that is longer there are no more.
    if (page.objects.some((of) => of.name !== name)) break;
    from = page.next;
  } while (from);
  return found;
}

/** Removes the markers that say that it was deleted, from the oldest on: the version before them is the latest again. */
async function takeBack(bucket, name) {
  const versions = await versionsOf(bucket, name);
  const markers = versions.findIndex((of) => !of.deleted);
  if (markers === -1) throw new Error('no version of it is kept');
  if (markers === 0) throw new Error('it was not deleted');
  for (const marker of versions.slice(0, markers).reverse()) {
    await json('DELETE', `${pathOf(bucket, name)}?version=${encodeURIComponent(marker.version)}`);
  }
}

async function undo(bucket, name, again) {
  try {
    await takeBack(bucket, name);
    toast(`${name} is back`);
  } catch (error) {
    toast(`${name}: ${error.message}`, { bad: true });
  }
  again();
}

async function remove({ bucket, versions }, name, again) {
  if (versions !== 'on') {
    const why = versions === 'off' ? 'This bucket keeps no earlier versions' : 'This bucket keeps no new versions';
    if (!(await confirm(`Delete ${name}?`, `${why}: what is deleted now cannot be taken back.`, 'Delete for good', { danger: true }))) return;
  }
  try {
    const { deleted, marker } = await json('DELETE', pathOf(bucket, name));
    if (marker) toast(`${name} is deleted`, { action: 'Undo', run: () => undo(bucket, name, again) });
    else toast(deleted ? `${name} is deleted for good` : `${name} was not there any more`);
  } catch (error) {
    toast(`${name}: ${error.message}`, { bad: true });
  }
  again();
}

function showVersions(bucket, name, again) {
  return dialog(`Versions of ${name}`, (close) => {
    const body = h('div');
    const show = async () => {
      const versions = await versionsOf(bucket.bucket, name);
      const row = (of) => h('tr', null,
        h('td', null, of.deleted ? 'deleted' : size(of.size), of.latest && h('span', { class: 'pill' }, 'latest')),
        h('td', null, of.deleted ? '' : date(of.modified)),
        h('td', null, h('code', { class: 'small' }, of.version)),
        h('td', { class: 'actions-cell' },
          !of.deleted && h('button', { type: 'button', class: 'plain', onclick: () => download(bucket.bucket, of) }, 'Download'),
          h('button', { type: 'button', class: 'plain', onclick: () => drop(of) }, of.deleted ? 'Take back' : 'Delete for good')));
      fill(body, versions.length === 0 ? h('p', { class: 'muted' }, 'None is left.') : h('div', { class: 'scroll' }, h('table', { class: 'small' },
        h('thead', { class: 'unseen' }, h('tr', null, ['Size', 'Stored', 'Version', 'Actions'].map((text) => h('th', { scope: 'col' }, text)))),
        h('tbody', null, versions.map(row)))));
    };
    const drop = async (of) => {
      if (!of.deleted && !(await confirm('Delete this version?', 'A version that is deleted is gone for good.', 'Delete for good', { danger: true }))) return;
      try {
        await json('DELETE', `${pathOf(bucket.bucket, name)}?version=${encodeURIComponent(of.version)}`);
        await show();
      } catch (error) {
        toast(error.message, { bad: true });
      }
      again();
    };
    show().catch((error) => fill(body, h('p', { class: 'note bad' }, error.message)));
    const note = bucket.versions === 'off' && h('p', { class: 'small muted' }, 'This bucket keeps no earlier versions.');
    return [body, note, h('div', { class: 'actions' }, h('button', { type: 'button', autofocus: true, onclick: () => close() }, 'Close'))].filter(Boolean);
  });
}

async function describe(bucket, name) {
  try {
    const of = await get(`${pathOf(bucket, name)}?describe=true`);
    const pairs = (object) => Object.entries(object ?? {}).map(([key, value]) => `${key}: ${value}`).join('\n');
    const rows = [
      ['Size', `${size(of.size)} (${counted(of.size, 'byte')})`],
      ['Stored', date(of.modified)],
      ['Version', h('code', null, of.version)],
      ['Media type', of.media_type ?? 'none'],
      ['Content', h('code', null, of.content)],
      ['Where', of.inline ? 'with its name, since it is small' : 'in chunks on targets'],
      ['Metadata', h('pre', null, pairs(of.metadata) || 'none')],
      ['Tags', h('pre', null, pairs(of.tags) || 'none')],
    ];
    await dialog(name, (close) => [
      h('dl', { class: 'facts' }, rows.map(([key, value]) => [h('dt', null, key), h('dd', null, value)])),
      h('div', { class: 'actions' }, h('button', { type: 'button', autofocus: true, onclick: () => close() }, 'Close')),
    ]);
  } catch (error) {
    toast(`${name}: ${error.message}`, { bad: true });
  }
}

/** Where one is: the bucket and the prefixes on the way, each a link but the last. */
function crumbs(bucket, prefix) {
  const parts = prefix.split('/').slice(0, -1);
  const all = [{ text: bucket, href: hashOf(bucket) }, ...parts.map((text, n) => ({ text, href: hashOf(bucket, `${parts.slice(0, n + 1).join('/')}/`) }))];
  const item = ({ text, href }, n) => h('li', null, n === all.length - 1 ? h('span', { 'aria-current': 'page' }, text) : h('a', { href }, text));
  return h('nav', { 'aria-label': 'Place', class: 'crumbs' }, h('ol', null, h('li', null, h('a', { href: '#/buckets' }, 'Buckets')), all.map(item)));
}

function rows(bucket, prefix, again) {
  const short = (name) => name.slice(prefix.length) || name;
  const action = (text, name, run) => h('button', { type: 'button', class: 'plain', onclick: run }, text, h('span', { class: 'unseen' }, ` ${name}`));
  const folder = (of) => h('tr', null,
    h('th', { scope: 'row', colspan: '3' }, h('a', { class: 'with-icon', href: hashOf(bucket.bucket, of) }, icon('folder'), short(of))),
    h('td', null));
  const object = (of) => h('tr', { 'data-name': of.name },
    h('th', { scope: 'row' }, h('button', { type: 'button', class: 'plain name with-icon', onclick: () => describe(bucket.bucket, of.name) }, icon('file'), short(of.name))),
    h('td', { class: 'number' }, size(of.size)),
    h('td', null, date(of.modified)),
    h('td', { class: 'actions-cell' },
      action('Download', of.name, () => download(bucket.bucket, { name: of.name, size: of.size })),
      bucket.versions !== 'off' && action('Versions', of.name, () => showVersions(bucket, of.name, again)),
      action('Delete', of.name, () => remove(bucket, of.name, again))));
  const gone = (of) => h('tr', { class: 'gone', 'data-name': of.name },
    h('th', { scope: 'row' }, h('span', { class: 'with-icon' }, icon('file'), short(of.name)), h('span', { class: 'pill' }, 'deleted')),
    h('td', null), h('td', null),
    h('td', { class: 'actions-cell' },
      action('Take back', of.name, () => undo(bucket.bucket, of.name, again)),
      action('Versions', of.name, () => showVersions(bucket, of.name, again))));
  return { folder, object: (of) => (of.deleted ? gone(of) : object(of)) };
}

/** Files that are dropped anywhere on the view go to where it is. */
function takesFiles(main, add) {
  const veil = h('div', { class: 'veil', hidden: true }, icon('up'), 'Drop to upload');
  let depth = 0;
  const has = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');
  const on = (name, act) => {
    const run = (event) => { if (has(event)) { event.preventDefault(); act(event); } };
    main.addEventListener(name, run);
    return () => main.removeEventListener(name, run);
  };
  const off = [
    on('dragenter', () => { depth += 1; veil.hidden = false; }),
    on('dragleave', () => { depth -= 1; veil.hidden = depth > 0 ? false : true; }),
    on('dragover', (event) => { event.dataTransfer.dropEffect = 'copy'; }),
    on('drop', async (event) => {
      depth = 0;
      veil.hidden = true;
      try {
        add(await dropped(event.dataTransfer));
      } catch (error) {
        toast(`What was dropped cannot be read: ${error.message}`, { bad: true });
      }
    }),
  ];
  return { veil, stop: () => off.forEach((each) => each()) };
}

export function objects(main, name, prefix) {
  let bucket = { bucket: name, versions: 'off' };
  let from = null;
  let isGone = false;
  let showsDeleted = false;
  const body = h('tbody');
  const note = h('p', { class: 'small muted', role: 'status' });
  const more = h('button', { type: 'button', hidden: true, onclick: () => show(true) }, 'More');
  const keeps = h('span', { class: 'pill' });
  const deleted = h('input', { type: 'checkbox', id: 'deleted' });
  const deletedBox = h('span', { class: 'row small', hidden: true }, deleted, h('label', { for: 'deleted' }, 'Show what was deleted'));
  let timer = null;
  // Of many uploads that end together the list is read once.
  const again = () => { clearTimeout(timer); timer = setTimeout(() => show(false), 150); };
  const up = uploads((stored) => { if (stored.startsWith(prefix)) again(); });
  const add = (files) => up.add(name, files.map(({ file, name: of }) => ({ file, name: prefix + of })));
  const input = h('input', { type: 'file', multiple: true, class: 'unseen', id: 'files', 'aria-label': 'Files to upload' });
  input.addEventListener('change', () => { add([...input.files].map((file) => ({ file, name: file.name }))); input.value = ''; });
  const drop = takesFiles(main, add);

  async function show(goesOn) {
    more.disabled = true;
    try {
      const page = await listing(name, { prefix, delimiter: '/', limit: PAGE, from: goesOn ? from : null, versions: showsDeleted ? true : null });
      if (isGone) return;
      from = page.next;
      const make = rows(bucket, prefix, again);
      // With all versions a name has several rows: the latest says how it is.
      const list = page.objects.filter((of) => of.latest !== false);
      const made = [...page.prefixes.map(make.folder), ...list.map(make.object)];
      if (goesOn) body.append(...made);
      else body.replaceChildren(...made);
      more.hidden = from === null;
      const shown = body.childNodes.length;
      table.hidden = shown === 0;
      empty.hidden = shown > 0;
      fill(note, shown === 0 ? '' : `${count(shown)} shown${from === null ? '' : ', and there are more'}`);
    } catch (error) {
      fill(note, error.message);
      note.className = 'note bad';
    }
    more.disabled = false;
  }

  const head = ['Name', 'Size', 'Stored'].map((text, n) => h('th', { scope: 'col', class: n === 1 ? 'number' : null }, text));
  const table = h('div', { class: 'scroll', hidden: true }, h('table', { class: 'objects' },
    h('caption', { class: 'unseen' }, `What is in ${name}`),
    h('thead', null, h('tr', null, head, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Actions')))), body));
  const empty = h('div', { class: 'empty', hidden: true }, h('p', null, 'Nothing is here yet.'), h('p', null, 'Drop files or folders here, or choose some.'));
  deleted.addEventListener('change', () => { showsDeleted = deleted.checked; show(false); });
  put(main,
    crumbs(name, prefix),
    h('div', { class: 'head' }, h('h1', { class: 'grow break' }, prefix ? prefix.split('/').at(-2) : name), keeps,
      h('button', { type: 'button', class: 'primary', id: 'upload', onclick: () => input.click() }, icon('up'), 'Upload'), input),
    up.element,
    h('section', { class: 'card drop', 'aria-label': 'Objects' }, deletedBox, table, empty, h('div', { class: 'row foot-row' }, note, more), drop.veil));
  input.tabIndex = -1;
  const begin = async () => {
    try {
      const { buckets: [found] } = await get(`/v2/?bucket=${encodeURIComponent(name)}`);
      bucket = found;
    } catch (error) {
      fill(note, error.message);
      note.className = 'note bad';
      return;
    }
    fill(keeps, { on: 'keeps versions', off: 'no versions', suspended: 'versions suspended' }[bucket.versions] ?? bucket.versions);
    deletedBox.hidden = bucket.versions === 'off';
    await show(false);
  };
  begin();
  return () => {
    isGone = true;
    clearTimeout(timer);
    drop.stop();
  };
}
