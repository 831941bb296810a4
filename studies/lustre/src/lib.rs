//! A Lustre file system: clients, network, object storage targets with their disks, and a metadata target.
//!
//! It repeats the simulator of seed 003 (Qian, Wang: Lustre NRS Simulation), whose rules are known from its
//! slides, its authors' papers (ISC 2009 on the network request scheduler; "Adaptive and Scalable RPC
//! Timeout Mechanism") and its published code (Lustre-Simulator 950d9e2). Schedulers and timeouts are
//! those of `slotcast-schedulers`, which a real server uses unchanged.
//!
//! A write goes this way: the client sends a request (1 KiB), which waits at the OST until the scheduler
//! gives it to a thread. The thread fetches the data from the client, allocates blocks, hands the pieces
//! to the elevator of the disk, and answers when all are on disk. A read looks up its blocks, waits for
//! the disk, asks the client whether it is ready, and sends the data; its thread is held until the client
//! has them.
//!
//! Each file is one idea: `client` and `striping` say what is sent next, `nic` when it arrives, `ost` who
//! executes it, `allocator` where it lies, `elevator`, `disk` and `cache` when it is stored, `deadlines`
//! who gives up; `model` carries events between them.

mod allocator;
mod cache;
mod check;
mod client;
mod deadlines;
mod disk;
mod elevator;
mod evaluation;
mod event;
mod job;
mod measure;
mod model;
mod nic;
mod ost;
mod report;
mod scenario;
mod striping;

pub use check::check_lustre;
pub use evaluation::{EVALUATION, LustreExperiment, LustrePoint, SETTINGS};
pub use job::{Access, Files, Job, Work};
pub use report::{
    DirectionUse, DiskUse, JobReport, LustreReport, PhaseReport, SIZE_CLASSES, Sample,
    TimeoutReport,
};
pub use scenario::{
    ArraySettings, CacheSettings, ClientSettings, ElevatorKind, ElevatorSettings, FabricSettings,
    LayoutSettings, LustreScenario, MdtSettings, OstSettings, SampleSettings, SchedulerSettings,
    TimeoutRule, TimeoutSettings,
};

use slotcast_engine::{ScenarioError, Simulation};

use measure::Reported;
use model::LustreModel;

/// Runs `scenario` with `seed` until all jobs are done. Equal scenarios and seeds give equal reports,
/// trace hash included, on every machine.
///
/// # Errors
/// If [`check_lustre`] finds that the scenario cannot be run.
pub fn run_lustre(scenario: &LustreScenario, seed: u64) -> Result<LustreReport, ScenarioError> {
    check_lustre(scenario)?;
    let mut simulation = Simulation::new(LustreModel::new(scenario, seed));
    simulation.schedule(LustreModel::start);
    simulation.run_until(slotcast_units::Time::NEVER);
    let (events, trace_hash, ended) =
        (simulation.executed(), simulation.trace_hash(), simulation.now());
    let model = simulation.into_model();
    let (disks, queue_peak) = model.totals();
    let Reported { jobs, opens, timeouts, samples, queue_samples } =
        model.measured.finish(scenario);
    Ok(LustreReport {
        seed,
        events,
        trace_hash,
        ended,
        jobs,
        disks,
        queue_peak,
        opens,
        timeouts,
        samples,
        queue_samples,
    })
}
