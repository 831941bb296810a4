//! Room: what a cluster can store, and when it is full.

use serde::Serialize;
use slotcast_units::Size;

use super::check::Holds;
use super::cluster::{ClusterPlan, Hardware};
use super::condition::groups;

/// What a cluster can store. Sizes are in bytes, those of objects before replicas.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Room {
    /// All disks together.
    pub raw: f64,
    /// Objects, if every disk is filled as far as is allowed.
    pub filled: f64,
    /// Of that, what must stay free so that every negotiating group can bring back a lost node.
    pub reserve: f64,
    /// Objects beside that reserve.
    pub usable: f64,
    /// Objects that are stored now; `null` if it is not said.
    pub stored: Option<f64>,
    /// Months until it is full; `null` if it does not grow, or nothing is said of what is stored.
    pub full_in_months: Option<f64>,
    /// Whether there is room for what is stored, and for as many months of growth as are asked for.
    pub holds: Holds,
}

impl Room {
    /// Of `hardware`, for what `plan` stores. A chunk stays in its group, so a lost node must find room with the
    /// others of its own group, and every group keeps that of one node free.
    pub(super) fn of(plan: &ClusterPlan, hardware: &Hardware) -> Room {
        let nodes = f64::from(hardware.nodes);
        let (count, smallest, _) = groups(hardware.nodes);
        let node = f64::from(hardware.disks) * hardware.disk.capacity.as_bytes() as f64;
        let objects = plan.data.fill.as_f64() / f64::from(hardware.replicas);
        let raw = nodes * node;
        // Groups are filled evenly, so the smallest is full first.
        let in_groups = f64::from(count) * node * objects;
        let filled = in_groups * f64::from(smallest);
        let reserve = if hardware.nodes > hardware.replicas { in_groups } else { 0.0 };
        let usable = filled - reserve;
        let bytes = |size: Size| size.as_bytes() as f64;
        let stored = plan.data.stored.map(bytes);
        let growth = bytes(plan.data.growth);
        let left = stored.map(|stored| usable - stored);
        let full_in_months = match left {
            Some(left) if left < 0.0 => Some(0.0),
            Some(left) if growth > 0.0 => Some(left / growth),
            _ => None,
        };
        let asked = f64::from(plan.target.months.unwrap_or(0));
        let is_full = left.is_some_and(|left| left < asked * growth);
        let holds = if is_full { Holds::No } else { Holds::Yes };
        Room { raw, filled, reserve, usable, stored, full_in_months, holds }
    }

    /// Bytes of copies that a node holds: its part of what is stored, or of a full cluster if that is not said.
    pub(super) fn on_a_node(&self, hardware: &Hardware) -> f64 {
        let stored = self.stored.unwrap_or(self.usable);
        stored * f64::from(hardware.replicas) / f64::from(hardware.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;

    const TB: f64 = 1e12;

    #[test]
    fn a_cluster_is_full_when_its_growth_has_filled_it() {
        let mut plan = small();
        plan.hardware.disk.capacity = Size::from_bytes(20_000_000_000_000);
        plan.data.stored = Some(Size::from_bytes(180_000_000_000_000));
        plan.data.growth = Size::from_bytes(10_000_000_000_000);
        // 72 disks of 20 TB, filled to 90 %, three copies; one node of six is kept free.
        let room = Room::of(&plan, &plan.hardware);
        assert_eq!((room.raw / TB).round(), 1440.0);
        assert_eq!((room.filled / TB).round(), 432.0);
        assert_eq!((room.reserve / TB).round(), 72.0);
        assert_eq!((room.usable / TB).round(), 360.0);
        assert_eq!(room.full_in_months.map(f64::round), Some(18.0));
        assert_eq!(room.holds, Holds::Yes, "no number of months was asked for");
        plan.target.months = Some(18);
        assert_eq!(Room::of(&plan, &plan.hardware).holds, Holds::Yes);
        plan.target.months = Some(19);
        assert_eq!(Room::of(&plan, &plan.hardware).holds, Holds::No);
        // 90 TB of copies lie on each node.
        assert_eq!((room.on_a_node(&plan.hardware) / TB).round(), 90.0);
    }

    #[test]
    fn every_group_keeps_a_node_free() {
        let plan = small();
        let of = |nodes| Room::of(&plan, &Hardware { nodes, ..plan.hardware });
        let part = of(90).usable / of(90).filled;
        assert!((part - 8.0 / 9.0).abs() < 1e-9, "{part}");
        assert_eq!(of(91).usable, of(90).usable, "the smallest group is full first");
        let mut none = small();
        none.hardware.nodes = 3;
        let room = Room::of(&none, &none.hardware);
        assert_eq!(room.reserve, 0.0, "with a copy on each there is nowhere to bring one back to");
    }

    #[test]
    fn what_is_not_said_is_not_guessed() {
        let plan = small();
        let room = Room::of(&plan, &plan.hardware);
        assert_eq!((room.stored, room.full_in_months, room.holds), (None, None, Holds::Yes));
    }
}
