//! Announcements of changes: a durable queue for each bucket, whose messages are names of a bucket of its own
//! ([`BucketId::announcements`](crate::BucketId::announcements)).
//!
//! Each is written before the change that it announces is asked for, and goes when somebody was told of that, or when it is
//! certain that there is nothing to tell. So whatever node dies between, it is there. Its writer answers for it; of a writer
//! that is gone any other node does. Names of announcements begin with the time: they are listed in the order in which they were written.

use alloc::format;
use alloc::vec::Vec;

use super::{
    Change, ClientResult, FoundBucket, Listing, NameService, ObjectError, ask, delete, find, list,
    listing_of, new_key, update,
};
use crate::key::Name;
use crate::lock::Permit;
use crate::message::{From, MAX_PAGE, NameRecord};
use crate::names::{ListRequest, NameAnswer, NameRequest};
use crate::notification::Announcement;
use crate::object::{Bucket, Entry};
use crate::register::record::{Condition, Operation, Request, Versioning};

/// The announcements of a bucket, as a bucket.
fn announcements_of(bucket: &FoundBucket) -> FoundBucket {
    let Bucket { id, .. } = bucket.bucket;
    let id = id.announcements();
    let announced = Bucket { id, versioning: Versioning::Off, ..bucket.bucket.clone() };
    FoundBucket { bucket: announced, ..bucket.clone() }
}

/// A name for an announcement that no other has.
///
/// # Errors
/// If there are no random numbers to be had.
pub fn announcement_name<S: NameService>(service: &S, at: u64) -> ClientResult<Name, S> {
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let random = new_key(service)?.0 as u64;
    Ok(Name::new(format!("{at:015}-{random:016x}"))?)
}

/// Writes an announcement, or what has become of it in its place.
///
/// # Errors
/// If too few voters answer.
pub async fn announce<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    announcement: &Announcement,
) -> ClientResult<(), S> {
    let operation = Operation::Put(Entry::Object(announcement.object()));
    let (key, condition) = (new_key(service)?, Condition::Always);
    let (versioning, permit) = (Versioning::Off, Permit::default());
    let request = Request { key, operation, condition, versioning, permit };
    update(service, (announcements_of(bucket).key(name), request, None)).await.map(drop)
}

/// Takes an announcement back: somebody was told of it, or there is nothing to tell.
///
/// # Errors
/// If too few voters answer.
pub async fn withdraw<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
) -> ClientResult<(), S> {
    let change = Change::new(new_key(service)?, Condition::Always);
    delete(service, &announcements_of(bucket), name, None, change).await.map(drop)
}

/// An announcement, if it is there still.
///
/// # Errors
/// If too few voters answer.
pub async fn announced<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
) -> ClientResult<Option<Announcement>, S> {
    match find(service, &announcements_of(bucket), name, None).await {
        Ok(found) => Ok(Announcement::read(&found.object)),
        Err(ObjectError::NoObject(_) | ObjectError::Deleted(..)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Announcements of a bucket, the oldest first, and where the list goes on. What cannot be read is left out.
///
/// # Errors
/// If too few voters answer.
pub async fn announcements<S: NameService>(
    service: &S,
    bucket: &FoundBucket,
    from: From,
) -> ClientResult<(Vec<(Name, Announcement)>, Option<From>), S> {
    let request = listing_of(&announcements_of(bucket).bucket, Listing::all(from, MAX_PAGE));
    let listed = list(service, request).await?;
    let found = listed.names.into_iter().filter_map(|listed| {
        let object = listed.versions.into_iter().next()?.object?;
        Some((listed.name, Announcement::read(object.object()?)?))
    });
    Ok((found.collect(), listed.next))
}

/// What a name says, so that no change that somebody has begun takes effect any more unless it is seen.
///
/// # Errors
/// If too few voters answer.
pub async fn read_fenced<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
) -> ClientResult<Option<NameRecord>, S> {
    match ask(service, NameRequest::Fence(bucket.key(name))).await? {
        NameAnswer::Says(record) => Ok(record),
        _ => Err(ObjectError::stopped()),
    }
}

/// Forgets the announcements of a bucket that was removed, as far as that is possible.
pub(super) async fn clear<S: NameService>(service: &S, bucket: &FoundBucket) {
    if bucket.bucket.settings.notifications.is_none() {
        return;
    }
    let announced = announcements_of(bucket);
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listing = listing_of(&announced.bucket, Listing::all(begin, MAX_PAGE));
        let listed = list(service, ListRequest { fences: true, ..listing }).await;
        let Ok(listed) = listed else { return };
        for found in &listed.names {
            let _ = withdraw(service, (bucket, &found.name)).await;
        }
        from = listed.next;
    }
}
