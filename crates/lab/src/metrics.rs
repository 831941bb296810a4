//! What a point measured, over all its seeds. The names are the same in every experiment.

use serde::Serialize;
use slotcast_sim::{Counts, Latency, RunReport};

use crate::estimate::Estimate;

/// The metrics of one point, each a mean over the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Requests completed per second.
    pub chunks_per_s: Estimate,
    /// Latency of all requests in microseconds.
    pub latency_us: LatencyMetrics,
    /// Latency of puts, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub put_latency_us: Option<LatencyMetrics>,
    /// Latency of gets, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get_latency_us: Option<LatencyMetrics>,
    /// Part of the time in which a disk is busy, from 0 to 1.
    pub disk_utilization: Estimate,
    /// Chunks at a disk, the one in service included.
    pub disk_queue_length: Estimate,
    /// Payload received over what a target's link could carry, from 0 to 1.
    pub link_utilization: Estimate,
}

/// Mean and quantiles of a latency. A quantile here is the mean over runs of each run's own quantile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyMetrics {
    /// Arithmetic mean.
    pub mean: Estimate,
    /// Median.
    pub p50: Estimate,
    /// 90th percentile.
    pub p90: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
    /// 99.9th percentile.
    pub p999: Estimate,
    /// Longest.
    pub max: Estimate,
}

impl LatencyMetrics {
    /// Over the runs that completed something; the rest have no latency at all, not one of zero.
    fn of<'a>(runs: impl Iterator<Item = &'a Latency>) -> LatencyMetrics {
        let runs: Vec<_> = runs.filter(|latency| latency.count > 0).collect();
        let over = |of: fn(&Latency) -> f64| {
            Estimate::of(&runs.iter().map(|latency| of(latency)).collect::<Vec<_>>())
        };
        LatencyMetrics {
            mean: over(|l| l.mean),
            p50: over(|l| l.p50),
            p90: over(|l| l.p90),
            p99: over(|l| l.p99),
            p999: over(|l| l.p999),
            max: over(|l| l.max),
        }
    }

    fn if_any<'a>(runs: impl Iterator<Item = &'a Latency> + Clone) -> Option<LatencyMetrics> {
        runs.clone().any(|latency| latency.count > 0).then(|| LatencyMetrics::of(runs))
    }
}

impl Metrics {
    /// Over the runs of one point.
    pub fn of(runs: &[&RunReport]) -> Metrics {
        let runs = || runs.iter().copied();
        let over = |of: fn(&RunReport) -> f64| Estimate::of(&runs().map(of).collect::<Vec<_>>());
        Metrics {
            chunks_per_s: over(|r| r.chunks_per_s),
            latency_us: LatencyMetrics::of(runs().map(|r| &r.latency)),
            put_latency_us: LatencyMetrics::if_any(runs().map(|r| &r.put_latency)),
            get_latency_us: LatencyMetrics::if_any(runs().map(|r| &r.get_latency)),
            disk_utilization: over(|r| r.disk_utilization),
            disk_queue_length: over(|r| r.disk_queue_length),
            link_utilization: over(|r| r.link_utilization),
        }
    }
}

/// The counts of a run by name.
pub fn named_counts(counts: &Counts) -> [(&'static str, u64); 11] {
    // Taken apart so that a new count cannot be forgotten here.
    let Counts {
        puts,
        gets,
        failures,
        abandoned,
        extra_rounds,
        messages_lost,
        transfer_conflicts,
        frames_marked,
        frames_dropped,
        retransmissions,
        timeouts,
    } = *counts;
    [
        ("puts", puts),
        ("gets", gets),
        ("failures", failures),
        ("abandoned", abandoned),
        ("extra_rounds", extra_rounds),
        ("messages_lost", messages_lost),
        ("transfer_conflicts", transfer_conflicts),
        ("frames_marked", frames_marked),
        ("frames_dropped", frames_dropped),
        ("retransmissions", retransmissions),
        ("timeouts", timeouts),
    ]
}

/// The counts of some runs together.
pub fn total_counts(runs: &[&RunReport]) -> Vec<(&'static str, u64)> {
    let mut total = named_counts(&Counts::default());
    for run in runs {
        for (sum, (_, count)) in total.iter_mut().zip(named_counts(&run.counts)) {
            sum.1 += count;
        }
    }
    total.to_vec()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use slotcast_sim::{Completion, Operation};
    use slotcast_units::{Span, Time};

    /// A made-up report: `latencies` in microseconds, puts, one after another.
    pub(crate) fn report(seed: u64, latencies: &[u64]) -> RunReport {
        let spans = || latencies.iter().map(|&us| Span::from_us(us));
        RunReport {
            seed,
            length: Span::from_ms(10),
            warmup: Span::ZERO,
            events: 100 * latencies.len() as u64,
            trace_hash: seed.wrapping_mul(0x9e37_79b9),
            chunks_per_s: latencies.len() as f64 * 100.0,
            latency: Latency::of(spans()),
            put_latency: Latency::of(spans()),
            get_latency: Latency::default(),
            disk_utilization: 0.5,
            disk_queue_length: 1.5,
            link_utilization: 0.25,
            counts: Counts { puts: latencies.len() as u64, ..Counts::default() },
            port_queues: None,
            completions: spans()
                .map(|span| Completion {
                    started: Time::ZERO,
                    finished: Time::ZERO + span,
                    operation: Operation::Put,
                })
                .collect(),
        }
    }

    #[test]
    fn metrics_are_means_over_runs() {
        let runs = [report(1, &[100, 200]), report(2, &[300, 400])];
        let metrics = Metrics::of(&runs.each_ref());
        assert_eq!(metrics.latency_us.mean.value, 250.0);
        assert!(metrics.latency_us.mean.ci95.unwrap() > 0.0);
        assert_eq!(metrics.latency_us.max.value, 300.0);
        assert_eq!(metrics.put_latency_us.unwrap().mean.value, 250.0);
        assert!(metrics.get_latency_us.is_none());
        assert_eq!(total_counts(&runs.each_ref())[0], ("puts", 4));
    }

    #[test]
    fn a_run_without_requests_does_not_pull_the_latency_to_zero() {
        let runs = [report(1, &[]), report(2, &[300])];
        assert_eq!(Metrics::of(&runs.each_ref()).latency_us.mean.value, 300.0);
    }
}
