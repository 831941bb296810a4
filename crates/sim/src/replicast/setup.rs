//! From a scenario to a cluster that is ready to start.

use slotcast_engine::{Pool, Streams};
use slotcast_protocol::{
    Backpressure as DiskBackpressure, CalendarRules, Choosy, Delivery, DiskForecast, GetRules,
    GroupMap, IdleExtension, Initiator, InitiatorConfig, InitiatorId, OfferRule, Proxy,
    ProxyConfig, PutRules, Target, TargetConfig, TargetId, Timing, WindowRule,
    selection::SequenceRule,
};
use slotcast_scenario::clients::Clients;
use slotcast_scenario::drive::Trace;
use slotcast_scenario::faults::Faults;
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::{
    Backpressure, IdleExtension as IdleChoice, ProtocolKind, Scenario, SequenceChoice,
};
use slotcast_units::{Rate, Share, Size, Span, Time};

use super::proxy::ProxyHost;
use super::rebuild::takes_part;
use super::{InitiatorHost, Outage, ReplicastModel, Stores, TargetHost, Windows};
use crate::objects::Objects;

/// How far ahead windows are asked for and believed.
const HORIZON: Span = Span::from_secs(10);

/// Most windows that a target promises at a time.
const CALENDAR_CAPACITY: usize = 256;

/// What is wrong with the size charged for control messages, if anything: the real messages are
/// sent in as many bytes, and cannot be larger.
pub(crate) fn control_size_problem(charged: Size) -> Option<String> {
    let largest = slotcast_protocol::wire::MAX_ENCODED_LEN as u64;
    (charged.as_bytes() < largest)
        .then(|| format!("{charged} is less than the largest message, which takes {largest}B"))
}

/// The timing that a scenario's network gives to Replicast.
pub(crate) fn timing(scenario: &Scenario) -> Timing {
    let usable = scenario.network.usable_rate();
    let control_share = scenario.replicast.control_share;
    let control_rate = usable.share(control_share);
    Timing {
        control: control_rate.time_for(scenario.replicast.control_size),
        trip: scenario.network.trip,
        data_rate: usable.share(control_share.rest()),
        frame: scenario.network.frame,
    }
}

/// What the machines of a cluster are told, before there is a host for them.
#[derive(Debug, Clone)]
pub struct MachineConfigs {
    /// The negotiating groups.
    pub groups: GroupMap,
    /// Of each target, in order.
    pub targets: Vec<TargetConfig>,
    /// Of each initiator, in order.
    pub initiators: Vec<InitiatorConfig>,
}

/// The configurations of the machines of `scenario`.
pub(crate) fn machine_configs(
    scenario: &Scenario,
    groups: GroupMap,
    faults: &Faults,
) -> MachineConfigs {
    let timing = timing(scenario);
    let quirks = scenario.quirks;
    let delivery = match scenario.protocol.kind {
        ProtocolKind::ReplicastH => Delivery::Unicast,
        _ => Delivery::Multicast,
    };
    let proxied = is_proxied(scenario);
    let published = WindowRule::published(delivery);
    let multiplier = match scenario.replicast.bid_multiplier {
        Share::ZERO => published.multiplier,
        set => set,
    };
    let window_rule = WindowRule { multiplier, ..published };
    let (answer_timeout, ack_timeout) = timeouts(scenario, &timing, faults);
    let calendar = CalendarRules {
        offer: offer_rule(scenario, delivery),
        gap: scenario.replicast.bid_gap,
        grace: ack_timeout,
        expected: timing.trip,
        hold: answer_timeout * 4,
        horizon: HORIZON,
        capacity: CALENDAR_CAPACITY,
    };
    let coin = quirks.coin_toss_extension && delivery == Delivery::Unicast;
    let idle_extension = match scenario.replicast.idle_extension {
        IdleChoice::TwoTrips => IdleExtension::TwoTrips,
        IdleChoice::TwoTransfers if coin => IdleExtension::TwoTransfersByCoin,
        IdleChoice::TwoTransfers => IdleExtension::TwoTransfers,
    };
    let sequence = match scenario.replicast.sequence {
        SequenceChoice::Paper => SequenceRule::published(&timing, quirks.keep_idle_window),
        SequenceChoice::Revised => SequenceRule::revised(&timing),
    };
    let first_patience = match scenario.replicast.choosy_start {
        Span::ZERO => timing.round_trip() * 3,
        set => set,
    };
    let target = |t: u32| {
        let (group, position) = groups.seat(TargetId(t));
        let disk = forecast_of(scenario, faults, &groups, t);
        TargetConfig { group, position, timing, window_rule, idle_extension, calendar, disk }
    };
    let targets = (0..scenario.cluster.targets).map(target).collect();

    let put = PutRules {
        replicas: u8::try_from(scenario.cluster.replicas).expect("checked before"),
        window_rule,
        ties: scenario.replicast.ties,
        sequence,
        consecutive_only: quirks.consecutive_triples,
        abandon_without_window: quirks.abandon_without_window,
        choosy: scenario
            .replicast
            .choosy
            .then_some(Choosy { first_patience, overlaps: quirks.overlapping_windows }),
        double_booking: scenario.replicast.double_booking,
        proxied,
    };
    let initiator = |i: u32| InitiatorConfig {
        id: InitiatorId(i),
        timing,
        put,
        get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
        answer_timeout,
        ack_timeout,
        late: None,
        refuse_after: None,
        horizon: HORIZON,
        max_rounds: u8::try_from(scenario.replicast.max_rounds).expect("checked before"),
    };
    let initiators = (0..scenario.cluster.initiators).map(initiator).collect();
    MachineConfigs { groups, targets, initiators }
}

