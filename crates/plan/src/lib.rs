//! What-if for an architect: whether a cluster holds its load, how much more it would hold, what limits it,
//! what happens while a node is down, and the smallest change that would make it hold.
//!
//! A plan is stated in nodes, disks and objects rather than in settings of the simulator. Every answer comes
//! from simulations of that cluster, with intervals over independent runs; arithmetic
//! (`slotcast_sim::demand`) only says where to look.
//!
//! ```text
//!    TOML or a ready plan --> ClusterPlan --> answer(plan, runner, effort, ...) --> Answer --> PlanReport
//!                                               at the target    does it hold?
//!                                               idle             the latency without waiting
//!                                               a node down      does it still hold?
//!                                               bisection        the largest load, and its Limit
//!                                               search           the smallest Change, if it does not hold
//! ```
//!
//! * [`ClusterPlan`] has the [`Hardware`], [`Data`], [`Clients`], the [`Target`] to hold, and what may be
//!   changed.
//! * [`answer()`] does the simulations, with an [`Effort`]; it tells a waiting person what it is [`Doing`].
//! * [`Answer`] has a [`Check`] for each question, the [`Limit`] and the [`Change`]; [`PlanReport`] is its
//!   JSON.
//! * [`READY`] and [`TEMPLATE`] are plans that come with the program.
//!
//! ```
//! use slotcast_lab::{InputError, Runner};
//! use slotcast_plan::{ClusterPlan, Effort, Holds, LimitedBy, Resource, answer};
//!
//! let plan = ClusterPlan::from_toml("example.toml", r#"
//!     [nodes]
//!     count = 9
//!     link = "10Gbps"
//!     [disks]
//!     kind = "ssd"
//!     rate = "400MiB/s"
//!     [data]
//!     sizes = [{ size = "128KiB", share = "100%" }]
//!     [clients]
//!     count = 9
//!     [target]
//!     objects_per_s = 5000
//!     p99 = "20ms"
//! "#)?;
//! let runner = Runner::new(None)?;
//! let found = answer(&plan, &runner, Effort::Quick, 1, &|_| ())?;
//! assert_eq!(found.at_target.holds, Holds::Yes);
//! assert_eq!(found.limit.by, LimitedBy::Full { resource: Resource::Disks });
//! // Nine disks write 3200 chunks per second each, and every chunk three times: 9600 at most.
//! assert!((5000..=9600).contains(&found.limit.holds_at.expect("some load is held")));
//! assert_eq!(found.change, None, "none is needed");
//! # Ok::<(), Box<InputError>>(())
//! ```
//!
//! An answer is `yes` or `no` only where the intervals leave no doubt, and "too close to call" otherwise
//! ([`Holds`]). It holds for the simulated cluster: processors, caches and the growth of a cluster are not in
//! the model (`docs/simulate/planning.md`).

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "ring 3 reads files and clocks"
)]

mod budget;
mod catalogue;
mod change;
mod check;
mod cluster;
mod comparison;
mod condition;
mod keys;
mod limit;
mod load;
mod options;
mod read;
mod rebuild;
mod report;
mod room;
mod stated;

use std::time::{Duration, Instant};

pub use budget::Budget;
pub use catalogue::{DiskKind, LINKS_GBPS, READY, ReadyPlan, TEMPLATE, ready};
pub use change::{Change, ChangeFound};
pub use check::{Check, Holds, Latencies, Used};
pub use cluster::{
    ChangeRules, Clients, ClusterPlan, Conditions, Data, DiskModel, Hardware, Limits, Part, Power,
    Prices, Target,
};
pub use comparison::{Difference, PlanComparison, Side, StatedDifference};
pub use condition::Condition;
pub use keys::SETTINGS;
pub use limit::{Limit, LimitedBy, Resource};
pub use rebuild::Rebuild;
pub use report::{PlanReport, PlanSweep, SCHEMA};
pub use room::Room;

use budget::Known;
use check::Simulator;
use slotcast_lab::InputError;
use slotcast_lab::Runner;

/// How much work is put into an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Shorter and fewer runs, a coarser search.
    Quick,
    /// As much as it takes for intervals of a few per cent.
    #[default]
    Full,
}

/// What a plan is at, for somebody who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing<'a> {
    /// A simulation of several runs begins; it counts for so many units.
    Begins(&'a str, u64),
    /// So many units of it are done.
    Done(u64),
}

