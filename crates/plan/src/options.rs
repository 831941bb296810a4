//! Which hardware a change can lead to, what that costs, and how it is told.

use slotcast_lab::setting::Choice;
use slotcast_units::Rate;

use super::catalogue::{DiskKind, LINKS_GBPS};
use super::cluster::{ClusterPlan, Hardware, Part, Prices};

/// No change has more than so many times the nodes, or the disks in a node.
const MAX_TIMES: u32 = 4;
/// Nor more disks in a node than this, unless they are there already.
const MAX_DISKS: u32 = 60;

impl Prices {
    /// What it costs to get from `old` to `new`: what is added, and all of what is replaced.
    pub fn of_change(&self, old: &Hardware, new: &Hardware) -> u64 {
        // Prices and rates may be anything: 128 bits hold what they make.
        let (old_nodes, new_nodes) = (u128::from(old.nodes), u128::from(new.nodes));
        let added = new_nodes.saturating_sub(old_nodes);
        let disk = u128::from(self.disk[new.disk.kind as usize]);
        let link = u128::from(self.link_per_gbps) * u128::from(new.link.as_bps()) / 1_000_000_000;
        let disks = match old.disk == new.disk {
            true => u128::from(new.disks.saturating_sub(old.disks)),
            false => u128::from(new.disks),
        };
        let links = u128::from(old.link != new.link);
        let cost = added * (u128::from(self.node) + u128::from(new.disks) * disk + link)
            + old_nodes.min(new_nodes) * (disks * disk + links * link);
        u64::try_from(cost).unwrap_or(u64::MAX)
    }
}

/// Whether `a` is nowhere better than `b`.
pub(super) fn no_better(a: &Hardware, b: &Hardware) -> bool {
    let slower_disk = a.disk.rate <= b.disk.rate && a.disk.access_time >= b.disk.access_time;
    a.nodes <= b.nodes
        && a.disks <= b.disks
        && slower_disk
        && a.link <= b.link
        && a.replicas >= b.replicas
}

/// Nodes that a change can have at the most: as racks have room for.
pub(super) fn most_nodes(plan: &ClusterPlan) -> u32 {
    let old = plan.hardware.nodes;
    match plan.change.allow.contains(&Part::Nodes) {
        true => plan.change.max_nodes.unwrap_or(u32::MAX).min(old.saturating_mul(MAX_TIMES)),
        false => old,
    }
}

/// Every choice but that of the number of nodes, the present one among them.
pub(super) fn choices(plan: &ClusterPlan) -> Vec<Hardware> {
    let old = plan.hardware;
    let may = |part| plan.change.allow.contains(&part);
    let mut disks = vec![old.disks];
    if may(Part::Disks) {
        let most = (old.disks * MAX_TIMES).min(MAX_DISKS.max(old.disks));
        let most = plan.change.bays.unwrap_or(most);
        disks.extend(
            [1, 2, 3, 4, 5, 6, 8, 12, 16, 24]
                .map(|more| old.disks + more)
                .into_iter()
                .filter(|&n| n <= most),
        );
    }
    // All bays that there are.
    let bays = plan.change.bays.filter(|bays| may(Part::Disks) && !disks.contains(bays));
    disks.extend(bays);
    let mut models = vec![old.disk];
    if may(Part::Kind) {
        let faster = DiskKind::VARIANTS.iter().map(|kind| kind.preset().0);
        models.extend(
            faster.filter(|model| model.kind > old.disk.kind && model.rate > old.disk.rate),
        );
    }
    let mut links = vec![old.link];
    if may(Part::Link) {
        let all = LINKS_GBPS.map(|gbps| Rate::from_bps(gbps * 1_000_000_000));
        links.extend(all.into_iter().filter(|&link| link > old.link).take(3));
    }
    let mut replicas = vec![old.replicas];
    if may(Part::Replicas) && old.replicas > 1 {
        replicas.push(old.replicas - 1);
    }
    let mut choices = Vec::new();
    for &disks in &disks {
        for &disk in &models {
            for &link in &links {
                for &replicas in &replicas {
                    choices.push(Hardware { disks, disk, link, replicas, ..old });
                }
            }
        }
    }
    choices
}

pub(super) fn parts_changed(old: &Hardware, new: &Hardware) -> usize {
    [
        old.nodes != new.nodes,
        old.disks != new.disks,
        old.disk != new.disk,
        old.link != new.link,
        old.replicas != new.replicas,
    ]
    .into_iter()
    .filter(|changed| *changed)
    .count()
}

