//! The runs of one part of the evaluation.

use slotcast_lab::{Done, Findings, InputError, Part, Progress, Runner, Runs, UNITS_PER_RUN, mix};

use super::experiment::{LustreExperiment, LustrePoint};
use crate::{LustreReport, LustreScenario, run_lustre};

/// The runs of one point.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) point: LustrePoint,
    /// One for each seed.
    pub(super) reports: Vec<LustreReport>,
}

impl Measured {
    pub(super) fn scenario(&self) -> &LustreScenario {
        &self.point.scenario
    }

    /// One figure of every run.
    pub(super) fn per_seed(&self, of: impl Fn(&LustreReport) -> f64) -> Vec<f64> {
        self.reports.iter().map(of).collect()
    }
}

/// An experiment, and how its runs become rows.
#[derive(Debug)]
struct LustreRuns {
    experiment: LustreExperiment,
    evaluate: fn(&[Measured]) -> Findings,
}

/// Reads a part's file.
pub(super) fn prepare(
    part: &Part,
    overrides: &[String],
    evaluate: fn(&[Measured]) -> Findings,
) -> Result<Box<dyn Runs>, Box<InputError>> {
    let experiment = LustreExperiment::from_toml(part.file, part.text, overrides)?;
    Ok(Box::new(LustreRuns { experiment, evaluate }))
}

impl Runs for LustreRuns {
    fn count(&self) -> u64 {
        self.experiment.points.len() as u64 * u64::from(self.experiment.seeds.count)
    }

    fn run(&self, runner: &Runner, progress: Progress<'_>) -> Result<Done, Box<InputError>> {
        let measured = run_all(&self.experiment, runner, progress)?;
        let reports = || measured.iter().flat_map(|measured| &measured.reports);
        Ok(Done {
            findings: (self.evaluate)(&measured),
            runs: reports().count(),
            events: reports().map(|report| report.events).sum(),
            trace_hash: reports().map(|report| report.trace_hash).reduce(mix).unwrap_or(0),
        })
    }
}

/// Runs every point with every seed, side by side.
pub(super) fn run_all(
    experiment: &LustreExperiment,
    runner: &Runner,
    progress: Progress<'_>,
) -> Result<Vec<Measured>, Box<InputError>> {
    let LustreExperiment { points, seeds, .. } = experiment;
    let work = |point: &LustrePoint, seed| {
        let report = run_lustre(&point.scenario, seed);
        progress(UNITS_PER_RUN);
        report
    };
    let reports = runner.each_with_seeds(points, *seeds, &work, &|error, point| {
        InputError::plain(format!("this cannot be run: {error} {}", point.label()))
    })?;
    let measured = points.iter().zip(reports);
    Ok(measured.map(|(point, reports)| Measured { point: point.clone(), reports }).collect())
}
