//! A simulated Lustre file system: clients, network, object storage targets (OST) with their disks, and a
//! metadata target.
//!
//! It repeats the published evaluation of Lustre's network request schedulers and adaptive timeouts, and
//! answers which scheduler suits a disk and a load. Its servers run the schedulers and timeouts of
//! `slotcast-schedulers` unchanged.
//!
//! ```text
//!    client -- request (1 KiB) --> OST: scheduler -> service thread -> allocator -> elevator -> disk
//!       | -------- data of a write -----------------------> |
//!       | <------- answer, or the data of a read ---------- |
//! ```
//!
//! A write waits at the OST until the scheduler gives it to a thread. The thread fetches the data from the
//! client, allocates blocks, hands the pieces to the elevator of the disk, and answers when all are on disk.
//! A read looks up its blocks, waits for the disk, asks the client whether it is ready, and sends the data;
//! its thread is held until the client has them.
//!
//! * [`LustreScenario`] says what is simulated; its [`Job`]s say who reads and writes what.
//! * [`check_lustre`] finds the first reason for which a scenario cannot be run, and names its key.
//! * [`run_lustre`] runs it with a seed; [`LustreReport`] has bandwidth, response times and fairness of each
//!   job, the use of the disks, timeouts, and samples over time.
//! * [`EVALUATION`] is the published evaluation (`slotcast reproduce lustre`), [`SETTINGS`] the keys of its
//!   files.
//!
//! ```
//! use slotcast_lustre::{Job, LustreScenario, Work, run_lustre};
//! use slotcast_units::Size;
//!
//! let job = Job { clients: 4, work: Work::Write, size: Size::from_mib(8), ..Job::default() };
//! let mut scenario = LustreScenario { jobs: vec![job], ..LustreScenario::default() };
//! let report = run_lustre(&scenario, 1)?;
//! let write = report.jobs[0].write.as_ref().expect("the job has written");
//! assert_eq!(write.bytes, 4 * (8 << 20));
//! assert!(write.mib_per_s() > 0.0);
//! assert_eq!(run_lustre(&scenario, 1)?.trace_hash, report.trace_hash, "equal seeds, equal runs");
//!
//! scenario.jobs.clear();
//! assert_eq!(run_lustre(&scenario, 1).unwrap_err().key, "job");
//! # Ok::<(), slotcast_engine::ScenarioError>(())
//! ```
//!
//! Equal scenarios and seeds give equal reports on every machine. There are no locks, no client cache and no
//! journal; the network loses nothing, and metadata is the opening of files. `docs/simulate/lustre.md` has
//! the model's rules and where figures deviate from the published ones.
//!
//! Each file is one idea: `client` and `striping` say what is sent next, `nic` when it arrives, `ost` which
//! thread executes it, `allocator` where it lies, `elevator`, `disk` and `cache` when it is stored,
//! `deadlines` which client gives up; `model` carries events between them.
//!
//! Sources: Qian and Wang, "Lustre NRS Simulation" (slides and program, Lustre-Simulator 950d9e2), their
//! paper on the network request scheduler (ISC 2009), and "Adaptive and Scalable RPC Timeout Mechanism".

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
