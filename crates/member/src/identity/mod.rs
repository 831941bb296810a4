//! Which folder is taken for which target when a node starts.
//!
//! A folder alone cannot tell that its disk is not mounted: it is empty then, as a new one is. So what a target is
//! called on its disk, its [`Label`], is kept a second time outside of the folders, in the [`Register`] of the node.
//! A folder is taken for a target only if both say the same, or if it is empty and was never formatted for it.
//! Everything else is refused, and stays as it is: a disk that is not mounted, disks that were swapped, a disk of
//! another cluster. A wiped disk is a new incarnation, and only a person can say so.
//!
//! An entry of the register is written before the folder is formatted, and again when that is done.
//!
//! ```
//! use slotcast_member::identity::{ClusterId, Contents, Placed, Seat, Verdict, admit};
//! use slotcast_protocol::{GroupId, TargetId};
//! use slotcast_store::Identity;
//!
//! let seat = Seat { group: GroupId(0), position: 0 };
//! let placed = Placed { target: TargetId(0), seat, new: Identity([7; 32]) };
//! let cluster = ClusterId::from_bytes([1; 16]);
//! let start = |register: Option<_>, contents| {
//!     admit(register.as_ref(), (None, &cluster), &[(placed, Some(&contents))], 64 << 10)
//! };
//! // A new store: the empty folder is formatted, ...
//! let first = start(None, Contents::Empty);
//! let Verdict::Format(label) = &first.verdicts[0] else { panic!("it is new") };
//! let register = first.register.formatted(TargetId(0), label.identity);
//! // ... and from then on an empty one is a disk that is not mounted.
//! let next = start(Some(register), Contents::Empty);
//! assert!(matches!(next.verdicts[0], Verdict::Refuse(_)));
//! ```

mod admit;
mod layout;
mod register;

use alloc::string::{String, ToString};
use core::fmt;

use slotcast_protocol::{GroupId, TargetId};
use slotcast_store::Identity;

pub use admit::{Admission, Placed, Refused, Rewrite, Verdict, admit};
pub use layout::{LastLayout, Layout, LayoutChange};
pub use register::{Entry, NotReplaced, Register, State};

/// Tells one cluster from another: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterId(String);

impl ClusterId {
    /// That of these bytes, which are made at random where a cluster has no key.
    pub fn from_bytes(bytes: [u8; 16]) -> ClusterId {
        let mut padded = [0; 32];
        padded[..16].copy_from_slice(&bytes);
        ClusterId(blake3::Hash::from_bytes(padded).to_hex()[..32].to_string())
    }

    /// That of the cluster whose nodes share this key. It tells nothing about the key.
    pub fn of_key(secret: &[u8; 32]) -> ClusterId {
        let derived = blake3::derive_key("slotcast 2026 id of a cluster", secret);
        ClusterId(blake3::Hash::from_bytes(derived).to_hex()[..32].to_string())
    }

    /// Its first digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl TryFrom<String> for ClusterId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<ClusterId, &'static str> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 32 && text.bytes().all(is_digit) {
            true => Ok(ClusterId(text)),
            false => Err("the id of a cluster is 32 hexadecimal digits"),
        }
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a target sits among those that are asked for its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its negotiating group.
    pub group: GroupId,
    /// Its position in it.
    pub position: u8,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {} of group {}", self.position, self.group.0)
    }
}

/// Which target a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Of which cluster.
    pub cluster: ClusterId,
    /// Its number there.
    pub target: TargetId,
    /// Where it sits.
    pub seat: Seat,
    /// Counts from 1 how often the target has begun with nothing.
    pub incarnation: u32,
}

/// What the label in a folder says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// What the records of its store are checked with, made at random when the folder was formatted.
    pub identity: Identity,
    /// Size of a segment in bytes.
    pub segment_size: u64,
    /// None in a folder of format 1, and where nothing is registered.
    pub owner: Option<Owner>,
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// The folder is not there.
    Missing,
    /// Nothing, but for what a file system and an interrupted format leave.
    Empty,
    /// Files that are not of a target; the name of one.
    OtherFiles(String),
    /// What may be a target that cannot be told: why.
    Unreadable(String),
    /// A target.
    Labelled {
        /// What its label says.
        label: Label,
        /// The copy of it that is missing, damaged, or says less.
        broken_copy: Option<&'static str>,
    },
}

#[cfg(test)]
mod tests;
