//! The attempts of one machine: their ballots and their tags.

use crate::register::ballot::{Ballot, Proposer};
use crate::register::mistake::Mistake;
use crate::register::proposal::Proposal;
use crate::register::row::Tag;
use crate::register::voters::Voters;

/// Begins one attempt after the other, each with a later ballot and tags of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Attempts {
    pub(crate) voters: Voters,
    /// The epoch of the map that is known.
    pub(crate) began: u64,
    proposer: Proposer,
    highest: Ballot,
    tag: Tag,
    /// See [`Stamp::upload`](crate::Stamp).
    pub(crate) upload: Option<u64>,
}

impl Attempts {
    pub(crate) fn new(voters: Voters, began: u64, proposer: Proposer) -> Attempts {
        Attempts { voters, began, proposer, highest: Ballot::ZERO, tag: Tag(0), upload: None }
    }

    /// The tag of what is asked outside of proposals.
    pub(crate) fn tag(&self) -> Tag {
        self.tag
    }

    /// From now on with what the map of the epoch `began` says.
    pub(crate) fn renew(&mut self, voters: Voters, began: u64) {
        (self.voters, self.began) = (voters, began.max(self.began));
        self.tag.0 += 2;
    }

    /// A ballot was met.
    pub(crate) fn met(&mut self, ballot: Ballot) {
        self.highest = self.highest.max(ballot);
    }

    /// The next attempt; the epoch of the map that it needs, if there is a ballot of a later epoch than it knows.
    pub(crate) fn next<V: Clone>(&mut self, mistake: Option<Mistake>) -> Result<Proposal<V>, u64> {
        let next = match mistake {
            Some(Mistake::CountsBallotsAnew) => {
                let round = self.highest.round + 1;
                Some(Ballot { epoch: 0, round, proposer: self.proposer })
            }
            _ => self.highest.next(self.began, self.proposer),
        };
        let ballot = next.ok_or(self.highest.epoch)?;
        self.highest = ballot;
        self.tag.0 += 2;
        Ok(Proposal::new(self.voters.clone(), ballot, self.tag)
            .stamped(self.began)
            .of_upload(self.upload))
    }
}
