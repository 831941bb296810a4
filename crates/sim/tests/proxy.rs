//! Replicast with a proxy: how much one can do, what it shares, and what happens without it.

use slotcast_sim::{
    Cluster, Disk, Faults, Fidelity, Protocol, ProtocolKind, ProxyChoice, Replicast, Run,
    RunReport, Scenario, Workload, run,
};
use slotcast_units::{Rate, Share, Size, Span};

fn scenario() -> Scenario {
    Scenario {
        cluster: Cluster { initiators: 36, targets: 18, ..Cluster::default() },
        disk: Disk { rate: Rate::from_bytes_per_s(1000 << 20), ..Disk::default() },
        protocol: Protocol { kind: ProtocolKind::ReplicastProxy },
        workload: Workload { chunk_size: Size::from_kib(16), ..Workload::default() },
        run: Run { length: Span::from_ms(20), warmup: Span::from_ms(5), ..Run::default() },
        ..Scenario::default()
    }
}

fn clean(scenario: &Scenario) -> RunReport {
    let report = run(scenario, 1).unwrap();
    assert_eq!((report.counts.failures, report.counts.transfer_conflicts), (0, 0));
    report
}

/// Two groups, and so two proxies, each of which spends so many messages' time on every put.
#[test]
fn a_proxy_answers_at_the_rate_of_its_port() {
    let of = |proxy_messages| {
        let replicast = Replicast { proxy_messages, ..Replicast::default() };
        clean(&Scenario { replicast, ..scenario() }).chunks_per_s
    };
    let limit = |messages: f64| 2.0 / (messages * 2.424e-6);
    for messages in [4, 8, 16] {
        let (found, limit) = (of(messages), limit(f64::from(messages)));
        assert!((0.9..1.001).contains(&(found / limit)), "{messages}: {found} of {limit}");
    }
    // Without a limit of its own the links and the port for answers are what is left.
    assert!(of(0) > 1.1 * of(4), "{} against {}", of(0), of(4));
}

#[test]
fn both_fidelities_agree_about_a_busy_cluster() {
    let of = |fidelity| {
        let mut scenario = scenario();
        scenario.workload.chunk_size = Size::from_kib(128);
        scenario.run.fidelity = fidelity;
        clean(&scenario).latency.mean
    };
    let (flow, frame) = (of(Fidelity::Flow), of(Fidelity::Frame));
    assert!((flow / frame - 1.0).abs() < 0.01, "{flow} {frame}");
}

#[test]
fn both_choices_run() {
    for proxy_choice in [ProxyChoice::EarliestWrite, ProxyChoice::LeastIdle] {
        let mut scenario = scenario();
        scenario.cluster.group_size = 10;
        scenario.workload.get_share = Share::from_percent(20);
        scenario.replicast.proxy_choice = proxy_choice;
        let report = clean(&scenario);
        assert!(report.counts.puts > 1000 && report.counts.gets > 200, "{:?}", report.counts);
    }
}

/// The first member of every group goes down, and with it every proxy. The next ones take over, and
/// keep the office when the first are back.
#[test]
fn the_loss_of_all_proxies_costs_a_moment() {
    let mut scenario = scenario();
    scenario.workload.chunk_size = Size::from_kib(128);
    scenario.run.length = Span::from_ms(60);
    scenario.faults = Faults {
        targets_down: 2,
        down_at: Span::from_ms(20),
        up_at: Span::from_ms(40),
        ..Faults::default()
    };
    let report = run(&scenario, 1).unwrap();
    assert_eq!(report.counts.failures, 0);
    let finished = |from: u64, to: u64| {
        let ms = 1_000_000;
        let inside = report
            .completions
            .iter()
            .filter(|c| (from * ms..to * ms).contains(&c.finished.as_ns()));
        inside.count() as f64 / (to - from) as f64
    };
    let before = finished(10, 20);
    // Eight members take two transfers to three of them at a time, where nine took three.
    let (without, after) = (finished(25, 40), finished(45, 60));
    assert!(without > 0.62 * before, "{before} before, {without} without");
    assert!(after > 0.9 * before, "{before} before, {after} after");
}

/// A cluster keeps its promises whatever happens to messages and nodes at the same time.
#[test]
fn faults_at_once() {
    let mut scenario = scenario();
    scenario.cluster.targets_per_domain = 3;
    scenario.cluster.targets = 36;
    scenario.workload.get_share = Share::from_percent(20);
    scenario.workload.window = 3;
    scenario.run.length = Span::from_ms(40);
    scenario.faults = Faults {
        message_loss: Share::from_percent(2),
        message_duplication: Share::from_percent(2),
        message_delay: Span::from_us(20),
        transfer_corruption: Share::from_percent(2),
        targets_down: 6,
        down_at: Span::from_ms(10),
        up_at: Span::from_ms(20),
        slow_disks: 6,
        slow_factor: Share::from_percent(25),
    };
    let report = run(&scenario, 1).unwrap();
    assert_eq!(report.counts.failures, 0, "{:?}", report.counts);
    assert!(report.counts.puts > 2000 && report.counts.gets > 300, "{:?}", report.counts);
    assert_eq!(report, run(&scenario, 1).unwrap(), "the same seed gives the same run");
}

/// The hashes of one machine: another one must find the same (see `determinism.rs`).
#[test]
fn runs_are_the_same_on_every_machine() {
    let mut hashes = Vec::new();
    for fidelity in [Fidelity::Flow, Fidelity::Frame] {
        let mut scenario = scenario();
        scenario.run = Run { length: Span::from_ms(2), warmup: Span::ZERO, fidelity };
        hashes.push(format!("{:016x}", run(&scenario, 1).unwrap().trace_hash));
    }
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 2] = ["6605e49a52efe164", "3ddeaa71d441e267"];
