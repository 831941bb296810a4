//! Events per second of PHOLD: the kernel on both queues, and a plain loop over `BinaryHeap`.
//!
//! ```text
//! cargo bench -p slotcast-engine --bench phold
//! ```
//!
//! For a ratio that can be trusted on a busy machine, see the example `phold_ratio`.

use divan::Bencher;
use divan::counter::ItemsCount;
use slotcast_engine::{EventQueue, HeapQueue, LadderQueue, Model, Simulation};

mod phold_model;

use phold_model::{Job, PlainLoop, by_enum, by_object};

const PROCESSES: [u32; 4] = [100, 1_000, 10_000, 100_000];
const EVENTS: u64 = 200_000;

fn main() {
    divan::main();
}

/// Measures a running simulation: its buffers have grown, its events are mixed.
fn measure<M: Model<Event = Job>, Q: EventQueue<Job>>(
    bencher: Bencher<'_, '_>,
    mut simulation: Simulation<M, Q>,
) {
    simulation.run(2 * EVENTS);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| simulation.run(EVENTS));
}

#[divan::bench(args = PROCESSES)]
fn plain_loop(bencher: Bencher<'_, '_>, processes: u32) {
    let mut plain = PlainLoop::new(processes);
    plain.run(2 * EVENTS);
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| plain.run(EVENTS));
}

#[divan::bench(args = PROCESSES)]
fn heap_enum(bencher: Bencher<'_, '_>, processes: u32) {
    measure(bencher, by_enum::<HeapQueue<_>>(processes));
}

#[divan::bench(args = PROCESSES)]
fn ladder_enum(bencher: Bencher<'_, '_>, processes: u32) {
    measure(bencher, by_enum::<LadderQueue<_>>(processes));
}

#[divan::bench(args = PROCESSES)]
fn ladder_boxed(bencher: Bencher<'_, '_>, processes: u32) {
    measure(bencher, by_object::<LadderQueue<_>>(processes));
}
