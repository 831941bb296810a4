//! Rate limits as a value: [`TokenBucket`] says when an amount of data may pass.
//!
//! A node holds its disks and what it sends of chunks to the rates that `--disk-rate` and `--link-rate` name
//! with token buckets. (The request schedulers of Lustre are a study of their own,
//! `studies/lustre/schedulers`.)
//!
//! ```text
//!             rate                 take(now, size) --> the time at which all tokens are there
//!    tokens --------> | bucket |
//!                     | depth  |   paid_at(now)    --> the time at which nothing is owed any more
//! ```
//!
//! A bucket fills with tokens for bytes at its rate and holds what comes in `depth`. Nobody is refused: a
//! caller takes its tokens at once and waits until the returned time. So callers get the rate together, in
//! the order in which they ask, and only one number is kept, the time at which the bucket will be full again
//! (virtual scheduling, ITU-T I.371).
//!
//! ```
//! use slotcast_schedule::TokenBucket;
//! use slotcast_units::{Rate, Size, Span, Time};
//!
//! // 1 MB/s, with room for what comes in 2 ms: 2000 bytes.
//! let mut bucket = TokenBucket::new(Rate::from_bytes_per_s(1_000_000), Span::from_ms(2));
//! let now = Time::ZERO + Span::from_secs(1);
//!
//! // A full bucket lets 2000 bytes pass at once; the next 1000 wait for a millisecond.
//! assert_eq!(bucket.take(now, Size::from_bytes(2000)), now);
//! assert_eq!(bucket.take(now, Size::from_bytes(1000)), now + Span::from_ms(1));
//! assert_eq!(bucket.paid_at(now + Span::from_ms(3)), now + Span::from_ms(3));
//! ```
//!
//! What a bucket promises: over any time no more passes than the rate allows and what fills the bucket once;
//! times are cut to whole nanoseconds. Time is a parameter, and equal calls give equal times; the caller does
//! the waiting.
#![no_std]

mod bucket;

pub use bucket::TokenBucket;
