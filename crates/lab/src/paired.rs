//! Points that ran with the same seeds. The same seed is the same load, so they are compared seed by
//! seed: most of the chance cancels.

use slotcast_sim::RunReport;

use crate::evaluation::Measured;

/// One figure of every run of `point`, in the order of the seeds.
pub fn per_seed(point: &Measured, of: impl Fn(&RunReport) -> f64) -> Vec<f64> {
    point.runs.iter().map(|run| of(&run.report)).collect()
}

/// By how many percent a figure is lower `with` something than `without` it, seed by seed.
pub fn gains(without: &Measured, with: &Measured, of: impl Fn(&RunReport) -> f64) -> Vec<f64> {
    let (without, with) = (per_seed(without, &of), per_seed(with, &of));
    without.iter().zip(&with).map(|(without, with)| (1.0 - with / without) * 100.0).collect()
}

/// The chunk and the disk of a point: `128KiB/400MBps`.
pub fn chunk_and_disk(point: &Measured) -> String {
    let chunk = point.scenario.workload.chunk_size;
    let disk = point.scenario.disk.rate.as_bps() / (8 << 20);
    format!("{chunk}/{disk}MBps")
}
