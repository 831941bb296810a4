// Jobs: work on many objects that the cluster does by itself. How far each is, and what has failed.

import { confirm, dialog, fill, h, icon, put, toast } from './dom.js';
import { count, counted, date, size } from './format.js';
import { change, get, json, pauses, sleep } from './http.js';

const PERIOD = 1500;

const LEVEL = { running: 'warn', finished: 'warn', verified: 'ok', failed: 'bad', aborted: 'bad' };

const KINDS = {
  copy: 'Copy: objects get a further name, and no content moves',
  verify: 'Verify: all content is read and compared with its hashes',
  delete: 'Delete',
};

const pathOf = (job) => `/v1/jobs/${encodeURIComponent(job)}`;
const place = ({ bucket, prefix }) => `slot://${bucket}/${prefix ?? ''}`;

/** Which objects of its source. */
function selected({ from, select }) {
  const [kind, value] = typeof select === 'string' ? [select] : (Object.entries(select ?? {})[0] ?? ['prefix']);
  if (kind === 'list') return `names of a list in ${place(from)}`;
  return value ? `${place(from)}${value}` : place(from);
}

/** Whether it takes orders: what is over does not. */
const ORDERS = {
  running: [['Pause', 'pause'], ['Abort', 'abort']],
  paused: [['Resume', 'resume'], ['Abort', 'abort']],
  finished: [['Abort', 'abort']],
};

const actions = (of) => (of.is_over ? [] : (ORDERS[of.status] ?? []));

