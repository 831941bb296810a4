//! What is simulated, and what every model of a cluster shares.
//!
//! [`Scenario`] says what is simulated, and [`RunReport`] what was found. A model is a
//! [`drive::ClusterModel`]; [`drive::drive`] runs one from start to report. It takes its load from
//! [`clients::Clients`], draws faults from [`faults::Faults`], tells its [`recorder::Recorder`] what it does,
//! and through [`watch::Watch`] whoever looks on.

pub mod clients;
pub mod drive;
pub mod faults;
mod mix;
mod observation;
mod observe;
pub mod recorder;
mod report;
mod scenario;
pub mod watch;

pub use mix::{Mix, MixError};
pub use observation::{ClosedWindow, Course, Fate, Observation, Outcome, Piece, Way};
pub use observe::{Observer, Place, TraceLine, Unobserved};
pub use report::{
    Completion, Counts, DiskWait, Latencies, Operation, PortQueues, PortSample, RunReport,
};
pub use scenario::{
    Backpressure, Cluster, Dctcp, Disk, Faults, Fidelity, Grant, IdleExtension, Load, Network,
    Protocol, ProtocolKind, ProxyChoice, Quirks, Replicast, Run, Scenario, SequenceChoice,
    TargetChoice, Ties, Unicast, Workload,
};
pub use slotcast_engine::{Latency, Little, PooledLatencies, ScenarioError, SortedLatencies};
