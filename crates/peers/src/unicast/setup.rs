//! From a scenario to a unicast cluster that is ready to start.

use slotcast_engine::{Pool, Streams};
use slotcast_scenario::clients::Clients;
use slotcast_scenario::drive::Trace;
use slotcast_scenario::faults::Faults;
use slotcast_scenario::recorder::Recorder;
use slotcast_scenario::{Fidelity, Grant, ProtocolKind, Scenario};
use slotcast_units::Time;

use super::aimd::Congestion;
use super::bucket::Bucket;
use super::{InitiatorPort, Rules, TargetPort, UnicastModel};
use crate::ring::Chooser;

/// Transfers of at most so many frames are followed frame by frame at either fidelity: when their
/// first frame finds room at the target's port decides how long they take.
const FRAMES_WORTH_FOLLOWING: u64 = 16;

impl UnicastModel {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> UnicastModel {
        let streams = Streams::new(seed);
        let faults = Faults::new(scenario, &streams);
        let usable = scenario.network.usable_rate();
        let frame = scenario.network.frame;
        // One frame and one control message of Replicast, which is what the original allows.
        let burst = (frame + scenario.replicast.control_size).as_bits();
        let control = scenario.unicast.control_size;
        let targets = scenario.cluster.targets;
        let target = |t: u32| TargetPort {
            ingress: Bucket::new(usable, burst),
            flows: Vec::new(),
            outgoing: Vec::new(),
            disk_rate: faults.disk_rate(t, targets, scenario.disk.rate),
            busy_until: Time::ZERO,
            congestion: Congestion::default(),
        };
        let initiator = |_| InitiatorPort {
            egress: Bucket::new(usable, burst),
            next_serial: 0,
            incoming: Vec::new(),
        };
        let chunk = scenario.workload.chunk_size;
        let rules = Rules {
            aimd: scenario.protocol.kind == ProtocolKind::UchAimd,
            serial_grants: scenario.unicast.grant == Grant::Serial,
            frame_by_frame: scenario.run.fidelity == Fidelity::Frame
                || chunk <= frame * FRAMES_WORTH_FOLLOWING,
            free_last_frame: scenario.quirks.free_last_frame,
            replicas: scenario.cluster.replicas as usize,
            usable,
            aimd_step: scenario.unicast.aimd_step.min(usable),
            control: usable.time_for(control),
            control_bits: control.as_bits(),
            burst_bits: burst,
            trip: scenario.network.trip,
            frame,
            queue_limit: (scenario.disk.queue_limit / chunk).max(2),
            access: scenario.disk.access_time,
        };
        let mut model = UnicastModel {
            rules,
            initiators: (0..scenario.cluster.initiators).map(initiator).collect(),
            targets: (0..targets).map(target).collect(),
            requests: Pool::new(),
            flows: Pool::new(),
            next_serial: 0,
            chooser: Chooser::new(scenario),
            clients: Clients::new(scenario, &streams),
            catalogue: Vec::new(),
            keep_catalogue: scenario.workload.get_share.as_ppm() > 0,
            recorder: Recorder::new(scenario.cluster.initiators, targets),
            trace: Trace::default(),
            watch: None,
        };
        if model.keep_catalogue {
            model.preload(scenario.workload.preloaded_chunks);
        }
        model
    }
}
