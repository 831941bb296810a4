//! The largest load that a cluster holds, by bisection, and what limits it.

use serde::Serialize;
use slotcast_lab::InputError;

use super::Effort;
use super::check::{Check, Holds, Simulator, Used};
use super::cluster::Target;
use super::condition::Condition;

/// The largest load that a cluster holds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limit {
    /// The largest load that was found to be held, in requests per second; nothing if no load is.
    pub holds_at: Option<u64>,
    /// The smallest load that was found not to be surely held.
    pub fails_at: u64,
    /// How much more than the target is held, as a part of the target; less than zero if the target is
    /// not held.
    pub headroom: f64,
    /// By what.
    pub by: LimitedBy,
    /// The cluster at the largest load that is held; the idle one if none is.
    pub at: Check,
    /// The cluster at every load that was simulated, the smallest first.
    pub loads: Vec<Check>,
}

/// What limits a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum LimitedBy {
    /// A resource that is full.
    Full {
        /// Which.
        resource: Resource,
    },
    /// What waits for a resource reaches the p99 before it is full.
    Waiting {
        /// Which.
        resource: Resource,
    },
    /// Already an idle cluster takes most of the p99, or more than all of it.
    Latency,
    /// No resource is used up: the protocol's windows leave them idle.
    Protocol,
}

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The nodes' disks.
    Disks,
    /// The nodes' links.
    NodeLinks,
    /// The clients' links.
    ClientLinks,
    /// The part of the links that is kept for control messages.
    Control,
}

/// A resource that is used as much as this is full: what is left is chance.
const FULL: f64 = 0.85;
/// A resource that is used less than this does not make others wait for long.
const BUSY: f64 = 0.5;
/// An idle cluster that takes this part of the p99 leaves little for waiting.
const LARGE_PART: f64 = 0.6;

/// How near the two ends of the search come, as a part of the upper one.
const NEAR: f64 = 0.02;
const QUICK_NEAR: f64 = 0.06;

impl Used {
    /// The resource that is used most, and how much.
    pub fn busiest(&self) -> (Resource, f64) {
        let Used { disks, node_links, client_links, control } = *self;
        [
            (Resource::Disks, disks),
            (Resource::NodeLinks, node_links),
            (Resource::ClientLinks, client_links),
            (Resource::Control, control),
        ]
        .into_iter()
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .expect("four resources")
    }
}

/// Searches between what is known: `at_target` and the idle cluster.
pub(super) fn find(
    simulator: &mut Simulator<'_>,
    at_target: &Check,
    idle: &Check,
) -> Result<Limit, Box<InputError>> {
    let target = simulator.plan.target.objects_per_s;
    let hardware = simulator.plan.hardware;
    let near = if simulator.effort == Effort::Quick { QUICK_NEAR } else { NEAR };
    // No load beyond the capacity is ever held.
    let mut high = (simulator.capacity(&hardware).ceil() as u64).max(1);
    // Nor is one found to be held that is too near to it.
    high = high.min((simulator.can_tell(&hardware, Condition::AllUp).ceil() as u64).max(1) + 1);
    let mut low: Option<Check> = None;
    for known in [idle, at_target] {
        if known.holds == Holds::Yes {
            low = Some(known.clone());
        } else {
            high = high.min(known.objects_per_s);
        }
    }
    let mut loads = vec![idle.clone(), at_target.clone()];
    let Some(mut low) = low.filter(|low| low.objects_per_s < high) else {
        let by = by(idle, &simulator.plan.target, idle);
        let (holds_at, fails_at) = (None, idle.objects_per_s);
        return Ok(Limit {
            holds_at,
            fails_at,
            headroom: -1.0,
            by,
            at: idle.clone(),
            loads: sorted(loads),
        });
    };
    while high - low.objects_per_s > ((high as f64 * near) as u64).max(1) {
        let middle = low.objects_per_s + (high - low.objects_per_s) / 2;
        let what = format!("the largest load: {middle} objects/s");
        let check = simulator.check(&what, &hardware, middle, Condition::AllUp)?;
        loads.push(check.clone());
        match check.holds {
            Holds::Yes => low = check,
            Holds::TooCloseToCall | Holds::No => high = middle,
        }
    }
    Ok(Limit {
        holds_at: Some(low.objects_per_s),
        fails_at: high,
        headroom: low.objects_per_s as f64 / target as f64 - 1.0,
        by: by(&low, &simulator.plan.target, idle),
        at: low,
        loads: sorted(loads),
    })
}

fn sorted(mut loads: Vec<Check>) -> Vec<Check> {
    loads.sort_by_key(|check| check.objects_per_s);
    loads.dedup_by_key(|check| check.objects_per_s);
    loads
}

/// Whether the p99 of an idle cluster leaves little of what is asked for, of writes or of reads.
fn takes_most(target: &Target, idle: &Check) -> bool {
    [(target.puts, idle.write_p99_us), (target.gets, idle.read_p99_us)].into_iter().any(
        |(limits, p99)| match (limits, p99) {
            (Some(limits), Some(p99)) => p99.value >= limits.p99.as_ns() as f64 / 1e3 * LARGE_PART,
            _ => false,
        },
    )
}

/// What limits a cluster that is just held.
fn by(at: &Check, target: &Target, idle: &Check) -> LimitedBy {
    let (resource, used) = at.used.busiest();
    if used >= FULL {
        LimitedBy::Full { resource }
    } else if takes_most(target, idle) || idle.holds == Holds::No {
        LimitedBy::Latency
    } else if used >= BUSY {
        LimitedBy::Waiting { resource }
    } else {
        LimitedBy::Protocol
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conditions, Latencies, Limits};
    use slotcast_lab::Estimate;
    use slotcast_units::{Share, Span};

    fn check(disks: f64, p99: f64) -> Check {
        let estimate = |value| Estimate { value, ci95: Some(0.0) };
        let latency = estimate(p99);
        Check {
            objects_per_s: 100,
            write_bytes_per_s: 1e6,
            read_bytes_per_s: 0.0,
            condition: Condition::AllUp,
            node_down: false,
            holds: Holds::Yes,
            done_per_s: estimate(100.0),
            latency_us: Latencies { mean: latency, p50: latency, p99: latency },
            write_p99_us: Some(latency),
            read_p99_us: None,
            write_p999_us: Some(latency),
            read_p999_us: None,
            used: Used { disks, node_links: 0.3, client_links: 0.2, control: 0.1 },
            failures: 0,
            runs: 5,
        }
    }

    #[test]
    fn the_limit_is_named_for_what_it_is() {
        let idle = check(0.05, 20.0);
        let limits = Limits { p99: Span::from_us(100), p999: None };
        let target = Target {
            objects_per_s: 100,
            puts: Some(limits),
            gets: None,
            months: None,
            conditions: Conditions::default(),
            rebuild_share: Share::from_percent(20),
        };
        let by = |at: &Check, idle: &Check| by(at, &target, idle);
        assert_eq!(by(&check(0.93, 99.0), &idle), LimitedBy::Full { resource: Resource::Disks });
        assert_eq!(by(&check(0.7, 99.0), &idle), LimitedBy::Waiting { resource: Resource::Disks });
        assert_eq!(by(&check(0.4, 99.0), &idle), LimitedBy::Protocol);
        assert_eq!(by(&check(0.4, 99.0), &check(0.05, 90.0)), LimitedBy::Latency);
    }
}
