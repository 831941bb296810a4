//! Carries out the lifecycle of objects: what the rules of buckets say is due goes.
//!
//! Every node does so, and none knows of the others: what is deleted is deleted on a condition, so that of several who want to
//! one does, and nothing goes that came after it was looked at. A locked version stays. A list is gone through for as long as it
//! takes: before anything of a name goes, the rules and the name are read again, so that what was taken back counts at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use slotcast_object::lifecycle::{Due, due, is_upload_due};
use slotcast_object::notification::EventKind;
use slotcast_object::{DAY_MS, Entry, From, ListedName, MAX_PAGE, Name, Version};

use crate::node::Node;
use crate::objects::{
    self, Change, FoundBucket, Listing, ObjectError, abort, list_uploads, listing_of, new_key,
    now_ms,
};

/// From one look at all buckets to the next, where a day is one of 24 hours; and the least.
const EVERY: u64 = DAY_MS / 24;
const LEAST: u64 = 1000;

/// Names of a bucket from which versions are deleted at a time: each takes a few round trips.
const AT_A_TIME: usize = 16;

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
            match look_at(node, bucket, day).await {
                Ok(0) => {}
                Ok(gone) => tracing::info!(bucket = %bucket.name, gone, "lifecycle of objects"),
                // Another one may be readable.
                Err(error) => {
                    tracing::warn!(bucket = %bucket.name, %error, "lifecycle is looked at again later");
                }
            }
        }
        from = next;
    }
    Ok(())
}

/// Deletes what is due of a name by now; says of how much. `bucket` is as it was found some time ago.
async fn expire(
    node: &Node,
    (bucket, name): (&FoundBucket, &Name),
    day: u64,
) -> Result<u64, ObjectError> {
    let read = |bucket: FoundBucket| async move { objects::read(node, bucket.key(name)).await };
    let (record, bucket) = match objects::within(node, &bucket.believed(), read).await {
        Err(ObjectError::NoBucket(_)) => return Ok(0),
        found => found?,
    };
    let versions = record.map(|record| record.versions).unwrap_or_default();
    let mut gone = 0;
    for due in due(&bucket.bucket.settings.lifecycle, name, &versions, (now_ms(), day)) {
        gone += u64::from(delete(node, (&bucket, name), due).await?);
    }
    Ok(gone)
}

/// Deletes what is due in a bucket; says of how much.
async fn look_at(node: &Arc<Node>, bucket: &FoundBucket, day: u64) -> Result<u64, ObjectError> {
    let rules = &bucket.bucket.settings.lifecycle;
    let mut gone = 0;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let request = listing_of(&bucket.bucket, Listing::all_versions(begin, MAX_PAGE));
        let listed = objects::list(node, request).await?;
        let is_due = |found: &&ListedName| {
            !due(rules, &found.name, &found.versions, (now_ms(), day)).is_empty()
        };
        let names: Vec<Name> =
            listed.names.iter().filter(is_due).map(|found| found.name.clone()).collect();
        let each =
            names.into_iter().map(|name| async move { expire(node, (bucket, &name), day).await });
        let mut expired = stream::iter(each).buffer_unordered(AT_A_TIME);
        while let Some(of_name) = expired.next().await {
            gone += of_name?;
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
    let change = (change, EventKind::ExpirationDelete.into());
    match objects::delete(node, (bucket, name), version, change).await {
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
    let is_due = |bucket: &FoundBucket, name: &Name, version: &Version<Entry>| {
        let rules = &bucket.bucket.settings.lifecycle;
        let upload = version.object.as_ref().and_then(Entry::object);
        upload.is_some_and(|of| is_upload_due(rules, name.as_str(), of.modified, now_ms(), day))
    };
    let mut gone = 0;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listed = list_uploads(node, bucket, Listing::all_versions(begin, MAX_PAGE)).await?;
        for found in &listed.names {
            for version in &found.versions {
                if !is_due(bucket, &found.name, version) {
                    continue;
                }
                let now = match objects::bucket(node, &bucket.name).await {
                    Err(ObjectError::NoBucket(_)) => return Ok(gone),
                    now => now?,
                };
                if is_due(&now, &found.name, version) {
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use slotcast_object::lifecycle::{Expiration, LifecycleFilter, LifecycleRule};
    use slotcast_object::{Condition, Object, Versioning};

    use super::*;
    use crate::encryption::Encrypt;
    use crate::node::NodeConfig;
    use crate::objects::{Incoming, NewBucket, Objects, PutObject};

    fn start(base: &std::path::Path) -> Arc<Node> {
        Arc::new(Node::start(&NodeConfig::of_three(base)).expect("it starts"))
    }

    async fn put(objects: &Objects, bucket: &FoundBucket, name: &Name) {
        let (key, tags) = (new_key().expect("a key"), [("a".into(), "b".into())].into());
        let object = Object { tags, ..Object::default() };
        let put = PutObject {
            key,
            condition: Condition::Always,
            object,
            seal: None,
            encrypt: Encrypt::AsBucket,
            cause: EventKind::CreatedPut.into(),
        };
        let content = futures_util::stream::iter([Ok::<_, String>(Bytes::from_static(b"x"))]);
        let incoming = Incoming { length: Some(1), buffered: 0 };
        objects.put((bucket, name), put, incoming, content).await.expect("it is stored");
    }

    #[tokio::test]
    async fn what_was_taken_back_while_a_list_is_gone_through_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let node = start(folder.path());
        let (objects, name) = (Objects::new(node.clone()), Name::new("b").expect("a name"));
        let key = || new_key().expect("a key");
        let filter =
            LifecycleFilter { tags: [("a".into(), "b".into())].into(), ..Default::default() };
        let expiration = Some(Expiration::Days(1));
        let rule = LifecycleRule { is_enabled: true, filter, expiration, ..Default::default() };
        let mut wanted = NewBucket::from(Versioning::Off);
        wanted.settings.lifecycle = vec![rule.clone()];
        let found = objects.make_bucket(&name, key(), wanted).await.expect("a bucket");
        put(&objects, &found, &name).await;
        let is_there = || async {
            let record = objects.record(&found, &name).await.expect("it is read").0;
            record.is_some_and(|record| record.head().is_some())
        };
        // The tag is another one than in the list.
        let untag = |object: &mut Object| object.tags.clear();
        let change = Change::new(key(), Condition::Always);
        objects.amend((&found, &name), None, (change, None), untag).await.expect("it is changed");
        assert_eq!(expire(&node, (&found, &name), 1).await.expect("it is looked at"), 0);
        assert!(is_there().await);
        put(&objects, &found, &name).await;
        // The rule is gone, and comes back.
        let set = async |rules: Vec<LifecycleRule>| {
            let set = |bucket: &mut slotcast_object::Bucket| {
                bucket.settings.lifecycle.clone_from(&rules);
            };
            objects.amend_bucket(&name, key(), set).await.expect("it is changed");
        };
        set(Vec::new()).await;
        assert_eq!(look_at(&node, &found, 1).await.expect("it is looked at"), 0);
        assert!(is_there().await);
        set(vec![rule]).await;
        assert_eq!(look_at(&node, &found, 1).await.expect("it is looked at"), 1);
        assert!(!is_there().await);
    }
}
