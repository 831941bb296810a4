// The cluster map: its nodes, and how they join, are drained and leave.

import { command, confirm, dialog, fill, h, icon, put, toast } from './dom.js';
import { count, counted } from './format.js';
import { change, get, pauses, sleep } from './http.js';
import { node } from './status.js';

const PERIOD = 2000;

const LEVEL = { active: 'ok', joining: 'warn', draining: 'warn', drained: '' };

/** What one can do about a node in a state: its name, the state that is asked for, and what is asked before. */
const ACTIONS = {
  active: [{ name: 'Drain', state: 'draining', ask: 'It takes no more chunks and gives what it holds to the others, while it is read from. This can be taken back.' }],
  joining: [{ name: 'Remove', state: 'removed', ask: 'It has never taken part. To join later it has to be entered anew.' }],
  draining: [{ name: 'Let it stay', state: 'active' }],
  drained: [
    { name: 'Let it stay', state: 'active' },
    { name: 'Remove', state: 'removed', ask: 'Others hold all that it held. Stop its process, and it can go.' },
  ],
};

const typed = { draining: 'drain', active: 'stay', removed: 'remove' };

async function set(number, { name, state, ask }, again) {
  if (ask && !(await confirm(`${name} node ${number}?`, ask, name, { danger: state === 'removed' }))) return;
  try {
    await change('PATCH', `/v1/map/nodes/${number}`, { state });
    toast(state === 'removed' ? `Node ${number} is taken out of the map` : `Node ${number} is to be ${state}`);
  } catch (error) {
    toast(error.message, { bad: true });
  }
  again();
}

/** What a new node needs in its file. */
function fileOf({ node: number, targets }, source) {
  const target = (of) => `\n[[target]]\nnumber = ${of}\nfolder = "/mnt/disk${of}"\n`;
  return `node = ${number}\ncluster = "${source}"\nkey = "cluster.key"\n${targets.map(target).join('')}`;
}

async function join(source, again) {
  const joined = await dialog('A further node', (close) => {
    const address = h('input', { type: 'text', id: 'address', required: true, placeholder: '10.0.0.4:7481', autofocus: true, spellcheck: 'false' });
    const targets = h('input', { type: 'text', inputmode: 'numeric', pattern: '[0-9]+', id: 'target-count', required: true, value: '1' });
    const wrong = h('p', { class: 'note bad small', role: 'alert', hidden: true });
    const submit = async (event) => {
      event.preventDefault();
      try {
        close(await change('POST', '/v1/map/nodes', { address: address.value.trim(), targets: Number(targets.value) }));
      } catch (error) {
        wrong.hidden = false;
        fill(wrong, error.message);
      }
    };
    return h('form', { onsubmit: submit },
      h('div', { class: 'field' }, h('label', { for: 'address' }, 'Where the others reach it by UDP'), address),
      h('div', { class: 'field' }, h('label', { for: 'target-count' }, 'Number of its targets, one for each disk'), targets),
      wrong,
      h('div', { class: 'actions' }, h('button', { type: 'button', onclick: () => close() }, 'Cancel'), h('button', { class: 'primary' }, 'Enter it into the map')));
  });
  again();
  if (joined === undefined) return;
  await dialog(`Node ${joined.node} may join`, (close) => [
    h('p', null, 'Write this into its node.toml, with a folder on each of its disks, and start it. When it hears the others it becomes active by itself.'),
    h('pre', { class: 'note', tabindex: '0' }, fileOf(joined, source)),
    h('div', { class: 'actions' }, h('button', { type: 'button', class: 'primary', autofocus: true, onclick: () => close() }, 'Close')),
  ]);
}

/** Whether a node of the map is there, as this one hears it. */
function heard(number) {
  const network = node.status?.network;
  if (!network) return 'not known';
  if (network.node === number) return network.map.state === 'draining' && network.map.may_be_stopped ? 'this node, may be stopped' : 'this node';
  const peer = network.peers.find((of) => of.node === number);
  return peer ? (peer.state === 'up' ? (peer.reason ? 'not believed' : 'heard') : 'not heard') : 'not known';
}

