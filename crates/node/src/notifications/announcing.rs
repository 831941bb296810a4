//! One change that somebody is to be told of: announced before it is asked for, and told when it has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use slotcast_object::client::{self, FoundBucket};
use slotcast_object::notification::{Announcement, Became, Happened};
use slotcast_object::{Bucket, Name, NameFailure, Object, RequestKey, VersionId};

use super::{Cause, Place};
use crate::node::Node;
use crate::objects::{ObjectError, entity_tag, now_ms, read};

/// An announcement that is written, or may be.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) place: Place,
    /// What is needed to find it: not all that is said of its bucket.
    pub(super) bucket: FoundBucket,
    pub(super) announcement: Announcement,
}

/// How a change ended that may have been announced.
#[derive(Debug)]
pub(crate) enum Ended {
    /// It took effect, as this.
    Happened(Happened),
    /// It took effect: the record of the name knows as what.
    Recorded,
    /// It did not take effect, and cannot any more.
    Nothing,
    /// Nobody knows.
    Unknown,
}

impl Ended {
    /// What an error says of the change.
    pub(crate) fn of(error: &ObjectError) -> Ended {
        match error {
            ObjectError::Names(NameFailure::Unknown) | ObjectError::Content(_) => Ended::Unknown,
            _ => Ended::Nothing,
        }
    }
}

/// A change that is about to be asked for. Where nobody wants to be told of it, nothing is written and nothing is done.
#[derive(Debug)]
pub(crate) struct Announcing<'a> {
    node: &'a Node,
    name: &'a Name,
    key: RequestKey,
    version: Option<VersionId>,
    cause: &'a Cause,
    written: Mutex<Option<Written>>,
    is_refused: AtomicBool,
}

/// A bucket with only what is needed to find its registers.
pub(super) fn slim(bucket: &FoundBucket) -> FoundBucket {
    let Bucket { id, slots, .. } = bucket.bucket;
    FoundBucket::new(bucket.name.clone(), bucket.version, Bucket { id, slots, ..Bucket::ROOT })
}

impl<'a> Announcing<'a> {
    /// The change of a name by the request with this key; of this version of it, where that is said.
    pub(crate) fn new(
        node: &'a Node,
        (name, version): (&'a Name, Option<VersionId>),
        key: RequestKey,
        cause: &'a Cause,
    ) -> Announcing<'a> {
        let (written, is_refused) = (Mutex::default(), AtomicBool::new(false));
        Announcing { node, name, key, version, cause, written, is_refused }
    }

    fn written(&self) -> MutexGuard<'_, Option<Written>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces the change, where the bucket says that somebody is to be told of it. The change is asked for after that. May
    /// be called again when the bucket turns out to say something else.
    ///
    /// # Errors
    /// If the announcement cannot be stored: then the change is not asked for.
    pub(crate) async fn before(&self, bucket: &FoundBucket) -> Result<(), ObjectError> {
        let Some(rules) = &bucket.bucket.settings.notifications else { return Ok(()) };
        let recipients = Announcement::recipients(rules, self.cause.kind, self.name);
        let before = self.written().clone();
        match &before {
            Some(before) if before.announcement.recipients == recipients => return Ok(()),
            None if recipients.is_empty() => return Ok(()),
            _ => {}
        }
        let Some(notifications) = self.node.notifications() else { return Ok(()) };
        let written = match before {
            Some(mut before) => {
                before.announcement.recipients = recipients;
                before
            }
            None => {
                let at = now_ms();
                let announcement = Announcement {
                    name: self.name.clone(),
                    key: self.key,
                    version: self.version,
                    kind: self.cause.kind,
                    at,
                    recipients,
                    writer: notifications.writer(),
                    user: self.cause.user(),
                    address: self.cause.address(),
                    request: self.cause.request.clone().unwrap_or_default(),
                    became: None,
                };
                let name = client::announcement_name(self.node, at)?;
                let place = Place { name, bucket: bucket.bucket.id };
                if !notifications.begin(&place) {
                    if !self.is_refused.swap(true, Ordering::Relaxed) {
                        notifications.refuse();
                    }
                    return Ok(());
                }
                Written { place, bucket: slim(bucket), announcement }
            }
        };
        // If this is not waited for to its end, it may be there.
        *self.written() = Some(written.clone());
        let Written { place, bucket, announcement } = &written;
        client::announce(self.node, (bucket, &place.name), announcement).await
    }

    /// The change has ended: whoever is to be told of it is, later.
    pub(crate) async fn ended(self, ended: Ended) {
        let Some(written) = self.written().clone() else { return };
        let Some(notifications) = self.node.notifications() else { return };
        let ended = match ended {
            Ended::Recorded => {
                let found = read(self.node, written.bucket.key(self.name)).await;
                match found.map(|found| written.announcement.became(found.as_ref(), entity_tag)) {
                    Ok(Became::Happened(happened) | Became::Unknown(happened)) => {
                        Ended::Happened(happened)
                    }
                    // It is found when announcements are gone through.
                    Ok(Became::Nothing) | Err(_) => Ended::Unknown,
                }
            }
            ended => ended,
        };
        // From here on nobody can go away in the middle of it.
        *self.written() = None;
        match ended {
            Ended::Happened(happened) => notifications.offer(written, happened),
            Ended::Nothing => notifications.withdraw(written),
            Ended::Unknown | Ended::Recorded => notifications.leave(&written.place),
        }
    }

    /// The same of a change that made a version with content.
    pub(crate) async fn stored(self, stored: Result<(VersionId, bool, &Object), &ObjectError>) {
        let kind = self.cause.kind;
        let ended = match stored {
            Ok((version, has_id, object)) => Ended::Happened(Happened {
                kind,
                change: version.change,
                version: has_id.then_some(version),
                content: Some((object.size, entity_tag(object))),
            }),
            Err(error) => Ended::of(error),
        };
        self.ended(ended).await;
    }
}

impl Drop for Announcing<'_> {
    /// Nobody waits any more for a change that may be under way still.
    fn drop(&mut self) {
        if let Some(written) = self.written().take()
            && let Some(notifications) = self.node.notifications()
        {
            notifications.abandon(&written.place);
        }
    }
}
