//! The difference of two figures over replications, paired where both ran with the same seeds.

use crate::estimate::{Estimate, spread_around, student_95, student_p};

/// A figure over all runs of one side, and in each of its runs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Side {
    /// Over all runs: a mean of the runs' own figures, or a quantile of all requests together.
    pub(super) value: f64,
    /// Seed and figure of each run that had something to measure.
    runs: Vec<(u64, f64)>,
    /// The interval of a figure that is no mean of the runs' own: these do not say it.
    own: Option<Option<f64>>,
}

/// A mean that was written with all its digits is nearer than this to that of its runs.
const SAME: f64 = 1e-9;

impl Side {
    /// A figure over `runs`, with the interval that was given with it.
    pub(super) fn new(value: f64, ci95: Option<f64>, runs: Vec<(u64, f64)>) -> Side {
        let mean = runs.iter().map(|(_, figure)| figure).sum::<f64>() / runs.len() as f64;
        let is_mean = (mean - value).abs() <= SAME * value.abs();
        Side { value, runs, own: (!is_mean).then_some(ci95) }
    }

    fn figures(&self) -> Vec<f64> {
        self.runs.iter().map(|(_, figure)| *figure).collect()
    }

    pub(super) fn estimate(&self) -> Estimate {
        match self.own {
            Some(ci95) => Estimate { value: self.value, ci95 },
            None => Estimate::of(&self.figures()),
        }
    }

    /// Variance of the figure; none if it is not known.
    fn variance(&self) -> Option<f64> {
        let n = self.runs.len() as f64;
        match self.own {
            _ if self.runs.len() < 2 => None,
            Some(ci95) => Some((ci95? / student_95(n - 1.0)).powi(2)),
            None => Some(spread_around(self.value, &self.figures()) / n),
        }
    }
}

/// B less A.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub(super) difference: Estimate,
    /// Over A.
    pub(super) relative: Estimate,
    /// How likely a difference of this size is if there is none; none with a single run.
    pub(super) p: Option<f64>,
}

impl Difference {
    /// Both intervals are Student's around the figures over all runs: over the differences seed by seed
    /// if both sides have the same seeds and the figures are means of theirs, else Welch's. That of the ratio R is the one of B − R A, which is zero, over A.
    pub(super) fn of(a: &Side, b: &Side) -> Difference {
        let ratio = b.value / a.value;
        let plain = Contrast::of(a, b, 1.0);
        let scaled = Contrast::of(a, b, ratio);
        let half = |contrast: Option<Contrast>| contrast.map(|c| c.error * student_95(c.freedom));
        let value = b.value - a.value;
        Difference {
            difference: Estimate { value, ci95: half(plain) },
            relative: Estimate {
                value: ratio - 1.0,
                ci95: half(scaled).map(|half| half / a.value.abs()).filter(|half| half.is_finite()),
            },
            p: plain.map(|c| match c.error > 0.0 {
                true => student_p(value / c.error, c.freedom),
                // Without any chance in the figures, a difference is one.
                false => f64::from(value == 0.0),
            }),
        }
    }
}

/// How far B − w A can be trusted.
#[derive(Debug, Clone, Copy)]
struct Contrast {
    /// Standard error.
    error: f64,
    /// Degrees of freedom.
    freedom: f64,
}

impl Contrast {
    fn of(a: &Side, b: &Side, weight: f64) -> Option<Contrast> {
        if a.runs.len() < 2 || b.runs.len() < 2 {
            return None;
        }
        let seeds = |side: &Side| side.runs.iter().map(|(seed, _)| *seed).collect::<Vec<_>>();
        if seeds(a) == seeds(b) && a.own.or(b.own).is_none() {
            let pairs = a.runs.iter().zip(&b.runs);
            let each: Vec<f64> = pairs.map(|((_, a), (_, b))| b - weight * a).collect();
            let n = each.len() as f64;
            let variance = spread_around(b.value - weight * a.value, &each) / n;
            return Some(Contrast { error: variance.sqrt(), freedom: n - 1.0 });
        }
        let part = |side: &Side, weight: f64| {
            let variance = weight * weight * side.variance()?;
            Some((variance, variance * variance / (side.runs.len() - 1) as f64))
        };
        let (of_a, of_b) = (part(a, weight)?, part(b, 1.0)?);
        let variance = of_a.0 + of_b.0;
        let freedom = match variance > 0.0 {
            true => variance * variance / (of_a.1 + of_b.1),
            false => (a.runs.len() + b.runs.len() - 2) as f64,
        };
        Some(Contrast { error: variance.sqrt(), freedom })
    }
}

