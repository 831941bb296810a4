//! What is measured while a simulation runs. All sums are kept in integers where the values are
//! integers, so that the order of additions cannot change a result.

mod counter;
mod gauge;
mod latencies;
mod little;
mod queueing;
mod station;
mod tally;
mod usage;

pub use counter::Counter;
pub use gauge::Gauge;
pub use latencies::{Latency, PooledLatencies, SortedLatencies};
pub use little::Little;
pub use queueing::Queueing;
pub use station::FifoStation;
pub use tally::Tally;
pub use usage::{Resource, Usage};
