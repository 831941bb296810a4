//! An experiment from its file to its figures: the warm-up is found or checked, as many seeds run as the
//! precision needs, and each point is summed up as soon as its last run is done.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use slotcast_sim::Latencies;
use slotcast_units::Span;

use crate::configuration::{Seeds, WarmupRule};
use crate::experiment::{Experiment, Point};
use crate::input_error::InputError;
use crate::metrics::Metrics;
use crate::precision::{Precision, Reached, Stages};
use crate::report::PointReport;
use crate::runner::{Completions, Execution, Job, Progress, Runner, impossible};
use crate::warmup::{Batches, Pilots, Settling};

/// How many pilot runs look for the warm-up of a point.
const PILOTS: u32 = 5;
/// What an experiment found.
#[derive(Debug)]
pub struct Study {
    /// The experiment as it ran: with the warm-up that was found, if it was to be.
    pub experiment: Experiment,
    /// What each point found, in the order of the experiment.
    pub points: Vec<PointReport>,
    /// The runs behind it, seed by seed. Those that drop their completions have no latencies left
    /// either.
    pub runs: Vec<Vec<Execution>>,
}

/// What an onlooker is told after each stage of the runs.
#[derive(Debug, Clone, Copy)]
pub struct Closing {
    /// The figure that is the least precise of all points.
    pub figure: Reached,
    /// The precision that is wanted.
    pub wanted: f64,
}

/// Who looks on while a study runs. May be called from any thread.
pub trait Onlooker: Sync {
    /// `runs` more runs will be done.
    fn expect(&self, _runs: u64) {}

    /// Thousandths of a run that were done since the last call.
    fn progress(&self, _units: u64) {}

    /// A stage is over, and more seeds are needed.
    fn closing(&self, _closing: Closing) {}
}

/// Nobody.
impl Onlooker for () {}

impl Runner {
    /// Runs `experiment` as its seeds and its statistics say.
    ///
    /// # Errors
    /// If a scenario cannot be run; checked points always can.
    pub fn study(
        &self,
        experiment: &Experiment,
        completions: Completions,
        onlooker: &dyn Onlooker,
    ) -> Result<Study, Box<InputError>> {
        let start = Instant::now();
        let mut experiment = experiment.clone();
        let pilots = self.settle(&mut experiment, onlooker)?;
        let (points, runs) = self.replicate(&experiment, completions, start, &pilots, onlooker)?;
        Ok(Study { experiment, points, runs })
    }

    /// Does every run of `study` again.
    ///
    /// # Errors
    /// If a scenario cannot be run; those of a study can.
    pub fn again(
        &self,
        study: &Study,
        progress: Progress<'_>,
    ) -> Result<Vec<Vec<Execution>>, Box<InputError>> {
        let each = study.experiment.points.iter().zip(&study.runs);
        each.map(|(point, runs)| {
            let count = u32::try_from(runs.len()).expect("as many as were asked for");
            let seeds = Seeds { count, ..study.experiment.seeds };
            let point = std::slice::from_ref(point);
            Ok(self.run(point, seeds, Completions::Drop, progress)?.remove(0))
        })
        .collect()
    }

    /// Finds the warm-up of every point by pilot runs, if that is the rule, and says how.
    fn settle(
        &self,
        experiment: &mut Experiment,
        onlooker: &dyn Onlooker,
    ) -> Result<Vec<Option<Pilots>>, Box<InputError>> {
        if experiment.statistics.warmup != WarmupRule::Found {
            return Ok(experiment.points.iter().map(|_| None).collect());
        }
        let seeds = experiment.seeds;
        let settled = experiment.points.iter_mut().map(|point| {
            let pilots = self.pilot(point, seeds, onlooker)?;
            if let Settling::By(found) = pilots.settling {
                let run = &mut point.scenario.run;
                (run.length, run.warmup) = (found + (run.length - run.warmup), found);
            }
            Ok(Some(pilots))
        });
        settled.collect()
    }

    /// Pilot runs of `point` from a standing start, longer ones if need be, with the seeds before those
    /// that will be measured.
    fn pilot(
        &self,
        point: &Point,
        seeds: Seeds,
        onlooker: &dyn Onlooker,
    ) -> Result<Pilots, Box<InputError>> {
        let seeds = Seeds { first: seeds.first.wrapping_sub(u64::from(PILOTS)), count: PILOTS };
        let mut pilot = point.clone();
        pilot.scenario.run.warmup = Span::ZERO;
        Pilots::settle(point.scenario.run.length, |length| {
            pilot.scenario.run.length = length;
            onlooker.expect(u64::from(PILOTS));
            let progress = |units| onlooker.progress(units);
            let point = std::slice::from_ref(&pilot);
            let runs = self.run(point, seeds, Completions::Drop, &progress)?;
            Ok(runs.into_iter().flatten().map(|run| run.batches).collect())
        })
    }