/// What differs, in words: `8 nodes (2 more)`.
pub(super) fn words(old: &Hardware, new: &Hardware) -> Vec<String> {
    let mut words = Vec::new();
    if new.nodes != old.nodes {
        words.push(format!("{} nodes instead of {}", new.nodes, old.nodes));
    }
    if new.disks != old.disks {
        words.push(format!("{} disks in each node instead of {}", new.disks, old.disks));
    }
    if new.disk != old.disk {
        words.push(format!("{} disks instead of {}", new.disk.kind.word(), old.disk.kind.word()));
    }
    if new.link != old.link {
        words.push(format!("links of {} instead of {}", new.link, old.link));
    }
    if new.replicas != old.replicas {
        words.push(format!(
            "{} replicas instead of {}, which is less safe",
            new.replicas, old.replicas
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;
    use proptest::prelude::*;

    #[test]
    fn a_change_costs_what_is_added_and_all_that_is_replaced() {
        let prices = Prices { node: 4000, disk: [300, 400, 600], link_per_gbps: 10 };
        let old = small().hardware;
        let of = |new: Hardware| prices.of_change(&old, &new);
        assert_eq!(of(old), 0);
        assert_eq!(of(Hardware { nodes: 8, ..old }), 2 * (4000 + 12 * 300 + 100));
        assert_eq!(of(Hardware { disks: 14, ..old }), 6 * 2 * 300);
        assert_eq!(of(Hardware { disk: DiskKind::Ssd.preset().0, ..old }), 6 * 12 * 400);
        assert_eq!(of(Hardware { link: Rate::from_bps(25_000_000_000), ..old }), 6 * 250);
        let both = Hardware { nodes: 7, disks: 13, ..old };
        assert_eq!(of(both), 4000 + 13 * 300 + 100 + 6 * 300);
    }

    #[test]
    fn only_what_is_allowed_is_changed() {
        let mut plan = small();
        plan.change.allow = vec![Part::Link];
        let all = choices(&plan);
        assert_eq!(all.len(), 4, "the present link and three faster ones");
        assert!(
            all.iter()
                .all(|choice| Hardware { link: plan.hardware.link, ..*choice } == plan.hardware)
        );
        plan.change.allow = vec![Part::Replicas];
        assert_eq!(choices(&plan).len(), 2);
    }

    #[test]
    fn no_change_has_more_than_bays_and_racks_have_room_for() {
        let mut plan = small();
        assert_eq!(most_nodes(&plan), 24, "four times as many where nothing is said");
        plan.change.bays = Some(15);
        plan.change.max_nodes = Some(8);
        plan.change.allow = vec![Part::Disks, Part::Nodes];
        let disks: Vec<u32> = choices(&plan).iter().map(|choice| choice.disks).collect();
        assert_eq!(disks, [12, 13, 14, 15]);
        assert_eq!(most_nodes(&plan), 8);
        plan.change.bays = Some(19);
        assert!(choices(&plan).iter().any(|choice| choice.disks == 19), "all bays can be filled");
        plan.change.allow = vec![Part::Disks];
        assert_eq!(most_nodes(&plan), 6);
    }

    #[test]
    fn a_change_is_told_by_what_differs() {
        let old = small().hardware;
        assert!(words(&old, &old).is_empty());
        let new = Hardware { nodes: 8, link: Rate::from_bps(25_000_000_000), ..old };
        assert_eq!(
            words(&old, &new),
            ["8 nodes instead of 6", "links of 25Gbps instead of 10Gbps"]
        );
    }

    proptest! {
        /// More of anything never costs less, and is never what is no better.
        #[test]
        fn more_costs_more(nodes in 0u32..20, disks in 0u32..20, link in 0usize..8) {
            let prices = Prices { node: 4000, disk: [300, 400, 600], link_per_gbps: 10 };
            let old = small().hardware;
            let less = Hardware { nodes: old.nodes + nodes, disks: old.disks + disks, ..old };
            let link = Rate::from_bps(LINKS_GBPS[link] * 1_000_000_000).max(old.link);
            let more = Hardware { nodes: less.nodes + 1, disks: less.disks + 1, link, ..old };
            prop_assert!(prices.of_change(&old, &more) > prices.of_change(&old, &less));
            prop_assert!(no_better(&less, &more) && !no_better(&more, &less));
        }
    }
}
