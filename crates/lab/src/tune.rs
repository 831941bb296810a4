//! Tuning: the settings of an experiment that make one of its metrics best.
//!
//! * [`Tuning`] is what a file asks for: an experiment, knobs with their ranges, a goal and limits.
//! * [`Search`] has the settings that an optimiser proposes simulated, and keeps every run in a folder, as a sweep
//!   does: the same command goes on where it was stopped.
//! * [`TuneReport`] says what was found, measured again with seeds that the search has not seen.

mod file;
mod goal;
mod knob;
mod report;
mod search;

pub use file::{Tuning, TuningOptions};
pub use goal::{Constraint, Goal};
pub use knob::{Knob, Settings};
pub use report::{Comparison, Measurement, Trial, TuneReport};
pub use search::{Found, Search, SearchEnd, SearchProgress};
