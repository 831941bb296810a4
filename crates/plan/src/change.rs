//! The smallest change that would make a cluster hold, searched by simulation.
//!
//! A change is a choice of disks per node, kind of disk, link and replicas; for each of them the number of
//! nodes that is needed is searched. Choices are tried in the order of what they cost at the least, with
//! the nodes that arithmetic asks for; one that would cost as much as what was found already is left out,
//! as are those that are no better anywhere than what was found not to hold.

use slotcast_lab::InputError;

use super::Effort;
use super::check::{Check, Holds, Simulator};
use super::cluster::{ClusterPlan, Hardware};
use super::condition::Condition;
use super::options::{choices, most_nodes, no_better, parts_changed, words};
use super::room::Room;

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
    /// The same with each thing wrong that may be.
    pub faults: Vec<Check>,
}

/// Variants that are simulated at most.
const TRIES: usize = 30;
const QUICK_TRIES: usize = 12;

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

/// Searches the cheapest change that holds. `lacks_room_only`: the cluster does what it must, but has no room for
/// what it must store.
pub(super) fn find(
    simulator: &mut Simulator<'_>,
    lacks_room_only: bool,
) -> Result<Change, Box<InputError>> {
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
        // That it does not hold as it is, is known; unless only room is missing.
        failed: if lacks_room_only { Vec::new() } else { vec![old] },
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

/// All conditions in which a cluster must hold, that in which nothing is wrong first.
fn required(plan: &ClusterPlan) -> impl Iterator<Item = Condition> {
    let faults = Condition::FAULTS.into_iter();
    [Condition::AllUp].into_iter().chain(faults.filter(|&fault| plan.target.conditions.has(fault)))
}

/// The nodes that arithmetic asks for; none if there are not enough of them.
fn nodes_needed(simulator: &Simulator<'_>, choice: &Hardware) -> Option<u32> {
    let plan = simulator.plan;
    let old = plan.hardware.nodes;
    let most = most_nodes(plan);
    let carries = |nodes: u32| {
        let hardware = Hardware { nodes, ..*choice };
        required(plan).all(|condition| {
            simulator.can_tell(&hardware, condition) >= plan.target.objects_per_s as f64
        }) && Room::of(plan, &hardware).holds == Holds::Yes
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
        let mut checks = Vec::new();
        for condition in required(plan) {
            let check = self.simulator.check(&what, hardware, target, condition)?;
            if check.holds != Holds::Yes {
                self.failed.push(*hardware);
                return Ok(false);
            }
            checks.push(check);
        }
        let at_target = checks.remove(0);
        let cost = plan.change.prices.of_change(&plan.hardware, hardware);
        if self.best.as_ref().is_none_or(|best| cost < best.cost) {
            let faults = checks;
            self.best = Some(ChangeFound { hardware: *hardware, cost, at_target, faults });
        }
        Ok(true)
    }

    /// Searches the fewest nodes with which `choice` holds, as long as that can be the best: from what
    /// arithmetic asks for upwards in growing steps, then back between the last two.
    fn nodes_for(&mut self, choice: &Hardware) -> Result<(), Box<InputError>> {
        let plan = self.simulator.plan;
        let old = plan.hardware;
        let most = most_nodes(plan).max(choice.nodes);
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

impl ChangeFound {
    /// What changes, in words.
    pub fn words(&self, plan: &ClusterPlan) -> Vec<String> {
        words(&plan.hardware, &self.hardware)
    }
}
