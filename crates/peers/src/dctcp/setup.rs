//! From a scenario to a cluster connected by DCTCP that is ready to start.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;
use slotcast_engine::{Pool, ScenarioError, Streams};
use slotcast_scenario::clients::Clients;
use slotcast_scenario::drive::Trace;
use slotcast_scenario::faults::Faults;
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::{Fidelity, Scenario};
use slotcast_units::{Rate, Share, Size, Span, Time};

use super::congestion::{CongestionRules, ONE};
use super::port::{Link, Port, PortRules};
use super::sender::SenderRules;
use super::{DctcpModel, Rules, Target};
use crate::ring::Chooser;

/// The threshold that DCTCP's authors use at 10 Gb/s: 65 frames of 1500 B (SIGCOMM 2010; Linux,
/// networking/dctcp.txt).
const THRESHOLD_AT_10_GBPS: u64 = 65 * 1500;
const TEN_GBPS: u64 = 10_000_000_000;

/// A queue must hold more than a seventh of what the link carries in a round trip, or the link idles
/// after a cut (SIGCOMM 2010).
const MAX_PARTS_OF_ROUND_TRIP: u64 = 7;

/// More values than this in the samples of a run are a slip.
const MAX_SAMPLES: u64 = 20_000_000;

/// The time from the start of a full frame to its acknowledgement on an idle network.
fn base_round_trip(scenario: &Scenario) -> Span {
    let usable = scenario.network.usable_rate();
    usable.time_for(scenario.network.frame) + scenario.network.trip + one_way(scenario)
}

fn one_way(scenario: &Scenario) -> Span {
    scenario.network.usable_rate().time_for(scenario.unicast.control_size) + scenario.network.trip
}

/// The threshold of `scenario`: as set, or as DCTCP's authors set it, in proportion to the rate, and
/// never so low that the link would idle.
fn mark_threshold(scenario: &Scenario) -> u64 {
    if scenario.dctcp.mark_threshold > Size::ZERO {
        return scenario.dctcp.mark_threshold.as_bytes();
    }
    let rate = scenario.network.link_rate.as_bps();
    let by_rate = u128::from(THRESHOLD_AT_10_GBPS) * u128::from(rate) / u128::from(TEN_GBPS);
    let round_trip = scenario.network.usable_rate().bits_in(base_round_trip(scenario)) / 8;
    let by_rate = u64::try_from(by_rate).unwrap_or(u64::MAX);
    by_rate.max(round_trip / MAX_PARTS_OF_ROUND_TRIP)
}

/// Finds the first reason for which a scenario of this kind cannot be run.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { network, dctcp, cluster, run, .. } = scenario;
    let wrong = |key, problem: String| Err(ScenarioError { key, problem });
    if run.fidelity == Fidelity::Flow {
        let problem = "uch-dctcp follows every frame and its mark; set it to \"frame\"";
        return wrong("run.fidelity", problem.into());
    }
    if network.usable_rate().time_for(network.frame) == Span::ZERO {
        let problem = format!(
            "a frame of {} takes no time at {}; use larger frames or a slower link",
            network.frame,
            network.usable_rate()
        );
        return wrong("network.frame", problem);
    }
    if one_way(scenario) == Span::ZERO {
        let problem =
            "acknowledgements take no time at all; at least 1ns, or larger control messages";
        return wrong("network.trip", problem.into());
    }
    for (key, size) in
        [("dctcp.buffer", dctcp.buffer), ("dctcp.receive_buffer", dctcp.receive_buffer)]
    {
        if size < network.frame {
            let problem = format!("{size} holds no frame of {}; make it larger", network.frame);
            return wrong(key, problem);
        }
    }
    if dctcp.gain == Share::ZERO || dctcp.gain > Share::ONE {
        return wrong("dctcp.gain", "must be more than 0% and at most 100%".into());
    }
    if dctcp.initial_alpha > Share::ONE {
        return wrong("dctcp.initial_alpha", "is at most 100%".into());
    }
    if dctcp.initiator_link < Share::ONE {
        let problem =
            "a port passes a frame on while it comes, so at least 100%; or a slower network";
        return wrong("dctcp.initiator_link", problem.into());
    }
    if dctcp.initial_window == 0 {
        return wrong("dctcp.initial_window", "must be at least one frame".into());
    }
    if dctcp.min_rto == Span::ZERO {
        return wrong("dctcp.min_rto", "must be more than zero".into());
    }
    if dctcp.sample_every > Span::ZERO {
        let nodes = u64::from(cluster.initiators) + u64::from(cluster.targets);
        let samples = run.length / dctcp.sample_every;
        if samples.saturating_mul(nodes) > MAX_SAMPLES {
            let problem = format!(
                "{samples} samples of {nodes} nodes; at most {MAX_SAMPLES} values. Sample less often"
            );
            return wrong("dctcp.sample_every", problem);
        }
    }
    Ok(())
}

