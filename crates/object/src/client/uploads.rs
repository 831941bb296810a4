//! Uploads in parts, kept in registers: see [`BucketId::uploads`](crate::BucketId::uploads).
//!
//! Whatever node serves a request of an upload finds it there, and nothing of it is in the memory of a node.
//!
//! An upload ends in three steps, each of which can be done again: it is marked as ending, its parts are deleted, and then
//! the upload. A node that dies in between leaves one that is marked; it is ended by whoever lists uploads next. A part that
//! is stored meanwhile is taken back by who stored it, since that one looks for the mark *after* the part is in its register.
//!
//! Completing an upload is one change of the register of its name: until then it can be repeated, and after that it is
//! answered from that register, as any request is that was made before.

use alloc::string::String;
use alloc::vec::Vec;

use futures_util::{TryStreamExt, stream};

use super::{
    Change, ClientResult, FoundBucket, Listing, NameService, ObjectError, Relies, amend, certain,
    change_in, check_metadata, delete, find, list, listing_of, name_object, new_key, update,
};
use crate::key::Name;
use crate::lock::Permit;
use crate::message::{From, MAX_PAGE};
use crate::names::{ListRequest, Listed};
use crate::object::{Bucket, Entry, Object};
use crate::register::record::{
    Condition, Operation, Outcome, Request, RequestKey, VersionId, Versioning,
};
use crate::upload::{part_name, part_number};

/// Among what is said of an upload: it is ending.
const ENDING: &str = ":ending";

/// Parts that are deleted at a time.
const DELETIONS: usize = 32;

/// An upload that is under way.
#[derive(Debug, Clone)]
pub struct FoundUpload {
    /// Where it goes.
    pub name: Name,
    /// Which one it is.
    pub version: VersionId,
    /// All that is going to be said of the object.
    pub object: Object,
    /// The bucket that it goes into.
    pub bucket: FoundBucket,
    parts: FoundBucket,
}

/// A part of an upload.
#[derive(Debug, Clone)]
pub struct FoundPart {
    /// Its number.
    pub number: u32,
    /// Its content, and what is said of it.
    pub object: Object,
}

/// How an upload is to be completed.
#[derive(Debug, Clone, Copy)]
pub struct Completion<'a> {
    /// The same in each retry of the request.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
    /// The object that its parts become.
    pub object: &'a Object,
}

fn is_ending(object: &Object) -> bool {
    object.metadata.contains_key(ENDING)
}

/// The uploads of a bucket, as a bucket.
fn uploads_of(bucket: &FoundBucket) -> FoundBucket {
    let Bucket { id, .. } = bucket.bucket;
    let uploads = Bucket { id: id.uploads(), versioning: Versioning::On, ..bucket.bucket.clone() };
    FoundBucket { bucket: uploads, ..bucket.clone() }
}

/// The parts of an upload, as a bucket.
fn parts_of(bucket: &FoundBucket, name: &Name, upload: VersionId) -> FoundBucket {
    let id = bucket.bucket.id.parts(name, upload);
    let parts = Bucket { id, slots: 1, versioning: Versioning::Off, ..bucket.bucket.clone() };
    FoundBucket { bucket: parts, ..bucket.clone() }
}

/// Begins an upload: `object` is all that is going to be said of what its parts become. It is said of the bucket as its
/// register says, which [`certain`] finds out.
///
/// # Errors
/// If the bucket is gone, too many uploads of this name are under way, or too few voters answer.
pub async fn begin_upload<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    key: RequestKey,
    object: &Object,
) -> ClientResult<VersionId, S> {
    check_metadata(object)?;
    let bucket = &certain(service, bucket).await?;
    let begin_in = |bucket: FoundBucket| async move {
        let operation = Operation::Put(Entry::Object(object.clone()));
        let condition = Condition::Always;
        let (versioning, permit) = (Versioning::On, Permit::default());
        let request = Request { key, operation, condition, versioning, permit };
        let change = (uploads_of(&bucket).key(name), request, Some(bucket.guard()));
        match update(service, change).await? {
            Outcome::Stored(version) => Ok(version),
            Outcome::TooManyVersions => Err(ObjectError::TooManyVersions),
            _ => Err(ObjectError::stopped()),
        }
    };
    Ok(change_in(service, (bucket, Relies::OnBucket), begin_in).await?.0)
}

/// An upload that is under way.
///
/// # Errors
/// If it is not, or too few voters answer.
pub async fn find_upload<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> ClientResult<FoundUpload, S> {
    match find(service, &uploads_of(bucket), name, Some(upload)).await {
        Ok(found) if !is_ending(&found.object) => Ok(FoundUpload {
            name: name.clone(),
            version: upload,
            object: found.object,
            bucket: bucket.clone(),
            parts: parts_of(bucket, name, upload),
        }),
        Ok(_) | Err(ObjectError::NoVersion(..) | ObjectError::Marker(..)) => {
            Err(ObjectError::NoUpload(name.clone(), upload))
        }
        Err(error) => Err(error),
    }
}

/// Uploads that are under way in a bucket: names with a version for each, the one that began last first. Those beside them are
/// ending and may have nobody any more who ends them: [`end_upload`] does.
///
/// # Errors
/// If too few voters answer.
pub async fn uploads<S: NameService>(
    service: &S,
    bucket: &FoundBucket,
    listing: Listing,
) -> ClientResult<(Listed, Vec<(Name, VersionId)>), S> {
    let listing = Listing { versions: true, ..listing };
    let mut listed = list(service, listing_of(&uploads_of(bucket).bucket, listing)).await?;
    let mut ending = Vec::new();
    for found in &mut listed.names {
        found.versions.retain(|version| {
            let object = version.object.as_ref().and_then(Entry::object);
            let ends = object.is_some_and(is_ending);
            if ends {
                ending.push((found.name.clone(), version.id));
            }
            object.is_some() && !ends
        });
    }
    listed.names.retain(|found| !found.versions.is_empty());
    Ok((listed, ending))
}

