//! Schedulers as a file names them.

use slotcast_lab::choice;
use slotcast_schedulers::{
    BatchedBy, BucketBy, Deadlines, Handles, LevelRule, Policy, Quantum, Rule, Slice, TokenBuckets,
    Whom,
};
use slotcast_units::{Rate, Share, Span};

/// A scheduler that a file can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyName {
    Fcfs,
    Frr,
    SimpleRr,
    Greedy,
    GreedyRr,
    EarliestDeadline,
    FrrDeadline,
    Priority,
    PriorityQuantum,
    TimeSlices,
    Crrn,
    Orr,
    Trr,
    Tbf,
}

choice!(PolicyName {
    Fcfs = "fcfs", "order of arrival";
    Frr = "frr", "round robin over objects with a quantum, by offset within (FRR, OBRR)";
    SimpleRr = "simple-rr", "one request of each object in turn";
    Greedy = "greedy", "always the lowest object and offset";
    GreedyRr = "greedy-rr", "by object and offset, going round";
    EarliestDeadline = "earliest-deadline", "the earliest deadline";
    FrrDeadline = "frr-deadline", "FRR behind the two-level deadline";
    Priority = "priority", "the lower class always first";
    PriorityQuantum = "priority-quantum", "ten requests of a class for one of the next";
    TimeSlices = "time-slices", "two classes with a share of every epoch each";
    Crrn = "crrn", "Lustre's round robin over clients";
    Orr = "orr", "Lustre's round robin over objects";
    Trr = "trr", "Lustre's round robin over targets";
    Tbf = "tbf", "Lustre's token buckets, one for each class";
});

/// A scheduler and all that any of them can be told.
#[derive(Debug, Clone, Copy)]
pub(super) struct PolicyChoice {
    pub(super) policy: PolicyName,
    /// For `frr`, `crrn`, `orr`, `trr`; zero for the default of each.
    pub(super) quantum: u32,
    /// For `time-slices`: an epoch, and the first class's share of it, and whether FRR rather than FCFS
    /// orders the requests of a class.
    pub(super) epoch: Span,
    pub(super) first_share: Share,
    pub(super) frr_inside: bool,
    /// For deadlines.
    pub(super) rate: Rate,
    pub(super) stretch: Share,
    pub(super) step: Span,
    pub(super) otherwise: Span,
    /// For `tbf`: requests per second of every class but the first.
    pub(super) tokens: u32,
}

impl Default for PolicyChoice {
    fn default() -> PolicyChoice {
        PolicyChoice {
            policy: PolicyName::Fcfs,
            quantum: 0,
            epoch: Span::from_secs(10),
            first_share: Share::from_percent(70),
            frr_inside: false,
            rate: Rate::from_bytes_per_s(250_000_000),
            stretch: Share::from_percent(150),
            step: Span::ZERO,
            otherwise: Span::from_secs(30),
            tokens: 100,
        }
    }
}

impl PolicyChoice {
    /// The scheduler that is meant.
    pub(super) fn policy(&self) -> Policy {
        let quantum = |default: u32| if self.quantum == 0 { default } else { self.quantum };
        let frr = Policy::ObjectRoundRobin(Quantum::Requests(quantum(8)));
        let batched = |by, default| Policy::Batched(by, quantum(default), Handles::All);
        match self.policy {
            PolicyName::Frr => frr,
            PolicyName::SimpleRr => Policy::ObjectRoundRobin(Quantum::Requests(1)),
            PolicyName::Greedy => Policy::Greedy,
            PolicyName::GreedyRr => Policy::GreedyRoundRobin,
            PolicyName::EarliestDeadline => Policy::EarliestDeadline(self.otherwise),
            PolicyName::FrrDeadline => {
                let rule = Deadlines { rate: self.rate, stretch: self.stretch, step: self.step };
                Policy::DeadlineFirst(rule, Box::new(frr))
            }
            PolicyName::Priority => Policy::Levels(LevelRule::Strict, vec![Policy::Fcfs; 3]),
            PolicyName::PriorityQuantum => {
                Policy::Levels(LevelRule::Quantum(vec![100, 10, 1]), vec![Policy::Fcfs; 3])
            }
            PolicyName::TimeSlices => {
                let inner = if self.frr_inside { frr } else { Policy::Fcfs };
                let ns = u128::from(self.epoch.as_ns()) * u128::from(self.first_share.as_ppm());
                let first = u64::try_from(ns / 1_000_000).unwrap_or(u64::MAX);
                let spans = [Span::from_ns(first), self.epoch.saturating_sub(Span::from_ns(first))];
                Policy::TimeSlices(spans.map(|span| Slice { span, policy: inner.clone() }).into())
            }
            PolicyName::Crrn => batched(BatchedBy::Client, 8),
            PolicyName::Orr => batched(BatchedBy::Object, 256),
            PolicyName::Trr => batched(BatchedBy::Target, 256),
            PolicyName::Tbf => {
                let first =
                    Rule { whom: Whom::Class(slotcast_schedulers::ClassId(0)), rate: 10_000 };
                let rest = Rule { whom: Whom::All, rate: self.tokens };
                let rules = vec![first, rest];
                Policy::TokenBuckets(BucketBy::Class, TokenBuckets::DEPTH, rules)
            }
            PolicyName::Fcfs => Policy::Fcfs,
        }
    }
}
