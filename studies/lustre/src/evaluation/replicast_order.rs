//! Whether object order at the disk still pays when targets bid windows.

use slotcast_lab::paired::per_seed;
use slotcast_lab::{Figures, Findings, Measured, Mode, Row};
use slotcast_units::{Size, Span};

/// What a point is called: small chunks with and without a seek each, and large ones.
fn name(point: &Measured) -> &'static str {
    let is_large = point.scenario.workload.chunk_size > Size::from_mib(1);
    match (is_large, point.scenario.disk.access_time < Span::from_ms(1)) {
        (true, _) => "chunks-of-8MiB",
        (false, true) => "chunks-of-1MiB-in-object-order",
        (false, false) => "chunks-of-1MiB",
    }
}

pub(super) fn order(measured: &[Measured]) -> Findings {
    let mut rows = Vec::new();
    for point in measured {
        let mut add = |what: &str, samples: &[f64], unit| {
            let id = format!("lustre/replicast/{}/{what}", name(point));
            rows.push(Row::new(id, None, samples, unit, Mode::SteadyState));
        };
        // Objects of 8 MiB.
        let rate = per_seed(point, |report| report.chunks_per_s * 8.0);
        add("bandwidth", &rate, "MiB/s");
        add("mean_latency", &per_seed(point, |report| report.latency.mean / 1e3), "ms");
        add("p99_latency", &per_seed(point, |report| report.latency.p99 / 1e3), "ms");
    }
    Findings { rows, figures: Figures::new() }
}
