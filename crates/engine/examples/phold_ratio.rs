//! How many times faster the kernel runs PHOLD than a plain loop over `BinaryHeap`.
//!
//! Both run in turns, so that what else the machine does meets both; the median of the ratios of the
//! pairs is printed, with the quartiles. Run it with
//!
//! ```text
//! cargo run --release -p slotcast-engine --example phold_ratio [processes...]
//! ```
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures wall time")]

use std::time::Instant;

use slotcast_engine::{HeapQueue, LadderQueue};

#[path = "../benches/phold_model/mod.rs"]
mod phold_model;

const PAIRS: usize = 41;
const EVENTS: u64 = 500_000;

fn seconds(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The lower quartile, the median and the upper quartile.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[values.len() * quarter / 4])
}

fn main() {
    let given: Vec<u32> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let sizes = if given.is_empty() { vec![100, 1_000, 10_000, 100_000] } else { given };
    println!(
        "PHOLD, {PAIRS} pairs of {EVENTS} events; ratio to the plain loop: median (quartiles)"
    );
    println!(
        "{:>9}  {:>11}  {:<24}  {:<24}  {:<24}",
        "processes", "plain, M/s", "ladder, enum", "ladder, boxed", "heap, enum"
    );
    for processes in sizes {
        let mut plain = phold_model::PlainLoop::new(processes);
        let mut ladder = phold_model::by_enum::<LadderQueue<_>>(processes);
        let mut boxed = phold_model::by_object::<LadderQueue<_>>(processes);
        let mut heap = phold_model::by_enum::<HeapQueue<_>>(processes);
        let mut speeds = Vec::new();
        let mut ratios = [const { Vec::new() }; 3];
        // The first turn warms the caches and the buffers up.
        for turn in 0..=PAIRS {
            let base = seconds(|| plain.run(EVENTS));
            let turns = [
                base / seconds(|| assert_eq!(ladder.run(EVENTS), EVENTS)),
                base / seconds(|| assert_eq!(boxed.run(EVENTS), EVENTS)),
                base / seconds(|| assert_eq!(heap.run(EVENTS), EVENTS)),
            ];
            if turn > 0 {
                speeds.push(EVENTS as f64 / base / 1e6);
                ratios.iter_mut().zip(turns).for_each(|(ratios, ratio)| ratios.push(ratio));
            }
        }
        assert_eq!(ladder.trace_hash(), heap.trace_hash());
        assert_eq!(ladder.trace_hash(), boxed.trace_hash());
        let [_, speed, _] = quartiles(speeds);
        print!("{processes:>9}  {speed:>11.1}");
        for [low, median, high] in ratios.map(quartiles) {
            print!("  {:<24}", format!("{median:.2} ({low:.2} to {high:.2})"));
        }
        println!();
    }
}
