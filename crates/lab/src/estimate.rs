//! Means and quantiles over replications, and how far they can be trusted.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A figure over independent runs with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The figure; not a number (`null` in JSON) when there was nothing to measure.
    pub value: f64,
    /// Half the width of the interval: the true value lies within `value` plus or minus `ci95` in 19
    /// of 20 experiments. None for a single run, and where the runs are too short to know it.
    pub ci95: Option<f64>,
}

/// How far Student's t with `freedom` degrees of freedom goes to each side with 95 % probability.
///
/// # Panics
/// If `freedom` is not positive.
pub(crate) fn student_95(freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.975)
}

/// How likely a Student's t with `freedom` degrees of freedom is at least `t` away from zero.
///
/// # Panics
/// If `freedom` is not positive.
pub(crate) fn student_p(t: f64, freedom: f64) -> f64 {
    2.0 * student(freedom).sf(t.abs())
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom).expect("a positive number of degrees of freedom")
}

/// Mean square of the distances of `sections` from `centre`, with n - 1 below the line; zero with
/// fewer than two.
pub(crate) fn spread_around(centre: f64, sections: &[f64]) -> f64 {
    let squares: f64 = sections.iter().map(|x| (x - centre).powi(2)).sum();
    if sections.len() < 2 { 0.0 } else { squares / (sections.len() - 1) as f64 }
}

impl Estimate {
    /// The mean of one sample per run. The interval is Student's, for samples that are about normal.
    pub fn of(samples: &[f64]) -> Estimate {
        let n = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / n;
        let ci95 = (samples.len() >= 2)
            .then(|| student_95(n - 1.0) * (spread_around(value, samples) / n).sqrt());
        Estimate { value, ci95 }
    }

    /// Half the width of the interval over the figure itself: 0.01 is plus or minus one percent. None
    /// without an interval, or for a figure of zero.
    pub fn relative(&self) -> Option<f64> {
        let relative = self.ci95? / self.value.abs();
        relative.is_finite().then_some(relative)
    }
}

/// The smallest and the largest of some runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Spread {
    /// Of one sample per run; none without runs.
    pub fn of(samples: &[f64]) -> Option<Spread> {
        let min = samples.iter().copied().reduce(f64::min)?;
        let max = samples.iter().copied().reduce(f64::max)?;
        Some(Spread { min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        // t(0.975, 4 degrees of freedom) = 2.7764; the standard error of 1..5 is sqrt(2.5 / 5).
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((estimate.value - 3.0).abs() < 1e-12);
        let expected = 2.776_445 * 0.5f64.sqrt();
        assert!((estimate.ci95.unwrap() - expected).abs() < 1e-4, "{estimate:?}");
    }

    #[test]
    fn the_relative_width_is_over_the_figure() {
        // t(0.975, 1) = 12.706; the mean square around 3 is 2.
        let two = Estimate::of(&[2.0, 4.0]);
        assert!((two.relative().unwrap() - 12.706_205 / 3.0).abs() < 1e-3);
        assert_eq!(Estimate::of(&[0.0, 0.0]).relative(), None);
    }

    #[test]
    fn one_run_has_no_interval_and_none_has_no_mean() {
        assert_eq!(Estimate::of(&[7.0]), Estimate { value: 7.0, ci95: None });
        assert!(Estimate::of(&[]).value.is_nan());
        assert_eq!(Spread::of(&[]), None);
    }

    #[test]
    fn nineteen_of_twenty_intervals_hold_the_mean() {
        // Five samples each, sums of twelve uniform numbers of a fixed sequence: nearly normal, mean 6.
        let mut state = 12_345u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let trials = 4000;
        let held = (0..trials)
            .filter(|_| {
                let mut normal = || (0..12).map(|_| uniform()).sum::<f64>();
                let samples: Vec<f64> = (0..5).map(|_| normal()).collect();
                let estimate = Estimate::of(&samples);
                (estimate.value - 6.0).abs() <= estimate.ci95.unwrap()
            })
            .count();
        let part = held as f64 / f64::from(trials);
        assert!((0.94..0.96).contains(&part), "{part}");
    }
}
