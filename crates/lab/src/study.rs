//! An experiment from its file to its figures: the warm-up is found or checked, as many seeds run as the
//! precision needs, and each point is summed up as soon as its last run is done.

mod replications;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use slotcast_units::Span;

use crate::configuration::{Seeds, WarmupRule};
use crate::experiment::Experiment;
use crate::input_error::InputError;
use crate::precision::Reached;
use crate::report::PointReport;
use crate::runner::{Completions, Execution, Job, Progress, Runner, impossible};
use crate::setting::Point;
use crate::warmup::{Batches, Pilots, Settling};
use replications::Replications;

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
        self.replicate(experiment, completions, start, &pilots, onlooker)
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
        let points = study.experiment.points.iter().zip(&study.runs);
        let jobs = points.flat_map(|(point, runs)| {
            let scenario = &point.scenario;
            runs.iter().map(move |run| Job { scenario, seed: run.report.seed })
        });
        let mut done =
            self.run_all(&jobs.collect::<Vec<_>>(), Completions::Drop, progress).into_iter();
        let again = study.experiment.points.iter().zip(&study.runs).map(|(point, runs)| {
            let runs = done.by_ref().take(runs.len()).collect::<Result<Vec<_>, _>>();
            runs.map_err(|error| impossible(&error, point))
        });
        again.collect()
    }

    /// Finds the warm-up of every point by pilot runs, if that is the rule, and puts it into the points.
    /// Pilots start from a standing start, with the seeds before those that will be measured.
    fn settle(
        &self,
        experiment: &mut Experiment,
        onlooker: &dyn Onlooker,
    ) -> Result<Vec<Option<Pilots>>, Box<InputError>> {
        let Experiment { points, seeds, statistics, .. } = experiment;
        if statistics.warmup != WarmupRule::Found {
            return Ok(points.iter().map(|_| None).collect());
        }
        let seeds = Seeds { first: seeds.first.wrapping_sub(u64::from(PILOTS)), count: PILOTS };
        let lengths: Vec<_> = points.iter().map(|point| point.scenario.run.length).collect();
        let pilots = Pilots::settle(&lengths, |open| self.pilot(points, open, seeds, onlooker))?;
        for (point, pilots) in points.iter_mut().zip(&pilots) {
            if let Settling::By(found) = pilots.settling {
                let run = &mut point.scenario.run;
                (run.length, run.warmup) = (found + (run.length - run.warmup), found);
            }
        }
        Ok(pilots.into_iter().map(Some).collect())
    }

    /// Runs the points in `open`, for as long as it says, from a standing start.
    fn pilot(
        &self,
        points: &[Point],
        open: &[(usize, Span)],
        seeds: Seeds,
        onlooker: &dyn Onlooker,
    ) -> Result<Vec<Vec<Batches>>, Box<InputError>> {
        let pilots: Vec<_> = open
            .iter()
            .map(|(index, length)| {
                let mut pilot = points[*index].clone();
                (pilot.scenario.run.length, pilot.scenario.run.warmup) = (*length, Span::ZERO);
                pilot
            })
            .collect();
        onlooker.expect(pilots.len() as u64 * u64::from(seeds.count));
        let progress = |units| onlooker.progress(units);
        let runs = self.run(&pilots, seeds, Completions::Drop, &progress)?;
        let batches = |runs: Vec<Execution>| runs.into_iter().map(|run| run.batches).collect();
        Ok(runs.into_iter().map(batches).collect())
    }

    /// Runs every point with as many seeds as it needs.
    fn replicate(
        &self,
        experiment: Experiment,
        completions: Completions,
        start: Instant,
        pilots: &[Option<Pilots>],
        onlooker: &dyn Onlooker,
    ) -> Result<Study, Box<InputError>> {
        let Experiment { points, statistics, .. } = &experiment;
        let limit = Duration::from_nanos(statistics.max_time.as_ns());
        let replications: Vec<_> = points
            .iter()
            .zip(pilots)
            .map(|(point, pilots)| {
                Mutex::new(Replications::new(&experiment, point, pilots.as_ref(), completions))
            })
            .collect();
        let locked = |index: usize| replications[index].lock().expect("no thread panics");
        let error = Mutex::new(None);
        for stage in 0.. {
            let jobs = jobs(&replications, stage > 0);
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
        let (points, runs) = done.unzip();
        Ok(Study { experiment, points, runs })
    }
}

/// The runs that are still wanted, with the index of their point. Point by point, so that the first
/// are summed up before the last begin; or seed by seed, so that if time ends all have come as far.
fn jobs<'a>(replications: &[Mutex<Replications<'a>>], seed_by_seed: bool) -> Vec<(usize, Job<'a>)> {
    let mut jobs = Vec::new();
    for (index, replications) in replications.iter().enumerate() {
        let replications = replications.lock().expect("no thread panics");
        jobs.extend(replications.missing().map(|(nth, job)| (nth, index, job)));
    }
    if seed_by_seed {
        jobs.sort_by_key(|(nth, ..)| *nth);
    }
    jobs.into_iter().map(|(_, index, job)| (index, job)).collect()
}
