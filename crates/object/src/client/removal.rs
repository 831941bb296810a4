//! Buckets that are removed.
//!
//! Whoever removes a bucket seals it first, looks whether it is empty, and then deletes its register: see [`Guard`] for why
//! no object is lost by that which was acknowledged. Nobody waits for anybody, and a seal whose owner has died is in
//! nobody's way: who stores something opens the bucket again.
//!
//! [`Guard`]: crate::Guard

use super::bucket::{MAX_ATTEMPTS, change, replace, root_key};
use super::{
    ClientResult, FoundBucket, Listing, NameService, ObjectError, announcements, bucket, list,
    listing_of, new_key, read, uploads,
};
use crate::key::Name;
use crate::message::From;
use crate::names::{ListRequest, NameFailure};
use crate::object::Bucket;
use crate::register::record::{Condition, Operation, Outcome, RequestKey};

/// Seals a bucket; none if the request with this key has removed it before.
///
/// # Errors
/// If there is none, it is changed again and again, or too few voters answer.
pub async fn seal<S: NameService>(
    service: &S,
    name: &Name,
    key: RequestKey,
) -> ClientResult<Option<FoundBucket>, S> {
    for _ in 0..MAX_ATTEMPTS {
        let record = read(service, root_key(name)).await?;
        let was_it = |(done, outcome): &(RequestKey, Outcome)| {
            *done == key && matches!(outcome, Outcome::Deleted(_))
        };
        if record.is_some_and(|record| record.recent.iter().any(was_it)) {
            return Ok(None);
        }
        let found = bucket(service, name).await?;
        let sealed = Bucket { is_sealed: true, ..found.bucket.clone() };
        // One that is sealed already is sealed anew: its first owner deletes it no more.
        if let Ok(version) = replace(service, &found, new_key(service)?, &sealed).await? {
            return Ok(Some(FoundBucket { version, bucket: sealed, ..found }));
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// Some name in a bucket that has a version, or a marker of deletion.
async fn any_name<S: NameService>(service: &S, bucket: &Bucket) -> ClientResult<Option<Name>, S> {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listing = listing_of(bucket, Listing::all_versions(begin, 1));
        let request = ListRequest { fences: true, ..listing };
        let listed = list(service, request).await?;
        if let Some(found) = listed.names.into_iter().next() {
            return Ok(Some(found.name));
        }
        from = listed.next;
    }
    Ok(None)
}

/// Removes a bucket in which nothing is. Uploads that are under way in it are aborted.
///
/// # Errors
/// If there is none, something is in it, or too few voters answer.
pub async fn remove_bucket<S: NameService>(
    service: &S,
    name: &Name,
    key: RequestKey,
) -> ClientResult<(), S> {
    let Some(sealed) = seal(service, name, key).await? else { return Ok(()) };
    let looked = match any_name(service, &sealed.bucket).await {
        Ok(None) => Ok(()),
        Ok(Some(left)) => Err(ObjectError::NotEmpty(name.clone(), left)),
        Err(error) => Err(error),
    };
    if let Err(error) = looked {
        // Whoever stores something next opens it otherwise.
        let open = Bucket { is_sealed: false, ..sealed.bucket.clone() };
        let _ = replace(service, &sealed, new_key(service)?, &open).await;
        return Err(error);
    }
    let deletion = (Operation::Delete(service.now_ms()), Condition::Is(sealed.version));
    match change(service, name, key, deletion).await? {
        Outcome::Deleted(_) => {
            service.forget(name);
            uploads::clear(service, &sealed).await;
            announcements::clear(service, &sealed).await;
            Ok(())
        }
        Outcome::ConditionFailed(Some(_)) => Err(ObjectError::InUse(name.clone())),
        Outcome::ConditionFailed(None) => Err(ObjectError::NoBucket(name.clone())),
        _ => Err(ObjectError::stopped()),
    }
}
