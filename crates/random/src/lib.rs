//! Streams of random numbers: named, all from one seed, and the same on every machine.
//!
//! ```
//! use slotcast_random::Streams;
//! use slotcast_units::Span;
//!
//! let streams = Streams::new(7);
//! let mut arrivals = streams.stream("arrivals", 3);
//! let gap = arrivals.exponential(Span::from_us(50));
//! assert_eq!(gap, streams.stream("arrivals", 3).exponential(Span::from_us(50)));
//! assert_ne!(arrivals, streams.stream("arrivals", 4));
//! ```
//!
//! Nothing here draws a seed: it is always given.
#![no_std]

#[cfg(test)]
extern crate alloc;

mod mix;
mod streams;
mod ziggurat;

pub use mix::fold;
pub use streams::{Stream, Streams};
