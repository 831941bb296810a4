//! Replica repair: a target sees to it that what it holds is stored often enough in its group.
//!
//! A target *walks* over its chunks in the order of their names and has each one put again into its
//! group by an ordinary put. Members that hold it answer "already stored" and count; what is missing is
//! made by appointment, like any other put. No target has to know what another one holds.
//!
//! ```text
//!            something changed, or the period is over
//!   resting ------------------------------------------> walking
//!      ^                                                   |
//!      +---------------------------------------------------+
//!               all chunks visited, none in hand
//! ```
//!
//! So that the holders of a chunk do not all put it again, each begins its walk at another place, by its
//! position in the group, and only reads a chunk whose put by somebody else it has heard in this walk.
//! How many targets are to hold a chunk is stored with it, and each holder sees to the number that it was
//! told: neither more, nor fewer because it heard somebody see to fewer.
//! What was read and found rotten is *recovered*: fetched from the others, and put again.
//!
//! A target that *leaves* walks in the same way. What it holds does not count as a replica any more, so each
//! put again brings a chunk to the wanted number without it, and it relies on nobody else's puts. It has
//! *handed over* when a whole walk has ended, every chunk of it was put again, and none has come since it
//! began. Nothing is removed.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Bound;

use slotcast_units::{Span, Time};

use crate::ids::ChunkId;

/// How a target repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairRules {
    /// Most chunks in hand at a time, at least 1.
    pub at_once: usize,
    /// The least time from one chunk to the next, which leaves the rest to users.
    pub pause: Span,
    /// From the end of a walk to the next if nothing changes: how long rot stays undiscovered.
    pub period: Span,
    /// From a failed attempt to the next for the same chunk.
    pub retry: Span,
}

/// Chunks that a target holds. The host looks them up; the machine only asks.
pub trait Inventory {
    /// The first held chunk from `from` on, in the order of names. Should take O(log chunks).
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId>;

    /// How many targets are to hold `chunk`, as it is stored here; none if it is not.
    fn wanted(&self, chunk: &ChunkId) -> Option<u8>;
}

/// What a host tells of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairInput {
    /// The target has opened, or a member of its group is gone or back: a walk begins, or another one
    /// after that which is under way.
    Changed,
    /// A held chunk turned out to be unreadable, and is not held any more. So many targets were to hold it.
    Lost(ChunkId, u8),
    /// The target leaves, or stays after all.
    Leaves(bool),
    /// A chunk was stored here.
    Stored,
    /// Somebody else was heard to put a chunk into the group, on so many targets.
    Heard(ChunkId, u8),
    /// What was asked for by a [`RepairEffect`] has ended.
    Ended(ChunkId, RepairOutcome),
    /// The time that the machine asked to be woken at has come.
    Wake,
}

/// How the work for one chunk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairOutcome {
    /// There were enough replicas; or, of what was only to be read, it is readable.
    Complete,
    /// There were too few, and now there are enough.
    Healed,
    /// There are still too few, or nobody knows.
    Failed,
    /// It is not to be had: not here, and for a recovery at no member of the group either.
    NotFound,
}

/// What a repair wants of its host. Each is to be answered by [`RepairInput::Ended`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairEffect {
    /// Read the chunk from the target's own disk, and put it into the group, on as many targets as it is
    /// stored here for.
    PutAgain(ChunkId),
    /// Read the chunk from the target's own disk; its hash is checked by that.
    Read(ChunkId),
    /// Get the chunk from the group, and put it into the group, on so many targets.
    Recover(ChunkId, u8),
    /// Say [`RepairInput::Wake`] at this time. Replaces an earlier wish. Not answered otherwise.
    WakeAt(Time),
}

