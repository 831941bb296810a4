//! From a scenario to a cluster that is ready to start.

use slotcast_engine::Streams;
use slotcast_protocol::{
    Backpressure as DiskBackpressure, CalendarRules, Choosy, Delivery, DiskForecast, GetRules,
    GroupMap, IdleExtension, Initiator, InitiatorConfig, InitiatorId, OfferRule, Proxy,
    ProxyConfig, PutRules, Target, TargetConfig, TargetId, Timing, WindowRule,
    selection::SequenceRule,
};
use slotcast_units::{Share, Size, Span, Time};

use super::proxy::ProxyHost;
use super::{InitiatorHost, Outage, ReplicastModel, Stores, TargetHost, Windows};
use crate::clients::Clients;
use crate::drive::Trace;
use crate::faults::Faults;
use crate::objects::Objects;
use crate::pool::Pool;
use crate::recorder::Recorder;
use crate::scenario::{
    Backpressure, IdleExtension as IdleChoice, ProtocolKind, Scenario, SequenceChoice,
};

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

pub(crate) fn new_model(scenario: &Scenario, groups: GroupMap, seed: u64) -> ReplicastModel {
    let streams = Streams::new(seed);
    let faults = Faults::new(scenario, &streams);
    let timing = timing(scenario);
    let quirks = scenario.quirks;
    let delivery = match scenario.protocol.kind {
        ProtocolKind::ReplicastH => Delivery::Unicast,
        _ => Delivery::Multicast,
    };
    let proxied = scenario.protocol.kind == ProtocolKind::ReplicastProxy;
    let published = WindowRule::published(delivery);
    let multiplier = match scenario.replicast.bid_multiplier {
        Share::ZERO => published.multiplier,
        set => set,
    };
    let window_rule = WindowRule { multiplier, ..published };
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

    let calendar = CalendarRules {
        offer: if quirks.queued_windows && delivery == Delivery::Multicast && !proxied {
            OfferRule::Queue
        } else if scenario.replicast.double_booking {
            OfferRule::DoubleBooking
        } else {
            OfferRule::FirstFit
        },
        gap: scenario.replicast.bid_gap,
        grace: ack_timeout,
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
    let backpressure = match scenario.replicast.backpressure {
        Backpressure::KeepRoom => DiskBackpressure::KeepRoom,
        Backpressure::ArriveIntoRoom => DiskBackpressure::ArriveIntoRoom,
        Backpressure::DrainFirst => DiskBackpressure::DrainFirst,
    };
    let count = scenario.cluster.targets;
    let target = |t: u32| {
        let (group, position) = groups.seat(TargetId(t));
        let disk_rate = faults.disk_rate(t, count, scenario.disk.rate);
        let forecast = |rate| {
            DiskForecast::new(rate, scenario.disk.queue_limit, backpressure)
                .with_access_time(scenario.disk.access_time)
                .with_disks(u16::try_from(scenario.disk.per_target).expect("checked before"))
        };
        let disk = forecast(disk_rate);
        let proxy = proxied.then(|| {
            let members = groups.members(group).iter();
            let machine = Proxy::new(ProxyConfig {
                group,
                position,
                domains: members.map(|&member| groups.domain(member)).collect(),
                timing,
                choice: scenario.replicast.proxy_choice,
                service: timing.control * u64::from(scenario.replicast.proxy_messages),
                calendar,
                disk: forecast(scenario.disk.rate),
                answer_timeout,
            });
            Box::new(ProxyHost::new(machine))
        });
        let config =
            TargetConfig { group, position, timing, window_rule, idle_extension, calendar, disk };
        TargetHost { machine: Target::new(config), proxy, disk_rate, up: true, incarnation: 0 }
    };
    let targets = (0..count).map(target).collect();

    let put = PutRules {
        replicas: u8::try_from(scenario.cluster.replicas).expect("checked before"),
        window_rule,
        sequence,
        consecutive_only: quirks.consecutive_triples,
        abandon_without_window: quirks.abandon_without_window,
        choosy: scenario.replicast.choosy.then_some(Choosy { first_patience }),
        double_booking: scenario.replicast.double_booking,
        proxied,
    };
    let initiator = |i: u32| {
        let config = InitiatorConfig {
            id: InitiatorId(i),
            timing,
            put,
            get: GetRules { window_rule: WindowRule::published(Delivery::Unicast) },
            answer_timeout,
            ack_timeout,
            horizon: HORIZON,
            max_rounds: u8::try_from(scenario.replicast.max_rounds).expect("checked before"),
        };
        InitiatorHost {
            machine: Initiator::new(config),
            running: Vec::new(),
            control_until: Time::ZERO,
            previous_group: None,
            alarm: None,
        }
    };
    let initiators = (0..scenario.cluster.initiators).map(initiator).collect();

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
        quirks,
        access: scenario.disk.access_time,
        initiators,
        targets,
        messages: Pool::new(),
        transfers: Pool::new(),
        clients: Clients::new(scenario, &streams),
        objects: Objects::new(scenario.cluster.initiators, chunk),
        stores,
        faults,
        down,
        recorder: Recorder::new(scenario.cluster.initiators, count)
            .with_disks(scenario.disk.per_target),
        trace: Trace::default(),
        watch: None,
        windows: Windows::default(),
        initiator_effects: Vec::new(),
        target_effects: Vec::new(),
        proxy_effects: Vec::new(),
        groups,
    }
}
