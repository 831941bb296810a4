//! Metrics for Prometheus, in the OpenMetrics text form.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use crate::status::{NodeStatus, Target};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    target: u32,
}

/// Of every target of a node.
pub(crate) fn text(status: &NodeStatus) -> String {
    let mut registry = Registry::with_prefix("slotcast");
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
        u64::from(t.state != "failed" && t.state != "opening")
    });
    gauge("target_writable", "Whether the target takes puts", None, |t| {
        u64::from(t.state == "open")
    });
    gauge("target_chunks", "Chunks on the target", None, |t| t.chunks);
    gauge("target_content", "Content of those chunks", Some(Unit::Bytes), |t| t.content_bytes);
    gauge("target_void", "Records that await compaction", Some(Unit::Bytes), |t| t.void_bytes);
    gauge("target_segments", "Segments of the target", None, |t| u64::from(t.segments));
    let mut counter = |name: &str, help: &str, of: fn(&Target) -> u64| {
        let family = Family::<Labels, Counter>::default();
        for target in &status.targets {
            family.get_or_create(&Labels { target: target.target }).inc_by(of(target));
        }
        registry.register(name, help, family);
    };
    counter("target_lost_chunks", "Chunks found unreadable", |t| t.lost_chunks);
    counter("target_flushes", "Batches put on stable storage", |t| t.flushed_batches);
    counter("target_compacted_segments", "Segments that compaction freed", |t| {
        t.compacted_segments
    });
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}
