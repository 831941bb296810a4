//! Brings a register to new voters.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::register::attempts::Attempts;
use crate::register::ballot::{Ballot, Proposer};
use crate::register::fence::{Fenced, Stamp};
use crate::register::proposal::{Prepared, Progress, Proposal};
use crate::register::row::{Ask, Held, Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

/// What a synchronisation is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncStep {
    /// It waits for voters.
    Waits,
    /// There is something new to ask: see [`Sync::questions`].
    Asks,
    /// Others were faster: go on with [`Sync::retry`], after a pause.
    Lost,
    /// There is a cluster map of this epoch or later: begin anew, if both sets still vote there.
    NeedsMap(u64),
    /// The new set holds what the old one has decided.
    Done,
}

/// Brings one register to the new set, while both vote.
///
/// It reads from a majority of the old set. Each of these has learned that both sets vote, and so believes nobody
/// any more who knows the old set alone: whatever such a proposer has decided is in what they hold. What was
/// accepted last is then accepted by a majority of the new set, with its ballot, as if its proposer had asked
/// them, too; a voter that has promised a later ballot refuses, as it refuses its proposer. If too many do, what is
/// held is agreed on anew. The floor comes with it, also to voters of a register that says nothing.
///
/// Which registers there are is known from the rows of a majority of the old set that know both sets, and from no
/// earlier list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sync<V> {
    attempts: Attempts,
    held: BTreeMap<Voter, Held<V>>,
    accepted: BTreeSet<Voter>,
    refused: BTreeMap<Voter, Ballot>,
    phase: Phase<V>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase<V> {
    Reading,
    Bringing(u64, Option<(Ballot, V)>),
    Agreeing(Proposal<V>),
}

impl<V: Clone> Sync<V> {
    /// Of a register whose voters are `joint` in the epoch `began` of the cluster map.
    pub fn new(joint: Voters, began: u64, proposer: Proposer) -> Sync<V> {
        Sync {
            attempts: Attempts::new(joint, began, proposer),
            held: BTreeMap::new(),
            accepted: BTreeSet::new(),
            refused: BTreeMap::new(),
            phase: Phase::Reading,
        }
    }

    fn tag(&self) -> Tag {
        // Its attempts have tags from 2 on.
        Tag(u32::from(matches!(self.phase, Phase::Bringing(..))))
    }

    /// What is to be asked of whom, also again.
    pub fn questions(&self) -> Vec<Question<V>> {
        let Attempts { voters, began, .. } = &self.attempts;
        let (tag, stamp) =
            (self.tag(), Stamp { voters: voters.epoch(), began: *began, upload: None });
        let question = |to: &Voter, ask| Question { to: *to, tag, stamp, ask };
        match &self.phase {
            Phase::Reading => {
                let silent = voters.old().iter().filter(|v| !self.held.contains_key(v));
                silent.map(|to| question(to, Ask::Read)).collect()
            }
            Phase::Bringing(floor, held) => {
                let has_answered =
                    |v: &Voter| self.accepted.contains(v) || self.refused.contains_key(v);
                let silent = voters.new_set().iter().filter(|v| !has_answered(v));
                silent.map(|to| question(to, Ask::Bring(*floor, held.clone()))).collect()
            }
            Phase::Agreeing(proposal) => proposal.questions(),
        }
    }

    /// Whether another attempt may end though those who have not answered this one stay silent.
    pub fn is_contested(&self) -> bool {
        match &self.phase {
            Phase::Reading => false,
            Phase::Bringing(..) => !self.refused.is_empty(),
            Phase::Agreeing(proposal) => proposal.is_contested(),
        }
    }

