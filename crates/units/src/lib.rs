//! Quantities of the simulated and the real cluster, as integers.
//!
//! | type | unit | written |
//! |---|---|---|
//! | [`Time`] | nanoseconds since the start of the clock | `12.5ms` |
//! | [`Span`] | nanoseconds between two times | `2.424us` |
//! | [`Size`] | bytes | `128KiB`, `300B`, `1MB` |
//! | [`Rate`] | bits per second | `10Gbps`, `400MiB/s` |
//! | [`Share`] | parts per million of a whole | `90%`, `0.5%` |
//!
//! What is printed parses back to the same value. Arithmetic that would leave the range of the type
//! panics in every build: a wrapped time is a wrong simulation.
#![no_std]

extern crate alloc;

mod decimal;
mod rate;
mod share;
mod size;
mod time;

pub use decimal::ParseError;
pub use rate::Rate;
pub use share::Share;
pub use size::Size;
pub use time::{Span, Time};
