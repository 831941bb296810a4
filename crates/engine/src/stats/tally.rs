/// Mean, variance and extremes of values that come one by one.
///
/// Welford's method: it does not lose digits when the spread is small beside the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tally {
    count: u64,
    mean: f64,
    /// The sum of squared distances from the mean.
    spread: f64,
    min: f64,
    max: f64,
}

impl Tally {
    /// A tally of nothing.
    pub const fn new() -> Tally {
        Tally { count: 0, mean: 0.0, spread: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }

    /// Takes in one value. Complexity: O(1).
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.spread += before * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean; zero without values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The variance of the sample, with n - 1 below the line; zero with fewer than two values.
    pub fn variance(&self) -> f64 {
        if self.count < 2 { 0.0 } else { self.spread / (self.count - 1) as f64 }
    }

    /// The standard deviation of the sample.
    pub fn std_dev(&self) -> f64 {
        self.variance().sqrt()
    }

    /// The standard deviation of the mean; zero with fewer than two values.
    pub fn std_error(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.variance() / self.count as f64).sqrt() }
    }

    /// The smallest value, if there is one.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, if there is one.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    /// Forgets all values: the end of the warm-up.
    pub fn reset(&mut self) {
        *self = Tally::new();
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_moments_are_those_of_the_sample() {
        let mut tally = Tally::new();
        for value in [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0] {
            tally.add(value);
        }
        assert_eq!((tally.count(), tally.mean()), (8, 5.0));
        assert!((tally.variance() - 32.0 / 7.0).abs() < 1e-12);
        assert!((tally.std_error() - (4.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((tally.min(), tally.max()), (Some(2.0), Some(9.0)));
    }

    #[test]
    fn a_small_spread_beside_a_large_mean_is_kept() {
        let mut tally = Tally::new();
        for i in 0..1_000 {
            tally.add(1e12 + f64::from(i % 2));
        }
        assert!((tally.variance() - 0.25).abs() < 1e-3, "{}", tally.variance());
    }

    #[test]
    fn nothing_has_no_extremes() {
        let mut tally = Tally::new();
        tally.add(1.0);
        tally.reset();
        assert_eq!((tally.count(), tally.mean(), tally.variance()), (0, 0.0, 0.0));
        assert_eq!((tally.min(), tally.max()), (None, None));
    }
}
