//! Goes through the durable queues from time to time, for what no process has in memory.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use slotcast_object::client::{self, FoundBucket};
use slotcast_object::notification::{Announcement, Became, Happened};
use slotcast_object::{From, MAX_PAGE, Name};

use super::announcing::{Written, slim};
use super::{ABANDONED, Known, MAX_AGE, Notifications, Place};
use crate::node::Node;
use crate::objects::{self, ObjectError, entity_tag, now_ms};

/// From the start to the first walk, and from one to the next.
const FIRST: Duration = Duration::from_secs(1);
const EVERY: Duration = Duration::from_secs(10);

/// From one walk to the next of a node without webhooks, which has nothing to tell.
const SELDOM: Duration = Duration::from_secs(600);

/// For how long after its start a node takes none for gone: it has not heard them yet.
const HEARS_ALL: Duration = Duration::from_secs(30);

/// Which nodes tell what others have left.
#[derive(Debug)]
struct Heard {
    nodes: BTreeSet<u32>,
    /// This node does so.
    is_first: bool,
}

impl Heard {
    async fn of(node: &Node, number: u32) -> Heard {
        let network = node.network().await.ok().flatten();
        let peers = network.iter().flat_map(|network| &network.peers);
        let mut nodes: BTreeSet<u32> =
            peers.filter(|peer| peer.is_up).map(|peer| peer.node).collect();
        nodes.insert(number);
        Heard { is_first: nodes.first() == Some(&number), nodes }
    }
}

/// Goes through the durable queues from time to time, for ever.
pub(super) async fn follow(notifications: Arc<Notifications>) {
    let began = Instant::now();
    let mut is_first = true;
    loop {
        let wait = match notifications.channels.is_empty() {
            true => SELDOM,
            false if is_first => FIRST,
            false => EVERY,
        };
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = notifications.walk.notified() => {}
        }
        let Some(node) = notifications.node.upgrade() else { return };
        let mut heard = Heard::of(&node, notifications.writer.node).await;
        heard.is_first &= began.elapsed() >= HEARS_ALL;
        match notifications.look(&node, &heard, is_first).await {
            Ok(()) => is_first = false,
            Err(error) => tracing::debug!(%error, "notifications are looked at again later"),
        }
    }
}

impl Notifications {
    /// Goes through all durable queues, as far as there is room in memory; to the end of them if that `counts` what is left.
    async fn look(&self, node: &Node, heard: &Heard, counts: bool) -> Result<(), ObjectError> {
        let (mut left, mut is_all) = (0, true);
        let mut from = Some(From::Start);
        while let Some(begin) = from {
            let (found, next) = objects::buckets(node, "", begin, MAX_PAGE).await?;
            for bucket in found.iter().filter(|of| of.bucket.settings.notifications.is_some()) {
                let (of_bucket, is_end) = self.look_at((node, heard), bucket, counts).await?;
                (left, is_all) = (left + of_bucket, is_all && is_end);
            }
            from = next;
        }
        if is_all {
            self.left.store(left, Ordering::Relaxed);
        }
        // What was abandoned long ago was found, if it was announced.
        let is_old = |known: &Known| matches!(known, Known::Abandoned(since) if since.elapsed() > 10 * ABANDONED);
        self.known().retain(|_, known| !is_old(known));
        Ok(())
    }

    /// Whether messages of an announcement are sent from here.
    fn can_tell(&self, announcement: &Announcement) -> bool {
        announcement.recipients.values().all(|of| self.channels.contains_key(&of.webhook))
    }

    /// Whether they have room in memory, too.
    fn has_room(&self, announcement: &Announcement) -> bool {
        let mut recipients = announcement.recipients.values();
        recipients.all(|of| {
            self.channels.get(&of.webhook).is_some_and(|channel| !channel.queue().is_over)
        })
    }

    /// Whether no webhook has room in memory.
    fn is_full(&self) -> bool {
        self.channels.values().all(|channel| channel.queue().is_over)
    }

