use slotcast_stripe::Outcome;
use slotcast_units::{Span, Time};

use super::block::Block;
use super::scenario::Scenario;
use super::steps::{Step, Steps, Trail};

/// What is measured of the writes.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    pub(super) latencies: Vec<Span>,
    pub(super) steps: Steps,
    /// Writes that failed, in the whole run.
    pub(super) failed: u64,
    /// Stripes that were given up.
    pub(super) lost: u64,
}

impl Recorder {
    /// A write ended. It is measured if it ended after the warm-up and before the end of the run.
    pub(super) fn ended(
        &mut self,
        scenario: &Scenario,
        started: Time,
        now: Time,
        trail: &Trail,
        client: u32,
        outcome: &Outcome<Block>,
    ) {
        if matches!(outcome, Outcome::Failed(_)) {
            self.failed += 1;
            return;
        }
        let measured = Time::ZERO + scenario.run.warmup..Time::ZERO + scenario.run.length;
        if !measured.contains(&now) {
            return;
        }
        let latency = now - started;
        self.latencies.push(latency);
        // The chain of a write that only a timer's question brought to its end begins at the timer.
        let accounted = if trail.client == client { trail.steps } else { Steps::default() };
        self.steps.add_all(&accounted);
        self.steps.add(Step::Others, latency.saturating_sub(accounted.total()));
    }

    /// A stripe was given up.
    pub(super) fn lost(&mut self) {
        self.lost += 1;
    }
}