/// Numbers for people, since the machine was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RepairStatistics {
    /// Walks that have ended.
    pub walks: u64,
    /// Chunks visited, each once in every walk.
    pub visited: u64,
    /// Chunks found with too few replicas, and brought back.
    pub healed: u64,
    /// Unreadable chunks that were recovered from others; counted in `healed`, too.
    pub recovered: u64,
    /// Attempts that failed; a chunk can fail more than once.
    pub failed: u64,
    /// Chunks known at present to have too few replicas: their last attempt failed, or they are lost
    /// and not yet recovered.
    pub under_replicated: u64,
}

/// How far a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairProgress {
    /// Chunks visited in this walk.
    pub visited: u64,
    /// Chunks healed in this walk.
    pub healed: u64,
    /// How long it has taken.
    pub elapsed: Span,
}

impl RepairProgress {
    /// How long it will still take for the rest of `held` chunks, at the pace so far; `None` before
    /// the first.
    pub fn remaining(&self, held: u64) -> Option<Span> {
        let left = u128::from(held.saturating_sub(self.visited));
        let time = u128::from(self.elapsed.as_ns()) * left;
        let each = time.checked_div(u128::from(self.visited))?;
        u64::try_from(each).ok().map(Span::from_ns)
    }
}

/// A walk over all chunks, from the place of this target's position on, and round to it.
#[derive(Debug, Clone, Copy)]
struct Walk {
    next: Bound<ChunkId>,
    /// It has passed the last name and goes on from the first.
    wrapped: bool,
    /// It has no more to visit.
    over: bool,
    began: Time,
    visited: u64,
    healed: u64,
}

/// Chunks heard of or lacking that are remembered; beyond, they are put again once more, or found
/// again by the next walk.
const REMEMBERED: usize = 1 << 16;

/// The repair of one target.
#[derive(Debug, Clone)]
pub struct Repair {
    rules: RepairRules,
    /// Where walks begin.
    start: ChunkId,
    walk: Option<Walk>,
    /// Something changed that the walk under way may have missed.
    again: bool,
    in_hand: BTreeSet<ChunkId>,
    leaves: bool,
    /// A walk that began after it was told to leave has ended, and nothing has come since it began.
    has_walked: bool,
    /// A failed attempt was not remembered: only another walk finds the chunk.
    has_forgotten: bool,
    /// Put by somebody else since the walk began.
    heard: BTreeSet<ChunkId>,
    /// Lost and not yet asked for, with the wanted replicas.
    to_recover: VecDeque<(ChunkId, u8)>,
    /// Lacking replicas, and to be put again without waiting for the next walk.
    to_retry: VecDeque<ChunkId>,
    /// In hand as recoveries.
    recovering: BTreeMap<ChunkId, u8>,
    /// Held, and their last attempt failed.
    lacking: BTreeSet<ChunkId>,
    /// Lost, and their last attempt failed.
    unrecovered: BTreeMap<ChunkId, u8>,
    /// The next chunk may be taken in hand from then on.
    free_at: Time,
    /// When the next walk begins if nothing changes.
    rested: Time,
    /// When what has failed is tried again.
    retry_at: Time,
    alarm: Time,
    statistics: RepairStatistics,
}

impl Repair {
    /// The repair of the member at `position` of a group of `members`. It rests until it is told that
    /// something [`Changed`](RepairInput::Changed).
    ///
    /// # Panics
    /// If there are no members, or nothing may be in hand.
    pub fn new(rules: RepairRules, position: u8, members: usize) -> Repair {
        assert!(members > 0 && rules.at_once > 0, "a repair by somebody, of something");
        let members = members as u64;
        let first = (u64::MAX / members).wrapping_mul(u64::from(position));
        let mut start = ChunkId([0; 32]);
        start.0[..8].copy_from_slice(&first.to_be_bytes());
        Repair {
            rules,
            start,
            walk: None,
            again: false,
            in_hand: BTreeSet::new(),
            leaves: false,
            has_walked: false,
            has_forgotten: false,
            heard: BTreeSet::new(),
            to_recover: VecDeque::new(),
            to_retry: VecDeque::new(),
            recovering: BTreeMap::new(),
            lacking: BTreeSet::new(),
            unrecovered: BTreeMap::new(),
            free_at: Time::ZERO,
            rested: Time::NEVER,
            retry_at: Time::NEVER,
            alarm: Time::NEVER,
            statistics: RepairStatistics::default(),
        }
    }

