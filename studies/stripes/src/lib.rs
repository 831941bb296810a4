//! Stripes with parity under conflicting writes: a host for both modes of `slotcast-stripe`.
//!
//! Clients write units of stripes, one after another. The machines that decide are those of ring 1,
//! unchanged; this crate carries their messages over links of limited rate, lets their writes wait for
//! disks, and charges what they compute. `docs/simulate/stripes.md` says what the model assumes.
//!
//! ```
//! use slotcast_stripes::{Mode, Scenario, run};
//!
//! let mut scenario = Scenario::default();
//! scenario.stripes.mode = Mode::Coordinated;
//! let report = run(&scenario, 1).unwrap();
//! // 27.197 ms were published.
//! assert!((report.mean_latency_ms() / 27.197 - 1.0).abs() < 0.04);
//! ```

mod block;
mod carry_out;
mod coordinated;
mod evaluation;
mod event;
mod host;
mod locked;
mod machines;
mod network;
mod recorder;
mod report;
mod scenario;
mod servers;
mod steps;
mod zipf;

use slotcast_engine::{ScenarioError, Simulation};
use slotcast_units::Time;

use host::Host;
use machines::Machines;

pub use evaluation::{EVALUATION, SETTINGS};
pub use report::Report;
pub use scenario::{
    Bottleneck, Cache, Clients, Costs, Disk, Mode, Network, Patience, REFERENCE, Run, Scenario,
    SecondCache, Stripes, Units, check,
};
pub use steps::{Step, Steps};

/// Runs `scenario` with `seed`, until clients stop and all has come to rest.
///
/// # Errors
/// If [`check`] finds that the scenario cannot be run.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Report, ScenarioError> {
    check(scenario)?;
    Ok(match scenario.stripes.mode {
        Mode::StripeLock => drive::<locked::Locked>(scenario, seed),
        Mode::Coordinated => drive::<coordinated::Coordinated>(scenario, seed),
    })
}

/// More events than a stripe needs to come to rest once its clients have stopped, with a timer or two for
/// each write.
const MAX_EVENTS_AT_REST: u64 = 100_000_000;

fn drive<M: Machines>(scenario: &Scenario, seed: u64) -> Report {
    let mut simulation = Simulation::new(Host::<M>::new(scenario, seed));
    simulation.schedule(Host::start);
    let (warm, end) = (Time::ZERO + scenario.run.warmup, Time::ZERO + scenario.run.length);
    simulation.run_until(warm);
    simulation.model_mut().start_measuring(warm);
    simulation.run_until(end);
    let mut report = simulation.model_mut().report(seed, end);
    simulation.run(MAX_EVENTS_AT_REST);
    report.problem = simulation.model().problem();
    report.events = simulation.executed();
    report.trace_hash = simulation.trace_hash();
    report
}
