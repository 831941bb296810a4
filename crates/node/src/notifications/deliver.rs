//! Sends the messages of one webhook: several at a time, those of one object one after another, and after a failure one at a
//! time with growing pauses, until it answers again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use slotcast_object::client;

use super::message::message;
use super::queue::{Message, Next, pause};
use super::{Channel, MAX_AGE, Notifications};
use crate::objects::now_ms;

/// Messages that are sent to one webhook at a time.
const AT_A_TIME: usize = 8;

/// Without anything to send, how long is waited for something.
const IDLE: Duration = Duration::from_secs(60);

/// What became of a message.
#[derive(Debug)]
enum Sent {
    /// The webhook has it, and the announcement is gone; or it may be there still, and the message comes once more.
    Yes {
        is_gone: bool,
    },
    No(String),
}

async fn send(
    channel: Arc<Channel>,
    notifications: Arc<Notifications>,
    mut sent: Message,
) -> (Message, Sent) {
    let text = {
        let Message { written, happened, rule, .. } = &sent;
        message(&written.bucket.name, &written.announcement, (happened, rule))
    };
    let there = channel.clone();
    let answer = tokio::task::spawn_blocking(move || there.webhook.send(&text)).await;
    let answer = answer.unwrap_or_else(|_| Err("it was not sent".into()));
    let Some(node) = notifications.node.upgrade() else { return (sent, Sent::No(String::new())) };
    let place = (&sent.written.bucket, &sent.written.place.name);
    match answer {
        Ok(()) => {
            let is_gone = client::withdraw(&*node, place).await.is_ok();
            (sent, Sent::Yes { is_gone })
        }
        Err(reason) => {
            // The record of the name may have forgotten it when somebody else has to tell it.
            if sent.written.announcement.became.is_none() {
                let mut announcement = sent.written.announcement.clone();
                announcement.became = Some(sent.happened.clone());
                if client::announce(&*node, place, &announcement).await.is_ok() {
                    sent.written.announcement = announcement;
                }
            }
            (sent, Sent::No(reason))
        }
    }
}

/// How a webhook is.
#[derive(Debug, Default)]
struct Health {
    /// Failures since it answered last.
    failures: u32,
    rests_until: Option<Instant>,
}

impl Channel {
    /// What was sent is done with, or waits again.
    fn ended(
        &self,
        notifications: &Notifications,
        health: &mut Health,
        (message, sent): (Message, Sent),
    ) {
        let name = self.webhook.name();
        match sent {
            Sent::Yes { is_gone } => {
                if health.failures > 0 {
                    tracing::info!(webhook = name, "it takes notifications again");
                }
                *health = Health::default();
                self.delivered.fetch_add(1, Ordering::Relaxed);
                self.queue().done(&message.written.place);
                match is_gone {
                    true => notifications.gone(&message.written.place),
                    false => notifications.leave(&message.written.place),
                }
                let mut queue = self.queue();
                if queue.is_over && queue.is_half_empty() {
                    queue.is_over = false;
                    notifications.walk.notify_one();
                }
            }
            Sent::No(reason) => {
                let now = Instant::now();
                health.failures = health.failures.saturating_add(1);
                health.rests_until = Some(now + pause(health.failures));
                self.failures.fetch_add(1, Ordering::Relaxed);
                if health.failures == 1 {
                    tracing::warn!(
                        webhook = name,
                        reason,
                        "it does not take notifications: they are repeated"
                    );
                }
                if message.written.announcement.at + MAX_AGE < now_ms() {
                    let object = &message.written.announcement.name;
                    tracing::error!(webhook = name, %object, reason, "a notification is given up after a day");
                    self.given_up.fetch_add(1, Ordering::Relaxed);
                    self.queue().done(&message.written.place);
                    notifications.withdraw(message.written);
                } else {
                    self.queue().failed(message.written, now);
                }
            }
        }
    }
}

/// Sends what waits for a webhook, for ever.
pub(super) async fn follow(channel: Arc<Channel>, notifications: Arc<Notifications>) {
    let mut health = Health::default();
    let mut under_way = FuturesUnordered::new();
    loop {
        let now = Instant::now();
        let mut wakes = now + IDLE;
        let at_a_time = if health.failures == 0 { AT_A_TIME } else { 1 };
        match health.rests_until.filter(|until| *until > now) {
            Some(until) => wakes = until,
            None => {
                while under_way.len() < at_a_time {
                    match channel.queue().next(now) {
                        Next::Message(message) => {
                            under_way.push(send(channel.clone(), notifications.clone(), *message));
                        }
                        Next::At(at) => {
                            wakes = at;
                            break;
                        }
                        Next::Nothing => break,
                    }
                }
            }
        }
        tokio::select! {
            Some(ended) = under_way.next(), if !under_way.is_empty() => {
                channel.ended(&notifications, &mut health, ended);
            }
            () = channel.more.notified() => {}
            () = tokio::time::sleep_until(wakes.into()) => {}
        }
    }
}
