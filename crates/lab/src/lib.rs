//! Experiments: what they say, how often they run, what comes out, and how that compares with what
//! was published.
//!
//! * [`mod@setting`] has the keys of a model, and the one reader of what gives them values.
//! * [`Experiment`] is read from a TOML file and checked as a whole before anything runs.
//! * [`Runner`] runs every point of an experiment with every seed, side by side.
//! * [`Runner::study`] does what an experiment asks for: warm-up, seeds until the figures are precise.
//! * [`Metrics`] are figures over the seeds with 95 % confidence intervals.
//! * [`Comparison`] holds two results against each other.
//! * [`sweep`] keeps every finished run, goes on where it was stopped, and names the knee.
//! * [`Evaluation`] is a published evaluation; [`Prepared::run`] repeats one.
//! * [`SimReport`] and [`ReproduceReport`] are the documented JSON of both.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod comparison;
mod configuration;
mod estimate;
mod evaluation;
mod experiment;
mod input_error;
mod load;
mod metrics;
pub mod nearest;
pub mod paired;
mod precision;
pub mod published;
mod report;
mod runner;
pub mod setting;
mod study;
pub mod sweep;
mod tail;
mod theory;
mod warmup;

pub use comparison::{
    Compared, Comparison, Judgement, MetricComparison, PointComparison, SettingDifference, Verdict,
};
pub use configuration::{Configuration, Seeds, Statistics, WarmupRule};
pub use estimate::{Estimate, Spread};
pub use evaluation::{
    Claim, Done, Evaluation, Figure, FigureKind, Figures, Findings, Measured, Mode, Model, Outcome,
    Part, Prepare, Prepared, Row, Runs, Series,
};
pub use experiment::Experiment;
pub use input_error::{InputError, Origin, Source};
pub use load::{LoadMetrics, LoadReport, SECTIONS, Section, Served};
pub use metrics::{
    Better, LatencyMetrics, Metric, Metrics, metric_definitions, named_counts, run_metrics,
    total_counts,
};
pub use precision::{Precision, Reached, Stopped};
pub use report::{PointReport, ReproduceReport, RunSummary, SCHEMA, SimReport};
pub use runner::{
    Completions, Execution, Mismatch, Progress, Runner, UNITS_PER_RUN, Watch, combined_hash,
    mismatches, mix,
};
pub use setting::{MOST_POINTS, Point, SweptAxis};
pub use study::{Closing, Onlooker, Study};
pub use tail::{TailAtScale, at_least_one_beyond};
pub use theory::{DiskWaitTheory, LittleReport, LittleTheory, Theory};
pub use warmup::{Batches, Pilots, Settling, Warmup, mser};
