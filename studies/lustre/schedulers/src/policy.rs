//! A scheduler by name and parameters.

use alloc::boxed::Box;
use alloc::vec::Vec;

use slotcast_units::Span;

use crate::batched::{BatchedBy, BatchedRoundRobin, Handles};
use crate::deadline::{DeadlineFirst, Deadlines};
use crate::earliest::EarliestDeadline;
use crate::fcfs::Fcfs;
use crate::frr::{ObjectRoundRobin, Quantum};
use crate::greedy::{Greedy, GreedyRoundRobin};
use crate::levels::{LevelRule, Levels};
use crate::scheduler::Scheduler;
use crate::slices::TimeSlices;
use crate::tbf::{BucketBy, Rule, TokenBuckets};

/// A class's part of every epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// How long; more than zero.
    pub span: Span,
    /// The order inside.
    pub policy: Policy,
}

/// Which scheduler, and with what parameters: a value that a configuration can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policy {
    /// [`Fcfs`].
    Fcfs,
    /// [`ObjectRoundRobin`]; with a quantum of one request the simple round robin.
    ObjectRoundRobin(Quantum),
    /// [`Greedy`].
    Greedy,
    /// [`GreedyRoundRobin`].
    GreedyRoundRobin,
    /// [`EarliestDeadline`], with the time for requests that name none.
    EarliestDeadline(Span),
    /// [`BatchedRoundRobin`] with its quantum.
    Batched(BatchedBy, u32, Handles),
    /// [`TokenBuckets`] with their depth and rules, newest first.
    TokenBuckets(BucketBy, u32, Vec<Rule>),
    /// [`DeadlineFirst`] before another.
    DeadlineFirst(Deadlines, Box<Policy>),
    /// [`Levels`] from the highest down; at least one.
    Levels(LevelRule, Vec<Policy>),
    /// [`TimeSlices`] in the order of the classes; at least one.
    TimeSlices(Vec<Slice>),
}

impl Policy {
    /// An empty scheduler of this policy.
    ///
    /// # Panics
    /// For levels without a level, and slices without a slice or of no length.
    pub fn build(&self) -> Box<dyn Scheduler> {
        match self {
            Policy::Fcfs => Box::new(Fcfs::default()),
            Policy::ObjectRoundRobin(quantum) => Box::new(ObjectRoundRobin::new(*quantum)),
            Policy::Greedy => Box::new(Greedy::default()),
            Policy::GreedyRoundRobin => Box::new(GreedyRoundRobin::default()),
            Policy::EarliestDeadline(otherwise) => Box::new(EarliestDeadline::new(*otherwise)),
            Policy::Batched(by, quantum, handles) => {
                Box::new(BatchedRoundRobin::new(*by, *quantum, *handles))
            }
            Policy::TokenBuckets(by, depth, rules) => {
                Box::new(TokenBuckets::new(*by, *depth, rules.clone()))
            }
            Policy::DeadlineFirst(rule, inner) => {
                Box::new(DeadlineFirst::new(*rule, inner.build()))
            }
            Policy::Levels(rule, levels) => {
                Box::new(Levels::new(rule.clone(), levels.iter().map(Policy::build).collect()))
            }
            Policy::TimeSlices(slices) => {
                let built = slices.iter().map(|slice| (slice.span, slice.policy.build()));
                Box::new(TimeSlices::new(built.collect()))
            }
        }
    }
}