    /// Looks at what is announced in a bucket. Gives how much of what this node has announced is left where it is, and whether the
    /// end was reached.
    async fn look_at(
        &self,
        (node, heard): (&Node, &Heard),
        bucket: &FoundBucket,
        counts: bool,
    ) -> Result<(u64, bool), ObjectError> {
        let mut left = 0;
        let slim = slim(bucket);
        let mut from = Some(From::Start);
        while let Some(begin) = from {
            let (found, next) = client::announcements(node, &slim, begin).await?;
            for (name, announcement) in found {
                let place = Place { name, bucket: slim.bucket.id };
                let number = announcement.writer.node;
                let is_own = number == self.writer.node;
                let is_ours = is_own || (heard.is_first && !heard.nodes.contains(&number));
                let is_known = self.known().contains_key(&place);
                let is_old = announcement.at + MAX_AGE < now_ms();
                let written = Written { place, bucket: slim.clone(), announcement };
                if is_ours && is_old && !self.can_tell(&written.announcement) {
                    tracing::error!(bucket = %bucket.name, "a notification is given up after a day: its webhook is not known here");
                    self.refuse();
                    self.withdraw(written);
                } else if !is_ours || !self.has_room(&written.announcement) {
                    left += u64::from(is_own && !is_known);
                } else if self.take(&written.place) {
                    let place = written.place.clone();
                    if let Err(error) = self.find_out(node, written, is_own).await {
                        self.leave(&place);
                        return Err(error);
                    }
                }
            }
            // What is newer than what there is no room for is walked later.
            if !counts && next.is_some() && self.is_full() {
                return Ok((left, false));
            }
            from = next;
        }
        Ok((left, true))
    }

    /// Takes what nobody here has to do with.
    fn take(&self, place: &Place) -> bool {
        let mut known = self.known();
        match known.get(place) {
            Some(Known::Here) => false,
            Some(Known::Abandoned(since)) if since.elapsed() < ABANDONED => false,
            Some(Known::Abandoned(_)) | None => {
                known.insert(place.clone(), Known::Here);
                let less = |left: u64| Some(left.saturating_sub(1));
                let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
                true
            }
        }
    }

    /// Finds out what became of an announcement, and has it told or takes it back.
    async fn find_out(
        &self,
        node: &Node,
        mut written: Written,
        is_own: bool,
    ) -> Result<(), ObjectError> {
        let Written { place, bucket, .. } = &written;
        // It was listed some time ago.
        let now = client::announced(node, (bucket, &place.name)).await?;
        let Some(announcement) = now else {
            self.gone(place);
            return Ok(());
        };
        written.announcement = announcement;
        match self.became(node, &written, is_own).await? {
            Became::Happened(happened) | Became::Unknown(happened) => {
                self.offer_again(written, happened);
            }
            Became::Nothing if is_own || written.announcement.at + MAX_AGE < now_ms() => {
                self.withdraw(written);
            }
            Became::Nothing => self.leave(&written.place),
        }
        Ok(())
    }

    /// What became of a change. Of its own ones, none of which is under way, this node knows it for certain.
    async fn became(
        &self,
        node: &Node,
        written: &Written,
        is_own: bool,
    ) -> Result<Became, ObjectError> {
        let Written { bucket, announcement, .. } = written;
        if let Some(happened) = &announcement.became {
            return Ok(Became::Happened(happened.clone()));
        }
        let name: &Name = &announcement.name;
        let record = match is_own || announcement.at + MAX_AGE < now_ms() {
            true => client::read_fenced(node, (bucket, name)).await?,
            false => objects::read(node, bucket.key(name)).await?,
        };
        Ok(announcement.became(record.as_ref(), entity_tag))
    }

    /// Has something told that was found.
    fn offer_again(&self, written: Written, happened: Happened) {
        let place = written.place.clone();
        match self.channel(&written, &happened) {
            Some((channel, rule)) => {
                let message = super::queue::Message::new(written, happened, rule);
                match channel.queue().push(message) {
                    true => channel.more.notify_one(),
                    false => self.leave(&place),
                }
            }
            None if !written.announcement.recipients.contains_key(&happened.kind) => {
                self.withdraw(written);
            }
            None => self.leave(&place),
        }
    }
}
