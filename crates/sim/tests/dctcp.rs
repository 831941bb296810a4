//! UCH-DCTCP: what its congestion control does to a port, and what a cluster makes of it.

use slotcast_sim::{
    Cluster, Dctcp, Disk, Faults, Fidelity, Load, Network, Observer, Operation, PortSample,
    Protocol, ProtocolKind, Run, RunReport, Scenario, TraceLine, Workload, check, run,
    run_observed,
};
use slotcast_units::{Rate, Share, Size, Span};

const FRAME: u64 = 1500;
const USABLE: f64 = 9.9e9;

/// Initiators that send without end to one target whose disk is no obstacle, in frames of 1500 B.
fn endless(initiators: u32, trip_us: u64, threshold_frames: u64, length_ms: u64) -> Scenario {
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
            sample_every: Span::from_us(100),
            ..Dctcp::default()
        },
        workload: Workload { window: 2, chunk_size: Size::from_mib(64), ..Workload::default() },
        run: Run {
            length: Span::from_ms(length_ms),
            warmup: Span::from_ms(length_ms / 2),
            fidelity: Fidelity::Frame,
        },
        ..Scenario::default()
    }
}

/// A whole cluster as in the Replicast paper, but smaller.
fn cluster(nodes: u32, workload: Workload) -> Scenario {
    Scenario {
        cluster: Cluster { initiators: nodes, targets: nodes, ..Cluster::default() },
        protocol: Protocol { kind: ProtocolKind::UchDctcp },
        workload,
        run: Run {
            length: Span::from_ms(200),
            warmup: Span::from_ms(50),
            fidelity: Fidelity::Frame,
        },
        ..Scenario::default()
    }
}

/// The samples of the second half of a run.
fn settled(report: &RunReport) -> &[PortSample] {
    let samples = &report.port_queues.as_ref().expect("frames queue at ports").samples;
    &samples[samples.len() / 2..]
}

/// What each initiator got through in the second half of a run, in bit/s.
fn rates(report: &RunReport) -> Vec<f64> {
    let samples = settled(report);
    let (first, last) = (&samples[0], samples.last().expect("samples"));
    let seconds = (last.at - first.at).as_secs_f64();
    let sent = first.acknowledged.iter().zip(&last.acknowledged);
    sent.map(|(before, after)| (*after - *before).as_bits() as f64 / seconds).collect()
}

#[test]
fn a_single_flow_fills_the_link_and_leaves_no_queue() {
    for trip_us in [1, 50, 500] {
        let report = run(&endless(1, trip_us, 65, 200), 1).unwrap();
        let rate = rates(&report)[0];
        assert!((0.99..1.001).contains(&(rate / USABLE)), "{trip_us} us: {rate}");
        // Its own link is as fast as the port, so it cannot fill the port's queue alone.
        let queues = report.port_queues.unwrap();
        assert!(queues.longest <= Size::from_bytes(2 * FRAME), "{}", queues.longest);
        assert_eq!(report.counts.frames_dropped + report.counts.retransmissions, 0);
    }
}

/// A sender whose own link is faster than the port has a queue to control, and does.
#[test]
fn a_single_flow_keeps_the_queue_near_the_threshold_and_the_link_busy() {
    for (trip_us, threshold) in [(10, 20), (50, 65), (100, 65)] {
        let mut scenario = endless(1, trip_us, threshold, 200);
        scenario.dctcp.initiator_link = Share::from_percent(400);
        let report = run(&scenario, 1).unwrap();
        let rate = rates(&report)[0];
        assert!((0.98..1.001).contains(&(rate / USABLE)), "{trip_us} us: {rate}");
        let queues = report.port_queues.unwrap();
        let (mean, longest) = (queues.mean, queues.longest.as_bytes() as f64);
        let threshold = (threshold * FRAME) as f64;
        assert!((0.6..1.1).contains(&(mean / threshold)), "{trip_us} us: {mean}");
        assert!(longest < 1.2 * threshold, "{trip_us} us: {longest}");
        assert_eq!(report.counts.frames_dropped, 0);
    }
}

#[test]
fn two_flows_share_the_link_fairly() {
    for (trip_us, threshold) in [(10, 20), (50, 65), (100, 65)] {
        let report = run(&endless(2, trip_us, threshold, 400), 1).unwrap();
        let rates = rates(&report);
        let total: f64 = rates.iter().sum();
        assert!((0.98..1.001).contains(&(total / USABLE)), "{trip_us} us: {total}");
        for rate in rates {
            let share = rate / total;
            assert!((share - 0.5).abs() < 0.02, "{trip_us} us, K {threshold}: {share}");
        }
    }
}

