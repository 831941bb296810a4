//! A host for the Replicast protocol inside the simulator, and its faults.
//!
//! [`Scenario`] says what is simulated, [`run()`] runs it with a seed, [`RunReport`] is what was
//! found. Equal scenarios and seeds give equal reports, trace hash included, on every machine.

mod check;
mod demand;
mod objects;
mod replicast;
pub mod storm;

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
