// Users: who may do what. For the root, and for users that may manage users.

import { command, confirm, dialog, fill, h, icon, iconButton, put, toast } from './dom.js';
import { counted, date } from './format.js';
import { change, get, json } from './http.js';

/** Policies that are there already, with what they allow. */
const POLICIES = {
  readwrite: 'everything with buckets, objects and content',
  readonly: 'lists and reads buckets, objects and content',
  writeonly: 'stores objects and content, and neither reads nor deletes',
  admin: 'everything, users among it',
};

const pathOf = (name) => `/v1/users/${encodeURIComponent(name)}`;

/** Does something, and says what the node refuses. */
async function attempt(run, again) {
  try {
    await run();
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

/** Shows a pair of keys, whose secret one the node never tells again. */
const shown = (title, keys) => dialog(title, (close) => [
  h('p', null, 'The secret key is shown this once: copy it now.'),
  command(`export AWS_ACCESS_KEY_ID=${keys.access_key}`),
  command(`export AWS_SECRET_ACCESS_KEY=${keys.secret_key}`),
  h('div', { class: 'actions' }, h('button', { type: 'button', class: 'primary', autofocus: true, onclick: () => close() }, 'I have it')),
]);

/** A box for each policy that is there already. Documents that the user has stay as they are. */
function choices(held) {
  const has = (name) => held.some((of) => of.policy === name && !of.document);
  const box = (name) => h('input', { type: 'checkbox', id: `policy-${name}`, value: name, checked: has(name) });
  const boxes = Object.keys(POLICIES).map(box);
  const documents = held.filter((of) => of.document || !(of.policy in POLICIES));
  const element = h('fieldset', { class: 'field' }, h('legend', null, 'What it may do'),
    boxes.map((of) => h('div', { class: 'row' }, of, h('label', { for: of.id }, `${of.value}: ${POLICIES[of.value]}`))),
    documents.length > 0 && h('p', { class: 'small muted' }, `${counted(documents.length, 'document')} (${documents.map((of) => of.policy).join(', ')}) as before.`));
  const chosen = () => [...boxes.filter((of) => of.checked).map((of) => ({ policy: of.value })), ...documents];
  return { element, chosen };
}

/** A form in a dialog: `send` gives what the dialog ends with. */
const form = (title, fields, yes, send) => dialog(title, (close) => {
  const wrong = h('p', { class: 'note bad small', role: 'alert', hidden: true });
  const submit = async (event) => {
    event.preventDefault();
    try {
      close(await send());
    } catch (error) {
      wrong.hidden = false;
      fill(wrong, error.message);
    }
  };
  return h('form', { onsubmit: submit }, fields, wrong,
    h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => close() }, 'Cancel'), h('button', { class: 'primary' }, yes)));
});

async function add(again) {
  const name = h('input', { type: 'text', id: 'user-name', required: true, autofocus: true, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none' });
  const { element, chosen } = choices([]);
  const fields = [h('div', { class: 'field' }, h('label', { for: 'user-name' }, 'Name'), name), element];
  const added = await form('New user', fields, 'Add it', () => change('PUT', pathOf(name.value.trim()), { policies: chosen() }));
  if (added === undefined) return;
  await shown(`Keys of ${added.user}`, added.new_key);
  again();
}

async function setPolicies(of, again) {
  const { element, chosen } = choices(of.policies);
  const changed = await form(`What ${of.user} may do`, element, 'Set it', () => change('PATCH', pathOf(of.user), { policies: chosen() }));
  if (changed === undefined) return;
  toast(`All nodes know it within 5 seconds`);
  again();
}

async function remove(of, again) {
  if (!(await confirm(`Remove ${of.user}?`, 'Its keys count no more. What it has stored stays.', 'Remove it', { danger: true }))) return;
  attempt(() => json('DELETE', pathOf(of.user)), again);
}

async function removeKey(of, key, again) {
  if (!(await confirm(`Take away a key of ${of.user}?`, `Whoever uses ${key} is refused, on all nodes within 5 seconds.`, 'Take it away', { danger: true }))) return;
  attempt(() => json('DELETE', `${pathOf(of.user)}/keys/${encodeURIComponent(key)}`), again);
}

const addKey = (of, again) => attempt(async () => {
  await shown(`A further key of ${of.user}`, await json('POST', `${pathOf(of.user)}/keys`));
}, again);

function row(of, again) {
  const isActive = of.status === 'active';
  const button = (name, run) => h('button', { type: 'button', class: 'plain', onclick: run }, name, h('span', { class: 'unseen' }, ` ${of.user}`));
  const key = ({ access_key: access, created }) => h('div', { class: 'row' }, h('code', null, access), h('span', { class: 'small muted' }, date(created)),
    iconButton('close', `Take away the key ${access}`, () => removeKey(of, access, again)));
  const turn = () => attempt(() => change('PATCH', pathOf(of.user), { status: isActive ? 'suspended' : 'active' }), again);
  return h('tr', { 'data-user': of.user },
    h('th', { scope: 'row', class: 'break' }, of.user, h('div', { class: 'small muted' }, `since ${date(of.created)}`)),
    h('td', null, h('span', { class: `pill ${isActive ? 'ok' : 'warn'}` }, of.status)),
    h('td', { class: 'break' }, of.policies.length ? of.policies.map((policy) => policy.policy).join(', ') : h('span', { class: 'muted' }, 'nothing of its own')),
    h('td', null, of.keys.map(key)),
    h('td', { class: 'actions-cell' },
      button('Policies of', () => setPolicies(of, again)), button('Add a key for', () => addKey(of, again)),
      button(isActive ? 'Suspend' : 'Resume', turn), button('Remove', () => remove(of, again))));
}

function table(all, again) {
  if (all.length === 0) {
    return h('div', { class: 'empty' }, h('p', null, 'There are no users yet.'),
      h('p', { class: 'small' }, 'From the first one on this node asks everybody who they are. It has to be one with the policy admin, unless the node has keys of a root.'));
  }
  const heads = ['User', 'Status', 'Policies', 'Keys'].map((name) => h('th', { scope: 'col' }, name));
  return h('div', { class: 'scroll' }, h('table', { id: 'users' },
    h('thead', null, h('tr', null, heads, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Actions')))),
    h('tbody', null, all.map((of) => row(of, again)))));
}

export function users(main) {
  const body = h('div');
  const enter = h('button', { type: 'button', class: 'primary', id: 'new-user', onclick: () => add(again) }, icon('plus'), 'New user');
  async function again() {
    try {
      const { users: all } = await get('/v1/users');
      enter.disabled = false;
      fill(body, table(all, again));
    } catch (error) {
      // Who may not see users may not add any.
      enter.disabled = error.status === 401 || error.status === 403;
      fill(body, h('p', { class: 'note bad' }, error.message));
    }
  }
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Users'), enter),
    h('section', { class: 'card', 'aria-label': 'Users' }, body),
    h('p', { class: 'small muted' }, 'Policies of your own are documents: slotcast user policy NAME ./policy.json.'));
  fill(body, h('p', { class: 'muted' }, 'Asking the node…'));
  again();
}
