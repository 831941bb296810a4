//! Price and power.

use serde::Serialize;

use super::check::Used;
use super::cluster::{Hardware, Power, Prices};

/// What a cluster costs and draws, at the prices and watts of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// All nodes with disks and links, in the currency of the prices.
    pub cost: f64,
    /// Watts when nothing is asked for.
    pub watts_idle: f64,
    /// Watts at the load that is asked for.
    pub watts_at_target: f64,
    /// Cost of each usable terabyte.
    pub cost_per_tb: f64,
    /// Watts of each usable terabyte, at that load.
    pub watts_per_tb: f64,
    /// Cost of each gigabyte per second that is held, writes and reads together; `null` if no load is.
    pub cost_per_gb_per_s: Option<f64>,
    /// Watts of the same, at that load; `null` if no load is held.
    pub watts_per_gb_per_s: Option<f64>,
}

impl Prices {
    /// What all of `hardware` costs.
    pub fn of(&self, hardware: &Hardware) -> f64 {
        let disks = f64::from(hardware.disks) * self.disk[hardware.disk.kind as usize] as f64;
        let link = self.link_per_gbps as f64 * hardware.link.as_bps() as f64 / 1e9;
        f64::from(hardware.nodes) * (self.node as f64 + disks + link)
    }
}

impl Power {
    /// Watts of `hardware` of which so much is used: between idle and active in proportion, a node by the busier
    /// of its disks and its link.
    pub fn of(&self, hardware: &Hardware, used: &Used) -> f64 {
        let between = |[idle, active]: [u64; 2], used: f64| {
            idle as f64 + (active as f64 - idle as f64) * used.clamp(0.0, 1.0)
        };
        let disk = between(self.disk[hardware.disk.kind as usize], used.disks);
        let node = between(self.node, used.disks.max(used.node_links));
        f64::from(hardware.nodes) * (node + f64::from(hardware.disks) * disk)
    }
}

/// What is known of a cluster whose budget is asked for.
pub(super) struct Known<'a> {
    pub(super) hardware: &'a Hardware,
    /// How much is used at the target.
    pub(super) used: &'a Used,
    /// Bytes of objects that it has room for.
    pub(super) usable: f64,
    /// Bytes per second of the largest load that it holds.
    pub(super) held: Option<f64>,
}

impl Budget {
    pub(super) fn of(prices: &Prices, power: &Power, known: &Known<'_>) -> Budget {
        let &Known { hardware, used, usable, held } = known;
        let cost = prices.of(hardware);
        let unused = Used { disks: 0.0, node_links: 0.0, client_links: 0.0, control: 0.0 };
        let watts_at_target = power.of(hardware, used);
        let terabytes = usable / 1e12;
        let held = held.map(|bytes| bytes / 1e9);
        Budget {
            cost,
            watts_idle: power.of(hardware, &unused),
            watts_at_target,
            cost_per_tb: cost / terabytes,
            watts_per_tb: watts_at_target / terabytes,
            cost_per_gb_per_s: held.map(|held| cost / held),
            watts_per_gb_per_s: held.map(|held| watts_at_target / held),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;

    #[test]
    fn price_and_power_are_sums() {
        let plan = small();
        let prices = Prices { node: 4000, disk: [300, 400, 600], link_per_gbps: 10 };
        let power = Power { node: [150, 300], disk: [[5, 9], [2, 5], [4, 12]] };
        let used = Used { disks: 0.5, node_links: 0.2, client_links: 0.0, control: 0.0 };
        let hardware = &plan.hardware;
        let known = Known { hardware, used: &used, usable: 100e12, held: Some(2e9) };
        let budget = Budget::of(&prices, &power, &known);
        // Six nodes of 4000 with twelve disks of 300 and a link of 10 Gb/s.
        assert_eq!(budget.cost, 6.0 * (4000.0 + 3600.0 + 100.0));
        assert_eq!(budget.watts_idle, 6.0 * (150.0 + 12.0 * 5.0));
        assert_eq!(budget.watts_at_target, 6.0 * (225.0 + 12.0 * 7.0));
        assert_eq!(budget.cost_per_tb, budget.cost / 100.0);
        assert_eq!(budget.cost_per_gb_per_s, Some(budget.cost / 2.0));
        assert_eq!(budget.watts_per_gb_per_s, Some(budget.watts_at_target / 2.0));
        let nothing = Budget::of(&prices, &power, &Known { held: None, ..known });
        assert_eq!(nothing.cost_per_gb_per_s, None);
    }
}
