use slotcast_units::{Rate, Size, Span, Time};

/// A bucket that fills with tokens for bytes at a rate, seen as the time at which it would be full again (the
/// virtual scheduling of ITU-T I.371). It holds what comes in `depth`, and starts full.
///
/// Whoever takes tokens that are not there owes them, and waits until they have come. So many askers at a
/// time get the rate together, in the order in which they ask.
#[derive(Debug, Clone, Copy)]
pub struct TokenBucket {
    rate: Rate,
    depth: Span,
    full_at: Time,
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Panics
    /// If the rate is zero.
    pub fn new(rate: Rate, depth: Span) -> TokenBucket {
        assert!(rate > Rate::default(), "nothing passes at a rate of zero");
        TokenBucket { rate, depth, full_at: Time::ZERO }
    }

    /// Takes tokens for `size`; says when all of them are there, `now` at the earliest.
    pub fn take(&mut self, now: Time, size: Size) -> Time {
        self.full_at = self.full_at.max(now).saturating_add(self.rate.time_for(size));
        self.paid_at(now)
    }

    /// When nothing is owed any more, `now` at the earliest.
    pub fn paid_at(&self, now: Time) -> Time {
        now.max(self.full_at.saturating_sub(self.depth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bytes_per_s(1_000_000);

    #[test]
    fn what_is_in_the_bucket_goes_at_once_and_the_rest_at_the_rate() {
        let mut bucket = TokenBucket::new(RATE, Span::from_ms(2));
        let now = Time::ZERO + Span::from_secs(1);
        assert_eq!(bucket.take(now, Size::from_bytes(2000)), now);
        assert_eq!(bucket.take(now, Size::from_bytes(1000)), now + Span::from_ms(1));
        assert_eq!(bucket.take(now, Size::from_bytes(500)), now + Span::from_us(1500));
        assert_eq!(bucket.paid_at(now + Span::from_ms(3)), now + Span::from_ms(3));
    }

    proptest::proptest! {
        /// Over any time no more passes than the rate allows, and what fills the bucket once.
        #[test]
        fn no_more_passes_than_the_rate_allows(
            takes in proptest::collection::vec((0u64..5_000_000, 0u64..20_000), 1..100),
        ) {
            let depth = Span::from_ms(3);
            let mut bucket = TokenBucket::new(RATE, depth);
            let (mut now, mut passed) = (Time::ZERO, 0);
            let start = now;
            for (pause, bytes) in takes {
                now += Span::from_ns(pause);
                let done = bucket.take(now, Size::from_bytes(bytes));
                passed += bytes;
                let allowed = RATE.bits_in(done - start + depth) / 8 + 200;
                proptest::prop_assert!(passed <= allowed, "{passed} of {allowed}");
                proptest::prop_assert!(done >= now);
            }
        }
    }
}
