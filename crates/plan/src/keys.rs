//! Everything that a cluster file can say.

use slotcast_lab::setting::{Kind, Range, Word};
use slotcast_units::{Rate, Share, Size, Span};

/// A key of a cluster file that holds one value.
#[derive(Debug)]
pub struct PlanKey {
    /// Where it is: `section.name`.
    pub key: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// Unit and range.
    pub kind: Kind,
    /// What holds where a file says nothing; nothing if it must be said, or depends on other keys.
    pub default: Option<&'static str>,
}

/// The sections of a cluster file.
pub const SECTIONS: [&str; 7] = ["nodes", "disks", "data", "clients", "target", "change", "prices"];

/// The keys that hold lists, with what is expected there.
pub const LISTS: [(&str, &str); 2] = [
    (
        "data.sizes",
        "a list such as `[{ size = \"64KiB\", share = \"60%\" }, { size = \"1MiB\", share = \"40%\" }]`",
    ),
    ("change.allow", "a list of \"nodes\", \"disks\", \"kind\", \"link\" and \"replicas\""),
];

/// The section of `key`.
pub(super) fn section(key: &str) -> &str {
    key.split_once('.').map_or(key, |(section, _)| section)
}

/// The key called `key`.
pub(super) fn find(key: &str) -> Option<&'static PlanKey> {
    KEYS.iter().find(|known| known.key == key)
}

/// Every key, lists included.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.key).chain(LISTS.iter().map(|(key, _)| *key))
}

const fn count(min: u64, max: u64) -> Kind {
    Kind::Count(Range { min, max })
}

const RATE: Kind =
    Kind::Rate(Range { min: Rate::from_bps(1_000_000), max: Rate::from_bps(10_000_000_000_000) });

const PRICE: Kind = count(0, 1_000_000_000);

/// Every key that holds one value.
pub static KEYS: &[PlanKey] = &[
    PlanKey { key: "nodes.count", doc: "Storage nodes.", kind: count(1, 100_000), default: None },
    PlanKey {
        key: "nodes.disks",
        doc: "Disks in each node.",
        kind: count(1, 1000),
        default: Some("1"),
    },
    PlanKey {
        key: "nodes.link",
        doc: "Line rate of each node's link, each way.",
        kind: RATE,
        default: None,
    },
    PlanKey {
        key: "nodes.failure_domain",
        doc: "What fails together: copies of a chunk lie in different ones.",
        kind: Kind::Choice(&[
            Word { word: "node", doc: "a node" },
            Word { word: "rack", doc: "all nodes of a rack" },
        ]),
        default: Some("node"),
    },
    PlanKey {
        key: "nodes.per_rack",
        doc: "Nodes in a rack, where racks are the failure domains.",
        kind: count(1, 1000),
        default: None,
    },
    PlanKey {
        key: "disks.kind",
        doc: "Which disks.",
        kind: Kind::Choice(&[
            Word { word: "hdd", doc: "hard disks" },
            Word { word: "ssd", doc: "flash behind SATA" },
            Word { word: "nvme", doc: "flash behind PCIe" },
        ]),
        default: None,
    },
    PlanKey {
        key: "disks.rate",
        doc: "Sustained rate of a disk, reading or writing; that of its kind if it is not said.",
        kind: RATE,
        default: None,
    },
    PlanKey {
        key: "disks.access_time",
        doc: "Seek and rotation, for each request; that of its kind if it is not said.",
        kind: Kind::Span(Range { min: Span::ZERO, max: Span::from_secs(1) }),
        default: None,
    },
    PlanKey {
        key: "data.replicas",
        doc: "Copies of each chunk.",
        kind: count(1, 8),
        default: Some("3"),
    },
    PlanKey {
        key: "data.reads",
        doc: "Part of the requests that are reads; the others store new objects.",
        kind: Kind::Share(Range { min: Share::ZERO, max: Share::ONE }),
        default: Some("0%"),
    },
    PlanKey {
        key: "data.chunk",
        doc: "Objects are cut into chunks of this size.",
        kind: Kind::Size(Range { min: Size::from_kib(4), max: Size::from_mib(64) }),
        default: Some("1MiB"),
    },
    PlanKey {
        key: "data.protocol",
        doc: "Which protocol moves the chunks.",
        kind: Kind::Choice(&[
            Word { word: "replicast-m", doc: "one multicast transfer to all copies" },
            Word { word: "replicast-h", doc: "one transfer for each copy" },
        ]),
        default: Some("replicast-m"),
    },
    PlanKey {
        key: "clients.count",
        doc: "Machines that ask, each with a link as fast as a node's; as many as nodes if it is not said.",
        kind: count(1, 1_000_000),
        default: None,
    },
    PlanKey {
        key: "clients.window",
        doc: "Chunks that each client has under way at a time; enough for every disk if it is not said.",
        kind: count(1, 65_536),
        default: None,
    },
    PlanKey {
        key: "target.objects_per_s",
        doc: "Requests per second, of all clients together. This, or target.rate.",
        kind: count(1, 1_000_000_000),
        default: None,
    },
    PlanKey {
        key: "target.rate",
        doc: "The same as bytes of objects per second.",
        kind: Kind::Rate(Range { min: Rate::from_bps(8_000), max: Rate::from_bps(1 << 53) }),
        default: None,
    },
    PlanKey {
        key: "target.p99",
        doc: "The latency that 99 of 100 requests must keep to.",
        kind: Kind::Span(Range { min: Span::from_us(1), max: Span::from_secs(60) }),
        default: None,
    },
    PlanKey {
        key: "target.with_a_node_down",
        doc: "Whether it must be kept with a node down, too.",
        kind: Kind::Switch,
        default: Some("false"),
    },
    PlanKey {
        key: "prices.node",
        doc: "Price of a node without disks and link.",
        kind: PRICE,
        default: Some("4000"),
    },
    PlanKey { key: "prices.hdd", doc: "Price of a hard disk.", kind: PRICE, default: Some("300") },
    PlanKey { key: "prices.ssd", doc: "Price of a SATA SSD.", kind: PRICE, default: Some("400") },
    PlanKey { key: "prices.nvme", doc: "Price of an NVMe SSD.", kind: PRICE, default: Some("600") },
    PlanKey {
        key: "prices.link_per_gbps",
        doc: "Price of a link with its part of the switch, per Gb/s.",
        kind: PRICE,
        default: Some("10"),
    },
];
