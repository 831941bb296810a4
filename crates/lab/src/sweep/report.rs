//! What `slotcast sweep --json` writes. `docs/simulate/json.md` describes every field:
//! change both together.

use std::time::Duration;

use serde::Serialize;

use super::findings::{AxisFindings, SweepFindings};
use super::knee::Knee;
use crate::experiment::Experiment;
use crate::report::SimReport;
use crate::runner::Execution;

/// What `slotcast sweep --json` writes: what `sim` says of the same sweep, with the axes and the knees.
#[derive(Debug, Clone, Serialize)]
pub struct SweepReport {
    /// The points, as `sim` writes them.
    #[serde(flatten)]
    pub sim: SimReport,
    /// What is swept; the points are these crossed, the last one varying fastest.
    pub axes: Vec<AxisFindings>,
    /// Where more of a numeric axis stops paying.
    pub knees: Vec<Knee>,
}

impl SweepReport {
    /// Over the runs of `experiment`, one list per point, of which this process waited `wall` for some.
    pub fn new(
        version: &str,
        experiment: &Experiment,
        runs: &[Vec<Execution>],
        findings: &SweepFindings,
        wall: Duration,
    ) -> SweepReport {
        SweepReport {
            sim: SimReport::new(version, experiment, runs, wall),
            axes: findings.axes.clone(),
            knees: findings.knees.clone(),
        }
    }
}
