//! Sweeps that can be stopped and gone on with, and what is found along their axes.
//!
//! * [`Results`] is a folder in which every finished run is kept, so that it is never done again.
//! * [`Sweep::run`] does the runs that are missing there. Or other processes do them with [`run_of`], and
//!   [`Sweep::keep`] takes what they found.
//! * [`SweepFindings`] are the metrics on the grid of the axes, and [`Knee`]s name where more load
//!   stops paying.

mod elsewhere;
mod findings;
mod fingerprint;
mod knee;
mod record;
mod report;
mod results;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use slotcast_sim::ScenarioError;

pub use elsewhere::run_of;
pub use findings::{AxisFindings, Line, MetricGrid, SweepFindings};
pub use fingerprint::{Program, RunKey};
pub use knee::{Knee, KneeOf, Verdict};
pub use report::SweepReport;
pub use results::Results;

use crate::cancel::Cancelled;
use crate::configuration::{Configuration, Statistics};
use crate::experiment::Experiment;
use crate::input_error::InputError;
use crate::runner::{Completions, Execution, Runner, UNITS_PER_RUN, execute};
use crate::setting::Point;

/// How often somebody who waits hears of the progress.
const BEAT: Duration = Duration::from_millis(100);

/// An experiment and the runs of it that are there already.
#[derive(Debug)]
pub struct Sweep<'a> {
    experiment: Cow<'a, Experiment>,
    results: Results,
    /// Of every point, the key of the run with each seed.
    keys: Vec<Vec<RunKey>>,
    reused: usize,
}

/// How a sweep ended.
#[derive(Debug)]
pub enum SweepEnd {
    /// Every run is there: one list per point, with one execution per seed.
    Finished(Vec<Vec<Execution>>),
    /// It was stopped.
    Stopped {
        /// Runs that are kept, those of earlier times among them.
        runs: usize,
    },
}

/// How far a sweep is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SweepProgress {
    /// Runs that are there, those of earlier times among them.
    pub runs: usize,
    /// Points of which every run is there.
    pub points: usize,
    /// Thousandths of runs that were done since the last call.
    pub units: u64,
}

