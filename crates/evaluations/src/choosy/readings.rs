//! What the text leaves open, and which reading of it brings the published gain in each cell.

use slotcast_lab::paired::{chunk_and_disk, gains};
use slotcast_lab::{Claim, Findings, Measured, Mode, Row};
use slotcast_units::Span;

use super::{PUBLISHED_GAIN, mean_latency};

const CELLS: [&str; 4] = ["128KiB/400MBps", "128KiB/1000MBps", "1MiB/400MBps", "1MiB/1000MBps"];

/// `10ms/first-wait-6us/overlapping`.
fn reading(point: &Measured) -> String {
    let wait = match point.scenario.replicast.choosy_start {
        Span::ZERO => "3-round-trips".into(),
        wait => wait.to_string(),
    };
    let windows = match point.scenario.quirks.overlapping_windows {
        true => "overlapping",
        false => "own-link-kept",
    };
    format!("{}/first-wait-{wait}/{windows}", point.scenario.run.length)
}

/// The gain under every reading.
pub(super) fn rows(measured: &[Measured]) -> Vec<Row> {
    let choosy = measured.iter().filter(|point| point.scenario.replicast.choosy);
    let row = |choosy: &Measured| {
        let mut wanted = choosy.scenario.clone();
        wanted.replicast.choosy = false;
        wanted.replicast.choosy_start = Span::ZERO;
        wanted.quirks.overlapping_windows = false;
        let plain = measured.iter().find(|point| point.scenario == wanted)?;
        let id = format!("choosy/{}/readings/{}", chunk_and_disk(choosy), reading(choosy));
        let gain = gains(plain, choosy, mean_latency);
        Some(Row::new(id, None, &gain, "%", Mode::AsPublished))
    };
    choosy.filter_map(row).collect()
}

/// A claim for each cell: some reading brings the published gain; it names them.
pub(super) fn claims(findings: &Findings) -> Vec<Claim> {
    let claim = |cell: &str| {
        let start = format!("choosy/{cell}/readings/");
        let rows = findings.rows.iter().filter(|row| row.id.starts_with(&start));
        let (inside, outside): (Vec<&Row>, Vec<&Row>) =
            rows.partition(|row| PUBLISHED_GAIN.contains(&row.measured));
        let listed = |rows: &[&Row]| {
            let part = |row: &&Row| format!("{}: {:.1} %", &row.id[start.len()..], row.measured);
            rows.iter().map(part).collect::<Vec<_>>().join(", ")
        };
        Claim {
            id: format!("readings/{cell}"),
            text: format!("{cell}, all start at once: a reading of the text gains 8 to 20 %"),
            holds: !inside.is_empty(),
            certain: false,
            measured: match inside.is_empty() {
                true => format!("none: {}", listed(&outside)),
                false => listed(&inside),
            },
        }
    };
    CELLS.into_iter().map(claim).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use slotcast_lab::Figures;

    /// One reading a cell with this gain.
    pub(in super::super) fn rows(gain: f64) -> Vec<Row> {
        let row = |cell| {
            let id = format!("choosy/{cell}/readings/5ms/first-wait-6us/overlapping");
            Row::new(id, None, &[gain, gain], "%", Mode::AsPublished)
        };
        CELLS.into_iter().map(row).collect()
    }

    #[test]
    fn a_cell_names_the_readings_that_bring_the_gain() {
        let found = |rows| claims(&Findings { rows, figures: Figures::new() });
        let mut gains = rows(9.0);
        gains[0] = Row { measured: 20.1, ..gains[0].clone() };
        let claims = found(gains);
        assert_eq!(claims.iter().map(|c| c.holds).collect::<Vec<_>>(), [false, true, true, true]);
        assert_eq!(claims[0].measured, "none: 5ms/first-wait-6us/overlapping: 20.1 %");
        assert_eq!(claims[1].measured, "5ms/first-wait-6us/overlapping: 9.0 %");
        assert!(found(Vec::new()).iter().all(|claim| !claim.holds), "nothing was measured");
    }
}
