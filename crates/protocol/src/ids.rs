use core::fmt;

use crate::group::Members;

/// A node that starts puts and gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InitiatorId(pub u32);

/// A node, or one disk of a node, that stores chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetId(pub u32);

/// A negotiating group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u32);

/// The name of a chunk: the hash of its content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkId(pub [u8; 32]);

/// One put or get of one initiator, over all its rounds of asking.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId {
    /// Who asks.
    pub initiator: InitiatorId,
    /// Counts the initiator's requests; wraps, so it is unique only among requests of one time.
    pub serial: u32,
}

/// The time for which one member of a group is its proxy. A later term replaces an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Term {
    /// How many terms there have been, this one included; two members that take over at once may
    /// arrive at the same number, and then the later position counts as the later term.
    pub count: u32,
    /// The proxy's position in the group.
    pub position: u8,
}

impl Term {
    /// Before the first proxy.
    pub const NONE: Term = Term { count: 0, position: 0 };

    /// The last possible term before this one.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "64 members at most")]
    pub const fn before(self) -> Term {
        match (self.count, self.position) {
            (0, 0) => Term::NONE,
            (count, 0) => Term { count: count - 1, position: Members::CAPACITY as u8 - 1 },
            (count, position) => Term { count, position: position - 1 },
        }
    }

    /// The term in which the member at `position` follows this one.
    #[must_use]
    pub const fn next(self, position: u8) -> Term {
        Term { count: self.count.saturating_add(1), position }
    }
}

impl ChunkId {
    /// A well-mixed number that depends on every byte of the name and on `salt`. The same on every
    /// machine: group membership and ties rest on it.
    pub fn mix(&self, salt: u64) -> u64 {
        let mut state = salt ^ 0x9e37_79b9_7f4a_7c15;
        for word in self.0.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
            let product = u128::from(state ^ word) * 0xa076_1d64_78bd_642f_u128;
            #[expect(clippy::cast_possible_truncation, reason = "both halves are folded")]
            {
                state = (product as u64) ^ ((product >> 64) as u64) ^ word.rotate_left(32);
            }
        }
        finish(state)
    }
}

/// The finaliser of splitmix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit.
pub(crate) fn finish(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl fmt::Debug for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The first eight bytes in hexadecimal: enough to tell chunks apart in a trace.
impl fmt::Display for ChunkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.initiator.0, self.serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_name_matters() {
        let base = ChunkId([7; 32]);
        for byte in 0..32 {
            let mut other = base;
            other.0[byte] ^= 1;
            assert_ne!(base.mix(0), other.mix(0), "byte {byte}");
        }
        assert_ne!(base.mix(0), base.mix(1));
    }

    /// The layout of stored data depends on this never changing.
    #[test]
    fn mixing_is_the_same_on_every_machine() {
        assert_eq!(ChunkId([0; 32]).mix(0), 2_470_230_224_229_359_810);
    }
}
