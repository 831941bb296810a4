//! Notifications: webhooks are told what happens to objects, at least once.
//!
//! ```text
//!   request --> Announcing::before --> announcement (a register) --> the change --> Announcing::ended --> Queue --> webhook
//!                                            |                                                            ^
//!                                            +------- walk: what a node that died has left ---------------+
//! ```
//!
//! * What may happen is announced, durably, before it is asked for ([`slotcast_object::client::announce`]); the
//!   announcement goes when the webhook has answered, or when it is certain that nothing has happened.
//! * Whether it has is said by the record of the name alone ([`Announcement::became`]).
//! * The writer answers for an announcement. When its process is another one, none of its changes is under way any more, and a
//!   fenced read says for certain what became of them. For a node that is not heard the first one that is heard tells what took
//!   effect, and keeps all else: it may take effect still.
//! * Memory is bounded: what does not fit waits in the durable queue, and is found when that is walked.
//!
//! [`Announcement::became`]: slotcast_object::notification::Announcement::became

mod announcing;
mod cause;
mod deliver;
mod message;
mod queue;
mod status;
mod walk;
mod webhook;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use slotcast_object::client;
use slotcast_object::notification::{Happened, Writer};
use slotcast_object::{BucketId, Name};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(crate) use self::announcing::{Announcing, Ended};
pub use self::cause::Cause;
pub use self::status::{NotificationStatus, WebhookStatus};
pub use self::webhook::{Webhook, WebhookConfig, WebhookError};

use self::announcing::Written;
use self::queue::{Message, Queue};
use crate::node::Node;
use crate::objects::new_key;

/// Announcements of one node that may wait. What comes beside them is not told to anybody.
const MAX_WAITING: u64 = 100_000;

/// How old a message gets that cannot be delivered, in milliseconds: a day.
const MAX_AGE: u64 = 24 * 3600 * 1000;

/// For how long a change may go on of which nobody waits for the end. (No request about a name goes on for half as long.)
const ABANDONED: Duration = Duration::from_secs(60);

/// Where an announcement is: in the order of their names, which is that of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    name: Name,
    bucket: BucketId,
}

/// What is done with an announcement here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Its change is under way, or it waits in memory.
    Here,
    /// Nobody waits for the end of its change, since then.
    Abandoned(Instant),
}

/// A webhook, and what waits for it.
#[derive(Debug)]
struct Channel {
    webhook: Webhook,
    queue: Mutex<Queue>,
    more: Notify,
    delivered: AtomicU64,
    failures: AtomicU64,
    given_up: AtomicU64,
}

/// The notifications of a node.
#[derive(Debug)]
pub(crate) struct Notifications {
    node: Weak<Node>,
    writer: Writer,
    channels: BTreeMap<String, Arc<Channel>>,
    known: Mutex<BTreeMap<Place, Known>>,
    /// Announcements of this node that are in no memory, as far as it knows.
    left: AtomicU64,
    /// Changes that nobody is told of, since too many wait.
    refused: AtomicU64,
    /// The durable queues are to be walked now.
    walk: Notify,
}

impl Channel {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells webhooks; it ends with the node.
#[derive(Debug, Default)]
pub(crate) struct Telling(Vec<JoinHandle<()>>);

impl Telling {
    /// Ends it. What was not told is, by somebody else or after the next start.
    pub(crate) async fn stop(self) {
        for task in self.0 {
            task.abort();
            let _ = task.await;
        }
    }
}

impl Notifications {
    /// Those of a node that begins to serve, told to these webhooks.
    pub(crate) async fn start(node: &Arc<Node>, webhooks: Vec<Webhook>) -> Telling {
        let number = match node.network().await {
            Ok(Some(network)) => network.node,
            _ => 0,
        };
        #[expect(clippy::cast_possible_truncation, reason = "half of it")]
        let start = new_key().map_or(0, |key| key.0 as u64);
        let channel = |webhook: Webhook| {
            let channel = Channel {
                queue: Mutex::default(),
                more: Notify::new(),
                delivered: AtomicU64::new(0),
                failures: AtomicU64::new(0),
                given_up: AtomicU64::new(0),
                webhook,
            };
            (channel.webhook.name().to_owned(), Arc::new(channel))
        };
        let notifications = Arc::new(Notifications {
            node: Arc::downgrade(node),
            writer: Writer { node: number, start },
            channels: webhooks.into_iter().map(channel).collect(),
            known: Mutex::default(),
            left: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            walk: Notify::new(),
        });
        node.notifies(notifications.clone());
        let mut tasks = vec![tokio::spawn(walk::follow(notifications.clone()))];
        for channel in notifications.channels.values() {
            tasks.push(tokio::spawn(deliver::follow(channel.clone(), notifications.clone())));
        }
        Telling(tasks)
    }

