//! One cluster under one load: simulated until it is clear whether it holds, or for long enough.

use std::fmt;

use serde::Serialize;
use slotcast_lab::{
    Completions, Cost, Estimate, InputError, Metrics, Point, Runner, Seeds, UNITS_PER_RUN, mix,
    part_beyond,
};
use slotcast_sim::{Fidelity, PooledLatencies, Run, RunReport, Scenario, demand};
use slotcast_units::Span;

use super::cluster::{ClusterPlan, Hardware};
use super::{Doing, Effort, Tell};

/// Whether a load is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// No more than 1 in 100 requests take longer than is asked for, the interval included, and what arrives
    /// is done.
    Yes,
    /// The intervals leave it open.
    TooCloseToCall,
    /// The p99 lies above, or what arrives is not done.
    No,
}

impl Holds {
    /// Both.
    pub(super) fn and(self, other: Holds) -> Holds {
        self.max(other)
    }
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Holds::Yes => "yes",
            Holds::TooCloseToCall => "too close to call",
            Holds::No => "no",
        })
    }
}

/// What was found of one cluster under one load.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// The load: requests that arrive per second.
    pub objects_per_s: u64,
    /// Whether a node is down.
    pub node_down: bool,
    /// Whether it is held.
    pub holds: Holds,
    /// Requests that are done per second.
    pub done_per_s: Estimate,
    /// Latencies of all requests.
    pub latency_us: Latencies,
    /// 99th percentile of the writes alone, if there were any.
    pub write_p99_us: Option<Estimate>,
    /// 99th percentile of the reads alone, if there were any.
    pub read_p99_us: Option<Estimate>,
    /// How much of each resource is used.
    pub used: Used,
    /// Requests that were given up, in all runs.
    pub failures: u64,
    /// Number of runs.
    pub runs: usize,
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latencies {
    /// Arithmetic mean.
    pub mean: Estimate,
    /// Median.
    pub p50: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
}

/// How much of each resource is used, from 0 to 1; means over all of its kind that are up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Used {
    /// Part of time in which a disk is busy, as measured.
    pub disks: f64,
    /// Part of time for which a node's link is taken by windows, in the busier of the two ways.
    pub node_links: f64,
    /// The same for the clients' links.
    pub client_links: f64,
    /// Of the part of the busiest links that is kept for control messages, which do not queue in the
    /// simulator.
    pub control: f64,
}

/// A run covers so many times the p99 that is asked for: what piles up under an overload of two per cent
/// is then as much again.
const P99S: u64 = 50;
/// A run has at least so many requests, for a p99 that means something.
const REQUESTS: f64 = 5000.0;
/// A run has at most about so many chunks, for an answer in a minute.
const CHUNKS: f64 = 300_000.0;
/// But covers so many times the p99, with up to ten times as many chunks.
const FEWEST_P99S: u64 = 20;
const MAX_CHUNKS: f64 = CHUNKS * 10.0;

/// Runs that a check begins with, and has at most.
const RUNS: (u32, u32) = (5, 15);
const QUICK_RUNS: (u32, u32) = (4, 6);

/// A load counts as done if that much of it is.
const DONE: f64 = 0.99;
/// It surely is not if less is, chance allowed for.
const NOT_DONE: f64 = 0.97;
/// The part of the requests that may take longer than a p99.
const BEYOND_P99: f64 = 0.01;
/// More failed requests than that, of all, and a cluster does not hold.
const MAX_FAILURES: f64 = 0.001;

/// Part of the capacity at which hardly anything waits.
const IDLE: f64 = 0.05;

/// Simulates a plan's cluster, and variants of it.
pub(super) struct Simulator<'a> {
    pub(super) plan: &'a ClusterPlan,
    pub(super) effort: Effort,
    runner: &'a Runner,
    first_seed: u64,
    tell: Tell<'a>,
    runs: usize,
    events: u64,
    trace_hash: Option<u64>,
}

impl ClusterPlan {
    /// What the longest of its checks takes at the target, on so many threads. A check begins with all
    /// of its runs side by side.
    pub fn cost(&self, threads: usize) -> Cost {
        let load = self.target.objects_per_s;
        let seconds = MAX_CHUNKS / (load as f64 * self.chunks_per_object());
        let length = Span::from_secs_f64(seconds.min((self.target.p99 * P99S).as_secs_f64()));
        let run = Run { length, ..Run::default() };
        Cost::of([&self.scenario(&self.hardware, load, false, run)], RUNS.0, threads)
    }
}

