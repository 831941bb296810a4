//! Request schedulers of storage servers, and the estimators from which their clients take timeouts.
//!
//! A server with many clients holds thousands of requests, far more than its disk could queue. The order in
//! which they reach the disk decides how often it seeks, how long a request waits, and what share each tenant
//! gets. The crate has the policies of the network request scheduler (NRS) of Lustre behind one trait.
//!
//! ```text
//!    clients --> add(now, request) --> | Scheduler | --> take(now) --> a free service thread
//!                                      |  queued   |         |
//!               wake_at(now) <---------+           + <-- finished(now, &request)
//! ```
//!
//! * [`Request`] is what a scheduler knows of a request: object, direction, offset, length, client, class.
//! * [`Scheduler`] is the trait. [`Policy`] names a scheduler with its parameters, and [`Policy::build`]
//!   makes it.
//! * By object: [`ObjectRoundRobin`] (FRR, and with a quantum of one the simple round robin), [`Greedy`],
//!   [`GreedyRoundRobin`], [`BatchedRoundRobin`] (CRR-N, ORR, TRR).
//! * By time: [`Fcfs`], [`EarliestDeadline`], and [`DeadlineFirst`] around any other.
//! * By class: [`Levels`], [`TimeSlices`], [`TokenBuckets`].
//! * [`timeout`] has sliding time windows, the estimators MAX, LCF and AET, client timeouts and early
//!   replies.
//!
//! ```
//! use slotcast_schedulers::{
//!     ClassId, ClientId, Direction, ObjectId, Policy, Quantum, Request, RequestId, TargetId,
//! };
//! use slotcast_units::{Size, Time};
//!
//! let request = |id: u64, object: u64, mib: u64| Request {
//!     id: RequestId(id),
//!     client: ClientId(0),
//!     class: ClassId(0),
//!     target: TargetId(0),
//!     object: ObjectId(object),
//!     direction: Direction::Write,
//!     offset: mib << 20,
//!     length: Size::from_mib(1),
//!     arrived: Time::ZERO,
//!     within: None,
//! };
//!
//! // Two files are written at the same time, and their requests come in turns.
//! let order = |policy: Policy| {
//!     let mut scheduler = policy.build();
//!     for n in 0..6 {
//!         scheduler.add(Time::ZERO, request(n, n % 2, n / 2));
//!     }
//!     let taken = std::iter::from_fn(|| scheduler.take(Time::ZERO));
//!     taken.map(|request| request.object.0).collect::<Vec<_>>()
//! };
//! assert_eq!(order(Policy::Fcfs), [0, 1, 0, 1, 0, 1]);
//! // Round robin by object makes runs of them, which a disk writes without a seek between.
//! assert_eq!(order(Policy::ObjectRoundRobin(Quantum::Requests(8))), [0, 0, 0, 1, 1, 1]);
//! ```
//!
//! Every request that is added comes out once, by `take` or `remove`. Time is a parameter and must not go
//! backwards; equal inputs give equal outputs. A policy promises an order, not that nobody starves: the
//! documentation of each says whether a request may wait without bound. The crate moves no data and knows no
//! disk.
//!
//! Sources: Qian and Wang, "Lustre NRS Simulation" (slides), "A Novel Network Request Scheduler for a Large
//! Scale Storage System" (ISC 2009), "Adaptive and Scalable RPC Timeout Mechanism", and the policies of
//! Lustre releases.
#![no_std]

extern crate alloc;

mod batched;
mod deadline;
mod earliest;
mod fcfs;
mod frr;
mod greedy;
mod levels;
mod policy;
mod request;
mod scheduler;
mod slices;
mod tbf;
#[cfg(test)]
mod testing;
pub mod timeout;

pub use batched::{BatchedBy, BatchedRoundRobin, Handles};
pub use deadline::{DeadlineFirst, Deadlines};
pub use earliest::EarliestDeadline;
pub use fcfs::Fcfs;
pub use frr::{ObjectRoundRobin, Quantum};
pub use greedy::{Greedy, GreedyRoundRobin};
pub use levels::{LevelRule, Levels};
pub use policy::{Policy, Slice};
pub use request::{ClassId, ClientId, Direction, ObjectId, Request, RequestId, TargetId};
pub use scheduler::Scheduler;
pub use slices::TimeSlices;
pub use tbf::{BucketBy, Rule, TokenBuckets, Whom};
