// Who asks. Where the node answers 401, the page wants an access key and a secret key. They are kept for this tab alone,
// and sent with every request (HTTP Basic). Nothing else in the page knows how a user is known.

import { dialog, fill, h } from './dom.js';

const KEY = 'slotcast-credentials';

let known = read();
let asking = null;
/** Somebody did not want to log in, and is not asked again and again. */
let hasDeclined = false;

function read() {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(value) {
  known = value;
  try {
    if (value === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, value);
  } catch {
    // It is in memory, which is enough until the tab is loaded again.
  }
  document.dispatchEvent(new Event('user'));
}

/** Base 64 of UTF-8. */
const encoded = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** The header that says who asks; none if nobody has logged in. */
export const authorization = () => (known === null ? {} : { Authorization: `Basic ${known}` });

/** The access key of who has logged in. */
export function user() {
  if (known === null) return null;
  const text = new TextDecoder().decode(Uint8Array.from(atob(known), (byte) => byte.charCodeAt(0)));
  return text.slice(0, text.indexOf(':'));
}

export const logOut = () => keep(null);

/**
 * Asks for keys, once however many requests want them. `used` is the header of the request that was refused: if other keys
 * are known by now, nobody is asked. True if there are keys to try.
 */
export function logIn(used, why) {
  if (asking === null && authorization().Authorization !== used) return Promise.resolve(true);
  if (hasDeclined) return Promise.resolve(false);
  asking ??= ask(why).finally(() => { asking = null; });
  return asking;
}

async function ask(why) {
  // Keys that were refused are of no use.
  const refused = known !== null;
  if (refused) keep(null);
  const given = await dialog('Log in', (close) => {
    const access = h('input', { type: 'text', id: 'access', autocomplete: 'username', spellcheck: 'false', autocapitalize: 'none', required: true, autofocus: true });
    const secret = h('input', { type: 'password', id: 'secret', autocomplete: 'current-password', required: true });
    const wrong = h('p', { class: 'note bad small', role: 'alert', hidden: true });
    const submit = (event) => {
      event.preventDefault();
      if (access.value.includes(':')) {
        wrong.hidden = false;
        fill(wrong, 'An access key has no colon.');
        return;
      }
      close(encoded(`${access.value}:${secret.value}`));
    };
    return h('form', { onsubmit: submit },
      h('p', { class: 'muted' }, refused ? `The node does not take these keys: ${why}` : 'This node answers only those whom it knows.'),
      h('div', { class: 'field' }, h('label', { for: 'access' }, 'Access key'), access),
      h('div', { class: 'field' }, h('label', { for: 'secret' }, 'Secret key'), secret),
      wrong,
      h('p', { class: 'small muted' }, 'They are forgotten when this tab is closed.'),
      h('div', { class: 'actions' },
        h('button', { type: 'button', onclick: () => close() }, 'Cancel'),
        h('button', { class: 'primary' }, 'Log in')));
  });
  if (given === undefined) {
    hasDeclined = true;
    document.dispatchEvent(new Event('declined'));
    return false;
  }
  keep(given);
  return true;
}
