//! Looks into a single run: its events, a trace for the Perfetto viewer, and figures over time.
//!
//! A report sums a run up; this crate shows what happened in it. Each function runs a scenario of
//! `slotcast-sim` once more with an [`Observer`](slotcast_sim::Observer), which changes nothing about the
//! run.
//!
//! | function | output | for |
//! |---|---|---|
//! | [`write_events`] | a line for every executed event | `--events`, `diff` of two runs |
//! | [`write_perfetto`] | Chrome trace JSON of a [`TraceSpan`] | `--trace`, the Perfetto viewer |
//! | [`collect_series`] | [`RunSeries`]: utilisation and queues over time, a [`Timeline`] | charts of `--report` |
//!
//! ```
//! use slotcast_lab::InputError;
//! use slotcast_sim::Scenario;
//! use slotcast_trace::{SeriesSpec, collect_series, write_events};
//! use slotcast_units::Span;
//!
//! let mut scenario = Scenario::default();
//! (scenario.cluster.initiators, scenario.cluster.targets) = (3, 9);
//! (scenario.run.length, scenario.run.warmup) = (Span::from_ms(4), Span::from_ms(1));
//!
//! // A header, and a line for each event.
//! let mut lines = Vec::new();
//! write_events(&scenario, 7, &mut lines, &|_| ())?.expect("memory takes all lines");
//! let lines = String::from_utf8(lines).expect("text");
//!
//! let (report, series) = collect_series(&scenario, 7, &SeriesSpec::new(&scenario), &|_| ())?;
//! assert_eq!(lines.lines().count() as u64, 1 + report.events);
//! assert_eq!(series.disk_utilization.mean.len(), 200, "one value for each bin");
//! assert!(!series.timeline.bars.is_empty(), "reservations after the warm-up");
//! # Ok::<(), Box<InputError>>(())
//! ```
//!
//! Series and timelines take memory by their number of bins, targets and bars, whatever the length of the
//! run. A trace is written as it arises: memory does not grow with the run, and the output is 5 to 15 kB per
//! request. `docs/simulate/traces.md` says how to read them.

mod events;
mod perfetto;
mod series;
mod timeline;

pub use events::write_events;
pub use perfetto::{TraceSpan, TraceSpanError, write_perfetto};
pub use series::{MAX_BINS, MeanAndMax, RunSeries, SeriesCollector, SeriesSpec, collect_series};
pub use timeline::{Timeline, TimelineBar, TimelineSpec, WindowState};
