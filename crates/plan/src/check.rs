//! One cluster under one load: simulated until it is clear whether it holds, or for long enough.

use std::fmt;

use serde::Serialize;
use slotcast_lab::{
    Completions, Cost, Estimate, InputError, Metrics, Point, Runner, Seeds, UNITS_PER_RUN, mix,
    part_beyond,
};
use slotcast_sim::{
    Fidelity, Latencies as RunLatencies, PooledLatencies, Run, RunReport, Scenario,
    SortedLatencies, demand,
};
use slotcast_units::Span;

use super::cluster::{ClusterPlan, Hardware, Limits};
use super::condition::{Condition, capacity};
use super::{Doing, Effort, Tell};

/// Whether a load is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    /// No more than 1 in 100 writes, and no more than 1 in 100 reads, take longer than is asked for, the
    /// interval included, the same for 1 in 1000 where that is asked for, and what arrives is done.
    Yes,
    /// The intervals leave it open.
    TooCloseToCall,
    /// A p99 or p99.9 lies above, or what arrives is not done.
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
    /// Bytes of objects that it writes per second.
    pub write_bytes_per_s: f64,
    /// Bytes of objects that it reads per second.
    pub read_bytes_per_s: f64,
    /// What is wrong.
    pub condition: Condition,
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
    /// 99.9th percentile of the writes alone, if there were any.
    pub write_p999_us: Option<Estimate>,
    /// 99.9th percentile of the reads alone, if there were any.
    pub read_p999_us: Option<Estimate>,
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
/// The part of the requests that may take longer than a p99, and than a p99.9.
const BEYOND_P99: f64 = 0.01;
const BEYOND_P999: f64 = 0.001;
/// Where none of n requests took longer, less than this over n would have with 95 % probability (the rule of
/// three).
const NONE_BEYOND: f64 = 3.0;
/// So many requests of a run that may take longer, of each kind and limit, make the limit known.
const BEYOND: f64 = 5.0;
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
    /// Requests that a run needs for writes and reads to be told from their limits.
    fn requests_for_limits(&self) -> f64 {
        let reads = self.data.reads.as_f64();
        let of = |limits: Option<Limits>, part: f64| {
            limits.map_or(0.0, |limits| {
                let allowed = if limits.p999.is_some() { BEYOND_P999 } else { BEYOND_P99 };
                BEYOND / allowed / part
            })
        };
        of(self.target.puts, 1.0 - reads).max(of(self.target.gets, reads))
    }

    /// What the longest of its checks takes at the target, on so many threads. A check begins with all
    /// of its runs side by side.
    pub fn cost(&self, threads: usize) -> Cost {
        let load = self.target.objects_per_s;
        let seconds = MAX_CHUNKS / (load as f64 * self.chunks_per_object());
        let length =
            Span::from_secs_f64(seconds.min((self.target.longest_p99() * P99S).as_secs_f64()));
        let run = Run { length, ..Run::default() };
        Cost::of([&self.scenario(&self.hardware, load, Condition::AllUp, run)], RUNS.0, threads)
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
        self.check("the idle cluster", hardware, load, Condition::AllUp)
    }

    /// Requests per second that `hardware` can do at the very most, by arithmetic.
    pub(super) fn capacity(&self, hardware: &Hardware) -> f64 {
        capacity(self.plan, hardware, Condition::AllUp)
    }

    /// Requests per second of which a run can tell that `hardware` holds them: what piles up under an overload
    /// is seen at the end of a run only if it is large enough.
    pub(super) fn can_tell(&self, hardware: &Hardware, condition: Condition) -> f64 {
        capacity(self.plan, hardware, condition) * (1.0 - 1.0 / self.times() as f64)
    }

    /// So many times the p99 that is asked for a run takes.
    fn times(&self) -> u64 {
        if self.effort == Effort::Quick { P99S / 2 } else { P99S }
    }

    /// Simulates `hardware` under a load. `what` is said to who waits.
    pub(super) fn check(
        &mut self,
        what: &str,
        hardware: &Hardware,
        objects_per_s: u64,
        condition: Condition,
    ) -> Result<Check, Box<InputError>> {
        let can_tell = self.can_tell(hardware, condition);
        let run = self.run_for(objects_per_s, can_tell);
        let scenario = self.plan.scenario(hardware, objects_per_s, condition, run);
        let judge = |simulator: &Simulator<'_>, reports: &[RunReport]| {
            simulator.judge(&scenario, (hardware, condition), reports)
        };
        let (first, most) = if self.effort == Effort::Quick { QUICK_RUNS } else { RUNS };
        let mut reports = self.simulate(what, &scenario, 0..first)?;
        let mut check = judge(self, &reports);
        if check.holds == Holds::TooCloseToCall {
            reports.extend(self.simulate(what, &scenario, first..most)?);
            check = judge(self, &reports);
        }
        Ok(check)
    }

    /// How long a run must be.
    fn run_for(&self, objects_per_s: u64, can_tell: f64) -> Run {
        let p99 = self.plan.target.longest_p99();
        let is_told = objects_per_s as f64 <= can_tell;
        // What is beyond the capacity, or near to it, is not found to hold, however long it is watched.
        let times = if is_told { self.times() } else { self.times().min(FEWEST_P99S) };
        let requests = if self.effort == Effort::Quick { REQUESTS / 2.0 } else { REQUESTS };
        let requests = self.plan.requests_for_limits().max(requests);
        let load = objects_per_s as f64;
        let time_of = |chunks: f64| chunks / (load * self.plan.chunks_per_object());
        let enough = (p99 * times).as_secs_f64().max(requests / load).min(time_of(CHUNKS));
        let least = if is_told { (p99 * FEWEST_P99S).as_secs_f64() } else { 0.0 };
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

    fn judge(
        &self,
        scenario: &Scenario,
        (hardware, condition): (&Hardware, Condition),
        reports: &[RunReport],
    ) -> Check {
        let reports: Vec<&RunReport> = reports.iter().collect();
        let metrics = Metrics::of(&reports);
        let load = scenario.workload.arrivals_per_s;
        let done = metrics.chunks_per_s;
        let failures: u64 = reports.iter().map(|report| report.counts.failures).sum();
        let ended: u64 = reports.iter().map(|r| r.counts.puts + r.counts.gets).sum();
        let latency = metrics.latency_us;
        let latency_us = Latencies { mean: latency.mean, p50: latency.p50, p99: latency.p99 };

        let target = &self.plan.target;
        let puts = target.puts.map(|limits| keeps_to(limits, &reports, |all| &all.puts));
        let gets = target.gets.map(|limits| keeps_to(limits, &reports, |all| &all.gets));
        let keeps = [puts, gets].into_iter().flatten().fold(Holds::Yes, Holds::and);
        let need = demand(scenario);
        let is_beyond = load as f64 > capacity(self.plan, hardware, condition);
        let keeps = match load as f64 > self.can_tell(hardware, condition) {
            true => keeps.and(Holds::TooCloseToCall),
            false => keeps,
        };
        let holds = if is_beyond || failures as f64 > MAX_FAILURES * (ended + failures) as f64 {
            Holds::No
        } else {
            does(done, load as f64).and(keeps)
        };

        let up = f64::from(scenario.cluster.targets - scenario.faults.targets_down);
        let of_those_up = f64::from(scenario.cluster.targets) / up;
        let busy = |a: f64, b: f64| a.max(b) * done.value;
        let [write_bytes_per_s, read_bytes_per_s] = self.plan.bytes_per_s(load as f64);
        Check {
            objects_per_s: load,
            write_bytes_per_s,
            read_bytes_per_s,
            condition,
            node_down: scenario.faults.targets_down > 0,
            holds,
            done_per_s: done,
            latency_us,
            write_p99_us: metrics.put_latency_us.map(|latency| latency.p99),
            read_p99_us: metrics.get_latency_us.map(|latency| latency.p99),
            write_p999_us: metrics.put_latency_us.map(|latency| latency.p999),
            read_p999_us: metrics.get_latency_us.map(|latency| latency.p999),
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

/// Whether the requests that `of` takes keep to `limits`.
fn keeps_to(
    limits: Limits,
    reports: &[&RunReport],
    of: impl Fn(&RunLatencies) -> &SortedLatencies,
) -> Holds {
    let each: Vec<_> =
        reports.iter().map(|report| PooledLatencies::of([of(&report.latencies)])).collect();
    let count: usize = each.iter().map(PooledLatencies::count).sum();
    let keeps = |limit, allowed| keeps(part_beyond(&each, limit), count, allowed);
    let p999 = limits.p999.map_or(Holds::Yes, |limit| keeps(limit, BEYOND_P999));
    keeps(limits.p99, BEYOND_P99).and(p999)
}

/// Whether no more than the part `allowed` of `count` requests take longer than a limit: that is known sooner
/// than the quantile is.
fn keeps(beyond: Estimate, count: usize, allowed: f64) -> Holds {
    let ci95 = beyond.ci95.unwrap_or(0.0);
    let at_most = (beyond.value + ci95).max(NONE_BEYOND / count as f64);
    if at_most <= allowed {
        Holds::Yes
    } else if beyond.value - ci95 > allowed {
        Holds::No
    } else {
        // Where nothing was done at all, that decides.
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
        let keeps = |value, ci95| keeps(estimate(value, ci95), 10_000, BEYOND_P99);
        assert_eq!(keeps(0.005, 0.004), Holds::Yes);
        assert_eq!(keeps(0.0, 0.0), Holds::Yes);
        assert_eq!(keeps(0.008, 0.004), Holds::TooCloseToCall);
        assert_eq!(keeps(0.012, 0.004), Holds::TooCloseToCall);
        assert_eq!(keeps(0.02, 0.004), Holds::No);
    }

    #[test]
    fn a_few_requests_that_were_fast_enough_prove_nothing() {
        assert_eq!(keeps(estimate(0.0, 0.0), 299, BEYOND_P99), Holds::TooCloseToCall);
        assert_eq!(keeps(estimate(0.0, 0.0), 300, BEYOND_P99), Holds::Yes);
        assert_eq!(keeps(estimate(0.0, 0.0), 300, BEYOND_P999), Holds::TooCloseToCall);
        assert_eq!(keeps(estimate(f64::NAN, f64::NAN), 0, BEYOND_P99), Holds::TooCloseToCall);
    }

    #[test]
    fn what_arrives_must_be_done() {
        assert_eq!(does(estimate(999.0, 30.0), 1000.0), Holds::Yes);
        assert_eq!(does(estimate(980.0, 30.0), 1000.0), Holds::Yes, "chance of the arrivals");
        assert_eq!(does(estimate(980.0, 5.0), 1000.0), Holds::TooCloseToCall);
        assert_eq!(does(estimate(900.0, 30.0), 1000.0), Holds::No);
        assert_eq!(does(estimate(0.0, 0.0), 1000.0), Holds::No);
    }

    #[test]
    fn the_worse_of_two_counts() {
        assert_eq!(Holds::Yes.and(Holds::TooCloseToCall), Holds::TooCloseToCall);
        assert_eq!(Holds::No.and(Holds::Yes), Holds::No);
    }
}
