//! Whole models, looked at from inside.

use proptest::prelude::*;
use slotcast_engine::Simulation;
use slotcast_scenario::{
    Cluster, Dctcp, Disk, Faults as FaultSpec, Fidelity, Network, Protocol, ProtocolKind, Run,
    Scenario, Workload,
};
use slotcast_units::Share;

use super::*;

const FRAME: u64 = 1500;

/// `initiators` send without end to one target over a link of 9.9 Gb/s, with frames of 1500 B.
fn endless(initiators: u32, trip_us: u64, threshold_frames: u64) -> Scenario {
    Scenario {
        cluster: Cluster { initiators, targets: 1, replicas: 1, ..Cluster::default() },
        network: Network {
            trip: Span::from_us(trip_us),
            frame: Size::from_bytes(FRAME),
            ..Network::default()
        },
        disk: Disk { rate: Rate::from_bps(10_000_000_000_000), ..Disk::default() },
        protocol: Protocol { kind: ProtocolKind::UchDctcp },
        dctcp: Dctcp {
            mark_threshold: Size::from_bytes(threshold_frames * FRAME),
            buffer: Size::from_mib(4),
            ..Dctcp::default()
        },
        workload: Workload { window: 2, chunk_size: Size::from_mib(64), ..Workload::default() },
        run: Run { fidelity: Fidelity::Frame, ..Run::default() },
        ..Scenario::default()
    }
}

fn started(scenario: &Scenario) -> Simulation<DctcpModel> {
    check(scenario).unwrap();
    let mut simulation = Simulation::new(DctcpModel::new(scenario, 1));
    simulation.schedule(ClusterModel::start);
    simulation
}

/// The mean of `of` over `samples` looks at the model, `gap` apart.
fn mean_of(
    simulation: &mut Simulation<DctcpModel>,
    samples: u32,
    gap: Span,
    of: impl Fn(&DctcpModel) -> f64,
) -> f64 {
    let mut sum = 0.0;
    for _ in 0..samples {
        simulation.run_until(simulation.now() + gap);
        sum += of(simulation.model());
    }
    sum / f64::from(samples)
}

/// Alpha of synchronised flows is about the root of two over the window at which marking begins
/// (SIGCOMM 2010, 3.3).
#[test]
fn alpha_settles_where_the_analysis_says() {
    for (trip_us, threshold) in [(50, 40), (100, 65), (200, 100)] {
        let mut scenario = endless(2, trip_us, threshold);
        scenario.dctcp.initial_alpha = Share::ZERO;
        let mut simulation = started(&scenario);
        simulation.run_until(Time::ZERO + Span::from_ms(300));
        let alpha = mean_of(&mut simulation, 2000, Span::from_us(97), |model| {
            model.streams.iter().map(|s| s.sender.congestion().alpha()).sum::<f64>() / 2.0
        });
        let frame_time = 1500.0 * 8.0 / 9.9e3;
        let capacity = 2.0 * trip_us as f64 / frame_time;
        let window = (capacity + threshold as f64) / 2.0;
        let expected = (2.0 / window).sqrt();
        println!("trip {trip_us} us, K {threshold}: alpha {alpha:.3}, analysis {expected:.3}");
        assert!((0.75..1.35).contains(&(alpha / expected)), "{alpha} against {expected}");
    }
}

/// What a model must always be able to say of itself.
fn assert_conserved(model: &DctcpModel) {
    for stream in &model.streams {
        let (acknowledged, arrived) = (stream.sender.acknowledged(), stream.receiver.arrived());
        assert!(acknowledged <= arrived, "{acknowledged} acknowledged, {arrived} arrived");
        stream.sender.assert_consistent();
    }
}

proptest! {
    /// However small the buffers and however many frames are damaged: what is acknowledged has arrived,
    /// every chunk is received once for each replica, and nothing is left behind.
    #[test]
    fn what_is_acknowledged_was_received_once(
        initiators in 1..12u32,
        chunk in 1..60_000u64,
        window in 1..4u32,
        buffer_frames in 1..30u64,
        receive_frames in 1..20u64,
        threshold in 1..40_000u64,
        damaged in 0..30u32,
        gets in 0..60u32,
        min_rto_us in 50..500u64,
        slow_disk: bool,
    ) {
        let mut scenario = endless(initiators, 5, 1);
        scenario.cluster.targets = 4;
        scenario.cluster.replicas = 3;
        scenario.workload = Workload {
            window,
            chunk_size: Size::from_bytes(chunk),
            get_share: Share::from_percent(gets),
            preloaded_chunks: 10,
            ..Workload::default()
        };
        scenario.disk.rate = Rate::from_bps(if slow_disk { 500_000_000 } else { 50_000_000_000 });
        scenario.disk.queue_limit = Size::from_kib(64);
        scenario.dctcp = Dctcp {
            mark_threshold: Size::from_bytes(threshold),
            buffer: Size::from_bytes(buffer_frames * FRAME),
            receive_buffer: Size::from_bytes(receive_frames * FRAME),
            min_rto: Span::from_us(min_rto_us),
            ..Dctcp::default()
        };
        scenario.faults =
            FaultSpec { transfer_corruption: Share::from_percent(damaged), ..FaultSpec::default() };
        let mut simulation = started(&scenario);
        for _ in 0..20 {
            simulation.run_until(simulation.now() + Span::from_ms(1));
            assert_conserved(simulation.model());
        }
        // No new requests: what is under way ends, and leaves nothing behind.
        simulation.model_mut().clients.close();
        simulation.run_until(Time::NEVER);
        let model = simulation.model();
        assert_conserved(model);
        prop_assert_eq!((model.requests.in_use(), model.packets.in_use()), (0, 0));
        let counts = model.recorder.counts;
        prop_assert!(counts.puts + counts.gets > 0);
        let received: Size = model.recorder.devices.iter().fold(Size::ZERO, |sum, d| sum + d.received);
        prop_assert_eq!(received, Size::from_bytes(chunk) * 3 * counts.puts);
        for stream in &model.streams {
            prop_assert_eq!(stream.sender.acknowledged(), stream.receiver.arrived());
            prop_assert!(!stream.receiver.is_readable());
        }
        prop_assert_eq!(damaged > 0 || counts.frames_dropped > 0 || counts.retransmissions == 0, true);
    }
}
