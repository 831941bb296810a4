//! Rows of the tables, made of runs.

use slotcast_lab::{Mode, Row};

use super::runs::Measured;
use crate::{DirectionUse, LustreReport, PhaseReport};

/// Writes or reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Write,
    Read,
}

impl Way {
    pub(super) const BOTH: [Way; 2] = [Way::Write, Way::Read];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Write => "write",
            Way::Read => "read",
        }
    }

    /// What the first job did in this direction.
    pub(super) fn phase(self, report: &LustreReport) -> Option<&PhaseReport> {
        let job = report.jobs.first()?;
        match self {
            Way::Write => job.write.as_ref(),
            Way::Read => job.read.as_ref(),
        }
    }

    pub(super) fn disks(self, report: &LustreReport) -> &DirectionUse {
        match self {
            Way::Write => &report.disks.write,
            Way::Read => &report.disks.read,
        }
    }
}

/// A row of the evaluation, as published: from the first nanosecond.
pub(super) fn row(
    id: impl Into<String>,
    published: Option<f64>,
    samples: &[f64],
    unit: &'static str,
) -> Row {
    Row::new(format!("lustre/{}", id.into()), published, samples, unit, Mode::AsPublished)
}

/// Bandwidth of the first job in MiB/s.
pub(super) fn bandwidth(measured: &Measured, way: Way) -> Vec<f64> {
    measured.per_seed(|report| way.phase(report).map_or(0.0, PhaseReport::mib_per_s))
}

/// Seeks per second of one disk while the first job went that way.
pub(super) fn seeks(measured: &Measured, way: Way) -> Vec<f64> {
    let disks = f64::from(measured.scenario().ost.count * measured.scenario().disk.members);
    measured.per_seed(|report| {
        let seconds = way.phase(report).map_or(0.0, PhaseReport::seconds);
        way.disks(report).seeks as f64 / disks / seconds
    })
}

/// Seeks per second of one disk over writes and reads together.
pub(super) fn all_seeks(measured: &Measured) -> Vec<f64> {
    let disks = f64::from(measured.scenario().ost.count * measured.scenario().disk.members);
    measured.per_seed(|report| {
        let seconds = |way: Way| way.phase(report).map_or(0.0, PhaseReport::seconds);
        let seeks = |way: Way| way.disks(report).seeks as f64;
        let sum = |of: &dyn Fn(Way) -> f64| Way::BOTH.into_iter().map(of).sum::<f64>();
        sum(&seeks) / disks / sum(&seconds)
    })
}

/// The point with these values of swept keys.
pub(super) fn at<'a>(measured: &'a [Measured], wanted: &[(&str, &str)]) -> Option<&'a Measured> {
    measured.iter().find(|measured| {
        wanted.iter().all(|(key, value)| measured.point.value(key).as_deref() == Some(value))
    })
}
