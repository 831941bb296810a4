//! What a member must know before it begins.

use alloc::vec::Vec;

use slotcast_object::{NameTimes, Rosters};
use slotcast_protocol::{GroupMap, InitiatorConfig, RepairRules, TargetConfig, TargetId};
use slotcast_store::Config;
use slotcast_transport::{ReachRules, SilenceRules, Versions};
use slotcast_units::{Span, Time};

use crate::links::Links;
use crate::map::ClusterMap;
use crate::mistake::Mistake;
use crate::target::QueueRule;

/// A node.
#[derive(Debug, Clone)]
pub struct MemberConfig {
    /// Its number; that of its initiator, too.
    pub node: u32,
    /// What its clock showed when it began: its incarnation. Later incarnations have later ones.
    pub began: Time,
    /// The negotiating groups.
    pub groups: GroupMap,
    /// Its initiator.
    pub initiator: InitiatorConfig,
    /// The number of its first request: another one than that of any request that is still remembered.
    pub first_serial: u32,
    /// Its targets.
    pub targets: Vec<TargetSetup>,
    /// What chunks travel over within the node, if that is not memory.
    pub links: Option<Links>,
    /// The other nodes; none of a cluster in one process.
    pub network: Option<NetworkConfig>,
    /// How it keeps names; none if it keeps chunks alone.
    pub names: Option<NamesConfig>,
    /// Whether its targets scan what they hold when something has changed.
    pub repairs: bool,
    /// Bytes of content that its targets keep in memory together, of what they have written or read of late; 0 for none.
    pub cache_memory: u64,
    /// How long it waits for what.
    pub times: Times,
    /// None, but where a fault simulation tests itself.
    #[doc(hidden)]
    pub mistake: Option<Mistake>,
}

/// How a node keeps names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamesConfig {
    /// How long it waits for what.
    pub times: NameTimes,
    /// Another one for each incarnation of each node, as 64 random bits are.
    pub salt: u64,
    /// Who votes, of a cluster in one process. Of one of several the cluster map says so.
    pub rosters: Rosters,
    /// How it takes part in the collection of garbage.
    pub collection: CollectionRules,
}

/// How a node collects garbage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CollectionRules {
    /// From one round to the next; none if rounds are begun on request alone.
    pub every: Option<Span>,
    /// A round is given up when nothing goes on for so long.
    pub limit: Span,
    /// From one look at what is stored to the next, while garbage is removed.
    pub pause: Span,
    /// Replicas removed in one of them, at most; sixteen times as many are looked at.
    pub at_once: usize,
}

impl CollectionRules {
    /// Those of a node.
    pub const PRODUCTION: CollectionRules = CollectionRules {
        every: Some(Span::from_secs(900)),
        limit: Span::from_secs(60),
        pause: Span::from_ms(10),
        at_once: 64,
    };
}

/// One target of a node.
#[derive(Debug, Clone)]
pub struct TargetSetup {
    /// Which.
    pub id: TargetId,
    /// Its negotiator.
    pub target: TargetConfig,
    /// Its store.
    pub store: Config,
    /// How it repairs.
    pub repair: RepairRules,
    /// When it asks initiators to wait; none if it believes its configured rates and measures nothing.
    pub queue: Option<QueueRule>,
    /// Whether it keeps what its negotiator hears and does, for [`Member::take_tapes`](crate::Member).
    pub records: bool,
}

/// A node's part in a cluster of several.
#[derive(Debug, Clone)]
pub struct NetworkConfig {
    /// The cluster map that it begins with. The map's settings, and the node's own targets, stay.
    pub map: ClusterMap,
    /// How long a node is down before what it held is replaced.
    pub gone_after: Span,
    /// The most bytes of a chunk that comes.
    pub max_chunk: u32,
    /// Which versions of datagrams it speaks: [`Versions::ALL`], or some of them to be as an older program.
    pub versions: Versions,
}

/// How long a member waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// How long the other nodes are kept from one whose targets are not open.
    pub opened_within: Span,
    /// How long an operation of a disk may be under way before nobody counts on the disk.
    pub disk: Span,
    /// From one look of a full target for room to the next.
    pub room: Span,
    /// From a change in a group to the scans of its members: others may have changed at the same time.
    pub settling: Span,
    /// From one beat to the next: what is said to each peer so that clocks are compared and silence is noticed.
    pub beat: Span,
    /// The same while nothing is known of some peer, in the first `youth`.
    pub first_beat: Span,
    /// See `first_beat`.
    pub youth: Span,
    /// When silence means something.
    pub silence: SilenceRules,
    /// From one probe of a group's multicast to the next.
    pub probe: Span,
    /// What is concluded from probes.
    pub reach: ReachRules,
    /// Reports are not awaited for less than this: threads of a busy machine are late by as much.
    pub least_slack: Span,
    /// How long after its window a chunk may still be repeated. Targets keep their reservations for longer.
    pub repeats: Span,
}

impl Times {
    /// Those of a node, where an answer takes `patience` at most.
    pub const fn production(patience: Span) -> Times {
        Times {
            opened_within: Span::from_secs(60),
            disk: Span::from_secs(10),
            room: Span::from_ms(100),
            settling: Span::from_ms(500),
            beat: Span::from_ms(100),
            first_beat: Span::from_ms(50),
            youth: Span::from_secs(5),
            // Four beats may be lost before requests do not wait for a peer.
            silence: SilenceRules {
                unresponsive: Span::from_ms(450),
                silence: Span::from_ms(2500),
            },
            probe: Span::from_ms(200),
            reach: ReachRules { patience, heard: Span::from_ms(500), lasts: Span::from_secs(5) },
            least_slack: Span::from_ms(1),
            repeats: Span::from_ms(250),
        }
    }
}
