//! Theory beside simulation, in every run: Little's law, and the wait of random arrivals.

use serde::Serialize;
use slotcast_sim::{Little, RunReport};

use crate::estimate::Estimate;

/// By how much throughput times latency may miss the number under way.
const TOLERANCE: f64 = 0.05;

/// What theory says of a point beside what was measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Theory {
    /// The wait of chunks for their disk.
    pub disk_wait_us: DiskWaitTheory,
    /// Little's law.
    pub little: LittleTheory,
}

/// The wait of chunks for their disk in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DiskWaitTheory {
    /// As measured.
    pub measured: Estimate,
    /// As Pollaczek and Khinchine have it, if as many chunks came to each disk at random, independently
    /// of each other. None if some disk was offered more than it can do.
    pub pollaczek_khinchine: Option<Estimate>,
}

/// Little's law over what it holds of.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LittleTheory {
    /// Over the requests that initiators have under way, those that wait for a place included.
    pub requests: LittleReport,
    /// Over the chunks at the disks.
    pub disks: LittleReport,
}

/// Little's law over one kind of thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LittleReport {
    /// Mean number that was there, integrated over time.
    pub number: Estimate,
    /// Their rate times their mean time there.
    pub rate_times_time: Estimate,
    /// The second over the first.
    pub ratio: Estimate,
    /// Time in all runs that nothing accounts for, in microseconds: zero, or the simulator is wrong.
    pub unaccounted_us: f64,
    /// Whether nothing is unaccounted for, and the ratio is 1 within 5 %, or within its interval.
    pub holds: bool,
}

impl Theory {
    /// Over the runs of one point.
    pub(crate) fn of(runs: &[&RunReport]) -> Theory {
        let over = |figures: Vec<f64>| Estimate::of(&figures);
        let over_runs = |of: fn(&RunReport) -> Little| {
            LittleReport::of(&runs.iter().map(|run| of(run)).collect::<Vec<_>>())
        };
        let at_random: Option<Vec<_>> = runs.iter().map(|run| run.disk_wait.at_random).collect();
        Theory {
            disk_wait_us: DiskWaitTheory {
                measured: over(runs.iter().map(|run| run.disk_wait.measured).collect()),
                pollaczek_khinchine: at_random.map(over),
            },
            little: LittleTheory {
                requests: over_runs(|run| run.requests),
                disks: over_runs(|run| run.chunks_at_disks),
            },
        }
    }
}

impl LittleReport {
    fn of(runs: &[Little]) -> LittleReport {
        let over = |of: fn(&Little) -> Option<f64>| {
            Estimate::of(&runs.iter().filter_map(of).collect::<Vec<_>>())
        };
        let ratio = over(Little::ratio);
        let unaccounted: f64 = runs.iter().map(|l| l.unaccounted().unsigned_abs() as f64).sum();
        let off = (ratio.value - 1.0).abs();
        LittleReport {
            number: over(|little| Some(little.mean_number())),
            rate_times_time: over(|little| Some(little.rate_times_sojourn())),
            ratio,
            unaccounted_us: unaccounted / 1e3,
            holds: unaccounted == 0.0
                && (ratio.value.is_nan() || off <= TOLERANCE.max(ratio.ci95.unwrap_or(0.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::tests::report;
    use slotcast_sim::DiskWait;
    use slotcast_units::Span;

    fn little(sojourns: u128, edges: i128) -> Little {
        Little { elapsed: Span::from_ns(100), members: 2, sojourns, integral: 100, edges }
    }

    #[test]
    fn an_edge_is_told_from_an_error() {
        let of = LittleReport::of;
        let steady = of(&[little(98, 2), little(101, -1)]);
        assert!(steady.holds && steady.unaccounted_us == 0.0, "{steady:?}");
        let short = of(&[little(70, 30), little(72, 28)]);
        assert!(!short.holds && short.unaccounted_us == 0.0, "{short:?}");
        let wrong = of(&[little(98, 2), little(98, 0)]);
        assert!(!wrong.holds && wrong.unaccounted_us == 0.002, "{wrong:?}");
        // A ratio that says little about itself is no reason to complain.
        assert!(of(&[little(80, 20), little(105, -5)]).holds);
        assert!(of(&[Little::default()]).holds, "nothing was there");
    }

    #[test]
    fn an_overloaded_disk_has_no_wait_in_theory() {
        let (a, b) = (report(1, &[100]), report(2, &[200]));
        let theory = Theory::of(&[&a, &b]).disk_wait_us;
        assert_eq!(theory.pollaczek_khinchine.unwrap().value, 25.0);
        let full = DiskWait { measured: 900.0, at_random: None };
        let b = RunReport { disk_wait: full, ..b };
        assert_eq!(Theory::of(&[&a, &b]).disk_wait_us.pollaczek_khinchine, None);
    }
}
