//! The smallest change that would make a cluster hold, searched by simulation.
//!
//! A change is a choice of disks per node, kind of disk, link and replicas; for each of them the number of
//! nodes that is needed is searched. Choices are tried in the order of what they cost at the least, with
//! the nodes that arithmetic asks for; one that would cost as much as what was found already is left out,
//! as are those that are no better anywhere than what was found not to hold.

use slotcast_units::Rate;

use super::Effort;
use super::catalogue::{DiskKind, LINKS_GBPS};
use super::check::{Check, Holds, Simulator};
use super::cluster::{ClusterPlan, Hardware, Part, Prices};
use crate::input_error::InputError;

/// What came of the search.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The cheapest change that holds; nothing if none was found.
    pub found: Option<ChangeFound>,
    /// Variants that were simulated.
    pub tried: usize,
    /// Whether the search ended because it had tried enough: a cheaper change may exist.
    pub cut_short: bool,
}

/// A change that holds.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeFound {
    /// The hardware after it.
    pub hardware: Hardware,
    /// What it costs, at the prices of the plan.
    pub cost: u64,
    /// The changed cluster at the target.
    pub at_target: Check,
    /// The same with a node down, if it must hold then, too.
    pub node_down: Option<Check>,
}

/// No change has more than so many times the nodes, or the disks in a node.
const MOST_TIMES: u32 = 4;
/// Nor more disks in a node than this, unless they are there already.
const MOST_DISKS: u32 = 60;
/// Variants that are simulated at most.
const TRIES: usize = 30;
const QUICK_TRIES: usize = 12;

impl Prices {
    /// What it costs to get from `old` to `new`: what is added, and all of what is replaced.
    pub fn of_change(&self, old: &Hardware, new: &Hardware) -> u64 {
        let (old_nodes, new_nodes) = (u64::from(old.nodes), u64::from(new.nodes));
        let added = new_nodes.saturating_sub(old_nodes);
        let disk = self.disk[new.disk.kind as usize];
        let link = self.link_per_gbps * new.link.as_bps() / 1_000_000_000;
        let disks = match old.disk == new.disk {
            true => u64::from(new.disks.saturating_sub(old.disks)),
            false => u64::from(new.disks),
        };
        let links = u64::from(old.link != new.link);
        added * (self.node + u64::from(new.disks) * disk + link)
            + old_nodes.min(new_nodes) * (disks * disk + links * link)
    }
}

/// Whether `a` is nowhere better than `b`.
fn no_better(a: &Hardware, b: &Hardware) -> bool {
    let slower_disk = a.disk.rate <= b.disk.rate && a.disk.access_time >= b.disk.access_time;
    a.nodes <= b.nodes
        && a.disks <= b.disks
        && slower_disk
        && a.link <= b.link
        && a.replicas >= b.replicas
}

