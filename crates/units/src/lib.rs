//! Quantities of the simulated and the real cluster, as integers with a unit.
//!
//! Every other crate speaks of time, bytes, rates and fractions in these types. So no number passes from one
//! to another without its unit, and times are exact and the same on every machine.
//!
//! | type | unit | written | arithmetic |
//! |---|---|---|---|
//! | [`Time`] | nanoseconds since the start of a clock | `12.5ms` | `Time + Span`, `Time - Time` gives a [`Span`] |
//! | [`Span`] | nanoseconds between two times | `2.424us` | `+`, `-`, `* u64`, `/ u64`, `/ Span` |
//! | [`Size`] | bytes | `128KiB`, `300B`, `1MB` | `+`, `-`, `* u64`, `/ Size` |
//! | [`Rate`] | bits per second | `10Gbps`, `400MiB/s` | [`Rate::time_for`] a size, [`Rate::bits_in`] a span |
//! | [`Share`] | parts per million of a whole | `90%`, `0.5%` | [`Rate::share`], [`Share::rest`] |
//!
//! ```
//! use slotcast_units::{ParseError, Rate, Share, Size, Span, Time};
//!
//! let link: Rate = "10Gbps".parse()?;
//! let overhead: Share = "1%".parse()?;
//! let chunk: Size = "128KiB".parse()?;
//!
//! // How long a chunk takes on what the headers leave of the link.
//! let transfer = link.share(overhead.rest()).time_for(chunk);
//! assert_eq!(transfer.to_string(), "105.916us");
//! assert_eq!(transfer, Span::from_ns(105_916));
//! assert_eq!(Time::ZERO + transfer, Time::from_ns(105_916));
//!
//! // What is wrong, and what would be right.
//! let error = "10 parsecs".parse::<Span>().unwrap_err();
//! assert!(error.to_string().contains("parsecs"));
//! # Ok::<(), ParseError>(())
//! ```
//!
//! What the types promise:
//!
//! * What is printed parses back to the same value.
//! * A text that is not a whole number of the smallest unit is an error, not rounded: `0.5ns` is refused.
//! * The operators `+`, `-` and `*` panic in every build if the result leaves the range of the type: a
//!   wrapped time is a wrong simulation. The constructors (`from_ms` and the like) check this in debug builds
//!   only.
//! * Where a bound is wanted instead of a panic there are `saturating_` methods.
//!
//! Divisions and rates round down, to whole nanoseconds, bits or bits per second.
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
