//! What `slotcast tune --json` writes. `docs/simulate/json.md` describes every field: change both together.

use std::collections::BTreeMap;

use serde::Serialize;

use super::file::Tuning;
use super::knob::Settings;
use super::search::{Again, Found, labels, metrics_of};
use crate::estimate::Estimate;
use crate::metrics::{Metrics, run_metrics};
use crate::report::SCHEMA;
use crate::setting::Value;

/// What a search found.
#[derive(Debug, Clone, Serialize)]
pub struct TuneReport {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Version of the program.
    pub version: String,
    /// Name of the experiment.
    pub name: String,
    /// What was made best: `maximise chunks_per_s`.
    pub goal: String,
    /// What had to hold meanwhile.
    pub constraints: Vec<String>,
    /// By what settings were chosen.
    pub method: &'static str,
    /// The seeds of each evaluation.
    pub seeds: Vec<u64>,
    /// Everything that was evaluated, in its order.
    pub trials: Vec<Trial>,
    /// The file's own settings with the seeds of the search.
    pub own_in_search: Metrics,
    /// The file's own settings with fresh seeds.
    pub own: Measurement,
    /// The best settings with the same fresh seeds.
    pub best: Measurement,
    /// Whether the best settings are the file's own.
    pub own_is_best: bool,
    /// The goal's metric with the best settings against the file's own.
    pub comparison: Comparison,
    /// What runs the best settings.
    pub command: String,
    /// Number of runs.
    pub runs: usize,
    /// Hash over the trace hashes of all runs, in hexadecimal.
    pub trace_hash: String,
}

/// One evaluation of the search.
#[derive(Debug, Clone, Serialize)]
pub struct Trial {
    /// The knobs with their values.
    pub settings: BTreeMap<&'static str, String>,
    /// Over the seeds of the search; none if the settings cannot be run.
    pub metrics: Option<Metrics>,
    /// Why they cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impossible: Option<String>,
    /// Whether they keep the limits.
    pub keeps_limits: bool,
}

/// Settings, measured with seeds that did not choose them.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// The knobs with their values.
    pub settings: BTreeMap<&'static str, String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Over those.
    pub metrics: Metrics,
    /// Whether they keep the limits.
    pub keeps_limits: bool,
}

/// A metric with the best settings less that with the file's own, seed by seed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// In percent of the file's own, with its 95 % interval; each run's own quantiles, where it is one.
    pub gain_pct: Option<Estimate>,
    /// Whether the interval leaves no doubt that the best settings are better.
    pub certain: bool,
}

impl TuneReport {
    /// Of a search of `tuning`, whose file is at `path`; each of `overrides` was a `--set`.
    pub fn new(
        version: &str,
        tuning: &Tuning,
        found: &Found,
        path: &str,
        overrides: &[String],
    ) -> TuneReport {
        let [own, best] = &found.finals;
        let measured = |again: &Again| Measurement {
            settings: named(tuning, own_or(tuning, again.settings.as_ref()).into_iter()),
            seeds: found.seeds.iter().collect(),
            metrics: metrics_of(&again.runs),
            keeps_limits: again.score.excess == 0.0,
        };
        let trials = found.evaluated.iter().map(|one| Trial {
            settings: named(tuning, one.settings.iter().copied().map(Some)),
            metrics: one.metrics.as_ref().ok().cloned(),
            impossible: one.metrics.as_ref().err().cloned(),
            keeps_limits: one.score.excess == 0.0,
        });
        TuneReport {
            schema: SCHEMA,
            version: version.into(),
            name: tuning.experiment.name.clone(),
            goal: tuning.goal.to_string(),
            constraints: tuning.constraints.iter().map(ToString::to_string).collect(),
            method: tuning.method.name(),
            seeds: tuning.experiment.seeds.iter().collect(),
            trials: trials.collect(),
            own_in_search: found.own.clone(),
            own: measured(own),
            best: measured(best),
            own_is_best: best.settings.is_none(),
            comparison: comparison(tuning, own, best),
            command: command(tuning, best.settings.as_ref(), path, overrides),
            runs: found.runs,
            trace_hash: format!("{:016x}", found.trace_hash),
        }
    }
}

/// `settings`, or those of the file.
fn own_or(tuning: &Tuning, settings: Option<&Settings>) -> Vec<Option<Value>> {
    let base = tuning.experiment.configuration(&tuning.experiment.points[0]);
    match settings {
        Some(settings) => settings.iter().copied().map(Some).collect(),
        None => tuning.knobs.iter().map(|knob| knob.setting.get(&base)).collect(),
    }
}

fn named(
    tuning: &Tuning,
    values: impl Iterator<Item = Option<Value>>,
) -> BTreeMap<&'static str, String> {
    let text = |value: Option<Value>| value.map(|value| value.to_string()).unwrap_or_default();
    let pairs = tuning.knobs.iter().zip(values);
    pairs.map(|(knob, value)| (knob.key(), text(value))).collect()
}

fn comparison(tuning: &Tuning, own: &Again, best: &Again) -> Comparison {
    let name = tuning.goal.metric.name.as_ref();
    let of = |again: &Again, seed: usize| -> Option<f64> {
        run_metrics(&again.runs[seed].report).get(name).copied().flatten()
    };
    let gain = |seed: usize| Some((of(best, seed)? / of(own, seed)? - 1.0) * 100.0);
    let gains: Option<Vec<f64>> = (0..own.runs.len()).map(gain).collect();
    let gain_pct = gains.map(|gains| Estimate::of(&gains));
    let certain = gain_pct.is_some_and(|gain| {
        let towards = if tuning.goal.maximise { gain.value } else { -gain.value };
        gain.ci95.is_some_and(|ci95| towards > ci95)
    });
    Comparison { gain_pct, certain }
}

/// `text` as a word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-=%:+@,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn command(
    tuning: &Tuning,
    settings: Option<&Settings>,
    path: &str,
    overrides: &[String],
) -> String {
    let keys: Vec<&str> = tuning.knobs.iter().map(|knob| knob.key()).collect();
    let is_knob = |text: &str| {
        text.split_once('=')
            .is_some_and(|(key, _)| settings.is_some() && keys.contains(&key.trim()))
    };
    let kept = overrides.iter().filter(|text| !is_knob(text)).cloned();
    let chosen = settings.map(|settings| labels(tuning, settings)).unwrap_or_default();
    let sets = kept.chain(chosen).map(|text| format!(" --set {}", quoted(&text)));
    format!("slotcast sim {}{}", quoted(path), sets.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_shell_are_quoted_where_they_must() {
        assert_eq!(quoted("replicast.bid_multiplier=117%"), "replicast.bid_multiplier=117%");
        assert_eq!(quoted("my file.toml"), "'my file.toml'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
    }
}
