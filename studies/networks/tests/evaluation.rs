//! What `slotcast reproduce networks` finds, with one seed.

use slotcast_lab::{Evaluation, Outcome, Runner};
use slotcast_networks::{Scenario, run};
use slotcast_tune::Method;

fn reproduced(seeds: u32, threads: usize) -> Outcome {
    static EVALUATION: Evaluation = slotcast_networks::EVALUATION;
    let overrides = [format!("seeds.count={seeds}")];
    let prepared = EVALUATION.prepare(&overrides).expect("its files are right");
    let runner = Runner::new(Some(threads)).expect("threads");
    prepared.run(&runner, &|_| {}, &mut |_, _| {}).expect("it can be run")
}

#[test]
fn one_seed_gives_every_row_every_picture_and_the_same_with_any_threads() {
    let outcome = reproduced(1, 2);
    let rows = &outcome.findings.rows;
    let row = |id: &str| rows.iter().find(|row| row.id == id).map(|row| row.measured);
    for networks in 1..=30 {
        let distance = row(&format!("networks/2300-calls/{networks}-networks/distance"));
        assert!(distance.is_some_and(|distance| (0.0..2.0).contains(&distance)), "{networks}");
    }
    for method in ["random", "latin-hypercube", "cma-es", "gaussian-process", "10-networks"] {
        let value = row(&format!("networks/500-calls/{method}/value"));
        assert!(value.is_some_and(|value| value > 1.5 && value < 3.3224), "{method}: {value:?}");
    }
    let mut ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "ids are unique");

    let surface = &outcome.findings.figures["networks_surface"];
    assert_eq!(surface.series.len(), 30);
    let hundreds: Vec<f64> = (3..=23).map(|hundred| f64::from(hundred) * 100.0).collect();
    assert!(surface.series.iter().all(|series| series.x == hundreds && series.y.len() == 21));
    let methods = &outcome.findings.figures["networks_methods"].series;
    let latin = methods.iter().find(|series| series.name == "latin-hypercube").expect("a line");
    assert_eq!(latin.x, [500.0, 1000.0, 2300.0]);

    assert_eq!(outcome.judged()[0].holds.len() + outcome.judged()[0].fails.len(), 3);
    assert_eq!(reproduced(1, 1).trace_hash, outcome.trace_hash);
}

/// What the best point is never becomes worse, and a longer search begins as a shorter one.
#[test]
fn marks_are_those_of_the_best_so_far() {
    for method in [Method::Networks, Method::CmaEs, Method::Random] {
        let mut scenario = Scenario::default();
        (scenario.search.method, scenario.search.calls) = (method, 1000);
        let long = run(&scenario, 3);
        assert!(long.marks.windows(2).all(|pair| pair[0].value <= pair[1].value), "{method:?}");
        scenario.search.calls = 400;
        let short = run(&scenario, 3);
        assert_eq!(short.marks, long.marks[..4], "{method:?}");
        assert_ne!(short.trace_hash, run(&scenario, 4).trace_hash, "another seed");
    }
}

/// A search by the published networks ends near the optimum or near the second largest maximum.
#[test]
fn three_networks_come_near_the_optimum() {
    let mut scenario = Scenario::default();
    scenario.networks.count = 3;
    let mut distances: Vec<f64> =
        (1..=9).map(|seed| run(&scenario, seed).marks[22].distance).collect();
    distances.sort_by(f64::total_cmp);
    assert!(distances[4] < 0.05, "{distances:?}");
}
