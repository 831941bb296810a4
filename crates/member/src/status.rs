//! How a member is, for people.

use alloc::string::String;
use alloc::vec::Vec;

use slotcast_object::garbage::{LostList, Swept};
use slotcast_protocol::{Membership, RepairProgress, RepairStatistics, TargetId};
use slotcast_store::{Statistics, StoreStatus};
use slotcast_units::Time;

use crate::target::{StorageTarget, TargetLoad};

/// One target.
#[derive(Debug, Clone)]
pub struct TargetStatus {
    /// Which.
    pub target: TargetId,
    /// What it can do.
    pub store: StoreStatus,
    /// Its numbers.
    pub statistics: Statistics,
    /// What it is busy with.
    pub load: TargetLoad,
    /// What its repair has done.
    pub repair: RepairStatistics,
    /// How far its scan is, if one is under way.
    pub scan: Option<RepairProgress>,
    /// How far its scrub is, if one is under way.
    pub scrub: Option<RepairProgress>,
}

impl TargetStatus {
    pub(crate) fn of(now: Time, target: &StorageTarget) -> TargetStatus {
        let (scan, scrub) = target.repair_progress(now);
        TargetStatus {
            target: target.id(),
            store: target.status(),
            statistics: target.statistics(),
            load: target.load(now),
            repair: target.repair_statistics(),
            scan,
            scrub,
        }
    }
}

/// How the collection of garbage stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionStatus {
    /// The latest round that has begun; 0 before the first.
    pub round: u64,
    /// What this node does, if it conducts a round.
    pub stage: Option<&'static str>,
    /// The nodes that have not answered it.
    pub awaited: Vec<u32>,
    /// Replicas removed from targets of this node since it began.
    pub removed_chunks: u64,
    /// Bytes of their content.
    pub removed_bytes: u64,
    /// Uploads of many chunks under way here.
    pub uploads: u64,
    /// How the last round ended that this node conducted.
    pub last: Option<CollectionEnd>,
}

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectionEnd {
    /// Which.
    pub round: u64,
    /// What was removed; none if it was given up, since somebody did not answer, or something was changed.
    pub swept: Option<Swept>,
    /// The list that could not be had, if that is why.
    pub lost: Option<LostList>,
}

/// How a node stands to the cluster map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipStatus {
    /// Version of the map that it follows.
    pub epoch: u32,
    /// What it is in it.
    pub membership: Membership,
    /// Whether it drains, and others hold all that it holds.
    pub has_handed_over: bool,
    /// Why the map that was read last is not followed.
    pub problem: Option<String>,
}
