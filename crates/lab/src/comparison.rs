//! Two results of `slotcast sim --json`, held against each other metric by metric.
//!
//! Nothing here knows a model: metrics come with unit and direction, points with their swept values.

mod difference;
mod read;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::estimate::Estimate;
use crate::input_error::InputError;
use crate::metrics::{Better, Metric};
use crate::report::SCHEMA;
use difference::{Difference, Side, holm};
use read::{PointIn, ResultFile};

/// Verdicts are wrong together with at most this probability.
const LEVEL: f64 = 0.05;

/// What two results say beside each other: B against A.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Version of the form, the same as of the results.
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// What B is held against.
    pub a: Compared,
    /// What is held against it.
    pub b: Compared,
    /// The settings that are not the same on both sides.
    pub settings: Vec<SettingDifference>,
    /// How many differences were tested: the verdicts account for it.
    pub tests: usize,
    /// The points that both have.
    pub points: Vec<PointComparison>,
    /// Points that only A has, and only B.
    pub only_in_a: Vec<String>,
    /// Points that only B has.
    pub only_in_b: Vec<String>,
}

/// One of two results.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Its file.
    pub file: String,
    /// Name of the experiment.
    pub name: String,
    /// Version of the program that made it.
    pub version: String,
}

/// A setting that is not the same on both sides, at one point or more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SettingDifference {
    /// Its key.
    pub key: String,
    /// Its value in A; none if A's program did not have it.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
}

/// One point of both.
#[derive(Debug, Clone, Serialize)]
pub struct PointComparison {
    /// The swept settings with their values; empty without a sweep.
    pub sweep: BTreeMap<String, String>,
    /// Whether both sides ran with the same seeds, so that differences are taken seed by seed.
    pub paired: bool,
    /// How many runs there are in A, and in B.
    pub runs: [usize; 2],
    /// Requests that failed in all runs of A, and of B: they have no latency.
    pub failures: [u64; 2],
    /// The metrics that both have.
    pub metrics: Vec<MetricComparison>,
}

/// One metric at one point of both.
#[derive(Debug, Clone, Serialize)]
pub struct MetricComparison {
    /// The metric.
    #[serde(flatten)]
    pub metric: Metric,
    /// In A.
    pub a: Estimate,
    /// In B.
    pub b: Estimate,
    /// B less A.
    pub difference: Estimate,
    /// The same over A: 0.1 is ten percent more.
    pub relative: Estimate,
    /// How likely so large a difference is by chance; none with a single run.
    pub p: Option<f64>,
    /// The same among all tests of this comparison (Holm).
    pub p_holm: Option<f64>,
    /// What the difference shows.
    pub verdict: Verdict,
    /// Whether that is an improvement; none if nothing is shown or neither way is better.
    pub judgement: Option<Judgement>,
}

/// What a difference shows of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Verdict {
    /// B is lower.
    #[serde(rename = "lower")]
    Lower,
    /// B is higher.
    #[serde(rename = "higher")]
    Higher,
    /// It may be chance.
    #[serde(rename = "no difference shown")]
    NotShown,
}

/// Whether B is an improvement over A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// It is.
    Better,
    /// It is the contrary.
    Worse,
}

impl Comparison {
    /// Compares the results in two files.
    ///
    /// # Errors
    /// If a file cannot be read, is no result of `slotcast sim --json` of this schema, or if the two
    /// have no point in common.
    pub fn of_files(version: &str, a: &Path, b: &Path) -> Result<Comparison, Box<InputError>> {
        Comparison::of(version, &ResultFile::read(a)?, &ResultFile::read(b)?)
    }

    fn of(version: &str, a: &ResultFile, b: &ResultFile) -> Result<Comparison, Box<InputError>> {
        let pairs = matched(a, b)?;
        let mut points: Vec<_> = pairs.iter().map(|(a_, b_)| point(&a.metrics, a_, b_)).collect();
        let mut metrics: Vec<_> = points.iter_mut().flat_map(|point| &mut point.metrics).collect();
        let adjusted = holm(&metrics.iter().map(|metric| metric.p).collect::<Vec<_>>());
        for (metric, p_holm) in metrics.iter_mut().zip(&adjusted) {
            metric.judge(*p_holm);
        }
        let tests = adjusted.iter().flatten().count();
        let only = |points: &[PointIn], matched: Vec<&PointIn>| {
            let left = points.iter().filter(|p| !matched.iter().any(|m| std::ptr::eq(*m, *p)));
            left.map(PointIn::label).collect()
        };
        Ok(Comparison {
            schema: SCHEMA,
            version: version.into(),
            a: a.compared(),
            b: b.compared(),
            settings: settings(&pairs),
            tests,
            points,
            only_in_a: only(&a.points, pairs.iter().map(|(a, _)| *a).collect()),
            only_in_b: only(&b.points, pairs.iter().map(|(_, b)| *b).collect()),
        })
    }

