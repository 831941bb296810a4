// Makes elements. Text is always set as text, never read as HTML.

const SVG = 'http://www.w3.org/2000/svg';

/** An element: `h('p', { class: 'small', onclick }, 'text', child)`. What is null, undefined or false is left out. */
export function h(name, props, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
    else if (key === 'style') for (const [of, to] of Object.entries(value)) element.style.setProperty(of, to);
    else if (key in element && typeof value !== 'string') element[key] = value;
    else element.setAttribute(key, value === true ? '' : value);
  }
  return put(element, ...children);
}

/** Appends children. */
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** Replaces what an element has, unless it has the same already. */
export function fill(element, ...children) {
  const text = children.length === 1 && typeof children[0] === 'string' ? children[0] : null;
  if (text !== null && element.childNodes.length === 1 && element.textContent === text) return element;
  element.replaceChildren();
  return put(element, ...children);
}

const PATHS = {
  overview: ['M3 12h4l3-8 4 16 3-8h4'],
  targets: ['M4 5h16v5H4z', 'M4 14h16v5H4z', 'M7.5 7.5h.01', 'M7.5 16.5h.01'],
  timeline: ['M3 6h9', 'M8 12h9', 'M12 18h9'],
  buckets: ['M4 7c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3z', 'M4 7l2 12c.2 1 2.800 2 6 2s5.800-1 6-2l2-12'],
  jobs: ['M4 6l1.500 1.500L8 5', 'M4 12.500 5.500 14 8 11.500', 'M4 19l1.500 1.500L8 18', 'M11.500 6.500H20', 'M11.500 13H20', 'M11.500 19.500H20'],
  users: ['M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z', 'M2.500 20c.500-3.500 3-5.500 6.500-5.500s6 2 6.500 5.500', 'M16 4.500a3.500 3.500 0 0 1 0 6.200', 'M18 14.800c2 .700 3.200 2.500 3.500 5.200'],
  garbage: ['M4 7h16', 'M9 7V4h6v3', 'M6 7l1 13h10l1-13', 'M10 11v5', 'M14 11v5'],
  cluster: ['M12 8.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z', 'M5.500 20.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z', 'M18.500 20.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z', 'M10.800 8.300 6.800 15.700', 'M13.200 8.300l4 7.400', 'M8 18h8'],
  light: ['M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z', 'M12 3v1.500', 'M12 19.500V21', 'M4.500 12H3', 'M21 12h-1.500', 'M6.300 6.300l1 1', 'M16.700 16.700l1 1', 'M6.300 17.700l1-1', 'M16.700 7.300l1-1'],
  dark: ['M20 14.500A8 8 0 0 1 9.500 4a8 8 0 1 0 10.500 10.500z'],
  out: ['M14 4h5v16h-5', 'M10 8l-4 4 4 4', 'M6 12h9'],
  folder: ['M3 6h6l2 2h10v11H3z'],
  file: ['M6 3h8l4 4v14H6z', 'M14 3v4h4'],
  up: ['M12 19V6', 'M6 11l6-6 6 6', 'M5 21h14'],
  down: ['M12 4v13', 'M6 12l6 6 6-6', 'M5 21h14'],
  more: ['M6 12h.01', 'M12 12h.01', 'M18 12h.01'],
  plus: ['M12 5v14', 'M5 12h14'],
  minus: ['M5 12h14'],
  copy: ['M9 9h11v11H9z', 'M15 9V4H4v11h5'],
  pause: ['M9 6v12', 'M15 6v12'],
  play: ['M8 5l11 7-11 7z'],
  close: ['M6 6l12 12', 'M18 6L6 18'],
  check: ['M5 12.500l4.500 4.500L19 7.500'],
  warn: ['M12 4 2.500 20h19z', 'M12 10v4.500', 'M12 17.200h.01'],
  unknown: ['M9 9a3 3 0 1 1 4.500 2.600c-1 .600-1.500 1.200-1.500 2.400', 'M12 17.500h.01', 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z'],
};

/** A picture of a line or two, hidden from screen readers: what it means is said beside it. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  for (const d of PATHS[name]) {
    const path = document.createElementNS(SVG, 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}

/** A button that is a picture, with its name for those who do not see it. */
export function iconButton(name, label, onclick, more) {
  return h('button', { type: 'button', class: 'plain square', 'aria-label': label, title: label, onclick, ...more }, icon(name));
}

/** Says something for a while, with something that can be done about it. */
export function toast(text, { action, run, bad, stays } = {}) {
  const box = h('div', { class: bad ? 'toast bad' : 'toast' }, h('span', null, text));
  const gone = () => box.remove();
  if (action) put(box, h('button', { type: 'button', onclick: () => { gone(); run(); } }, action));
  put(box, iconButton('close', 'Dismiss', gone));
  document.getElementById('toasts').append(box);
  let timer;
  const wait = () => { timer = setTimeout(gone, stays ?? (action || bad ? 12000 : 5000)); };
  // Nobody has to hurry: it stays while it is pointed at or has the focus.
  for (const stop of ['mouseenter', 'focusin']) box.addEventListener(stop, () => clearTimeout(timer));
  for (const start of ['mouseleave', 'focusout']) box.addEventListener(start, wait);
  wait();
  return box;
}

let dialogs = 0;

/** Opens a dialog. `build(close)` gives what is in it; the promise ends with what `close` was given. */
export function dialog(title, build) {
  const { promise, resolve } = Promise.withResolvers();
  dialogs += 1;
  const id = `dialog-${dialogs}`;
  const box = h('dialog', { 'aria-labelledby': id });
  const close = (value) => { box.returned = value; box.close(); };
  put(box, h('h2', { id }, title), build(close));
  box.addEventListener('close', () => { box.remove(); resolve(box.returned); });
  document.body.append(box);
  box.showModal();
  return promise;
}

/** Asks whether something is to be done. */
export function confirm(title, text, yes, { danger } = {}) {
  return dialog(title, (close) => h('form', { method: 'dialog', onsubmit: (event) => { event.preventDefault(); close(true); } },
    h('p', null, text),
    h('div', { class: 'actions' },
      h('button', { type: 'button', onclick: () => close(false) }, 'Cancel'),
      h('button', { class: danger ? 'danger' : 'primary' }, yes))));
}

/** A command to be typed, with a button that copies it. */
export function command(text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast('Copied');
    } catch {
      toast('This browser does not let the page copy: select the command instead', { bad: true });
    }
  };
  return h('div', { class: 'command' }, h('code', { tabindex: '0' }, text), iconButton('copy', `Copy: ${text}`, copy));
}
