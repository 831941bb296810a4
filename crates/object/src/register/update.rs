//! One request to change a name, until it has its answer.

use alloc::vec::Vec;

use crate::lock::Lock;
use crate::register::attempts::Attempts;
use crate::register::ballot::Proposer;
use crate::register::mistake::Mistake;
use crate::register::proposal::{Prepared, Progress, Proposal};
use crate::register::record::{Decision, MAX_RECENT, Outcome, Record, Request, RequestKey};
use crate::register::row::{Question, Reply, Tag};
use crate::register::voters::{Voter, Voters};

#[cfg(test)]
mod tests;

/// What a request is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It waits for voters.
    Waits,
    /// There is something new to ask: see [`Update::questions`].
    Asks,
    /// Others were faster: go on with [`Update::retry`], after a pause that is drawn at random. What it wanted may
    /// take effect all the same.
    Lost,
    /// It needs a cluster map of this epoch or later: go on with [`Update::renew`]. What it wanted may take effect
    /// all the same.
    NeedsMap(u64),
    /// The content that it names is to be touched in this round of collection or later: go on with
    /// [`Update::touched`]. What it wanted may take effect all the same.
    Untouched(u64),
    /// A majority has promised, and something else is to be looked at before anything is decided: go on with
    /// [`Update::checked`].
    Checks,
    /// It has its answer.
    Done(Outcome),
    /// Whether it took effect cannot be found out any more: the name was changed too often since, or forgotten.
    Unknown,
}

/// A request to change a name, over all its attempts. It takes effect once, however often it is attempted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Update<O> {
    request: Request<O>,
    attempts: Attempts,
    proposal: Option<Proposal<Record<O>>>,
    /// The answer, once a majority holds what is proposed.
    answer: Option<Outcome>,
    /// What its attempts that proposed something would have made of the name, in each of its lives.
    proposed: Vec<Proposed>,
    /// Something else is looked at in each attempt, after a majority has promised and before anything is decided.
    checks: bool,
    /// What the register says, while that is looked at.
    to_check: Option<Prepared<Record<O>>>,
}

/// What attempts would have made of one life of the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Proposed {
    born: RequestKey,
    /// The earliest change of it that may be theirs.
    change: u64,
    /// The epoch in which the first of them began.
    began: u64,
}

impl<O: Clone + PartialEq + Lock> Update<O> {
    /// A request that begins in the epoch `began` of the cluster map, in which `voters` vote.
    pub fn new(request: Request<O>, voters: Voters, began: u64, proposer: Proposer) -> Update<O> {
        Update::new_with(request, voters, began, proposer, None)
    }

    pub(crate) fn new_with(
        request: Request<O>,
        voters: Voters,
        began: u64,
        proposer: Proposer,
        mistake: Option<Mistake>,
    ) -> Update<O> {
        let mut attempts = Attempts::new(voters, began, proposer);
        // The first ballot of an epoch is above none.
        let proposal = attempts.next(mistake).ok();
        Update {
            request,
            attempts,
            proposal,
            answer: None,
            proposed: Vec::new(),
            checks: false,
            to_check: None,
        }
    }

    /// The same of a request that decides nothing in any of its attempts before [`Update::checked`].
    #[must_use]
    pub fn checking(mut self, checks: bool) -> Update<O> {
        self.checks = checks;
        self
    }

    /// A mistake: further attempts look at nothing else.
    pub(crate) fn check_no_more(&mut self) {
        self.checks = false;
    }

    /// Whether it waits for [`Update::checked`]. No other attempt may begin meanwhile: what is found then was looked at
    /// after the promises of this one.
    pub fn is_checking(&self) -> bool {
        self.to_check.is_some()
    }

    /// What was to be looked at is as it should be.
    pub fn checked(&mut self) -> Step {
        match self.to_check.take() {
            Some(prepared) => self.decide(prepared, None),
            None => Step::Waits,
        }
    }

    /// The same of a request that names content: all of its chunks were stored, or touched, since this round of collection.
    #[must_use]
    pub fn of_upload(mut self, upload: Option<u64>) -> Update<O> {
        self.attempts.upload = upload;
        self.proposal = self.proposal.take().map(|proposal| proposal.of_upload(upload));
        self
    }

    /// All content that it names was touched since this round of collection: begins another attempt.
    pub fn touched(&mut self, round: u64) -> Step {
        self.attempts.upload = Some(round);
        self.retry()
    }

    /// What is to be asked of whom, also again.
    pub fn questions(&self) -> Vec<Question<Record<O>>> {
        self.proposal.as_ref().map(Proposal::questions).unwrap_or_default()
    }

    /// Those whom it asks.
    pub(crate) fn voters(&self) -> &Voters {
        &self.attempts.voters
    }

    /// Whether another attempt may end though those who have not answered this one stay silent.
    pub fn is_contested(&self) -> bool {
        self.proposal.as_ref().is_some_and(Proposal::is_contested)
    }

    /// Begins another attempt.
    pub fn retry(&mut self) -> Step {
        self.retry_with(None)
    }