    /// Numbers for people.
    pub fn statistics(&self) -> RepairStatistics {
        let lost = self.to_recover.len() + self.recovering.len() + self.unrecovered.len();
        RepairStatistics { under_replicated: (self.lacking.len() + lost) as u64, ..self.statistics }
    }

    /// Whether everything that a leaving target holds, or has lost and could fetch, is with the others in the
    /// wanted number.
    pub fn has_handed_over(&self) -> bool {
        self.leaves
            && self.has_walked
            && self.walk.is_none()
            && self.in_hand.is_empty()
            && self.to_recover.is_empty()
            && self.lacking.is_empty()
            && self.unrecovered.is_empty()
    }

    /// How far the walk under way is.
    pub fn progress(&self, now: Time) -> Option<RepairProgress> {
        self.walk.map(|Walk { visited, healed, began, .. }| RepairProgress {
            visited,
            healed,
            elapsed: now.saturating_since(began),
        })
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(
        &mut self,
        now: Time,
        input: RepairInput,
        inventory: &impl Inventory,
        effects: &mut Vec<RepairEffect>,
    ) {
        match input {
            RepairInput::Changed => self.changed(now),
            RepairInput::Leaves(leaves) if leaves == self.leaves => {}
            RepairInput::Leaves(leaves) => {
                self.leaves = leaves;
                self.has_walked = false;
                self.changed(now);
            }
            RepairInput::Stored => {
                if self.leaves {
                    self.has_walked = false;
                    self.changed(now);
                }
            }
            RepairInput::Lost(chunk, replicas) => {
                self.lacking.remove(&chunk);
                self.unrecovered.remove(&chunk);
                let is_known = self.recovering.contains_key(&chunk)
                    || self.to_recover.iter().any(|(known, _)| *known == chunk);
                if !is_known && self.to_recover.len() < REMEMBERED {
                    self.to_recover.push_back((chunk, replicas));
                }
            }
            RepairInput::Heard(chunk, replicas) => {
                // A put on fewer targets than are wanted here does not see to all of them.
                let is_enough = inventory.wanted(&chunk).is_none_or(|wanted| wanted <= replicas);
                if is_enough && self.walk.is_some() && self.heard.len() < REMEMBERED {
                    self.heard.insert(chunk);
                }
            }
            RepairInput::Ended(chunk, outcome) => self.ended(now, chunk, outcome),
            RepairInput::Wake => {
                if self.alarm <= now {
                    self.alarm = Time::NEVER;
                }
                if self.walk.is_none() && self.rested <= now {
                    self.begin(now);
                }
                if self.retry_at <= now {
                    self.retry_at = Time::NEVER;
                    self.to_recover.extend(core::mem::take(&mut self.unrecovered));
                    self.to_retry.clear();
                    self.to_retry.extend(self.lacking.iter());
                }
            }
        }
        self.go_on(now, inventory, effects);
    }

    fn changed(&mut self, now: Time) {
        // What was heard before is not true any more.
        self.heard.clear();
        self.again = self.walk.is_some();
        if !self.again {
            self.begin(now);
        }
    }

    fn begin(&mut self, now: Time) {
        self.has_forgotten = false;
        let next = Bound::Included(self.start);
        self.heard.clear();
        self.rested = Time::NEVER;
        self.walk =
            Some(Walk { next, wrapped: false, over: false, began: now, visited: 0, healed: 0 });
    }

    fn ended(&mut self, now: Time, chunk: ChunkId, outcome: RepairOutcome) {
        let was_lost = self.recovering.remove(&chunk);
        if !self.in_hand.remove(&chunk) {
            return;
        }
        match outcome {
            RepairOutcome::Complete | RepairOutcome::NotFound => {
                self.lacking.remove(&chunk);
            }
            RepairOutcome::Healed => {
                self.lacking.remove(&chunk);
                self.statistics.healed += 1;
                self.statistics.recovered += u64::from(was_lost.is_some());
                if let Some(walk) = &mut self.walk {
                    walk.healed += 1;
                }
            }
            RepairOutcome::Failed => {
                self.statistics.failed += 1;
                match was_lost {
                    Some(replicas) if self.unrecovered.len() < REMEMBERED => {
                        self.unrecovered.insert(chunk, replicas);
                    }
                    None if self.lacking.len() < REMEMBERED => {
                        self.lacking.insert(chunk);
                    }
                    _ => self.has_forgotten = true,
                }
                self.retry_at = self.retry_at.min(now + self.rules.retry);
            }
        }
    }

    /// Takes in hand what can be, ends a walk that is over, and sets the alarm.
    fn go_on(&mut self, now: Time, inventory: &impl Inventory, effects: &mut Vec<RepairEffect>) {
        while self.in_hand.len() < self.rules.at_once && self.free_at <= now {
            let Some(effect) = self.next(inventory) else { break };
            effects.push(effect);
            self.free_at = now + self.rules.pause;
        }
        if self.walk.is_some_and(|walk| walk.over) && self.in_hand.is_empty() {
            self.end_walk(now);
        }
        let mut due = self.retry_at;
        if self.walk.is_none() {
            due = due.min(self.rested);
        }
        let is_walking = self.walk.is_some_and(|walk| !walk.over);
        let wants = is_walking || !self.to_recover.is_empty() || !self.to_retry.is_empty();
        // With all hands full, whatever ends will be told.
        if wants && self.in_hand.len() < self.rules.at_once && self.free_at > now {
            due = due.min(self.free_at);
        }
        if due < self.alarm {
            self.alarm = due;
            effects.push(RepairEffect::WakeAt(due));
        }
    }

    fn end_walk(&mut self, now: Time) {
        self.statistics.walks += 1;
        self.walk = None;
        self.has_walked = !self.again && !self.has_forgotten;
        let rest = match (self.again, self.leaves && self.has_forgotten) {
            (true, _) => Span::ZERO,
            (false, true) => self.rules.retry,
            (false, false) => self.rules.period,
        };
        self.again = false;
        self.rested = now + rest;
    }

    fn next(&mut self, inventory: &impl Inventory) -> Option<RepairEffect> {
        if let Some((chunk, replicas)) = self.to_recover.pop_front() {
            self.in_hand.insert(chunk);
            self.recovering.insert(chunk, replicas);
            return Some(RepairEffect::Recover(chunk, replicas));
        }
        while let Some(chunk) = self.to_retry.pop_front() {
            if self.lacking.contains(&chunk) && self.in_hand.insert(chunk) {
                return Some(RepairEffect::PutAgain(chunk));
            }
        }
        let chunk = self.step(inventory)?;
        self.in_hand.insert(chunk);
        self.statistics.visited += 1;
        let is_heard = self.heard.contains(&chunk) && !self.lacking.contains(&chunk);
        Some(if is_heard && !self.leaves {
            RepairEffect::Read(chunk)
        } else {
            RepairEffect::PutAgain(chunk)
        })
    }

    /// The next chunk of the walk that is not in hand.
    fn step(&mut self, inventory: &impl Inventory) -> Option<ChunkId> {
        let start = self.start;
        let walk = self.walk.as_mut().filter(|walk| !walk.over)?;
        loop {
            let found = inventory.chunk_from(walk.next);
            match found {
                Some(chunk) if !walk.wrapped || chunk < start => {
                    walk.next = Bound::Excluded(chunk);
                    walk.visited += 1;
                    if !self.in_hand.contains(&chunk) {
                        return Some(chunk);
                    }
                }
                None if !walk.wrapped => (walk.wrapped, walk.next) = (true, Bound::Unbounded),
                _ => {
                    walk.over = true;
                    return None;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
