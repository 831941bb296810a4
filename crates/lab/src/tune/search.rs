//! The search: settings are proposed, simulated and told, and the best ones measured again.
//!
//! Runs are kept as those of a sweep. A search follows from its file, its seed and the runs alone, so one that was
//! stopped goes through the same settings again and finds their runs there.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use slotcast_tune::{Optimiser, Space};

use super::file::Tuning;
use super::goal::Score;
use super::knob::{Settings, place_of, settings_at, space};
use crate::configuration::{Configuration, Seeds};
use crate::experiment::Experiment;
use crate::input_error::InputError;
use crate::metrics::Metrics;
use crate::runner::{Execution, Runner, combined_hash, mix};
use crate::setting::{CLUSTER, Point};
use crate::sweep::{Program, Results, Sweep, SweepEnd};

/// Settings of the search that are measured again, so that luck with a seed does not choose.
const FINALISTS: usize = 3;

/// Times in a row that an optimiser may propose what was evaluated before. Then it has come to rest.
const MAX_IDLE: usize = 100;

/// Settings that were evaluated.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) settings: Settings,
    /// None if they cannot be run; then why.
    pub(super) metrics: Result<Metrics, String>,
    pub(super) score: Score,
}

/// The runs of some settings with fresh seeds.
#[derive(Debug)]
pub(super) struct Again {
    /// None for the file's own.
    pub(super) settings: Option<Settings>,
    pub(super) runs: Vec<Execution>,
    pub(super) score: Score,
}

/// What a search found.
#[derive(Debug)]
pub struct Found {
    pub(super) evaluated: Vec<Evaluated>,
    /// The file's own settings with the seeds of the search.
    pub(super) own: Metrics,
    /// The file's own and the best settings, with seeds that chose neither.
    pub(super) finals: [Again; 2],
    /// The seeds of those.
    pub(super) seeds: Seeds,
    /// Number of runs.
    pub(super) runs: usize,
    pub(super) trace_hash: u64,
}

/// How a search ended.
#[derive(Debug)]
pub enum SearchEnd {
    /// It found something.
    Finished(Box<Found>),
    /// It was stopped.
    Stopped {
        /// Different settings that have been evaluated.
        evaluations: usize,
        /// The best of them, as `key=value`, where one keeps the limits: not yet measured again.
        best: Option<Vec<String>>,
    },
}

/// How far a search is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchProgress {
    /// Different settings that have been evaluated.
    pub evaluations: usize,
    /// Thousandths of runs that were done since the last call.
    pub units: u64,
    /// How much better the best settings seem than the file's own, as a ratio; none before the first.
    pub gain: Option<f64>,
}

/// A search and the runs of it that are there already.
#[derive(Debug)]
pub struct Search<'a> {
    tuning: &'a Tuning,
    program: Program,
    /// Always there but while runs are under way.
    results: Option<Results>,
    space: Space,
    evaluated: Vec<Evaluated>,
    runs: usize,
    reused: usize,
    trace_hash: u64,
}

/// What comes of a batch of runs: one list per point, or none if they were stopped.
type Batch = Option<Vec<Vec<Execution>>>;

