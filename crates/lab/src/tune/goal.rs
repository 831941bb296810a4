//! What is made best, and what must hold meanwhile.

use std::fmt;

use slotcast_units::{Share, Span};

use crate::metrics::{Better, Metric, Metrics, metric_definitions};
use crate::nearest::{did_you_mean, nearest};

/// How much worse an optimiser is told that settings are which break a limit: they must not pay, and it must see
/// which way out is.
const BROKEN: f64 = 0.5;
const BEYOND: f64 = 5.0;

/// What an optimiser is told of settings that cannot be run or that complete nothing; and the worst of all others.
pub(super) const IMPOSSIBLE: f64 = -20.0;

/// The metric that is made best.
#[derive(Debug, Clone, PartialEq)]
pub struct Goal {
    /// Which one.
    pub metric: Metric,
    /// Whether it is made as large as possible, and not as small.
    pub maximise: bool,
}

/// A limit that the settings must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    /// Of which metric.
    pub metric: Metric,
    /// Whether it must not be more than the bound, and not less.
    pub at_most: bool,
    /// The bound in the unit of the metric.
    pub bound: f64,
    text: String,
}

/// The metric called `name`.
pub(super) fn metric(name: &str) -> Result<Metric, (String, Option<String>)> {
    let known = metric_definitions();
    if let Some(metric) = known.iter().find(|metric| metric.name == name) {
        return Ok(metric.clone());
    }
    let near = nearest(name, known.iter().map(|metric| metric.name.as_ref()));
    Err((format!("there is no metric `{name}`"), did_you_mean(near)))
}

/// How much larger `value` is than `than`: the logarithm of the ratio where there is one.
fn gain(value: f64, than: f64) -> f64 {
    if value > 0.0 && than > 0.0 { (value / than).ln() } else { value - than }
}

impl Goal {
    /// How much better `value` is than `than`; not a number counts as the worst.
    pub(super) fn score(&self, value: f64, than: f64) -> f64 {
        let gain = gain(value, than) * if self.maximise { 1.0 } else { -1.0 };
        if gain.is_nan() { IMPOSSIBLE } else { gain.max(IMPOSSIBLE) }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.maximise { "maximise" } else { "minimise" };
        write!(f, "{verb} {}", self.metric.name)
    }
}

impl Constraint {
    /// Reads `latency_us.p99 <= 5ms`.
    ///
    /// # Errors
    /// What is wrong with `text`, and perhaps a hint.
    pub(super) fn parse(text: &str) -> Result<Constraint, (String, Option<String>)> {
        let expected = || {
            let message =
                format!("`{text}` is no limit; expected a metric, `<=` or `>=`, and a value");
            (message, Some("such as `latency_us.p99 <= 5ms`".to_string()))
        };
        let (at_most, parts) = match text.split_once("<=") {
            Some(parts) => (true, parts),
            None => (false, text.split_once(">=").ok_or_else(expected)?),
        };
        let metric = metric(parts.0.trim())?;
        let value = parts.1.trim();
        let bound = bound(value, &metric.unit).ok_or_else(|| {
            let example = match metric.unit.as_ref() {
                "us" => "a duration such as `5ms`",
                "share" => "a share such as `80%`",
                _ => "a number",
            };
            (format!("`{value}` is no value of {}; expected {example}", metric.name), None)
        })?;
        Ok(Constraint { metric, at_most, bound, text: text.trim().into() })
    }

    /// By how much `metrics` break it, as a logarithm of a ratio; zero if they do not.
    pub(super) fn excess(&self, metrics: &Metrics) -> f64 {
        let Some(found) = metrics.named(&self.metric.name) else { return 1.0 };
        let beyond = gain(found.value, self.bound);
        (if self.at_most { beyond } else { -beyond }).max(0.0)
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn bound(text: &str, unit: &str) -> Option<f64> {
    let number = || text.replace('_', "").parse::<f64>().ok();
    let number = match unit {
        "us" => text.parse::<Span>().ok().map(|span| span.as_ns() as f64 / 1e3),
        "share" => text.parse::<Share>().ok().map(Share::as_f64),
        _ => number(),
    };
    number.filter(|number| number.is_finite() && *number >= 0.0)
}

/// How settings came out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Score {
    /// How much better than the file's own settings, as a logarithm of a ratio.
    pub(super) gain: f64,
    /// By how much limits are broken.
    pub(super) excess: f64,
}

impl Score {
    /// Of settings that cannot be run, or that complete nothing.
    pub(super) const IMPOSSIBLE: Score = Score { gain: IMPOSSIBLE, excess: f64::INFINITY };

