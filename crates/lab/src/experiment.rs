//! An experiment: a configuration, and the axes along which it is varied.

use std::path::Path;

use slotcast_units::Share;

use crate::configuration::{Configuration, Seeds, Statistics, WarmupRule};
use crate::input_error::InputError;
use crate::setting::{CLUSTER, Draft, Point, Points, SweptAxis};

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
        Experiment::of(&CLUSTER.read_file(path, overrides, axes)?)
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
        Experiment::of(&CLUSTER.read(name, text, overrides, axes)?)
    }

    fn of(draft: &Draft<Configuration>) -> Result<Experiment, Box<InputError>> {
        let Points { base, axes, points } = draft.points()?;
        check_statistics(draft, &base)?;
        let points = points.into_iter();
        Ok(Experiment {
            name: draft.name.clone(),
            title: draft.title.clone(),
            description: draft.description.clone(),
            seeds: base.seeds,
            statistics: base.statistics,
            is_sweep: !axes.is_empty(),
            axes,
            points: points.map(|point| point.map(|point| point.scenario)).collect(),
        })
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

/// Whether the rules for warm-up and precision fit what else is said.
fn check_statistics(
    draft: &Draft<Configuration>,
    base: &Configuration,
) -> Result<(), Box<InputError>> {
    let Statistics { warmup, precision, max_seeds, .. } = base.statistics;
    let wrong =
        |key, message, label: &str| Err(draft.error(key, 0, message, label, Some(label.into())));
    if warmup == WarmupRule::Found && draft.is_swept("run.warmup") {
        let message = "run.warmup: a warm-up that is found cannot be swept".into();
        let label = "leave it out, or set `statistics.warmup` to \"as-set\"";
        return wrong("run.warmup", message, label);
    }
    if precision > Share::ZERO && base.seeds.count > max_seeds {
        let message = format!("{} seeds are more than the bound of {max_seeds}", base.seeds.count);
        let label = "expected `statistics.max_seeds` to be at least `seeds.count`";
        return wrong("statistics.max_seeds", message, label);
    }
    Ok(())
}
