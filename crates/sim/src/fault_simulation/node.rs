//! A node of the fault simulation: a member with its disks and its clock, and what its users have asked for.

use std::collections::BTreeMap;

use slotcast_engine::TimerId;
use slotcast_faults::SimulatedDisk;
use slotcast_member::identity::{Contents, Register};
use slotcast_member::{ClusterMap, Member, RequestNumber, StorageTarget, Tape};
use slotcast_protocol::{ChunkId, TargetId};
use slotcast_store::StoreStatus;
use slotcast_transport::Versions;
use slotcast_units::Time;

use super::acks::Acks;
use super::clock::Clock;
use super::egress::Egress;
use super::event::Event;
use super::mounts::Instead;
use super::rows::RowsHost;
use super::windows::Accepted;

/// Why a chunk is put or fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A user wants it.
    User,
    /// To see whether the cluster keeps its word: it must succeed.
    Check,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Put,
    /// Whether the chunk had been acknowledged when it was asked for.
    Get {
        must_be_there: bool,
    },
}

/// A request under way.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) chunk: ChunkId,
    /// On how many targets it is put.
    pub(super) replicas: u8,
    pub(super) purpose: Purpose,
    pub(super) kind: Kind,
}

/// The disk of a target.
#[derive(Debug)]
pub(super) struct DiskHost {
    pub(super) disk: SimulatedDisk,
    /// The rows of names beside it.
    pub(super) rows: RowsHost,
    /// How many times slower than usual it is.
    pub(super) slowness: u64,
    /// It may have lost replicas since the last heal.
    pub(super) harmed: bool,
    /// When it was emptied last.
    pub(super) wiped_at: Option<Time>,
    /// What its target held when it last stopped: all of that must be there when it starts, but for what was
    /// harmed.
    pub(super) held: Vec<ChunkId>,
    /// It has failed for good.
    pub(super) is_dead: bool,
    /// What its label says.
    pub(super) contents: Contents,
    /// What lies in its place while it is not mounted.
    pub(super) instead: Option<Instead>,
    pub(super) accepted: Accepted,
}

impl DiskHost {
    pub(super) fn new(disk: SimulatedDisk, rows: RowsHost) -> DiskHost {
        DiskHost {
            disk,
            rows,
            slowness: 1,
            harmed: false,
            wiped_at: None,
            held: Vec::new(),
            is_dead: false,
            contents: Contents::Empty,
            instead: None,
            accepted: Accepted::default(),
        }
    }
}

/// How far a node is that leaves, or is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Leaving {
    /// It stays.
    #[default]
    No,
    /// It gives away what it holds.
    Draining,
    /// It has said that it has handed over.
    HandedOver,
    /// It is not there any more, and will not be back.
    Gone,
}

/// One node.
#[derive(Debug)]
pub(super) struct NodeHost {
    /// None while it is down.
    pub(super) member: Option<Member>,
    pub(super) disks: BTreeMap<TargetId, DiskHost>,
    /// Who its targets are; none before its first start.
    pub(super) register: Option<Register>,
    /// Which versions of datagrams it speaks.
    pub(super) versions: Versions,
    /// The right map, while the node runs with one that has another layout.
    pub(super) right_map: Option<ClusterMap>,
    /// What its clock showed when it started last.
    pub(super) began: Time,
    pub(super) clock: Clock,
    /// Counts starts and stops.
    pub(super) incarnation: u32,
    /// Counts the datagrams of an incarnation.
    pub(super) sequence: u64,
    pub(super) started_at: Time,
    pub(super) stopped_at: Time,
    /// It stands still until then.
    pub(super) paused_until: Time,
    /// What has happened to it since, of which it hears when it goes on.
    pub(super) postponed: Vec<Event>,
    /// What its member has heard and done, if that is kept.
    pub(super) tape: Option<Tape>,
    /// When it is to be woken.
    pub(super) alarm: Option<(Time, TimerId)>,
    /// The map that it has kept.
    pub(super) map: ClusterMap,
    pub(super) leaving: Leaving,
    pub(super) running: BTreeMap<RequestNumber, Running>,
    pub(super) egress: Egress,
    pub(super) acks: Acks,
    /// When it has heard of peers that they have started anew.
    pub(super) restarts: BTreeMap<u32, Time>,
    /// Which peers it takes for down, and since when.
    pub(super) down: BTreeMap<u32, Time>,
}

impl NodeHost {
    pub(super) fn new(map: ClusterMap, disks: BTreeMap<TargetId, DiskHost>, clock: Clock) -> Self {
        NodeHost {
            member: None,
            tape: None,
            disks,
            register: None,
            versions: Versions::ALL,
            right_map: None,
            began: Time::ZERO,
            clock,
            incarnation: 0,
            sequence: 0,
            started_at: Time::ZERO,
            stopped_at: Time::ZERO,
            paused_until: Time::ZERO,
            postponed: Vec::new(),
            alarm: None,
            map,
            leaving: Leaving::No,
            running: BTreeMap::new(),
            egress: Egress::default(),
            acks: Acks::default(),
            restarts: BTreeMap::new(),
            down: BTreeMap::new(),
        }
    }

    /// Whether it will never be back.
    pub(super) fn is_gone(&self) -> bool {
        self.leaving == Leaving::Gone
    }

    pub(super) fn target(&self, target: TargetId) -> Option<&StorageTarget> {
        self.member.as_ref().and_then(|member| member.target(target))
    }

    /// Whether the disk of a target has failed for good.
    pub(super) fn is_dead(&self, target: TargetId) -> bool {
        self.disks.get(&target).is_some_and(|disk| disk.is_dead)
    }

    /// Whether the store of a target knows what it holds.
    pub(super) fn is_open(&self, target: TargetId) -> bool {
        self.target(target).is_some_and(StorageTarget::is_open)
    }

    /// Whether all of its targets do all that targets do, or have no room for puts and are well otherwise.
    pub(super) fn is_well(&self) -> bool {
        self.member.as_ref().is_some_and(|member| {
            member.targets().filter(|target| !self.is_dead(target.id())).all(|target| {
                matches!(
                    target.status(),
                    StoreStatus::Open | StoreStatus::Opening | StoreStatus::Full
                )
            })
        })
    }

    /// Whether nobody knows of anything that is to be repaired: no scan is under way or expected, and nothing
    /// is known to lack replicas; or only what some target has lost that does not answer, if that is tolerated.
    pub(super) fn has_settled(&self, now: Time, is_tolerant: bool) -> bool {
        self.member.as_ref().is_some_and(|member| {
            let is_at_rest = |target: &StorageTarget| {
                let (scan, _) = target.repair_progress(now);
                let numbers = target.repair_statistics();
                let tolerated = if is_tolerant { numbers.unrecovered } else { 0 };
                scan.is_none() && numbers.under_replicated == tolerated
            };
            // Who has not noticed yet that its disk has failed for good has to, and to make up for what it cannot read.
            let is_over =
                |target: &&StorageTarget| self.is_dead(target.id()) && target.has_failed();
            let mut targets = member.targets().filter(|target| !is_over(target));
            !member.expects_scan() && targets.all(is_at_rest)
        })
    }
}
