//! The points of a sweep, each of which can run.

use std::sync::Arc;

use slotcast_sim::ScenarioError;

use super::draft::{Draft, SweepBlock};
use super::kind::Value;
use super::schema::needed;
use crate::input_error::{InputError, Origin};

/// More points than this are a slip, not an experiment.
pub const MAX_POINTS: usize = 10_000;

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct Point<S = slotcast_sim::Scenario> {
    /// The keys that the sweep varies, with their values at this point.
    pub swept: Vec<(&'static str, Value)>,
    /// What is simulated.
    pub scenario: S,
}

impl<S> Point<S> {
    /// `protocol.kind=replicast-m disk.rate=400MiB/s`; empty without a sweep.
    pub fn label(&self) -> String {
        let parts: Vec<_> =
            self.swept.iter().map(|(key, value)| format!("{key}={value}")).collect();
        parts.join(" ")
    }

    /// The value of a swept key, as text.
    pub fn value(&self, key: &str) -> Option<String> {
        self.swept.iter().find(|(swept, _)| *swept == key).map(|(_, value)| value.to_string())
    }

    /// The same point of what `of` makes of its scenario.
    pub fn map<T>(self, of: impl FnOnce(S) -> T) -> Point<T> {
        Point { swept: self.swept, scenario: of(self.scenario) }
    }
}

/// Settings that advance together in a sweep.
#[derive(Debug, Clone)]
pub struct SweptAxis {
    /// Which keys; never empty.
    pub keys: Vec<&'static str>,
    /// One row for each step, with a value for each key.
    pub rows: Vec<Vec<Value>>,
}

impl SweptAxis {
    fn of<C>(block: &SweepBlock<C>) -> SweptAxis {
        let rows = 0..block.length();
        SweptAxis {
            keys: block.axes.iter().map(|axis| axis.setting.key).collect(),
            rows: rows
                .map(|row| block.axes.iter().map(|axis| axis.values[row].0).collect())
                .collect(),
        }
    }
}

/// What a [`Draft`] comes to.
#[derive(Debug, Clone)]
pub struct Points<C> {
    /// What holds apart from the sweep.
    pub base: C,
    /// What is swept: the points are these crossed, the last one varying fastest.
    pub axes: Vec<SweptAxis>,
    /// The points of the sweep; one point without a sweep.
    pub points: Vec<Point<C>>,
}

impl<C: Clone + Default> Draft<C> {
    /// Crosses the blocks of the sweep, and checks every point.
    ///
    /// # Errors
    /// If there are too many points, or one of them cannot be run.
    pub fn points(&self) -> Result<Points<C>, Box<InputError>> {
        let count = self.sweep.iter().try_fold(1usize, |n, block| n.checked_mul(block.length()));
        let count = count.filter(|&n| n <= MAX_POINTS).ok_or_else(|| {
            let message = format!("the sweep has more than {MAX_POINTS} points; expected fewer");
            InputError::whole(&self.source, message)
        })?;
        let base = self.base();
        let mut points = Vec::with_capacity(count);
        for index in 0..count {
            let mut point = Point { swept: Vec::new(), scenario: base.clone() };
            for (block, row) in self.rows_at(index) {
                for axis in &block.axes {
                    let (value, _) = axis.values[row];
                    axis.setting.set(&mut point.scenario, value);
                    point.swept.push((axis.setting.key, value));
                }
            }
            (self.schema.check)(&point.scenario)
                .map_err(|error| self.impossible(&error, index, &point))?;
            points.push(point);
        }
        self.check_effects(&points)?;
        Ok(Points { base, axes: self.sweep.iter().map(SweptAxis::of).collect(), points })
    }

    /// A setting that was given must have an effect at one of the points. Where the command line has made
    /// another choice than a file, what goes with the file's choice may stay.
    fn check_effects(&self, points: &[Point<C>]) -> Result<(), Box<InputError>> {
        let axes = self.sweep.iter().flat_map(|block| &block.axes);
        let axes = axes.map(|axis| (axis.setting, &axis.key));
        let settings = self.settings.values().map(|given| (given.setting, &given.origin));
        for (setting, origin) in settings.chain(axes) {
            let of_file = |origin: &Origin| Arc::ptr_eq(&origin.source, &self.source);
            let chosen = setting.only.iter().filter_map(|(key, _)| self.origin(key, 0));
            if of_file(origin) && chosen.into_iter().any(|chosen| !of_file(chosen)) {
                continue;
            }
            let lacking = points.iter().map(|point| self.schema.lacks(setting, &point.scenario));
            let Some(lacking) = lacking.collect::<Option<Vec<_>>>() else { continue };
            let (other, values) = lacking[0];
            let message = format!("`{}` has no effect without `{other}`", setting.key);
            let label =
                format!("expected `{other}` to be {}, or this not to be set", needed(values));
            return Err(origin.error(message, label));
        }
        Ok(())
    }

    /// Points at the line that set the key which the model rejects.
    fn impossible(&self, error: &ScenarioError, index: usize, point: &Point<C>) -> Box<InputError> {
        let message = match point.swept.is_empty() {
            true => error.to_string(),
            false => format!("{error} (at the point {})", point.label()),
        };
        let default = self.schema.find(error.key).and_then(|setting| setting.default());
        let help = default
            .map(|value| format!("`{}` is not set in the file; its default is {value}", error.key));
        self.error(error.key, index, message, error.problem.clone(), help)
    }
}

impl<C: Default> Draft<C> {
    /// What is set apart from the sweep.
    pub(super) fn base(&self) -> C {
        let mut base = C::default();
        if let Some(blocks) = &self.schema.blocks {
            for block in &self.blocks {
                (blocks.add)(&mut base, &block.name, &|one| {
                    block.settings.iter().for_each(|given| given.setting.set(one, given.value));
                });
            }
        }
        self.settings.values().for_each(|given| given.setting.set(&mut base, given.value));
        base
    }
}
