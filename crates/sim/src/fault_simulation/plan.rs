//! What a seed stands for: the cluster, its load, and how badly things go.

use std::collections::BTreeMap;

use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use slotcast_engine::{Stream, Streams};
use slotcast_member::{
    ClusterMap, CollectionRules, FailureDomain, MapNode, MemberConfig, Mistake as Planted,
    NamesConfig, NetworkConfig, Rules, TargetSetup,
};
use slotcast_object::{Collection, NameTimes, Rosters};
use slotcast_protocol::{
    Delivery, GroupId, GroupMap, Membership, TargetConfig, TargetId, selection::Ties,
};
use slotcast_store::{Config, Identity};
use slotcast_transport::Versions;
use slotcast_units::{Rate, Span, Time};

use super::Mistake;
use super::network::Weather;
use super::pace::Pace;

pub(super) const SEGMENT: u64 = 64 << 10;

/// All that is drawn once, at the start. Every fault is in some seeds and not in others: what always
/// happens together hides what it does alone.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) nodes: u32,
    /// Targets of a node.
    pub(super) each: u32,
    group_size: u32,
    pub(super) replicas: u8,
    domain: FailureDomain,
    /// Whether users want other numbers of some chunks: from 1 to one more.
    various: bool,
    delivery: Delivery,
    is_multicast: bool,
    choosy: bool,
    ties: Ties,
    /// Periods of faults, each followed by a calm in which everything must heal.
    pub(super) waves: u32,
    pub(super) wave: Span,
    /// Per wave.
    pub(super) requests: u64,
    pub(super) get_share: f64,
    pub(super) longest: u64,
    pub(super) weather: Weather,
    /// Of a disk that is well.
    pub(super) disk_delay: Span,
    /// Per wave.
    pub(super) counts: Counts,
    pub(super) drain: Option<Drain>,
    /// In which wave a node joins, if one does.
    pub(super) join: Option<u32>,
    /// How long a map takes to a node on average.
    pub(super) map_delay: Span,
    /// What nodes disagree about.
    pub(super) disagreement: Disagreement,
    /// What its clients do with names, if it keeps any.
    pub(super) names: Option<NamesPlan>,
    /// Buckets that are made, used and removed, per wave; only where names are kept.
    pub(super) buckets: u64,
    /// From one round of collection to the next, if there are any.
    pub(super) collect_every: Option<Span>,
    /// Bytes of content that a node keeps in memory.
    cache_memory: u64,
    pub(super) pace: Pace,
    /// One fault of any kind in a wave, and not its counts.
    pub(super) single: bool,
    pub(super) mistake: Option<Mistake>,
}

/// What a seed does with names.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamesPlan {
    /// Per wave.
    pub(super) requests: u64,
    /// The faults do not begin before it is known who votes.
    pub(super) begins_calm: bool,
    /// All versions of one of the names are kept.
    pub(super) versioned: bool,
    /// For how long a deletion is remembered where deleted names are forgotten; clients ask nothing again that takes
    /// longer.
    pub(super) deletions: Option<Span>,
    /// Per wave.
    pub(super) failing: u64,
    pub(super) stalled: u64,
    pub(super) slow: u64,
}

impl NamesPlan {
    /// In half of the seeds.
    fn new(chance: &mut Stream) -> Option<NamesPlan> {
        chance.chance(0.5).then(|| NamesPlan {
            requests: 20 + chance.below(60),
            begins_calm: chance.chance(0.5),
            versioned: chance.chance(0.3),
            deletions: None,
            failing: some(chance, 3),
            stalled: some(chance, 2),
            slow: some(chance, 2),
        })
    }
}

/// In a third of the seeds nodes keep no content in memory, in a third a few chunks, and in a third all.
fn cache_memory(chance: &mut Stream) -> u64 {
    match chance.below(3) {
        0 => 0,
        1 => 1 << (14 + chance.below(5)),
        _ => 64 << 20,
    }
}

/// In half of the seeds deleted names are forgotten soon.
fn deletions(chance: &mut Stream) -> Option<Span> {
    chance.chance(0.5).then(|| Span::from_us(chance.below(10_000)))
}

/// In 60 % of the seeds. Rounds follow each other so fast that many requests see some.
fn collect_every(chance: &mut Stream) -> Option<Span> {
    chance.chance(0.6).then(|| Span::from_us(2_000 + chance.below(18_000)))
}

