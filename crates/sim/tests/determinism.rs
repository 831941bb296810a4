//! Equal scenarios and seeds give equal runs: on every machine, on every thread.

use slotcast_sim::{
    Cluster, Faults, Fidelity, Load, Observer, Protocol, ProtocolKind, Run, Scenario, TraceLine,
    Workload, run, run_observed,
};
use slotcast_units::{Share, Span};

fn scenarios() -> Vec<Scenario> {
    let base = Scenario {
        cluster: Cluster { initiators: 18, targets: 18, ..Cluster::default() },
        run: Run { length: Span::from_ms(5), warmup: Span::ZERO, fidelity: Fidelity::Flow },
        ..Scenario::default()
    };
    let kinds = [ProtocolKind::ReplicastM, ProtocolKind::ReplicastH, ProtocolKind::UchCcp];
    let mut all: Vec<Scenario> = kinds
        .into_iter()
        .flat_map(|kind| {
            [Fidelity::Flow, Fidelity::Frame].map(|fidelity| Scenario {
                protocol: Protocol { kind },
                run: Run { fidelity, ..base.run.clone() },
                ..base.clone()
            })
        })
        .collect();
    all.push(Scenario {
        workload: Workload {
            load: Load::Open,
            window: 4,
            get_share: Share::from_percent(30),
            ..Workload::default()
        },
        faults: Faults {
            message_loss: Share::from_percent(1),
            message_delay: Span::from_us(5),
            targets_down: 1,
            down_at: Span::from_ms(1),
            up_at: Span::from_ms(3),
            ..Faults::default()
        },
        ..base
    });
    all
}

#[test]
fn the_same_seed_gives_the_same_run_on_any_thread() {
    for scenario in scenarios() {
        let here = run(&scenario, 7).unwrap();
        #[allow(clippy::disallowed_methods, reason = "threads are what is tested")]
        let there = {
            let scenario = scenario.clone();
            std::thread::spawn(move || run(&scenario, 7).unwrap()).join().unwrap()
        };
        assert_eq!(here, there);
        assert_ne!(here.trace_hash, run(&scenario, 8).unwrap().trace_hash, "the seed matters");
    }
}

#[test]
fn looking_on_changes_nothing() {
    struct Onlooker {
        lines: u64,
        last: Option<(slotcast_units::Time, u64)>,
    }
    impl Observer for Onlooker {
        fn wants_events(&self) -> bool {
            true
        }
        fn event(&mut self, line: TraceLine) {
            let key = (line.at, line.sequence);
            assert!(self.last.is_none_or(|last| last < key), "lines are in order");
            self.last = Some(key);
            self.lines += 1;
        }
    }
    for scenario in scenarios() {
        let mut onlooker = Onlooker { lines: 0, last: None };
        let seen = run_observed(&scenario, 7, &mut onlooker).unwrap();
        assert_eq!(seen, run(&scenario, 7).unwrap());
        assert_eq!(onlooker.lines, seen.events);
    }
}

/// The hashes of one machine: another one must find the same. They change when a model, the
/// protocol or the order of events changes, and then only on purpose.
#[test]
fn runs_are_the_same_on_every_machine() {
    let hashes: Vec<String> = scenarios()
        .iter()
        .map(|scenario| format!("{:016x}", run(scenario, 1).unwrap().trace_hash))
        .collect();
    assert_eq!(hashes, GOLDEN);
}

const GOLDEN: [&str; 7] = [
    "c6b4ddb326e8a4ac",
    "fecd69514758ead9",
    "971a3e855ff1e591",
    "276889bd50ee0227",
    "697c03d4fe1bf79d",
    "697c03d4fe1bf79d",
    "275e67bdaa1ad965",
];
