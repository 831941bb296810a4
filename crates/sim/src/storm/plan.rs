//! What a seed stands for: the cluster, its load, and how badly things go.

use slotcast_engine::{Stream, Streams};
use slotcast_protocol::{
    Backpressure, CalendarRules, Choosy, Delivery, DiskForecast, GetRules, GroupId, GroupMap,
    IdleExtension, InitiatorConfig, InitiatorId, OfferRule, PutRules, RepairRules, TargetConfig,
    TargetId, Timing, WindowRule,
    selection::{SequenceRule, Ties},
};
use slotcast_store::{Config, Identity};
use slotcast_units::{Rate, Share, Size, Span};

use super::drain::Drain;
use super::network::Weather;

/// How long a member is silent before the others are told that it is gone.
pub(super) const GONE_AFTER: Span = Span::from_ms(4);

const SEGMENT: u64 = 64 << 10;
const ANSWERS: Span = Span::from_us(400);
/// Longer than an acknowledgement is waited for, and than most faults of the network last.
const REFUSE: Span = Span::from_ms(40);
const ACKS: Span = Span::from_ms(15);
const HORIZON: Span = Span::from_secs(1);

/// All that is drawn once, at the start. Every fault is in some seeds and not in others: what always
/// happens together hides what it does alone.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) targets: u32,
    pub(super) group_size: u32,
    pub(super) replicas: u8,
    /// Whether users want other numbers of some chunks: from 1 to one more.
    pub(super) various: bool,
    pub(super) users: u32,
    pub(super) delivery: Delivery,
    offer: OfferRule,
    choosy: bool,
    ties: Ties,
    pub(super) timing: Timing,
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
    pub(super) crashes: u64,
    pub(super) partitions: u64,
    pub(super) gone: u64,
    pub(super) bits: u64,
    pub(super) lost_writes: u64,
    pub(super) full: u64,
    pub(super) slow: u64,
    pub(super) failing: u64,
    pub(super) restarts: u64,
    pub(super) retirements: u64,
    pub(super) drain: Option<Drain>,
    /// How long after its window a target expects a chunk.
    pub(super) expected: Span,
}

/// Zero in half of the cases, or up to `most`.
fn some(chance: &mut Stream, most: u64) -> u64 {
    if chance.chance(0.5) { 0 } else { 1 + chance.below(most) }
}

fn part(chance: &mut Stream, most: f64) -> f64 {
    if chance.chance(0.4) { 0.0 } else { chance.unit() * chance.unit() * most }
}

impl Plan {
    pub(super) fn new(streams: &Streams) -> Plan {
        let chance = &mut streams.stream("plan", 0);
        let group_size = 5 + chance.below(5);
        let groups = 1 + chance.below(2);
        let extra = chance.below(2);
        let targets = group_size * groups + extra;
        let delivery = if chance.chance(0.5) { Delivery::Multicast } else { Delivery::Unicast };
        let twice = delivery == Delivery::Unicast && chance.chance(0.5);
        let weather = Weather {
            loss: part(chance, 0.1),
            duplication: part(chance, 0.1),
            damage: part(chance, 0.1),
            jitter: Span::from_ns(100 + chance.below(20_000)),
            held_up: part(chance, 0.05),
            hold_up: Span::from_us(50 + chance.below(3_000)),
        };
        let plan = Plan {
            targets: u32::try_from(targets).expect("small"),
            group_size: u32::try_from(group_size).expect("small"),
            replicas: if chance.chance(0.8) { 3 } else { 2 },
            various: streams.stream("replicas", 0).chance(0.5),
            users: 1 + u32::try_from(chance.below(4)).expect("small"),
            delivery,
            offer: if twice { OfferRule::DoubleBooking } else { OfferRule::FirstFit },
            choosy: chance.chance(0.5),
            ties: match streams.stream("ties", 0).chance(0.5) {
                true => Ties::ByBacklog,
                false => Ties::ByName,
            },
            timing: Timing::published(),
            waves: 1 + u32::try_from(chance.below(2)).expect("small"),
            wave: Span::from_ms(30 + chance.below(120)),
            requests: 20 + chance.below(80),
            get_share: chance.unit() * 0.5,
            longest: 300 << chance.below(6),
            weather,
            disk_delay: Span::from_us(10 + chance.below(150)),
            crashes: some(chance, 6),
            partitions: some(chance, 2),
            gone: some(chance, 2),
            bits: some(chance, 30),
            lost_writes: some(chance, 6),
            full: some(chance, 2),
            slow: some(chance, 2),
            failing: some(chance, 3),
            restarts: some(chance, 2),
            retirements: some(chance, 40),
            drain: None,
            expected: Timing::published().trip,
        };
        Plan { drain: Drain::of(streams, &plan), ..plan }
    }

