//! What is wrong while a cluster must hold, and what arithmetic says of the nodes that are left.

use serde::Serialize;
use slotcast_sim::{Faults, Run, demand};
use slotcast_units::Share;

use super::cluster::{ClusterPlan, GROUP, Hardware};
use super::rebuild;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    /// Nothing.
    AllUp,
    /// A node does not answer, and nobody has acted on it.
    NodeDown,
    /// The same of two, of one negotiating group where each node is a failure domain.
    TwoNodesDown,
    /// The same of all nodes of a rack.
    RackDown,
    /// A node is gone, and the others of its group bring back what it held.
    Rebuilding,
}

impl Condition {
    /// All but the first, in the order in which they are told.
    pub const FAULTS: [Condition; 4] =
        [Condition::NodeDown, Condition::TwoNodesDown, Condition::RackDown, Condition::Rebuilding];

    /// In words: `a node down`.
    pub fn words(self) -> &'static str {
        match self {
            Condition::AllUp => "all nodes up",
            Condition::NodeDown => "a node down",
            Condition::TwoNodesDown => "two nodes down",
            Condition::RackDown => "a rack down",
            Condition::Rebuilding => "a node rebuilt",
        }
    }

    /// Nodes that are down.
    pub(super) fn nodes_down(self, plan: &ClusterPlan) -> u32 {
        match self {
            Condition::AllUp => 0,
            Condition::NodeDown | Condition::Rebuilding => 1,
            Condition::TwoNodesDown => 2,
            Condition::RackDown => plan.nodes_per_domain,
        }
    }

    /// Whether there is such a condition: nodes to lose, and enough failure domains left for all copies.
    pub(super) fn is_possible(self, plan: &ClusterPlan, hardware: &Hardware) -> bool {
        let domains = hardware.nodes.div_ceil(plan.nodes_per_domain);
        let lost = match self {
            Condition::AllUp => return true,
            Condition::NodeDown => return hardware.nodes > 1,
            Condition::RackDown if plan.nodes_per_domain == 1 => return false,
            Condition::RackDown => 1,
            _ if plan.nodes_per_domain > 1 => 0,
            _ => self.nodes_down(plan),
        };
        domains >= hardware.replicas + lost
    }

    /// The faults of a simulation.
    pub(super) fn faults(self, plan: &ClusterPlan, hardware: &Hardware) -> Faults {
        let is_rebuilding = self == Condition::Rebuilding;
        Faults {
            targets_down: self.nodes_down(plan),
            neighbours_down: match self {
                Condition::RackDown => true,
                // Neighbours are of one group then, which is the worse case.
                Condition::TwoNodesDown => plan.nodes_per_domain == 1,
                _ => false,
            },
            rebuild_share: match is_rebuilding {
                true => rebuild::share_of_disks(plan, hardware),
                false => Share::ZERO,
            },
            ..Faults::default()
        }
    }
}

/// Number of negotiating groups of so many nodes, and members of the smallest and of the largest one.
pub(super) fn groups(nodes: u32) -> (u32, u32, u32) {
    let count = (nodes / GROUP).max(1);
    (count, nodes / count, nodes.div_ceil(count))
}

/// Requests per second that `hardware` can do at the very most. Every group gets the same load, so the one with
/// the fewest members that are left is full first.
pub(super) fn capacity(plan: &ClusterPlan, hardware: &Hardware, condition: Condition) -> f64 {
    let scenario = plan.scenario(hardware, 1, Condition::AllUp, Run::default());
    let all = demand(&scenario);
    let (count, smallest, largest) = groups(hardware.nodes);
    let down = match condition {
        Condition::AllUp => 0,
        // Of those that share a group there are so many at the least.
        Condition::RackDown => plan.nodes_per_domain.div_ceil(count),
        Condition::TwoNodesDown if plan.nodes_per_domain > 1 => 1,
        _ => condition.nodes_down(plan),
    };
    let of_members = |members: f64| members * f64::from(count) / f64::from(hardware.nodes);
    let left = of_members(f64::from(smallest.min(largest.saturating_sub(down))));
    // A rebuild takes its share of the disks where a node is missing.
    let share = condition.faults(plan, hardware).rebuild_share.as_f64();
    let rebuilt = of_members(f64::from(largest.saturating_sub(down)) * (1.0 - share)).min(left);
    let on_nodes = 1.0 / (all.target_in.max(all.target_out) / left).max(all.disks / rebuilt);
    let on_clients = 1.0 / all.initiator_in.max(all.initiator_out).max(all.proxies);
    on_nodes.min(on_clients)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;

    #[test]
    fn every_group_has_nine_members_or_a_few_more() {
        assert_eq!(groups(6), (1, 6, 6));
        assert_eq!(groups(17), (1, 17, 17));
        assert_eq!(groups(90), (10, 9, 9));
        assert_eq!(groups(91), (10, 9, 10));
    }

    #[test]
    fn a_node_more_than_the_groups_take_evenly_carries_nothing() {
        let plan = small();
        let of =
            |nodes, condition| capacity(&plan, &Hardware { nodes, ..plan.hardware }, condition);
        let nodes_more = of(91, Condition::AllUp) / of(90, Condition::AllUp);
        assert!((nodes_more - 1.0).abs() < 1e-9, "{nodes_more}");
        for (condition, part) in [
            (Condition::NodeDown, 5.0 / 6.0),
            (Condition::TwoNodesDown, 4.0 / 6.0),
            (Condition::Rebuilding, 5.0 / 6.0 * 0.8),
        ] {
            let found = of(6, condition) / of(6, Condition::AllUp);
            assert!((found - part).abs() < 1e-3, "{condition:?}: {found}");
        }
    }
}
