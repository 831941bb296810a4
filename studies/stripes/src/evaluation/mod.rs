//! The evaluation of stripes with parity: both modes against the published latencies, and beyond them.

mod claims;
mod figures;
mod keys;
mod published;
mod rows;
mod said;

use slotcast_lab::setting::{Points, Settings};
use slotcast_lab::{
    Done, Evaluation, Findings, InputError, Model, Part, Point, Progress, Runner, Runs, Seeds,
    UNITS_PER_RUN, mix,
};

use crate::{Report, Scenario, run};

/// What an experiment about stripes can set.
pub static SETTINGS: &dyn Settings = &keys::STRIPES;

/// The evaluation, for the catalogue.
pub const EVALUATION: Evaluation = Evaluation {
    name: "stripes",
    title: "Stripes with parity: stripe lock and coordinated updates (\"Overcoming write penalties of \
            conflicting client operations in distributed storage systems\", 2012)",
    by_default: false,
    parts: &[
        Part {
            title: "Cluster Suno: Gigabit Ethernet, 1 to 8 clients on one stripe",
            file: "experiments/stripes/suno.toml",
            text: include_str!("../../../../experiments/stripes/suno.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::suno)),
        },
        Part {
            title: "Cluster like Griffon: Infiniband, memory in place of disks",
            file: "experiments/stripes/griffon.toml",
            text: include_str!("../../../../experiments/stripes/griffon.toml"),
            model: Model::Other(SETTINGS, |part, overrides| {
                prepare(part, overrides, rows::over_clients)
            }),
        },
        Part {
            title: "The old content is not in memory, and what helps",
            file: "experiments/stripes/cache.toml",
            text: include_str!("../../../../experiments/stripes/cache.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::plain)),
        },
        Part {
            title: "Other numbers of data and parity units",
            file: "experiments/stripes/geometry.toml",
            text: include_str!("../../../../experiments/stripes/geometry.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::plain)),
        },
        Part {
            title: "Units from 4 KiB to 4 MiB",
            file: "experiments/stripes/units.toml",
            text: include_str!("../../../../experiments/stripes/units.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::plain)),
        },
        Part {
            title: "64 clients over 1000 stripes",
            file: "experiments/stripes/many.toml",
            text: include_str!("../../../../experiments/stripes/many.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::plain)),
        },
        Part {
            title: "Where a message alone is held up",
            file: "experiments/stripes/bottleneck.toml",
            text: include_str!("../../../../experiments/stripes/bottleneck.toml"),
            model: Model::Other(SETTINGS, |part, overrides| prepare(part, overrides, rows::plain)),
        },
    ],
    claims: claims::claims,
    statements: said::STATEMENTS,
    not_run: said::NOT_RUN,
};

/// The runs of one point.
#[derive(Debug)]
struct Measured<'a> {
    point: &'a Point<Scenario>,
    /// One report for each seed.
    reports: Vec<Report>,
}

/// What a part makes of its runs; the name is the experiment's.
type Evaluate = fn(&str, &[Measured<'_>]) -> Findings;

/// An experiment about stripes, and how its runs become rows.
#[derive(Debug)]
struct StripeRuns {
    name: String,
    seeds: Seeds,
    points: Vec<Point<Scenario>>,
    evaluate: Evaluate,
}

fn prepare(
    part: &Part,
    overrides: &[String],
    evaluate: Evaluate,
) -> Result<Box<dyn Runs>, Box<InputError>> {
    let draft = keys::STRIPES.read(part.file, part.text, overrides, &[])?;
    let Points { base, points, .. } = draft.points()?;
    let points = points.into_iter().map(|point| point.map(|setup| setup.scenario)).collect();
    Ok(Box::new(StripeRuns { name: draft.name, seeds: base.seeds, points, evaluate }))
}

impl Runs for StripeRuns {
    fn count(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.seeds.count)
    }

    fn run(&self, runner: &Runner, progress: Progress<'_>) -> Result<Done, Box<InputError>> {
        let StripeRuns { name, points, seeds, evaluate } = self;
        let work = |point: &Point<Scenario>, seed| {
            let report = run(&point.scenario, seed);
            progress(UNITS_PER_RUN);
            report
        };
        let reports = runner.each_with_seeds(points, *seeds, &work, &|error, _| {
            InputError::plain(format!("{name}: this cannot be run: {error}"))
        })?;
        let measured = points.iter().zip(reports);
        let measured: Vec<_> =
            measured.map(|(point, reports)| Measured { point, reports }).collect();
        let reports = || measured.iter().flat_map(|measured| &measured.reports);
        Ok(Done {
            findings: evaluate(name, &measured),
            runs: reports().count(),
            events: reports().map(|report| report.events).sum(),
            trace_hash: reports().map(|report| report.trace_hash).reduce(mix).unwrap_or(0),
        })
    }
}
