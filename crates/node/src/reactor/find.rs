//! Who holds a chunk: asked of its whole group, also on other nodes.

use slotcast_protocol::{ChunkId, FinderEffect, FinderInput, GroupId, Members};
use slotcast_units::{Size, Time};
use tokio::sync::oneshot;

use super::{Due, Reactor};

/// Where a chunk is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holders {
    /// Targets that hold it, of all nodes.
    pub targets: Vec<u32>,
    /// Targets of its group that did not answer: nobody knows whether they hold it.
    pub silent_targets: Vec<u32>,
    /// The nodes of those; none of a cluster in one process.
    pub silent_nodes: Vec<u32>,
    /// Its size, if anybody holds it.
    pub size: Option<Size>,
    /// How many targets are to hold it, if anybody does.
    pub replicas: Option<u8>,
}

impl Reactor {
    pub(super) fn find(&mut self, now: Time, chunk: ChunkId, reply: oneshot::Sender<Holders>) {
        let mut effects = Vec::new();
        let request = self.finder.find(now, chunk, &self.groups, &mut effects);
        self.finding.insert(request, reply);
        self.heed_finder(now, effects);
    }

    pub(super) fn tell_finder(&mut self, now: Time, input: FinderInput<'_>) {
        let mut effects = Vec::new();
        self.finder.handle(now, input, &mut effects);
        self.heed_finder(now, effects);
    }

    fn heed_finder(&mut self, now: Time, effects: Vec<FinderEffect>) {
        for effect in effects {
            match effect {
                FinderEffect::Multicast { group, to, message } => {
                    self.multicast(now, group, to, message);
                }
                FinderEffect::WakeAt(time) => self.at(time, Due::WakeFinder),
                FinderEffect::Found { request, group, holders, silent, size, replicas } => {
                    let targets = self.targets_at(group, holders);
                    let silent_targets = self.targets_at(group, silent);
                    let nodes = self.remote.as_ref().map(|remote| remote.nodes_of(group, silent));
                    let silent_nodes = nodes.unwrap_or_default();
                    let holders = Holders { targets, silent_targets, silent_nodes, size, replicas };
                    if let Some(reply) = self.finding.remove(&request) {
                        // Whoever asked may have gone: then nobody listens.
                        let _ = reply.send(holders);
                    }
                }
            }
        }
    }

    fn targets_at(&self, group: GroupId, positions: Members) -> Vec<u32> {
        let members = self.groups.members(group);
        let mut targets: Vec<_> =
            positions.iter().map(|position| members[usize::from(position)].0).collect();
        targets.sort_unstable();
        targets
    }
}