    /// Begins another attempt to agree.
    pub fn retry(&mut self) -> SyncStep {
        self.refused.values().for_each(|ballot| self.attempts.met(*ballot));
        self.held.values().for_each(|held| self.attempts.met(held.ballot));
        if let Phase::Agreeing(proposal) = &self.phase {
            self.attempts.met(proposal.highest());
        }
        match self.attempts.next(None) {
            Ok(proposal) => {
                self.phase = Phase::Agreeing(proposal);
                SyncStep::Asks
            }
            Err(epoch) => SyncStep::NeedsMap(epoch),
        }
    }

    /// `voter` answered the question with this tag.
    pub fn handle(&mut self, voter: Voter, tag: Tag, reply: Reply<V>) -> SyncStep {
        if let Phase::Agreeing(proposal) = &mut self.phase {
            return match proposal.handle(voter, tag, reply) {
                Progress::Waits => SyncStep::Waits,
                Progress::Prepared(Prepared { value: Some(value), is_chosen: false, .. }) => {
                    proposal.propose(value);
                    SyncStep::Asks
                }
                Progress::Prepared(_) | Progress::Chosen => SyncStep::Done,
                Progress::Lost => SyncStep::Lost,
                Progress::Outdated(epoch) => SyncStep::NeedsMap(epoch),
                // It names nothing new.
                Progress::Untouched(_) => SyncStep::Lost,
            };
        }
        if tag != self.tag() {
            return SyncStep::Waits;
        }
        match (&self.phase, reply) {
            (_, Reply::Fenced(Fenced::Later(epoch) | Fenced::TooOld(epoch))) => {
                SyncStep::NeedsMap(epoch)
            }
            (Phase::Reading, Reply::Holds(held)) => {
                self.held.insert(voter, held);
                self.read()
            }
            (Phase::Bringing(..), Reply::Accepted) => {
                self.accepted.insert(voter);
                if self.is_new_quorum(|v| self.accepted.contains(&v)) {
                    SyncStep::Done
                } else {
                    SyncStep::Waits
                }
            }
            (Phase::Bringing(..), Reply::Refused(promised)) => {
                self.refused.insert(voter, promised);
                if self.is_new_quorum(|v| !self.refused.contains_key(&v)) {
                    SyncStep::Waits
                } else {
                    self.retry()
                }
            }
            _ => SyncStep::Waits,
        }
    }

    fn is_new_quorum(&self, has: impl Fn(Voter) -> bool) -> bool {
        self.attempts.voters.settled(0).is_quorum(has)
    }

    fn read(&mut self) -> SyncStep {
        if !self.attempts.voters.is_old_quorum(|v| self.held.contains_key(&v)) {
            return SyncStep::Waits;
        }
        let floor = self.held.values().map(|held| held.floor).max().unwrap_or(0);
        let latest = self.held.values().max_by_key(|held| held.ballot);
        let latest = latest.and_then(|held| Some((held.ballot, held.value.clone()?)));
        self.phase = Phase::Bringing(floor, latest);
        SyncStep::Asks
    }
}

#[cfg(test)]
impl<V: core::hash::Hash> Sync<V> {
    /// What it has heard of `voter`.
    pub(crate) fn of(&self, voter: Voter) -> impl core::hash::Hash + use<'_, V> {
        let agreeing = match &self.phase {
            Phase::Agreeing(proposal) => Some(proposal.of(voter)),
            Phase::Reading | Phase::Bringing(..) => None,
        };
        let (accepted, refused) = (self.accepted.contains(&voter), self.refused.get(&voter));
        (self.held.get(&voter), accepted, refused, agreeing)
    }

    /// The same with other voters in the place of these.
    pub(crate) fn rename(&mut self, to: &dyn Fn(Voter) -> Voter) {
        use core::mem::take;
        self.held = take(&mut self.held).into_iter().map(|(v, held)| (to(v), held)).collect();
        self.accepted = take(&mut self.accepted).into_iter().map(to).collect();
        self.refused = take(&mut self.refused).into_iter().map(|(v, by)| (to(v), by)).collect();
        if let Phase::Agreeing(proposal) = &mut self.phase {
            proposal.rename(to);
        }
    }
}
