//! The settings of a cluster file.

use slotcast_lab::setting::{
    Choice, Kind, Range, Schema, Setting, Settings, Word, choice, count, rate, share, size, span,
};
use slotcast_lab::{choice, setting};
use slotcast_units::{Rate, Share, Size, Span};

use super::catalogue::DiskKind;
use super::cluster::Part;
use super::stated::{FailureDomain, Stated};

/// What a cluster file can set.
pub static SETTINGS: &dyn Settings = &PLAN;

pub(super) static PLAN: Schema<Stated> = Schema {
    model: "plan",
    sections: &[
        ("nodes", "the machines"),
        ("disks", "the disks of every node"),
        ("data", "what is stored"),
        ("clients", "who asks"),
        ("target", "what the cluster must do"),
        ("change", "what may be changed so that it holds"),
        ("prices", "what hardware costs, in any currency"),
    ],
    settings: KEYS,
    blocks: None,
    check: |stated| stated.plan().map(drop),
};

choice!(FailureDomain {
    Node = "node", "a node";
    Rack = "rack", "all nodes of a rack";
});
choice!(DiskKind {
    Hdd = "hdd", "hard disks";
    Ssd = "ssd", "flash behind SATA";
    Nvme = "nvme", "flash behind PCIe";
});
choice!(Part {
    Nodes = "nodes", "more nodes";
    Disks = "disks", "more disks in each node";
    Kind = "kind", "a faster kind of disk";
    Link = "link", "faster links";
    Replicas = "replicas", "one copy less";
});
const PROTOCOLS: &[Word] = &[
    Word { word: "replicast-m", doc: "one multicast transfer to all copies" },
    Word { word: "replicast-h", doc: "one transfer for each copy" },
];

const OURS: &str = "our choice";

const PRICE: Kind = count(0, 1_000_000_000);

static KEYS: &[Setting<Stated>] = &[
    setting!("nodes.count", nodes, count(1, 100_000), OURS, "Storage nodes."),
    setting!("nodes.disks", disks, count(1, 1000), OURS, "Disks in each node."),
    setting!("nodes.link", link, rate(), OURS, "Line rate of each node's link, each way."),
    setting!(
        "nodes.failure_domain",
        failure_domain,
        choice::<FailureDomain>(),
        OURS,
        "What fails together: copies of a chunk lie in different ones."
    ),
    setting!(
        "nodes.per_rack",
        per_rack,
        count(1, 1000),
        OURS,
        "Nodes in a rack, where racks are the failure domains."
    ),
    setting!("disks.kind", disk_kind, choice::<DiskKind>(), OURS, "Which disks."),
    setting!(
        "disks.rate",
        disk_rate,
        rate(),
        OURS,
        "Sustained rate of a disk, reading or writing; that of its kind if it is not said."
    ),
    setting!(
        "disks.access_time",
        access_time,
        span(Span::ZERO, Span::from_secs(1)),
        OURS,
        "Seek and rotation, for each request; that of its kind if it is not said."
    ),
    setting!("data.replicas", replicas, count(1, 8), OURS, "Copies of each chunk."),
    setting!(
        "data.reads",
        reads,
        share(Share::ZERO, Share::ONE),
        OURS,
        "Part of the requests that are reads; the others store new objects."
    ),
    setting!(
        "data.chunk",
        chunk,
        size(Size::from_kib(4), Size::from_mib(64)),
        OURS,
        "Objects are cut into chunks of this size."
    ),
    setting!(
        "data.sizes",
        sizes,
        Kind::Mix,
        OURS,
        "Sizes of objects with their shares of the requests."
    ),
    setting!(
        "data.protocol",
        protocol,
        Kind::Choice(PROTOCOLS),
        OURS,
        "Which protocol moves the chunks."
    ),
    setting!(
        "clients.count",
        clients,
        count(1, 1_000_000),
        OURS,
        "Machines that ask, each with a link as fast as a node's; as many as nodes if it is not said."
    ),
    setting!(
        "clients.window",
        window,
        count(1, 65_536),
        OURS,
        "Chunks that each client has under way at a time; enough for every disk if it is not said."
    ),
    setting!(
        "target.objects_per_s",
        objects_per_s,
        count(1, 1_000_000_000),
        OURS,
        "Requests per second, of all clients together. This, or target.rate."
    ),
    setting!(
        "target.rate",
        rate,
        Kind::Rate(Range { min: Rate::from_bps(8_000), max: Rate::from_bps(1 << 53) }),
        OURS,
        "The same as bytes of objects per second."
    ),
    setting!(
        "target.p99",
        p99,
        span(Span::from_us(1), Span::from_secs(60)),
        OURS,
        "The latency that 99 of 100 requests must keep to."
    ),
    setting!(
        "target.with_a_node_down",
        with_a_node_down,
        Kind::Switch,
        OURS,
        "Whether it must be kept with a node down, too."
    ),
    setting!(
        "change.allow",
        allow,
        Kind::Words(Part::WORDS),
        OURS,
        "What may be changed so that it holds."
    ),
    setting!("prices.node", price_node, PRICE, OURS, "Price of a node without disks and link."),
    setting!("prices.hdd", price_hdd, PRICE, OURS, "Price of a hard disk."),
    setting!("prices.ssd", price_ssd, PRICE, OURS, "Price of a SATA SSD."),
    setting!("prices.nvme", price_nvme, PRICE, OURS, "Price of an NVMe SSD."),
    setting!(
        "prices.link_per_gbps",
        price_link_per_gbps,
        PRICE,
        OURS,
        "Price of a link with its part of the switch, per Gb/s."
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_sound() {
        assert_eq!(PLAN.problems(), Vec::<String>::new());
    }
}
