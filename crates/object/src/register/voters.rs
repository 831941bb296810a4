//! Who keeps the registers of a slot, and which of them are enough.

use alloc::vec::Vec;
use minicbor::{Decode, Encode};

use slotcast_protocol::TargetId;

/// Most voters of a set: a majority of five outlives two that are gone.
pub const MAX_VOTERS: usize = 5;

/// A store that keeps registers. One that was wiped is another voter, though it is the same target: what it had
/// promised is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Voter {
    /// The target.
    #[n(0)]
    #[cbor(with = "crate::code::target")]
    pub target: TargetId,
    /// The identity of its store, made when that was formatted.
    #[n(1)]
    pub store: u64,
    /// The epoch in which it joined. One that left and comes back joins anew: what it holds is of no use any more.
    #[n(2)]
    pub joined: u64,
}

/// Why a set of voters is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VotersError {
    /// Nobody votes, or too many do.
    #[error("{0} voters: a set has 1 to {MAX_VOTERS}")]
    Count(usize),
    /// One voter stands in a set twice.
    #[error("target {} is in the set twice", .0.target.0)]
    Twice(Voter),
    /// Two sets vote: one change after the other.
    #[error("the voters are changing already")]
    Joint,
    /// Epochs go up.
    #[error("epoch {0} is not later than that of the voters, {1}")]
    Epoch(u64, u64),
}

/// The voters of a slot from one epoch of the cluster map on.
///
/// They change in three steps, each a new epoch: the old set alone, both sets (*joint*: what is decided needs a
/// majority of each), the new set alone. Between the second and the third every register must be brought to
/// the new set ([`Sync`](crate::Sync)).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Voters {
    epoch: u64,
    old: Vec<Voter>,
    new: Vec<Voter>,
}

impl Voters {
    /// The set `voters`, since `epoch`.
    ///
    /// # Errors
    /// If it is empty, too large, or has a voter twice.
    pub fn alone(epoch: u64, voters: &[Voter]) -> Result<Voters, VotersError> {
        Ok(Voters { epoch, old: checked(voters)?, new: Vec::new() })
    }

    /// The first voters of a slot: `voters`, who all join in `epoch`.
    ///
    /// # Errors
    /// As for [`Voters::alone`].
    pub fn first(epoch: u64, voters: &[Voter]) -> Result<Voters, VotersError> {
        let joined: Vec<Voter> =
            voters.iter().map(|voter| Voter { joined: epoch, ..*voter }).collect();
        Voters::alone(epoch, &joined)
    }

    /// These voters together with the set `new`, since `epoch`. Whoever is in that set and not among these joins in
    /// this epoch.
    ///
    /// # Errors
    /// If two sets vote already, the epoch is not later than theirs, or the new set is empty, too large, or has a voter twice.
    pub fn joint(&self, epoch: u64, new: &[Voter]) -> Result<Voters, VotersError> {
        if self.is_joint() {
            return Err(VotersError::Joint);
        }
        if epoch <= self.epoch {
            return Err(VotersError::Epoch(epoch, self.epoch));
        }
        let mut new = checked(new)?;
        for voter in &mut new {
            let is_it = |old: &&Voter| (old.target, old.store) == (voter.target, voter.store);
            voter.joined = self.old.iter().find(is_it).map_or(epoch, |old| old.joined);
        }
        Ok(Voters { epoch, old: self.old.clone(), new })
    }

    /// The new set alone, since `epoch`, or the only one. Every register must have been brought to it ([`Sync`](crate::Sync)),
    /// and which there are is known only from rows of a majority of the old set that know both sets.
    #[must_use]
    pub fn settled(&self, epoch: u64) -> Voters {
        let set = if self.new.is_empty() { &self.old } else { &self.new };
        Voters { epoch, old: set.clone(), new: Vec::new() }
    }

    /// These voters as they were written down: the old set, or the only one, and the new one, empty unless two vote.
    ///
    /// # Errors
    /// If a set is none.
    pub fn of_sets(epoch: u64, old: &[Voter], new: &[Voter]) -> Result<Voters, VotersError> {
        let new = if new.is_empty() { Vec::new() } else { checked(new)? };
        Ok(Voters { epoch, old: checked(old)?, new })
    }