fn rules(scenario: &Scenario) -> Rules {
    let Scenario { network, dctcp, .. } = scenario;
    let usable = network.usable_rate();
    let frame = network.frame.as_bytes();
    let congestion = CongestionRules {
        frame,
        initial_window: u64::from(dctcp.initial_window) * frame,
        gain_ppm: u64::from(dctcp.gain.as_ppm()),
        initial_alpha: u64::from(dctcp.initial_alpha.as_ppm()) * ONE / 1_000_000,
    };
    let receive_buffer = dctcp.receive_buffer.as_bytes();
    Rules {
        initiators: scenario.cluster.initiators,
        replicas: scenario.cluster.replicas as usize,
        sender: SenderRules {
            congestion,
            min_rto: dctcp.min_rto,
            idle_restart: dctcp.idle_restart,
            base_round_trip: base_round_trip(scenario),
            receive_buffer,
        },
        port: PortRules {
            rate: usable,
            buffer: dctcp.buffer.as_bytes(),
            mark_threshold: mark_threshold(scenario),
        },
        frame: u32::try_from(frame).expect("a frame is at most 1 MiB"),
        frame_time: usable.time_for(network.frame),
        initiator_rate: (dctcp.initiator_link != Share::ONE)
            .then(|| usable.share(dctcp.initiator_link)),
        access: scenario.disk.access_time,
        trip: network.trip,
        one_way: one_way(scenario),
        receive_buffer,
    }
}

/// The backlog from which a disk is full: it holds `disk.queue_limit`, but two chunks or more, in whole
/// chunks to the nearest as for the other peers.
fn full_backlog(scenario: &Scenario, disk_rate: Rate) -> Span {
    let chunk = scenario.workload.chunk_size;
    let chunks = (scenario.disk.queue_limit / chunk).max(2);
    let service = disk_rate.time_for(chunk).as_ns();
    let full = u128::from(service) * u128::from(chunks) - u128::from(service / 2);
    Span::from_ns(u64::try_from(full).unwrap_or(u64::MAX).max(1))
}

impl DctcpModel {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> DctcpModel {
        let streams = Streams::new(seed);
        let faults = Faults::new(scenario, &streams);
        let targets = scenario.cluster.targets;
        let nodes = scenario.cluster.initiators as usize + targets as usize;
        let target = |t: u32| {
            let disk_rate = faults.disk_rate(t, targets, scenario.disk.rate);
            let full = full_backlog(scenario, disk_rate);
            Target { disk_rate, full, waiting: VecDeque::new(), resuming: false }
        };
        let sample_every = scenario.dctcp.sample_every;
        let mut model = DctcpModel {
            rules: rules(scenario),
            links: (0..nodes).map(|_| Link::default()).collect(),
            ports: vec![Port::default(); nodes],
            targets: (0..targets).map(target).collect(),
            streams: Vec::new(),
            stream_between: FxHashMap::default(),
            packets: Pool::new(),
            requests: Pool::new(),
            chooser: Chooser::new(scenario),
            clients: Clients::new(scenario, &streams),
            faults,
            catalogue: Vec::new(),
            keep_catalogue: scenario.workload.get_share > Share::ZERO,
            recorder: Recorder::new(scenario.cluster.initiators, targets),
            trace: Trace::default(),
            watch: None,
            next_serial: 0,
            sample_every,
            next_sample: if sample_every > Span::ZERO { Time::ZERO } else { Time::NEVER },
            samples: Vec::new(),
        };
        if model.keep_catalogue {
            model.preload(scenario.workload.preloaded_chunks);
        }
        model
    }

    /// Puts `count` chunks where the initiators would have put them.
    fn preload(&mut self, count: u32) {
        for i in 0..count {
            let initiator = i % self.rules.initiators;
            let client = self.clients.client(initiator);
            let placement = self.chooser.place(initiator, self.rules.replicas, client);
            self.catalogue.push(placement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_threshold_is_the_authors_and_grows_with_rate_and_round_trip() {
        let mut scenario = Scenario::default();
        assert_eq!(mark_threshold(&scenario), 97_500);
        scenario.network.link_rate = Rate::from_bps(100_000_000_000);
        assert_eq!(mark_threshold(&scenario), 975_000);
        scenario.network.link_rate = Rate::from_bps(TEN_GBPS);
        scenario.network.trip = Span::from_us(500);
        // 9.9 Gb/s for 1007.352 us, divided by seven.
        assert_eq!(mark_threshold(&scenario), 1_246_598 / 7);
        scenario.dctcp.mark_threshold = Size::from_kib(20);
        assert_eq!(mark_threshold(&scenario), 20 << 10);
    }
}
