use slotcast_units::Time;

/// A whole number that changes over time, with its time-weighted mean and its maximum.
///
/// The integral is exact. `now` never goes back from call to call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gauge {
    value: i64,
    max: i64,
    /// The integral of the value from `since` to `changed`, in units times ns.
    integral: i128,
    since: Time,
    changed: Time,
}

impl Gauge {
    /// A gauge that stands at zero from time zero on.
    pub const fn new() -> Gauge {
        Gauge { value: 0, max: 0, integral: 0, since: Time::ZERO, changed: Time::ZERO }
    }

    /// Sets the value from `now` on.
    ///
    /// # Panics
    /// If `now` is earlier than the last change.
    pub fn set(&mut self, now: Time, value: i64) {
        self.integral = self.integral(now);
        self.changed = now;
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Changes the value by `change` from `now` on.
    ///
    /// # Panics
    /// If `now` is earlier than the last change.
    pub fn add(&mut self, now: Time, change: i64) {
        self.set(now, self.value + change);
    }

    /// The value.
    pub fn value(&self) -> i64 {
        self.value
    }

    /// The largest value since the start or the last reset.
    pub fn max(&self) -> i64 {
        self.max
    }

    /// The mean over the time from the start or the last reset to `now`; the value itself if no time
    /// has passed.
    ///
    /// # Panics
    /// If `now` is earlier than the last change.
    pub fn mean(&self, now: Time) -> f64 {
        let integral = self.integral(now);
        match (now - self.since).as_ns() {
            0 => self.value as f64,
            elapsed => integral as f64 / elapsed as f64,
        }
    }

    /// The integral of the value over the time from the start or the last reset to `now`, in ns.
    ///
    /// # Panics
    /// If `now` is earlier than the last change.
    pub fn integral(&self, now: Time) -> i128 {
        self.integral + i128::from(self.value) * i128::from((now - self.changed).as_ns())
    }

    /// Forgets what was before `now`, but not the value: the end of the warm-up.
    ///
    /// # Panics
    /// If `now` is earlier than the last change.
    pub fn reset(&mut self, now: Time) {
        assert!(now >= self.changed, "a gauge that goes back in time");
        *self = Gauge { value: self.value, max: self.value, integral: 0, since: now, changed: now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Time {
        Time::from_ns(ns)
    }

    #[test]
    fn the_mean_is_weighted_by_time() {
        let mut gauge = Gauge::new();
        gauge.set(at(10), 4);
        gauge.add(at(20), -3);
        // 0 for 10 ns, 4 for 10 ns, 1 for 20 ns.
        assert_eq!(gauge.mean(at(40)), 60.0 / 40.0);
        assert_eq!((gauge.value(), gauge.max()), (1, 4));
    }

    #[test]
    fn a_reset_keeps_the_value() {
        let mut gauge = Gauge::new();
        gauge.set(at(0), 9);
        gauge.set(at(10), 2);
        gauge.reset(at(20));
        assert_eq!((gauge.mean(at(20)), gauge.max()), (2.0, 2));
        gauge.set(at(30), 4);
        assert_eq!(gauge.mean(at(40)), 3.0);
    }

    #[test]
    #[should_panic(expected = "ends before it starts")]
    fn time_does_not_go_back() {
        let mut gauge = Gauge::new();
        gauge.set(at(10), 1);
        gauge.set(at(9), 1);
    }
}
