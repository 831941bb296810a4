//! Token buckets.

use slotcast_units::{Rate, Time};

/// Fills at a rate up to a limit, starts full (SURGE's rate bucket).
#[derive(Debug, Clone, Copy)]
pub(super) struct Bucket {
    rate: Rate,
    limit: u64,
    /// Bits in the bucket at `at`; negative after a debit that was not waited for.
    level: i64,
    at: Time,
}

impl Bucket {
    pub(super) fn new(rate: Rate, limit_bits: u64) -> Bucket {
        let level = i64::try_from(limit_bits).expect("a few frames");
        Bucket { rate, limit: limit_bits, level, at: Time::ZERO }
    }

    fn refill(&mut self, now: Time) {
        if now <= self.at {
            return;
        }
        let gained = self.rate.bits_in(now - self.at).min(u64::from(u32::MAX));
        let gained = i64::try_from(gained).expect("below 2^32");
        let limit = i64::try_from(self.limit).expect("a few frames");
        self.level = (self.level + gained).min(limit);
        self.at = now;
    }

    /// The first moment, not before `now`, at which `bits` are there.
    pub(super) fn ready(&mut self, now: Time, bits: u64) -> Time {
        debug_assert!(bits <= self.limit, "a bucket too small for {bits} bits");
        self.refill(now);
        let missing = i64::try_from(bits).expect("a few frames") - self.level;
        match u64::try_from(missing) {
            Err(_) | Ok(0) => now,
            // Rounded up, so that they are there indeed.
            Ok(missing) => {
                now + self.rate.time_for_bits(missing) + slotcast_units::Span::from_ns(1)
            }
        }
    }

    /// Takes `bits` out, whether or not they are there.
    pub(super) fn take(&mut self, now: Time, bits: u64) {
        self.refill(now);
        self.level -= i64::try_from(bits).expect("a few frames");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_units::Span;

    #[test]
    fn what_was_taken_comes_back_at_the_rate() {
        let mut bucket = Bucket::new(Rate::from_bps(1_000_000_000), 1000);
        assert_eq!(bucket.ready(Time::ZERO, 1000), Time::ZERO, "starts full");
        bucket.take(Time::ZERO, 1000);
        let ready = bucket.ready(Time::from_ns(100), 500);
        assert_eq!(ready, Time::from_ns(501));
        assert_eq!(bucket.ready(ready, 500), ready);
        assert_eq!(bucket.ready(ready + Span::from_us(100), 1000), ready + Span::from_us(100));
    }
}
