//! A published evaluation: what it runs, and what it says about what was published.

use std::collections::BTreeMap;

use serde::Serialize;
use slotcast_sim::Scenario;

use crate::cost::Cost;
use crate::estimate::{Estimate, Spread};
use crate::experiment::Experiment;
use crate::input_error::InputError;
use crate::runner::{Completions, Execution, Progress, Runner, UNITS_PER_RUN, combined_hash};
use crate::setting::{CLUSTER, Settings};
use crate::statement::{Judged, NotRun, Statement, judge};

/// How a figure was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The published run length, from the first nanosecond.
    AsPublished,
    /// A longer run whose warm-up is left out.
    SteadyState,
}

/// One published figure beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Which figure: `table2/128KiB/replicast-m/mean_latency`. Unique together with the mode.
    pub id: String,
    /// What the paper says; none where only a lost picture said it.
    pub published: Option<f64>,
    /// Mean over the seeds.
    pub measured: f64,
    /// Measured against published, in percent of published.
    pub deviation_pct: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
    /// How it was measured.
    pub mode: Mode,
    /// Half the width of the 95 % confidence interval of the mean.
    pub ci95: Option<f64>,
    /// Smallest and largest over the seeds.
    pub spread: Option<Spread>,
    /// What both are made from, if they are no figures of their own: what was published and what was
    /// measured follow from others in the same way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from: Option<&'static str>,
    /// What a reader must know to compare the two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

impl Row {
    /// A row over one sample per seed.
    pub fn new(
        id: String,
        published: Option<f64>,
        samples: &[f64],
        unit: &'static str,
        mode: Mode,
    ) -> Row {
        let Estimate { value, ci95 } = Estimate::of(samples);
        let deviation_pct = published.map(|published| (value / published - 1.0) * 100.0);
        let spread = Spread::of(samples);
        Row {
            id,
            published,
            measured: value,
            deviation_pct,
            unit,
            mode,
            ci95,
            spread,
            derived_from: None,
            note: None,
        }
    }

    /// The same row, made from others.
    #[must_use]
    pub fn derived_from(mut self, from: &'static str) -> Row {
        self.derived_from = Some(from);
        self
    }

    /// The same row with a note.
    #[must_use]
    pub fn with_note(mut self, note: &'static str) -> Row {
        self.note = Some(note);
        self
    }
}

/// Something that can be judged of the figures, and whether it holds here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Short name.
    pub id: String,
    /// What is claimed.
    pub text: String,
    /// Whether the means over the seeds bear it out.
    pub holds: bool,
    /// Whether `slotcast reproduce` fails if it does not hold. What is not repeated and known not to be is a
    /// verdict, not a failure.
    pub certain: bool,
    /// The numbers that decided.
    pub measured: String,
}

/// Data of a picture.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// How it is drawn.
    pub kind: FigureKind,
    /// Meaning and unit of `x`: `disk rate (MiB/s)`.
    pub x: &'static str,
    /// Meaning and unit of `y`.
    pub y: &'static str,
    /// The lines of the picture.
    pub series: Vec<Series>,
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// A bar for each `x` of each series.
    Bars,
    /// A bar for each `x`, of a part of each series, the first series at the bottom.
    Stacked,
    /// Each series is a line in the order of its `x`.
    Lines,
    /// The same of medians over the seeds, which have no intervals.
    Medians,
    /// A colour for each `x` of each series, the first series at the bottom; `y` is what the colours mean.
    Heat,
    /// Each series is a cloud of points.
    Points,
    /// Each series is a line of values in rising order: its distribution.
    Sorted,
    /// The first series is a cloud of points, the others are lines through it.
    Sample,
}

/// One line of a picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Series {
    /// What it belongs to.
    pub name: String,
    /// Where.
    pub x: Vec<f64>,
    /// How much.
    pub y: Vec<f64>,
    /// Half the width of the 95 % confidence interval of each `y`; empty where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ci95: Vec<f64>,
    /// What was published at each `x`; empty where nothing was, or where it is lost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<f64>,
}

impl Series {
    /// Values without intervals.
    pub fn new(name: impl Into<String>, x: Vec<f64>, y: Vec<f64>) -> Series {
        Series { name: name.into(), x, y, ..Series::default() }
    }
}

/// Pictures by name.
pub type Figures = BTreeMap<&'static str, Figure>;

/// What a part of an evaluation found.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Figures beside the published ones.
    pub rows: Vec<Row>,
    /// Pictures.
    pub figures: Figures,
}

/// The runs of one point.
#[derive(Debug)]
pub struct Measured {
    /// What was simulated.
    pub scenario: Scenario,
    /// One execution per seed.
    pub runs: Vec<Execution>,
}

