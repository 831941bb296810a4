use slotcast_stripe::Content;

/// Eight bytes that stand for a unit, and what was spent on computing them.
///
/// The bytes go through the whole code as those of a real unit would, so that at the end of a run parity
/// can be compared with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Block {
    pub(super) bytes: [u8; Block::LEN],
    /// Passes over the unit that made it of others and are not yet paid for.
    pub(super) passes: u32,
}

impl Block {
    pub(super) const LEN: usize = 8;

    pub(super) const ZERO: Block = Block::new(0);

    pub(super) const fn new(word: u64) -> Block {
        Block { bytes: word.to_le_bytes(), passes: 0 }
    }

    /// What it cost; now it is paid for.
    pub(super) fn take_passes(&mut self) -> u32 {
        core::mem::take(&mut self.passes)
    }
}

impl Content for Block {
    fn len(&self) -> usize {
        Block::LEN
    }

    /// What `other` cost is not counted on top: a sum of several terms is computed in one pass.
    fn add_scaled(&mut self, factor: u8, other: &Block) {
        self.bytes.add_scaled(factor, &other.bytes);
        self.passes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_counted_where_its_result_is_used() {
        let (mut parity, old, new) = (Block::new(7), Block::new(1), Block::new(4));
        let delta = new.plus(&old);
        parity.add_scaled(1, &delta);
        assert_eq!((delta.passes, parity.passes), (1, 1));
        assert_eq!(parity.bytes, Block::new(7 ^ 1 ^ 4).bytes);
        assert_eq!((parity.take_passes(), parity.passes), (1, 0));
    }
}