    /// Metrics whose interval leaves out zero, but whose difference is not shown among so many tests.
    pub fn shown_alone_only(&self) -> usize {
        let metrics = self.points.iter().flat_map(|point| &point.metrics);
        metrics.filter(|m| m.verdict == Verdict::NotShown && m.p.is_some_and(|p| p < LEVEL)).count()
    }
}

/// The points of A with their counterparts in B: those with the same swept values, or the two if there
/// is one on each side.
fn matched<'a>(
    a: &'a ResultFile,
    b: &'a ResultFile,
) -> Result<Vec<(&'a PointIn, &'a PointIn)>, Box<InputError>> {
    if let ([a], [b]) = (&a.points[..], &b.points[..]) {
        return Ok(vec![(a, b)]);
    }
    let by_sweep: BTreeMap<_, _> = b.points.iter().map(|point| (&point.sweep, point)).collect();
    let pairs: Vec<_> =
        a.points.iter().filter_map(|p| Some((p, *by_sweep.get(&p.sweep)?))).collect();
    if pairs.is_empty() {
        let message = format!(
            "the points of `{}` and `{}` do not match: {} and {}",
            a.file,
            b.file,
            a.points_in_words(),
            b.points_in_words()
        );
        let help = "points are matched by the values of their swept keys; run both experiments \
                    with the same `[[sweep]]`, or choose one point of each with `--set`";
        return Err(InputError::plain(message).with_help(Some(help.into())));
    }
    Ok(pairs)
}

/// The settings in which the points of a pair differ, over all pairs.
fn settings(pairs: &[(&PointIn, &PointIn)]) -> Vec<SettingDifference> {
    let mut found = BTreeSet::new();
    for (a, b) in pairs {
        for key in a.configuration.keys().chain(b.configuration.keys()) {
            let (a, b) = (a.configuration.get(key), b.configuration.get(key));
            if a != b {
                let (key, a, b) = (key.clone(), a.cloned(), b.cloned());
                found.insert(SettingDifference { key, a, b });
            }
        }
    }
    found.into_iter().collect()
}

fn point(metrics: &[Metric], a: &PointIn, b: &PointIn) -> PointComparison {
    let seeds = |point: &PointIn| point.runs.iter().map(|run| run.seed).collect::<Vec<_>>();
    let compared = metrics.iter().filter_map(|metric| {
        let (side_a, side_b) = (a.side(&metric.name)?, b.side(&metric.name)?);
        Some(MetricComparison::of(metric, &side_a, &side_b))
    });
    let failures = |point: &PointIn| point.counts.get("failures").copied().unwrap_or(0);
    PointComparison {
        sweep: a.sweep.clone(),
        paired: seeds(a) == seeds(b),
        runs: [a.runs.len(), b.runs.len()],
        failures: [failures(a), failures(b)],
        metrics: compared.collect(),
    }
}

impl MetricComparison {
    fn of(metric: &Metric, a: &Side, b: &Side) -> MetricComparison {
        let Difference { difference, relative, p } = Difference::of(a, b);
        MetricComparison {
            metric: metric.clone(),
            a: a.estimate(),
            b: b.estimate(),
            difference,
            relative,
            p,
            p_holm: None,
            verdict: Verdict::NotShown,
            judgement: None,
        }
    }

    fn judge(&mut self, p_holm: Option<f64>) {
        let Estimate { value, ci95 } = self.difference;
        let leaves_out_zero = ci95.is_some_and(|half| value.abs() > half);
        self.p_holm = p_holm;
        self.verdict = match p_holm.is_some_and(|p| p < LEVEL) && leaves_out_zero {
            false => Verdict::NotShown,
            true if value < 0.0 => Verdict::Lower,
            true => Verdict::Higher,
        };
        self.judgement = match (self.verdict, self.metric.better) {
            (Verdict::NotShown, _) | (_, Better::Neither) => None,
            (Verdict::Lower, Better::Lower) | (Verdict::Higher, Better::Higher) => {
                Some(Judgement::Better)
            }
            _ => Some(Judgement::Worse),
        };
    }
}
