//! Who wants a chunk kept, and on how many targets.

use crate::message::MAX_REPLICAS;

/// Set in the byte of a [`Wanted`] for [`Claim::Names`].
const NAMES: u8 = 0x10;

/// Who wants a chunk kept, as each of its replicas says on stable storage.
///
/// A claim is raised from `Names` to `Bare` by a put, and never lowered: whoever has stored a chunk without a name need
/// not know whether objects have the same content. Where nothing is said it is `Bare`, since what is kept for too long
/// only takes room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// Names: kept as long as an object version names it, garbage afterwards.
    Names,
    /// A client of chunks: kept until somebody removes it, whether a name refers to it or not.
    Bare,
}

/// On how many targets a chunk is wanted, and who wants it kept.
///
/// It is one byte on the wire and on disk: the number in the lower four bits, and bit 4 (0x10) set for
/// [`Claim::Names`]. So a byte that has only a number, as all had before there were claims, says [`Claim::Bare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wanted {
    /// Targets that are to hold it, 1 to [`MAX_REPLICAS`]; a store keeps 0 for the cluster's number.
    pub replicas: u8,
    /// Who wants it kept.
    pub claim: Claim,
}

impl Wanted {
    /// Kept on so many targets until somebody removes it.
    pub const fn bare(replicas: u8) -> Wanted {
        Wanted { replicas, claim: Claim::Bare }
    }

    /// Kept on so many targets as long as an object version names it.
    pub const fn named(replicas: u8) -> Wanted {
        Wanted { replicas, claim: Claim::Names }
    }

    /// Whether a replica that is stored for this is as good as one for `other`: for at least as many targets, and with
    /// at least its claim.
    pub fn covers(self, other: Wanted) -> bool {
        self.replicas >= other.replicas && self.claim >= other.claim
    }

    /// The least that covers both.
    #[must_use]
    pub fn and(self, other: Wanted) -> Wanted {
        let replicas = self.replicas.max(other.replicas);
        Wanted { replicas, claim: self.claim.max(other.claim) }
    }

    /// As one byte.
    pub const fn to_byte(self) -> u8 {
        match self.claim {
            Claim::Names => self.replicas | NAMES,
            Claim::Bare => self.replicas,
        }
    }

    /// From a byte that a number is read from, if that is 0 to [`MAX_REPLICAS`].
    pub const fn from_byte(byte: u8) -> Option<Wanted> {
        let claim = if byte & NAMES == 0 { Claim::Bare } else { Claim::Names };
        let replicas = byte & !NAMES;
        if replicas as usize > MAX_REPLICAS {
            return None;
        }
        Some(Wanted { replicas, claim })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_without_the_bit_is_bare() {
        for replicas in 0..=8 {
            assert_eq!(Wanted::from_byte(replicas), Some(Wanted::bare(replicas)));
            assert_eq!(Wanted::from_byte(0x10 + replicas), Some(Wanted::named(replicas)));
            for wanted in [Wanted::bare(replicas), Wanted::named(replicas)] {
                assert_eq!(Wanted::from_byte(wanted.to_byte()), Some(wanted));
            }
        }
        for byte in (9..0x10).chain(0x19..=0xff) {
            assert_eq!(Wanted::from_byte(byte), None, "{byte:#x}");
        }
    }

    #[test]
    fn more_replicas_do_not_make_up_for_a_claim() {
        let (few, many) = (Wanted::bare(2), Wanted::named(5));
        assert!(!few.covers(many) && !many.covers(few));
        let both = few.and(many);
        assert_eq!(both, Wanted::bare(5));
        assert!(both.covers(few) && both.covers(many) && both == many.and(few));
    }
}
