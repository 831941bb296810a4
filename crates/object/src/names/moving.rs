//! Brings all registers of a group to its new voters.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_protocol::{GroupId, GroupMap};
use slotcast_units::Time;

use super::machine::{Machine, Next};
use super::{Names, NamesEffect};
use crate::key::{BucketId, Key, Name, SlotId};
use crate::message::{About, Asker, KeysAsk, KeysPage, Says, VoterQuestion};
use crate::register::fence::Stamp;
use crate::register::row::Tag;
use crate::register::sync::Sync;
use crate::register::voters::{Voter, Voters};

/// As many registers are brought at a time.
const PAGE: u32 = 64;

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MovingStep {
    Waits,
    Asks,
    /// These registers are to be brought to the new voters.
    Brings(Vec<Key>),
    /// All have been.
    Done,
}

/// All registers of a group in which two sets vote, one page of them after the other.
///
/// Which there are is said by a majority of the old set, each of which knows both sets when it says so, and counts
/// what it has accepted before: whoever knows the old set alone cannot make such a majority accept anything after that, and
/// whoever knows both asks the new set, too. A further key, which no register has, brings the floor though there may be
/// no register at all.
#[derive(Debug)]
pub(super) struct Moving {
    group: GroupId,
    voters: Voters,
    /// The epoch of the map.
    epoch: u64,
    from: Vec<u8>,
    round: u32,
    pages: BTreeMap<Voter, KeysPage>,
    /// Where the next page begins, unless this is the last one.
    next: Option<Vec<u8>>,
    /// What is being brought.
    under_way: BTreeSet<Key>,
    /// What was not, and is tried again.
    failed: BTreeSet<Key>,
}

impl Moving {
    pub(super) fn new(group: GroupId, voters: Voters, epoch: u64) -> Moving {
        Moving {
            group,
            voters,
            epoch,
            from: Vec::new(),
            round: 0,
            pages: BTreeMap::new(),
            next: None,
            under_way: BTreeSet::new(),
            failed: BTreeSet::new(),
        }
    }

    pub(super) fn group(&self) -> GroupId {
        self.group
    }

