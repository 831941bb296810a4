//! Many runs side by side. One run is one thread, so results do not depend on the number of threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use slotcast_sim::{Observer, RunReport, Scenario, ScenarioError};
use slotcast_units::{Span, Time};

use crate::configuration::Seeds;
use crate::input_error::InputError;
use crate::setting::Point;
use crate::warmup::Batches;

/// Called with the thousandths of a run that were done since the last call, from any thread.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// What one run counts for in [`Progress`].
pub const UNITS_PER_RUN: u64 = 1000;

/// A finished run.
#[derive(Debug, Clone)]
pub struct Execution {
    /// What it found.
    pub report: RunReport,
    /// How long it took on its thread.
    pub wall: Duration,
    /// Its latencies in the order of completion, for what is asked of the start of a run.
    pub batches: Batches,
}

/// Whether the list of every single request is kept, at 24 bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completions {
    /// Kept in the reports.
    Keep,
    /// Dropped when a run ends.
    Drop,
}

/// One run that is to be done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Job<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) seed: u64,
}

/// A fixed number of threads that run simulations.
#[derive(Debug)]
pub struct Runner {
    pool: rayon::ThreadPool,
}

impl Runner {
    /// With `threads` threads, or one per core.
    ///
    /// # Errors
    /// If the system gives no such number of threads.
    pub fn new(threads: Option<usize>) -> Result<Runner, Box<InputError>> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.unwrap_or(0))
            .build()
            .map(|pool| Runner { pool })
            .map_err(|error| InputError::plain(format!("cannot start the threads: {error}")))
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Has one of the threads do `work`, after what was given to them before.
    pub(crate) fn spawn(&self, work: impl FnOnce() + Send + 'static) {
        self.pool.spawn_fifo(work);
    }

    /// Runs every point with every seed. The result holds one list per point, in the order of
    /// `points`, with one execution per seed, in the order of `seeds`.
    ///
    /// # Errors
    /// If a scenario cannot be run; checked points always can.
    pub fn run(
        &self,
        points: &[Point],
        seeds: Seeds,
        completions: Completions,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<Execution>>, Box<InputError>> {
        let work = |point: &Point, seed| execute(&point.scenario, seed, completions, progress);
        self.each_with_seeds(points, seeds, &work, &|error, point| impossible(&error, point))
    }

    /// What `work` makes of each of `points` with each of `seeds`, side by side: one list per point, in
    /// their order. `failed` says what is wrong with a point.
    ///
    /// # Errors
    /// What `failed` makes of the first point that cannot be run.
    pub fn each_with_seeds<P: Sync, T: Send, E: Send>(
        &self,
        points: &[P],
        seeds: Seeds,
        work: &(dyn Fn(&P, u64) -> Result<T, E> + Sync),
        failed: &dyn Fn(E, &P) -> Box<InputError>,
    ) -> Result<Vec<Vec<T>>, Box<InputError>> {
        let seeds: Vec<u64> = seeds.iter().collect();
        let done = self.map(points.len() * seeds.len(), &|job| {
            work(&points[job / seeds.len()], seeds[job % seeds.len()])
        });
        let mut done = done.into_iter();
        let runs_of = |point| {
            let runs = done.by_ref().take(seeds.len()).collect::<Result<Vec<T>, E>>();
            runs.map_err(|error| failed(error, point))
        };
        points.iter().map(runs_of).collect()
    }

    /// Does all `jobs`; the results are in their order.
    pub(crate) fn run_all(
        &self,
        jobs: &[Job<'_>],
        completions: Completions,
        progress: Progress<'_>,
    ) -> Vec<Result<Execution, ScenarioError>> {
        self.map(jobs.len(), &|index| {
            let Job { scenario, seed } = jobs[index];
            execute(scenario, seed, completions, progress)
        })
    }

    /// What `work` makes of every index below `count`, in their order.
    pub(crate) fn map<T: Send>(&self, count: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
        let done: Vec<_> = (0..count).map(|_| Mutex::new(None)).collect();
        self.in_order(count, &|| false, &|index| {
            let result = work(index);
            *done[index].lock().expect("no thread panics") = Some(result);
        });
        let taken = |result: Mutex<Option<T>>| result.into_inner().expect("no thread panics");
        done.into_iter().map(|result| taken(result).expect("every job was done")).collect()
    }

    /// Does `jobs` on all threads, and calls `finished` with the index of each that is done. They start in
    /// order, so whatever `stop` cuts off, once it says true, is at the end.
    pub(crate) fn run_in_order(
        &self,
        jobs: &[Job<'_>],
        completions: Completions,
        progress: Progress<'_>,
        stop: &(dyn Fn() -> bool + Sync),
        finished: &(dyn Fn(usize, Result<Execution, ScenarioError>) + Sync),
    ) {
        self.in_order(jobs.len(), stop, &|index| {
            let Job { scenario, seed } = jobs[index];
            finished(index, execute(scenario, seed, completions, progress));
        });
    }

    /// Calls `work` with every index below `count` from all threads, the lowest first, until `stop` says
    /// true.
    fn in_order(
        &self,
        count: usize,
        stop: &(dyn Fn() -> bool + Sync),
        work: &(dyn Fn(usize) + Sync),
    ) {
        let next = AtomicUsize::new(0);
        // A job is long and they differ: each thread takes the next one when it has done its own.
        self.pool.broadcast(|_| {
            while !stop() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= count {
                    break;
                }
                work(index);
            }
        });
    }
}

/// The error for a point that cannot be run after all.
pub(crate) fn impossible(error: &ScenarioError, point: &Point) -> Box<InputError> {
    InputError::plain(format!("this cannot be run: {error} {}", point.label()))
}

pub(crate) fn execute(
    scenario: &Scenario,
    seed: u64,
    completions: Completions,
    progress: Progress<'_>,
) -> Result<Execution, ScenarioError> {
    let mut watch = Watch::new(scenario, progress);
    let start = Instant::now();
    let mut report = slotcast_sim::run_observed(scenario, seed, &mut watch)?;
    let wall = start.elapsed();
    watch.finish();
    let batches = Batches::of(&report.completions);
    if completions == Completions::Drop {
        report.completions = Vec::new();
    }
    Ok(Execution { report, wall, batches })
}

/// Turns simulated time into progress.
pub struct Watch<'a> {
    length: Span,
    told: u64,
    progress: Progress<'a>,
}