impl<'a> Sweep<'a> {
    /// Of `experiment`, with the runs that `results` holds of it and of `program`.
    pub fn new(experiment: &'a Experiment, results: Results, program: &Program) -> Sweep<'a> {
        Sweep::over(Cow::Borrowed(experiment), results, program)
    }

    fn over(experiment: Cow<'a, Experiment>, results: Results, program: &Program) -> Sweep<'a> {
        let keys: Vec<Vec<RunKey>> = experiment
            .points
            .iter()
            .map(|point| experiment.seeds.iter().map(|seed| key_of(program, point, seed)).collect())
            .collect();
        let reused = keys.iter().flatten().filter(|key| results.has(key)).count();
        Sweep { experiment, results, keys, reused }
    }

    /// Runs that were there when the sweep was opened.
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// Runs that the results hold of other experiments or programs, which are kept but not used.
    pub fn foreign(&self) -> usize {
        let mut own: Vec<_> =
            self.keys.iter().flatten().filter(|key| self.results.has(key)).collect();
        own.sort_unstable();
        own.dedup();
        self.results.len() - own.len()
    }

    /// Runs that the sweep has altogether.
    pub fn runs(&self) -> usize {
        self.keys.iter().map(Vec::len).sum()
    }

    /// The runs that are kept, for another sweep.
    pub fn into_results(self) -> Results {
        self.results
    }

    /// Where the runs are kept.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// Does the runs that are missing, side by side, and keeps each when it ends. `progress` is told
    /// about ten times a second. When `stop` is set no run is begun any more, and those under way are
    /// given up at once.
    ///
    /// # Errors
    /// If a finished run cannot be kept: the disk may be full. Those kept before stay.
    pub fn run(
        &mut self,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SweepProgress),
    ) -> Result<SweepEnd, Box<InputError>> {
        let jobs = Arc::new(self.missing());
        let halt = Arc::new(AtomicBool::new(false));
        let units = Arc::new(AtomicU64::new(0));
        let enough = Arc::new([Arc::clone(stop), Arc::clone(&halt)]);
        let finished = start(runner, &jobs, &enough, &units);

        let total = self.runs();
        let mut tally = Tally::new(&self.keys, &self.results);
        let mut left = jobs.len();
        while left > 0 {
            let heard = finished.recv_timeout(BEAT);
            if stop.load(Ordering::Relaxed) {
                return Ok(SweepEnd::Stopped { runs: tally.runs });
            }
            match heard {
                Ok((index, run)) => {
                    let job = &jobs[index];
                    let kept = run
                        .map_err(|error| InputError::plain(format!("this cannot be run: {error}")))
                        .and_then(|run| {
                            let kept = self.results.keep(job.key, &job.point.label(), &run);
                            kept.map_err(|error| self.results.not_kept(&error, tally.runs, total))
                        });
                    if let Err(error) = kept {
                        halt.store(true, Ordering::Relaxed);
                        return Err(error);
                    }
                    tally.count(&job.at);
                    left -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(InputError::plain("a run ended without a result"));
                }
            }
            let units = units.swap(0, Ordering::Relaxed);
            progress(SweepProgress { runs: tally.runs, points: tally.points, units });
        }
        let synced = self.results.sync();
        synced.map_err(|error| self.results.not_kept(&error, tally.runs, total))?;
        Ok(SweepEnd::Finished(self.finished().expect("all are there")))
    }

    /// Every run, one list per point with one execution per seed, if all are there.
    pub fn finished(&self) -> Option<Vec<Vec<Execution>>> {
        let of = |keys: &Vec<RunKey>| keys.iter().map(|key| self.results.execution(key)).collect();
        self.keys.iter().map(of).collect()
    }

    /// The runs that are to be done, each once, also where two points are the same.
    fn missing(&self) -> Vec<Job> {
        let mut jobs: Vec<Job> = Vec::new();
        let mut known: BTreeMap<RunKey, usize> = BTreeMap::new();
        for (index, (point, keys)) in self.experiment.points.iter().zip(&self.keys).enumerate() {
            for (seed, &key) in self.experiment.seeds.iter().zip(keys) {
                if self.results.has(&key) {
                    continue;
                }
                match known.get(&key) {
                    Some(&job) => jobs[job].at.push(index),
                    None => {
                        known.insert(key, jobs.len());
                        jobs.push(Job { point: point.clone(), at: vec![index], seed, key });
                    }
                }
            }
        }
        jobs
    }
}

/// The name of the run of `point` with `seed`.
fn key_of(program: &Program, point: &Point, seed: u64) -> RunKey {
    let configuration =
        Configuration { scenario: point.scenario.clone(), ..Configuration::default() };
    RunKey::of(program, &configuration, seed)
}

/// An error if `experiment`, which was read from `place`, is none that a sweep can keep single runs of.
///
/// # Errors
/// If it sweeps nothing, or wants a warm-up that is found or as many seeds as a precision takes.
pub fn check(experiment: &Experiment, place: &str) -> Result<(), Box<InputError>> {
    let Statistics { warmup, precision, .. } = experiment.statistics;
    let defaults = Statistics::default();
    if warmup != defaults.warmup || precision != defaults.precision {
        let message = "a sweep keeps single runs: it takes the warm-up and the number of seeds as they \
                       are set, not `statistics.warmup` and `statistics.precision`";
        let help = Some("`slotcast sim` runs the same file with them".into());
        return Err(InputError::plain(message).with_help(help));
    }
    if !experiment.is_sweep {
        let message = format!("`{place}` sweeps nothing");
        let help = "name what is to vary, such as `--axis workload.window=1..64*2`; \
                    `slotcast sim` runs an experiment of one point";
        return Err(InputError::plain(message).with_help(Some(help.into())));
    }
    Ok(())
}

/// Hands `jobs` to the threads of `runner`, in order, until one of `enough` is set. Each finished one
/// is sent with its index.
fn start(
    runner: &Runner,
    jobs: &Arc<Vec<Job>>,
    enough: &Arc<[Arc<AtomicBool>; 2]>,
    units: &Arc<AtomicU64>,
) -> Receiver<(usize, Result<Execution, ScenarioError>)> {
    let next = Arc::new(AtomicUsize::new(0));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..runner.threads().min(jobs.len()) {
        let (jobs, next, units) = (Arc::clone(jobs), Arc::clone(&next), Arc::clone(units));
        let (enough, sender) = (Arc::clone(enough), sender.clone());
        runner.spawn(move || {
            let is_enough = || enough.iter().any(|flag| flag.load(Ordering::Relaxed));
            while !is_enough() {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { return };
                let Ok(run) = Cancelled::catch(|| job.execute(&units, &is_enough)) else { return };
                // Nobody listens any more once the sweep has been given up.
                if sender.send((index, run)).is_err() {
                    return;
                }
            }
        });
    }
    receiver
}

/// How many runs are there, and of how many points every run is.
#[derive(Debug)]
struct Tally {
    missing: Vec<usize>,
    runs: usize,
    points: usize,
}

impl Tally {
    fn new(keys: &[Vec<RunKey>], results: &Results) -> Tally {
        let missing: Vec<usize> =
            keys.iter().map(|keys| keys.iter().filter(|key| !results.has(key)).count()).collect();
        let total: usize = keys.iter().map(Vec::len).sum();
        let runs = total - missing.iter().sum::<usize>();
        let points = missing.iter().filter(|&&missing| missing == 0).count();
        Tally { missing, runs, points }
    }

    /// One more run is there, at each of these points.
    fn count(&mut self, at: &[usize]) {
        for &point in at {
            self.missing[point] -= 1;
            self.runs += 1;
            self.points += usize::from(self.missing[point] == 0);
        }
    }
}

/// One run that is to be done.
#[derive(Debug)]
struct Job {
    point: Point,
    /// The numbers of all points that it belongs to.
    at: Vec<usize>,
    seed: u64,
    key: RunKey,
}

impl Job {
    /// Does it, unless it `is_enough` on the way.
    fn execute(
        &self,
        units: &AtomicU64,
        is_enough: &(dyn Fn() -> bool + Sync),
    ) -> Result<Execution, ScenarioError> {
        let progress = |done| {
            if is_enough() {
                Cancelled::throw();
            }
            units.fetch_add(done, Ordering::Relaxed);
        };
        execute(&self.point.scenario, self.seed, Completions::Drop, &progress)
    }
}

impl SweepProgress {
    /// Units of `runs` runs.
    pub fn units_of(runs: usize) -> u64 {
        runs as u64 * UNITS_PER_RUN
    }
}
