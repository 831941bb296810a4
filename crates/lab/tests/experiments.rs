//! Every experiment that is delivered can be read and run, and the ones that repeat the paper say what
//! the paper says.
#![allow(clippy::disallowed_methods, reason = "a test reads files")]

use std::path::{Path, PathBuf};

use slotcast_lab::Experiment;
use slotcast_sim::{Quirks, Scenario};
use slotcast_units::{Rate, Size, Span};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
}

fn read(name: &str) -> Experiment {
    Experiment::from_file(&folder().join(name), &[])
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_file_can_be_read() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let experiment = read(path.file_name().unwrap().to_str().unwrap());
            assert_eq!(path.file_stem().unwrap().to_str(), Some(experiment.name.as_str()));
            assert!(experiment.title.is_some(), "{}", experiment.name);
            count += 1;
        }
    }
    assert!(count >= 5);
}

#[test]
fn the_paper_is_repeated_with_its_run_lengths_and_all_quirks() {
    let experiment = read("replicast.toml");
    assert_eq!(experiment.points.len(), 18);
    assert!(experiment.seeds.count >= 10);
    let length = |chunk: u64, disk: u64| match (chunk, disk) {
        (16, 400) => 20,
        (1024, 400) => 30,
        (1024, 1000) => 40,
        _ => 10,
    };
    for point in &experiment.points {
        let Scenario { cluster, quirks, workload, run, disk, .. } = &point.scenario;
        assert_eq!((cluster.initiators, cluster.targets), (90, 90));
        assert_eq!(*quirks, Quirks::AS_PUBLISHED);
        let chunk = workload.chunk_size / Size::from_kib(1);
        let rate = disk.rate.as_bps() / Rate::from_bytes_per_s(1 << 20).as_bps();
        assert_eq!(run.length, Span::from_ms(length(chunk, rate)));
        assert_eq!(run.warmup, Span::ZERO);
    }
}

#[test]
fn the_steady_state_differs_only_in_length_and_statistics() {
    let (short, long) = (read("replicast.toml"), read("replicast-steady.toml"));
    assert!(long.seeds.count >= 10);
    for (short, long) in short.points.iter().zip(&long.points) {
        assert!(long.scenario.run.warmup > Span::ZERO);
        let mut expected = short.scenario.clone();
        expected.run = long.scenario.run.clone();
        expected.quirks.early_statistics = false;
        // What happens at the start is left out of the steady state.
        expected.workload.start_interval = Span::ZERO;
        assert_eq!(long.scenario, expected);
    }
}

#[test]
fn thirty_initiators_differ_only_in_number() {
    let (ninety, thirty) = (read("replicast.toml"), read("replicast-30.toml"));
    assert_eq!(thirty.points.len(), 15);
    for point in &thirty.points {
        assert_eq!(point.scenario.cluster.initiators, 30);
        let mut expected = point.scenario.clone();
        expected.cluster.initiators = 90;
        assert!(ninety.points.iter().any(|point| point.scenario == expected));
    }
}
