//! Where more stops paying.
//!
//! Two questions are asked of every line along a numeric axis, both of the runs seed by seed, so that
//! chance which is common to two points cancels.
//!
//! * **Throughput.** Ideal growth is proportional: twice the load, twice the throughput of the first
//!   point. (Where an axis starts at zero, ideal growth is that of its first step.) The knee is the first
//!   point from which throughput gains less than half of that on the way to every later point.
//! * **Latency.** The knee is the point of the greatest *power*, throughput over mean latency (Kleinrock,
//!   Power and deterministic rules of thumb for probabilistic problems in computer communications, ICC
//!   1979). Beyond it latency grows by a larger factor than throughput.
//!
//! Neither needs a scale of its own, as methods do that first normalise the curve to a square, so that a
//! longer range moves the knee. A line along which throughput does not grow has no knee.

use serde::Serialize;

use super::findings::SweepFindings;
use crate::estimate::Estimate;
use crate::runner::Execution;

/// Lines with fewer points bend nowhere.
const FEWEST_POINTS: usize = 3;

/// What a knee is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum KneeOf {
    /// Throughput stops to grow with the axis.
    Throughput,
    /// Latency takes off.
    Latency,
}

/// What was found along one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The knee is at the step with this label.
    At(String),
    /// Already the first step, with this label, is at or beyond the knee.
    AtOrBelow(String),
    /// There is no knee in this range.
    NotInRange,
    /// Throughput does not grow along this line.
    NoGrowth,
}

/// The knee of one line along one axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Knee {
    /// What varies along the axis.
    pub axis: String,
    /// What is held on the other axes; empty if there are none.
    pub line: String,
    /// Of throughput or of latency.
    pub of: KneeOf,
    /// What was found.
    pub verdict: Verdict,
    /// Whether the 95 % intervals bear it out; otherwise only the means do.
    pub certain: bool,
}

/// One line: where its points are on the axis, and what every seed found there.
struct Curve<'a> {
    x: Vec<f64>,
    labels: Vec<&'a str>,
    /// Of each point and each seed, in the order of `x`.
    throughput: Vec<Vec<f64>>,
    latency: Vec<Vec<f64>>,
}

/// All knees of a sweep.
pub(super) fn find(findings: &SweepFindings, runs: &[Vec<Execution>]) -> Vec<Knee> {
    let mut knees = Vec::new();
    for (along, axis) in findings.axes.iter().enumerate() {
        let Some(numbers) = &axis.numbers else { continue };
        for line in findings.lines(along) {
            let mut steps: Vec<usize> = (0..numbers.len()).collect();
            steps.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
            let distinct = steps.windows(2).all(|pair| numbers[pair[0]] < numbers[pair[1]]);
            if !distinct || steps.len() < FEWEST_POINTS {
                continue;
            }
            let of = |of: fn(&Execution) -> f64| -> Vec<Vec<f64>> {
                steps.iter().map(|&step| runs[line.points[step]].iter().map(of).collect()).collect()
            };
            let curve = Curve {
                x: steps.iter().map(|&step| numbers[step]).collect(),
                labels: steps.iter().map(|&step| axis.labels[step].as_str()).collect(),
                throughput: of(|run| run.report.chunks_per_s),
                latency: of(|run| run.report.latency.mean),
            };
            let found = [
                (KneeOf::Throughput, curve.throughput_knee()),
                (KneeOf::Latency, curve.latency_knee()),
            ];
            for (of, (verdict, certain)) in found {
                let (axis, line) = (axis.name(), line.label.clone());
                knees.push(Knee { axis, line, of, verdict, certain });
            }
        }
    }
    knees
}

/// Whether the interval of `difference` lies below zero.
fn surely_negative(difference: Estimate) -> bool {
    difference.ci95.is_some_and(|ci95| difference.value + ci95 < 0.0)
}

