// The frame of the page: which view is shown, whether the node answers, light or dark, who has logged in.

import { fill, h, icon, iconButton, put } from './dom.js';
import { connection } from './http.js';
import { logOut, user } from './login.js';
import { node, start } from './status.js';
import { buckets } from './buckets.js';
import { cluster } from './cluster.js';
import { garbage } from './garbage.js';
import { jobs } from './jobs.js';
import { overview } from './overview.js';
import { targets } from './targets.js';
import { timeline } from './timeline.js';
import { users } from './users.js';

/** Each view gets its element and what follows its name in the address; it gives what is called when it is left. */
const VIEWS = [
  { path: 'overview', title: 'Overview', show: overview },
  { path: 'targets', title: 'Targets', show: targets },
  { path: 'timeline', title: 'Timeline', show: timeline },
  { path: 'buckets', title: 'Buckets', show: buckets },
  { path: 'jobs', title: 'Jobs', show: jobs },
  { path: 'garbage', title: 'Garbage', show: garbage },
  { path: 'cluster', title: 'Cluster', show: cluster },
  { path: 'users', title: 'Users', show: users },
];

const main = document.getElementById('main');
let leave = null;
let shown = null;

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function themeButton() {
  const button = h('button', { type: 'button', class: 'plain square', id: 'theme' });
  const show = () => {
    const other = isDark() ? 'light' : 'dark';
    fill(button, icon(other));
    button.setAttribute('aria-label', `Switch to ${other} colours`);
    button.title = `Switch to ${other} colours`;
  };
  const turn = () => {
    const theme = isDark() ? 'light' : 'dark';
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem('theme', theme);
    } catch {
      // It stays as long as the page is open.
    }
    show();
    document.dispatchEvent(new Event('theme'));
  };
  button.addEventListener('click', turn);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show);
  show();
  return button;
}

function side() {
  const link = ({ path, title }) => h('li', null, h('a', { href: `#/${path}` }, icon(path), h('span', null, title)));
  const dot = h('span', { class: 'dot' });
  const text = h('span');
  const foot = h('div', { class: 'foot' }, h('div', { class: 'link-state' }, dot, text), themeButton());
  const out = h('span');
  put(foot, out);
  const seeUser = () => {
    const who = user();
    fill(out, who === null ? '' : iconButton('out', `Log out ${who}`, () => { logOut(); location.reload(); }));
  };
  const seeConnection = () => {
    dot.className = connection.isLost ? 'dot bad' : node.status ? 'dot ok' : 'dot';
    fill(text, connection.isLost ? 'Not connected' : node.status ? 'Connected' : 'Connecting');
  };
  document.addEventListener('user', seeUser);
  connection.addEventListener('change', seeConnection);
  node.addEventListener('status', seeConnection);
  seeUser();
  seeConnection();
  put(document.getElementById('side'),
    h('a', { class: 'brand', href: '#/overview' }, h('img', { src: '/page/icon.svg', alt: '', width: '26', height: '26' }), 'Slotcast'),
    h('nav', { 'aria-label': 'Views' }, h('ul', null, VIEWS.map(link))),
    foot);
}

function banner() {
  const box = document.getElementById('connection');
  connection.addEventListener('change', () => {
    box.hidden = !connection.isLost;
    if (connection.isLost) fill(box, 'Not connected: the node does not answer. What is shown is from before; the page tries again by itself.');
    // What could not be asked for is asked for again.
    else if (main.querySelector('.note.bad:not([hidden])')) route();
  });
  document.addEventListener('declined', () => {
    box.hidden = false;
    fill(box, 'Nobody has logged in, and this node answers only those whom it knows. ', h('button', { type: 'button', onclick: () => location.reload() }, 'Log in'));
  });
}

/** A part of an address, which somebody may have typed. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function route() {
  const [path, ...rest] = location.hash.replace(/^#\/?/, '').split('/');
  const view = VIEWS.find((of) => of.path === path) ?? VIEWS[0];
  leave?.();
  leave = null;
  const isOther = shown !== view;
  shown = view;
  document.title = `${view.title} · Slotcast`;
  for (const link of document.querySelectorAll('#side nav a')) {
    if (link.getAttribute('href') === `#/${view.path}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  main.replaceChildren();
  main.dataset.view = view.path;
  leave = view.show(main, rest.map(decoded)) ?? null;
  if (isOther) {
    scrollTo(0, 0);
    // Who came by a link hears where they are.
    if (document.activeElement !== document.body) main.focus({ preventScroll: true });
  }
}

side();
banner();
start();
addEventListener('hashchange', route);
route();