    fn writer(&self) -> Writer {
        self.writer
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Place, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many announcements wait, those of changes under way included.
    fn waiting(&self) -> u64 {
        self.known().len() as u64 + self.left.load(Ordering::Relaxed)
    }

    /// An announcement is about to be written; false if too many wait.
    fn begin(&self, place: &Place) -> bool {
        if self.waiting() >= MAX_WAITING {
            return false;
        }
        self.known().insert(place.clone(), Known::Here);
        true
    }

    /// Nobody is told of a change.
    fn refuse(&self) {
        if self.refused.fetch_add(1, Ordering::Relaxed).is_multiple_of(MAX_WAITING) {
            tracing::error!(
                MAX_WAITING,
                "too many notifications wait: nobody is told of what happens now"
            );
        }
    }

    /// An announcement is not in memory any more: it is found when the durable queues are walked.
    fn leave(&self, place: &Place) {
        if self.known().remove(place).is_some() {
            self.left.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Nobody waits for the end of its change.
    fn abandon(&self, place: &Place) {
        self.known().insert(place.clone(), Known::Abandoned(Instant::now()));
    }

    /// An announcement is gone.
    fn gone(&self, place: &Place) {
        self.known().remove(place);
    }

    /// Takes back what is not to be told.
    fn withdraw(&self, written: Written) {
        let Some(node) = self.node.upgrade() else { return };
        tokio::spawn(async move {
            let withdrawn = client::withdraw(&*node, (&written.bucket, &written.place.name)).await;
            if let Some(notifications) = node.notifications() {
                match withdrawn {
                    Ok(()) => notifications.gone(&written.place),
                    Err(_) => notifications.leave(&written.place),
                }
            }
        });
    }

    /// Writes down what happened, and leaves it to the walk.
    fn write_down(&self, mut written: Written, happened: Happened) {
        let Some(node) = self.node.upgrade() else { return };
        written.announcement.became = Some(happened);
        tokio::spawn(async move {
            let Written { place, bucket, announcement } = &written;
            // Whoever walks asks the record if this fails.
            let _ = client::announce(&*node, (bucket, &place.name), announcement).await;
            if let Some(notifications) = node.notifications() {
                notifications.leave(place);
            }
        });
    }

    /// The webhook that is to be told of this, and the rule that says so; none if nobody is, or not from here.
    fn channel(&self, written: &Written, happened: &Happened) -> Option<(&Arc<Channel>, String)> {
        let recipient = written.announcement.recipients.get(&happened.kind)?;
        Some((self.channels.get(&recipient.webhook)?, recipient.rule.clone()))
    }

    /// Something happened: it is told as soon as that is possible.
    fn offer(&self, written: Written, happened: Happened) {
        if !written.announcement.recipients.contains_key(&happened.kind) {
            return self.withdraw(written);
        }
        let is_taken = self.channel(&written, &happened).is_some_and(|(channel, rule)| {
            let mut queue = channel.queue();
            // What waits longer in the durable queue comes first.
            !queue.is_over && queue.push(Message::new(written.clone(), happened.clone(), rule))
        });
        match self.channel(&written, &happened) {
            Some((channel, _)) if is_taken => channel.more.notify_one(),
            _ => self.write_down(written, happened),
        }
    }

    /// Tells a webhook that a bucket is going to tell it something.
    ///
    /// # Errors
    /// If there is no such webhook, or it does not take the message.
    pub(crate) async fn test(
        &self,
        webhook: &str,
        (bucket, request, now): (&Name, &str, u64),
    ) -> Result<(), String> {
        let channel = self.channels.get(webhook).cloned();
        let channel = channel.ok_or_else(|| "there is no such webhook".to_owned())?;
        let message = message::test_message(bucket, request, now);
        let sent = tokio::task::spawn_blocking(move || channel.webhook.send(&message)).await;
        sent.unwrap_or_else(|_| Err("it was not sent".into()))
    }

    /// Whether there is a webhook of this name.
    pub(crate) fn has(&self, webhook: &str) -> bool {
        self.channels.contains_key(webhook)
    }
}
