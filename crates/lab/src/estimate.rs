//! Means over replications, and how far they can be trusted.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A mean over independent runs with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean; not a number (`null` in JSON) when there was nothing to measure.
    pub value: f64,
    /// Half the width of the interval: the true mean lies within `value` plus or minus `ci95` in 19
    /// of 20 experiments. None for a single run.
    pub ci95: Option<f64>,
}

impl Estimate {
    /// From one sample per run. The interval is Student's, for samples that are about normal.
    pub fn of(samples: &[f64]) -> Estimate {
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        if samples.len() < 2 {
            return Estimate { value: mean, ci95: None };
        }
        let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let student = StudentsT::new(0.0, 1.0, n - 1.0).expect("at least one degree of freedom");
        let ci95 = student.inverse_cdf(0.975) * (variance / n).sqrt();
        Estimate { value: mean, ci95: Some(ci95) }
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