    pub(super) fn of(goal: &Goal, limits: &[Constraint], metrics: &Metrics, than: f64) -> Score {
        let Some(found) = metrics.named(&goal.metric.name) else { return Score::IMPOSSIBLE };
        let excess = limits.iter().map(|limit| limit.excess(metrics)).sum();
        Score { gain: goal.score(found.value, than), excess }
    }

    /// What an optimiser is told.
    pub(super) fn told(self) -> f64 {
        let broken = if self.excess > 0.0 { BROKEN + BEYOND * self.excess } else { 0.0 };
        (self.gain - broken).max(IMPOSSIBLE)
    }

    /// The better one of two: whatever keeps the limits, and then the larger gain.
    pub(super) fn cmp(&self, other: &Score) -> std::cmp::Ordering {
        let excess = other.excess.total_cmp(&self.excess);
        excess.then(self.gain.total_cmp(&other.gain))
    }
}

/// Which way a metric is made better if a file does not say.
pub(super) fn is_odd(metric: &Metric, maximise: bool) -> bool {
    matches!((metric.better, maximise), (Better::Lower, true) | (Better::Higher, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::report;

    fn metrics() -> Metrics {
        let run = report(1, &[100, 200, 400]);
        Metrics::of(&[&run])
    }

    #[test]
    fn limits_are_read_with_their_units() {
        let limit = Constraint::parse("latency_us.p99 <= 5ms").expect("a limit");
        assert_eq!((limit.bound, limit.at_most), (5000.0, true));
        assert_eq!(Constraint::parse("disk_utilization >= 80%").expect("a limit").bound, 0.8);
        assert_eq!(Constraint::parse("chunks_per_s>=70_000").expect("a limit").bound, 70_000.0);
        let wrong = |text: &str| Constraint::parse(text).expect_err("no limit");
        assert!(wrong("latency_us.p99 < 5ms").0.contains("expected a metric, `<=` or `>=`"));
        assert!(wrong("latency_us.p99 <= 5").0.contains("expected a duration such as `5ms`"));
        assert_eq!(
            wrong("latency.p99 <= 5ms").1.as_deref(),
            Some("did you mean `latency_us.p99`?")
        );
    }

    #[test]
    fn what_breaks_a_limit_is_worse_than_what_does_not() {
        let goal = Goal { metric: metric("chunks_per_s").expect("a metric"), maximise: true };
        let metrics = metrics();
        let score = |limit: &str, than| {
            let limits = [Constraint::parse(limit).expect("a limit")];
            Score::of(&goal, &limits, &metrics, than)
        };
        let (kept, broken) =
            (score("latency_us.p50 <= 1ms", 1e6), score("latency_us.p50 <= 100us", 1.0));
        assert!(kept.excess == 0.0 && kept.gain < 0.0 && broken.gain > 0.0);
        assert!((broken.excess - 2f64.ln()).abs() < 1e-12, "{broken:?}");
        assert_eq!(kept.cmp(&broken), std::cmp::Ordering::Greater);
        assert!(broken.told() < broken.gain - 0.5);
        assert_eq!(Score::IMPOSSIBLE.told(), IMPOSSIBLE);
    }

    #[test]
    fn better_is_larger_or_smaller_as_the_goal_says() {
        let goal =
            |maximise| Goal { metric: metric("latency_us.p99").expect("a metric"), maximise };
        assert!(goal(false).score(50.0, 100.0) > 0.0 && goal(true).score(50.0, 100.0) < 0.0);
        assert_eq!(goal(false).score(f64::NAN, 100.0), IMPOSSIBLE);
        assert!(is_odd(&goal(true).metric, true) && !is_odd(&goal(true).metric, false));
    }
}