/// What a part's runs were, all together.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Rows and figures.
    pub findings: Findings,
    /// Number of runs.
    pub runs: usize,
    /// Events over all runs.
    pub events: u64,
    /// Hash over the trace hashes of all runs.
    pub trace_hash: u64,
}

/// The runs of a part, read from its file and checked.
pub trait Runs: std::fmt::Debug {
    /// Number of runs, each of which tells [`UNITS_PER_RUN`] of progress.
    fn count(&self) -> u64;

    /// What they take on so many threads, where that is known.
    fn cost(&self, _threads: usize) -> Option<Cost> {
        None
    }

    /// Does all of them.
    ///
    /// # Errors
    /// If something cannot be run.
    fn run(&self, runner: &Runner, progress: Progress<'_>) -> Result<Done, Box<InputError>>;
}

/// Reads a part's file; each of the texts is a `key=value` that goes before it.
pub type Prepare = fn(&Part, &[String]) -> Result<Box<dyn Runs>, Box<InputError>>;

/// How a part's file is read and run.
#[derive(Clone, Copy)]
pub enum Model {
    /// The file is an experiment like those of `slotcast sim`; the function makes rows of its runs.
    Cluster(fn(&[Measured]) -> Findings),
    /// Another model, with settings and files of its own.
    Other(&'static dyn Settings, Prepare),
}

/// One experiment of an evaluation, and how its runs become rows.
pub struct Part {
    /// What it does, as a heading.
    pub title: &'static str,
    /// The experiment file's name under `experiments/`.
    pub file: &'static str,
    /// What the file says.
    pub text: &'static str,
    /// How the file is read and run.
    pub model: Model,
}

/// A published evaluation that can be repeated by name.
#[derive(Debug)]
pub struct Evaluation {
    /// What to call it.
    pub name: &'static str,
    /// Where it was published.
    pub title: &'static str,
    /// Whether it is repeated when none is asked for by name: those that were published as a whole, and
    /// take seconds.
    pub by_default: bool,
    /// What is run, one after another.
    pub parts: &'static [Part],
    /// What the paper concludes, judged on what all parts found.
    pub claims: fn(&Findings) -> Vec<Claim>,
    /// What the source says, in its words, each with the claims that judge it.
    pub statements: &'static [Statement],
    /// What was published and is not repeated.
    pub not_run: &'static [NotRun],
}

/// What a whole evaluation found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Name of the evaluation.
    pub name: &'static str,
    /// Where it was published.
    pub title: &'static str,
    /// Rows and figures of all parts.
    pub findings: Findings,
    /// What was judged: what the source says, in parts, and what this project adds.
    pub claims: Vec<Claim>,
    /// What the source says, in its words.
    pub statements: &'static [Statement],
    /// What was published and is not repeated.
    pub not_run: &'static [NotRun],
    /// Number of runs.
    pub runs: usize,
    /// Events over all runs.
    pub events: u64,
    /// Hash over the trace hashes of all runs.
    pub trace_hash: u64,
}

impl Outcome {
    /// What the source says with its verdicts, and then what it does not say.
    pub fn judged(&self) -> Vec<Judged> {
        judge(self)
    }

    /// The statements that a right model must show, and that do not hold.
    pub fn broken_claims(&self) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(|claim| claim.certain && !claim.holds)
    }
}

/// A cluster's experiment, and how its runs become rows.
#[derive(Debug)]
struct ClusterRuns {
    experiment: Experiment,
    evaluate: fn(&[Measured]) -> Findings,
}

impl Runs for ClusterRuns {
    fn count(&self) -> u64 {
        self.experiment.points.len() as u64 * u64::from(self.experiment.seeds.count)
    }

    fn cost(&self, threads: usize) -> Option<Cost> {
        Some(Cost::of_experiment(&self.experiment, threads))
    }

    fn run(&self, runner: &Runner, progress: Progress<'_>) -> Result<Done, Box<InputError>> {
        let Experiment { points, seeds, .. } = &self.experiment;
        let runs = runner.run(points, *seeds, Completions::Keep, progress)?;
        let measured: Vec<_> = points
            .iter()
            .zip(runs)
            .map(|(point, runs)| Measured { scenario: point.scenario.clone(), runs })
            .collect();
        let reports = || measured.iter().flat_map(|m| &m.runs).map(|run| &run.report);
        Ok(Done {
            findings: (self.evaluate)(&measured),
            runs: reports().count(),
            events: reports().map(|report| report.events).sum(),
            trace_hash: combined_hash(reports()),
        })
    }
}

