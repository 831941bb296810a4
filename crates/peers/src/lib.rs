//! The unicast protocols that Replicast is compared with, as models in the simulator.
//!
//! A chunk is placed by hash or at random on as many targets as it has replicas, whether they are busy or
//! not, and congestion control finds out. The peers run the same scenarios as Replicast, with the same load
//! and disks, and report the same figures.
//!
//! | protocol | `protocol.kind` | what sets the rate of a sender |
//! |---|---|---|
//! | UCH-CCP | `uch-ccp` | the target: each flow is granted a share of its link |
//! | UCH-AIMD | `uch-aimd` | the sender: additive increase, multiplicative decrease |
//! | UCH-DCTCP | `uch-dctcp` | DCTCP (RFC 8257), over TCP connections and a switch with queues |
//!
//! ```text
//!    Scenario --> check --> run(scenario, seed, observer) --> RunReport
//!                             |
//!              ring           |  which targets: consistent hashing with virtual nodes, or at random
//!              unicast, dctcp +  a model each, which slotcast_scenario::drive runs
//! ```
//!
//! * [`check`] finds the first setting with which the peers cannot run: some faults have an answer in
//!   Replicast only.
//! * [`run`] simulates one run. `slotcast_sim::run` calls both, so a user of the simulator need not know this
//!   crate.
//!
//! ```
//! use slotcast_peers::{check, run};
//! use slotcast_scenario::{ProtocolKind, Scenario, Unobserved};
//! use slotcast_units::{Share, Span};
//!
//! let mut scenario = Scenario::default();
//! scenario.protocol.kind = ProtocolKind::UchCcp;
//! (scenario.cluster.initiators, scenario.cluster.targets) = (9, 9);
//! (scenario.run.length, scenario.run.warmup) = (Span::from_ms(10), Span::from_ms(2));
//! check(&scenario)?;
//! let report = run(&scenario, 1, &mut Unobserved);
//! assert!(report.counts.puts > 0 && report.counts.failures == 0);
//!
//! // No peer repeats a message that is lost.
//! scenario.faults.message_loss = Share::from_percent(1);
//! assert_eq!(check(&scenario).unwrap_err().key, "faults.message_loss");
//! # Ok::<(), slotcast_scenario::ScenarioError>(())
//! ```
//!
//! Equal scenarios and seeds give equal reports. `docs/simulate/peers.md` and `docs/simulate/dctcp.md` say
//! what each model assumes. The peers exist in the simulator only: no node runs them.

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
