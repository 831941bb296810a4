//! Settings: the keys that a model can be given, and the one reader of files and arguments that give
//! them.
//!
//! A model has a [`Schema`]: a row for each key with its kind, range, default and meaning. Input files,
//! `--set`, `--axis`, sweeps, `explain` and the lists of keys all go through it, so they say and accept
//! the same for every model. [`CLUSTER`] is the schema of the simulated cluster.

mod argument;
mod conditions;
mod draft;
mod field;
mod kind;
mod number;
mod points;
mod ranges;
mod read;
mod schema;
mod sections;
mod sound;
mod sources;
mod table;
#[cfg(test)]
mod tests;
pub(crate) mod toml_value;

pub use draft::Draft;
pub use field::{Choice, Field};
pub use kind::{Kind, Range, Value, Word, Words, choice, count, rate, share, size, span};
pub use points::{MAX_POINTS, Point, Points, SweptAxis};
pub use schema::{
    AddBlock, Blocks, Described, MORE_THAN_0, Only, Schema, Setting, Settings, needed,
};
pub use table::CLUSTER;
