//! The collection of garbage: what it wants of the machines of this node, and of other nodes.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use slotcast_object::garbage::{GarbageMessage, Root};
use slotcast_object::{Collection, Message, NameAnswer, NameRequest};
use slotcast_protocol::{ChunkId, Claim, Members, PutRequest, TargetId};
use slotcast_store::Content;
use slotcast_transport::{SurveyAbout, SurveySays};
use slotcast_units::Time;

use super::Member;
use crate::effect::{Effect, Note};
use crate::garbage::{Around, Garbage, GarbageEffect};
use crate::link::Link;
use crate::mistake::Mistake;
use crate::naming::Naming;
use crate::status::CollectionStatus;
use crate::target::StorageTarget;

impl Member {
    /// How the collection of garbage stands, for people; none where no names are kept.
    pub fn collection_status(&self) -> Option<CollectionStatus> {
        let round = self.naming.as_ref().map_or(0, |naming| naming.rosters().collection.round);
        self.garbage.as_ref().map(|garbage| garbage.status(round))
    }

    /// All nodes of the cluster map.
    fn all_nodes(&self) -> BTreeSet<u32> {
        let of_map = self.map.iter().flat_map(|map| map.nodes.iter().map(|node| node.number));
        of_map.chain([self.node]).collect()
    }