/// The queue swings below K frames and one for each flow (SIGCOMM 2010, 3.3).
#[test]
fn the_queue_stays_near_the_threshold_and_nothing_is_lost() {
    for flows in [2, 5, 20] {
        let threshold = 65;
        let report = run(&endless(flows, 25, threshold, 200), 1).unwrap();
        assert_eq!(report.counts.frames_dropped, 0);
        assert!(report.counts.frames_marked > 0);
        let frames = |bytes: f64| bytes / FRAME as f64;
        let of_time: Vec<f64> =
            settled(&report).iter().map(|s| frames(s.queues[0].as_bytes() as f64)).collect();
        let mean = of_time.iter().sum::<f64>() / of_time.len() as f64;
        let longest = of_time.iter().copied().fold(0.0, f64::max);
        let analysis = f64::from(flows) + threshold as f64;
        println!("{flows} flows: mean {mean:.1} frames, longest {longest:.1}, K + N = {analysis}");
        assert!(mean > 0.6 * threshold as f64 && mean < analysis, "{flows} flows: {mean}");
        assert!(longest < 1.25 * analysis, "{flows} flows: {longest}");
        assert!(frames(report.port_queues.as_ref().unwrap().mean) > 0.5 * mean);
    }
}

#[test]
fn a_buffer_too_small_drops_and_everything_arrives_nevertheless() {
    let workload = Workload { chunk_size: Size::from_mib(1), ..Workload::default() };
    let mut scenario = cluster(18, workload);
    scenario.disk.rate = Rate::from_bytes_per_s(1000 << 20);
    scenario.dctcp.buffer = Size::from_bytes(40_000);
    scenario.dctcp.mark_threshold = Size::from_bytes(40_000);
    let report = run(&scenario, 1).unwrap();
    let counts = report.counts;
    assert!(counts.frames_dropped > 1000, "{counts:?}");
    assert!(counts.retransmissions >= counts.frames_dropped * 9 / 10, "{counts:?}");
    assert_eq!(counts.failures, 0);
    assert!(report.port_queues.unwrap().longest <= Size::from_bytes(40_000));
    scenario.dctcp = Dctcp::default();
    let roomy = run(&scenario, 1).unwrap();
    assert!(roomy.latency.mean < 0.9 * report.latency.mean);
    assert!(counts.puts > roomy.counts.puts / 20, "it goes on: {counts:?}");
}

#[test]
fn an_incast_of_many_initiators_completes() {
    for (initiators, buffer) in [(200, 700_000), (60, 200_000)] {
        let mut scenario = cluster(1, Workload::default());
        scenario.network.frame = Size::from_bytes(FRAME);
        scenario.cluster = Cluster { initiators, targets: 1, replicas: 1, ..Cluster::default() };
        scenario.disk.rate = Rate::from_bps(40_000_000_000);
        scenario.dctcp.buffer = Size::from_bytes(buffer);
        scenario.dctcp.sample_every = Span::from_ms(1);
        scenario.run.length = Span::from_ms(600);
        let report = run(&scenario, 1).unwrap();
        assert!(report.counts.frames_dropped > 0, "{:?}", report.counts);
        let samples = report.port_queues.unwrap().samples;
        let least = samples.last().unwrap().acknowledged.iter().min().unwrap();
        assert!(*least >= Size::from_kib(128), "somebody got only {least} through");
    }
}

#[test]
fn a_slow_disk_closes_the_receive_window_and_costs_nothing_else() {
    let of = |receive_buffer| {
        let workload = Workload { chunk_size: Size::from_mib(1), window: 2, ..Workload::default() };
        let mut scenario = cluster(9, workload);
        scenario.disk.rate = Rate::from_bytes_per_s(100 << 20);
        scenario.dctcp.receive_buffer = receive_buffer;
        scenario.run.length = Span::from_ms(1500);
        run(&scenario, 1).unwrap()
    };
    let (small, large) = (of(Size::from_bytes(20_000)), of(Size::from_mib(64)));
    assert_eq!(small.counts.frames_dropped + small.counts.timeouts, 0, "{:?}", small.counts);
    let ratio = small.disk_utilization / large.disk_utilization;
    assert!(small.disk_utilization > 0.9 && (ratio - 1.0).abs() < 0.02, "{ratio}");
}

/// With an idle network the steps of a put and of a get add up exactly. The replicas leave frame by frame
/// in turns, on one link: they take three times as long as one.
#[test]
fn one_initiator_alone_takes_the_ideal_time() {
    let (trip, control, disk) = (1000, 80, 125_000);
    let transfer = 14 * 7272 + 4098;
    for (gets, ideal) in [
        (Share::ZERO, 3 * transfer + trip + disk + control + trip),
        (Share::ONE, control + trip + disk + transfer + trip),
    ] {
        let mut scenario = cluster(90, Workload { get_share: gets, ..Workload::default() });
        scenario.cluster.initiators = 1;
        scenario.disk.rate = Rate::from_bytes_per_s(1000 << 20);
        scenario.run.length = Span::from_ms(10);
        scenario.run.warmup = Span::ZERO;
        let report = run(&scenario, 1).unwrap();
        let all: Vec<u64> = report.completions.iter().map(|c| c.latency().as_ns()).collect();
        assert!(all.len() > 15);
        assert!(all.iter().all(|&latency| latency == ideal), "{ideal}: {all:?}");
    }
}

