//! A Lustre experiment: a scenario, and the axes along which it is varied.

use std::path::Path;

use slotcast_lab::setting::{Draft, Points, Settings};
use slotcast_lab::{InputError, Point, Seeds};

use super::table::{LUSTRE, Stated};
use crate::LustreScenario;

/// What a Lustre experiment can set.
pub static SETTINGS: &dyn Settings = &LUSTRE;

/// A checked experiment: every point of it can run.
#[derive(Debug, Clone)]
pub struct LustreExperiment {
    /// Short name; the file's name if it says none.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// The seeds that every point runs with.
    pub seeds: Seeds,
    /// The points of the sweep, the last block varying fastest; one point without a sweep.
    pub points: Vec<LustrePoint>,
}

/// One point of a sweep.
pub type LustrePoint = Point<LustreScenario>;

impl LustreExperiment {
    /// Reads the experiment file at `path`; each of `overrides` is a `key=value` that goes before it.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_file(
        path: &Path,
        overrides: &[String],
    ) -> Result<LustreExperiment, Box<InputError>> {
        LustreExperiment::of(LUSTRE.read_file(path, overrides, &[])?)
    }

    /// Reads the experiment in `text`, which errors call `name`.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place.
    pub fn from_toml(
        name: &str,
        text: &str,
        overrides: &[String],
    ) -> Result<LustreExperiment, Box<InputError>> {
        LustreExperiment::of(LUSTRE.read(name, text, overrides, &[])?)
    }

    fn of(draft: Draft<Stated>) -> Result<LustreExperiment, Box<InputError>> {
        let Points { base, points, .. } = draft.points()?;
        let points = points.into_iter().map(|point| point.map(|stated| stated.scenario()));
        let (name, title) = (draft.name, draft.title);
        Ok(LustreExperiment { name, title, seeds: base.seeds, points: points.collect() })
    }
}
