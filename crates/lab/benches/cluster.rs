//! How fast whole clusters are simulated, on one thread, with a plain loop over `BinaryHeap` beside
//! them as a measure of the machine.
//!
//! ```text
//! cargo bench -p slotcast-lab --bench cluster
//! ```
//!
//! divan prints the time of a run and, as items, its events per second.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use slotcast_lab::Experiment;
use slotcast_sim::{Scenario, run};

fn main() {
    divan::main();
}

fn scenarios(text: &str) -> Vec<Scenario> {
    let experiment = Experiment::from_toml("bench.toml", text, &[]).expect("a right file");
    experiment.points.into_iter().map(|point| point.scenario).collect()
}

fn bench(bencher: Bencher<'_, '_>, scenarios: &[Scenario]) {
    let all = || scenarios.iter().map(|s| run(s, 1).expect("it can be run").events).sum::<u64>();
    bencher.counter(ItemsCount::new(all())).bench_local(|| black_box(all()));
}

/// All cells of Tables 2 and 3, once each, at the published run lengths.
#[divan::bench(sample_count = 20)]
fn paper_18_cells_flow(bencher: Bencher<'_, '_>) {
    bench(bencher, &scenarios(include_str!("../../../experiments/replicast.toml")));
}

/// Replicast-M, 128 KiB, 90 initiators and 90 targets.
#[divan::bench(sample_count = 20)]
fn replicast_m_90x90(bencher: Bencher<'_, '_>) {
    bench(bencher, &scenarios("run.length = \"200ms\""));
}

/// Replicast-M, 128 KiB, 900 initiators and 900 targets, 100 ms.
#[divan::bench(sample_count = 5)]
fn replicast_m_900x900(bencher: Bencher<'_, '_>) {
    bench(bencher, &scenarios("cluster.initiators = 900\ncluster.targets = 900"));
}

/// Each event schedules one more: the least that any simulation does. 32-byte events, 1000 pending.
#[divan::bench(sample_count = 20)]
fn plain_loop(bencher: Bencher<'_, '_>) {
    const EVENTS: u64 = 1_000_000;
    let mut heap: BinaryHeap<Reverse<(u64, u64, [u64; 2])>> =
        (0..1000).map(|i| Reverse((i * 97 % 1000, i, [i; 2]))).collect();
    let mut sequence = 1000;
    let mut state = 1u64;
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for _ in 0..EVENTS {
            let Reverse((time, _, payload)) = heap.pop().expect("as many in as out");
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            heap.push(Reverse((time + 1 + (state >> 54), sequence, payload)));
            sequence += 1;
        }
    });
}
