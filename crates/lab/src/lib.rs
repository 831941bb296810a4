//! Experiments: what is varied, how often each point runs, with what precision, and how results compare.
//!
//! The lab turns a file into figures with confidence intervals. It knows settings, replications and
//! statistics; what a run does is the simulator's (`slotcast-sim`), and what a report looks like is
//! `slotcast-report`'s.
//!
//! ```text
//!    TOML, key=value --> Experiment --> Runner::study --> Study --> SimReport --> Comparison
//!                         points x seeds    warm-up,       Metrics    JSON           of two
//!                                           threads        per point
//! ```
//!
//! * [`mod@setting`] has a schema of the keys of each model, and one reader for files and `key=value`.
//! * [`Experiment`] is read and checked as a whole before anything runs. A sweep makes several points of it.
//! * [`Runner`] runs every point with every seed on its threads; [`Runner::study`] also finds or checks the
//!   warm-up and adds seeds until the figures are as precise as the experiment asks.
//! * [`Metrics`] are figures over the seeds, each an [`Estimate`] with its 95 % confidence interval.
//! * [`Comparison`] holds two results against each other, seed by seed where they share seeds.
//! * [`sweep`] keeps every finished run in a folder, resumes an interrupted sweep, and finds the knee.
//! * [`Cancelled`] ends runs that are under way.
//! * [`tune`] searches for the settings that make a metric best, within limits.
//! * [`Evaluation`] is a published evaluation; [`Prepared::run`] repeats it.
//! * [`SimReport`] and [`ReproduceReport`] are the documented JSON of both.
//!
//! ```
//! use slotcast_lab::{Completions, Experiment, InputError, Runner};
//!
//! let text = r#"
//!     [cluster]
//!     initiators = 9
//!     targets = 9
//!     [run]
//!     length = "6ms"
//!     warmup = "2ms"
//!     [seeds]
//!     count = 3
//!     [[sweep]]
//!     protocol.kind = ["replicast-m", "uch-ccp"]
//! "#;
//! let experiment = Experiment::from_toml("example.toml", text, &[])?;
//! let study = Runner::new(Some(2))?.study(&experiment, Completions::Drop, &())?;
//! assert_eq!(study.points.len(), 2, "one for each protocol");
//! for point in &study.points {
//!     assert_eq!(point.runs.len(), 3, "one for each seed");
//!     let rate = point.metrics.chunks_per_s;
//!     assert!(rate.value > 0.0 && rate.ci95.is_some());
//! }
//!
//! // An error has the place and the remedy.
//! let wrong = Experiment::from_toml("example.toml", "[cluster]\ntargetz = 9", &[]).unwrap_err();
//! assert!(wrong.to_string().contains("targetz"));
//! # Ok::<(), Box<InputError>>(())
//! ```
//!
//! One run is one thread, and results are in the order of points and seeds, so they do not depend on the
//! number of threads. Intervals hold for independent runs: they say nothing of what the model leaves out.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod cancel;
mod comparison;
mod configuration;
mod cost;
mod estimate;
mod evaluation;
mod experiment;
mod input_error;
mod input_file;
mod load;
mod metrics;
pub mod nearest;
pub mod paired;
mod precision;
pub mod published;
mod quantile;
mod repeated;
mod report;
mod runner;
pub mod setting;
mod statement;
mod study;
pub mod sweep;
mod tail;
mod theory;
pub mod tune;
mod warmup;

pub use cancel::Cancelled;
pub use comparison::{
    Compared, Comparison, Judgement, MetricComparison, PointComparison, SettingDifference, Verdict,
};
pub use configuration::{Configuration, Seeds, Statistics, WarmupRule};
pub use cost::{Cost, RunCost};
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
pub use quantile::{part_beyond, quantile};
pub use repeated::{Nearest, Repeated};
pub use report::{PointReport, ReproduceReport, RunSummary, SCHEMA, SimReport};
pub use runner::{
    Completions, Execution, Mismatch, Progress, Runner, UNITS_PER_RUN, Watch, combined_hash,
    mismatches, mix,
};
pub use setting::{MAX_POINTS, Point, SweptAxis};
pub use statement::{Judged, NotRun, Repetition, Statement};
pub use study::{Closing, Onlooker, Study};
pub use tail::{TailAtScale, at_least_one_beyond};
pub use theory::{DiskWaitTheory, LittleReport, LittleTheory, Theory};
pub use warmup::{Batches, Pilots, Settling, Warmup, mser};
