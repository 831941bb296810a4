//! One request for what a name says.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::register::attempts::Attempts;
use crate::register::ballot::Proposer;
use crate::register::fence::{Fenced, Stamp};
use crate::register::mistake::Mistake;
use crate::register::proposal::{Prepared, Progress, Proposal};
use crate::register::row::{Ask, Held, Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

/// What a read is about to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadStep<V> {
    /// It waits for voters.
    Waits,
    /// There is something new to ask: see [`Read::questions`].
    Asks,
    /// Others were faster: go on with [`Read::retry`], after a pause that is drawn at random.
    Lost,
    /// It needs a cluster map of this epoch or later: go on with [`Read::renew`].
    NeedsMap(u64),
    /// What the register says; none if it says nothing.
    Done(Option<V>),
}

/// A read of a register. Where a majority holds the same it is one round trip and changes nothing. Otherwise what was
/// accepted last may be seen by one and not by the next: then it is written once more, so that all see it from
/// now on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Read<V> {
    attempts: Attempts,
    held: BTreeMap<Voter, Held<V>>,
    agreeing: Option<(Proposal<V>, Option<V>)>,
    /// It begins with promises: nothing takes effect any more that was promised before and that it does not see.
    fences: bool,
    /// All voters are asked, and what any of them holds is brought to an end.
    insists: bool,
}

impl<V: Clone> Read<V> {
    /// A read that begins in the epoch `began` of the cluster map, in which `voters` vote.
    pub fn new(voters: Voters, began: u64, proposer: Proposer) -> Read<V> {
        let attempts = Attempts::new(voters, began, proposer);
        Read { attempts, held: BTreeMap::new(), agreeing: None, fences: false, insists: false }
    }

    /// A read after which no attempt takes effect any more that had its promises before, unless it is seen by this: a
    /// majority promises a later ballot.
    pub fn fencing(voters: Voters, began: u64, proposer: Proposer) -> Read<V> {
        let mut read = Read { fences: true, ..Read::new(voters, began, proposer) };
        // The first ballot of an epoch is above none.
        let _ = read.retry();
        read
    }

    /// A read after which nothing takes effect any more that is not seen by it, but what begins later: all voters promise, and
    /// what was accepted last by any of them is written once more.
    pub fn insisting(voters: Voters, began: u64, proposer: Proposer) -> Read<V> {
        let mut read = Read { fences: true, insists: true, ..Read::new(voters, began, proposer) };
        // The first ballot of an epoch is above none.
        let _ = read.retry();
        read
    }

    /// What is to be asked of whom, also again.
    pub fn questions(&self) -> Vec<Question<V>> {
        if let Some((proposal, _)) = &self.agreeing {
            return proposal.questions();
        }
        let Attempts { voters, began, .. } = &self.attempts;
        let (tag, stamp) =
            (self.attempts.tag(), Stamp { voters: voters.epoch(), began: *began, upload: None });
        let silent = voters.all().into_iter().filter(|v| !self.held.contains_key(v));
        silent.map(|to| Question { to, tag, stamp, ask: Ask::Read }).collect()
    }

    /// Whether an attempt may end though those who have not answered yet stay silent: the others do not agree.
    pub fn is_contested(&self) -> bool {
        match &self.agreeing {
            Some((proposal, _)) => proposal.is_contested(),
            None => self.attempts.voters.is_quorum(|v| self.held.contains_key(&v)),
        }
    }

    /// Begins an attempt to make a majority agree: voters hold different things, or some have not answered for a while.
    pub fn retry(&mut self) -> ReadStep<V> {
        self.retry_with(None)
    }

    pub(crate) fn retry_with(&mut self, mistake: Option<Mistake>) -> ReadStep<V> {
        for held in self.held.values() {
            self.attempts.met(held.ballot);
        }
        if let Some((proposal, _)) = self.agreeing.take() {
            self.attempts.met(proposal.highest());
        }
        match self.attempts.next(mistake) {
            Ok(proposal) => {
                let proposal = if self.insists { proposal.of_all() } else { proposal };
                self.agreeing = Some((proposal, None));
                ReadStep::Asks
            }
            Err(epoch) => ReadStep::NeedsMap(epoch),
        }
    }