    pub(super) fn voters(&self) -> &Voters {
        &self.voters
    }

    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The same vote in a later map.
    pub(super) fn follow(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Whether all registers of the page have been brought.
    fn has_brought_all(&self) -> bool {
        self.under_way.is_empty() && self.failed.is_empty()
    }

    pub(super) fn questions(&self, id: u64) -> Vec<VoterQuestion> {
        if !self.has_brought_all() {
            return Vec::new();
        }
        let asker = Asker { id, tag: Tag(self.round) };
        let stamp = Stamp { voters: self.voters.epoch(), began: self.epoch, upload: None };
        let silent = self.voters.old().iter().filter(|voter| !self.pages.contains_key(voter));
        let question = |to: &Voter| {
            let about = About::Keys(KeysAsk { from: self.from.clone(), limit: PAGE });
            VoterQuestion { to: *to, asker, stamp, about }
        };
        silent.map(question).collect()
    }

    pub(super) fn answered(&mut self, from: Voter, tag: Tag, says: Says) -> MovingStep {
        // One that has another map is asked again: one of the two is to learn of the later one.
        let Says::Keys(page) = says else { return MovingStep::Waits };
        if tag != Tag(self.round) || !self.has_brought_all() {
            return MovingStep::Waits;
        }
        self.pages.insert(from, page);
        if !self.voters.is_old_quorum(|voter| self.pages.contains_key(&voter)) {
            return MovingStep::Waits;
        }
        let pages = core::mem::take(&mut self.pages);
        // Up to where the first of them has looked.
        self.next = pages.values().filter_map(|page| page.next.clone()).min();
        let is_in = |key: &Key| self.next.as_ref().is_none_or(|next| key.bytes() < *next);
        self.under_way = pages.into_values().flat_map(|page| page.keys).filter(is_in).collect();
        if self.round == 0 {
            self.under_way.extend(no_register());
        }
        match self.has_brought_all() {
            true => self.next_page(),
            false => MovingStep::Brings(self.under_way.iter().cloned().collect()),
        }
    }

    /// A register was brought, or could not be.
    pub(super) fn was_brought(&mut self, key: &Key, is_done: bool) -> MovingStep {
        if !self.under_way.remove(key) {
            return MovingStep::Waits;
        }
        if !is_done {
            self.failed.insert(key.clone());
            return MovingStep::Asks;
        }
        match self.has_brought_all() {
            true => self.next_page(),
            false => MovingStep::Waits,
        }
    }

    /// Tries again what was not brought.
    pub(super) fn again(&mut self) -> MovingStep {
        if self.failed.is_empty() {
            return MovingStep::Asks;
        }
        let failed = core::mem::take(&mut self.failed);
        self.under_way.extend(failed.iter().cloned());
        MovingStep::Brings(failed.into_iter().collect())
    }

    fn next_page(&mut self) -> MovingStep {
        let Some(next) = self.next.take() else { return MovingStep::Done };
        self.from = next;
        self.round += 1;
        MovingStep::Asks
    }
}

impl Names {
    /// Brings all registers of a group in which two sets vote to the new one. Says when that is done, unless the map says
    /// otherwise before.
    pub fn move_group(
        &mut self,
        now: Time,
        group: GroupId,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        let Some(voters) = self.rosters.of(group).filter(|voters| voters.is_joint()) else {
            return;
        };
        if self.moves().any(|(_, moving)| moving.group() == group) {
            return;
        }
        let moving = Box::new(Moving::new(group, voters.clone(), self.rosters.epoch));
        let id = self.add(now, (0, None), Machine::Move(moving));
        self.go_on(now, id, Next::Asks, groups, effects);
    }

    fn moves(&self) -> impl Iterator<Item = (u64, &Moving)> {
        self.tasks.iter().filter_map(|(id, task)| match &task.machine {
            Machine::Move(moving) => Some((*id, &**moving)),
            _ => None,
        })
    }

    /// Where others vote than those to whom registers are being brought, they are not any more. Else it goes on in the
    /// epoch of today, as requests do that it meets.
    pub(super) fn follow_moving(&mut self) {
        let is_over = |(_, moving): &(u64, &Moving)| {
            self.rosters.of(moving.group()).is_none_or(|voters| voters != moving.voters())
        };
        for id in self.moves().filter(is_over).map(|(id, _)| id).collect::<Vec<_>>() {
            if let Some(task) = self.tasks.remove(&id) {
                self.due.remove(&(task.due, id));
            }
        }
        for task in self.tasks.values_mut() {
            if let Machine::Move(moving) = &mut task.machine {
                moving.follow(self.rosters.epoch);
            }
        }
    }

    /// Brings registers to new voters, for the task `parent`.
    pub(super) fn bring(
        &mut self,
        now: Time,
        parent: u64,
        keys: Vec<Key>,
        groups: &GroupMap,
        effects: &mut Vec<NamesEffect>,
    ) {
        for key in keys {
            let Some(Machine::Move(moving)) = self.tasks.get(&parent).map(|task| &task.machine)
            else {
                return;
            };
            let proposer = self.proposer(self.next);
            let sync = Box::new(Sync::new(moving.voters().clone(), moving.epoch(), proposer));
            let id = self.add(now, (0, Some(parent)), Machine::Sync { key, sync });
            self.go_on(now, id, Next::Asks, groups, effects);
        }
    }
}

/// A key that no register has: that of a bucket of which there is none.
pub(super) fn no_register() -> Option<Key> {
    let slot = SlotId { bucket: BucketId(u64::MAX), number: u32::MAX };
    Name::new("floor").ok().map(|name| Key { slot, name })
}