/// Called while a plan is worked on, from any thread.
pub type Tell<'a> = &'a (dyn Fn(Doing<'_>) + Sync);

/// What was found for one cluster.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The cluster at its target.
    pub at_target: Check,
    /// The cluster at a load at which nothing waits for anything.
    pub idle: Check,
    /// The largest load that it holds, and what limits it.
    pub limit: Limit,
    /// The cluster at its target with each thing wrong that can be.
    pub faults: Vec<Check>,
    /// What it takes to bring back what a lost node held.
    pub rebuild: Rebuild,
    /// What it can store, and when it is full.
    pub room: Room,
    /// What it costs and draws.
    pub budget: Budget,
    /// The smallest change that would make it hold; nothing if it holds as it is.
    pub change: Option<Change>,
    /// Runs that were simulated, and their events.
    pub runs: usize,
    /// Events over all runs.
    pub events: u64,
    /// One hash over the trace hashes of all runs, in order.
    pub trace_hash: u64,
    /// Time that everything took.
    pub wall: Duration,
}

impl Answer {
    /// Whether the cluster does what it must, with everything wrong that may be.
    pub fn holds(&self, plan: &ClusterPlan) -> Holds {
        let required =
            self.faults.iter().filter(|check| plan.target.conditions.has(check.condition));
        let holds = self.at_target.holds.and(self.room.holds);
        required.fold(holds, |holds, check| holds.and(check.holds))
    }

    /// The cluster in `condition`, if there is such a condition.
    pub fn with(&self, condition: Condition) -> Option<&Check> {
        self.faults.iter().find(|check| check.condition == condition)
    }
}

/// Simulates the cluster of `plan` at its target with nothing wrong, and asks nothing else.
///
/// # Errors
/// As [`answer()`].
pub fn at_target(
    plan: &ClusterPlan,
    runner: &Runner,
    effort: Effort,
    first_seed: u64,
    tell: Tell<'_>,
) -> Result<Check, Box<InputError>> {
    let mut simulator = Simulator::new(plan, runner, effort, first_seed, tell);
    let target = plan.target.objects_per_s;
    simulator.check("the cluster at its target", &plan.hardware, target, Condition::AllUp)
}

/// Simulates what `plan` asks, with runs from seed `first_seed` on.
///
/// # Errors
/// If a scenario cannot be run; that of a checked plan always can.
pub fn answer(
    plan: &ClusterPlan,
    runner: &Runner,
    effort: Effort,
    first_seed: u64,
    tell: Tell<'_>,
) -> Result<Answer, Box<InputError>> {
    let start = Instant::now();
    let mut simulator = Simulator::new(plan, runner, effort, first_seed, tell);
    let target = plan.target.objects_per_s;
    let all_up = Condition::AllUp;
    let at_target = simulator.check("the cluster at its target", &plan.hardware, target, all_up)?;
    let idle = simulator.idle(&plan.hardware)?;
    let mut faults = Vec::new();
    for condition in Condition::FAULTS {
        if condition.is_possible(plan, &plan.hardware) {
            faults.push(simulator.check(condition.words(), &plan.hardware, target, condition)?);
        }
    }
    let limit = limit::find(&mut simulator, &at_target, &idle)?;
    let room = Room::of(plan, &plan.hardware);
    let held = limit.holds_at.map(|objects| objects as f64 * plan.mean_size());
    let known =
        Known { hardware: &plan.hardware, used: &at_target.used, usable: room.usable, held };
    let budget = Budget::of(&plan.change.prices, &plan.power, &known);
    let mut answer = Answer {
        at_target,
        idle,
        limit,
        faults,
        rebuild: rebuild::rebuild(plan, &plan.hardware, room.on_a_node(&plan.hardware)),
        room,
        budget,
        change: None,
        runs: 0,
        events: 0,
        trace_hash: 0,
        wall: Duration::ZERO,
    };
    if answer.holds(plan) != Holds::Yes {
        let full = Room { holds: Holds::Yes, ..answer.room };
        let lacks_room_only = Answer { room: full, ..answer.clone() }.holds(plan) == Holds::Yes;
        answer.change = Some(change::find(&mut simulator, lacks_room_only)?);
    }
    let (runs, events, trace_hash) = simulator.work();
    Ok(Answer { runs, events, trace_hash, wall: start.elapsed(), ..answer })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The small ready cluster.
    pub(crate) fn small() -> ClusterPlan {
        ready("small").expect("it is there").plan().unwrap_or_else(|error| panic!("{error}"))
    }
}
