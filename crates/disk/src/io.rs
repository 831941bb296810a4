//! Disk operations, their results and errors.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::content::Content;

/// A segment, by number: a file of its own. Numbers only grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId(pub u32);

/// A disk operation, to tell its result from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(pub u64);

/// A disk operation. Operations may be carried out in any order and side by side; the store asks for
/// one only after those that must come before it are done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Which segments are there? Answered by [`Output::Segments`].
    List,
    /// Make a segment with room for `length` bytes, all of them zero. Done when the segment would be
    /// found after a crash. The room should be reserved, so that a disk is found full now and not later.
    Create {
        /// The new segment.
        segment: SegmentId,
        /// Its length in bytes.
        length: u64,
    },
    /// Write the parts one after another; done when they are on stable storage.
    Write {
        /// Where.
        segment: SegmentId,
        /// First byte.
        offset: u64,
        /// What, in order.
        parts: Vec<Bytes>,
    },
    /// Zero everything from `offset` on, and give the segment this length, whatever it had; done when
    /// both are on stable storage, and all that was written before `offset`. Where there is no room for the length
    /// ([`DiskError::Full`]) the rest is done.
    Cut {
        /// Which.
        segment: SegmentId,
        /// The first byte to be zero.
        offset: u64,
        /// Its length in bytes.
        length: u64,
    },
    /// Read. Answered by [`Output::Bytes`], shorter only where the segment ends.
    Read {
        /// Where.
        segment: SegmentId,
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// Read, and hash what was read. Answered by [`Output::Content`].
    ReadContent {
        /// Where.
        segment: SegmentId,
        /// First byte.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// Delete a segment; if it is not there any more that is as good. Done when it would not be found
    /// after a crash.
    Delete {
        /// Which.
        segment: SegmentId,
    },
}

/// The result of an operation that went well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// It is done.
    Done,
    /// The segments that are there, in any order.
    Segments(Vec<SegmentId>),
    /// What was read.
    Bytes(Bytes),
    /// What was read, with its hash.
    Content(Content),
}

/// Why an operation went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DiskError {
    /// There is no room (`ENOSPC`, `EDQUOT`).
    #[error("the disk is full")]
    Full,
    /// Nothing can be written (`EROFS`).
    #[error("the file system is read-only")]
    ReadOnly,
    /// The disk, or its folder, is not there.
    #[error("the disk is gone")]
    Gone,
    /// The device failed (`EIO` and whatever else).
    #[error("the disk failed")]
    Failed,
}
