//! Who holds a chunk: asked of its whole group, also on other nodes.

use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, FinderEffect, FinderInput, GroupId, Members};
use slotcast_units::Time;

use super::Member;
use crate::effect::{Answer, Holders};
use crate::input::RequestNumber;
use crate::timers::Timer;

impl Member {
    pub(super) fn find(&mut self, now: Time, number: RequestNumber, chunk: ChunkId) {
        let mut effects = Vec::new();
        let request = self.finder.find(now, chunk, &self.groups, &mut effects);
        self.finding.insert(request, number);
        self.carry_out_finder(now, effects);
    }

    pub(super) fn tell_finder(&mut self, now: Time, input: FinderInput<'_>) {
        let mut effects = Vec::new();
        self.finder.handle(now, input, &mut effects);
        self.carry_out_finder(now, effects);
    }

    fn carry_out_finder(&mut self, now: Time, effects: Vec<FinderEffect>) {
        for effect in effects {
            match effect {
                FinderEffect::Multicast { group, to, message } => {
                    self.multicast(now, group, to, message);
                }
                FinderEffect::WakeAt(time) => self.timers.at(time, Timer::Finder),
                FinderEffect::Found { request, group, holders, silent, size, replicas } => {
                    let targets = self.targets_at(group, holders);
                    let silent_targets = self.targets_at(group, silent);
                    let nodes = self.link().map(|link| link.seats().nodes_of(group, silent));
                    let silent_nodes = nodes.unwrap_or_default().into_iter().collect();
                    let holders = Holders { targets, silent_targets, silent_nodes, size, replicas };
                    if let Some(number) = self.finding.remove(&request) {
                        self.reply(number, Answer::Holders(holders));
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
