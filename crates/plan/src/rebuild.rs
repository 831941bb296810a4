//! Bringing back what a lost node held: how long that takes.

use serde::Serialize;
use slotcast_units::Share;

use super::cluster::{ClusterPlan, Hardware};
use super::condition::groups;

/// What it takes to bring back what one node held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rebuild {
    /// Bytes of copies that the node held.
    pub bytes: f64,
    /// Nodes that take part: the others of its negotiating group.
    pub nodes: u32,
    /// Part of their disks' time that it takes.
    pub disks: f64,
    /// Part of their links that it takes, each way.
    pub links: f64,
    /// Bytes per second of all of them together.
    pub bytes_per_s: f64,
    /// How long it takes, in seconds.
    pub seconds: f64,
}

/// What it takes on `hardware` to bring back `bytes`. Every chunk is read on one disk and written on another,
/// and crosses the link of both nodes once.
pub(super) fn rebuild(plan: &ClusterPlan, hardware: &Hardware, bytes: f64) -> Rebuild {
    let (_, _, members) = groups(hardware.nodes);
    let nodes = members.saturating_sub(1).max(1);
    let chunk = plan.mean_size() / plan.chunks_per_object();
    let disk = hardware.disk;
    let service = chunk * 8.0 / disk.rate.as_bps() as f64 + disk.access_time.as_secs_f64();
    let share = plan.target.rebuild_share.as_f64();
    let wanted = f64::from(hardware.disks) * share / (2.0 * service) * chunk;
    // It takes no larger part of a link than of a disk.
    let link = hardware.link.as_bps() as f64 / 8.0;
    let of_each = wanted.min(link * share);
    let bytes_per_s = of_each * f64::from(nodes);
    Rebuild {
        bytes,
        nodes,
        disks: share * of_each / wanted,
        links: of_each / link,
        bytes_per_s,
        seconds: bytes / bytes_per_s,
    }
}

/// The part of the disks' time that a rebuild takes, for a simulation.
pub(super) fn share_of_disks(plan: &ClusterPlan, hardware: &Hardware) -> Share {
    let part = rebuild(plan, hardware, 0.0).disks;
    Share::from_ppm((part * 1e6).round().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;
    use slotcast_units::{Rate, Span};

    #[test]
    fn a_rebuild_takes_as_long_as_its_disks_need() {
        let mut plan = small();
        plan.data.sizes = "1MiB:100%".parse().unwrap();
        // 17.74 ms to read 1 MiB, and as long to write it: 5 nodes of 12 disks do 338.2 chunks a second with
        // a fifth of their time, 354.6 MB.
        let found = rebuild(&plan, &plan.hardware, 1e12);
        assert_eq!(found.nodes, 5);
        assert!((found.bytes_per_s / 354.6e6 - 1.0).abs() < 1e-3, "{found:?}");
        assert!((found.seconds / 2820.0 - 1.0).abs() < 1e-3, "{found:?}");
        assert!((found.disks - 0.2).abs() < 1e-9);
        // 70.9 MB/s of 1250.
        assert!((found.links - 0.0567).abs() < 1e-3, "{found:?}");
    }

    #[test]
    fn links_hold_a_rebuild_back_that_disks_would_not() {
        let mut plan = small();
        plan.hardware.disk.rate = Rate::from_bytes_per_s(4_000_000_000);
        plan.hardware.disk.access_time = Span::ZERO;
        let found = rebuild(&plan, &plan.hardware, 1e12);
        assert!((found.links - 0.2).abs() < 1e-9, "{found:?}");
        assert!(found.disks < 0.1, "{found:?}");
    }
}
