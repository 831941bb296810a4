//! Metrics of what a node knows of the whole cluster: voters on names, garbage, jobs.
//!
//! All of it is what the node has in memory: a scrape asks no other node, and so is answered when too few answer.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use slotcast_member::CollectionStatus;

use crate::jobs::Census;
use crate::node::Node;
use crate::status::Quorum;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct GroupLabels {
    group: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    status: &'static str,
}

/// What a node knows of the cluster.
pub(crate) struct ClusterState {
    /// Voters on names, of each negotiating group that keeps some; empty of a cluster in one process.
    quorums: Vec<Quorum>,
    /// None where no names are kept.
    collection: Option<CollectionStatus>,
    /// None while the jobs are not known.
    jobs: Option<Census>,
}

impl ClusterState {
    /// As `node` knows it, with these jobs; none if it has stopped.
    pub(crate) async fn of(node: &Node, jobs: Option<Census>) -> Option<ClusterState> {
        let quorums = node.quorums().await.ok()?;
        let collection = node.collection().await.ok()?;
        Some(ClusterState { quorums, collection, jobs })
    }
}

fn gauge(value: u64) -> Gauge {
    let gauge = Gauge::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    gauge
}

fn counter(value: u64) -> Counter {
    let counter = Counter::default();
    counter.inc_by(value);
    counter
}

fn register_quorums(registry: &mut Registry, quorums: &[Quorum]) {
    let mut family = |name: &str, help: &str, of: fn(&Quorum) -> usize| {
        let family = Family::<GroupLabels, Gauge>::default();
        for quorum in quorums {
            let value = i64::try_from(of(quorum)).unwrap_or(i64::MAX);
            family.get_or_create(&GroupLabels { group: quorum.group }).set(value);
        }
        registry.register(name, help, family);
    };
    family("names_voters", "Voters on the names of the group", |of| of.voters);
    family("names_voters_heard", "Those of them that are heard", |of| of.heard);
    let help = "Whether enough voters are heard to read and change names of the group";
    family("names_quorum", help, |of| usize::from(of.is_quorum));
}

fn register_collection(registry: &mut Registry, collection: &CollectionStatus) {
    let mut count =
        |name: &str, help: &str, value: u64| registry.register(name, help, gauge(value));
    let CollectionStatus { round, stage, awaited, uploads, last, .. } = collection;
    count("garbage_round", "The latest round of the collection that has begun", *round);
    let is_conducted = u64::from(stage.is_some());
    count("garbage_conducting", "Whether this node conducts a round", is_conducted);
    let help = "Nodes that have not answered the round that this node conducts";
    count("garbage_awaited_nodes", help, awaited.len() as u64);
    count("garbage_uploads", "Uploads of many chunks under way at this node", *uploads);
    // A gauge that is absent is not 0: this node may have conducted no round.
    if let Some(last) = last {
        let help = "The last round that has ended of those that this node conducted";
        count("garbage_last_round", help, last.round);
        let help = "Whether that was given up";
        count("garbage_last_given_up", help, u64::from(last.swept.is_none()));
        let help = "Whether that was because a list of chunks is lost";
        count("garbage_list_lost", help, u64::from(last.lost.is_some()));
    }
    let help = "Replicas that the collection removed from targets of this node";
    registry.register("garbage_removed_replicas", help, counter(collection.removed_chunks));
    let help = "Content of those replicas";
    let removed = counter(collection.removed_bytes);
    registry.register_with_unit("garbage_removed", help, Unit::Bytes, removed);
}

/// Adds these numbers to others.
pub(crate) fn register(registry: &mut Registry, state: &ClusterState) {
    if !state.quorums.is_empty() {
        register_quorums(registry, &state.quorums);
    }
    if let Some(collection) = &state.collection {
        register_collection(registry, collection);
    }
    if let Some(jobs) = &state.jobs {
        let family = Family::<StatusLabels, Gauge>::default();
        for (status, count) in jobs {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            family.get_or_create(&StatusLabels { status }).set(count);
        }
        registry.register("jobs", "Jobs of the cluster, by status", family);
    }
}