/// Every choice but that of the number of nodes, the present one among them.
fn choices(plan: &ClusterPlan) -> Vec<Hardware> {
    let old = plan.hardware;
    let may = |part| plan.change.allow.contains(&part);
    let mut disks = vec![old.disks];
    if may(Part::Disks) {
        let most = (old.disks * MOST_TIMES).min(MOST_DISKS.max(old.disks));
        disks.extend(
            [1, 2, 4, 8, 12, 24].map(|more| old.disks + more).into_iter().filter(|&n| n <= most),
        );
    }
    let mut models = vec![old.disk];
    if may(Part::Kind) {
        let faster = DiskKind::ALL.into_iter().map(|kind| kind.preset().0);
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

struct Search<'a, 'b> {
    simulator: &'a mut Simulator<'b>,
    tries: usize,
    most_tries: usize,
    failed: Vec<Hardware>,
    best: Option<ChangeFound>,
    /// Disks and links with which even an idle cluster is too slow.
    too_slow: Vec<Hardware>,
    fast_enough: Vec<Hardware>,
}

/// Searches the cheapest change that holds.
pub(super) fn find(simulator: &mut Simulator<'_>) -> Result<Change, Box<InputError>> {
    let plan = simulator.plan;
    let old = plan.hardware;
    let prices = plan.change.prices;
    let mut choices: Vec<(u64, Hardware)> = choices(plan)
        .into_iter()
        .filter_map(|choice| {
            let nodes = nodes_needed(simulator, &choice)?;
            let least = Hardware { nodes, ..choice };
            Some((prices.of_change(&old, &least), least))
        })
        .collect();
    // Of two that cost the same, the one that changes less.
    choices.sort_by_key(|(cost, choice)| (*cost, parts_changed(&old, choice)));

    let most_tries = if simulator.effort == Effort::Quick { QUICK_TRIES } else { TRIES };
    let mut search = Search {
        simulator,
        tries: 0,
        most_tries,
        // That it does not hold as it is, is known.
        failed: vec![old],
        best: None,
        too_slow: Vec::new(),
        fast_enough: Vec::new(),
    };
    for (cost, choice) in choices {
        if search.is_over() || search.best.as_ref().is_some_and(|best| best.cost <= cost) {
            break;
        }
        if search.is_fast_enough(&choice)? {
            search.nodes_for(&choice)?;
        }
    }
    let (tried, cut_short) = (search.tries, search.is_over());
    Ok(Change { found: search.best, tried, cut_short })
}

/// The nodes that arithmetic asks for; none if there are not enough of them.
fn nodes_needed(simulator: &Simulator<'_>, choice: &Hardware) -> Option<u32> {
    let plan = simulator.plan;
    let old = plan.hardware.nodes;
    let most =
        if plan.change.allow.contains(&Part::Nodes) { old.saturating_mul(MOST_TIMES) } else { old };
    let carries = |nodes: u32| {
        simulator.capacity(&Hardware { nodes, ..*choice }) >= plan.target.objects_per_s as f64
    };
    if !carries(most) {
        return None;
    }
    let (mut low, mut high) = (old - 1, most);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if carries(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

fn parts_changed(old: &Hardware, new: &Hardware) -> usize {
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

impl Search<'_, '_> {
    fn is_over(&self) -> bool {
        self.tries >= self.most_tries
    }

    /// Whether an idle cluster of these disks and links keeps to the p99 at all: if not, more of them do
    /// not help.
    fn is_fast_enough(&mut self, choice: &Hardware) -> Result<bool, Box<InputError>> {
        let alike = |a: &Hardware| {
            (a.disk, a.link, a.replicas) == (choice.disk, choice.link, choice.replicas)
        };
        if self.fast_enough.iter().any(alike) {
            return Ok(true);
        }
        if self.too_slow.iter().any(|slow| {
            no_better(&Hardware { nodes: slow.nodes, disks: slow.disks, ..*choice }, slow)
        }) {
            return Ok(false);
        }
        self.tries += 1;
        let is_fast = self.simulator.idle(choice)?.holds != Holds::No;
        if is_fast { &mut self.fast_enough } else { &mut self.too_slow }.push(*choice);
        Ok(is_fast)
    }

    /// Whether `hardware` holds; it becomes the best if so and it is cheaper.
    fn holds(&mut self, hardware: &Hardware) -> Result<bool, Box<InputError>> {
        if self.failed.iter().any(|failed| no_better(hardware, failed)) {
            return Ok(false);
        }
        let plan = self.simulator.plan;
        let target = plan.target.objects_per_s;
        let what = format!("a change: {}", words(&plan.hardware, hardware).join(", "));
        self.tries += 1;
        let at_target = self.simulator.check(&what, hardware, target, false)?;
        let node_down = match plan.target.with_a_node_down && at_target.holds == Holds::Yes {
            true => Some(self.simulator.check(&what, hardware, target, true)?),
            false => None,
        };
        let down = node_down.as_ref().map_or(Holds::Yes, |check| check.holds);
        if at_target.holds.and(down) != Holds::Yes {
            self.failed.push(*hardware);
            return Ok(false);
        }
        let cost = plan.change.prices.of_change(&plan.hardware, hardware);
        if self.best.as_ref().is_none_or(|best| cost < best.cost) {
            self.best = Some(ChangeFound { hardware: *hardware, cost, at_target, node_down });
        }
        Ok(true)
    }

    /// Searches the fewest nodes with which `choice` holds, as long as that can be the best: from what
    /// arithmetic asks for upwards in growing steps, then back between the last two.
    fn nodes_for(&mut self, choice: &Hardware) -> Result<(), Box<InputError>> {
        let plan = self.simulator.plan;
        let old = plan.hardware;
        let may_grow = plan.change.allow.contains(&Part::Nodes);
        let most = if may_grow { old.nodes.saturating_mul(MOST_TIMES) } else { choice.nodes };
        let (mut low, mut nodes, mut step) = (choice.nodes - 1, choice.nodes, 1);
        loop {
            let hardware = Hardware { nodes, ..*choice };
            let cost = plan.change.prices.of_change(&old, &hardware);
            let too_dear = self.best.as_ref().is_some_and(|best| best.cost <= cost);
            if nodes > most || too_dear || self.is_over() {
                return Ok(());
            }
            if self.holds(&hardware)? {
                break;
            }
            low = nodes;
            nodes = if nodes == most { most + 1 } else { (nodes + step).min(most) };
            step *= 2;
        }
        while nodes - low > 1 && !self.is_over() {
            let middle = low + (nodes - low) / 2;
            match self.holds(&Hardware { nodes: middle, ..*choice })? {
                true => nodes = middle,
                false => low = middle,
            }
        }
        Ok(())
    }
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

impl ChangeFound {
    /// What changes, in words.
    pub fn words(&self, plan: &ClusterPlan) -> Vec<String> {
        words(&plan.hardware, &self.hardware)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::small;
    use super::*;
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
