//! Stripes with parity: the published latencies of both modes, and what must hold of every run.

use slotcast_stripes::{Bottleneck, Mode, Report, Scenario, SecondCache, Step, Units, check, run};
use slotcast_units::{Share, Size, Span};

fn scenario(mode: Mode, clients: u32) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.stripes.mode = mode;
    scenario.clients.count = clients;
    scenario
}

/// A run after which every stripe must be right.
fn measured(scenario: &Scenario) -> Report {
    let report = run(scenario, 1).expect("it can be run");
    assert_eq!(report.problem, None);
    assert_eq!((report.failed, report.lost), (0, 0));
    report
}

fn is_near(found: f64, expected: f64, percent: f64) -> bool {
    (found / expected - 1.0).abs() * 100.0 <= percent
}

#[test]
fn one_client_needs_what_was_measured() {
    for (mode, published_ms) in [(Mode::StripeLock, 32.897), (Mode::Coordinated, 27.197)] {
        let report = measured(&scenario(mode, 1));
        let latency = report.mean_latency_ms();
        assert!(is_near(latency, published_ms, 4.0), "{mode:?}: {latency:.3} ms");
        let steps: f64 = Step::ALL.iter().map(|step| report.step_ms(*step)).sum();
        assert!((steps - latency).abs() < 1e-9, "{steps} of {latency}");
        assert_eq!(report.step_ms(Step::Others), 0.0);
    }
}

#[test]
fn a_single_write_takes_the_sum_of_its_steps() {
    // Without spread everything is exact: two transfers, two calculations, a write to the disk, and four
    // small messages; a fifth, the commit, is not waited for.
    let mut scenario = scenario(Mode::Coordinated, 1);
    scenario.disk.spread = Span::ZERO;
    let latency = measured(&scenario).quantile_ms(0.5);
    let expected = 2.0 * 10.633 + 2.0 * 0.657 + 4.284 + 4.0 * 0.080;
    assert!((latency - expected).abs() < 1e-4, "{latency} and {expected}");
}

#[test]
fn the_lock_lets_one_write_at_a_time_through() {
    let alone = measured(&scenario(Mode::StripeLock, 1));
    let eight = measured(&scenario(Mode::StripeLock, 8));
    assert!(is_near(eight.ops_per_s(), alone.ops_per_s(), 2.0));
    // Seven of eight turns are those of others.
    let others = eight.step_ms(Step::Others) / eight.mean_latency_ms();
    assert!((others - 7.0 / 8.0).abs() < 0.02, "{others}");
}

#[test]
fn coordinated_writes_fill_the_parity_servers_link() {
    let ops = |n| measured(&scenario(Mode::Coordinated, n)).ops_per_s();
    let (one, two, eight) = (ops(1), ops(2), ops(8));
    assert!(is_near(two, 2.0 * one, 3.0), "{one}, {two}");
    assert!(is_near(eight, 1e3 / 10.633, 3.0), "{eight}");
    let report = measured(&scenario(Mode::Coordinated, 8));
    assert!(report.busiest_ingress > 0.98, "{}", report.busiest_ingress);
    // If only streams are slow, the link takes two of them in 18.172 ms.
    let mut streams = scenario(Mode::Coordinated, 8);
    streams.network.bottleneck = Bottleneck::Stream;
    let ops = measured(&streams).ops_per_s();
    assert!(is_near(ops, 2e3 / 18.172, 3.0), "{ops}");
}

#[test]
fn a_miss_is_read_from_the_disk_or_the_ssd_or_ahead() {
    let mut scenario = scenario(Mode::Coordinated, 1);
    scenario.disk.spread = Span::ZERO;
    // Nobody asks again in the run: now and then that would send a content twice.
    scenario.patience.retry = Span::from_secs(100);
    let hit = measured(&scenario);
    assert_eq!(hit.misses, 0);
    scenario.cache.data_hits = Share::ZERO;
    let disk = measured(&scenario);
    assert!(disk.misses as usize >= disk.writes());
    let added = disk.mean_latency_ms() - hit.mean_latency_ms();
    assert!((added - 4.284).abs() < 0.01, "{added}");
    assert!((disk.step_ms(Step::Read) - 4.284).abs() < 0.01);
    scenario.cache.second = SecondCache::Ssd;
    let added = measured(&scenario).mean_latency_ms() - hit.mean_latency_ms();
    assert!((added - 0.5).abs() < 0.01, "{added}");
    scenario.cache.second = SecondCache::None;
    scenario.cache.prefetch = true;
    let added = measured(&scenario).mean_latency_ms() - hit.mean_latency_ms();
    assert!(added.abs() < 0.01, "{added}");
}

#[test]
fn every_code_keeps_its_stripes_right() {
    for mode in [Mode::StripeLock, Mode::Coordinated] {
        for (data, parity) in [(1, 1), (4, 2), (8, 3)] {
            let mut scenario = scenario(mode, 12);
            scenario.stripes.data = data;
            scenario.stripes.parity = parity;
            scenario.stripes.unit = Size::from_kib(16);
            scenario.stripes.count = 20;
            scenario.clients.units = Units::Any;
            scenario.clients.zipf = Share::ONE;
            scenario.run.length = Span::from_secs(3);
            assert!(measured(&scenario).writes() > 100, "{mode:?} {data}+{parity}");
        }
    }
}

#[test]
fn a_seed_is_one_run() {
    for mode in [Mode::StripeLock, Mode::Coordinated] {
        let scenario = scenario(mode, 5);
        let hash = |seed| run(&scenario, seed).expect("it can be run").trace_hash;
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let problem = |change: fn(&mut Scenario)| {
        let mut scenario = Scenario::default();
        change(&mut scenario);
        check(&scenario).map_err(|error| error.to_string())
    };
    assert_eq!(problem(|_| {}), Ok(()));
    let error = problem(|s| s.stripes.parity = 0).unwrap_err();
    assert_eq!(
        error,
        "stripes.data: a stripe of 8 data and 0 parity units: it needs at least one of each"
    );
    let error = problem(|s| s.network.transfer_pair = Span::from_ms(30)).unwrap_err();
    assert!(error.starts_with("network.transfer_pair: 30ms for two messages is not"), "{error}");
    let error = problem(|s| s.run.warmup = Span::from_secs(20)).unwrap_err();
    assert_eq!(error, "run.length: 20s leaves nothing after the warm-up of 20s");
}
