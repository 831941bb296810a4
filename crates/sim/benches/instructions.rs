//! Instructions that whole runs need. They are counted and not timed, so that a change of a few per
//! cent shows on any machine, however busy.
//!
//! ```text
//! cargo install gungraun-runner --version 0.20.0
//! cargo bench -p slotcast-sim --bench instructions
//! ```
#![allow(missing_docs, reason = "the macros make public items")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the macros read files")]

use std::hint::black_box;

use gungraun::{library_benchmark, library_benchmark_group, main};
use slotcast_sim::{Protocol, ProtocolKind, Run, Scenario, run};
use slotcast_units::Span;

/// 90 initiators and 90 targets, 128 KiB, for 5 ms.
fn paper(kind: ProtocolKind) -> Scenario {
    let run = Run { length: Span::from_ms(5), warmup: Span::ZERO, ..Run::default() };
    Scenario { protocol: Protocol { kind }, run, ..Scenario::default() }
}

#[library_benchmark]
#[bench::replicast_m(paper(ProtocolKind::ReplicastM))]
#[bench::replicast_h(paper(ProtocolKind::ReplicastH))]
#[bench::uch_ccp(paper(ProtocolKind::UchCcp))]
fn cluster(scenario: Scenario) -> u64 {
    run(black_box(&scenario), 1).expect("it can be run").events
}

library_benchmark_group!(name = clusters, benchmarks = [cluster]);

main!(library_benchmark_groups = clusters);