impl<'a> Search<'a> {
    /// Of `tuning`, with the runs that `results` holds of it and of `program`.
    pub fn new(tuning: &'a Tuning, results: Results, program: Program) -> Search<'a> {
        Search {
            tuning,
            program,
            results: Some(results),
            space: space(&tuning.knobs),
            evaluated: Vec::new(),
            runs: 0,
            reused: 0,
            trace_hash: 0,
        }
    }

    /// Runs that were there already.
    pub fn reused(&self) -> usize {
        self.reused
    }

    /// Runs that a search has at most.
    pub fn max_runs(tuning: &Tuning) -> usize {
        let seeds = usize::try_from(tuning.experiment.seeds.count).unwrap_or(usize::MAX);
        let fresh = usize::try_from(tuning.fresh_seeds).unwrap_or(usize::MAX);
        (tuning.evaluations + 1) * seeds + (FINALISTS + 1 + 2) * fresh
    }

    /// Searches. `progress` is told about ten times a second. When `stop` is set no run is begun any more.
    ///
    /// # Errors
    /// If a finished run cannot be kept: the disk may be full. Those kept before stay.
    pub fn run(
        &mut self,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<SearchEnd, Box<InputError>> {
        let seeds = self.tuning.experiment.seeds;
        let own = self.tuning.experiment.points[0].clone();
        let Some(mut runs) = self.simulate(vec![own], seeds, runner, stop, progress)? else {
            return Ok(self.stopped());
        };
        let own = metrics_of(&runs.remove(0));
        let name = &self.tuning.goal.metric.name;
        let Some(than) = own.named(name) else {
            let message =
                format!("the file's own settings complete nothing of which there is `{name}`");
            let help = "simulate longer (`run.length`), or ask for another metric";
            return Err(InputError::plain(message).with_help(Some(help.into())));
        };
        if !self.seek(than.value, runner, stop, progress)? {
            return Ok(self.stopped());
        }
        let Some((finals, seeds)) = self.measure_again(than.value, runner, stop, progress)? else {
            return Ok(self.stopped());
        };
        Ok(SearchEnd::Finished(Box::new(Found {
            evaluated: std::mem::take(&mut self.evaluated),
            own,
            finals,
            seeds,
            runs: self.runs,
            trace_hash: self.trace_hash,
        })))
    }

    fn stopped(&self) -> SearchEnd {
        let best = self.best().first().map(|best| labels(self.tuning, &best.settings));
        SearchEnd::Stopped { evaluations: self.evaluated.len(), best }
    }

    /// What was evaluated and keeps the limits, the best first.
    fn best(&self) -> Vec<&Evaluated> {
        let mut best: Vec<&Evaluated> =
            self.evaluated.iter().filter(|one| one.score.excess == 0.0).collect();
        best.sort_by(|a, b| b.score.cmp(&a.score));
        best
    }

    /// Evaluates settings until the budget is spent or nothing new comes; whether it was not stopped.
    fn seek(
        &mut self,
        than: f64,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<bool, Box<InputError>> {
        let Tuning { knobs, evaluations: budget, method, experiment, .. } = self.tuning;
        let seed = experiment.seeds.first;
        let mut optimiser: Box<dyn Optimiser> = method.start(knobs.len(), *budget, seed);
        let all = self.space.count().and_then(|count| usize::try_from(count).ok());
        let budget = (*budget).min(all.unwrap_or(usize::MAX));
        let mut idle = 0;
        while self.evaluated.len() < budget && idle < MAX_IDLE {
            let mut asked = Vec::new();
            let mut new: Vec<Settings> = Vec::new();
            for point in optimiser.ask() {
                let settings = settings_at(knobs, &self.space, &point);
                let is_known = new.contains(&settings) || self.find(&settings).is_some();
                if !is_known {
                    if self.evaluated.len() + new.len() == budget {
                        break;
                    }
                    new.push(settings.clone());
                }
                asked.push(settings);
            }
            idle = if new.is_empty() { idle + 1 } else { 0 };
            if !self.evaluate(new, than, runner, stop, progress)? {
                return Ok(false);
            }
            for settings in asked {
                let place = place_of(knobs, &self.space, &settings);
                let evaluated = self.find(&settings).expect("it was evaluated");
                optimiser.tell(&place, evaluated.score.told());
            }
        }
        Ok(true)
    }

    fn find(&self, settings: &Settings) -> Option<&Evaluated> {
        self.evaluated.iter().find(|one| one.settings == *settings)
    }

    /// Has `new` settings simulated, each once; whether it was not stopped.
    fn evaluate(
        &mut self,
        new: Vec<Settings>,
        than: f64,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<bool, Box<InputError>> {
        let points: Vec<Result<Point, String>> =
            new.iter().map(|settings| point(self.tuning, settings)).collect();
        let possible: Vec<Point> =
            points.iter().filter_map(|point| point.as_ref().ok()).cloned().collect();
        let seeds = self.tuning.experiment.seeds;
        let Some(runs) = self.simulate(possible, seeds, runner, stop, progress)? else {
            return Ok(false);
        };
        let mut runs = runs.into_iter();
        for (settings, point) in new.into_iter().zip(points) {
            let metrics = point.map(|_| metrics_of(&runs.next().expect("a list for each point")));
            let Tuning { goal, constraints, .. } = self.tuning;
            let score = match &metrics {
                Ok(metrics) => Score::of(goal, constraints, metrics, than),
                Err(_) => Score::IMPOSSIBLE,
            };
            self.evaluated.push(Evaluated { settings, metrics, score });
        }
        Ok(true)
    }

    /// Simulates `points`, as far as their runs are not there.
    fn simulate(
        &mut self,
        points: Vec<Point>,
        seeds: Seeds,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<Batch, Box<InputError>> {
        if points.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let experiment =
            Experiment { points, seeds, is_sweep: true, ..self.tuning.experiment.clone() };
        let results = self.results.take().expect("no runs are under way");
        let mut sweep = Sweep::new(&experiment, results, &self.program);
        self.runs += sweep.runs();
        self.reused += sweep.reused();
        let evaluations = self.evaluated.len();
        let gain = self.best().first().map(|best| best.score.gain.exp());
        let end = sweep.run(runner, stop, &mut |so_far| {
            progress(SearchProgress { evaluations, units: so_far.units, gain });
        });
        self.results = Some(sweep.into_results());
        Ok(match end? {
            SweepEnd::Stopped { .. } => None,
            SweepEnd::Finished(runs) => {
                for runs in &runs {
                    let hash = combined_hash(runs.iter().map(|run| &run.report));
                    self.trace_hash = mix(self.trace_hash, hash);
                }
                Some(runs)
            }
        })
    }

    /// Measures the best settings and the file's own with seeds that the search has not seen, and the winner
    /// and the file's own with others again: whoever wins has also been lucky.
    fn measure_again(
        &mut self,
        than: f64,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<Option<([Again; 2], Seeds)>, Box<InputError>> {
        let used = self.tuning.experiment.seeds;
        let after = |seeds: Seeds| Seeds {
            first: seeds.first.wrapping_add(u64::from(seeds.count)),
            count: self.tuning.fresh_seeds,
        };
        let first = after(used);
        let second = after(first);
        let finalists: Vec<Settings> =
            self.best().iter().take(FINALISTS).map(|one| one.settings.clone()).collect();
        let mut candidates: Vec<Option<Settings>> = vec![None];
        candidates.extend(finalists.into_iter().map(Some));
        let Some(again) = self.again(candidates, first, than, runner, stop, progress)? else {
            return Ok(None);
        };
        let winner = again
            .into_iter()
            .reduce(|a, b| if b.score.cmp(&a.score).is_gt() { b } else { a })
            .expect("the file's own settings");
        let last = vec![None, winner.settings];
        let Some(again) = self.again(last, second, than, runner, stop, progress)? else {
            return Ok(None);
        };
        let finals = <[Again; 2]>::try_from(again).expect("two");
        Ok(Some((finals, second)))
    }

    fn again(
        &mut self,
        candidates: Vec<Option<Settings>>,
        seeds: Seeds,
        than: f64,
        runner: &Runner,
        stop: &Arc<AtomicBool>,
        progress: &mut dyn FnMut(SearchProgress),
    ) -> Result<Option<Vec<Again>>, Box<InputError>> {
        let tuning = self.tuning;
        let of = |settings: &Option<Settings>| match settings {
            Some(settings) => point(tuning, settings).expect("it was run before"),
            None => tuning.experiment.points[0].clone(),
        };
        let points = candidates.iter().map(of).collect();
        let Some(runs) = self.simulate(points, seeds, runner, stop, progress)? else {
            return Ok(None);
        };
        let again = candidates.into_iter().zip(runs).map(|(settings, runs)| {
            let metrics = metrics_of(&runs);
            let score = Score::of(&tuning.goal, &tuning.constraints, &metrics, than);
            Again { settings, runs, score }
        });
        Ok(Some(again.collect()))
    }
}

/// The metrics of some runs.
pub(super) fn metrics_of(runs: &[Execution]) -> Metrics {
    Metrics::of(&runs.iter().map(|run| &run.report).collect::<Vec<_>>())
}

/// The experiment with `settings`; why not, if it cannot be run.
fn point(tuning: &Tuning, settings: &Settings) -> Result<Point, String> {
    let Experiment { points, seeds, statistics, .. } = &tuning.experiment;
    let mut configuration = Configuration {
        scenario: points[0].scenario.clone(),
        seeds: *seeds,
        statistics: *statistics,
    };
    let mut swept = Vec::new();
    for (knob, value) in tuning.knobs.iter().zip(settings) {
        knob.setting.set(&mut configuration, *value);
        swept.push((knob.key(), *value));
    }
    (CLUSTER.check)(&configuration).map_err(|error| error.to_string())?;
    Ok(Point { swept, scenario: configuration.scenario })
}

/// `key=value` for each knob.
pub(super) fn labels(tuning: &Tuning, settings: &Settings) -> Vec<String> {
    let pairs = tuning.knobs.iter().zip(settings);
    pairs.map(|(knob, value)| format!("{}={value}", knob.key())).collect()
}
