// How the cluster is, in one sentence, as far as this node knows: what is not known is said to be so.

import { count, counted } from './format.js';

const SERVES = new Set(['open', 'full']);

function ofTargets(targets) {
  const found = [];
  for (const target of targets) {
    const { target: number, state, reason, remedy } = target;
    if (state === 'open') continue;
    if (state === 'opening') {
      found.push({ level: 'warn', text: `Target ${number} is being opened.` });
    } else if (state === 'full') {
      found.push({ level: 'warn', text: `Target ${number} is full: it takes no puts.`, remedy: 'Make room on its disk, or let another node join.' });
    } else {
      const why = reason ? `: ${reason}` : '';
      found.push({ level: 'bad', text: `Target ${number} is ${state}${why}.`, remedy: remedy ?? (state === 'gone' ? 'Others make up for what it held. Bring its disk back, or see `slotcast target replace`.' : 'See the log of the node.') });
    }
  }
  // Of very many the first ones are enough.
  const more = found.length - 5;
  return more > 1 ? [...found.slice(0, 5), { level: 'bad', text: `${counted(more, 'further target')} ${more === 1 ? 'is' : 'are'} not open.` }] : found;
}

function ofNetwork(network) {
  if (!network) return [];
  const found = [];
  for (const { node, state, reason, remedy } of network.peers) {
    if (reason) found.push({ level: 'bad', text: `Node ${node} is heard, and not believed: ${reason}.`, remedy });
    else if (state !== 'up') found.push({ level: 'bad', text: `Node ${node} is not heard.`, remedy: 'Is it running, and does the network reach it?' });
  }
  const { problem, state } = network.map;
  if (problem) found.push({ level: 'warn', text: `The newest cluster map is not followed: ${problem}.` });
  if (state !== 'active') found.push({ level: 'warn', text: `This node is ${state}${network.map.may_be_stopped ? ', and may be stopped' : ''}.` });
  return found;
}

function ofChunks({ under_replicated_chunks: short, targets }) {
  const unreadable = targets.reduce((sum, target) => sum + target.unreadable_chunks, 0);
  const found = [];
  if (short > 0) {
    found.push({ level: 'warn', text: `${counted(short, 'chunk')} ${short === 1 ? 'has' : 'have'} too few replicas, and ${short === 1 ? 'is' : 'are'} being put again.` });
  }
  if (unreadable > 0) {
    found.push({ level: 'warn', text: `${counted(unreadable, 'chunk')} could not be read: the disk failed, and other replicas make up for it.` });
  }
  return found;
}

const worst = (found) => ['bad', 'warn'].find((level) => found.some((problem) => problem.level === level));

/** `{ level, sentence, found }`: the level is `ok`, `warn`, `bad` or `unknown`, and `found` what is wrong, the worst first. */
export function health(status) {
  if (!status) return { level: 'unknown', sentence: 'Not known: the node has not answered yet.', found: [] };
  const { targets, network, under_replicated_chunks: short } = status;
  const found = [...ofTargets(targets), ...ofNetwork(network), ...ofChunks(status)];
  found.sort((a, b) => (a.level === b.level ? 0 : a.level === 'bad' ? -1 : 1));
  const serving = targets.filter((target) => SERVES.has(target.state)).length;
  const own = network ? 'targets of this node' : 'targets';
  const open = serving === targets.length ? `All ${count(serving)} ${own} serve` : `${count(serving)} of ${count(targets.length)} ${own} serve`;
  const peers = network?.peers.length ? `, all ${counted(network.peers.length, 'other node')} ${network.peers.length === 1 ? 'is' : 'are'} heard` : '';
  const level = worst(found);
  if (level) {
    const more = found.length > 1 ? ` And ${counted(found.length - 1, 'further thing')} to look at.` : '';
    return { level, sentence: `${found[0].text}${more}`, found };
  }
  if (short === null || short === undefined) {
    return { level: 'unknown', sentence: `${open}${peers}. Whether every chunk has its replicas is not known yet: a target has still to look.`, found };
  }
  return { level: 'ok', sentence: `${open}${peers}, and every chunk has its replicas.`, found };
}

export const LEVELS = {
  ok: { icon: 'check', name: 'Healthy' },
  warn: { icon: 'warn', name: 'Look at this' },
  bad: { icon: 'warn', name: 'Needs somebody' },
  unknown: { icon: 'unknown', name: 'Not known' },
};
