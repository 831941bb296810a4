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
        ("power", "what hardware draws, in watts"),
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
const GUESS: &str = "a rough guess";

const OBJECTS_PER_S: Kind = count(1, 1_000_000_000);
const BYTES_PER_S: Kind =
    Kind::Rate(Range { min: Rate::from_bps(8_000), max: Rate::from_bps(1 << 53) });
const LATENCY: Kind = span(Span::from_us(1), Span::from_secs(60));

const MAX_STORED: Size = Size::from_bytes(1 << 60);
const WATTS: Kind = count(0, 100_000);
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
    setting!(
        "nodes.bays",
        bays,
        count(1, 1000),
        OURS,
        "Drive bays of a node: no change has more disks in each. As many as four times the disks if it is not said."
    ),
    setting!(
        "nodes.racks",
        racks,
        count(1, 100_000),
        OURS,
        "Racks of nodes.per_rack nodes: no change has more nodes than they have room for."
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
    setting!(
        "disks.capacity",
        disk_capacity,
        size(Size::from_bytes(1_000_000_000), MAX_STORED),
        GUESS,
        "What a disk holds; 20 TB (hdd), 3.84 TB (ssd) or 7.68 TB (nvme) if it is not said."
    ),
    setting!("data.replicas", replicas, count(1, 8), OURS, "Copies of each chunk."),
    setting!(
        "data.reads",
        reads,
        share(Share::ZERO, Share::ONE),
        OURS,
        "Part of the requests that are reads, the others store new objects; none if nothing else says so."
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
        "data.stored",
        stored,
        size(Size::ZERO, MAX_STORED),
        OURS,
        "What is stored now, before replicas."
    ),
    setting!(
        "data.growth",
        growth,
        size(Size::ZERO, MAX_STORED),
        OURS,
        "What is added to that in a month."
    ),
    setting!(
        "data.fill",
        fill,
        share(Share::from_percent(10), Share::ONE),
        OURS,
        "How full disks may be: compaction needs some room."
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
        OBJECTS_PER_S,
        OURS,
        "Requests per second, of all clients together. This, or target.rate."
    ),
    setting!("target.rate", rate, BYTES_PER_S, OURS, "The same as bytes of objects per second."),
    setting!(
        "target.ingest",
        ingest,
        BYTES_PER_S,
        OURS,
        "Bytes of objects that are written per second. What is read is target.reads, or follows from \
         data.reads."
    ),
    setting!(
        "target.ingest_objects_per_s",
        ingest_objects_per_s,
        OBJECTS_PER_S,
        OURS,
        "The same as objects per second."
    ),
    setting!(
        "target.reads",
        reads_rate,
        BYTES_PER_S,
        OURS,
        "Bytes of objects that are read per second. What is written is target.ingest, or follows from \
         data.reads."
    ),
    setting!(
        "target.reads_objects_per_s",
        reads_objects_per_s,
        OBJECTS_PER_S,
        OURS,
        "The same as objects per second."
    ),
    setting!(
        "target.p99",
        p99,
        LATENCY,
        OURS,
        "The latency that 99 of 100 writes must keep to, and 99 of 100 reads."
    ),
    setting!(
        "target.put_p99",
        put_p99,
        LATENCY,
        OURS,
        "The same for writes; target.p99 if it is not said."
    ),
    setting!(
        "target.get_p99",
        get_p99,
        LATENCY,
        OURS,
        "The same for reads; target.p99 if it is not said."
    ),
    setting!(
        "target.put_p999",
        put_p999,
        LATENCY,
        OURS,
        "The latency that 999 of 1000 writes must keep to, too, if it is said."
    ),
    setting!(
        "target.get_p999",
        get_p999,
        LATENCY,
        OURS,
        "The latency that 999 of 1000 reads must keep to, too, if it is said."
    ),
    setting!(
        "target.months",
        months,
        count(0, 600),
        OURS,
        "Months of growth that there must be room for."
    ),
    setting!(
        "target.with_a_node_down",
        with_a_node_down,
        Kind::Switch,
        OURS,
        "Whether it must be kept with a node down, too."
    ),
    setting!(
        "target.with_two_nodes_down",
        with_two_nodes_down,
        Kind::Switch,
        OURS,
        "The same with two nodes down."
    ),
    setting!(
        "target.with_a_rack_down",
        with_a_rack_down,
        Kind::Switch,
        OURS,
        "The same with a rack down, where racks are the failure domains."
    ),
    setting!(
        "target.while_rebuilding",
        while_rebuilding,
        Kind::Switch,
        OURS,
        "The same while the rest of its group bring back what a lost node held."
    ),
    setting!(
        "target.rebuild_share",
        rebuild_share,
        share(Share::from_percent(1), Share::from_percent(90)),
        OURS,
        "Part of those disks' time that they spend on that."
    ),
    setting!(
        "change.allow",
        allow,
        Kind::Words(Part::WORDS),
        OURS,
        "What may be changed so that it holds."
    ),
    setting!("prices.node", price_node, PRICE, GUESS, "Price of a node without disks and link."),
    setting!("prices.hdd", price_hdd, PRICE, GUESS, "Price of a hard disk."),
    setting!("prices.ssd", price_ssd, PRICE, GUESS, "Price of a SATA SSD."),
    setting!("prices.nvme", price_nvme, PRICE, GUESS, "Price of an NVMe SSD."),
    setting!(
        "prices.link_per_gbps",
        price_link_per_gbps,
        PRICE,
        GUESS,
        "Price of a link with its part of the switch, per Gb/s."
    ),
    setting!(
        "power.node_idle",
        power.node_idle,
        WATTS,
        GUESS,
        "A node without disks that has nothing to do."
    ),
    setting!(
        "power.node_active",
        power.node_active,
        WATTS,
        GUESS,
        "A node without disks that is busy."
    ),
    setting!("power.hdd_idle", power.hdd_idle, WATTS, GUESS, "A hard disk that has nothing to do."),
    setting!("power.hdd_active", power.hdd_active, WATTS, GUESS, "A hard disk that is busy."),
    setting!("power.ssd_idle", power.ssd_idle, WATTS, GUESS, "A SATA SSD that has nothing to do."),
    setting!("power.ssd_active", power.ssd_active, WATTS, GUESS, "A SATA SSD that is busy."),
    setting!(
        "power.nvme_idle",
        power.nvme_idle,
        WATTS,
        GUESS,
        "An NVMe SSD that has nothing to do."
    ),
    setting!("power.nvme_active", power.nvme_active, WATTS, GUESS, "An NVMe SSD that is busy."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_sound() {
        assert_eq!(PLAN.problems(), Vec::<String>::new());
    }
}
