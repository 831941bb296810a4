// Buckets: which there are, a new one, and what is kept of earlier versions.

import { confirm, dialog, fill, h, icon, put, toast } from './dom.js';
import { date } from './format.js';
import { change, get, json, pathOf } from './http.js';
import { objects } from './objects.js';

/** Where a place in a bucket is shown. */
export const hashOf = (bucket, prefix = '') => `#/buckets/${encodeURIComponent(bucket)}${prefix ? `/${encodeURIComponent(prefix)}` : ''}`;

const VERSIONS = {
  on: 'keeps earlier versions',
  off: 'keeps no earlier versions',
  suspended: 'keeps those from before',
};

async function create(again) {
  const made = await dialog('New bucket', (close) => {
    const name = h('input', { type: 'text', id: 'bucket-name', required: true, autofocus: true, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' });
    const keeps = h('input', { type: 'checkbox', id: 'keeps', checked: true });
    const wrong = h('p', { class: 'note bad small', role: 'alert', hidden: true });
    const submit = async (event) => {
      event.preventDefault();
      try {
        await json('PUT', `${pathOf(name.value)}?versions=${keeps.checked ? 'on' : 'off'}`);
        close(name.value);
      } catch (error) {
        wrong.hidden = false;
        fill(wrong, error.message);
      }
    };
    return h('form', { onsubmit: submit },
      h('div', { class: 'field' }, h('label', { for: 'bucket-name' }, 'Name'), name),
      h('div', { class: 'row' }, keeps, h('label', { for: 'keeps' }, 'Keep earlier versions, so that a deletion can be taken back')),
      wrong,
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => close() }, 'Cancel'), h('button', { class: 'primary' }, 'Make it')));
  });
  if (made !== undefined) {
    toast(`The bucket ${made} is made`);
    again();
  }
}

async function remove(bucket, again) {
  const yes = await confirm(`Remove ${bucket}?`, 'A bucket can be removed if it is empty: also of earlier versions and of markers of deletion.', 'Remove it', { danger: true });
  if (!yes) return;
  try {
    await json('DELETE', pathOf(bucket));
    toast(`The bucket ${bucket} is removed`);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

async function setVersions(bucket, versions, again) {
  try {
    await change('PATCH', pathOf(bucket), { versions });
    toast(`${bucket} ${VERSIONS[versions === 'off' ? 'suspended' : 'on']}`);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

function list(main) {
  const body = h('div');
  const again = () => show().catch((error) => fill(body, h('p', { class: 'note bad' }, error.message)));
  const row = (of) => {
    const keeps = of.versions === 'on';
    return h('tr', null,
      h('th', { scope: 'row' }, h('a', { class: 'with-icon', href: hashOf(of.bucket) }, icon('buckets'), of.bucket)),
      h('td', null, VERSIONS[of.versions] ?? of.versions),
      h('td', null, of.replicas ?? h('span', { class: 'muted' }, 'of the cluster')),
      h('td', null, date(of.created)),
      h('td', { class: 'actions-cell' },
        h('button', { type: 'button', class: 'plain', onclick: () => setVersions(of.bucket, keeps ? 'off' : 'on', again) }, keeps ? 'Stop versions' : 'Keep versions', h('span', { class: 'unseen' }, ` of ${of.bucket}`)),
        h('button', { type: 'button', class: 'plain', onclick: () => remove(of.bucket, again) }, 'Remove', h('span', { class: 'unseen' }, ` ${of.bucket}`))));
  };
  async function show() {
    const { buckets: all } = await get('/v2/');
    if (all.length === 0) {
      fill(body, h('div', { class: 'empty' }, h('p', null, 'There are no buckets yet.'), h('p', null, h('button', { type: 'button', class: 'primary', onclick: () => create(again) }, icon('plus'), 'Make the first one'))));
      return;
    }
    const heads = ['Bucket', 'Versions', 'Replicas', 'Made'].map((name) => h('th', { scope: 'col' }, name));
    fill(body, h('div', { class: 'scroll' }, h('table', null,
      h('thead', null, h('tr', null, heads, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Actions')))),
      h('tbody', null, all.map(row)))));
  }
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Buckets'), h('button', { type: 'button', class: 'primary', id: 'new-bucket', onclick: () => create(again) }, icon('plus'), 'New bucket')),
    h('section', { class: 'card', 'aria-label': 'Buckets' }, body));
  fill(body, h('p', { class: 'muted' }, 'Asking the node…'));
  again();
}

export function buckets(main, [bucket, prefix]) {
  return bucket ? objects(main, bucket, prefix ?? '') : list(main);
}
