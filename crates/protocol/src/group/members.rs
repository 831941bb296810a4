//! Sets of positions in a negotiating group.

/// Positions in a negotiating group, at most [`Members::CAPACITY`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Members(u64);

impl Members {
    /// The largest negotiating group.
    pub const CAPACITY: usize = 64;
    /// Nobody.
    pub const NONE: Members = Members(0);

    /// The first `n` positions.
    pub fn first(n: usize) -> Members {
        assert!(n <= Members::CAPACITY, "a group of {n}");
        Members(if n == Members::CAPACITY { u64::MAX } else { (1 << n) - 1 })
    }

    /// The set of one position.
    pub fn only(position: u8) -> Members {
        let mut members = Members::NONE;
        members.insert(position);
        members
    }

    /// The set whose bit `i` stands for position `i`.
    pub const fn from_bits(bits: u64) -> Members {
        Members(bits)
    }

    /// Bit `i` stands for position `i`.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether `position` is in the set.
    pub const fn contains(self, position: u8) -> bool {
        position < 64 && self.0 & (1 << position) != 0
    }

    /// Adds `position`.
    pub fn insert(&mut self, position: u8) {
        assert!(usize::from(position) < Members::CAPACITY, "position {position}");
        self.0 |= 1 << position;
    }

    /// Takes `position` out; says whether it was in.
    pub fn remove(&mut self, position: u8) -> bool {
        let was_in = self.contains(position);
        if was_in {
            self.0 &= !(1 << position);
        }
        was_in
    }

    /// Those in `self` and not in `other`.
    #[must_use]
    pub const fn without(self, other: Members) -> Members {
        Members(self.0 & !other.0)
    }

    /// Those in either.
    #[must_use]
    pub const fn union(self, other: Members) -> Members {
        Members(self.0 | other.0)
    }

    /// Those in both.
    #[must_use]
    pub const fn intersection(self, other: Members) -> Members {
        Members(self.0 & other.0)
    }

    /// How many.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is nobody.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Positions in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut bits = self.0;
        core::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            #[expect(clippy::cast_possible_truncation, reason = "below 64")]
            let position = bits.trailing_zeros() as u8;
            bits &= bits - 1;
            Some(position)
        })
    }
}
