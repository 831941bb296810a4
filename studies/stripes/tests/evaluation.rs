//! Stripes with parity: what `slotcast reproduce stripes` must find, with fewer seeds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use slotcast_lab::{Evaluation, Outcome, Runner};

fn reproduced(seeds: u32, threads: usize) -> Outcome {
    static EVALUATION: Evaluation = slotcast_stripes::EVALUATION;
    let prepared =
        EVALUATION.prepare(&[format!("seeds.count={seeds}")]).expect("its files are right");
    let runner = Runner::new(Some(threads)).expect("threads");
    prepared.run(&runner, &|_| {}, &mut |_, _| {}).expect("it can be run")
}

/// The whole evaluation, once for all tests.
static OUTCOME: LazyLock<Outcome> = LazyLock::new(|| reproduced(1, 2));

#[test]
fn every_bar_is_met_and_every_claim_holds() {
    let outcome = &*OUTCOME;
    let broken: Vec<_> = outcome.broken_claims().collect();
    assert!(broken.is_empty(), "{broken:#?}");

    let rows: BTreeMap<&str, _> =
        outcome.findings.rows.iter().map(|row| (row.id.as_str(), row)).collect();
    assert_eq!(rows.len(), outcome.findings.rows.len(), "ids are unique");
    let row = |id: &str| rows[format!("stripes/suno/{id}").as_str()];
    for (mode, theory, measured) in
        [("stripe-lock", 34.242, 32.897), ("coordinated", 27.264, 27.197)]
    {
        let found = row(&format!("{mode}/1-clients/theoretical_latency"));
        assert_eq!(found.published, Some(theory));
        assert!((found.measured / theory - 1.0).abs() < 0.001, "{found:?}");
        let found = row(&format!("{mode}/1-clients/latency"));
        assert_eq!(found.published, Some(measured));
        assert!((found.measured / measured - 1.0).abs() < 0.04, "{found:?}");
        // The steps are all of the latency.
        let prefix = format!("stripes/suno/{mode}/1-clients/step/");
        let steps: f64 = rows
            .iter()
            .filter(|(id, _)| id.starts_with(&prefix))
            .map(|(_, row)| row.measured)
            .sum();
        assert!((steps / found.measured - 1.0).abs() < 1e-6, "{steps} of {found:?}");
    }
}

#[test]
fn pictures_have_a_point_for_each_number_of_clients() {
    let figures = &OUTCOME.findings.figures;
    for name in ["stripes_throughput", "stripes_steps_lock", "stripes_steps_coordinated"] {
        let figure = &figures[name];
        for series in &figure.series {
            assert_eq!(
                series.x,
                [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
                "{name} {}",
                series.name
            );
            assert_eq!(series.y.len(), 8);
        }
    }
    for name in ["stripes_steps_lock", "stripes_steps_coordinated"] {
        for client in 0..8 {
            let sum: f64 = figures[name].series.iter().map(|series| series.y[client]).sum();
            assert!((sum - 100.0).abs() < 1e-6, "{name}: shares add up to {sum} %");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    assert_eq!(reproduced(1, 1).trace_hash, OUTCOME.trace_hash);
}