/// How long initiators wait for answers, and for acknowledgements.
fn timeouts(scenario: &Scenario, timing: &Timing, faults: &Faults) -> (Span, Span) {
    let chunk = scenario.workload.chunk_size;
    let answer_timeout = match scenario.replicast.answer_timeout {
        Span::ZERO => timing.round_trip() * 32 + scenario.faults.message_delay * 2,
        set => set,
    };
    let ack_timeout = match scenario.replicast.ack_timeout {
        Span::ZERO => {
            // As long as a target may let a full queue build up, on the slowest disk.
            let slowest = faults.slowest_disk(scenario.disk.rate);
            let access = scenario.disk.access_time;
            let requests = (scenario.disk.queue_limit / chunk).max(2);
            let queue = slowest.time_for(scenario.disk.queue_limit) + access * requests;
            let service = slowest.time_for(chunk) + access;
            (timing.transfer(chunk) + service) * 16 + queue * 2 + answer_timeout
        }
        set => set,
    };
    (answer_timeout, ack_timeout)
}

fn offer_rule(scenario: &Scenario, delivery: Delivery) -> OfferRule {
    if scenario.quirks.queued_windows && delivery == Delivery::Multicast && !is_proxied(scenario) {
        OfferRule::Queue
    } else if scenario.replicast.double_booking {
        OfferRule::DoubleBooking
    } else {
        OfferRule::FirstFit
    }
}

fn is_proxied(scenario: &Scenario) -> bool {
    scenario.protocol.kind == ProtocolKind::ReplicastProxy
}

fn forecast(scenario: &Scenario, rate: Rate) -> DiskForecast {
    let backpressure = match scenario.replicast.backpressure {
        Backpressure::KeepRoom => DiskBackpressure::KeepRoom,
        Backpressure::ArriveIntoRoom => DiskBackpressure::ArriveIntoRoom,
        Backpressure::DrainFirst => DiskBackpressure::DrainFirst,
    };
    DiskForecast::new(rate, scenario.disk.queue_limit, backpressure)
        .with_access_time(scenario.disk.access_time)
        .with_disks(u16::try_from(scenario.disk.per_target).expect("checked before"))
}

/// What `target` foretells of its disks: what users get of them, as one does that measures them.
fn forecast_of(
    scenario: &Scenario,
    faults: &Faults,
    groups: &GroupMap,
    target: u32,
) -> DiskForecast {
    let rate = faults.disk_rate(target, groups.targets(), scenario.disk.rate);
    if !takes_part(faults, groups, target) {
        return forecast(scenario, rate);
    }
    let left = faults.rebuild_share().rest();
    let access = scenario.disk.access_time.as_secs_f64() / left.as_f64();
    forecast(scenario, rate.share(left)).with_access_time(Span::from_secs_f64(access))
}

pub(crate) fn new_model(scenario: &Scenario, groups: GroupMap, seed: u64) -> ReplicastModel {
    let streams = Streams::new(seed);
    let faults = Faults::new(scenario, &streams);
    let timing = timing(scenario);
    let MachineConfigs { groups, targets, initiators } = machine_configs(scenario, groups, &faults);
    let answer_timeout = initiators[0].answer_timeout;
    let count = scenario.cluster.targets;
    let target = |(t, config): (u32, TargetConfig)| {
        let TargetConfig { group, position, calendar, .. } = config;
        let proxy = is_proxied(scenario).then(|| {
            let members = groups.members(group).iter();
            let machine = Proxy::new(ProxyConfig {
                group,
                position,
                domains: members.map(|&member| groups.domain(member)).collect(),
                timing,
                choice: scenario.replicast.proxy_choice,
                service: timing.control * u64::from(scenario.replicast.proxy_messages),
                calendar,
                disk: forecast(scenario, scenario.disk.rate),
                answer_timeout,
            });
            Box::new(ProxyHost::new(machine))
        });
        let disk_rate = faults.disk_rate(t, count, scenario.disk.rate);
        TargetHost { machine: Target::new(config), proxy, disk_rate, up: true, incarnation: 0 }
    };
    let targets = (0..).zip(targets).map(target).collect();
    let initiator = |config| InitiatorHost {
        machine: Initiator::new(config),
        running: Vec::new(),
        control_until: Time::ZERO,
        previous_group: None,
        alarm: None,
    };
    let initiators = initiators.into_iter().map(initiator).collect();

    // Without gets and faults nobody ever asks for a chunk again.
    let asked_again =
        scenario.workload.get_share > Share::ZERO || scenario.faults != Default::default();
    let mut stores = Stores::new(count, asked_again);
    if scenario.workload.get_share > Share::ZERO {
        stores.preload(scenario, &groups, &streams);
    }
    let spec = &scenario.faults;
    let down = (spec.targets_down > 0).then(|| Outage {
        from: Time::ZERO + spec.down_at,
        to: (spec.up_at > Span::ZERO).then(|| Time::ZERO + spec.up_at),
    });
    ReplicastModel {
        timing,
        fidelity: scenario.run.fidelity,
        quirks: scenario.quirks,
        access: scenario.disk.access_time,
        initiators,
        targets,
        messages: Pool::new(),
        transfers: Pool::new(),
        clients: Clients::new(scenario, &streams),
        objects: Objects::new(scenario.cluster.initiators, scenario.workload.chunk_size),
        stores,
        faults,
        down,
        recorder: Recorder::new(scenario.cluster.initiators, count)
            .with_disks(scenario.disk.per_target),
        trace: Trace::default(),
        watch: None,
        tape: None,
        windows: Windows::default(),
        initiator_effects: Vec::new(),
        target_effects: Vec::new(),
        proxy_effects: Vec::new(),
        groups,
    }
}
