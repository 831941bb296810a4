//! In which order a storage server executes what was asked of it, and how long a client waits.
//!
//! A server with many clients holds thousands of requests, far more than its disk could queue. In
//! which order they reach the disk decides how often it seeks, who waits how long, and which tenant
//! gets what. Here are the policies of the network request scheduler of Lustre, published and
//! shipped, behind one trait, and the estimators from which clients take their timeouts.
//!
//! * [`Scheduler`] takes requests in and hands them out; [`Policy`] names one and builds it.
//! * By object: [`ObjectRoundRobin`] (FRR, and with a quantum of one the simple round robin),
//!   [`Greedy`], [`GreedyRoundRobin`], [`BatchedRoundRobin`] (CRR-N, ORR, TRR).
//! * By time: [`Fcfs`], [`EarliestDeadline`], [`DeadlineFirst`] around any other.
//! * By class: [`Levels`], [`TimeSlices`], [`TokenBuckets`].
//! * [`timeout`]: sliding time windows, MAX, LCF and AET, client timeouts, early replies.
//!
//! Pure as the protocol is: time is a parameter, equal inputs give equal outputs.
//!
//! Sources: seed 003 (Qian, Wang: Lustre NRS Simulation), the papers of its authors (ISC 2009: "A
//! Novel Network Request Scheduler for a Large Scale Storage System"), and the policies of Lustre
//! releases.
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