/// What some nodes of a seed disagree about with the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disagreement {
    /// Nothing.
    None,
    /// Some nodes are of an older program until they start anew, or until the end: they speak its version alone.
    Versions,
    /// Some nodes start with another layout of the same epoch, and anew with the right one later.
    Layouts,
}

/// How many faults of a kind a wave has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    pub(super) crashes: u64,
    pub(super) pauses: u64,
    pub(super) partitions: u64,
    pub(super) gone: u64,
    pub(super) refused: u64,
    pub(super) bits: u64,
    pub(super) lost_writes: u64,
    pub(super) full: u64,
    pub(super) slow: u64,
    pub(super) failing: u64,
    pub(super) stalled: u64,
    pub(super) dying: u64,
    pub(super) deaf: u64,
    pub(super) retirements: u64,
}

impl Counts {
    pub(super) const NONE: Counts = Counts {
        crashes: 0,
        pauses: 0,
        partitions: 0,
        gone: 0,
        refused: 0,
        bits: 0,
        lost_writes: 0,
        full: 0,
        slow: 0,
        failing: 0,
        stalled: 0,
        dying: 0,
        deaf: 0,
        retirements: 0,
    };
}

/// A drain that a seed has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drain {
    pub(super) wave: u32,
    pub(super) node: u32,
    /// From the beginning of the wave on; it may be after the faults.
    pub(super) after: Span,
    /// It is taken away as soon as the map says that it is drained, and not only in a calm.
    pub(super) is_hasty: bool,
}

/// Zero in half of the cases, or up to `most`.
fn some(chance: &mut Stream, most: u64) -> u64 {
    if chance.chance(0.5) { 0 } else { 1 + chance.below(most) }
}

fn part(chance: &mut Stream, most: f64) -> f64 {
    if chance.chance(0.4) { 0.0 } else { chance.unit() * chance.unit() * most }
}

fn small(n: u64) -> u32 {
    u32::try_from(n).expect("small")
}

impl Plan {
    pub(super) fn new(streams: &Streams, mistake: Option<Mistake>) -> Plan {
        let chance = &mut streams.stream("plan", 0);
        let each = if chance.chance(0.6) { 1 } else { 2 };
        let group_size = 5 + chance.below(3);
        let groups = if chance.chance(0.3) { 2 } else { 1 };
        let nodes = (group_size * groups).div_ceil(each);
        let weather = Weather {
            loss: part(chance, 0.1),
            duplication: part(chance, 0.1),
            damage: part(chance, 0.05),
            jitter: Span::from_ns(100 + chance.below(20_000)),
            held_up: part(chance, 0.05),
            hold_up: Span::from_us(50 + chance.below(3_000)),
        };
        let disks = &mut streams.stream("disks-plan", 0);
        let waves = 1 + small(chance.below(2));
        let wave = Span::from_ms(30 + chance.below(90));
        let nodes = small(nodes);
        Plan {
            nodes,
            each: small(each),
            group_size: small(group_size),
            replicas: if chance.chance(0.8) { 3 } else { 2 },
            domain: if chance.chance(0.5) { FailureDomain::Node } else { FailureDomain::Target },
            various: streams.stream("replicas", 0).chance(0.5),
            delivery: if chance.chance(0.5) { Delivery::Multicast } else { Delivery::Unicast },
            is_multicast: chance.chance(0.6),
            choosy: chance.chance(0.5),
            ties: if chance.chance(0.5) { Ties::ByBacklog } else { Ties::ByName },
            waves,
            wave,
            requests: 20 + chance.below(80),
            get_share: chance.unit() * 0.5,
            longest: 300 << chance.below(6),
            weather,
            disk_delay: Span::from_us(10 + chance.below(150)),
            counts: Counts {
                crashes: some(chance, 4),
                pauses: some(chance, 3),
                partitions: some(chance, 2),
                gone: some(chance, 2),
                refused: some(chance, 1),
                bits: some(chance, 30),
                lost_writes: some(chance, 6),
                full: some(chance, 2),
                slow: some(chance, 2),
                failing: some(chance, 3),
                stalled: some(disks, 2),
                dying: some(disks, 2),
                deaf: some(chance, 2),
                retirements: some(chance, 40),
            },
            drain: chance.chance(0.4).then(|| Drain {
                wave: small(chance.below(u64::from(waves))),
                node: small(chance.below(u64::from(nodes))),
                after: Span::from_ns(chance.below(wave.as_ns() * 5 / 4)),
                is_hasty: chance.chance(0.5),
            }),
            join: chance.chance(0.25).then(|| small(chance.below(u64::from(waves)))),
            map_delay: Span::from_us(200 + chance.below(8_000)),
            disagreement: match streams.stream("disagreement", 0).below(3) {
                0 => Disagreement::None,
                1 => Disagreement::Versions,
                _ => Disagreement::Layouts,
            },
            names: NamesPlan::new(&mut streams.stream("names-plan", 0)).map(|names| NamesPlan {
                deletions: deletions(&mut streams.stream("deletions-plan", 0)),
                ..names
            }),
            buckets: some(&mut streams.stream("buckets-plan", 0), 24),
            cache_memory: cache_memory(&mut streams.stream("cache-plan", 0)),
            collect_every: collect_every(&mut streams.stream("collection-plan", 0)),
            pace: Pace::HURRIED,
            single: false,
            mistake,
        }
    }

