//! A cluster as an architect states it, and the scenario that it stands for.

use slotcast_sim::{
    Cluster, Disk, Load, Mix, Network, Protocol, ProtocolKind, Replicast, Run, Scenario, Workload,
};
use slotcast_units::{Rate, Share, Size, Span};

use super::catalogue::DiskKind;
use super::condition::Condition;

/// What is planned: a cluster, what it stores, and what it must do.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPlan {
    /// Short name; the file's name if it says none.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// What is bought.
    pub hardware: Hardware,
    /// Machines that fail together: one, or those of a rack.
    pub nodes_per_domain: u32,
    /// What is stored.
    pub data: Data,
    /// Who asks.
    pub clients: Clients,
    /// What the cluster must do.
    pub target: Target,
    /// What may be changed, and what it costs.
    pub change: ChangeRules,
    /// What it draws.
    pub power: Power,
    /// What the file does not state and is a rough guess, in words.
    pub guesses: Vec<&'static str>,
}

/// What is bought. All nodes are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hardware {
    /// Storage nodes, each with one link.
    pub nodes: u32,
    /// Disks in each node.
    pub disks: u32,
    /// Which disks.
    pub disk: DiskModel,
    /// Line rate of each node's link, each way.
    pub link: Rate,
    /// Copies of each chunk.
    pub replicas: u32,
}

/// A kind of disk, with its figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskModel {
    /// What it is.
    pub kind: DiskKind,
    /// Sustained rate, of reads and writes alike.
    pub rate: Rate,
    /// Mean time of seek and rotation, which every request pays.
    pub access_time: Span,
    /// What it holds.
    pub capacity: Size,
}

/// What is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data {
    /// Sizes of objects with their shares of the requests.
    pub sizes: Mix,
    /// Part of the requests that are reads.
    pub reads: Share,
    /// Objects are cut into chunks of this size.
    pub chunk: Size,
    /// Which protocol moves them.
    pub protocol: ProtocolKind,
    /// Objects that are stored now, before replicas; none if it is not said.
    pub stored: Option<Size>,
    /// What is added in a month.
    pub growth: Size,
    /// How full disks may be.
    pub fill: Share,
}

/// Who asks. Their links are as fast as those of the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clients {
    /// How many.
    pub count: u32,
    /// Chunks that each has under way at a time; none takes enough for every disk.
    pub window: Option<u32>,
}

/// What the cluster must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Requests per second, of all clients together.
    pub objects_per_s: u64,
    /// What writes must keep to; none if there are no writes.
    pub puts: Option<Limits>,
    /// What reads must keep to; none if there are no reads.
    pub gets: Option<Limits>,
    /// Months of growth that it must have room for.
    pub months: Option<u32>,
    /// What may be wrong while it must do so.
    pub conditions: Conditions,
    /// Part of the disks' time that is spent on bringing back what a lost node held.
    pub rebuild_share: Share,
}

/// Latencies that requests of one kind must keep to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// That of 99 of 100 requests.
    pub p99: Span,
    /// That of 999 of 1000, if one is asked for.
    pub p999: Option<Span>,
}

impl Target {
    /// The limits of writes and of reads, where there are any.
    pub fn limits(&self) -> impl Iterator<Item = Limits> {
        [self.puts, self.gets].into_iter().flatten()
    }

    /// The longest p99 that is asked for: how long a run must be follows from it.
    pub(super) fn longest_p99(&self) -> Span {
        self.limits().map(|limits| limits.p99).max().unwrap_or_default()
    }
}

/// What may be wrong while a cluster must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions {
    /// A node down.
    pub node_down: bool,
    /// Two nodes down.
    pub two_nodes_down: bool,
    /// A rack down.
    pub rack_down: bool,
    /// A lost node is rebuilt.
    pub rebuilding: bool,
}

impl Conditions {
    /// Whether a cluster must hold in `condition`.
    pub fn has(&self, condition: Condition) -> bool {
        match condition {
            Condition::AllUp => true,
            Condition::NodeDown => self.node_down,
            Condition::TwoNodesDown => self.two_nodes_down,
            Condition::RackDown => self.rack_down,
            Condition::Rebuilding => self.rebuilding,
        }
    }
}

/// What may be changed, and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeRules {
    /// Which parts may be changed.
    pub allow: Vec<Part>,
    /// What they cost.
    pub prices: Prices,
    /// Disks that a node has bays for, if it is said.
    pub bays: Option<u32>,
    /// Nodes that the racks have room for, if it is said.
    pub max_nodes: Option<u32>,
}

/// A part of the hardware that can be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// More nodes.
    Nodes,
    /// More disks in each node.
    Disks,
    /// A faster kind of disk.
    Kind,
    /// Faster links.
    Link,
    /// One copy less. It costs nothing, and safety.
    Replicas,
}

/// What hardware costs, in any currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prices {
    /// A node without disks and links.
    pub node: u64,
    /// A disk of each kind, in the order of [`DiskKind`].
    pub disk: [u64; 3],
    /// A link, with its part of the switch, per Gb/s.
    pub link_per_gbps: u64,
}

/// Watts, idle and active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Power {
    /// A node without disks.
    pub node: [u64; 2],
    /// A disk of each kind, in the order of [`DiskKind`].
    pub disk: [[u64; 2]; 3],
}