    pub(super) fn groups(&self) -> GroupMap {
        GroupMap::new(self.targets, self.group_size, 1).expect("targets for a group")
    }

    pub(super) fn target(&self, groups: &GroupMap, target: u32) -> TargetConfig {
        let (group, position) = groups.seat(TargetId(target));
        let (rate, limit) = (Rate::from_bytes_per_s(100 << 20), Size::from_mib(1));
        TargetConfig {
            group,
            position,
            timing: self.timing,
            window_rule: WindowRule::published(self.delivery),
            idle_extension: IdleExtension::TwoTransfers,
            calendar: CalendarRules {
                offer: self.offer,
                gap: Span::ZERO,
                grace: ACKS,
                expected: self.expected,
                hold: ANSWERS * 4,
                horizon: HORIZON,
                capacity: 256,
            },
            disk: DiskForecast::new(rate, limit, Backpressure::KeepRoom),
        }
    }

    /// Segments so small that they are compacted, batches so small that there are many.
    pub(super) fn store(&self, target: u32) -> Config {
        let mut identity = [3; 32];
        identity[..4].copy_from_slice(&target.to_le_bytes());
        let config = Config::new(Identity(identity));
        Config { segment_size: SEGMENT, batch: 16 << 10, replicas: self.replicas, ..config }
    }

    pub(super) fn initiator(&self, id: u32) -> InitiatorConfig {
        let timing = self.timing;
        InitiatorConfig {
            id: InitiatorId(id),
            timing,
            put: PutRules {
                replicas: self.replicas,
                window_rule: WindowRule::published(self.delivery),
                ties: self.ties,
                sequence: SequenceRule::revised(&timing),
                consecutive_only: false,
                abandon_without_window: false,
                choosy: self.choosy.then_some(Choosy { first_patience: timing.round_trip() * 3 }),
                double_booking: self.offer == OfferRule::DoubleBooking,
                proxied: false,
            },
            get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
            answer_timeout: ANSWERS,
            ack_timeout: ACKS,
            max_rounds: 60,
            refuse_after: Some(REFUSE),
            horizon: HORIZON,
        }
    }

    pub(super) fn repair(&self) -> RepairRules {
        RepairRules {
            at_once: 4,
            // Disks here have less to do for users than for repair.
            heal_share: Share::from_percent(400),
            scrub_share: Share::from_percent(400),
            least_pause: Span::from_us(20),
            most_pause: Span::from_us(500),
            period: Span::from_ms(40),
            scrub_period: Span::from_ms(40),
            first_scrub: Span::from_ms(20),
            retry: Span::from_ms(5),
        }
    }

    /// Most targets of a group that may be harmed between two heals.
    pub(super) fn most_harmed(&self) -> usize {
        usize::from(self.replicas) - 1
    }

    /// On how many targets a user wants a chunk.
    pub(super) fn wanted(&self, numbers: &mut Stream) -> u8 {
        match self.various {
            true => 1 + u8::try_from(numbers.below(u64::from(self.replicas) + 1)).expect("small"),
            false => self.replicas,
        }
    }

    /// Whether the group can do without one more target for ever: enough are left for another wave
    /// with as many harmed.
    pub(super) fn can_spare(&self, groups: &GroupMap, group: GroupId, dark: usize) -> bool {
        groups.members(group).len() > dark + usize::from(self.replicas) + self.most_harmed()
    }
}
