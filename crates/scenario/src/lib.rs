//! What is simulated of a cluster, and what every model of one shares: load, faults, measurement,
//! observation.
//!
//! A *model* is one protocol on simulated links and disks. The models are in `slotcast-sim` (Replicast) and
//! `slotcast-peers` (the protocols that it is compared with); because they take their load and faults from
//! here and are measured here, their figures can be compared.
//!
//! ```text
//!    Scenario, seed --> drive::drive --> RunReport
//!                           |
//!                a drive::ClusterModel, with  clients::Clients    the load
//!                                             faults::Faults      what goes wrong
//!                                             recorder::Recorder  completions, ports, disks
//!                                             watch::Watch        observations, for an Observer
//! ```
//!
//! * [`Scenario`] says everything about a run except its seed. [`RunReport`] is what a run found.
//! * [`drive::drive`] runs a [`drive::ClusterModel`] from start to report, and leaves the warm-up out.
//! * [`clients::Clients`] is the load, as a closed or an open loop; [`faults::Faults`] draws what goes wrong.
//! * [`recorder::Recorder`] measures; an [`Observer`] is told of events and [`Observation`]s as they happen.
//!
//! ```
//! use slotcast_engine::{Agenda, Event, Model, Streams};
//! use slotcast_scenario::clients::Clients;
//! use slotcast_scenario::drive::{ClusterModel, Trace, drive};
//! use slotcast_scenario::recorder::Recorder;
//! use slotcast_scenario::watch::Watch;
//! use slotcast_scenario::{Operation, Scenario, Unobserved};
//! use slotcast_units::{Span, Time};
//!
//! /// The request of the only initiator is done.
//! #[derive(Clone, Copy)]
//! struct Done;
//! # impl Event for Done { fn trace_word(&self) -> u64 { 0 } }
//!
//! /// A cluster with one initiator, whose every put takes 100 us.
//! struct Ideal {
//!     clients: Clients,
//!     recorder: Recorder,
//!     asked: Time,
//! #     trace: Trace, watch: Option<Box<Watch>>,
//! }
//!
//! impl Model for Ideal {
//!     type Event = Done;
//!     fn handle(&mut self, now: Time, _: Done, agenda: &mut Agenda<Done>) {
//!         self.recorder.complete(self.asked, now, Operation::Put);
//!         self.clients.ended(0);
//!         self.start(agenda);
//!     }
//! }
//!
//! impl ClusterModel for Ideal {
//!     fn start(&mut self, agenda: &mut Agenda<Done>) {
//!         let job = self.clients.next(0, agenda.now(), 0).expect("a place in its window is free");
//!         self.asked = job.asked;
//!         agenda.after(Span::from_us(100), Done);
//!     }
//!     /// When each request was asked for that is under way.
//!     fn asked(&self) -> impl Iterator<Item = Time> {
//!         std::iter::once(self.asked)
//!     }
//! #     fn recorder(&mut self) -> &mut Recorder { &mut self.recorder }
//! #     fn into_recorder(self) -> Recorder { self.recorder }
//! #     fn clients(&mut self) -> &mut Clients { &mut self.clients }
//! #     fn trace(&mut self) -> &mut Trace { &mut self.trace }
//! #     fn watch(&mut self) -> &mut Option<Box<Watch>> { &mut self.watch }
//! #     fn tell_rest(&mut self, _end: Time) {}
//! }
//!
//! let mut scenario = Scenario::default();
//! scenario.cluster.initiators = 1;
//! let clients = Clients::new(&scenario, &Streams::new(1));
//! let recorder = Recorder::new(1, scenario.cluster.targets);
//! let model = Ideal { clients, recorder, asked: Time::ZERO, trace: Trace::default(), watch: None };
//! let report = drive(model, &scenario, 1, &mut Unobserved);
//! assert_eq!((report.put_latency.mean, report.chunks_per_s), (100.0, 10_000.0));
//! assert_eq!(report.requests.unaccounted(), 0, "Little's law");
//! ```
//!
//! A run depends on its scenario and seed alone; an observer changes nothing. Nothing here checks a scenario:
//! `slotcast_sim::check` does, before a run.

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
