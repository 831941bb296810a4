//! The unicast peers that Replicast is compared with, behind placement by hash (`ring`).
//!
//! **UCH-CCP** and **UCH-AIMD** (`unicast`) are those of the paper; **UCH-DCTCP** (`dctcp`) is what a cluster
//! runs today: persistent TCP connections with DCTCP.

mod dctcp;
mod ring;
mod unicast;

use slotcast_scenario::drive::drive;
use slotcast_scenario::{Fidelity, Observer, ProtocolKind, RunReport, Scenario, ScenarioError};
use slotcast_units::{Share, Size, Span};

/// Runs a peer in `scenario` with `seed` while `observer` looks on. The scenario must have been checked.
///
/// # Panics
/// If its protocol is none of the peers.
pub fn run(scenario: &Scenario, seed: u64, observer: &mut dyn Observer) -> RunReport {
    match scenario.protocol.kind {
        ProtocolKind::UchCcp | ProtocolKind::UchAimd => {
            drive(unicast::UnicastModel::new(scenario, seed), scenario, seed, observer)
        }
        ProtocolKind::UchDctcp => {
            drive(dctcp::DctcpModel::new(scenario, seed), scenario, seed, observer)
        }
        other => panic!("{other:?} is not a peer"),
    }
}

/// Finds the first reason for which the peers cannot run in `scenario`.
///
/// # Errors
/// Names the setting, what is wrong with it and what would be right.
pub fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let Scenario { disk, unicast, workload, faults, run, .. } = scenario;
    let wrong = |key, problem: String| Err(ScenarioError { key, problem });
    let positive = |key, is_positive: bool| match is_positive {
        true => Ok(()),
        false => Err(ScenarioError { key, problem: "must be more than zero".into() }),
    };
    let replicast_only = "only Replicast runs with it";
    if disk.per_target > 1 {
        return wrong("disk.per_target", replicast_only.into());
    }
    if !workload.mix.is_none() {
        return wrong("workload.mix", replicast_only.into());
    }
    positive("unicast.control_size", unicast.control_size > Size::ZERO)?;
    positive("unicast.virtual_nodes", unicast.virtual_nodes > 0)?;
    positive("unicast.aimd_step", unicast.aimd_step.as_bps() > 0)?;
    let lossless = "the unicast peers have no answer to it; only Replicast runs with this fault";
    let is_dctcp = scenario.protocol.kind == ProtocolKind::UchDctcp;
    if is_dctcp {
        dctcp::check(scenario)?;
    }
    for (key, fault) in [
        ("faults.message_loss", faults.message_loss > Share::ZERO),
        ("faults.message_duplication", faults.message_duplication > Share::ZERO),
        ("faults.message_delay", faults.message_delay > Span::ZERO),
        ("faults.transfer_corruption", faults.transfer_corruption > Share::ZERO && !is_dctcp),
        ("faults.targets_down", faults.targets_down > 0),
    ] {
        if fault {
            return wrong(key, lossless.into());
        }
    }
    if scenario.protocol.kind == ProtocolKind::UchAimd && run.fidelity == Fidelity::Flow {
        let problem = "uch-aimd changes its rate with every frame; set it to \"frame\"";
        return wrong("run.fidelity", problem.into());
    }
    Ok(())
}
