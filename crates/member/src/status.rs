//! How a member is, for people.

use alloc::string::String;

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