impl<'a> Watch<'a> {
    /// Of a run of `scenario`.
    pub fn new(scenario: &Scenario, progress: Progress<'a>) -> Watch<'a> {
        Watch { length: scenario.run.length, told: 0, progress }
    }

    /// The run is over, whatever was told of it before.
    pub fn finish(&mut self) {
        self.tell(UNITS_PER_RUN);
    }

    fn tell(&mut self, done: u64) {
        if done > self.told {
            (self.progress)(done - self.told);
            self.told = done;
        }
    }
}

impl Observer for Watch<'_> {
    fn progress(&mut self, reached: Time) {
        let part = u128::from(reached.as_ns()) * u128::from(UNITS_PER_RUN)
            / u128::from(self.length.as_ns().max(1));
        self.tell(u64::try_from(part).unwrap_or(UNITS_PER_RUN).min(UNITS_PER_RUN));
    }
}

/// One hash over the trace hashes of several runs, in order; for one run its own.
pub fn combined_hash<'a>(runs: impl Iterator<Item = &'a RunReport>) -> u64 {
    runs.map(|run| run.trace_hash).reduce(mix).unwrap_or(0)
}

/// One step of FNV-1 over 64-bit words: the order matters, and any change shows.
pub fn mix(hash: u64, next: u64) -> u64 {
    hash.wrapping_mul(0x0000_0100_0000_01b3) ^ next
}

/// Two runs of the same scenario and seed that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The point of the sweep; empty without one.
    pub point: String,
    /// The seed.
    pub seed: u64,
    /// Trace hash of the first run.
    pub first: u64,
    /// Trace hash of the second run.
    pub second: u64,
}

/// Compares two passes over the same points and seeds, run by run.
pub fn mismatches(
    points: &[Point],
    first: &[Vec<Execution>],
    second: &[Vec<Execution>],
) -> Vec<Mismatch> {
    let mut found = Vec::new();
    for ((point, first), second) in points.iter().zip(first).zip(second) {
        for (a, b) in first.iter().zip(second) {
            if a.report.trace_hash != b.report.trace_hash || a.report.events != b.report.events {
                found.push(Mismatch {
                    point: point.label(),
                    seed: a.report.seed,
                    first: a.report.trace_hash,
                    second: b.report.trace_hash,
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::report;
    use std::sync::atomic::AtomicU64;

    fn execution(seed: u64, hash: u64) -> Execution {
        let report = RunReport { trace_hash: hash, ..report(seed, &[100]) };
        Execution { report, wall: Duration::ZERO, batches: Batches::default() }
    }

    #[test]
    fn a_run_that_differs_from_its_twin_is_found() {
        let point = Point { swept: Vec::new(), scenario: Scenario::default() };
        let first = vec![vec![execution(1, 10), execution(2, 20)]];
        let second = vec![vec![execution(1, 10), execution(2, 21)]];
        let found = mismatches(&[point], &first, &second);
        assert_eq!(found, [Mismatch { point: String::new(), seed: 2, first: 20, second: 21 }]);
    }

    #[test]
    fn the_combined_hash_depends_on_the_order() {
        let (a, b) = (execution(1, 10).report, execution(2, 20).report);
        assert_eq!(combined_hash([&a].into_iter()), 10);
        assert_ne!(combined_hash([&a, &b].into_iter()), combined_hash([&b, &a].into_iter()));
    }

    #[test]
    fn progress_adds_up_to_one_run() {
        let sum = AtomicU64::new(0);
        let progress = |units| {
            sum.fetch_add(units, Ordering::Relaxed);
        };
        let mut watch = Watch { length: Span::from_ms(7), told: 0, progress: &progress };
        for ms in 0..=9 {
            watch.progress(Time::from_ns(ms * 1_000_000));
        }
        watch.finish();
        assert_eq!(sum.into_inner(), UNITS_PER_RUN);
    }
}