impl<'a> Simulator<'a> {
    pub(super) fn new(
        plan: &'a ClusterPlan,
        runner: &'a Runner,
        effort: Effort,
        first_seed: u64,
        tell: Tell<'a>,
    ) -> Simulator<'a> {
        Simulator { plan, effort, runner, first_seed, tell, runs: 0, events: 0, trace_hash: None }
    }

    /// Runs, events and trace hash of everything so far.
    pub(super) fn work(&self) -> (usize, u64, u64) {
        (self.runs, self.events, self.trace_hash.unwrap_or(0))
    }

    /// `hardware` at a load at which hardly anything waits.
    pub(super) fn idle(&mut self, hardware: &Hardware) -> Result<Check, Box<InputError>> {
        let load = (self.capacity(hardware) * IDLE).max(1.0) as u64;
        self.check("the idle cluster", hardware, load, false)
    }

    /// Requests per second that `hardware` can do at the very most, by arithmetic.
    pub(super) fn capacity(&self, hardware: &Hardware) -> f64 {
        demand(&self.plan.scenario(hardware, 1, false, Run::default())).capacity()
    }

    /// Simulates `hardware` under a load. `what` is said to who waits.
    pub(super) fn check(
        &mut self,
        what: &str,
        hardware: &Hardware,
        objects_per_s: u64,
        node_down: bool,
    ) -> Result<Check, Box<InputError>> {
        let run = self.run_for(objects_per_s, self.capacity(hardware));
        let scenario = self.plan.scenario(hardware, objects_per_s, node_down, run);
        let (first, most) = if self.effort == Effort::Quick { QUICK_RUNS } else { RUNS };
        let mut reports = self.simulate(what, &scenario, 0..first)?;
        let mut check = self.judge(&scenario, &reports);
        if check.holds == Holds::TooCloseToCall {
            reports.extend(self.simulate(what, &scenario, first..most)?);
            check = self.judge(&scenario, &reports);
        }
        Ok(check)
    }

    /// How long a run must be.
    fn run_for(&self, objects_per_s: u64, capacity: f64) -> Run {
        let p99 = self.plan.target.p99;
        let (times, requests) = match self.effort {
            Effort::Quick => (P99S / 2, REQUESTS / 2.0),
            Effort::Full => (P99S, REQUESTS),
        };
        let load = objects_per_s as f64;
        let time_of = |chunks: f64| chunks / (load * self.plan.chunks_per_object());
        let enough = (p99 * times).as_secs_f64().max(requests / load).min(time_of(CHUNKS));
        // What is beyond the capacity does not hold, however long it is watched.
        let least = if load > capacity { 0.0 } else { (p99 * FEWEST_P99S).as_secs_f64() };
        let measured = Span::from_secs_f64(enough.max(least.min(time_of(MAX_CHUNKS))));
        let warmup = (measured / 4).max((p99 * 5).min(measured));
        Run { length: warmup + measured, warmup, fidelity: Fidelity::Flow }
    }

    fn simulate(
        &mut self,
        what: &str,
        scenario: &Scenario,
        seeds: std::ops::Range<u32>,
    ) -> Result<Vec<RunReport>, Box<InputError>> {
        let count = seeds.end - seeds.start;
        (self.tell)(Doing::Begins(what, u64::from(count) * UNITS_PER_RUN));
        let point = Point { swept: Vec::new(), scenario: scenario.clone() };
        let first = self.first_seed.wrapping_add(u64::from(seeds.start));
        let done = |units| (self.tell)(Doing::Done(units));
        let runs = self.runner.run(&[point], Seeds { first, count }, Completions::Drop, &done)?;
        let reports: Vec<RunReport> = runs.into_iter().flatten().map(|run| run.report).collect();
        self.runs += reports.len();
        for report in &reports {
            self.events += report.events;
            let hash =
                self.trace_hash.map_or(report.trace_hash, |hash| mix(hash, report.trace_hash));
            self.trace_hash = Some(hash);
        }
        Ok(reports)
    }

    fn judge(&self, scenario: &Scenario, reports: &[RunReport]) -> Check {
        let reports: Vec<&RunReport> = reports.iter().collect();
        let metrics = Metrics::of(&reports);
        let load = scenario.workload.arrivals_per_s;
        let done = metrics.chunks_per_s;
        let failures: u64 = reports.iter().map(|report| report.counts.failures).sum();
        let ended: u64 = reports.iter().map(|r| r.counts.puts + r.counts.gets).sum();
        let latency = metrics.latency_us;
        let latency_us = Latencies { mean: latency.mean, p50: latency.p50, p99: latency.p99 };

        let each: Vec<_> =
            reports.iter().map(|report| PooledLatencies::of(report.latencies.both())).collect();
        let beyond = part_beyond(&each, self.plan.target.p99);
        let need = demand(scenario);
        let is_beyond = load as f64 > need.capacity();
        let holds = if is_beyond || failures as f64 > MAX_FAILURES * (ended + failures) as f64 {
            Holds::No
        } else {
            does(done, load as f64).and(keeps(beyond))
        };

        let up = f64::from(scenario.cluster.targets - scenario.faults.targets_down);
        let of_those_up = f64::from(scenario.cluster.targets) / up;
        let busy = |a: f64, b: f64| a.max(b) * done.value;
        Check {
            objects_per_s: load,
            node_down: scenario.faults.targets_down > 0,
            holds,
            done_per_s: done,
            latency_us,
            write_p99_us: metrics.put_latency_us.map(|latency| latency.p99),
            read_p99_us: metrics.get_latency_us.map(|latency| latency.p99),
            used: Used {
                disks: metrics.disk_utilization.value * of_those_up,
                node_links: busy(need.target_in, need.target_out) * of_those_up,
                client_links: busy(need.initiator_in, need.initiator_out),
                control: busy(need.target_control, need.initiator_control),
            },
            failures,
            runs: reports.len(),
        }
    }
}

