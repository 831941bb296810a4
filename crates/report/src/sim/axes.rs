//! Along which axes an experiment varies, and where its points lie on them.

use slotcast_lab::setting::Value;
use slotcast_lab::{Experiment, Point};

use crate::chart::{Axis, Scale};

/// From this ratio of the largest to the smallest value on, an axis is logarithmic.
const WIDE: f64 = 16.0;

/// One setting that varies on its own.
pub(super) struct Swept {
    pub(super) key: &'static str,
    /// Its values, each once: rising if they are numbers, otherwise in the order of the experiment.
    pub(super) values: Vec<Value>,
}

impl Swept {
    pub(super) fn is_numeric(&self) -> bool {
        self.values.iter().all(|value| base(*value).is_some())
    }

    /// Whether a line over it says something: two points are better shown as bars.
    pub(super) fn makes_a_line(&self) -> bool {
        self.is_numeric() && self.values.len() > 2
    }

    /// Where `value` lies, in the unit of [`Swept::axis`].
    pub(super) fn place(&self, value: Value) -> f64 {
        base(value).unwrap_or(f64::NAN) / self.unit().1
    }

    pub(super) fn axis(&self) -> Axis {
        let places: Vec<f64> = self.values.iter().map(|value| self.place(*value)).collect();
        let (first, last) = (places[0], places[places.len() - 1]);
        let is_wide = places.len() > 2 && first > 0.0 && last >= first * WIDE;
        let scale = if is_wide { Scale::Log } else { Scale::Linear };
        Axis::new(self.key, self.unit().0).with_scale(scale)
    }

    /// The unit in which the smallest value above zero is written, and how large it is.
    fn unit(&self) -> (String, f64) {
        let positive =
            self.values.iter().find(|value| base(**value).is_some_and(|base| base > 0.0));
        let Some(value) = positive else { return (String::new(), 1.0) };
        let text = value.to_string();
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let number: f64 = text[..digits].parse().unwrap_or(1.0);
        (text[digits..].to_string(), base(*value).unwrap_or(1.0) / number)
    }
}

/// The value as a plain number, if it is one.
fn base(value: Value) -> Option<f64> {
    match value {
        Value::Count(count) => Some(count as f64),
        Value::Size(size) => Some(size.as_bytes() as f64),
        Value::Rate(rate) => Some(rate.as_bps() as f64),
        Value::Span(span) => Some(span.as_ns() as f64),
        Value::Share(share) => Some(share.as_f64()),
        Value::Word(_) | Value::Switch(_) | Value::Mix(_) | Value::Words(_) => None,
    }
}

/// The settings that vary. One whose value follows from those before it, as the length of a run may
/// follow from the size of a chunk, is not an axis of its own.
pub(super) fn of(experiment: &Experiment) -> Vec<Swept> {
    let points = &experiment.points;
    let keys = points.first().map_or(0, |point| point.swept.len());
    let mut kept: Vec<usize> = Vec::new();
    for key in 0..keys {
        let is_determined = points.iter().all(|a| {
            points.iter().all(|b| {
                kept.iter().any(|&k| a.swept[k].1 != b.swept[k].1)
                    || a.swept[key].1 == b.swept[key].1
            })
        });
        if !is_determined {
            kept.push(key);
        }
    }
    let swept = |key: usize| {
        let mut values = Vec::new();
        for point in points {
            let value = point.swept[key].1;
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let mut swept = Swept { key: points[0].swept[key].0, values };
        if swept.is_numeric() {
            let place = |value: &Value| base(*value).unwrap_or(f64::NAN);
            swept.values.sort_by(|a, b| place(a).total_cmp(&place(b)));
        }
        swept
    };
    kept.into_iter().map(swept).collect()
}

/// The value of `of` at `point`.
pub(super) fn value(point: &Point, of: &Swept) -> Value {
    let found = point.swept.iter().find(|(key, _)| *key == of.key);
    found.expect("every point has a value for every swept setting").1
}

/// A short name of `value`: words speak for themselves, the rest needs its key.
pub(super) fn named(key: &str, value: Value) -> String {
    match value {
        Value::Word(word) => word.into(),
        value => format!("{} {value}", key.replace(['.', '_'], " ")),
    }
}

/// A short name of `point` among the others.
pub(super) fn label(point: &Point, axes: &[Swept]) -> String {
    let parts: Vec<_> = axes.iter().map(|axis| named(axis.key, value(point, axis))).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(sweep: &str) -> Experiment {
        Experiment::from_toml("test", sweep, &[]).unwrap()
    }

    #[test]
    fn what_follows_from_other_settings_is_no_axis() {
        let experiment = experiment(
            "[run]\nwarmup = \"0s\"\n\
             [[sweep]]\n\
             workload.chunk_size = [\"128KiB\", \"128KiB\", \"1MiB\", \"1MiB\"]\n\
             disk.rate = [\"400MiB/s\", \"1000MiB/s\", \"400MiB/s\", \"1000MiB/s\"]\n\
             run.length = [\"10ms\", \"10ms\", \"30ms\", \"40ms\"]\n",
        );
        let keys: Vec<_> = of(&experiment).iter().map(|swept| swept.key).collect();
        assert_eq!(keys, ["workload.chunk_size", "disk.rate"]);
    }

    #[test]
    fn a_numeric_axis_has_one_unit_and_rises() {
        let experiment =
            experiment("[[sweep]]\nworkload.chunk_size = [\"1MiB\", \"16KiB\", \"128KiB\"]\n");
        let axes = of(&experiment);
        let axis = axes[0].axis();
        assert_eq!((axis.text().as_str(), axis.scale), ("workload.chunk_size (KiB)", Scale::Log));
        let places: Vec<f64> = axes[0].values.iter().map(|v| axes[0].place(*v)).collect();
        assert_eq!(places, [16.0, 128.0, 1024.0]);
    }

    #[test]
    fn words_are_no_numbers() {
        let experiment = experiment("[[sweep]]\nprotocol.kind = [\"replicast-m\", \"uch-ccp\"]\n");
        let axes = of(&experiment);
        assert!(!axes[0].is_numeric());
        assert_eq!(label(&experiment.points[1], &axes), "uch-ccp");
    }
}
