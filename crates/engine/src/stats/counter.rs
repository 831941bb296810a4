use slotcast_units::Time;

/// Counts things, and their rate since the start or the last reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counter {
    count: u64,
    since: Time,
}

impl Counter {
    /// A counter at zero that starts at time zero.
    pub const fn new() -> Counter {
        Counter { count: 0, since: Time::ZERO }
    }

    /// Counts one.
    pub fn increment(&mut self) {
        self.add(1);
    }

    /// Counts `n`.
    pub fn add(&mut self, n: u64) {
        self.count += n;
    }

    /// What was counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What was counted for each second up to `now`; zero if no time has passed.
    pub fn rate(&self, now: Time) -> f64 {
        let seconds = (now - self.since).as_secs_f64();
        if seconds > 0.0 { self.count as f64 / seconds } else { 0.0 }
    }

    /// Starts again at zero: the end of the warm-up.
    pub fn reset(&mut self, now: Time) {
        *self = Counter { count: 0, since: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_since_the_reset() {
        let mut counter = Counter::new();
        counter.add(5);
        assert_eq!(counter.rate(Time::ZERO), 0.0);
        counter.reset(Time::from_ns(500_000_000));
        counter.increment();
        counter.add(2);
        assert_eq!(counter.count(), 3);
        assert_eq!(counter.rate(Time::from_ns(1_000_000_000)), 6.0);
    }
}