impl Curve<'_> {
    fn last(&self) -> usize {
        self.x.len() - 1
    }

    /// Over the seeds.
    fn over_seeds(&self, of: impl Fn(usize) -> f64) -> Estimate {
        let seeds = self.throughput[0].len();
        Estimate::of(&(0..seeds).map(of).collect::<Vec<_>>())
    }

    /// Whether throughput anywhere on the line is above that of its first point, by more than chance.
    fn grows(&self) -> bool {
        (1..=self.last()).any(|point| {
            let t = &self.throughput;
            let less = self.over_seeds(|seed| t[0][seed] - t[point][seed]);
            less.value < 0.0 && (less.ci95.is_none() || surely_negative(less))
        })
    }

    /// What half of the ideal growth from `from` to `to` would bring beyond what there was.
    fn shortfall(&self, from: usize, to: usize) -> Estimate {
        let (x, t) = (&self.x, &self.throughput);
        self.over_seeds(|seed| {
            let ideal = match x[0] > 0.0 {
                true => t[0][seed] / x[0],
                false => (t[1][seed] - t[0][seed]) / (x[1] - x[0]),
            };
            (t[to][seed] - t[from][seed]) / (x[to] - x[from]) - ideal / 2.0
        })
    }

    fn throughput_knee(&self) -> (Verdict, bool) {
        if !self.grows() {
            return (Verdict::NoGrowth, true);
        }
        for point in 0..self.last() {
            let later: Vec<Estimate> =
                (point + 1..=self.last()).map(|to| self.shortfall(point, to)).collect();
            if later.iter().all(|shortfall| shortfall.value < 0.0) {
                return (self.at(point), later.into_iter().all(surely_negative));
            }
        }
        (Verdict::NotInRange, true)
    }

    fn latency_knee(&self) -> (Verdict, bool) {
        if !self.grows() {
            return (Verdict::NoGrowth, true);
        }
        let power =
            |point: usize, seed: usize| self.throughput[point][seed] / self.latency[point][seed];
        let means: Vec<f64> = (0..=self.last())
            .map(|point| self.over_seeds(|seed| power(point, seed)).value)
            .collect();
        // A point at which nothing was finished has no latency, and no power.
        let highest = (0..=self.last())
            .filter(|&point| means[point].is_finite())
            .max_by(|&a, &b| means[a].total_cmp(&means[b]));
        match highest {
            None => (Verdict::NotInRange, false),
            Some(highest) if highest == self.last() => (Verdict::NotInRange, true),
            Some(highest) => {
                let fall = |seed| power(self.last(), seed) - power(highest, seed);
                (self.at(highest), surely_negative(self.over_seeds(fall)))
            }
        }
    }

    fn at(&self, point: usize) -> Verdict {
        let label = self.labels[point].to_string();
        if point == 0 { Verdict::AtOrBelow(label) } else { Verdict::At(label) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line over `x` with three seeds that differ by one per cent.
    fn curve(
        x: &[f64],
        throughput: impl Fn(f64) -> f64,
        latency: impl Fn(f64) -> f64,
    ) -> Curve<'static> {
        let seeds = |value: f64| vec![value * 0.99, value, value * 1.01];
        let labels = ["a", "b", "c", "d", "e", "f", "g", "h"];
        Curve {
            x: x.to_vec(),
            labels: labels[..x.len()].to_vec(),
            throughput: x.iter().map(|&x| seeds(throughput(x))).collect(),
            latency: x.iter().map(|&x| seeds(latency(x))).collect(),
        }
    }

    const DOUBLING: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn at(label: &str) -> (Verdict, bool) {
        (Verdict::At(label.into()), true)
    }

    #[test]
    fn throughput_that_levels_off_has_its_knee_there() {
        // A closed loop: proportional up to 8, then 8 at most; latency by Little's law.
        let closed = curve(&DOUBLING, |x| x.min(8.0), |x| x / x.min(8.0));
        assert_eq!(closed.throughput_knee(), at("d"));
        assert_eq!(closed.latency_knee(), at("d"));
    }

    #[test]
    fn a_queue_takes_off_before_it_is_full() {
        // M/M/1 with a rate of one: power is load times what is left, highest at one half.
        let loads = [0.1, 0.3, 0.5, 0.7, 0.9, 0.98];
        let queue = curve(&loads, |x| x, |x| 1.0 / (1.0 - x));
        assert_eq!(queue.throughput_knee(), (Verdict::NotInRange, true), "it carries what comes");
        assert_eq!(queue.latency_knee(), at("c"));
    }

    #[test]
    fn the_longer_range_finds_the_same_knee() {
        let of = |points: usize| {
            curve(&DOUBLING[..points], |x| x.min(8.0), |x| x / x.min(8.0)).throughput_knee()
        };
        assert_eq!(of(5), of(7));
    }

    #[test]
    fn a_straight_line_has_none() {
        let straight = curve(&DOUBLING, |x| x, |_| 1.0);
        assert_eq!(straight.throughput_knee().0, Verdict::NotInRange);
        assert_eq!(straight.latency_knee().0, Verdict::NotInRange);
    }

    #[test]
    fn a_line_that_is_full_from_the_start_says_so() {
        let full = curve(&DOUBLING, |x| 100.0 + x / 10.0, |x| x);
        assert_eq!(full.throughput_knee().0, Verdict::AtOrBelow("a".into()));
        assert_eq!(full.latency_knee().0, Verdict::AtOrBelow("a".into()));
    }

    #[test]
    fn what_does_not_grow_has_no_knee() {
        let falling = curve(&DOUBLING, |x| 100.0 / x, |x| x);
        assert_eq!(falling.throughput_knee(), (Verdict::NoGrowth, true));
        assert_eq!(falling.latency_knee(), (Verdict::NoGrowth, true));
    }

    #[test]
    fn an_axis_from_zero_is_measured_by_its_first_step() {
        let from_zero = curve(&[0.0, 1.0, 2.0, 3.0, 4.0], |x| 10.0 + x.min(2.0), |_| 1.0);
        assert_eq!(from_zero.throughput_knee(), at("c"));
    }

    #[test]
    fn chance_makes_a_knee_uncertain() {
        let mut noisy = curve(&[1.0, 2.0, 3.0], |x| x.min(2.4), |x| x);
        noisy.throughput[2] = vec![1.0, 2.4, 3.8];
        let (verdict, certain) = noisy.throughput_knee();
        assert_eq!((verdict, certain), (Verdict::At("b".into()), false));
    }
}
