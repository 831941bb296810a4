//! An experiment: a configuration, and the axes along which it is varied.

mod axis;
mod draft;
mod read;

use std::path::Path;

use slotcast_sim::{Scenario, ScenarioError};
use slotcast_units::Share;

use crate::configuration::{Configuration, Seeds, Statistics, WarmupRule};
use crate::input_error::{InputError, Source};
use crate::setting::{self, Setting, Value};
use draft::{Block, Draft};

/// More points than this are a slip, not an experiment.
pub const MOST_POINTS: usize = 10_000;

/// A checked experiment: every point of it can run.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Short name; the file's name if it says none.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// Some lines for people.
    pub description: Option<String>,
    /// The seeds that every point runs with.
    pub seeds: Seeds,
    /// How the start of a run is dealt with, and when there are seeds enough.
    pub statistics: Statistics,
    /// The points of the sweep, the last block varying fastest; one point without a sweep.
    pub points: Vec<Point>,
    /// Whether there is a sweep.
    pub is_sweep: bool,
    /// What is swept: the points are these crossed, the last one varying fastest.
    pub axes: Vec<SweptAxis>,
}

/// Settings that advance together in a sweep.
#[derive(Debug, Clone)]
pub struct SweptAxis {
    /// Which settings; never empty.
    pub settings: Vec<&'static Setting>,
    /// One row for each step, with a value for each setting.
    pub rows: Vec<Vec<Value>>,
}

/// One point of a sweep.
#[derive(Debug, Clone)]
pub struct Point {
    /// The settings that the sweep varies, with their values at this point.
    pub swept: Vec<(&'static Setting, Value)>,
    /// What is simulated.
    pub scenario: Scenario,
}

impl Point {
    /// `protocol.kind=replicast-m disk.rate=400MiB/s`; empty without a sweep.
    pub fn label(&self) -> String {
        let parts: Vec<_> =
            self.swept.iter().map(|(s, value)| format!("{}={value}", s.key)).collect();
        parts.join(" ")
    }
}

impl Experiment {
    /// Reads the experiment file at `path`; each of `overrides` is a `key=value` that goes before it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_file(path: &Path, overrides: &[String]) -> Result<Experiment, Box<InputError>> {
        Experiment::from_file_with_axes(path, overrides, &[])
    }

    /// Reads the experiment file at `path`, with further axes as in
    /// [`from_toml_with_axes`](Experiment::from_toml_with_axes).
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_file_with_axes(
        path: &Path,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Experiment, Box<InputError>> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| {
            InputError::plain(format!("cannot read `{name}`: {error}"))
                .with_help(Some("expected the path of an experiment file (TOML)".into()))
        })?;
        Experiment::from_toml_with_axes(&name, &text, overrides, axes)
    }

    /// Reads the experiment in `text`, which errors call `name`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(
        name: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<Experiment, Box<InputError>> {
        Experiment::from_toml_with_axes(name, text, overrides, &[])
    }

    /// Reads the experiment in `text`, which errors call `name`; each of `axes` is a `key=a,b,c` that
    /// is swept whatever the file says of that key, crossed with the rest of the sweep.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml_with_axes(
        name: &str,
        text: &str,
        overrides: &[String],
        axes: &[String],
    ) -> Result<Experiment, Box<InputError>> {
        let source = Source::new(name, text);
        let mut draft = read::read(&source)?;
        for text in overrides {
            draft.set_from_argument(text)?;
        }
        for text in axes {
            draft.sweep_from_argument(text)?;
        }
        draft.finish()
    }

    /// The configuration of `point`, which must be one of this experiment's.
    pub fn configuration(&self, point: &Point) -> Configuration {
        Configuration {
            scenario: point.scenario.clone(),
            seeds: self.seeds,
            statistics: self.statistics,
        }
    }
}

impl Draft {
    /// Crosses the blocks, and checks every point.
    fn finish(self) -> Result<Experiment, Box<InputError>> {
        let mut base = Configuration::default();
        for given in self.settings.values() {
            given.setting.set(&mut base, given.value);
        }
        let count = self.sweep.iter().try_fold(1usize, |n, block| n.checked_mul(block.length()));
        let count = count.filter(|&n| n <= MOST_POINTS).ok_or_else(|| {
            InputError::whole(
                &self.source,
                format!("the sweep has more than {MOST_POINTS} points; expected fewer"),
            )
        })?;

        let mut points = Vec::with_capacity(count);
        for index in 0..count {
            let mut configuration = base.clone();
            let mut swept = Vec::new();
            let choices = self.choices_at(index);
            for (block, row) in &choices {
                for axis in &block.axes {
                    let (value, _) = &axis.values[*row];
                    axis.setting.set(&mut configuration, *value);
                    swept.push((axis.setting, *value));
                }
            }
            let point = Point { swept, scenario: configuration.scenario };
            slotcast_sim::check(&point.scenario)
                .map_err(|error| self.impossible(&error, index, &point))?;
            points.push(point);
        }
        self.check_statistics(&base)?;
        Ok(Experiment {
            name: self.name,
            title: self.title,
            description: self.description,
            seeds: base.seeds,
            statistics: base.statistics,
            is_sweep: !self.sweep.is_empty(),
            axes: self.sweep.iter().map(Block::swept).collect(),
            points,
        })
    }

    /// Whether the rules for warm-up and precision fit what else is said.
    fn check_statistics(&self, base: &Configuration) -> Result<(), Box<InputError>> {
        let Statistics { warmup, precision, max_seeds, .. } = base.statistics;
        let wrong = |key: &str, message: String, label: &str| {
            Err(match self.origin(key, 0) {
                Some(origin) => origin.error(message, label),
                None => InputError::whole(&self.source, message).with_help(Some(label.into())),
            })
        };
        let swept = |key| {
            self.sweep.iter().flat_map(|block| &block.axes).any(|axis| axis.setting.key == key)
        };
        if warmup == WarmupRule::Found && swept("run.warmup") {
            let message = "run.warmup: a warm-up that is found cannot be swept";
            let label = "leave it out, or set `statistics.warmup` to \"as-set\"";
            return wrong("run.warmup", message.into(), label);
        }
        if precision > Share::ZERO && base.seeds.count > max_seeds {
            let message =
                format!("{} seeds are more than the bound of {max_seeds}", base.seeds.count);
            let label = "expected `statistics.max_seeds` to be at least `seeds.count`";
            return wrong("statistics.max_seeds", message, label);
        }
        Ok(())
    }

    /// Points at the line that set the key which the simulator rejects.
    fn impossible(&self, error: &ScenarioError, index: usize, point: &Point) -> Box<InputError> {
        let message = if point.swept.is_empty() {
            error.to_string()
        } else {
            format!("{error} (at the point {})", point.label())
        };
        if let Some(origin) = self.origin(error.key, index) {
            return origin.error(message, error.problem.clone());
        }
        let default = setting::find(error.key).map(|s| s.default().to_string());
        let help = default
            .map(|value| format!("`{}` is not set in the file; its default is {value}", error.key));
        InputError::whole(&self.source, message).with_help(help)
    }
}
