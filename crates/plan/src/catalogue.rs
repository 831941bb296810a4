//! Kinds of disks and links, and the cluster files that come with the program.

use slotcast_lab::nearest;
use slotcast_units::{Rate, Size, Span};

use super::cluster::DiskModel;

/// A kind of disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiskKind {
    /// A hard disk.
    Hdd,
    /// Flash behind SATA.
    Ssd,
    /// Flash behind PCIe.
    Nvme,
}

impl DiskKind {
    /// The figures that are taken if a file states none, and where they come from. Reads and writes have
    /// one rate, that of the slower writes. What they hold is a guess.
    pub fn preset(self) -> (DiskModel, &'static str) {
        let (mb_per_s, access_time, capacity, source) = match self {
            DiskKind::Hdd => (
                200,
                Span::from_us(12_500),
                20_000,
                "our choice for 7200 rpm: half a turn takes 4.17 ms (IBM Ultrastar DDRS manual, table \
                 Latency Time), a mean seek 8.3 ms, and 200 MB/s is the middle of the disk",
            ),
            DiskKind::Ssd => (
                500,
                Span::ZERO,
                3_840,
                "our choice: SATA carries 600 MB/s at most (6 Gb/s, 8 of 10 bits)",
            ),
            DiskKind::Nvme => (
                4000,
                Span::ZERO,
                7_680,
                "our choice for PCIe 4: the Micron 7450 series writes at 0.7 to 5.6 GB/s by size \
                 (servethehome.com, Micron 7450 SSDs Launched)",
            ),
        };
        (
            DiskModel {
                kind: self,
                rate: Rate::from_bytes_per_s(mb_per_s * 1_000_000),
                access_time,
                capacity: Size::from_bytes(capacity * 1_000_000_000),
            },
            source,
        )
    }
}

/// Rates of links that can be bought, in Gb/s.
pub const LINKS_GBPS: [u64; 8] = [1, 10, 25, 40, 50, 100, 200, 400];

/// A cluster file that comes with the program.
#[derive(Debug, Clone, Copy)]
pub struct ReadyPlan {
    /// What `slotcast plan` calls it.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

/// The cluster files that come with the program.
pub const READY: [ReadyPlan; 4] = [
    ReadyPlan { name: "small", text: include_str!("../../../experiments/plans/small.toml") },
    ReadyPlan { name: "medium", text: include_str!("../../../experiments/plans/medium.toml") },
    ReadyPlan { name: "ingest", text: include_str!("../../../experiments/plans/ingest.toml") },
    ReadyPlan { name: "large", text: include_str!("../../../experiments/plans/large.toml") },
];

/// A commented cluster file to start from.
pub const TEMPLATE: &str = include_str!("../../../experiments/plans/template.toml");

/// The ready plan called `name`.
///
/// # Errors
/// The name that is most like it, if one is near enough to have been meant.
pub fn ready(name: &str) -> Result<&'static ReadyPlan, Option<&'static str>> {
    READY
        .iter()
        .find(|plan| plan.name == name)
        .ok_or_else(|| nearest::nearest(name, READY.iter().map(|plan| plan.name)))
}
