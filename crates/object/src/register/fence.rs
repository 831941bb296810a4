//! Whom a voter believes: who knows the voters of today, and began late enough.

use minicbor::{Decode, Encode};
use slotcast_protocol::TargetId;

use crate::register::voters::Voters;

/// What whoever asks a voter knows of the cluster map.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Stamp {
    /// The epoch since which the voters are those that it asks.
    #[n(0)]
    pub voters: u64,
    /// The epoch in which it began what it does.
    #[n(1)]
    pub began: u64,
    /// The round of collection that was known before the first chunk was stored of what it wants to be accepted; none if
    /// that names no content that is not named already.
    #[n(2)]
    pub upload: Option<u64>,
}

/// Why a voter does not believe whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Fenced {
    /// It knows of later voters, those of this epoch.
    #[n(0)]
    Later(#[n(0)] u64),
    /// It has yet to learn of the epoch in which that began: it is to be asked again.
    #[n(1)]
    Behind,
    /// What was begun before this epoch is not believed any more: it is to begin anew.
    #[n(2)]
    TooOld(#[n(0)] u64),
    /// In this round of collection its chunks may have been removed, since nothing names them: they are to be touched
    /// again, and then it is to be asked again.
    #[n(3)]
    Outdated(#[n(0)] u64),
}

/// What a voter knows of the cluster map, for the registers of a slot. It is kept on stable storage, and never goes
/// back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Encode, Decode)]
pub struct Fence {
    /// The epoch of the map that it knows.
    #[n(0)]
    pub epoch: u64,
    /// The epoch since which the voters are those that it knows.
    #[n(1)]
    pub voters: u64,
    /// The epoch in which it joined them. Rows are those of this term.
    #[n(2)]
    pub joined: u64,
    /// The first epoch in which something may have begun that it believes.
    #[n(3)]
    pub floor: u64,
    /// The latest round of collection that it knows of.
    #[n(4)]
    #[cbor(default)]
    pub round: u64,
}

impl Fence {
    /// The voter `target`, with the store `store`, learns of the map of `epoch`, in which `voters` vote. Returns whether
    /// all rows of the slot are to be dropped, on stable storage, before the fence is kept: it is no voter, or
    /// one of another term. What it holds of an earlier one may have been forgotten by all others since.
    #[must_use]
    pub fn learn(&mut self, epoch: u64, voters: &Voters, target: TargetId, store: u64) -> bool {
        if epoch <= self.epoch {
            return false;
        }
        let all = voters.all();
        let own = all.iter().find(|voter| (voter.target, voter.store) == (target, store));
        let joined = own.map_or(0, |voter| voter.joined);
        let is_other = joined != self.joined;
        let floor = if is_other { 0 } else { self.floor };
        *self = Fence { epoch, voters: voters.epoch(), joined, floor, round: self.round };
        is_other
    }

    /// Whether somebody with this stamp is believed.
    ///
    /// Who knows older voters could decide something that those of today do not see. What began before tombstones were
    /// forgotten could bring back what was before them. What began in an epoch that the voter does not know has
    /// to wait, so that whatever it has answered to began in an epoch that it knew. What was stored two rounds of
    /// collection ago and is not named yet may have been removed.
    ///
    /// # Errors
    /// Why not.
    pub fn admit(&self, stamp: Stamp) -> Result<(), Fenced> {
        match () {
            () if stamp.voters < self.voters => Err(Fenced::Later(self.voters)),
            () if stamp.began > self.epoch || stamp.voters > self.voters => Err(Fenced::Behind),
            () if stamp.began < self.floor => Err(Fenced::TooOld(self.floor)),
            () if stamp.upload.is_some_and(|upload| upload + 1 < self.round) => {
                Err(Fenced::Outdated(self.round))
            }
            () => Ok(()),
        }
    }
}
