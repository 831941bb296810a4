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

mod catalogue;
mod change;
mod check;
mod cluster;
mod keys;
mod limit;
mod options;
mod read;
mod report;
mod stated;

use std::time::{Duration, Instant};

pub use catalogue::{DiskKind, LINKS_GBPS, READY, ReadyPlan, TEMPLATE, ready};
pub use change::{Change, ChangeFound};
pub use check::{Check, Holds, Latencies, Used};
pub use cluster::{
    ChangeRules, Clients, ClusterPlan, Data, DiskModel, Hardware, Part, Prices, Target,
};
pub use keys::SETTINGS;
pub use limit::{Limit, LimitedBy, Resource};
pub use report::{PlanReport, PlanSweep};

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
    /// The cluster at its target with one node down; nothing if there is no other node.
    pub node_down: Option<Check>,
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
    /// Whether the cluster does what it must, with a node down if it must do so.
    pub fn holds(&self, plan: &ClusterPlan) -> Holds {
        match self.node_down.as_ref().filter(|_| plan.target.with_a_node_down) {
            Some(down) => self.at_target.holds.and(down.holds),
            None => self.at_target.holds,
        }
    }
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
    let at_target = simulator.check("the cluster at its target", &plan.hardware, target, false)?;
    let idle = simulator.idle(&plan.hardware)?;
    let node_down = match plan.hardware.nodes {
        1 => None,
        _ => Some(simulator.check("one node down", &plan.hardware, target, true)?),
    };
    let limit = limit::find(&mut simulator, &at_target, &idle)?;
    let mut answer = Answer {
        at_target,
        idle,
        limit,
        node_down,
        change: None,
        runs: 0,
        events: 0,
        trace_hash: 0,
        wall: Duration::ZERO,
    };
    if answer.holds(plan) != Holds::Yes {
        answer.change = Some(change::find(&mut simulator)?);
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
