//! Adaptive timeouts: how long a server takes is estimated from how long it took, and clients wait
//! accordingly.
//!
//! A round trip is the network's time and the service time at the server, queue included; only the
//! second varies much (seed 003, "Adaptive timeout algorithm"). The server keeps a [`SlidingWindow`]
//! of records, an [`Estimator`] says what the next request must expect, the client makes its
//! [`ClientTimeout`] from that, and [`EarlyReplies`] grant more time when the estimate was too low.

mod client;
mod early;
mod estimator;
mod window;

pub use client::ClientTimeout;
pub use early::{EarlyReplies, EarlyRule, Extension};
pub use estimator::{Estimator, EstimatorKind, Finished};
pub use window::SlidingWindow;
