//! Metrics for Prometheus, in the OpenMetrics text form.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::cluster_metrics::{self, ClusterState};
use crate::http_metrics::HttpMetrics;
use crate::status::{Cache, NetworkStatus, NodeStatus, TARGET_STATES, Target};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    target: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    target: u32,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PeerLabels {
    peer: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KeyLabels {
    key: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PeerReasonLabels {
    peer: u32,
    reason: &'static str,
}

fn register_network(registry: &mut Registry, network: &NetworkStatus) {
    let epoch = Gauge::<i64>::default();
    epoch.set(i64::from(network.epoch));
    registry.register("map_epoch", "Version of the cluster map that the node follows", epoch);
    let is_current = Gauge::<i64>::default();
    is_current.set(i64::from(network.map.problem.is_none()));
    let help = "Whether the newest cluster map is known and followed";
    registry.register("map_current", help, is_current);
    let family = Family::<PeerLabels, Gauge>::default();
    for peer in &network.peers {
        let is_up = i64::from(peer.state == "up");
        family.get_or_create(&PeerLabels { peer: peer.node }).set(is_up);
    }
    registry.register("peer_up", "Whether the other node is heard", family);
    let family = Family::<PeerReasonLabels, Gauge>::default();
    for peer in &network.peers {
        for reason in ["layout", "version"] {
            let is_refused = peer.refused.as_deref() == Some(reason);
            let labels = PeerReasonLabels { peer: peer.node, reason };
            family.get_or_create(&labels).set(i64::from(is_refused));
        }
    }
    registry.register("peer_refused", "Whether the other node is heard, and not believed", family);
    let family = Family::<ReasonLabels, Counter>::default();
    for (reason, value) in &network.refused {
        family.get_or_create(&ReasonLabels { reason: reason.clone() }).inc_by(*value);
    }
    registry.register("network_datagrams_refused", "Datagrams that were dropped", family);
    let family = Family::<KeyLabels, Counter>::default();
    for key in &network.keys {
        family.get_or_create(&KeyLabels { key: key.number }).inc_by(key.heard);
    }
    let help = "Datagrams that were believed, by the number of their key";
    registry.register("network_datagrams_by_key", help, family);
    for (name, value) in &network.counters {
        let counter = Counter::<u64>::default();
        counter.inc_by(*value);
        let help = format!("Since the start: {}", name.replace('_', " "));
        registry.register(format!("network_{name}"), help, counter);
    }
}

fn register_counters(registry: &mut Registry, status: &NodeStatus) {
    let mut counter = |name: &str, help: &str, of: fn(&Target) -> u64| {
        let family = Family::<Labels, Counter>::default();
        for target in &status.targets {
            family.get_or_create(&Labels { target: target.target }).inc_by(of(target));
        }
        registry.register(name, help, family);
    };
    counter("target_received_bytes", "Content that came in", |t| t.received_bytes);
    counter("target_sent_bytes", "Content that went out", |t| t.sent_bytes);
    counter("target_disk_busy_nanoseconds", "Time in which the disk had something to do", |t| {
        t.disk_busy_ns
    });
    counter("target_lost_chunks", "Chunks found unreadable", |t| t.lost_chunks);
    counter("target_flushes", "Batches put on stable storage", |t| t.flushed_batches);
    counter("target_compacted_segments", "Segments that compaction freed", |t| {
        t.compacted_segments
    });
    counter("target_repair_healed_chunks", "Chunks brought back to all their replicas", |t| {
        t.repair.healed_chunks
    });
    counter("target_repair_failed_attempts", "Attempts to heal that failed", |t| {
        t.repair.failed_attempts
    });
    counter("target_repair_visited_chunks", "Chunks that scans have visited", |t| {
        t.repair.visited_chunks
    });
    counter("target_scrubbed_chunks", "Chunks that scrubs have read", |t| t.repair.scrubbed_chunks);
    counter("target_scrubs", "Scrubs that have ended", |t| t.repair.scrubs);
}

/// State set: 1 for the state that a target is in, 0 for all others.
fn register_states(registry: &mut Registry, status: &NodeStatus) {
    let family = Family::<StateLabels, Gauge>::default();
    for target in &status.targets {
        for state in TARGET_STATES {
            let labels = StateLabels { target: target.target, state };
            family.get_or_create(&labels).set(i64::from(target.state == state));
        }
    }
    registry.register("target_state", "1 for the state that the target is in", family);
}

fn register_gauges(registry: &mut Registry, status: &NodeStatus) {
    let mut gauge = |name: &str, help: &str, unit: Option<Unit>, of: fn(&Target) -> u64| {
        let family = Family::<Labels, Gauge>::default();
        for target in &status.targets {
            let value = i64::try_from(of(target)).unwrap_or(i64::MAX);
            family.get_or_create(&Labels { target: target.target }).set(value);
        }
        match unit {
            Some(unit) => registry.register_with_unit(name, help, unit, family),
            None => registry.register(name, help, family),
        }
    };
    gauge("target_up", "Whether the target serves reads", None, |t| {
        u64::from(!matches!(t.state.as_str(), "failed" | "gone" | "opening"))
    });
    gauge("target_writable", "Whether the target takes puts", None, |t| {
        u64::from(t.state == "open")
    });
    gauge("target_chunks", "Chunks on the target", None, |t| t.chunks);
    gauge("target_content", "Content of those chunks", Some(Unit::Bytes), |t| t.content_bytes);
    gauge("target_void", "Records that await compaction", Some(Unit::Bytes), |t| t.void_bytes);
    gauge("target_free", "Free on the file system of the target", Some(Unit::Bytes), |t| {
        t.free_bytes.unwrap_or(0)
    });
    let help = "Size of the file system of the target, 0 if unknown";
    gauge("target_capacity", help, Some(Unit::Bytes), |t| t.capacity_bytes.unwrap_or(0));
    gauge("target_windows", "Windows promised or bid", None, |t| u64::from(t.windows));
    gauge("target_chunks_at_disk", "Chunks that wait for the disk or are there", None, |t| {
        u64::from(t.chunks_at_disk)
    });
    gauge(
        "target_disk_rate_bytes_per_second",
        "Measured rate of the disk, 0 if unknown",
        None,
        |t| t.disk_rate_bytes_per_s.unwrap_or(0),
    );
    gauge(
        "target_link_rate_bytes_per_second",
        "Measured rate of the link, 0 if unknown",
        None,
        |t| t.link_rate_bytes_per_s.unwrap_or(0),
    );
    gauge("target_segments", "Segments of the target", None, |t| u64::from(t.segments));
    gauge("target_under_replicated_chunks", "Chunks known to have too few replicas", None, |t| {
        t.repair.under_replicated_chunks
    });
    gauge("target_repair_walking", "Whether a scan of all chunks is under way", None, |t| {
        u64::from(t.repair.scan.is_some())
    });
    gauge("target_scrubbing", "Whether a scrub of all chunks is under way", None, |t| {
        u64::from(t.repair.scrub.is_some())
    });
}

fn register_cache(registry: &mut Registry, cache: &Cache) {
    let bytes = Gauge::<i64>::default();
    bytes.set(i64::try_from(cache.bytes).unwrap_or(i64::MAX));
    let help = "Content in memory that the targets have written or read of late";
    registry.register_with_unit("cache", help, Unit::Bytes, bytes);
    let mut counter = |name: &str, help: &str, value: u64| {
        let counter = Counter::<u64>::default();
        counter.inc_by(value);
        registry.register(name, help, counter);
    };
    counter("cache_hits", "Gets of chunks that were answered from memory", cache.hits);
    counter("cache_misses", "Gets of chunks for which a disk was read", cache.misses);
}

/// Of every target of a node, of its network, of the cluster as it knows it, and of HTTP.
pub(crate) fn text(
    status: &NodeStatus,
    cluster: &ClusterState,
    (http, body_memory_used): (&HttpMetrics, u64),
) -> String {
    let mut registry = Registry::with_prefix("slotcast");
    let build = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
    registry.register("build", "The program", build);
    http.register(&mut registry, body_memory_used);
    register_gauges(&mut registry, status);
    register_states(&mut registry, status);
    // A gauge that is absent is not 0.
    if let Some(chunks) = status.under_replicated_chunks {
        let gauge = Gauge::<i64>::default();
        gauge.set(i64::try_from(chunks).unwrap_or(i64::MAX));
        let help =
            "Chunks of the cluster known to have too few replicas; absent if that is not known";
        registry.register("under_replicated_chunks", help, gauge);
    }
    register_counters(&mut registry, status);
    register_cache(&mut registry, &status.cache);
    cluster_metrics::register(&mut registry, cluster);
    if let Some(notifications) = &status.notifications {
        notifications.register(&mut registry);
    }
    if let Some(network) = &status.network {
        register_network(&mut registry, network);
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}
