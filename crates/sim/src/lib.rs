//! The simulator of clusters: a host for the Replicast machines of `slotcast-protocol`, and the fault
//! simulation of the whole store.
//!
//! It carries messages, payload and disk requests between machines that a node would run unchanged, and makes
//! no choice of its own. What a cluster does is found by running it, in simulated time, from one seed.
//!
//! ```text
//!    Scenario --> check --> run(scenario, seed) --> RunReport     latencies, utilisation, counts, trace hash
//!                             |
//!        Replicast: slotcast-protocol hosted here;  UCH-*: slotcast-peers
//! ```
//!
//! * [`Scenario`] says what is simulated, [`check()`] whether that is possible, [`RunReport`] what was found.
//! * [`run()`] runs a scenario with a seed; [`run_observed`] the same while an [`Observer`] is told what
//!   happens.
//! * [`demand()`] is arithmetic instead: how much of each resource a request takes, and so which is full
//!   first.
//! * [`record`] and [`replay`] compare hosts: what the machines of one heard is played to those of another.
//! * [`fault_simulation`] simulates faults on whole nodes (`slotcast fuzz`), with the members and stores of production.
//!
//! ```
//! use slotcast_sim::{ProtocolKind, Scenario, demand, run};
//! use slotcast_units::Span;
//!
//! // 9 initiators store 128 KiB chunks on 9 targets, three replicas each, as fast as they can.
//! let mut scenario = Scenario::default();
//! (scenario.cluster.initiators, scenario.cluster.targets) = (9, 9);
//! (scenario.run.length, scenario.run.warmup) = (Span::from_ms(20), Span::from_ms(5));
//! let report = run(&scenario, 7)?;
//! assert!(report.chunks_per_s > 0.0 && report.chunks_per_s <= demand(&scenario).capacity());
//! assert_eq!(report.counts.transfer_conflicts, 0, "reserved windows never overlap");
//! assert_eq!(report.trace_hash, run(&scenario, 7)?.trace_hash, "equal seeds, equal runs");
//!
//! // The same cluster with a protocol that reserves nothing.
//! scenario.protocol.kind = ProtocolKind::UchCcp;
//! assert_ne!(run(&scenario, 7)?.latency, report.latency);
//!
//! scenario.cluster.replicas = 0;
//! assert_eq!(run(&scenario, 7).unwrap_err().key, "cluster.replicas");
//! # Ok::<(), slotcast_sim::ScenarioError>(())
//! ```
//!
//! Equal scenarios and seeds give equal reports, trace hash included, on every machine; one run is one
//! thread. The model assumes that the core of the network does not block, that control messages do not queue,
//! and that processors take no time.

mod check;
mod demand;
pub mod fault_simulation;
mod objects;
mod replicast;

pub use check::check;
pub use demand::{Demand, demand};
pub use replicast::{Difference, MachineConfigs, Tapes};
pub use slotcast_protocol::{RequestId, Window};
pub use slotcast_scenario::recorder::measured_until;
pub use slotcast_scenario::{
    Backpressure, ClosedWindow, Cluster, Completion, Counts, Course, Dctcp, Disk, DiskWait, Fate,
    Faults, Fidelity, Grant, IdleExtension, Latencies, Latency, Little, Load, Mix, MixError,
    Network, Observation, Observer, Operation, Outcome, Piece, Place, PooledLatencies, PortQueues,
    PortSample, Protocol, ProtocolKind, ProxyChoice, Quirks, Replicast, Run, RunReport, Scenario,
    ScenarioError, SequenceChoice, SortedLatencies, TargetChoice, Ties, TraceLine, Unicast,
    Unobserved, Way, Workload,
};

use slotcast_scenario::drive::drive;
use slotcast_scenario::faults;

/// Runs `scenario` with `seed`.
///
/// # Errors
/// If [`check`] finds that the scenario cannot be run.
pub fn run(scenario: &Scenario, seed: u64) -> Result<RunReport, ScenarioError> {
    run_observed(scenario, seed, &mut Unobserved)
}

/// Runs `scenario` with `seed` while `observer` looks on.
///
/// # Errors
/// If [`check`] finds that the scenario cannot be run.
pub fn run_observed(
    scenario: &Scenario,
    seed: u64,
    observer: &mut dyn Observer,
) -> Result<RunReport, ScenarioError> {
    check(scenario)?;
    Ok(match scenario.protocol.kind {
        ProtocolKind::ReplicastM | ProtocolKind::ReplicastH | ProtocolKind::ReplicastProxy => {
            let groups = check::groups(scenario)?;
            drive(replicast::new_model(scenario, groups, seed), scenario, seed, observer)
        }
        ProtocolKind::UchCcp | ProtocolKind::UchAimd | ProtocolKind::UchDctcp => {
            slotcast_peers::run(scenario, seed, observer)
        }
    })
}

/// What the machines of `scenario` are told: with it another host runs the same cluster.
///
/// # Errors
/// If [`check`] finds that the scenario cannot be run, or it is not one of Replicast without proxies.
pub fn machine_configs(scenario: &Scenario) -> Result<MachineConfigs, ScenarioError> {
    let groups = hosted(scenario)?;
    let faults = faults::Faults::new(scenario, &slotcast_engine::Streams::new(0));
    Ok(replicast::machine_configs(scenario, groups, &faults))
}

/// Runs `scenario` with `seed` and keeps what its machines hear and do, from the start on.
///
/// # Errors
/// As [`machine_configs`].
pub fn record(scenario: &Scenario, seed: u64) -> Result<Tapes, ScenarioError> {
    Ok(replicast::record(scenario, hosted(scenario)?, seed))
}

/// Plays to the machines of `scenario`, as this host makes them, what others heard who have started with
/// empty disks; gives the first entry where one does something else.
///
/// # Errors
/// As [`machine_configs`].
pub fn replay(scenario: &Scenario, tapes: &Tapes) -> Result<Result<(), Difference>, ScenarioError> {
    Ok(replicast::replay(scenario, hosted(scenario)?, tapes))
}

/// The groups of a scenario that other hosts can run.
fn hosted(scenario: &Scenario) -> Result<slotcast_protocol::GroupMap, ScenarioError> {
    check(scenario)?;
    match scenario.protocol.kind {
        ProtocolKind::ReplicastM | ProtocolKind::ReplicastH => check::groups(scenario),
        _ => Err(ScenarioError {
            key: "protocol.kind",
            problem: "other hosts run replicast-m and replicast-h only".into(),
        }),
    }
}
