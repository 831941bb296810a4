//! Objects: what names of a bucket stand for.

use alloc::boxed::Box;
use alloc::string::String;

use super::{ClientResult, FoundBucket, NameService, ObjectError, Relies, ask, change_in};
use crate::key::{Key, Name};
use crate::lock::Permit;
use crate::message::{From, NameRecord};
use crate::names::{Guard, ListRequest, Listed, NameAnswer, NameFailure, NameRequest};
use crate::object::{Bucket, Entry, MAX_METADATA, Object};
use crate::register::record::{Condition, Operation, Outcome, Request, RequestKey, VersionId};

/// An object, and which version it is.
#[derive(Debug, Clone)]
pub struct FoundObject {
    /// Which version.
    pub version: VersionId,
    /// The name stands for it, and not for a later one.
    pub is_latest: bool,
    /// The object.
    pub object: Object,
}

/// How a change of a name is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The same in each retry of the request.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
    /// Whoever asks for it may bypass the governance of locked versions, and wants to.
    pub bypasses: bool,
}

impl Change {
    /// One that bypasses nothing.
    pub fn new(key: RequestKey, condition: Condition) -> Change {
        Change { key, condition, bypasses: false }
    }

    fn permit(self, at: u64) -> Permit {
        Permit { at, bypasses: self.bypasses }
    }
}

/// Which names of a bucket are wanted.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Only names that begin so.
    pub prefix: String,
    /// Of names that have this after the prefix, what comes before and with it is listed once instead of them.
    pub delimiter: Option<String>,
    /// Where to begin.
    pub from: From,
    /// At most so many names and common prefixes, 1 to [`crate::MAX_PAGE`].
    pub limit: u32,
    /// All versions, and markers of deletion.
    pub versions: bool,
}

impl Listing {
    /// All names, from here on.
    pub fn all(from: From, limit: u32) -> Listing {
        Listing { prefix: String::new(), delimiter: None, from, limit, versions: false }
    }

    /// All versions, and markers of deletion, from here on.
    pub fn all_versions(from: From, limit: u32) -> Listing {
        Listing { versions: true, ..Listing::all(from, limit) }
    }
}

/// What is asked of the slots of a bucket.
pub fn listing_of(bucket: &Bucket, listing: Listing) -> ListRequest {
    let Listing { prefix, delimiter, from, limit, versions } = listing;
    let (bucket, slots, fences) = (bucket.id, bucket.slots, false);
    ListRequest { bucket, slots, prefix, delimiter, from, limit, versions, fences }
}

/// What a name says, if it ever said anything.
///
/// # Errors
/// If too few voters answer.
pub async fn read<S: NameService>(service: &S, key: Key) -> ClientResult<Option<NameRecord>, S> {
    match ask(service, NameRequest::Read(key)).await? {
        NameAnswer::Says(record) => Ok(record),
        _ => Err(ObjectError::stopped()),
    }
}

/// How a change ended.
///
/// # Errors
/// If it was not made, or nobody knows whether it was.
pub fn changed<E: core::convert::From<super::Stopped>>(
    answer: &NameAnswer,
) -> Result<Outcome, ObjectError<E>> {
    match answer {
        NameAnswer::Changed(outcome) => Ok(*outcome),
        NameAnswer::Failed(failure) => Err((*failure).into()),
        NameAnswer::Says(_) | NameAnswer::Listed(_) | NameAnswer::Roots(_) => {
            Err(ObjectError::stopped())
        }
    }
}

/// Changes what a name says, as long as what it relies on says so.
///
/// # Errors
/// If too few voters answer, or what it relies on says something else.
pub async fn update<S: NameService>(
    service: &S,
    (key, request, guard): (Key, Request<Entry>, Option<Guard>),
) -> ClientResult<Outcome, S> {
    changed(&ask(service, NameRequest::Update(key, request, guard)).await?)
}

/// The version that was stored.
///
/// # Errors
/// If none was.
pub fn stored<E: core::convert::From<super::Stopped>>(
    outcome: Outcome,
) -> Result<VersionId, ObjectError<E>> {
    match outcome {
        Outcome::Stored(version) => Ok(version),
        Outcome::ConditionFailed(latest) => Err(ObjectError::Condition(latest)),
        Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
        Outcome::Locked => Err(ObjectError::Locked),
        Outcome::Deleted(_) | Outcome::NothingToDelete => Err(ObjectError::stopped()),
    }
}

/// An object: the latest version, or this one.
///
/// # Errors
/// If there is none, or too few voters answer.
pub async fn find<S: NameService>(
    service: &S,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
) -> ClientResult<FoundObject, S> {
    let record = read(service, bucket.key(name)).await?;
    let versions = record.as_ref().map_or(&[][..], |record| &record.versions);
    let latest = versions.first().map(|version| version.id);
    let found = match version {
        Some(wanted) => versions.iter().find(|version| version.id == wanted),
        None => versions.first(),
    };
    let Some(found) = found else {
        return Err(match version {
            Some(version) => ObjectError::NoVersion(name.clone(), version),
            None => ObjectError::NoObject(name.clone()),
        });
    };
    let Some(entry) = &found.object else {
        return Err(match version {
            Some(version) => ObjectError::Marker(name.clone(), version),
            None => ObjectError::Deleted(name.clone(), found.id),
        });
    };
    let object = entry.object().ok_or_else(|| ObjectError::OtherKind(name.clone()))?.clone();
    Ok(FoundObject { version: found.id, is_latest: latest == Some(found.id), object })
}

