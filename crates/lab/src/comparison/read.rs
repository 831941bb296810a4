//! Reads what `slotcast sim --json` wrote. Every error says what was expected.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::Compared;
use super::difference::Side;
use crate::input_error::{InputError, Origin, Source};
use crate::input_file::read_text;
use crate::metrics::Metric;
use crate::report::SCHEMA;

/// Bytes of a result: a sweep of 10 000 points with 100 seeds.
const MAX_FILE: u64 = 1 << 30;

/// A result of `slotcast sim --json`, as far as a comparison needs it.
#[derive(Debug)]
pub(super) struct ResultFile {
    pub(super) file: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) metrics: Vec<Metric>,
    /// Never empty.
    pub(super) points: Vec<PointIn>,
}

/// One point.
#[derive(Debug, Deserialize)]
pub(super) struct PointIn {
    #[serde(default)]
    pub(super) sweep: BTreeMap<String, String>,
    pub(super) configuration: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) counts: BTreeMap<String, u64>,
    metrics: Value,
    pub(super) runs: Vec<RunIn>,
}

/// One run of a point.
#[derive(Debug, Deserialize)]
pub(super) struct RunIn {
    pub(super) seed: u64,
    metrics: BTreeMap<String, Option<f64>>,
}

#[derive(Debug, Deserialize)]
struct Head {
    name: String,
    version: String,
    metric_definitions: Vec<Metric>,
    points: Option<Vec<PointIn>>,
}

impl ResultFile {
    pub(super) fn read(path: &Path) -> Result<ResultFile, Box<InputError>> {
        let text = read_text(path, MAX_FILE, EXPECTED)?;
        ResultFile::parse(&Source::new(path.display().to_string(), text))
    }

    pub(super) fn parse(source: &Arc<Source>) -> Result<ResultFile, Box<InputError>> {
        let json: Value = serde_json::from_str(source.text()).map_err(|error| {
            let at = offset(source.text(), error.line(), error.column());
            let origin = Origin { source: Arc::clone(source), span: at..at };
            origin
                .error(format!("not valid JSON: {error}"), "here")
                .with_help(Some(EXPECTED.into()))
        })?;
        let wrong = |message: String, help: &str| {
            Err(InputError::whole(source, message).with_help(Some(help.into())))
        };
        if json.get("rows").is_some() {
            return wrong("this is a result of `slotcast reproduce`".into(), EXPECTED);
        }
        match json.get("schema").and_then(Value::as_u64) {
            None => return wrong("this is no result of `slotcast sim`".into(), EXPECTED),
            Some(schema) if schema != u64::from(SCHEMA) => {
                let (age, help) = match schema < u64::from(SCHEMA) {
                    true => ("older", "run the experiment again with this version"),
                    false => ("newer", "use that version to compare"),
                };
                let message =
                    format!("schema {schema}, written by a {age} slotcast; expected {SCHEMA}");
                return wrong(message, help);
            }
            Some(_) => {}
        }
        let incomplete = |error: serde_json::Error| {
            InputError::whole(source, format!("no complete result of `slotcast sim`: {error}"))
                .with_help(Some(EXPECTED.into()))
        };
        let head = Head::deserialize(&json).map_err(incomplete)?;
        let points = match head.points {
            Some(points) => points,
            None => vec![PointIn::deserialize(&json).map_err(incomplete)?],
        };
        if points.is_empty() {
            return wrong("a result without points".into(), EXPECTED);
        }
        Ok(ResultFile {
            file: source.name().into(),
            name: head.name,
            version: head.version,
            metrics: head.metric_definitions,
            points,
        })
    }

    pub(super) fn compared(&self) -> Compared {
        let ResultFile { file, name, version, .. } = self;
        Compared { file: file.clone(), name: name.clone(), version: version.clone() }
    }

    /// `12 points such as disk.rate=400MiB/s`.
    pub(super) fn points_in_words(&self) -> String {
        match &self.points[..] {
            [one] if one.sweep.is_empty() => "one point without a sweep".into(),
            [one] => format!("the point {}", one.label()),
            many => format!("{} points such as {}", many.len(), many[0].label()),
        }
    }
}

const EXPECTED: &str = "expected a file that `slotcast sim FILE --json` wrote";

impl PointIn {
    /// `protocol.kind=replicast-m disk.rate=400MiB/s`; empty without a sweep.
    pub(super) fn label(&self) -> String {
        let parts: Vec<_> =
            self.sweep.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.join(" ")
    }

    /// The metric `name`, if it was measured: over all runs, and in each run that has it.
    pub(super) fn side(&self, name: &str) -> Option<Side> {
        let place = name.split('.').try_fold(&self.metrics, |value, step| value.get(step))?;
        let value = place.get("value")?.as_f64()?;
        let runs: Vec<_> = self
            .runs
            .iter()
            .filter_map(|run| Some((run.seed, (*run.metrics.get(name)?)?)))
            .collect();
        let ci95 = place.get("ci95").and_then(Value::as_f64);
        (!runs.is_empty()).then(|| Side::new(value, ci95, runs))
    }
}

/// Where a line and a column, both from 1, are in `text`.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}
