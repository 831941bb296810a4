//! The logical object volume: which part of a file lies where.

use slotcast_units::Size;

/// How a file is spread over its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Striping {
    /// Objects of a file.
    pub(crate) count: u64,
    /// Bytes in one object before the next one's turn.
    pub(crate) size: u64,
}

/// A part of a file that lies in one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Which of the file's objects.
    pub(crate) object: u64,
    /// Where in it.
    pub(crate) offset: u64,
    /// How much.
    pub(crate) length: Size,
}

impl Striping {
    /// The part of the file at `offset`, at most `limit` bytes, that lies in one object without a gap.
    pub(crate) fn extent(&self, offset: u64, limit: u64) -> Extent {
        let (stripe, within) = (offset / self.size, offset % self.size);
        Extent {
            object: stripe % self.count,
            offset: stripe / self.count * self.size + within,
            length: Size::from_bytes(limit.min(self.size - within)),
        }
    }

    /// The first place in the file at or after `offset` that lies in `object`.
    pub(crate) fn next_in(&self, object: u64, offset: u64) -> u64 {
        let stripe = offset / self.size;
        let ahead = (object + self.count - stripe % self.count) % self.count;
        if ahead == 0 { offset } else { (stripe + ahead) * self.size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stripes_go_round() {
        let striping = Striping { count: 3, size: 10 };
        let extent = |offset, limit| {
            let e = striping.extent(offset, limit);
            (e.object, e.offset, e.length.as_bytes())
        };
        assert_eq!(extent(0, 100), (0, 0, 10));
        assert_eq!(extent(14, 100), (1, 4, 6));
        assert_eq!(extent(35, 2), (0, 15, 2));
        assert_eq!(striping.next_in(0, 5), 5);
        assert_eq!(striping.next_in(2, 5), 20);
        assert_eq!(striping.next_in(0, 10), 30);
    }

    proptest! {
        #[test]
        fn every_byte_has_one_place(count in 1..9u64, size in 1..9u64) {
            let striping = Striping { count, size };
            let mut seen = std::collections::BTreeSet::new();
            for offset in 0..200 {
                let extent = striping.extent(offset, 1);
                prop_assert!(seen.insert((extent.object, extent.offset)));
                prop_assert_eq!(striping.next_in(extent.object, offset), offset);
            }
        }
    }
}