#[test]
fn loops_and_gets_do_what_they_do_for_the_other_protocols() {
    for window in [1, 3] {
        let report = run(&cluster(36, Workload { window, ..Workload::default() }), 1).unwrap();
        let found = report.chunks_per_s * report.latency.mean / 1e6;
        let expected = 36.0 * f64::from(window);
        assert!((found / expected - 1.0).abs() < 0.03, "window {window}: {found}");
        let written = report.chunks_per_s * 3.0 * 312.5e-6 / 36.0;
        assert!((report.disk_utilization / written - 1.0).abs() < 0.03);
    }
    let open =
        Workload { load: Load::Open, window: 8, arrivals_per_s: 15_000, ..Workload::default() };
    let report = run(&cluster(36, open), 1).unwrap();
    assert!((report.chunks_per_s - 15_000.0).abs() < 1200.0, "{}", report.chunks_per_s);
    let mixed = Workload { get_share: Share::from_percent(40), ..Workload::default() };
    let report = run(&cluster(36, mixed), 1).unwrap();
    let gets = report.completions.iter().filter(|c| c.operation == Operation::Get).count();
    let share = gets as f64 / report.completions.len() as f64;
    assert!((share - 0.4).abs() < 0.03, "{share}");
    assert!(report.get_latency.mean < report.put_latency.mean);
}

#[test]
fn damaged_frames_are_sent_again() {
    let scenario = |damaged| {
        let mut scenario = cluster(18, Workload::default());
        scenario.faults =
            Faults { transfer_corruption: Share::from_percent(damaged), ..Faults::default() };
        scenario
    };
    let (clean, faulty) = (run(&scenario(0), 1).unwrap(), run(&scenario(5), 1).unwrap());
    assert_eq!(clean.counts.retransmissions, 0);
    assert!(faulty.counts.retransmissions > faulty.counts.puts / 10, "{:?}", faulty.counts);
    assert!(faulty.counts.timeouts > 0, "the last frames of a chunk are found by timeout alone");
    assert_eq!(faulty.counts.failures, 0);
    assert!(faulty.latency.mean > clean.latency.mean);
}

#[test]
fn slow_disks_show() {
    let mut scenario = cluster(18, Workload::default());
    let clean = run(&scenario, 1).unwrap();
    scenario.faults =
        Faults { slow_disks: 2, slow_factor: Share::from_percent(25), ..Faults::default() };
    let slow = run(&scenario, 1).unwrap();
    assert!(slow.latency.p99 > 1.5 * clean.latency.p99);
}

#[test]
fn initiators_start_one_after_another() {
    let mut scenario = cluster(18, Workload::default());
    scenario.workload.start_interval = Span::from_ms(1);
    scenario.run.warmup = Span::ZERO;
    scenario.dctcp.sample_every = Span::from_us(500);
    let samples = run(&scenario, 1).unwrap().port_queues.unwrap().samples;
    for sample in &samples[..36] {
        let begun = sample.acknowledged.iter().filter(|&&size| size > Size::ZERO).count() as u64;
        assert!((begun as i64 - (sample.at.as_ns() / 1_000_000) as i64).abs() <= 1, "{sample:?}");
    }
}

type Change = fn(&mut Scenario);