    pub(crate) fn retry_with(&mut self, mistake: Option<Mistake>) -> Step {
        (self.answer, self.to_check) = (None, None);
        if let Some(proposal) = self.proposal.take() {
            self.attempts.met(proposal.highest());
        }
        match self.attempts.next(mistake) {
            Ok(proposal) => {
                self.proposal = Some(proposal);
                Step::Asks
            }
            Err(epoch) => Step::NeedsMap(epoch),
        }
    }

    /// Begins another attempt, with what the map of the epoch `began` says.
    pub fn renew(&mut self, voters: Voters, began: u64) -> Step {
        self.renew_with(voters, began, None)
    }

    pub(crate) fn renew_with(
        &mut self,
        voters: Voters,
        began: u64,
        mistake: Option<Mistake>,
    ) -> Step {
        self.attempts.renew(voters, began);
        self.retry_with(mistake)
    }

    /// `voter` answered the question with this tag.
    pub fn handle(&mut self, voter: Voter, tag: Tag, reply: Reply<Record<O>>) -> Step {
        self.handle_with(voter, tag, reply, None)
    }

    /// The same with a planted mistake.
    pub(crate) fn handle_with(
        &mut self,
        voter: Voter,
        tag: Tag,
        reply: Reply<Record<O>>,
        mistake: Option<Mistake>,
    ) -> Step {
        let Some(proposal) = &mut self.proposal else { return Step::Waits };
        match proposal.handle_with(voter, tag, reply, mistake) {
            Progress::Waits => Step::Waits,
            Progress::Prepared(prepared) if self.checks => {
                self.to_check = Some(prepared);
                Step::Checks
            }
            Progress::Prepared(prepared) => self.decide(prepared, mistake),
            Progress::Chosen => self.answer.map_or(Step::Waits, Step::Done),
            Progress::Lost => Step::Lost,
            Progress::Outdated(epoch) => Step::NeedsMap(epoch),
            Progress::Untouched(round) => Step::Untouched(round),
        }
    }

    fn decide(&mut self, prepared: Prepared<Record<O>>, mistake: Option<Mistake>) -> Step {
        let Prepared { value, is_chosen, floor } = prepared;
        let key = self.request.key;
        let is_done =
            value.as_ref().is_some_and(|record| record.recent.iter().any(|(done, _)| *done == key));
        if !is_done && self.is_unknown(value.as_ref(), floor, mistake) {
            return Step::Unknown;
        }
        // What an earlier attempt proposed may still take effect, also where something else is chosen: it may have the
        // later ballot. After this one it does not.
        let is_open = !is_done
            && !self.proposed.is_empty()
            && mistake != Some(Mistake::RefusesBesideItsAttempt);
        let (next, outcome) = match (self.request.decide_with(value.as_ref(), mistake), value) {
            (Decision::Write(next, outcome), _) => {
                self.has_proposed(&next);
                (next, outcome)
            }
            // Nobody may see the register otherwise after this answer.
            (Decision::Answer(outcome), Some(record))
                if is_open || !is_chosen && mistake != Some(Mistake::RefusesWithoutAgreement) =>
            {
                (record, outcome)
            }
            (Decision::Answer(outcome), None) if is_open => {
                let recent = alloc::vec![(key, outcome)];
                let nothing = Record { born: key, change: 1, versions: Vec::new(), recent };
                self.has_proposed(&nothing);
                (nothing, outcome)
            }
            (Decision::Answer(outcome), _) => return Step::Done(outcome),
        };
        self.answer = Some(outcome);
        if let Some(proposal) = &mut self.proposal {
            proposal.propose(next);
        }
        Step::Asks
    }

    /// It is about to propose `next`.
    fn has_proposed(&mut self, next: &Record<O>) {
        let Record { born, change, .. } = *next;
        match self.proposed.iter_mut().find(|proposed| proposed.born == born) {
            Some(proposed) => proposed.change = proposed.change.min(change),
            None => self.proposed.push(Proposed { born, change, began: self.attempts.began }),
        }
    }

    /// Whether an attempt may have taken effect of which a register that says `record` would not know any more.
    fn is_unknown(&self, record: Option<&Record<O>>, floor: u64, mistake: Option<Mistake>) -> bool {
        let may_be = |proposed: &Proposed| match record {
            Some(record) if record.born == proposed.born => {
                record.change >= proposed.change + MAX_RECENT as u64
            }
            // It is another life of the name, or none. That in which it may have taken effect was forgotten, if
            // anything was since.
            _ => floor > proposed.began && mistake != Some(Mistake::MixesLives),
        };
        self.proposed.iter().any(may_be)
    }
}

#[cfg(test)]
impl<O> Update<O> {
    pub(crate) fn proposal(&mut self) -> Option<&mut Proposal<Record<O>>> {
        self.proposal.as_mut()
    }

    pub(crate) fn of(&self, voter: Voter) -> impl core::hash::Hash + use<'_, O>
    where
        O: core::hash::Hash,
    {
        self.proposal.as_ref().map(|proposal| proposal.of(voter))
    }
}
