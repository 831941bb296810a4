use slotcast_random::fold;
use slotcast_units::Time;

/// The running hash of the executed events.
///
/// With `fold(a, b)` for the exclusive or of the two halves of the 128-bit product `a * b`, each event
/// gives the next state:
///
/// ```text
/// place = fold(time in ns ^ A, sequence ^ B)
/// state = fold(state ^ place ^ trace word, C)
/// ```
///
/// Only the second line waits for the event before, so the hash costs little beside a queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TraceHash(u64);

/// The first digits of the fractional parts of pi, e and the square root of 2; C is odd.
const A: u64 = 0x243f_6a88_85a3_08d3 | 1 << 63;
const B: u64 = 0xb7e1_5162_8aed_2a6a;
const C: u64 = 0x6a09_e667_f3bc_c909;

impl TraceHash {
    pub(crate) const EMPTY: TraceHash = TraceHash(0);

    #[inline]
    pub(crate) fn add(&mut self, time: Time, sequence: u64, word: u64) {
        let place = fold(time.as_ns() ^ A, sequence ^ B);
        self.0 = fold(self.0 ^ place ^ word, C);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(events: &[(u64, u64, u64)]) -> u64 {
        let mut hash = TraceHash::EMPTY;
        for (ns, sequence, word) in events {
            hash.add(Time::from_ns(*ns), *sequence, *word);
        }
        hash.value()
    }

    #[test]
    fn the_hash_is_what_is_documented() {
        // Computed with whole numbers of any length, apart from this code.
        assert_eq!(hash(&[]), 0);
        assert_eq!(hash(&[(0, 0, 0)]), 0xe7a6_3c86_dcf6_68d7);
        assert_eq!(hash(&[(10, 1, 7), (10, 2, 8), (u64::MAX, 3, u64::MAX)]), 0xb35a_057b_bd7e_4665);
    }

    #[test]
    fn each_part_of_an_event_counts() {
        let events = [(10, 1, 7), (10, 2, 8)];
        for other in [
            [(11, 1, 7), (10, 2, 8)],
            [(10, 3, 7), (10, 2, 8)],
            [(10, 1, 6), (10, 2, 8)],
            [(10, 1, 8), (10, 2, 7)],
            [(10, 2, 8), (10, 1, 7)],
        ] {
            assert_ne!(hash(&events), hash(&other));
        }
    }
}