/// Names an object whose content is stored as its bucket says. Gives the version, and the bucket as it was then.
///
/// # Errors
/// If the condition does not hold, the bucket was removed, or too few voters answer.
pub async fn name_object<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    object: &Object,
    how: (RequestKey, Condition),
) -> ClientResult<(VersionId, FoundBucket), S> {
    let name_it =
        |bucket: FoundBucket| async move { name_in(service, (&bucket, name), object, how).await };
    change_in(service, (bucket, Relies::OnBucket), name_it).await
}

/// The same once, as long as the bucket is as it was found.
///
/// # Errors
/// If the condition does not hold, the bucket says something else, or too few voters answer.
pub async fn name_in<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    object: &Object,
    (key, condition): (RequestKey, Condition),
) -> ClientResult<VersionId, S> {
    let mut object = object.clone();
    bucket.bucket.retain(&mut object);
    let operation = Operation::Put(Entry::Object(object));
    let (versioning, permit) = (bucket.bucket.versioning, Permit::at(service.now_ms()));
    let request = Request { key, operation, condition, versioning, permit };
    stored(update(service, (bucket.key(name), request, Some(bucket.guard()))).await?)
}

/// Deletes an object, or one version of it.
///
/// # Errors
/// If the condition does not hold, the version has to be kept, or too few voters answer.
pub async fn delete<S: NameService>(
    service: &S,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
    change: Change,
) -> ClientResult<Outcome, S> {
    let deletion = Operation::Delete(service.now_ms());
    let operation = version.map_or(deletion, Operation::DeleteVersion);
    let Change { key, condition, .. } = change;
    let (versioning, permit) = (bucket.bucket.versioning, change.permit(service.now_ms()));
    let request = Request { key, operation, condition, versioning, permit };
    match update(service, (bucket.key(name), request, None)).await? {
        Outcome::ConditionFailed(latest) => Err(ObjectError::Condition(latest)),
        Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
        Outcome::Locked => Err(ObjectError::Locked),
        outcome => Ok(outcome),
    }
}

/// Refuses an object of which too much is said.
///
/// # Errors
/// If that is more than [`MAX_METADATA`] bytes.
pub fn check_metadata<E>(object: &Object) -> Result<(), ObjectError<E>> {
    let both = object.metadata.iter().chain(&object.tags);
    let bytes: usize = both.map(|(key, value)| key.len() + value.len()).sum();
    let bytes = bytes + object.media_type.as_ref().map_or(0, String::len);
    if bytes > MAX_METADATA { Err(ObjectError::Metadata(bytes)) } else { Ok(()) }
}

/// How often a change in place is tried while others change the same version.
const MAX_ATTEMPTS: u32 = 32;

/// Changes what is said of a version beside its content, in place. Of several who do so at the same time each change
/// takes effect, one after another.
///
/// # Errors
/// If there is no such version, its lock would be weakened, or too few voters answer.
pub async fn amend<S: NameService>(
    service: &S,
    bucket: &FoundBucket,
    name: &Name,
    version: Option<VersionId>,
    when: Change,
    change: impl Fn(&mut Object),
) -> ClientResult<FoundObject, S> {
    let (Change { key, condition, .. }, permit) = (when, when.permit(service.now_ms()));
    for _ in 0..MAX_ATTEMPTS {
        let found = find(service, bucket, name, version).await?;
        let mut object = found.object.clone();
        change(&mut object);
        check_metadata(&object)?;
        let entry = |object: &Object| Entry::Object(object.clone());
        let change = Box::new((entry(&found.object), entry(&object)));
        let operation = Operation::Replace(found.version, change);
        let versioning = bucket.bucket.versioning;
        let request = Request { key, operation, condition, versioning, permit };
        match update(service, (bucket.key(name), request, None)).await? {
            Outcome::Stored(_) => return Ok(FoundObject { object, ..found }),
            Outcome::ConditionFailed(latest) => match condition {
                Condition::Is(version) if latest != Some(version) => {
                    return Err(ObjectError::Condition(latest));
                }
                _ => {}
            },
            Outcome::Locked => return Err(ObjectError::Locked),
            _ => return Err(ObjectError::stopped()),
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// Names of a bucket.
///
/// # Errors
/// If too few voters answer.
pub async fn list<S: NameService>(service: &S, request: ListRequest) -> ClientResult<Listed, S> {
    match ask(service, NameRequest::List(request)).await? {
        NameAnswer::Listed(listed) => Ok(listed),
        _ => Err(ObjectError::stopped()),
    }
}