/// Whether what arrives is done.
fn does(done: Estimate, load: f64) -> Holds {
    let upper = done.value + done.ci95.unwrap_or(0.0);
    if upper < load * NOT_DONE || done.value.is_nan() {
        Holds::No
    } else if done.value >= load * DONE || upper >= load {
        Holds::Yes
    } else {
        Holds::TooCloseToCall
    }
}

/// Whether the p99 keeps to what is asked for: whether no more than 1 in 100 requests take longer. That is
/// known sooner than the p99 is.
fn keeps(beyond: Estimate) -> Holds {
    let ci95 = beyond.ci95.unwrap_or(0.0);
    if beyond.value + ci95 <= BEYOND_P99 {
        Holds::Yes
    } else if beyond.value - ci95 > BEYOND_P99 || beyond.value.is_nan() {
        Holds::No
    } else {
        Holds::TooCloseToCall
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, ci95: f64) -> Estimate {
        Estimate { value, ci95: Some(ci95) }
    }

    #[test]
    fn the_whole_interval_decides() {
        assert_eq!(keeps(estimate(0.005, 0.004)), Holds::Yes);
        assert_eq!(keeps(estimate(0.0, 0.0)), Holds::Yes);
        assert_eq!(keeps(estimate(0.008, 0.004)), Holds::TooCloseToCall);
        assert_eq!(keeps(estimate(0.012, 0.004)), Holds::TooCloseToCall);
        assert_eq!(keeps(estimate(0.02, 0.004)), Holds::No);
        assert_eq!(keeps(estimate(f64::NAN, f64::NAN)), Holds::No, "nothing was done at all");
    }

    #[test]
    fn what_arrives_must_be_done() {
        assert_eq!(does(estimate(999.0, 30.0), 1000.0), Holds::Yes);
        assert_eq!(does(estimate(980.0, 30.0), 1000.0), Holds::Yes, "chance of the arrivals");
        assert_eq!(does(estimate(980.0, 5.0), 1000.0), Holds::TooCloseToCall);
        assert_eq!(does(estimate(900.0, 30.0), 1000.0), Holds::No);
    }

    #[test]
    fn the_worse_of_two_counts() {
        assert_eq!(Holds::Yes.and(Holds::TooCloseToCall), Holds::TooCloseToCall);
        assert_eq!(Holds::No.and(Holds::Yes), Holds::No);
    }
}
