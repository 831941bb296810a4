// The collection of garbage: how it stands, and a round now.

import { fill, h, put, toast } from './dom.js';
import { count, counted, size } from './format.js';
import { get, json, pauses, sleep } from './http.js';

const PERIOD = 2000;

const STAGES = {
  opening: 'opening: it learns what was before',
  proposing: 'proposing a round to all nodes',
  beginning: 'beginning: all nodes have to answer',
  marking: 'marking what a name needs',
  sweeping: 'sweeping what no name needs',
};

const removed = (of) => `${counted(of.removed_replicas, 'replica')}, ${size(of.removed_bytes)}`;

function lastText(last) {
  if (!last) return 'None that this node conducted since it started.';
  if (last.given_up) return `Round ${count(last.round)} was given up, since somebody did not answer: nothing was removed.`;
  const out = last.some_sat_out ? ' Some node removed nothing, since it was started anew and does not know yet what was put before.' : '';
  return `Round ${count(last.round)} removed ${removed(last)} on all nodes.${out}`;
}

function rowsOf(of) {
  return [
    ['Latest round', of.round === 0 ? 'none yet' : count(of.round)],
    ['What this node does', of.stage ? STAGES[of.stage] ?? of.stage : 'nothing at the moment'],
    of.awaited_nodes?.length && ['Awaited', `${of.awaited_nodes.length === 1 ? 'node' : 'nodes'} ${of.awaited_nodes.join(', ')}: without ${of.awaited_nodes.length === 1 ? 'it' : 'them'} nothing is removed`],
    ['Last round', lastText(of.last)],
    ['Removed here since the start', removed(of)],
    ['Uploads under way here', `${count(of.uploads)}${of.uploads ? ': what they have stored is kept' : ''}`],
  ].filter(Boolean);
}

export function garbage(main) {
  const facts = h('dl', { class: 'facts' });
  const problem = h('p', { class: 'note bad', hidden: true });
  const begin = h('button', { type: 'button', class: 'primary', id: 'collect' }, 'Begin a round now');
  const stop = new AbortController();
  const see = (of) => {
    problem.hidden = true;
    fill(facts, ...rowsOf(of).flatMap(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
  };
  begin.addEventListener('click', async () => {
    begin.disabled = true;
    try {
      see(await json('POST', '/v1/collection'));
      toast('A round begins, unless one is under way');
    } catch (error) {
      toast(error.message, { bad: true });
    }
    begin.disabled = false;
  });
  put(main,
    h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Garbage'), begin),
    h('section', { class: 'card', 'aria-label': 'Collection' }, problem, facts),
    h('section', { class: 'card prose' },
      h('h2', null, 'When room comes back'),
      h('p', null, 'What no name needs is garbage. Rounds collect it by themselves: what was stored long ago goes with the round after its deletion, and what was stored just now with the third. The disk has the room when its segments are compacted.'),
      h('p', { class: 'muted' }, 'While any node or voter does not answer, nothing is removed: who is silent may know of a name.')));
  (async () => {
    let waits = pauses();
    while (!stop.signal.aborted) {
      try {
        see(await get('/v1/collection'));
        waits = pauses();
        await sleep(PERIOD, stop.signal);
      } catch (error) {
        problem.hidden = false;
        fill(problem, error.message);
        begin.disabled = error.status === 404;
        await sleep(waits.next().value, stop.signal);
      }
    }
  })();
  return () => stop.abort();
}
