//! The wire form of the messages: one datagram each, of a fixed little-endian layout.
//!
//! # Layout
//!
//! A datagram is a header and a body. Offsets are from the start of the datagram, in bytes; every
//! number is unsigned and little-endian; nothing is padded. A set of positions (`u64`, bit *i* for
//! position *i*) and a time (`u64`, nanoseconds of the sender's clock) look the same everywhere. A
//! request is its initiator and its serial, `u32` each; a window is its start and its end, a time
//! each; a term is its count (`u32`) and the position of its proxy (`u8`).
//!
//! Header:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 0 | 2 | magic: the letters `RC` |
//! | 2 | 1 | version: 2 |
//! | 3 | 1 | kind of message: 1 to 16, as numbered below |
//! | 4 | 2 | length of the body |
//! | 6 | 4 | epoch: version of the sender's cluster map |
//! | 10 | 4 | sender: its node number |
//! | 14 | 8 | sent at: time of sending |
//! | 22 | 4 | CRC-32 (IEEE) of bytes 0 to 21 and of the body |
//!
//! Body of 1, put-request:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 4 | group |
//! | 39 | 8 | skip: set of positions |
//! | 47 | 32 | chunk: its name |
//! | 79 | 8 | size of the chunk |
//! | 87 | 8 | not before: time |
//! | 95 | 1 | wanted replicas: 1 to 8; 0x10 is added where names want the chunk kept, and nobody else |
//!
//! Body of 2, bid:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 1 | position |
//! | 36 | 1 | answer: 1 a window, 2 already stored, 3 not now, 4 raising, 5 unavailable, 6 full |
//! | 37 | 24 | with answer 1: the window (16), and the backlog, in nanoseconds (8) |
//! | 37 | 8 | with answer 3: retry after, in nanoseconds |
//!
//! Body of 3, put-accept:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 1 | delivery: 1 multicast, 2 unicast |
//! | 36 | 1 | n: the number of grants, 0 to 8 |
//! | 37 | 17n | the grants: a position (1) and a window (16) each |
//!
//! Body of 4, replica-ack:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | position |
//! | 35 | 1 | outcome: 1 stored, 2 no reservation, 3 damaged, 4 disk failed |
//!
//! Body of 5, get-request:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 4 | group |
//! | 39 | 8 | skip: set of positions |
//! | 47 | 32 | chunk: its name |
//! | 79 | 8 | not before: time |
//!
//! Body of 6, offer:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 1 | position |
//! | 36 | 1 | answer: 1 a window, 2 not held, 3 not now, 5 unavailable |
//! | 37 | 24 | with answer 1: the window (16), and the size of the chunk (8) |
//! | 37 | 8 | with answer 3: retry after, in nanoseconds |
//!
//! Body of 7, get-accept:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 1 | n: the number of grants, 0 or 1 |
//! | 36 | 17n | the grant: a position (1) and a window (16) |
//!
//! Body of 8, undelivered:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | position |
//!
//! Body of 9, late-reject:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 1 | position |
//!
//! Body of 10, proxy-request:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 4 | group |
//! | 39 | 8 | skip: set of positions |
//! | 47 | 32 | chunk: its name |
//! | 79 | 8 | size of the chunk |
//! | 87 | 8 | not before: time |
//! | 95 | 1 | wanted replicas: 1 to 8 |
//! | 96 | 5 | over: a term |
//! | 101 | 1 | n: the number of taken windows, 0 to 4 |
//! | 102 | 16n | the taken windows |
//!
//! Body of 11, proxy-reply:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 5 | term |
//! | 40 | 1 | answer: 1 granted, 2 moved, 3 not now |
//! | 41 | 24 | with answer 1: the window (16), and the members (8) |
//! | 41 | 8 | with answer 3: retry after, in nanoseconds |
//!
//! Body of 12, proxy-notice:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | round |
//! | 35 | 4 | group |
//! | 39 | 5 | term |
//! | 44 | 8 | skip: set of positions |
//! | 52 | 32 | chunk: its name |
//! | 84 | 8 | size of the chunk |
//! | 92 | 16 | window |
//! | 108 | 8 | members: set of positions |
//!
//! Body of 13, proxy-query:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 4 | group |
//! | 38 | 5 | term |
//!
//! Body of 14, proxy-report:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 4 | group |
//! | 38 | 1 | position |
//! | 39 | 5 | term |
//! | 44 | 1 | occasion: 1 received, 2 asked |
//! | 45 | 8 | free from: time |
//! | 53 | 8 | disk done: time |
//! | 61 | 8 | rate of the disk, in bits per second |
//!
//! Body of 15, find-request:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 4 | group |
//! | 38 | 32 | chunk: its name |
//!
//! Body of 16, find-reply:
//!
//! | offset | size | field |
//! |---:|---:|---|
//! | 26 | 8 | request |
//! | 34 | 1 | position |
//! | 35 | 1 | answer: 1 held, 2 not held |
//! | 36 | 9 | with answer 1: the size of the chunk (8), and the wanted replicas: 1 to 8 (1) |
//!
//! # What a receiver may rely on
//!
//! [`decode`] believes nothing: [`WireError`] lists what it refuses. What it lets through has times
//! below [`TIME_LIMIT`], windows that end after they start, chunks of 1 byte to [`MAX_CHUNK`],
//! positions below [`Members::CAPACITY`](crate::Members::CAPACITY), and no two grants to one
//! position. There is exactly one encoding of a message, so what was decoded encodes to the same
//! bytes again. Whether a group or a position exists in *this* cluster, only the machines know.
//!
//! The checksum finds damage, not malice: it is no signature.

mod decode;
mod encode;
mod error;
mod layout;
#[cfg(test)]
mod tests;

use slotcast_units::{Size, Time};

pub use decode::decode;
pub use encode::{encode, encoded_len};
pub use error::WireError;
pub use layout::{HEADER_LEN, MAX_ENCODED_LEN};

/// What every datagram says besides its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The version of the cluster map that the sender acts on.
    pub epoch: u32,
    /// The sender's node number.
    pub sender: u32,
    /// When it was sent, on the sender's clock; with it the receiving host translates the times in
    /// the message to its own clock.
    pub sent_at: Time,
}

/// Times and waits in a datagram are below this: 2^62 ns, 146 years.
///
/// A quarter of what [`Time`] holds, so that a machine can add a wait to a time, and then widths,
/// gaps and timeouts, without leaving the clock.
pub const TIME_LIMIT: Time = Time::from_ns(1 << 62);

/// The largest chunk that a message can name. What a link carries in tens of milliseconds: a larger
/// chunk would block its receiver, and should be several.
pub const MAX_CHUNK: Size = Size::from_mib(64);