#[test]
fn what_makes_no_sense_names_the_setting() {
    let changes: [(&str, Change); 15] = [
        ("run.fidelity", |s| s.run.fidelity = Fidelity::Flow),
        ("dctcp.buffer", |s| s.dctcp.buffer = Size::from_bytes(8999)),
        ("dctcp.receive_buffer", |s| s.dctcp.receive_buffer = Size::from_bytes(8999)),
        ("dctcp.gain", |s| s.dctcp.gain = Share::ZERO),
        ("dctcp.gain", |s| s.dctcp.gain = Share::from_percent(101)),
        ("dctcp.initial_alpha", |s| s.dctcp.initial_alpha = Share::from_percent(101)),
        ("dctcp.initiator_link", |s| s.dctcp.initiator_link = Share::from_percent(99)),
        ("dctcp.initial_window", |s| s.dctcp.initial_window = 0),
        ("dctcp.min_rto", |s| s.dctcp.min_rto = Span::ZERO),
        ("dctcp.sample_every", |s| s.dctcp.sample_every = Span::from_ns(1)),
        ("network.frame", |s| {
            s.network.frame = Size::from_bytes(64);
            s.network.link_rate = Rate::from_bps(10_000_000_000_000);
        }),
        ("network.trip", |s| {
            s.network.trip = Span::ZERO;
            s.unicast.control_size = Size::from_bytes(1);
            s.network.link_rate = Rate::from_bps(100_000_000_000);
        }),
        ("faults.message_loss", |s| s.faults.message_loss = Share::from_percent(1)),
        ("faults.message_delay", |s| s.faults.message_delay = Span::from_us(1)),
        ("faults.targets_down", |s| s.faults.targets_down = 1),
    ];
    for (key, change) in changes {
        let mut scenario = cluster(18, Workload::default());
        change(&mut scenario);
        let error = check(&scenario).expect_err(key);
        assert_eq!(error.key, key, "{error}");
    }
    let flow = Scenario { run: Run::default(), ..cluster(18, Workload::default()) };
    assert!(check(&flow).unwrap_err().problem.contains("\"frame\""));
}

#[test]
fn settings_at_the_edge_of_sense_run_to_the_end() {
    let changes: [(&str, Change); 15] = [
        ("one byte", |s| s.workload.chunk_size = Size::from_bytes(1)),
        ("64 MiB", |s| s.workload.chunk_size = Size::from_mib(64)),
        ("a window of 1000", |s| s.workload.window = 1000),
        ("eight replicas", |s| s.cluster.replicas = 8),
        ("gets alone", |s| s.workload.get_share = Share::ONE),
        ("a trip of a second", |s| s.network.trip = Span::from_secs(1)),
        ("no trip", |s| s.network.trip = Span::ZERO),
        ("a nanosecond", |s| s.run.length = Span::from_ns(1)),
        ("a slow link", |s| s.network.link_rate = Rate::from_bps(1_000_000)),
        ("a slow disk", |s| s.disk.rate = Rate::from_bps(1_000_000)),
        ("no queue at the disk", |s| s.disk.queue_limit = Size::ZERO),
        ("a long queue at the disk", |s| s.disk.queue_limit = Size::from_mib(1 << 20)),
        ("one frame of buffer", |s| {
            s.dctcp.buffer = s.network.frame;
            s.dctcp.receive_buffer = s.network.frame;
        }),
        ("an impatient sender", |s| s.dctcp.min_rto = Span::from_ns(1)),
        ("many initiators", |s| s.cluster.initiators = 3000),
    ];
    for (name, change) in changes {
        let mut scenario = cluster(18, Workload::default());
        scenario.run.length = Span::from_ms(3);
        scenario.run.warmup = Span::ZERO;
        change(&mut scenario);
        let report = run(&scenario, 1).unwrap_or_else(|error| panic!("{name}: {error}"));
        let figures = [report.chunks_per_s, report.latency.mean, report.link_utilization];
        assert!(figures.iter().all(|f| f.is_finite() && *f >= 0.0), "{name}: {figures:?}");
        assert!(report.port_queues.unwrap().mean.is_finite(), "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_with_an_onlooker_or_without() {
    struct Onlooker(u64);
    impl Observer for Onlooker {
        fn wants_events(&self) -> bool {
            true
        }
        fn event(&mut self, _line: TraceLine) {
            self.0 += 1;
        }
    }
    for scenario in scenarios() {
        let alone = run(&scenario, 7).unwrap();
        let mut onlooker = Onlooker(0);
        assert_eq!(run_observed(&scenario, 7, &mut onlooker).unwrap(), alone);
        assert_eq!(onlooker.0, alone.events);
        assert_ne!(run(&scenario, 8).unwrap().trace_hash, alone.trace_hash);
    }
}

fn scenarios() -> [Scenario; 2] {
    let mut plain = cluster(18, Workload::default());
    plain.run.length = Span::from_ms(5);
    plain.run.warmup = Span::ZERO;
    let mut eventful = plain.clone();
    eventful.workload.get_share = Share::from_percent(30);
    eventful.faults.transfer_corruption = Share::from_percent(10);
    eventful.dctcp.buffer = Size::from_bytes(50_000);
    eventful.dctcp.receive_buffer = Size::from_bytes(30_000);
    eventful.dctcp.min_rto = Span::from_us(200);
    [plain, eventful]
}

/// The hashes of one machine: another one must find the same. They change when the model or the order of
/// its events changes, and then only on purpose.
#[test]
fn runs_are_the_same_on_every_machine() {
    let hashes =
        scenarios().map(|scenario| format!("{:016x}", run(&scenario, 1).unwrap().trace_hash));
    assert_eq!(hashes, ["c2b9e64a84b4de99", "13b1b8f9ba2beaa8"]);
}
