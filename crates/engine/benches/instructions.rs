//! Instructions that the kernel needs for PHOLD with 1 000 processes. They are counted and not timed, so
//! that a change of a few per cent shows on any machine, however busy.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0
//! cargo bench -p slotcast-engine --bench instructions
//! ```
#![allow(missing_docs, reason = "the macros make public items")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the macros read files")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use slotcast_engine::{EventQueue, HeapQueue, LadderQueue, Simulation};

mod phold_model;

use phold_model::{ByEnum, Job, PlainLoop, by_enum};

const PROCESSES: u32 = 1_000;
const EVENTS: u64 = 100_000;

/// A running simulation: its buffers have grown.
fn warm<Q: EventQueue<Job>>() -> Simulation<ByEnum, Q> {
    let mut simulation = by_enum(PROCESSES);
    simulation.run(EVENTS);
    simulation
}

fn warm_plain() -> PlainLoop {
    let mut plain = PlainLoop::new(PROCESSES);
    plain.run(EVENTS);
    plain
}

#[library_benchmark]
#[bench::phold(setup = warm)]
fn ladder(mut simulation: Simulation<ByEnum, LadderQueue<Job>>) -> Simulation<ByEnum> {
    simulation.run(black_box(EVENTS));
    simulation
}

#[library_benchmark]
#[bench::phold(setup = warm)]
fn heap(mut simulation: Simulation<ByEnum, HeapQueue<Job>>) -> Simulation<ByEnum, HeapQueue<Job>> {
    simulation.run(black_box(EVENTS));
    simulation
}

#[library_benchmark]
#[bench::phold(setup = warm_plain)]
fn plain_loop(mut plain: PlainLoop) -> PlainLoop {
    plain.run(black_box(EVENTS));
    plain
}

library_benchmark_group!(name = phold, benchmarks = [ladder, heap, plain_loop]);

main!(library_benchmark_groups = phold);
