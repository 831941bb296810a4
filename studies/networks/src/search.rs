//! One search, and how near it had come after each hundred calls.

use slotcast_lab::mix;
use slotcast_tune::functions::{HARTMANN_6_AT, HARTMANN_6_SCALE, distance, hartmann_6};
use slotcast_tune::{Method, Networks, Optimiser, Setup};

use crate::scenario::Scenario;

/// Calls from one mark to the next.
pub const EVERY: usize = 100;

/// How near a search had come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mark {
    /// After how many calls.
    pub calls: usize,
    /// From the best point so far to the optimum.
    pub distance: f64,
    /// The best value so far; the maximum is 3.322.
    pub value: f64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// After each hundred calls.
    pub marks: Vec<Mark>,
    /// Evaluations of the function.
    pub calls: usize,
    /// Hash over all values: equal searches have equal hashes.
    pub trace_hash: u64,
}

/// Seeks the maximum of Hartmann-6 as `scenario` says, which must have passed [`check`](crate::check).
pub fn run(scenario: &Scenario, seed: u64) -> Report {
    let calls = usize::try_from(scenario.search.calls).expect("a number of calls");
    let mut optimiser: Box<dyn Optimiser> = match scenario.search.method {
        Method::Networks => {
            let of = |count: u32| usize::try_from(count).expect("a small number");
            let setup = Setup {
                networks: of(scenario.networks.count),
                pretraining: of(scenario.networks.pretraining),
                sparsity: scenario.networks.sparsity.as_f64(),
            };
            Box::new(Networks::new(&setup, 6, seed))
        }
        method => method.start(6, calls, seed),
    };
    let mut report = Report { marks: Vec::new(), calls: 0, trace_hash: seed };
    let (mut best, mut at) = (f64::NEG_INFINITY, Vec::new());
    while report.calls < calls {
        for point in optimiser.ask().into_iter().take(calls - report.calls) {
            let value = hartmann_6(&point);
            optimiser.tell(&point, value);
            report.calls += 1;
            report.trace_hash = mix(report.trace_hash, value.to_bits());
            if value > best {
                best = value;
                at = point;
            }
            if report.calls.is_multiple_of(EVERY) {
                let distance = distance(&at, &HARTMANN_6_AT);
                let value = best * HARTMANN_6_SCALE;
                report.marks.push(Mark { calls: report.calls, distance, value });
            }
        }
    }
    report
}
