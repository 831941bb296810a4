use super::{HEADER_LEN, MAX_CHUNK, MAX_ENCODED_LEN, TIME_LIMIT};
use crate::message::MAX_REPLICAS;
use crate::window::Window;

/// Why a datagram was refused.
///
/// A datagram is looked at from its start, and the first fault counts: its length, the header, the
/// checksum, and only then what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Not even a header.
    #[error("a datagram of {0} bytes has no room for the header of {HEADER_LEN}")]
    TooShort(usize),
    /// Longer than any message.
    #[error("a datagram of {0} bytes is longer than any message, at most {MAX_ENCODED_LEN}")]
    TooLong(usize),
    /// Somebody else's datagram.
    #[error("the magic {0:#06x} is not that of Replicast")]
    Magic(u16),
    /// A sender of another version.
    #[error("version {0} of the wire form is not known")]
    Version(u8),
    /// Cut short, or with something appended.
    #[error("the header announces a body of {declared} bytes, and {actual} follow it")]
    Length {
        /// What the header says.
        declared: u16,
        /// What there is.
        actual: usize,
    },
    /// Damaged on the way.
    #[error("the checksum is {computed:#010x}, and not {declared:#010x}")]
    Checksum {
        /// What the header says.
        declared: u32,
        /// What it is.
        computed: u32,
    },
    /// An unknown kind of message.
    #[error("there is no message of kind {0}")]
    Kind(u8),
    /// The body ends within a field of its message.
    #[error("a body of {len} bytes is too short for its message of kind {kind}")]
    BodyTooShort {
        /// The kind of message.
        kind: u8,
        /// The length of the body.
        len: usize,
    },
    /// The body goes on after its message.
    #[error("{extra} bytes follow a message of kind {kind}")]
    TrailingBytes {
        /// The kind of message.
        kind: u8,
        /// How many bytes there are too many.
        extra: usize,
    },
    /// A field that chooses among alternatives holds none of them.
    #[error("the {field} {tag} is not known")]
    Tag {
        /// The field.
        field: &'static str,
        /// What it holds.
        tag: u8,
    },
    /// A position that no group has.
    #[error("position {0} is beyond the largest group")]
    Position(u8),
    /// More grants than replicas.
    #[error("{0} grants are more than {MAX_REPLICAS}")]
    TooManyGrants(u8),
    /// One position has two grants.
    #[error("position {0} is granted two windows")]
    DuplicateGrant(u8),
    /// A window without width.
    #[error("the window {0} does not end after it starts")]
    Window(Window),
    /// A time or a wait that cannot be computed with.
    #[error("{0} ns is not below the limit of times, {limit} ns", limit = TIME_LIMIT.as_ns())]
    Time(u64),
    /// A chunk of no bytes, or of too many.
    #[error("a chunk of {0} bytes is not between 1 byte and {MAX_CHUNK}")]
    ChunkSize(u64),
}
