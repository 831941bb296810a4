//! What a request must expect, from what the last ones saw.

use slotcast_units::{Span, Time};

use crate::timeout::window::SlidingWindow;

/// How the service time is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimatorKind {
    /// The longest service time in the window.
    Max,
    /// A line through the longest service time of each sub-window, by least squares over the arrival of
    /// those requests, read off at the present: it follows a trend.
    Lcf,
    /// The longest mean execution time of a sub-window (time at work over requests finished) times the
    /// requests that are queued. Called LOAD in the authors' later paper.
    Aet,
}

/// A request that a server has executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// When it came.
    pub arrived: Time,
    /// For how long the server has been at work since the request that was finished before it.
    pub busy: Span,
}

/// The record of one sub-window.
#[derive(Debug, Clone, Copy, Default)]
struct Record {
    /// Longest service time, and when that request had come.
    longest: Span,
    its_arrival: Time,
    finished: u64,
    busy: Span,
}

/// Estimates the service time, queue included, of a request that comes now (seed 003, "AT: Service
/// time estimating algorithm").
#[derive(Debug, Clone)]
pub struct Estimator {
    kind: EstimatorKind,
    window: SlidingWindow<Record>,
}

impl Estimator {
    /// Over `parts` sub-windows of length `part`.
    ///
    /// # Panics
    /// If either is zero.
    pub fn new(kind: EstimatorKind, part: Span, parts: u32) -> Estimator {
        Estimator { kind, window: SlidingWindow::new(part, parts) }
    }

    /// A request was executed.
    pub fn finished(&mut self, now: Time, request: Finished) {
        let service = now.saturating_since(request.arrived);
        let record = self.window.record(now);
        record.finished += 1;
        record.busy += request.busy;
        if service >= record.longest {
            record.longest = service;
            record.its_arrival = request.arrived;
        }
    }

    /// The estimate for a request that finds `queued` others before it; none while nothing is known.
    pub fn estimate(&self, now: Time, queued: u64) -> Option<Span> {
        match self.kind {
            EstimatorKind::Max => self.window.records(now).map(|record| record.longest).max(),
            EstimatorKind::Lcf => self.line_at(now),
            EstimatorKind::Aet => {
                let means = self.window.records(now).filter(|record| record.finished > 0);
                let slowest = means.map(|record| record.busy.as_ns() / record.finished).max()?;
                Some(Span::from_ns(slowest.saturating_mul(queued + 1)))
            }
        }
    }

    /// The line of least squares at `now`; through a single record it is level.
    fn line_at(&self, now: Time) -> Option<Span> {
        // Seconds before now: small numbers, so that their squares lose nothing.
        let points = || {
            self.window.records(now).map(|record| {
                let before = now.saturating_since(record.its_arrival).as_secs_f64();
                (-before, record.longest.as_secs_f64())
            })
        };
        let n = points().count();
        if n == 0 {
            return None;
        }
        let n = n as f64;
        let mean_t = points().map(|(t, _)| t).sum::<f64>() / n;
        let mean_v = points().map(|(_, v)| v).sum::<f64>() / n;
        let spread = points().map(|(t, _)| (t - mean_t) * (t - mean_t)).sum::<f64>();
        let rise = points().map(|(t, v)| (t - mean_t) * (v - mean_v)).sum::<f64>();
        let slope = if spread > 0.0 { rise / spread } else { 0.0 };
        Some(Span::from_secs_f64((mean_v - slope * mean_t).max(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    /// Requests that came every 10 s and took 1, 2, 3 s.
    fn estimator(kind: EstimatorKind) -> Estimator {
        let mut estimator = Estimator::new(kind, Span::from_secs(10), 5);
        for n in 1..=3 {
            let arrived = at(10 * n);
            let busy = Span::from_ms(4);
            estimator.finished(at(10 * n + n), Finished { arrived, busy });
            let busy = Span::from_ms(2);
            estimator.finished(at(10 * n + n), Finished { arrived: at(10 * n + n), busy });
        }
        estimator
    }

    fn seconds(estimate: Option<Span>) -> f64 {
        estimate.expect("something is known").as_secs_f64()
    }

    #[test]
    fn max_is_the_longest_in_the_window() {
        let max = estimator(EstimatorKind::Max);
        assert_eq!(max.estimate(at(40), 0), Some(Span::from_secs(3)));
        assert_eq!(max.estimate(at(79), 0), Some(Span::from_secs(3)));
        assert_eq!(max.estimate(at(80), 0), None);
    }

    #[test]
    fn lcf_follows_the_trend() {
        let lcf = estimator(EstimatorKind::Lcf);
        assert!((seconds(lcf.estimate(at(40), 0)) - 4.0).abs() < 1e-9);
        assert!((seconds(lcf.estimate(at(49), 0)) - 4.9).abs() < 1e-9);
        // One record is left: no trend.
        assert!((seconds(lcf.estimate(at(79), 0)) - 3.0).abs() < 1e-9);
    }

    #[test]
    fn aet_counts_what_is_queued() {
        let aet = estimator(EstimatorKind::Aet);
        // 6 ms for 2 requests: 3 ms each.
        assert_eq!(aet.estimate(at(40), 0), Some(Span::from_ms(3)));
        assert_eq!(aet.estimate(at(40), 999), Some(Span::from_secs(3)));
    }
}