async function order(job, what, again) {
  if (what === 'abort' && !(await confirm(`Abort job ${job}?`, 'What it has done stays. It cannot be resumed.', 'Abort it', { danger: true }))) return;
  try {
    const of = await change('PATCH', pathOf(job), { order: what });
    toast(`Job ${job} is ${of.status}`);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

async function remove(job, again) {
  if (!(await confirm(`Forget job ${job}?`, 'It is taken out of the list, with its log. Its outputs stay.', 'Forget it'))) return;
  try {
    await json('DELETE', pathOf(job));
    toast(`Job ${job} is forgotten`);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

function failures({ failures: all, more }) {
  if (all.length === 0 && more === 0) return h('p', null, 'Nothing has failed.');
  const heads = ['Object', 'Reason', 'Attempts', 'Node'].map((name) => h('th', { scope: 'col' }, name));
  const row = (of) => h('tr', null,
    h('th', { scope: 'row', class: 'break' }, of.name), h('td', { class: 'break' }, of.reason),
    h('td', { class: 'number' }, count(of.attempts)), h('td', { class: 'number' }, String(of.node)));
  return [
    h('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Failures' }, h('table', null, h('thead', null, h('tr', null, heads)), h('tbody', null, all.map(row)))),
    more > 0 && h('p', { class: 'muted' }, `and ${counted(more, 'further object')}, of which only the number is kept`),
  ];
}

async function log(job) {
  let found;
  try {
    found = await get(`${pathOf(job)}/log`);
  } catch (error) {
    toast(error.message, { bad: true });
    return;
  }
  await dialog(`Log of job ${job}`, (close) => [
    failures(found),
    h('div', { class: 'actions' }, h('button', { type: 'button', class: 'primary', autofocus: true, onclick: () => close() }, 'Close')),
  ]);
}

/** How far it is: units of work, whose number is known when the plan is. */
function progress(of) {
  const isChecked = of.stage === 'check';
  const done = isChecked ? of.units_checked : of.units_worked;
  const what = isChecked ? 'compared' : 'done';
  const text = of.is_planned ? `${count(done)} of ${counted(of.units, 'unit')} ${what}` : `${counted(done, 'unit')} ${what}, more are planned`;
  const bar = h('progress', { max: String(Math.max(of.units, 1)), 'aria-label': `Progress of job ${of.job}` });
  if (of.is_planned || of.is_over) bar.value = done;
  return [bar, h('div', { class: 'small muted' }, text)];
}

function counts({ work, text }) {
  const { objects, bytes, outputs, kept, failed } = work;
  return [
    `${counted(objects, 'object')}, ${size(bytes)}`,
    text.to && `${counted(outputs, 'output')}${kept ? `, ${count(kept)} kept` : ''}`,
    failed > 0 && `${count(failed)} failed`,
  ].filter(Boolean).map((line) => h('div', null, line));
}

function row(of, again) {
  const button = (name, run) => h('button', { type: 'button', class: 'plain', onclick: run }, name, h('span', { class: 'unseen' }, ` job ${of.job}`));
  return h('tr', { 'data-job': of.job },
    h('th', { scope: 'row' }, h('code', null, of.job), h('div', { class: 'small muted' }, `${of.kind}, ${date(of.text.started)}${of.text.by ? `, by ${of.text.by}` : ''}`)),
    h('td', null, h('span', { class: `pill ${LEVEL[of.status] ?? ''}` }, of.status), of.reason && h('div', { class: 'small break' }, of.reason)),
    h('td', null, progress(of)),
    h('td', { class: 'break' }, selected(of.text), of.text.to && h('div', { class: 'small muted' }, `to ${place(of.text.to)}`)),
    h('td', { class: 'small' }, counts(of)),
    h('td', { class: 'actions-cell' },
      actions(of).map(([name, what]) => button(name, () => order(of.job, what, again))),
      button('Log', () => log(of.job)),
      of.is_over && button('Forget', () => remove(of.job, again))));
}

/** `slot://bucket/prefix`, or the same without the scheme. */
function placeOf(text) {
  const [bucket, ...rest] = text.trim().replace(/^slot:\/\//, '').split('/');
  return { bucket, prefix: rest.join('/') };
}

async function start(again) {
  const begun = await dialog('New job', (close) => {
    const kind = h('select', { id: 'job-kind' }, Object.entries(KINDS).map(([value, name]) => h('option', { value }, name)));
    const text = (id) => h('input', { type: 'text', id, autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none', placeholder: 'bucket/prefix' });
    const [from, to] = [text('job-from'), text('job-to')];
    from.required = true;
    const target = h('div', { class: 'field' }, h('label', { for: 'job-to' }, 'To: where its outputs go'), to);
    const see = () => {
      target.hidden = kind.value !== 'copy';
      to.required = !target.hidden;
    };
    kind.addEventListener('change', see);
    see();
    const wrong = h('p', { class: 'note bad small', role: 'alert', hidden: true });
    const submit = async (event) => {
      event.preventDefault();
      const said = { kind: kind.value, from: placeOf(from.value), ...(target.hidden ? {} : { to: placeOf(to.value) }) };
      if (kind.value === 'delete' && !(await confirm('Delete these objects?', `All names that begin with ${place(said.from)} are deleted; where the bucket keeps versions, by markers.`, 'Delete them', { danger: true }))) return;
      try {
        close(await change('POST', '/v1/jobs', said));
      } catch (error) {
        wrong.hidden = false;
        fill(wrong, error.message);
      }
    };
    return h('form', { onsubmit: submit },
      h('div', { class: 'field' }, h('label', { for: 'job-kind' }, 'What is done'), kind),
      h('div', { class: 'field' }, h('label', { for: 'job-from' }, 'From: all names that begin so'), from),
      target, wrong,
      h('p', { class: 'small muted' }, 'Patterns, ranges, lists and commands: slotcast job start.'),
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => close() }, 'Cancel'), h('button', { class: 'primary' }, 'Start it')));
  });
  if (begun !== undefined) {
    toast(`Job ${begun.job} has begun`);
    again();
  }
}

function table(all, again) {
  if (all.length === 0) {
    return h('div', { class: 'empty' }, h('p', null, 'There are no jobs.'), h('p', { class: 'small' }, 'A job copies, verifies or deletes many objects. All nodes work on it, and it goes on when any of them is lost.'));
  }
  const heads = ['Job', 'Status', 'Progress', 'Objects', 'Counted'].map((name) => h('th', { scope: 'col' }, name));
  return h('div', { class: 'scroll' }, h('table', { id: 'jobs' },
    h('thead', null, h('tr', null, heads, h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Actions')))),
    h('tbody', null, all.toReversed().map((of) => row(of, again)))));
}

export function jobs(main) {
  const body = h('div');
  const stop = new AbortController();
  let said = null;
  const again = () => show().catch(() => {});
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Jobs'), h('button', { type: 'button', class: 'primary', id: 'new-job', onclick: () => start(again) }, icon('plus'), 'New job')),
    h('section', { class: 'card', 'aria-label': 'Jobs' }, body));
  fill(body, h('p', { class: 'muted' }, 'Asking the node…'));
  async function show() {
    const { jobs: all } = await get('/v1/jobs', { signal: stop.signal });
    // What has the focus stays, unless something is another one.
    const text = JSON.stringify(all);
    if (text === said) return;
    said = text;
    const focused = document.activeElement;
    const [job, label] = body.contains(focused) ? [focused.closest('[data-job]')?.dataset.job, focused.textContent] : [];
    fill(body, table(all, again));
    if (job) [...body.querySelectorAll(`[data-job="${job}"] button`)].find((of) => of.textContent === label)?.focus();
  }
  (async () => {
    let waits = pauses();
    while (!stop.signal.aborted) {
      try {
        await show();
        waits = pauses();
        await sleep(PERIOD, stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        said = null;
        fill(body, h('p', { class: 'note bad' }, error.message));
        // Who may not ask is not let in by asking again.
        if (error.status === 401 || error.status === 403) return;
        await sleep(waits.next().value, stop.signal);
      }
    }
  })();
  return () => stop.abort();
}
