//! Forgets a name that was deleted.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::register::ballot::Ballot;
use crate::register::fence::{Fenced, Stamp};
use crate::register::row::{Ask, Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

/// What forgetting is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgetStep {
    /// It waits for voters.
    Waits,
    /// All hold the tombstone: go on with [`Forget::go_on`] when the cluster map has come to this epoch.
    From(u64),
    /// Not now, or not everywhere: some hold something else. It is over.
    Stays,
    /// All voters have forgotten it. It is over.
    Done,
}

/// Forgets the tombstone of one register.
///
/// The ballot of a tombstone makes voters refuse what was begun before the deletion and is still on its way. It may go
/// when all voters hold it and nothing is believed any more that began until then: that began in an epoch which a voter
/// knew when it answered here (see [`Fence::admit`](crate::Fence::admit)), and each voter that forgets refuses what
/// began in such an epoch. What begins later has a later ballot than all that was there before, so it does not matter
/// that some voters forget and some do not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Forget {
    voters: Voters,
    began: u64,
    phase: Phase,
    /// The epochs that voters know which hold the tombstone, and in which ballot they have accepted it.
    held: BTreeMap<Voter, (Ballot, u64)>,
    forgotten: BTreeSet<Voter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Reading,
    WaitsFor(u64, Ballot),
    Forgetting(Ballot),
    Over,
}

impl Forget {
    /// Begins in the epoch `began`, in which `voters` vote. While two sets do nothing is forgotten.
    pub fn new(voters: Voters, began: u64) -> Forget {
        let phase = if voters.is_joint() { Phase::Over } else { Phase::Reading };
        Forget { voters, began, phase, held: BTreeMap::new(), forgotten: BTreeSet::new() }
    }

    /// Goes on with a tombstone that all of these voters held in this ballot, in the epoch `began` of the map, which is one
    /// of those that [`ForgetStep::From`] has named.
    pub fn again(voters: Voters, began: u64, ballot: Ballot) -> Forget {
        Forget { phase: Phase::Forgetting(ballot), ..Forget::new(voters, began) }
    }

    /// In which ballot all voters hold the tombstone, once that is known.
    pub fn ballot(&self) -> Option<Ballot> {
        match self.phase {
            Phase::WaitsFor(_, ballot) | Phase::Forgetting(ballot) => Some(ballot),
            Phase::Reading | Phase::Over => None,
        }
    }

    /// The latest ballot in which some voter has said that it holds the tombstone.
    pub fn latest(&self) -> Option<Ballot> {
        self.held.values().map(|(ballot, _)| *ballot).max()
    }

    fn tag(&self) -> Tag {
        Tag(u32::from(!matches!(self.phase, Phase::Reading)))
    }

    /// What is to be asked of whom, also again.
    pub fn questions<V>(&self) -> Vec<Question<V>> {
        let (tag, stamp) =
            (self.tag(), Stamp { voters: self.voters.epoch(), began: self.began, upload: None });
        let all = self.voters.all().into_iter();
        match self.phase {
            Phase::Reading => {
                let silent = all.filter(|v| !self.held.contains_key(v));
                silent.map(|to| Question { to, tag, stamp, ask: Ask::Read }).collect()
            }
            Phase::Forgetting(ballot) => {
                let silent = all.filter(|v| !self.forgotten.contains(v));
                silent.map(|to| Question { to, tag, stamp, ask: Ask::Forget(ballot) }).collect()
            }
            Phase::WaitsFor(..) | Phase::Over => Vec::new(),
        }
    }

    /// Whether there is nothing more to do: it was forgotten, or stays.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The map has come to the epoch `now`. Returns whether there is something to ask: not before the epoch that was named.
    pub fn go_on(&mut self, now: u64) -> bool {
        let Phase::WaitsFor(epoch, ballot) = self.phase else { return false };
        if now < epoch {
            return false;
        }
        (self.began, self.phase) = (now, Phase::Forgetting(ballot));
        true
    }

    /// `voter` answered the question with this tag. `is_tombstone` says whether a value is one.
    pub fn handle<V>(
        &mut self,
        voter: Voter,
        tag: Tag,
        reply: &Reply<V>,
        is_tombstone: impl Fn(&V) -> bool,
    ) -> ForgetStep {
        if tag != self.tag() {
            return ForgetStep::Waits;
        }
        match (self.phase, reply) {
            // It is asked again when it has learned of our epoch.
            (_, Reply::Fenced(Fenced::Behind)) => ForgetStep::Waits,
            (Phase::Reading, Reply::Holds(held))
                if held.value.as_ref().is_some_and(is_tombstone) =>
            {
                self.held.insert(voter, (held.ballot, held.epoch));
                self.compare(held.ballot)
            }
            (Phase::Forgetting(_), Reply::Forgotten) => {
                self.forgotten.insert(voter);
                if !self.voters.all().iter().all(|voter| self.forgotten.contains(voter)) {
                    return ForgetStep::Waits;
                }
                self.phase = Phase::Over;
                ForgetStep::Done
            }
            (Phase::Reading | Phase::Forgetting(_), _) => {
                self.phase = Phase::Over;
                ForgetStep::Stays
            }
            _ => ForgetStep::Waits,
        }
    }

    fn compare(&mut self, ballot: Ballot) -> ForgetStep {
        if self.held.values().any(|(other, _)| *other != ballot) {
            self.phase = Phase::Over;
            return ForgetStep::Stays;
        }
        if !self.voters.all().iter().all(|voter| self.held.contains_key(voter)) {
            return ForgetStep::Waits;
        }
        let latest = self.held.values().map(|(_, knows)| *knows).max().unwrap_or(0);
        let from = latest.max(self.began) + 1;
        self.phase = Phase::WaitsFor(from, ballot);
        ForgetStep::From(from)
    }
}

#[cfg(test)]
impl Forget {
    /// What it has heard of `voter`.
    pub(crate) fn of(&self, voter: Voter) -> impl core::hash::Hash + use<'_> {
        (self.held.get(&voter), self.forgotten.contains(&voter))
    }

    /// The same with other voters in the place of these.
    pub(crate) fn rename(&mut self, to: &dyn Fn(Voter) -> Voter) {
        use core::mem::take;
        self.held = take(&mut self.held).into_iter().map(|(v, held)| (to(v), held)).collect();
        self.forgotten = take(&mut self.forgotten).into_iter().map(to).collect();
    }
}