    /// Lets its part in the collection do something.
    fn with_garbage<T>(
        &mut self,
        act: impl FnOnce(&mut Garbage, &Member, Around<'_>) -> T,
    ) -> Option<T> {
        let mut garbage = self.garbage.take()?;
        let nodes = self.all_nodes();
        let rosters = self.naming.as_ref().map(Naming::rosters);
        let done =
            rosters.map(|rosters| act(&mut garbage, self, Around { nodes: &nodes, rosters }));
        self.garbage = Some(garbage);
        done
    }

    /// The nodes that may hold a chunk, but for those of an older program, and whether there are none of these.
    fn nodes_of(&self, chunk: &ChunkId) -> (BTreeSet<u32>, bool) {
        let Some(link) = self.link() else { return ([self.node].into(), true) };
        let members = self.groups.members(self.groups.group_of(chunk)).iter();
        let nodes: BTreeSet<u32> = members.filter_map(|target| self.node_of(*target)).collect();
        let are_all = !nodes.iter().any(|node| link.is_older(*node));
        (nodes.into_iter().filter(|node| !link.is_older(*node)).collect(), are_all)
    }

    /// Whether a node is known to be down.
    fn is_down(&self, now: Time, node: u32) -> bool {
        let is_down = |link: &Link| {
            link.suspicions.is_gone(now, node) || link.suspicions.may_return(now, node)
        };
        node != self.node && self.link().is_some_and(is_down)
    }

    /// In how many failure domains a chunk is stored here, and will be, and on how many targets it is wanted.
    fn held(&self, chunk: &ChunkId) -> [u8; 2] {
        let group = self.groups.group_of(chunk);
        let (mut holders, mut wanted) = (Members::NONE, 0);
        for (position, target) in (0..).zip(self.groups.members(group)) {
            let here = self.targets.get(target).filter(|here| here.counts());
            let number = here.filter(|here| !here.is_released(chunk)).and_then(|h| h.wanted(chunk));
            if let Some(number) = number {
                holders.insert(position);
                wanted = number.replicas.max(wanted);
            }
        }
        let count = self.groups.domains_of(group, holders);
        let possible = self.groups.domains_of(group, self.groups.members_for_puts(group));
        let byte = |n: usize| u8::try_from(n).unwrap_or(u8::MAX);
        [byte(count), wanted.min(byte(possible.max(1)))]
    }

    /// Carries out what it wants, until it wants nothing.
    fn carry_out_garbage(&mut self, now: Time) {
        loop {
            self.with_garbage(|garbage, member, around| {
                let nodes_of = |chunk: &ChunkId| member.nodes_of(chunk);
                garbage.go_on(now, around, nodes_of, |node| member.is_down(now, node));
            });
            let to_do = self.garbage.as_mut().map(Garbage::take_effects).unwrap_or_default();
            if to_do.is_empty() {
                break;
            }
            for effect in to_do {
                match effect {
                    GarbageEffect::Say(node, message) if node == self.node => {
                        self.hear_garbage(now, node, message);
                    }
                    GarbageEffect::Say(node, message) => {
                        self.write_letter(now, node, &Message::Garbage(message));
                    }
                    GarbageEffect::Lost(lost) => {
                        self.outbox.effects.push(Effect::Note(Note::ListLost(lost)));
                    }
                    GarbageEffect::Fetch(walk, list) => self.fetch_list(now, walk, list),
                    GarbageEffect::Restore(walk, chunk, replicas) => {
                        self.fetch_to_restore(now, walk, chunk, replicas);
                    }
                    GarbageEffect::Roots(number, request) => {
                        let request = NameRequest::Roots(request);
                        self.with_names(now, |naming, member| {
                            naming.ask_for_itself(now, number, request, &member.groups);
                        });
                    }
                    GarbageEffect::Touched(task, round) => {
                        self.with_names(now, |naming, member| {
                            naming.touched(now, task, round, &member.groups);
                        });
                    }
                }
            }
        }
        self.propose_collection();
    }

    /// Of a cluster in one process nobody else has a say.
    fn propose_collection(&mut self) {
        if self.map.is_some() {
            return;
        }
        let Some(collection) = self.collection_to_propose() else { return };
        let Some(naming) = &self.naming else { return };
        let rosters = naming.rosters();
        let epoch = rosters.epoch + 1;
        // What cannot be kept is not tried again before another round.
        let keeping = (epoch, collection.by);
        if self.keeping != keeping
            && let Some(next) = rosters.collecting(epoch, collection)
        {
            self.keeping = keeping;
            self.outbox.effects.push(Effect::KeepRosters(next));
        }
    }

    pub(super) fn collection_to_propose(&self) -> Option<Collection> {
        self.garbage.as_ref()?.proposal(&self.all_nodes())
    }

    fn hear_garbage(&mut self, now: Time, node: u32, message: GarbageMessage) {
        self.with_garbage(|garbage, member, around| {
            garbage.heard(now, node, message, around, |chunk| member.held(chunk));
        });
    }

    /// Another node says something about the collection.
    pub(super) fn heard_garbage(&mut self, now: Time, node: u32, message: GarbageMessage) {
        self.hear_garbage(now, node, message);
        self.carry_out_garbage(now);
    }

    /// Somebody wants garbage to be collected now.
    pub(super) fn collect(&mut self, now: Time) {
        self.with_garbage(|garbage, _, _| garbage.collect(now));
        self.carry_out_garbage(now);
    }

    /// The cluster map says which round has begun.
    pub(super) fn learn_collection(&mut self, now: Time) {
        self.with_garbage(|garbage, _, around| garbage.learn(now, around));
        self.carry_out_garbage(now);
    }

    /// A task of names is about to name content.
    pub(super) fn touch_for(&mut self, now: Time, task: u64, root: Root) {
        self.with_garbage(|garbage, _, around| {
            garbage.touch_for(task, root, around.rosters.collection.round);
        });
        self.carry_out_garbage(now);
    }

    /// A voter has answered what its registers name.
    pub(super) fn voter_said(&mut self, now: Time, number: u64, answer: NameAnswer) {
        let page = match answer {
            NameAnswer::Roots(page) => Some(page),
            _ => None,
        };
        self.with_garbage(|garbage, _, _| garbage.named(now, number, page));
        self.carry_out_garbage(now);
    }

    /// A list was read for a walk, or cannot be.
    pub(super) fn list_fetched(
        &mut self,
        now: Time,
        (walk, list): (u64, ChunkId),
        content: Option<Content>,
    ) {
        let content = content.map(|content| content.bytes().clone());
        self.with_garbage(|garbage, _, _| garbage.fetched(walk, list, content));
        self.carry_out_garbage(now);
    }

    /// A chunk was put again for a walk, or could not be.
    pub(super) fn restored(&mut self, now: Time, walk: u64, chunk: ChunkId, is_stored: bool) {
        self.with_garbage(|garbage, _, _| garbage.restored(walk, chunk, is_stored));
        self.carry_out_garbage(now);
    }

    /// Does what is due.
    pub(super) fn wake_garbage(&mut self, now: Time) {
        self.carry_out_garbage(now);
        self.sweep(now);
    }

    /// Looks at some of what is stored here, and removes what is garbage.
    fn sweep(&mut self, now: Time) {
        let Some(garbage) = &mut self.garbage else { return };
        let (rules, takes_bare) = (garbage.rules(), self.mistake == Some(Mistake::SweepsBare));
        let Some(sweep) = garbage.sweep().filter(|s| !s.swept.is_done && s.due <= now) else {
            return;
        };
        sweep.due = now + rules.pause;
        let (mut target, mut from) = sweep.at;
        let mut found = Vec::new();
        let mut left = rules.at_once * 16;
        let mut goes_on = None;
        'targets: for (id, host) in self.targets.range(target..) {
            if *id != target {
                (target, from) = (*id, ChunkId([0; 32]));
            }
            if !host.is_open() {
                continue;
            }
            for chunk in host.chunks_from(from) {
                if left == 0 || found.len() == rules.at_once {
                    goes_on = Some((target, chunk));
                    break 'targets;
                }
                left -= 1;
                if (takes_bare || host.is_for_names(&chunk)) && garbage.is_garbage(&chunk) {
                    found.push((target, chunk));
                }
            }
        }
        if let Some(sweep) = garbage.sweep() {
            sweep.swept.is_done = goes_on.is_none();
            sweep.swept.seen += (rules.at_once * 16 - left) as u64;
            sweep.at = goes_on.unwrap_or((TargetId(u32::MAX), ChunkId([0; 32])));
        }
        for (target, chunk) in found {
            let host = self.targets.get_mut(&target);
            let bytes = host.and_then(|host| host.sweep(now, chunk, &mut self.outbox));
            if let (Some(bytes), Some(garbage)) = (bytes, &mut self.garbage) {
                garbage.removed(bytes);
            }
        }
    }

    /// A put asks a target here for a window. What is put without a name is no garbage, unless it is here for names still.
    pub(super) fn touch_put(&mut self, target: TargetId, asked: &PutRequest) {
        let Some(garbage) = &mut self.garbage else { return };
        let is_here = |target: &StorageTarget| target.is_for_names(&asked.chunk);
        if asked.claim == Claim::Names || self.targets.get(&target).is_some_and(is_here) {
            garbage.touch(&asked.chunk);
        }
    }

    /// What a target here says that it holds others may rely on.
    pub(super) fn touch_held(&mut self, about: &SurveyAbout, says: &SurveySays) {
        if !self.errs(Mistake::HoldsUntouched) {
            touch_held(self.garbage.as_mut(), about, says);
        }
    }
}

fn touch_held(garbage: Option<&mut Garbage>, about: &SurveyAbout, says: &SurveySays) {
    let (Some(garbage), SurveyAbout::Chunks(chunks), SurveySays::Held(held)) =
        (garbage, about, says)
    else {
        return;
    };
    let is_held = |(bit, _): &(usize, _)| held >> bit & 1 == 1;
    let held = chunks.iter().enumerate().filter(is_held);
    held.for_each(|(_, (chunk, _))| garbage.touch(chunk));
}
