//! Carries out the lifecycle of objects: what the rules of buckets say is due goes.
//!
//! Every node does so, and none knows of the others: what is deleted is deleted on a condition, so that of several who want to
//! one does, and nothing goes that came after it was looked at. A locked version stays.

use std::sync::Arc;
use std::time::Duration;

use slotcast_object::lifecycle::{Due, due, is_upload_due};
use slotcast_object::{DAY_MS, Entry, From, MAX_PAGE, Name};

use crate::node::Node;
use crate::objects::{
    self, Change, FoundBucket, Listing, ObjectError, abort, list_request, list_uploads, new_key,
    now_ms,
};

/// From one look at all buckets to the next, where a day is one of 24 hours; and the least.
const EVERY: u64 = DAY_MS / 24;
const LEAST: u64 = 1000;

/// Looks at all buckets from time to time, for ever.
pub(crate) async fn follow(node: Arc<Node>, day: u64) {
    let every = Duration::from_millis((day / 24).clamp(LEAST, EVERY));
    loop {
        tokio::time::sleep(every).await;
        if let Err(error) = look(&node, day).await {
            tracing::debug!(%error, "the lifecycle of objects is looked at again later");
        }
    }
}

async fn look(node: &Arc<Node>, day: u64) -> Result<(), ObjectError> {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let (found, next) = objects::buckets(node, "", begin, MAX_PAGE).await?;
        for bucket in found.iter().filter(|found| !found.bucket.settings.lifecycle.is_empty()) {
            let gone = look_at(node, bucket, day).await?;
            if gone > 0 {
                tracing::info!(bucket = %bucket.name, gone, "lifecycle of objects");
            }
        }
        from = next;
    }
    Ok(())
}

fn all(from: From) -> Listing {
    Listing { prefix: String::new(), delimiter: None, from, limit: MAX_PAGE, versions: true }
}

/// Deletes what is due in a bucket; says of how much.
async fn look_at(node: &Arc<Node>, bucket: &FoundBucket, day: u64) -> Result<u64, ObjectError> {
    let rules = &bucket.bucket.settings.lifecycle;
    let mut gone = 0;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let request = list_request(&bucket.bucket, all(begin));
        let listed = objects::list(node, request).await?;
        for found in &listed.names {
            for due in due(rules, &found.name, &found.versions, (now_ms(), day)) {
                gone += u64::from(delete(node, (bucket, &found.name), due).await?);
            }
        }
        from = listed.next;
    }
    if rules.iter().any(|rule| rule.is_enabled && rule.abort_days.is_some()) {
        gone += abort_uploads(node, bucket, day).await?;
    }
    Ok(gone)
}

async fn delete(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    Due { version, condition }: Due,
) -> Result<bool, ObjectError> {
    let change = Change::new(new_key()?, condition);
    match objects::delete(node, bucket, name, version, change).await {
        Ok(_) => Ok(true),
        // It was changed meanwhile, has to be kept, or has no room for a marker.
        Err(ObjectError::Condition(_) | ObjectError::Locked | ObjectError::TooManyVersions) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn abort_uploads(
    node: &Arc<Node>,
    bucket: &FoundBucket,
    day: u64,
) -> Result<u64, ObjectError> {
    let rules = &bucket.bucket.settings.lifecycle;
    let mut gone = 0;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listed = list_uploads(node, bucket, all(begin)).await?;
        for found in &listed.names {
            for version in &found.versions {
                let object = version.object.as_ref().and_then(Entry::object);
                let is_due = object.is_some_and(|upload| {
                    is_upload_due(rules, found.name.as_str(), upload.modified, now_ms(), day)
                });
                if is_due {
                    match abort(node, (bucket, &found.name), version.id).await {
                        Ok(()) => gone += 1,
                        Err(ObjectError::NoUpload(..)) => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        from = listed.next;
    }
    Ok(gone)
}