    /// One cluster for a long time, with the times of production: its clients change some names now and then, and each wave
    /// has one fault.
    pub(super) fn month(streams: &Streams) -> Plan {
        let fair = Weather { loss: 1e-4, jitter: Span::from_us(20), ..Weather::FAIR };
        let names = NamesPlan {
            requests: 240,
            begins_calm: true,
            versioned: false,
            deletions: None,
            failing: 0,
            stalled: 0,
            slow: 0,
        };
        Plan {
            nodes: 6,
            each: 1,
            group_size: 6,
            replicas: 3,
            domain: FailureDomain::Node,
            various: false,
            delivery: Delivery::Unicast,
            is_multicast: false,
            choosy: true,
            ties: Ties::ByBacklog,
            waves: 0,
            wave: Span::from_secs(6 * 3600),
            // Chunks without a name would stay: only the checks put some.
            requests: 0,
            get_share: 0.0,
            longest: 9600,
            weather: fair,
            disk_delay: Span::from_us(500),
            counts: Counts::NONE,
            drain: None,
            join: None,
            map_delay: Span::from_ms(100),
            disagreement: Disagreement::None,
            names: Some(names),
            buckets: 0,
            cache_memory: 1 << 14,
            collect_every: CollectionRules::PRODUCTION.every,
            pace: Pace::PRODUCTION,
            single: true,
            ..Plan::new(streams, None)
        }
    }

    /// The map that the cluster begins with.
    pub(super) fn map(&self) -> ClusterMap {
        let node = |number: u32| MapNode {
            number,
            address: address(number),
            targets: (number * self.each..(number + 1) * self.each).map(TargetId).collect(),
            membership: Membership::Active,
        };
        ClusterMap {
            epoch: 1,
            group_size: self.group_size,
            replicas: self.replicas,
            failure_domain: self.domain,
            delivery: self.delivery,
            data_rate: Rate::from_bps(8_910_000_000),
            trip: Span::from_us(5),
            datagram: 1452,
            multicast: self.is_multicast.then_some(MULTICAST),
            nodes: (0..self.nodes).map(node).collect(),
            seats: None,
            voters: BTreeMap::new(),
            collection: Collection::default(),
        }
    }

    /// The node of this number, which begins at `began` on its clock with this map.
    pub(super) fn member(
        &self,
        map: &ClusterMap,
        (node, identities): (u32, &BTreeMap<TargetId, Option<Identity>>),
        (began, incarnation): (Time, u32),
        (versions, salt): (Versions, u64),
    ) -> MemberConfig {
        let rules = self.rules(map);
        let groups = map.groups().expect("targets for a group");
        let targets = map.node(node).expect("a node of the map").targets.iter();
        let setup = |target: &TargetId| TargetSetup {
            id: *target,
            target: self.target(&rules, &groups, *target),
            store: self.store(identities.get(target).copied().flatten()),
            repair: rules.repair,
            // Some measure their disks, and some believe what they were told.
            queue: target.0.is_multiple_of(2).then_some(rules.queue),
            records: true,
        };
        MemberConfig {
            node,
            began,
            targets: targets.map(setup).collect(),
            groups,
            initiator: rules.initiator(node),
            first_serial: incarnation << 16,
            cache_memory: self.cache_memory,
            links: None,
            network: Some(NetworkConfig {
                map: map.clone(),
                gone_after: self.pace.gone_after,
                max_chunk: 1 << 20,
                versions,
            }),
            // An older program keeps none.
            names: (self.names.is_some() && versions == Versions::ALL).then(|| NamesConfig {
                times: self.name_times(&rules),
                salt: if self.mistake == Some(Mistake::OneSalt) { 1 } else { salt },
                rosters: Rosters::default(),
                collection: self.pace.collection(self.collect_every),
            }),
            repairs: true,
            times: rules.times,
            mistake: self.mistake.and_then(Mistake::planted),
        }
    }

