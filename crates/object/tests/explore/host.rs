//! A voter with its disk.

use crate::register::mistake::Mistake;
use crate::{Ask, Fence, Reply, Row, Stamp, Voter, Voters};

use super::Named;

/// A voter.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Host {
    /// Who it is: its target and its store.
    pub(super) voter: Voter,
    pub(super) fence: Fence,
    pub(super) row: Row<Named>,
    /// What is on stable storage, if that is something else.
    flushed: Option<(Fence, Row<Named>)>,
    is_gone: bool,
}

impl Host {
    /// A voter that knows the first epoch; one that joins later knows none.
    pub(super) fn new(voter: Voter, first: &Voters) -> Host {
        let mut fence = Fence::default();
        let _ = fence.learn(1, first, voter.target, voter.store);
        Host { voter, fence, row: Row::default(), flushed: None, is_gone: false }
    }

    pub(super) fn is(&self, voter: Voter) -> bool {
        (self.voter.target, self.voter.store) == (voter.target, voter.store)
    }

    pub(super) fn learn(&mut self, epoch: u64, voters: &Voters, mistake: Option<Mistake>) {
        let floor = self.fence.floor;
        if self.fence.learn(epoch, voters, self.voter.target, self.voter.store) {
            match mistake {
                Some(Mistake::KeepsAnEarlierTerm) => self.fence.floor = floor,
                _ => self.row = Row::default(),
            }
        }
        self.flushed = None;
    }

    /// What it answers, once that is on stable storage; with a mistake it does not wait.
    pub(super) fn answer(
        &mut self,
        stamp: Stamp,
        ask: &Ask<Named>,
        mistake: Option<Mistake>,
    ) -> Option<Reply<Named>> {
        if self.is_gone {
            return None;
        }
        let before = (self.fence, self.row.clone());
        let reply = self.row.answer_with(&mut self.fence, stamp, ask, mistake);
        self.row.tidy_with(&self.fence, mistake);
        let is_other = before != (self.fence, self.row.clone());
        if mistake == Some(Mistake::AnswersBeforeItIsDurable) && is_other {
            self.flushed.get_or_insert(before);
        }
        Some(reply)
    }

    pub(super) fn crash(&mut self, mistake: Option<Mistake>) {
        if let Some((fence, row)) = self.flushed.take() {
            (self.fence, self.row) = (fence, row);
        }
        if mistake == Some(Mistake::ForgetsItsVoters) {
            (self.fence.voters, self.fence.epoch) = (1, 1);
        }
    }

    /// The disk is empty now. It is somebody else, who has no vote.
    pub(super) fn wipe(&mut self, votes_on: bool) {
        (self.row, self.flushed, self.is_gone) = (Row::default(), None, !votes_on);
    }
}
