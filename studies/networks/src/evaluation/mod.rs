//! The evaluation: the published surface, and the same function by other methods.

mod claims;
mod figures;
mod keys;
mod rows;
mod said;

use slotcast_lab::setting::{Points, Settings};
use slotcast_lab::{
    Done, Evaluation, Findings, InputError, Model, Part, Point, Progress, Runner, Runs, Seeds,
    UNITS_PER_RUN, mix,
};

use crate::{Report, Scenario, run};

/// What an experiment about searches can set.
pub static SETTINGS: &dyn Settings = &keys::SEARCHES;

/// The evaluation, for the catalogue.
pub const EVALUATION: Evaluation = Evaluation {
    name: "networks",
    title: "Optimisation by several neural networks: Hartmann-6 (\"Parallel optimization via multiple neural \
            networks\", storagetarget.com, 2017)",
    by_default: false,
    parts: &[
        Part {
            title: "Hartmann-6 with 1 to 30 networks, 300 to 2300 calls",
            file: "experiments/networks/surface.toml",
            text: include_str!("../../../../experiments/networks/surface.toml"),
            model: Model::Other(SETTINGS, |part, overrides| {
                prepare(part, overrides, figures::surface)
            }),
        },
        Part {
            title: "Hartmann-6 by other methods with equal budgets",
            file: "experiments/networks/methods.toml",
            text: include_str!("../../../../experiments/networks/methods.toml"),
            model: Model::Other(SETTINGS, |part, overrides| {
                prepare(part, overrides, figures::methods)
            }),
        },
    ],
    claims: claims::claims,
    statements: said::STATEMENTS,
    not_run: said::NOT_RUN,
};

/// The searches of one point.
#[derive(Debug)]
struct Measured<'a> {
    scenario: &'a Scenario,
    /// One report for each seed.
    reports: Vec<Report>,
}

/// What a part makes of its searches.
type Evaluate = fn(&[Measured<'_>]) -> Findings;

/// An experiment about searches, and how they become rows.
#[derive(Debug)]
struct SearchRuns {
    seeds: Seeds,
    points: Vec<Point<Scenario>>,
    evaluate: Evaluate,
}

fn prepare(
    part: &Part,
    overrides: &[String],
    evaluate: Evaluate,
) -> Result<Box<dyn Runs>, Box<InputError>> {
    let draft = keys::SEARCHES.read(part.file, part.text, overrides, &[])?;
    let Points { base, points, .. } = draft.points()?;
    let points = points.into_iter().map(|point| point.map(|setup| setup.scenario)).collect();
    Ok(Box::new(SearchRuns { seeds: base.seeds, points, evaluate }))
}

impl Runs for SearchRuns {
    fn count(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.seeds.count)
    }

    fn run(&self, runner: &Runner, progress: Progress<'_>) -> Result<Done, Box<InputError>> {
        let SearchRuns { points, seeds, evaluate } = self;
        let work = |point: &Point<Scenario>, seed| {
            let report = run(&point.scenario, seed);
            progress(UNITS_PER_RUN);
            Ok::<_, Box<InputError>>(report)
        };
        let reports = runner.each_with_seeds(points, *seeds, &work, &|error, _| error)?;
        let measured = points.iter().zip(reports);
        let measured: Vec<_> = measured
            .map(|(point, reports)| Measured { scenario: &point.scenario, reports })
            .collect();
        let reports = || measured.iter().flat_map(|measured| &measured.reports);
        Ok(Done {
            findings: evaluate(&measured),
            runs: reports().count(),
            events: reports().map(|report| report.calls as u64).sum(),
            trace_hash: reports().map(|report| report.trace_hash).reduce(mix).unwrap_or(0),
        })
    }
}