    fn name_times(&self, rules: &Rules) -> NameTimes {
        let times = self.pace.names(rules);
        let deletions = self.names.and_then(|names| names.deletions).unwrap_or(times.deletions);
        NameTimes { deletions, ..times }
    }

    /// Whether deleted names may be forgotten before all is over.
    pub(super) fn forgets(&self) -> bool {
        self.names.is_some_and(|names| names.deletions.is_some()) || !self.pace.is_hurried
    }

    /// Whether a client may ask again what it has asked before: not later than deletions are remembered.
    pub(super) fn asks_again(&self) -> bool {
        self.names.is_none_or(|names| names.deletions.is_none())
    }

    /// Those of a node, with times so short that a simulation sees many of them, and what its seed chooses.
    pub(super) fn rules(&self, map: &ClusterMap) -> Rules {
        let mut rules = self.pace.rules(Rules {
            ties: self.ties,
            is_choosy: self.choosy,
            ..Rules::of_cluster(map)
        });
        if self.mistake == Some(Mistake::Of(Planted::BelievesOldRanges)) {
            rules.repair.belief = Span::from_secs(1000);
        }
        rules
    }

    fn target(&self, rules: &Rules, groups: &GroupMap, target: TargetId) -> TargetConfig {
        let mut config = rules.target(groups, target, None);
        match self.mistake {
            Some(Mistake::NoTripBetweenWindows) => {
                config.timing.trip = Span::ZERO;
                config.calendar.expected = Span::ZERO;
            }
            Some(Mistake::AcceptedNeverExpires) => config.calendar.grace = Span::from_secs(1000),
            Some(Mistake::CountsWhatIsOver) => config.calendar.expected = Span::MAX,
            Some(Mistake::HoldForgotten) => config.calendar.hold = Span::ZERO,
            _ => {}
        }
        config
    }

    /// Segments so small that they are compacted, batches so small that there are many.
    pub(super) fn store(&self, identity: Option<Identity>) -> Config {
        let config = Config::new(identity.unwrap_or(Identity([0; 32])));
        Config { segment_size: SEGMENT, batch: 16 << 10, replicas: self.replicas, ..config }
    }

    /// Most targets of a group that may be harmed between two heals.
    pub(super) fn max_harmed(&self) -> usize {
        usize::from(self.replicas) - 1
    }

    /// On how many targets a user wants a chunk.
    pub(super) fn wanted(&self, numbers: &mut Stream) -> u8 {
        match self.various {
            true => 1 + u8::try_from(numbers.below(u64::from(self.replicas) + 1)).expect("small"),
            false => self.replicas,
        }
    }

    /// On how many a user wants one at most.
    pub(super) fn max_wanted(&self) -> u8 {
        self.replicas + u8::from(self.various)
    }

    /// Whether a group can do without one more target for ever: enough are left for another wave with as many
    /// harmed, in as many failure domains as a chunk needs.
    pub(super) fn can_spare(&self, groups: &GroupMap, group: GroupId, missing: usize) -> bool {
        let spared = usize::from(self.replicas) + self.max_harmed();
        let (members, each) = (groups.members(group).len(), self.each as usize);
        members > missing + each * spared
    }
}

/// The multicast address of group 0.
const MULTICAST: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 77, 0, 0), 7482);

/// Where a node is.
pub(super) fn address(node: u32) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(0x0a00_0001 + node), 7481))
}

/// Who is at an address: a node, or the listeners of a group.
pub(super) fn place(address: SocketAddr) -> Result<u32, GroupId> {
    let SocketAddr::V4(address) = address else { unreachable!("all are of version 4") };
    let ip = u32::from(*address.ip());
    match address.ip().is_multicast() {
        true => Err(GroupId(ip - u32::from(*MULTICAST.ip()))),
        false => Ok(ip - 0x0a00_0001),
    }
}

impl Mistake {
    /// The mistake as it is planted into every member, if it is one of those.
    fn planted(self) -> Option<Planted> {
        match self {
            Mistake::Of(planted) => Some(planted),
            _ => None,
        }
    }
}
