use slotcast_engine::SortedLatencies;
use slotcast_units::{Span, Time};

use super::host::Host;
use super::machines::Machines;
use super::steps::{Step, Steps};

/// What one run found. Times are of the writes that ended between the warm-up and the end.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// For how long was measured.
    pub measured: Span,
    /// Latencies of the writes.
    pub latencies: SortedLatencies,
    /// Their steps, summed: what was spent on the critical path of each write.
    pub steps: Steps,
    /// Writes that failed, from the start of the run on.
    pub failed: u64,
    /// Stripes that were given up.
    pub lost: u64,
    /// Contents that were not in memory when they were wanted.
    pub misses: u64,
    /// The part of what it can take in that the busiest server took in, 0 to 1.
    pub busiest_ingress: f64,
    /// The part of the time in which the busiest disk was busy, 0 to 1.
    pub busiest_disk: f64,
    /// What is wrong with a stripe after all has come to rest: parity that is not that of the data.
    pub problem: Option<String>,
    /// Events of the whole run.
    pub events: u64,
    /// Fingerprint of the run.
    pub trace_hash: u64,
}

impl Report {
    /// Number of writes.
    pub fn writes(&self) -> usize {
        self.latencies.len()
    }

    /// Writes per second.
    pub fn ops_per_s(&self) -> f64 {
        self.writes() as f64 / self.measured.as_secs_f64()
    }

    /// Mean latency of a write in milliseconds; not a number without writes.
    pub fn mean_latency_ms(&self) -> f64 {
        let sum: Span = self.latencies.iter().sum();
        sum.as_secs_f64() * 1e3 / self.writes() as f64
    }

    /// The latency in milliseconds that a part `q` of the writes does not exceed; not a number without
    /// writes.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        let rank = (q * self.writes() as f64).ceil().max(1.0) as usize;
        let latency = self.latencies.iter().nth(rank - 1);
        latency.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
    }

    /// Mean time of a step in a write, in milliseconds; not a number without writes.
    pub fn step_ms(&self, step: Step) -> f64 {
        self.steps.of(step).as_secs_f64() * 1e3 / self.writes() as f64
    }
}

impl<M: Machines> Host<M> {
    /// What was found until `end`.
    pub(super) fn report(&mut self, seed: u64, end: Time) -> Report {
        let measured = self.scenario.run.length - self.scenario.run.warmup;
        let recorder = &self.recorder;
        Report {
            seed,
            measured,
            latencies: SortedLatencies::of(recorder.latencies.iter().copied()),
            steps: recorder.steps,
            failed: recorder.failed,
            lost: recorder.lost,
            misses: self.servers.misses,
            busiest_ingress: self.links.busiest_ingress(end),
            busiest_disk: self.servers.busiest_disk(end),
            problem: None,
            events: 0,
            trace_hash: 0,
        }
    }
}
