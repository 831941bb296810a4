//! What happens in one run, for whoever wants to look: an onlooker of the simulator for each purpose.
//!
//! * [`write_events`] writes every executed event as a line.
//! * [`write_perfetto`] writes a trace for the Perfetto viewer.
//! * [`collect_series`] keeps what charts over time show, and a [`Timeline`] of reservations.

mod events;
mod perfetto;
mod series;
mod timeline;

pub use events::write_events;
pub use perfetto::{TraceSpan, TraceSpanError, write_perfetto};
pub use series::{MOST_BINS, MeanAndMax, RunSeries, SeriesCollector, SeriesSpec, collect_series};
pub use timeline::{Timeline, TimelineBar, TimelineSpec, WindowState};