function table(map, again) {
  const actions = (of) => (ACTIONS[of.state] ?? []).map((action) =>
    h('button', { type: 'button', class: 'plain', onclick: () => set(of.node, action, again) }, action.name, h('span', { class: 'unseen' }, ` node ${of.node}`)));
  const row = (of) => h('tr', null,
    h('th', { scope: 'row' }, `Node ${of.node}`),
    h('td', null, h('span', { class: `pill ${LEVEL[of.state] ?? ''}` }, of.state)),
    h('td', null, heard(of.node)),
    h('td', null, h('code', null, of.address)),
    h('td', { class: 'number' }, count(of.targets.length)),
    map.can_change && h('td', { class: 'actions-cell' }, actions(of)));
  const heads = ['Node', 'In the map', 'As heard here', 'Address', 'Targets'].map((name, n) => h('th', { scope: 'col', class: n === 4 ? 'number' : null }, name));
  return h('div', { class: 'scroll' }, h('table', { id: 'map' },
    h('thead', null, h('tr', null, heads, map.can_change && h('th', { scope: 'col' }, h('span', { class: 'unseen' }, 'Actions')))),
    h('tbody', null, map.nodes.map(row))));
}

/** Where the map is a file, it has to be the same on all hosts: people copy it. */
function commands({ source, nodes }) {
  const number = nodes.find((of) => of.state === 'active')?.node ?? 0;
  return h('section', { class: 'card prose' },
    h('h2', null, 'To change it'),
    h('p', null, 'The map is a file that is the same on all hosts. Change it with these commands, copy it to all hosts, and send SIGHUP to their nodes. With the map in etcd this page can change it.'),
    command(`slotcast cluster join --map ${source} --address ADDRESS:PORT --targets N`),
    Object.values(typed).map((verb) => command(`slotcast cluster ${verb} ${number} --map ${source}`)));
}

export function cluster(main) {
  const body = h('div', { class: 'stack' });
  const enter = h('button', { type: 'button', hidden: true }, icon('plus'), 'Let a node join');
  const stop = new AbortController();
  let said = null;
  let source = '';
  const refresh = () => again().catch(() => {});
  enter.addEventListener('click', () => join(source, refresh));
  put(main, h('div', { class: 'head' }, h('h1', { class: 'grow' }, 'Cluster'), enter), body);
  function show(map) {
    source = map.source;
    enter.hidden = !map.can_change;
    // What has the focus stays, unless something is another one.
    const text = JSON.stringify([map, map.nodes.map((of) => heard(of.node))]);
    if (text === said) return;
    said = text;
    const domain = map.failure_domain === 'node' ? 'no two of them on one node' : 'no two of them on one target';
    fill(body,
      h('section', { class: 'card', 'aria-label': 'Cluster map' },
        h('p', null, `Epoch ${count(map.epoch)}: ${counted(map.nodes.length, 'node')} in ${counted(map.groups, 'negotiating group')}, ${counted(map.replicas, 'replica')} of each chunk, ${domain}.`),
        h('p', { class: 'small muted break' }, 'Kept in ', h('code', null, map.source)),
        table(map, refresh)),
      !map.can_change && commands(map));
  }
  const alone = () => h('section', { class: 'card' }, h('div', { class: 'empty' },
    h('p', null, 'This node is a whole cluster in one process: it has no cluster map, and no other nodes.'),
    h('p', { class: 'small' }, 'How a cluster of several is begun is in the book: docs/operate/cluster.md.')));
  async function again() {
    if (!node.status) return;
    if (!node.status.network) {
      fill(body, alone());
      return;
    }
    try {
      show(await get('/v1/map'));
    } catch (error) {
      said = null;
      enter.hidden = true;
      fill(body, h('section', { class: 'card' }, h('p', { class: 'note bad' }, error.message)));
      throw error;
    }
  }
  (async () => {
    let waits = pauses();
    while (!stop.signal.aborted) {
      try {
        await again();
        waits = pauses();
        await sleep(node.status ? PERIOD : 100, stop.signal);
      } catch {
        await sleep(waits.next().value, stop.signal);
      }
    }
  })();
  return () => stop.abort();
}