    /// Runs every point with as many seeds as it needs.
    fn replicate(
        &self,
        experiment: &Experiment,
        completions: Completions,
        start: Instant,
        pilots: &[Option<Pilots>],
        onlooker: &dyn Onlooker,
    ) -> Result<(Vec<PointReport>, Vec<Vec<Execution>>), Box<InputError>> {
        let Experiment { points, seeds, statistics, .. } = experiment;
        let stages = Stages { seeds: *seeds, statistics: *statistics };
        let limit = Duration::from_nanos(statistics.max_time.as_ns());
        let replications: Vec<_> = points
            .iter()
            .zip(pilots)
            .map(|(point, pilots)| {
                Mutex::new(Replications {
                    experiment,
                    point,
                    pilots: pilots.as_ref(),
                    stages,
                    completions,
                    runs: Vec::new(),
                    wanted: stages.first(),
                    report: None,
                })
            })
            .collect();
        let locked = |index: usize| replications[index].lock().expect("no thread panics");
        let error = Mutex::new(None);
        for stage in 0.. {
            let jobs = jobs(&replications, *seeds, stage > 0);
            if jobs.is_empty() || error.lock().expect("no thread panics").is_some() {
                break;
            }
            if stage > 0 {
                let points = replications.iter().enumerate();
                let open = points.filter_map(|(index, _)| locked(index).least_precise());
                let width = |figure: &Reached| figure.relative.unwrap_or(f64::INFINITY);
                if let Some(figure) = open.max_by(|a, b| width(a).total_cmp(&width(b))) {
                    let wanted = statistics.precision.as_f64();
                    onlooker.closing(Closing { figure, wanted });
                }
            }
            onlooker.expect(jobs.len() as u64);
            let over = || stage > 0 && start.elapsed() >= limit;
            let to_do: Vec<_> = jobs.iter().map(|(_, job)| *job).collect();
            self.run_in_order(
                &to_do,
                completions,
                &|units| onlooker.progress(units),
                &over,
                &|index, execution| match execution {
                    Ok(execution) => locked(jobs[index].0).add(execution),
                    Err(problem) => {
                        let problem = impossible(&problem, &points[jobs[index].0]);
                        *error.lock().expect("no thread panics") = Some(problem);
                    }
                },
            );
            if over() {
                break;
            }
        }
        if let Some(error) = error.into_inner().expect("no thread panics") {
            return Err(error);
        }
        let done =
            replications.into_iter().map(|r| r.into_inner().expect("no thread panics").end());
        Ok(done.unzip())
    }
}

/// The runs of a point, as they come in.
struct Replications<'a> {
    experiment: &'a Experiment,
    point: &'a Point,
    pilots: Option<&'a Pilots>,
    stages: Stages,
    completions: Completions,
    /// In any order.
    runs: Vec<Execution>,
    /// How many runs make the stage complete.
    wanted: u32,
    /// What was found, once there are runs enough.
    report: Option<PointReport>,
}

/// The runs that are still wanted, with the index of their point. Point by point, so that the first
/// are summed up before the last begin; or seed by seed, so that if time ends all have come as far.
fn jobs<'a>(
    replications: &[Mutex<Replications<'a>>],
    seeds: Seeds,
    seed_by_seed: bool,
) -> Vec<(usize, Job<'a>)> {
    let mut jobs = Vec::new();
    for (index, replications) in replications.iter().enumerate() {
        let replications = replications.lock().expect("no thread panics");
        if replications.report.is_none() {
            let seeds = Seeds { count: replications.wanted, ..seeds };
            let scenario = &replications.point.scenario;
            let missing = seeds.iter().enumerate().skip(replications.runs.len());
            jobs.extend(missing.map(|(nth, seed)| (nth, index, Job { scenario, seed })));
        }
    }
    if seed_by_seed {
        jobs.sort_by_key(|(nth, ..)| *nth);
    }
    jobs.into_iter().map(|(_, index, job)| (index, job)).collect()
}

impl Replications<'_> {
    fn add(&mut self, execution: Execution) {
        self.runs.push(execution);
        if self.runs.len() < self.wanted as usize {
            return;
        }
        self.in_order();
        match self.stages.next(&self.metrics(), self.wanted) {
            Some(wanted) => self.wanted = wanted,
            None => self.sum_up(),
        }
    }

    /// Puts the runs into the order of their seeds, and drops what comes after a gap.
    fn in_order(&mut self) {
        let first = self.stages.seeds.first;
        self.runs.sort_by_key(|run| run.report.seed.wrapping_sub(first));
        let nth = |run: &Execution| run.report.seed.wrapping_sub(first);
        let kept = self.runs.iter().zip(0u64..).take_while(|(run, n)| nth(run) == *n).count();
        self.runs.truncate(kept);
    }

    fn metrics(&self) -> Metrics {
        Metrics::of(&self.runs.iter().map(|run| &run.report).collect::<Vec<_>>())
    }

    fn least_precise(&self) -> Option<Reached> {
        if self.report.is_some() {
            return None;
        }
        self.precision(&self.metrics())?.worst()
    }

    fn precision(&self, metrics: &Metrics) -> Option<Precision> {
        self.stages.reached(metrics, self.runs.len())
    }

    /// Makes the report, and frees what only it needed.
    fn sum_up(&mut self) {
        let mut report = PointReport::new(self.experiment, self.point, &self.runs);
        report.precision = self.precision(&report.metrics);
        if let Some(pilots) = self.pilots {
            let mean_latency = report.metrics.latency_us.mean;
            report.warmup = pilots.judge(&self.point.scenario, mean_latency);
        }
        self.report = Some(report);
        if self.completions == Completions::Drop {
            for run in &mut self.runs {
                run.report.latencies = Latencies::default();
                run.batches = Batches::default();
            }
        }
    }

    fn end(mut self) -> (PointReport, Vec<Execution>) {
        if self.report.is_none() {
            // Time is over, and the stage is not complete.
            self.in_order();
            self.sum_up();
        }
        (self.report.expect("it was summed up"), self.runs)
    }
}