    /// Those whom it asks.
    pub(crate) fn voters(&self) -> &Voters {
        &self.attempts.voters
    }

    /// Begins anew, with what the map of the epoch `began` says.
    pub fn renew(&mut self, voters: Voters, began: u64) -> ReadStep<V> {
        self.attempts.renew(voters, began);
        self.held.clear();
        self.agreeing = None;
        if self.fences { self.retry() } else { ReadStep::Asks }
    }

    /// `voter` answered the question with this tag.
    pub fn handle(&mut self, voter: Voter, tag: Tag, reply: Reply<V>) -> ReadStep<V> {
        self.handle_with(voter, tag, reply, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn handle_with(
        &mut self,
        voter: Voter,
        tag: Tag,
        reply: Reply<V>,
        mistake: Option<Mistake>,
    ) -> ReadStep<V> {
        let Some((proposal, value)) = &mut self.agreeing else {
            let is_own = tag == self.attempts.tag() || mistake == Some(Mistake::MixesAttempts);
            return if is_own { self.compare(voter, reply, mistake) } else { ReadStep::Waits };
        };
        match proposal.handle_with(voter, tag, reply, mistake) {
            Progress::Waits => ReadStep::Waits,
            Progress::Prepared(Prepared { value: Some(held), is_chosen, .. })
                if !is_chosen || self.insists =>
            {
                *value = Some(held.clone());
                proposal.propose(held);
                ReadStep::Asks
            }
            // Where nothing was accepted all say the same.
            Progress::Prepared(Prepared { value, .. }) => ReadStep::Done(value),
            Progress::Chosen => ReadStep::Done(value.clone()),
            Progress::Lost => ReadStep::Lost,
            Progress::Outdated(epoch) => ReadStep::NeedsMap(epoch),
            // It names nothing new.
            Progress::Untouched(_) => ReadStep::Lost,
        }
    }

    fn compare(&mut self, voter: Voter, reply: Reply<V>, mistake: Option<Mistake>) -> ReadStep<V> {
        match reply {
            Reply::Holds(held) => drop(self.held.insert(voter, held)),
            Reply::Fenced(Fenced::Later(epoch) | Fenced::TooOld(epoch)) => {
                return ReadStep::NeedsMap(epoch);
            }
            _ => return ReadStep::Waits,
        }
        let voters = &self.attempts.voters;
        if !voters.is_quorum(|v| self.held.contains_key(&v)) {
            return ReadStep::Waits;
        }
        let latest = self.held.values().max_by_key(|held| held.ballot);
        let Some(Held { ballot, value, .. }) = latest else { return ReadStep::Waits };
        let agrees = |v: &Voter| self.held.get(v).map(|held| held.ballot == *ballot);
        if voters.is_quorum(|v| agrees(&v) == Some(true))
            || mistake == Some(Mistake::ReadsWithoutAgreement)
        {
            return ReadStep::Done(value.clone());
        }
        if voters.is_quorum(|v| agrees(&v) != Some(false)) {
            return ReadStep::Waits;
        }
        self.retry_with(mistake)
    }
}

#[cfg(test)]
impl<V: core::hash::Hash> Read<V> {
    /// What it has heard of `voter`.
    pub(crate) fn of(&self, voter: Voter) -> impl core::hash::Hash + use<'_, V> {
        (self.held.get(&voter), self.agreeing.as_ref().map(|(proposal, _)| proposal.of(voter)))
    }

    /// The same with other voters in the place of these.
    pub(crate) fn rename(&mut self, to: &dyn Fn(Voter) -> Voter) {
        let held = core::mem::take(&mut self.held);
        self.held = held.into_iter().map(|(v, held)| (to(v), held)).collect();
        if let Some((proposal, _)) = &mut self.agreeing {
            proposal.rename(to);
        }
    }
}