/// How long clients wait for the answer of a node that may be down, in control round trips: in this
/// network every answer is there after one.
const ANSWER_ROUND_TRIPS: u64 = 2;

/// Chunks under way per disk, if nothing is said of the clients' windows.
const CHUNKS_PER_DISK: u64 = 4;

/// The smallest window that is taken if nothing is said.
const SMALLEST_WINDOW: u64 = 16;

/// Members of a negotiating group, where there are enough nodes (seed 002, II.A).
pub(super) const GROUP: u32 = 9;

/// Objects, and chunks of them, that are stored before a run, for reads to find.
const PRELOADED: (f64, f64) = (2000.0, 40_000.0);

impl ClusterPlan {
    /// The scenario of `hardware` under a load of `objects_per_s`, with what is wrong.
    pub fn scenario(
        &self,
        hardware: &Hardware,
        objects_per_s: u64,
        condition: Condition,
        run: Run,
    ) -> Scenario {
        let Hardware { nodes, disks, disk, link, replicas } = *hardware;
        let Clients { count, window } = self.clients;
        let wanted = CHUNKS_PER_DISK * u64::from(nodes) * u64::from(disks);
        let enough = wanted.div_ceil(u64::from(count)).clamp(SMALLEST_WINDOW, 65_536);
        let window = window.unwrap_or_else(|| u32::try_from(enough).expect("clamped"));
        let (objects, chunks) = PRELOADED;
        let preloaded = objects.min(chunks / self.chunks_per_object()).max(10.0);
        let network = Network { link_rate: link, ..Network::default() };
        let replicast = Replicast::default();
        let control = network.usable_rate().share(replicast.control_share);
        let round_trip = (control.time_for(replicast.control_size) + network.trip) * 2;
        Scenario {
            cluster: Cluster {
                initiators: count,
                targets: nodes,
                replicas,
                targets_per_domain: self.nodes_per_domain,
                group_size: GROUP.min(nodes),
            },
            network,
            replicast: Replicast { answer_timeout: round_trip * ANSWER_ROUND_TRIPS, ..replicast },
            disk: Disk {
                rate: disk.rate,
                access_time: disk.access_time,
                per_target: disks,
                ..Disk::default()
            },
            protocol: Protocol { kind: self.data.protocol },
            workload: Workload {
                load: Load::Open,
                window,
                arrivals_per_s: objects_per_s.max(1),
                chunk_size: self.data.chunk,
                mix: self.data.sizes,
                get_share: self.data.reads,
                preloaded_chunks: preloaded as u32,
                ..Workload::default()
            },
            faults: condition.faults(self, hardware),
            run,
            ..Scenario::default()
        }
    }

    /// Mean size of the objects that are asked for, in bytes.
    pub fn mean_size(&self) -> f64 {
        self.data.sizes.mean(|size| size.as_bytes() as f64)
    }

    /// Bytes of objects that are written and read per second, of `objects_per_s` requests.
    pub fn bytes_per_s(&self, objects_per_s: f64) -> [f64; 2] {
        let reads = self.data.reads.as_f64();
        [1.0 - reads, reads].map(|part| objects_per_s * part * self.mean_size())
    }

    /// Mean number of chunks of an object.
    pub(super) fn chunks_per_object(&self) -> f64 {
        let chunk = self.data.chunk.as_bytes();
        self.data.sizes.mean(|size| size.as_bytes().div_ceil(chunk) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::small;
    use proptest::prelude::*;

    #[test]
    fn a_node_is_a_target_with_its_disks() {
        let plan = small();
        let scenario = plan.scenario(&plan.hardware, 100, Condition::NodeDown, Run::default());
        assert_eq!((scenario.cluster.targets, scenario.disk.per_target), (6, 12));
        assert_eq!(scenario.cluster.group_size, 6, "all nodes, as there are fewer than nine");
        assert_eq!(scenario.faults.targets_down, 1);
        // 4 chunks for each of 72 disks, from 6 clients.
        assert_eq!(scenario.workload.window, 48);
    }

    proptest! {
        /// Whatever hardware is stated, the scenario that it stands for can be run.
        #[test]
        fn every_cluster_can_be_simulated(
            nodes in 3u32..200,
            disks in 1u32..60,
            gbps in 1u64..400,
            replicas in 1u32..=3,
            clients in 1u32..500,
            reads in 0u32..=100,
            condition in 0usize..4,
        ) {
            let mut plan = small();
            plan.hardware = Hardware {
                nodes,
                disks,
                link: Rate::from_bps(gbps * 1_000_000_000),
                replicas,
                ..plan.hardware
            };
            plan.clients.count = clients;
            plan.data.reads = Share::from_percent(reads);
            let condition = Condition::FAULTS[condition];
            let scenario = plan.scenario(&plan.hardware, 1000, condition, Run::default());
            prop_assert_eq!(slotcast_sim::check(&scenario), Ok(()));
            let all_disks = u64::from(scenario.cluster.targets) * u64::from(scenario.disk.per_target);
            prop_assert_eq!(all_disks, u64::from(nodes) * u64::from(disks));
            let under_way = u64::from(clients) * u64::from(scenario.workload.window);
            prop_assert!(under_way >= all_disks * CHUNKS_PER_DISK);
        }
    }
}
