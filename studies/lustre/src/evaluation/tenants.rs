//! Three tenants under every policy.

use slotcast_lab::setting::Choice;
use slotcast_lab::{Figures, Findings};

use super::policy::PolicyName;
use super::rows::{at, row};
use super::runs::Measured;
use crate::{JobReport, LustreReport, PhaseReport};

/// What the clients of `job` did.
fn phase<'a>(report: &'a LustreReport, job: &str) -> Option<&'a PhaseReport> {
    let found = report.jobs.iter().find(|there| there.name == job);
    found.and_then(|JobReport { write, read, .. }| write.as_ref().or(read.as_ref()))
}

/// What every tenant gets under every policy.
pub(super) fn tenants(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for policy in PolicyName::WORDS {
        let Some(measured) = at(measured, &[("scheduler.policy", policy.word)]) else { continue };
        let mut add = |what: &str, job: &str, unit, of: fn(&PhaseReport) -> f64| {
            let samples = measured.per_seed(|report| phase(report, job).map_or(f64::NAN, of));
            rows.push(row(format!("tenants/{}/{what}", policy.word), None, &samples, unit));
        };
        add("reader_p99", "reader", "ms", |phase| phase.response.p99 / 1e3);
        add("reader_bandwidth", "reader", "MiB/s", PhaseReport::mib_per_s);
        add("stream_bandwidth", "stream", "MiB/s", PhaseReport::mib_per_s);
        add("stream_longest", "stream", "s", |phase| phase.response.max / 1e6);
        add("checkpoint_time", "checkpoint", "s", PhaseReport::seconds);
        add("checkpoint_fairness", "checkpoint", "1 is equal", |phase| phase.fairness);
    }
    Findings { rows, figures: Figures::new() }
}