impl Part {
    fn settings(&self) -> &'static dyn Settings {
        match self.model {
            Model::Other(settings, _) => settings,
            Model::Cluster(_) => &CLUSTER,
        }
    }

    /// Whether the model of this part has the key of the `key=value` in `text`.
    fn knows(&self, text: &str) -> bool {
        self.settings().keys().contains(&key_of(text))
    }

    fn prepare(&self, overrides: &[String]) -> Result<Box<dyn Runs>, Box<InputError>> {
        let given = self.settings().given(self.file, self.text, &[])?;
        let swept = given.iter().filter(|(_, values)| values.len() > 1).map(|(key, _)| *key);
        let swept: Vec<_> = swept.collect();
        if let Some(text) = overrides.iter().find(|text| swept.contains(&key_of(text))) {
            let key = key_of(text);
            let message = format!("`{key}` is swept in {}, which needs all its points", self.file);
            let help =
                format!("expected a key that is not swept there; swept are {}", swept.join(", "));
            return Err(InputError::plain(message).with_help(Some(help)));
        }
        match self.model {
            Model::Other(_, prepare) => prepare(self, overrides),
            Model::Cluster(evaluate) => {
                let experiment = Experiment::from_toml(self.file, self.text, overrides)?;
                Ok(Box::new(ClusterRuns { experiment, evaluate }))
            }
        }
    }
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("file", &self.file).finish_non_exhaustive()
    }
}

fn key_of(text: &str) -> &str {
    text.split_once('=').map_or(text, |(key, _)| key).trim()
}

/// An evaluation whose experiments have been read and checked.
#[derive(Debug)]
pub struct Prepared {
    evaluation: &'static Evaluation,
    parts: Vec<Box<dyn Runs>>,
}

impl Evaluation {
    /// Reads the experiments. Each of `overrides` is a `key=value` that goes before the files of those
    /// models that have the key.
    ///
    /// # Errors
    /// If no model has a key or takes its value, or if a key is swept: the rows need every point.
    pub fn prepare(&'static self, overrides: &[String]) -> Result<Prepared, Box<InputError>> {
        let is_known = |text: &str| self.parts.iter().any(|part| part.knows(text));
        let prepare = |part: &Part| {
            // What nobody knows is left for the reader to reject.
            let own = overrides.iter().filter(|text| part.knows(text) || !is_known(text));
            part.prepare(&own.cloned().collect::<Vec<_>>())
        };
        let parts = self.parts.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Prepared { evaluation: self, parts })
    }
}

impl Prepared {
    /// The evaluation.
    pub fn evaluation(&self) -> &'static Evaluation {
        self.evaluation
    }

    /// Units of progress that [`Prepared::run`] will report.
    pub fn units(&self) -> u64 {
        self.parts.iter().map(|part| part.count()).sum::<u64>() * UNITS_PER_RUN
    }

    /// An error if a part is estimated to take more memory or time than may be taken unasked.
    ///
    /// # Errors
    /// With the estimate.
    pub fn check_cost(&self, threads: usize) -> Result<(), Box<InputError>> {
        let mut costs = self.parts.iter().filter_map(|part| part.cost(threads));
        costs.try_for_each(|cost| cost.check(true))
    }

    /// Runs the parts. `finished` is called after each of them with what it found, so that a reader
    /// has it even if the rest is interrupted.
    ///
    /// # Errors
    /// If a scenario cannot be run.
    pub fn run(
        &self,
        runner: &Runner,
        progress: Progress<'_>,
        finished: &mut dyn FnMut(&Part, &Findings),
    ) -> Result<Outcome, Box<InputError>> {
        let mut outcome = Outcome {
            name: self.evaluation.name,
            title: self.evaluation.title,
            findings: Findings::default(),
            claims: Vec::new(),
            statements: self.evaluation.statements,
            not_run: self.evaluation.not_run,
            runs: 0,
            events: 0,
            trace_hash: 0,
        };
        let mut hash = Vec::new();
        for (part, prepared) in self.evaluation.parts.iter().zip(&self.parts) {
            let done = prepared.run(runner, progress)?;
            outcome.runs += done.runs;
            outcome.events += done.events;
            hash.push(done.trace_hash);
            finished(part, &done.findings);
            outcome.findings.rows.extend(done.findings.rows);
            outcome.findings.figures.extend(done.findings.figures);
        }
        outcome.trace_hash = hash.into_iter().reduce(crate::runner::mix).unwrap_or(0);
        outcome.claims = (self.evaluation.claims)(&outcome.findings);
        Ok(outcome)
    }
}
