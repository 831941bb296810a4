//! Replicast with a proxy: how much one can do, what it shares, and what happens without it.

use std::collections::BTreeMap;

use slotcast_sim::{
    Cluster, Disk, Faults, Fidelity, Load, Observation, Observer, Place, Protocol, ProtocolKind,
    ProxyChoice, Replicast, Run, RunReport, Scenario, Workload, run, run_observed,
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
        ..Faults::default()
    };
    let report = run(&scenario, 1).unwrap();
    assert_eq!(report.counts.failures, 0, "{:?}", report.counts);
    assert!(report.counts.puts > 2000 && report.counts.gets > 300, "{:?}", report.counts);
    assert_eq!(report, run(&scenario, 1).unwrap(), "the same seed gives the same run");
}

/// Six machines of twelve disks, and objects of several chunks: a proxy counts all disks of a member.
#[test]
fn a_proxy_keeps_all_disks_of_its_members_at_work() {
    let mut scenario = scenario();
    scenario.cluster = Cluster { initiators: 6, targets: 6, group_size: 6, ..Cluster::default() };
    scenario.disk = Disk {
        rate: Rate::from_bytes_per_s(200 << 20),
        access_time: Span::from_ms(10),
        per_target: 12,
        ..Disk::default()
    };
    scenario.workload = Workload {
        load: Load::Open,
        window: 64,
        arrivals_per_s: 400,
        chunk_size: Size::from_mib(1),
        mix: "3MiB:100%".parse().unwrap(),
        ..Workload::default()
    };
    scenario.run = Run { length: Span::from_secs(5), warmup: Span::from_secs(1), ..Run::default() };
    let report = clean(&scenario);
    // A chunk takes 3 times 15 ms of disk, and there are 72 disks: 1600 chunks/s at most.
    let objects = report.counts.puts as f64 / 5.0;
    assert!((objects / 400.0 - 1.0).abs() < 0.05, "{:?}", report.counts);
    let busy = objects * 3.0 * 3.0 * 0.015 / 72.0;
    assert!((report.disk_utilization / busy - 1.0).abs() < 0.03, "{}", report.disk_utilization);
}

/// What an onlooker hears of the messages between a proxy, its members and the initiators.
#[derive(Default)]
struct Messages(BTreeMap<(&'static str, bool, bool), u64>);

impl Observer for Messages {
    fn wants_observations(&self) -> bool {
        true
    }

    fn observe(&mut self, observation: Observation) {
        if let Observation::Message { kind, from, to, sent, received, .. } = observation {
            assert!(from != to, "a node needs no network for what it tells itself: {kind}");
            assert!(received.is_none_or(|received| received > sent));
            let is_target = |place| matches!(place, Place::Target(_));
            *self.0.entry((kind, is_target(from), is_target(to))).or_default() += 1;
        }
    }
}

#[test]
fn an_onlooker_hears_what_proxies_and_members_say() {
    let mut scenario = scenario();
    scenario.workload.chunk_size = Size::from_kib(128);
    scenario.run.warmup = Span::ZERO;
    let mut heard = Messages::default();
    let report = run_observed(&scenario, 1, &mut heard).unwrap();
    assert_eq!(report, run(&scenario, 1).unwrap(), "looking on changes nothing");
    let Messages(heard) = heard;
    let of = |kind, from_target, to_target| {
        heard.get(&(kind, from_target, to_target)).copied().unwrap_or(0)
    };
    let puts = report.counts.puts;
    assert!(puts > 500, "{puts}");
    let (first, last) = (puts, puts + u64::from(scenario.cluster.initiators) + 10);
    for told in [of("proxy-request", false, true), of("proxy-reply", true, false)] {
        assert!((first..=last).contains(&told), "{told} of {puts}");
    }
    // Three members each, but for the proxy itself: a ninth of them.
    for told in [of("proxy-notice", true, true), of("proxy-report", true, true)] {
        let expected = puts as f64 * 3.0 * 8.0 / 9.0;
        assert!((told as f64 / expected - 1.0).abs() < 0.1, "{told} of {expected}");
    }
    assert_eq!(of("proxy-query", true, true), 2 * 8, "two proxies took office once");
    assert_eq!(of("bid", true, false) + of("put-accept", false, true), 0, "nobody bids");
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
