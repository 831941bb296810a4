//! Stripes with parity: the published latencies of both modes, and what must hold of every run.

use slotcast_sim::stripes::{Mode, Report, Scenario, Step, run};
use slotcast_units::Span;

fn scenario(mode: Mode, clients: u32) -> Scenario {
    let mut scenario = Scenario::default();
    scenario.stripes.mode = mode;
    scenario.clients.count = clients;
    scenario
}

fn measured(scenario: &Scenario) -> Report {
    let report = run(scenario, 1).expect("it can be run");
    assert_eq!(report.problem, None);
    assert_eq!((report.failed, report.lost), (0, 0));
    report
}

#[test]
fn one_client_needs_what_was_measured() {
    for (mode, published_ms) in [(Mode::StripeLock, 32.897), (Mode::Coordinated, 27.197)] {
        let report = measured(&scenario(mode, 1));
        let deviation = report.mean_latency_ms() / published_ms - 1.0;
        for step in Step::ALL {
            println!("{} {}", step.name(), report.step_ms(step));
        }
        println!("{} {}", report.mean_latency_ms(), report.ops_per_s());
        assert!(deviation.abs() < 0.04, "{mode:?}: {:.3} ms", report.mean_latency_ms());
    }
}

#[test]
fn throughput_over_clients() {
    for mode in [Mode::StripeLock, Mode::Coordinated] {
        for n in 1..=8 {
            let t = std::time::Instant::now();
            let r = measured(&scenario(mode, n));
            println!(
                "{mode:?} {n} {:.2} ops/s {:.2} ms p99 {:.2} in {:.3} disk {:.3} ev {} {:?}",
                r.ops_per_s(),
                r.mean_latency_ms(),
                r.quantile_ms(0.99),
                r.busiest_ingress,
                r.busiest_disk,
                r.events,
                t.elapsed()
            );
        }
    }
}
