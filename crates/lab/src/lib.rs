//! Experiments: what they say, how often they run, what comes out, and how that compares with what
//! was published.
//!
//! * [`setting`] is the one table of everything that can be set.
//! * [`Experiment`] is read from a TOML file and checked as a whole before anything runs.
//! * [`Runner`] runs every point of an experiment with every seed, side by side.
//! * [`Metrics`] are means over the seeds with 95 % confidence intervals.
//! * [`CATALOGUE`] names the published evaluations; [`Prepared::run`] repeats one.
//! * [`SimReport`] and [`ReproduceReport`] are the documented JSON of both.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod catalogue;
mod choosy;
mod configuration;
mod estimate;
mod evaluation;
mod experiment;
mod input_error;
mod metrics;
mod nearest;
mod proxy;
pub mod published;
mod replicast;
mod report;
mod runner;
pub mod setting;
mod trace;

pub use catalogue::{CATALOGUE, evaluation};
pub use configuration::{Configuration, Seeds};
pub use estimate::{Estimate, Spread};
pub use evaluation::{
    Claim, Evaluation, Figure, Figures, Findings, Measured, Mode, Outcome, Part, Prepared, Row,
    Series,
};
pub use experiment::{Experiment, MOST_POINTS, Point};
pub use input_error::InputError;
pub use metrics::{LatencyMetrics, Metrics, named_counts, total_counts};
pub use report::{PointReport, ReproduceReport, RunSummary, SCHEMA, SimReport};
pub use runner::{
    Completions, Execution, Mismatch, Progress, Runner, UNITS_PER_RUN, combined_hash, mismatches,
};
pub use trace::write_trace;
