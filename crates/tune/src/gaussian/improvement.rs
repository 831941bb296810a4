//! The expected improvement on the best value.

/// Logarithm of what a normal variable is above `best` on average. It tells points apart also where the
/// improvement itself is too small for a number.
pub(super) fn log_expected_improvement(mean: f64, deviation: f64, best: f64) -> f64 {
    if deviation <= 0.0 {
        return if mean > best { libm::log(mean - best) } else { f64::NEG_INFINITY };
    }
    let z = (mean - best) / deviation;
    // z times the distribution and the density; far below, its asymptotic series.
    let log_of_unit = if z > -5.0 {
        let below = 0.5 * libm::erfc(-z / core::f64::consts::SQRT_2);
        libm::log(z * below + libm::exp(log_density(z)))
    } else {
        log_density(z) - 2.0 * libm::log(-z)
    };
    log_of_unit + libm::log(deviation)
}

/// Logarithm of the standard normal density.
fn log_density(z: f64) -> f64 {
    -0.5 * z * z - 0.5 * libm::log(core::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_improvement_is_the_integral() {
        for (mean, deviation, best) in [(1.0, 0.5, 0.8), (0.0, 1.0, 2.0), (-1.0, 0.1, -0.9)] {
            let steps = 200_000;
            let width = 20.0 * deviation / f64::from(steps);
            let part = |step: i32| {
                let x = mean - 10.0 * deviation + (f64::from(step) + 0.5) * width;
                let z = (x - mean) / deviation;
                (x - best).max(0.0) * libm::exp(log_density(z)) / deviation * width
            };
            let integral: f64 = (0..steps).map(part).sum();
            let found = log_expected_improvement(mean, deviation, best);
            assert!((found - libm::log(integral)).abs() < 1e-6, "{found} {}", libm::log(integral));
        }
    }

    #[test]
    fn far_below_more_is_still_better() {
        let at = |mean: f64| log_expected_improvement(mean, 1.0, 0.0);
        assert!(at(-60.0) < at(-50.0) && at(-50.0) < at(-5.01) && at(-5.01) < at(-4.99));
        assert!((at(-5.000_001) - at(-4.999_999)).abs() < 0.15, "the two forms meet");
        assert_eq!(log_expected_improvement(1.0, 0.0, 1.0), f64::NEG_INFINITY);
    }
}
