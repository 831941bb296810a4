//! What nodes tell each other first and several times a second: their clocks, which versions of datagrams they speak,
//! and how the cluster is laid out.
//!
//! Programs that know version 2 alone read a clock datagram as a list of groups. In that version the range of
//! versions is the last entry of the list, a number that no group has, as with the signalling values of TLS (RFC
//! 7507): they ignore it. From version 3 on the range has a place of its own, which is the same in all versions, so
//! that nodes that share none can say so.

use alloc::vec::Vec;

use slotcast_protocol::{GroupId, LayoutDigest};

use super::MAX_GROUPS;
use super::read::Reader;

/// The oldest version that is spoken.
pub const MIN_VERSION: u8 = 2;

/// The newest one.
pub const MAX_VERSION: u8 = 4;

/// From this version on clock datagrams tell the layout, and the range of versions in a place of its own.
pub const TELLS_LAYOUT: u8 = 3;

/// From this version on put-requests and surveys tell claims.
pub const TELLS_CLAIMS: u8 = 4;

/// From this version on nodes tell each other how many chunks have too few replicas.
pub const TELLS_SHORT: u8 = 4;

/// With the lowest version in its second byte and the highest in the first: a range of versions among groups.
const RANGE: u32 = 0xffff_0000;

/// A range of versions of datagrams that a node speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The lowest; at least 1.
    pub lowest: u8,
    /// The highest; not below the lowest.
    pub highest: u8,
}

impl Versions {
    /// All that this program knows.
    pub const ALL: Versions = Versions { lowest: MIN_VERSION, highest: MAX_VERSION };

    /// Whether `version` is among them.
    pub const fn contains(self, version: u8) -> bool {
        self.lowest <= version && version <= self.highest
    }

    /// The highest version that is in both ranges; none if there is none.
    pub fn in_common(self, other: Versions) -> Option<u8> {
        let highest = self.highest.min(other.highest);
        (highest >= self.lowest.max(other.lowest)).then_some(highest)
    }

    /// Whether a node that speaks them can say which: the first programs spoke one version, and did not.
    pub const fn are_told(self) -> bool {
        self.highest >= TELLS_LAYOUT
    }

    fn checked(lowest: u8, highest: u8) -> Option<Versions> {
        (1 <= lowest && lowest <= highest).then_some(Versions { lowest, highest })
    }
}

impl core::fmt::Display for Versions {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.lowest == self.highest {
            true => write!(f, "{}", self.lowest),
            false => write!(f, "{} to {}", self.lowest, self.highest),
        }
    }
}

/// What a clock datagram says beside the stamps in its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Whether an answer is wanted.
    pub wants_answer: bool,
    /// Which versions the sender speaks; none of one that does not tell.
    pub versions: Option<Versions>,
    /// The layout of the sender's cluster map, of the epoch in the header; from version 3 on.
    pub layout: Option<LayoutDigest>,
    /// Groups whose multicast the sender hears from the receiver.
    pub heard: Vec<GroupId>,
}

impl Clock {
    pub(super) fn encode(&self, version: u8, out: &mut Vec<u8>) {
        let Clock { wants_answer, versions, layout, heard } = self;
        out.push(u8::from(*wants_answer));
        if version >= TELLS_LAYOUT {
            let versions = versions.unwrap_or(Versions { lowest: version, highest: version });
            out.extend_from_slice(&[versions.lowest, versions.highest]);
        }
        if version > MAX_VERSION {
            return;
        }
        if version >= TELLS_LAYOUT {
            out.extend_from_slice(&layout.unwrap_or(LayoutDigest([0; 8])).0);
        }
        let range = versions.filter(|_| version < TELLS_LAYOUT);
        for GroupId(group) in heard.iter().take(MAX_GROUPS - usize::from(range.is_some())) {
            out.extend_from_slice(&group.to_le_bytes());
        }
        if let Some(Versions { lowest, highest }) = range {
            let range = RANGE | u32::from(lowest) << 8 | u32::from(highest);
            out.extend_from_slice(&range.to_le_bytes());
        }
    }

    /// Of a version that is not known only what is the same in all is read, and the rest passed over.
    pub(super) fn read(version: u8, reader: &mut Reader<'_>) -> Option<Clock> {
        let wants_answer = reader.bool()?;
        let (mut versions, mut layout) = (None, None);
        if version >= TELLS_LAYOUT {
            versions = Some(Versions::checked(reader.u8()?, reader.u8()?)?);
        }
        if version > MAX_VERSION {
            reader.0 = &[];
            return Some(Clock { wants_answer: false, versions, layout, heard: Vec::new() });
        }
        if version >= TELLS_LAYOUT {
            layout = Some(LayoutDigest(reader.take()?));
        }
        if reader.0.len() > 4 * MAX_GROUPS {
            return None;
        }
        let mut heard = Vec::with_capacity(reader.0.len() / 4);
        while !reader.0.is_empty() {
            heard.push(GroupId(reader.u32()?));
        }
        if version < TELLS_LAYOUT
            && let Some(GroupId(last)) = heard.last().filter(|last| last.0 >= RANGE)
        {
            let [highest, lowest, ..] = last.to_le_bytes();
            versions = Versions::checked(lowest, highest);
            if versions.is_some() {
                heard.pop();
            }
        }
        Some(Clock { wants_answer, versions, layout, heard })
    }
}