    /// The old set, or the only one, and the new one: see [`Voters::of_sets`].
    pub fn sets(&self) -> (&[Voter], &[Voter]) {
        (&self.old, &self.new)
    }

    /// The epoch of the cluster map in which they last changed.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether two sets vote.
    pub fn is_joint(&self) -> bool {
        !self.new.is_empty()
    }

    /// All of them, each once, in order.
    pub fn all(&self) -> Vec<Voter> {
        let mut all = self.old.clone();
        all.extend(&self.new);
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether those for which `has` holds are a majority of each set.
    pub fn is_quorum(&self, has: impl Fn(Voter) -> bool) -> bool {
        self.is_old_quorum(&has) && (self.new.is_empty() || is_majority(&self.new, &has))
    }

    /// Whether they are a majority of the old set, or of the only one.
    pub(crate) fn is_old_quorum(&self, has: impl Fn(Voter) -> bool) -> bool {
        is_majority(&self.old, has)
    }

    /// The old set, or the only one.
    pub(crate) fn old(&self) -> &[Voter] {
        &self.old
    }

    /// The new set; empty unless two vote.
    pub(crate) fn new_set(&self) -> &[Voter] {
        &self.new
    }
}

fn checked(voters: &[Voter]) -> Result<Vec<Voter>, VotersError> {
    if voters.is_empty() || voters.len() > MAX_VOTERS {
        return Err(VotersError::Count(voters.len()));
    }
    let mut set = voters.to_vec();
    set.sort_unstable();
    match set.windows(2).find(|pair| pair[0].target == pair[1].target) {
        Some(pair) => Err(VotersError::Twice(pair[0])),
        None => Ok(set),
    }
}

fn is_majority(set: &[Voter], has: impl Fn(Voter) -> bool) -> bool {
    set.iter().filter(|voter| has(**voter)).count() > set.len() / 2
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{TargetId, Voter, Voters, VotersError};

    fn voter(target: u32) -> Voter {
        Voter { target: TargetId(target), store: 1, joined: 1 }
    }

    #[test]
    fn a_set_has_one_to_five_different_voters() {
        assert_eq!(Voters::alone(1, &[]), Err(VotersError::Count(0)));
        let six: Vec<Voter> = (0..6).map(voter).collect();
        assert_eq!(Voters::alone(1, &six), Err(VotersError::Count(6)));
        // The same target with another disk is not two.
        let again = Voter { store: 2, ..voter(3) };
        assert!(matches!(Voters::alone(1, &[voter(3), again]), Err(VotersError::Twice(_))));
        assert!(Voters::alone(1, &six[..5]).is_ok());
    }

    #[test]
    fn while_two_sets_vote_a_majority_of_each_is_needed() {
        let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(voter);
        let old = Voters::alone(1, &[a, b, c]).expect("three");
        let joint = old.joint(2, &[c, d, e]).expect("three");
        let joined = |voter: Voter| Voter { joined: 2, ..voter };
        let [d, e] = [joined(d), joined(e)];
        assert!(joint.is_joint() && joint.all() == [a, b, c, d, e]);
        assert_eq!(joint.joint(3, &[a]), Err(VotersError::Joint));
        assert_eq!(old.joint(1, &[d]), Err(VotersError::Epoch(1, 1)));
        let quorum = |of: &[Voter]| joint.is_quorum(|voter| of.contains(&voter));
        assert!(quorum(&[b, c, d]) && quorum(&[a, b, d, e]));
        assert!(!quorum(&[a, b, c]) && !quorum(&[c, d, e]) && !quorum(&[c]));
        let new = joint.settled(3);
        assert!(new.is_quorum(|voter| [c, d].contains(&voter)) && !new.is_joint());
        // One that left and comes back is another voter.
        let back = new.joint(4, &[a, b, c]).expect("three");
        assert!(back.all().contains(&Voter { joined: 4, ..a }) && back.all().contains(&c));
    }
}
