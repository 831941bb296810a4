//! Which datagrams of a peer were heard before.

use alloc::boxed::Box;

/// How far datagrams may overtake each other.
///
/// A sender numbers all that it sends, to whomever, so a receiver sees gaps, and control messages overtake
/// data. At 1 GB/s in datagrams of 1452 bytes this is 90 ms of them.
const WIDTH: u64 = 1 << 16;

/// Remembers which sequence numbers of one incarnation of a peer were heard: exactly the last 65,536, and
/// all older ones as heard (RFC 4303, section 3.4.3). 8 KiB.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The highest number heard, and one more.
    next: u64,
    heard: Box<[u64]>,
}

impl Default for Replay {
    fn default() -> Replay {
        Replay::new()
    }
}

impl Replay {
    /// Nothing was heard.
    pub fn new() -> Replay {
        Replay { next: 0, heard: alloc::vec![0; (WIDTH / 64) as usize].into_boxed_slice() }
    }

    /// Takes note of `sequence`; false if it was heard before, or is too old to know. O(1) but for the
    /// numbers that are skipped.
    pub fn is_new(&mut self, sequence: u64) -> bool {
        if sequence == u64::MAX || sequence < self.next.saturating_sub(WIDTH) {
            return false;
        }
        if sequence >= self.next {
            if sequence - self.next >= WIDTH {
                self.heard.fill(0);
            } else {
                (self.next..sequence).for_each(|skipped| {
                    let (word, bit) = place(skipped);
                    self.heard[word] &= !bit;
                });
            }
            self.next = sequence + 1;
            let (word, bit) = place(sequence);
            self.heard[word] |= bit;
            return true;
        }
        let (word, bit) = place(sequence);
        let was_heard = self.heard[word] & bit != 0;
        self.heard[word] |= bit;
        !was_heard
    }
}

fn place(sequence: u64) -> (usize, u64) {
    let word = (sequence % WIDTH / 64) as usize;
    (word, 1 << (sequence % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    #[test]
    fn the_highest_numbers_are_numbers_too() {
        let mut replay = Replay::new();
        assert!(replay.is_new(u64::MAX - 1));
        assert!(!replay.is_new(u64::MAX - 1));
        assert!(!replay.is_new(u64::MAX), "one more would wrap");
        assert!(replay.is_new(u64::MAX - 2));
        assert!(!replay.is_new(0));
    }

    proptest! {
        #[test]
        fn nothing_is_heard_twice(steps in proptest::collection::vec((any::<bool>(), 0u64..150_000), 1..300)) {
            let mut replay = Replay::new();
            let mut heard = BTreeSet::new();
            let mut highest = 0;
            for (ahead, distance) in steps {
                let sequence: u64 = if ahead { highest + distance % 70_000 } else { highest.saturating_sub(distance) };
                let is_new = replay.is_new(sequence);
                let known = heard.contains(&sequence);
                prop_assert!(!(is_new && known), "{sequence} twice");
                // What is near enough and new is never refused.
                if !known && sequence + WIDTH > highest {
                    prop_assert!(is_new, "{sequence} with {highest}");
                }
                heard.insert(sequence);
                highest = highest.max(sequence);
            }
        }
    }
}
