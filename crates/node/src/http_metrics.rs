//! Numbers of HTTP for Prometheus.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::operations::{Operation, Operations, RequestCounts};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MethodLabels {
    method: &'static str,
}

/// Requests that have been answered, and connections that are open.
#[derive(Debug, Clone)]
pub(crate) struct HttpMetrics {
    requests: Family<RequestLabels, Counter>,
    durations: Family<MethodLabels, Histogram>,
    connections: Gauge,
    started: Gauge<f64, AtomicU64>,
    operations: Arc<Operations>,
}

/// From half a millisecond to a minute.
fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.0005, 2.0, 18))
}

impl HttpMetrics {
    pub(crate) fn new() -> HttpMetrics {
        let started = Gauge::<f64, AtomicU64>::default();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        started.set(since.as_secs_f64());
        HttpMetrics {
            requests: Family::default(),
            durations: Family::new_with_constructor(histogram),
            connections: Gauge::default(),
            started,
            operations: Arc::default(),
        }
    }

    /// The methods that a node serves, and one label for all others: clients cannot make further ones.
    pub(crate) fn label(method: &Method) -> &'static str {
        match *method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::PUT => "PUT",
            _ => "other",
        }
    }

    /// Puts and gets of content that have ended.
    pub(crate) fn operations(&self) -> RequestCounts {
        self.operations.totals()
    }

    /// A request has ended, with the last byte of its answer.
    pub(crate) fn ended(
        &self,
        (method, operation): (&'static str, Option<Operation>),
        status: u16,
        took: Duration,
    ) {
        if let Some(operation) = operation {
            self.operations.ended(operation, status, took);
        }
        self.requests.get_or_create(&RequestLabels { method, status }).inc();
        self.durations.get_or_create(&MethodLabels { method }).observe(took.as_secs_f64());
    }

    /// A connection was opened.
    pub(crate) fn opened(&self) {
        self.connections.inc();
    }

    /// A connection was closed.
    pub(crate) fn closed(&self) {
        self.connections.dec();
    }

    /// Adds these numbers to others.
    pub(crate) fn register(&self, registry: &mut Registry, body_memory_used: u64) {
        let help = "When the node began to serve, since 1970";
        registry.register_with_unit("start_time", help, Unit::Seconds, self.started.clone());
        let help = "Requests answered, by status; 0 where the client has gone before";
        registry.register("http_requests", help, self.requests.clone());
        let help = "From the request header to the last byte of the answer";
        let durations = self.durations.clone();
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, durations);
        registry.register("http_connections", "Open connections", self.connections.clone());
        let used = Gauge::<i64>::default();
        used.set(i64::try_from(body_memory_used).unwrap_or(i64::MAX));
        let help = "Memory that is taken for the bodies of requests and answers";
        registry.register_with_unit("http_body_memory", help, Unit::Bytes, used);
    }
}
