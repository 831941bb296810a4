//! The order of attempts to change a register.

use core::fmt;
use minicbor::{Decode, Encode};

/// Whoever makes attempts: one request, one read, one synchronisation. No two of them have the same number, in the whole
/// cluster and for ever: a number that is drawn from 64 random bits will do, or the number of an incarnation of a
/// node with a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct Proposer(#[n(0)] pub u64);

/// The number of one attempt: a later one fences those before. No two attempts have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct Ballot {
    /// The epoch of the cluster map in which the attempt began. It comes first, so that what begins after a name was
    /// forgotten is above all that was there before.
    #[n(0)]
    pub epoch: u64,
    /// Counts up past every ballot of this epoch that the proposer has heard of.
    #[n(1)]
    pub round: u64,
    /// Who attempts it.
    #[n(2)]
    pub proposer: Proposer,
}

impl Ballot {
    /// Before the first attempt.
    pub const ZERO: Ballot = Ballot { epoch: 0, round: 0, proposer: Proposer(0) };

    /// The next ballot above this one of a `proposer` that begins in `epoch`; none if this one is of a later epoch.
    pub fn next(self, epoch: u64, proposer: Proposer) -> Option<Ballot> {
        let round = match self.epoch.cmp(&epoch) {
            core::cmp::Ordering::Greater => return None,
            core::cmp::Ordering::Equal => self.round.checked_add(1)?,
            core::cmp::Ordering::Less => 1,
        };
        Some(Ballot { epoch, round, proposer })
    }
}

impl fmt::Display for Ballot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{:x}", self.epoch, self.round, self.proposer.0)
    }
}
