//! How notifications are, for people and for Prometheus.

use std::sync::atomic::Ordering;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use serde::{Deserialize, Serialize};

use super::{Channel, Notifications};
use crate::objects::now_ms;

/// How the notifications of a node are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotificationStatus {
    /// Announcements and messages of this node that are in durable queues.
    pub waiting: u64,
    /// Changes that nobody was told of since too many waited.
    pub refused: u64,
    /// Each webhook.
    pub webhooks: Vec<WebhookStatus>,
}

/// How a webhook is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookStatus {
    /// Its name.
    pub webhook: String,
    /// Messages that it took.
    pub delivered: u64,
    /// Attempts to send it one that failed.
    pub failed_attempts: u64,
    /// Messages that were given up after a day.
    pub given_up: u64,
    /// How long the oldest message waits for it that is in memory, in seconds.
    pub oldest_seconds: u64,
}

impl Channel {
    fn status(&self) -> WebhookStatus {
        let oldest = self.queue().oldest();
        WebhookStatus {
            webhook: self.webhook.name().to_owned(),
            delivered: self.delivered.load(Ordering::Relaxed),
            failed_attempts: self.failures.load(Ordering::Relaxed),
            given_up: self.given_up.load(Ordering::Relaxed),
            oldest_seconds: oldest.map_or(0, |at| now_ms().saturating_sub(at) / 1000),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    webhook: String,
}

impl Notifications {
    /// How they are.
    pub(crate) fn status(&self) -> NotificationStatus {
        NotificationStatus {
            waiting: self.waiting(),
            refused: self.refused.load(Ordering::Relaxed),
            webhooks: self.channels.values().map(|channel| channel.status()).collect(),
        }
    }
}

impl NotificationStatus {
    /// Adds these numbers to others.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let waiting = Gauge::<i64>::default();
        waiting.set(i64::try_from(self.waiting).unwrap_or(i64::MAX));
        let help = "Notifications of this node that wait in durable queues, those of changes under way included";
        registry.register("notifications_waiting", help, waiting);
        let refused = Counter::<u64>::default();
        refused.inc_by(self.refused);
        let help = "Changes that nobody was told of, since too many notifications waited";
        registry.register("notifications_refused", help, refused);
        let mut counter = |name: &str, help: &str, of: fn(&WebhookStatus) -> u64| {
            let family = Family::<Labels, Counter>::default();
            for status in &self.webhooks {
                family
                    .get_or_create(&Labels { webhook: status.webhook.clone() })
                    .inc_by(of(status));
            }
            registry.register(name, help, family);
        };
        counter("notifications_delivered", "Messages that the webhook took", |of| of.delivered);
        counter("notifications_failed_attempts", "Attempts to send a message that failed", |of| {
            of.failed_attempts
        });
        counter("notifications_given_up", "Messages given up after a day", |of| of.given_up);
        let oldest = Family::<Labels, Gauge>::default();
        for status in &self.webhooks {
            let seconds = i64::try_from(status.oldest_seconds).unwrap_or(i64::MAX);
            oldest.get_or_create(&Labels { webhook: status.webhook.clone() }).set(seconds);
        }
        let help = "How long the oldest message waits for the webhook";
        registry.register_with_unit("notifications_oldest", help, Unit::Seconds, oldest);
    }
}
