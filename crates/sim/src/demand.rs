//! What arithmetic says about a scenario: how much of each resource one request takes.

use slotcast_protocol::{Delivery, WindowRule};
use slotcast_scenario::{ProtocolKind, Scenario};
use slotcast_units::{Share, Size, Span};

use crate::objects::parts;

/// How much of each resource one request takes, as the part of all of that resource that one request
/// per second keeps busy. One over it is the rate at which the resource is full; no run can sustain more,
/// and a protocol may sustain less.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Demand {
    /// Of the targets' disks.
    pub disks: f64,
    /// Of what the targets' ports can receive. With Replicast a port is taken for the window that is
    /// accepted, which is wider than the transfer, and for one trip.
    pub target_in: f64,
    /// Of what the targets' ports can send.
    pub target_out: f64,
    /// Of what the initiators' ports can send.
    pub initiator_out: f64,
    /// Of what the initiators' ports can receive.
    pub initiator_in: f64,
    /// Of what the targets' ports keep for control messages, in the busier of the two ways.
    pub target_control: f64,
    /// The same for the initiators' ports. Control messages do not queue in the simulator.
    pub initiator_control: f64,
    /// Of the time of the proxies, one for each group; nothing where there are none.
    pub proxies: f64,
}

impl Demand {
    /// Requests per second at which the first resource is full. Control messages are left out: they do
    /// not queue in the simulator.
    pub fn capacity(&self) -> f64 {
        let Demand { disks, target_in, target_out, initiator_out, initiator_in, proxies, .. } =
            *self;
        1.0 / [disks, target_in, target_out, initiator_out, initiator_in, proxies]
            .into_iter()
            .fold(0.0, f64::max)
    }

    fn add(&mut self, part: f64, other: Demand) {
        self.disks += part * other.disks;
        self.target_in += part * other.target_in;
        self.target_out += part * other.target_out;
        self.initiator_out += part * other.initiator_out;
        self.initiator_in += part * other.initiator_in;
        self.target_control += part * other.target_control;
        self.initiator_control += part * other.initiator_control;
        self.proxies += part * other.proxies;
    }
}

/// What one request of `scenario` takes on average over its sizes, puts and gets.
pub fn demand(scenario: &Scenario) -> Demand {
    let gets = scenario.workload.get_share.as_f64();
    let chunk = scenario.workload.chunk_size;
    let single = [(chunk, Share::ONE)];
    let sizes = match scenario.workload.mix.parts() {
        [] => &single[..],
        parts => parts,
    };
    let mut sum = Demand::default();
    for (size, share) in sizes {
        let count = parts(*size, chunk);
        let last = size.saturating_sub(chunk * (count - 1));
        for (part, times) in [(chunk, count - 1), (last, 1)] {
            let often = share.as_f64() * times as f64;
            sum.add(often * (1.0 - gets), put(scenario, part));
            sum.add(often * gets, get(scenario, part));
        }
    }
    let cluster = &scenario.cluster;
    let (targets, initiators) = (f64::from(cluster.targets), f64::from(cluster.initiators));
    let groups = f64::from((cluster.targets / cluster.group_size.max(1)).max(1));
    Demand {
        disks: sum.disks / targets / f64::from(scenario.disk.per_target),
        target_in: sum.target_in / targets,
        target_out: sum.target_out / targets,
        initiator_out: sum.initiator_out / initiators,
        initiator_in: sum.initiator_in / initiators,
        target_control: sum.target_control / targets,
        initiator_control: sum.initiator_control / initiators,
        proxies: sum.proxies / groups,
    }
}

/// Times on the links, by protocol.
struct Times {
    /// Of the payload.
    transfer: Span,
    /// For which the receiver's port is taken.
    taken: Span,
    /// Of one control message.
    control: Span,
    /// Targets that are asked.
    asked: f64,
}

fn times(scenario: &Scenario, size: Size, delivery: Delivery) -> Times {
    match scenario.protocol.kind {
        ProtocolKind::ReplicastM | ProtocolKind::ReplicastH | ProtocolKind::ReplicastProxy => {
            let timing = crate::replicast::timing(scenario);
            let mut rule = WindowRule::published(delivery);
            if scenario.replicast.bid_multiplier != Share::ZERO {
                rule.multiplier = scenario.replicast.bid_multiplier;
            }
            let is_granted = scenario.protocol.kind == ProtocolKind::ReplicastProxy
                && delivery == Delivery::Multicast;
            let accepted = match is_granted {
                // A proxy grants windows of its own width.
                true => timing.transfer(size) + timing.frame_time(),
                false => rule.size_for(&timing, size).accepted,
            };
            Times {
                transfer: timing.transfer(size),
                taken: accepted + timing.trip + scenario.replicast.bid_gap,
                control: timing.control,
                asked: f64::from(scenario.cluster.group_size),
            }
        }
        ProtocolKind::UchCcp | ProtocolKind::UchAimd | ProtocolKind::UchDctcp => {
            let usable = scenario.network.usable_rate();
            let transfer = usable.time_for(size);
            let control = usable.time_for(scenario.unicast.control_size);
            Times { transfer, taken: transfer, control, asked: 1.0 }
        }
    }
}

/// One put of one chunk.
fn put(scenario: &Scenario, size: Size) -> Demand {
    let replicas = f64::from(scenario.cluster.replicas);
    let is_proxied = scenario.protocol.kind == ProtocolKind::ReplicastProxy;
    let is_multicast = is_proxied || scenario.protocol.kind == ProtocolKind::ReplicastM;
    let delivery = if is_multicast { Delivery::Multicast } else { Delivery::Unicast };
    let Times { transfer, taken, control, asked } = times(scenario, size, delivery);
    let control = control.as_secs_f64();
    let (target_messages, initiator_messages) = match is_proxied {
        // The proxy answers and tells the members; each of them reports when the chunk has come, and
        // acknowledges it.
        true => (2.0 + 2.0 * replicas, 1.0 + replicas),
        // Asked and told the outcome; a bid from each, an acknowledgement from each replica.
        false => ((2.0 * asked).max(asked + replicas), asked + replicas),
    };
    Demand {
        disks: replicas * scenario.disk.service(size).as_secs_f64(),
        target_in: replicas * taken.as_secs_f64(),
        initiator_out: transfer.as_secs_f64() * if is_multicast { 1.0 } else { replicas },
        target_control: control * target_messages,
        initiator_control: control * initiator_messages,
        proxies: match is_proxied {
            true => control * f64::from(scenario.replicast.proxy_messages),
            false => 0.0,
        },
        ..Demand::default()
    }
}

/// One get of one chunk.
fn get(scenario: &Scenario, size: Size) -> Demand {
    let Times { taken, control, asked, .. } = times(scenario, size, Delivery::Unicast);
    let control = control.as_secs_f64();
    Demand {
        disks: scenario.disk.service(size).as_secs_f64(),
        target_out: taken.as_secs_f64(),
        initiator_in: taken.as_secs_f64(),
        target_control: control * 2.0 * asked,
        initiator_control: control * asked,
        ..Demand::default()
    }
}