/// Each probability as it stands among all of them: S. Holm: A Simple Sequentially Rejective Multiple
/// Test Procedure. Scandinavian Journal of Statistics 6(2), 1979. Holds however the tests depend on
/// each other.
pub(super) fn holm(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let mut order: Vec<(f64, usize)> =
        p.iter().enumerate().filter_map(|(index, p)| Some(((*p)?, index))).collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut adjusted = vec![None; p.len()];
    let mut largest: f64 = 0.0;
    for (rank, &(p, index)) in order.iter().enumerate() {
        let left = (order.len() - rank) as f64;
        largest = largest.max(p * left).min(1.0);
        adjusted[index] = Some(largest);
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(first: u64, figures: &[f64]) -> Side {
        let value = figures.iter().sum::<f64>() / figures.len() as f64;
        Side::new(value, None, (first..).zip(figures.iter().copied()).collect())
    }

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-4 * b.abs().max(1.0), "{a} is not {b}");
    }

    /// Seeds that shift both sides by the same cancel in pairs, and do not otherwise.
    #[test]
    fn pairs_cancel_what_both_sides_share() {
        let a = side(1, &[10.0, 20.0, 30.0, 40.0]);
        let b = side(1, &[11.0, 21.0, 31.5, 40.5]);
        let paired = Difference::of(&a, &b);
        near(paired.difference.value, 1.0);
        // Differences 1, 1, 1.5, 0.5: standard error sqrt((0.25 + 0.25) / 3 / 4), t(3) = 3.18245.
        near(paired.difference.ci95.unwrap(), 3.182_446 * (0.5f64 / 12.0).sqrt());
        // t = 1 / 0.204 = 4.899 with 3 degrees of freedom.
        near(paired.p.unwrap(), 0.016_28);

        let apart = Difference::of(&a, &side(9, &[11.0, 21.0, 31.5, 40.5]));
        assert_eq!(apart.difference.value, paired.difference.value);
        assert!(apart.difference.ci95.unwrap() > 10.0 && apart.p.unwrap() > 0.9, "{apart:?}");
    }

    /// Sides of one size and one variance have the degrees of freedom of the pooled test, and a side
    /// without variance adds none.
    #[test]
    fn welch_with_equal_variances_has_the_pooled_degrees_of_freedom() {
        let (a, b) = (side(1, &[1.0, 2.0, 3.0]), side(7, &[2.0, 3.0, 4.0]));
        let contrast = Contrast::of(&a, &b, 1.0).unwrap();
        near(contrast.freedom, 4.0);
        near(contrast.error, (2.0f64 / 3.0).sqrt());
        let unequal = Contrast::of(&a, &side(7, &[3.0, 3.0, 3.0]), 1.0).unwrap();
        near(unequal.freedom, 2.0);
    }

    #[test]
    fn a_ratio_that_never_changes_has_no_width() {
        let (a, b) = (side(1, &[10.0, 20.0, 30.0]), side(1, &[12.0, 24.0, 36.0]));
        let Difference { relative, difference, .. } = Difference::of(&a, &b);
        near(relative.value, 0.2);
        assert!(relative.ci95.unwrap() < 1e-12 && difference.ci95.unwrap() > 1.0);
    }

    /// The runs' own quantiles say nothing of a pooled one: its own interval is taken.
    #[test]
    fn a_pooled_quantile_brings_its_interval() {
        let runs = || vec![(1, 10.0), (2, 10.0), (3, 10.0)];
        let side = |value, ci95| Side::new(value, ci95, runs());
        let (a, b) = (side(13.0, Some(3.0)), side(12.0, Some(4.0)));
        assert_eq!(a.estimate(), Estimate { value: 13.0, ci95: Some(3.0) });
        let found = Difference::of(&a, &b);
        assert_eq!(found.difference.value, -1.0);
        // Errors 3 and 4 over t(2) = 4.3027; Welch: (9 + 16)^2 / ((81 + 256) / 2) = 3.709 degrees of freedom.
        near(found.difference.ci95.unwrap(), 5.0 / 4.302_653 * student_95(625.0 / 168.5));
        let unknown = Difference::of(&a, &side(12.0, None));
        assert_eq!((unknown.difference.ci95, unknown.p), (None, None));
    }

    #[test]
    fn without_chance_a_difference_is_one_and_with_one_run_nothing_is_known() {
        let (a, b) = (side(1, &[5.0, 5.0]), side(1, &[5.0, 5.0]));
        assert_eq!(Difference::of(&a, &b).p, Some(1.0));
        assert_eq!(Difference::of(&a, &side(1, &[6.0, 6.0])).p, Some(0.0));
        let one = Difference::of(&side(1, &[5.0]), &side(1, &[6.0]));
        assert_eq!((one.difference.value, one.difference.ci95, one.p), (1.0, None, None));
        let none = Difference::of(&side(1, &[0.0, 0.0]), &side(1, &[1.0, 2.0]));
        assert_eq!(none.relative.ci95, None);
    }

    #[test]
    fn holm_makes_the_smallest_answer_for_all() {
        let adjusted = holm(&[Some(0.01), None, Some(0.04), Some(0.03), Some(0.005)]);
        let expected = [Some(0.03), None, Some(0.06), Some(0.06), Some(0.02)];
        for (adjusted, expected) in adjusted.iter().zip(expected) {
            match (adjusted, expected) {
                (Some(a), Some(b)) => near(*a, b),
                (a, b) => assert_eq!(*a, b),
            }
        }
        assert_eq!(holm(&[Some(0.9), Some(0.8)]), [Some(1.0), Some(1.0)]);
    }
}