/// Says that this is the part of this number, in the place of what was: its content is stored.
///
/// # Errors
/// If the upload is not under way any more, or too few voters answer.
pub async fn put_part<S: NameService>(
    service: &S,
    upload: &FoundUpload,
    (number, object): (u32, &Object),
) -> ClientResult<(), S> {
    let name = part_name(number);
    let request = Request {
        key: new_key(service)?,
        operation: Operation::Put(Entry::Object(object.clone())),
        condition: Condition::Always,
        versioning: Versioning::Off,
        permit: Permit::default(),
    };
    let version = match update(service, (upload.parts.key(&name), request, None)).await? {
        Outcome::Stored(version) => version,
        _ => return Err(ObjectError::stopped()),
    };
    match find_upload(service, (&upload.bucket, &upload.name), upload.version).await {
        Ok(_) => Ok(()),
        Err(error) => {
            if let ObjectError::NoUpload(..) = error {
                let back = Change::new(new_key(service)?, Condition::Is(version));
                let _ = delete(service, &upload.parts, &name, None, back).await;
            }
            Err(error)
        }
    }
}

/// Up to `limit` parts of an upload after this number, in order; and whether there are more.
///
/// # Errors
/// If too few voters answer.
pub async fn parts<S: NameService>(
    service: &S,
    upload: &FoundUpload,
    after: u32,
    limit: u32,
) -> ClientResult<(Vec<FoundPart>, bool), S> {
    let from = if after == 0 { From::Start } else { From::After(part_name(after)) };
    let limit = limit.clamp(1, MAX_PAGE);
    let listing = Listing::all(from, limit);
    let listed = list(service, listing_of(&upload.parts.bucket, listing)).await?;
    let found = listed.names.into_iter().filter_map(|listed| {
        let object = listed.versions.into_iter().next()?.object?;
        let Entry::Object(object) = object else { return None };
        Some(FoundPart { number: part_number(&listed.name)?, object })
    });
    Ok((found.collect(), listed.next.is_some()))
}

/// Makes an object of the parts of an upload, whose list is stored, and ends the upload. What is not ended is later, by
/// whoever lists uploads.
///
/// # Errors
/// If the condition does not hold, the bucket was removed, or too few voters answer.
pub async fn complete<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
    completion: Completion<'_>,
) -> ClientResult<VersionId, S> {
    let Completion { key, condition, object } = completion;
    check_metadata(object)?;
    let named = name_object(service, (bucket, name), object, (key, condition)).await?;
    let _ = end_upload(service, (bucket, name), upload).await;
    Ok(named.0)
}

/// Ends an upload, and forgets its parts.
///
/// # Errors
/// If it is not under way, or too few voters answer.
pub async fn abort<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> ClientResult<(), S> {
    // One that is ending already is ended again: whoever began that may be gone.
    match find(service, &uploads_of(bucket), name, Some(upload)).await {
        Ok(_) => {}
        Err(ObjectError::NoVersion(..) | ObjectError::Marker(..)) => {
            return Err(ObjectError::NoUpload(name.clone(), upload));
        }
        Err(error) => return Err(error),
    }
    mark(service, (bucket, name), upload).await?;
    // What fails is done again when uploads are listed.
    let _ = end_upload(service, (bucket, name), upload).await;
    Ok(())
}

/// Marks an upload as ending.
async fn mark<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> ClientResult<(), S> {
    let mark = |object: &mut Object| drop(object.metadata.insert(ENDING.into(), String::new()));
    let uploads = uploads_of(bucket);
    let change = Change::new(new_key(service)?, Condition::Always);
    match amend(service, &uploads, name, Some(upload), change, mark).await {
        Ok(_) | Err(ObjectError::NoVersion(..)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Ends an upload: it is marked, its parts are deleted, and then the upload.
///
/// # Errors
/// If too few voters answer.
pub async fn end_upload<S: NameService>(
    service: &S,
    (bucket, name): (&FoundBucket, &Name),
    upload: VersionId,
) -> ClientResult<(), S> {
    mark(service, (bucket, name), upload).await?;
    let parts = parts_of(bucket, name, upload);
    loop {
        let listing = Listing::all(From::Start, MAX_PAGE);
        let listed = list(service, listing_of(&parts.bucket, listing)).await?;
        if listed.names.is_empty() && listed.next.is_none() {
            break;
        }
        let deletions = listed.names.iter().map(|found| Ok::<_, ObjectError<_>>(&found.name));
        let one = async |name: &Name| {
            let change = Change::new(new_key(service)?, Condition::Always);
            delete(service, &parts, name, None, change).await.map(drop)
        };
        stream::iter(deletions).try_for_each_concurrent(DELETIONS, one).await?;
    }
    let change = Change::new(new_key(service)?, Condition::Always);
    delete(service, &uploads_of(bucket), name, Some(upload), change).await.map(drop)
}

/// Ends all uploads of a bucket that was removed, as far as that is possible.
pub(super) async fn clear<S: NameService>(service: &S, bucket: &FoundBucket) {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listing = Listing::all_versions(begin, MAX_PAGE);
        let listed = listing_of(&uploads_of(bucket).bucket, listing);
        // None begins any more that has relied on the bucket.
        let listed = list(service, ListRequest { fences: true, ..listed }).await;
        let Ok(listed) = listed else { return };
        for found in &listed.names {
            for version in &found.versions {
                let _ = end_upload(service, (bucket, &found.name), version.id).await;
            }
        }
        from = listed.next;
    }
}
