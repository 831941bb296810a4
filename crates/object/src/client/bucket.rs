//! Buckets: the names of the root bucket.

use alloc::collections::BTreeMap;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::future::Future;

use super::believed::gone;
use super::{
    ClientResult, Listing, NameService, ObjectError, list, listing_of, new_key, read, update,
};
use crate::key::{BucketId, Key, Name};
use crate::lock::Permit;
use crate::message::{From, MAX_PAGE};
use crate::names::{Listed, NameFailure};
use crate::object::{Bucket, Entry};
use crate::register::record::{
    Condition, Operation, Outcome, Request, RequestKey, VersionId, Versioning,
};
use crate::settings::Settings;

/// Slots of a new bucket for each negotiating group, and the most that it has.
const MAX_FIRST_SLOTS: u32 = 16;

/// How often a change of a bucket is tried while others change it.
pub(super) const MAX_ATTEMPTS: u32 = 32;

/// How a bucket is made.
#[derive(Debug, Clone)]
pub struct NewBucket {
    /// Replicas of its chunks, where that is not the number of the cluster.
    pub replicas: Option<u8>,
    /// What it keeps of earlier versions.
    pub versioning: Versioning,
    /// All else that is set.
    pub settings: Settings,
}

impl core::convert::From<Versioning> for NewBucket {
    fn from(versioning: Versioning) -> NewBucket {
        NewBucket { replicas: None, versioning, settings: Settings::NONE }
    }
}

/// A bucket, as its register said.
#[derive(Debug, Clone)]
pub struct FoundBucket {
    /// Its name.
    pub name: Name,
    /// The version of all that is said of it.
    pub version: VersionId,
    /// What is said of it.
    pub bucket: Bucket,
    /// It said so some time ago, and may say something else.
    pub(super) is_believed: bool,
}

impl FoundBucket {
    /// As its register says.
    pub fn new(name: Name, version: VersionId, bucket: Bucket) -> FoundBucket {
        FoundBucket { name, version, bucket, is_believed: false }
    }

    /// The register of a name in it.
    pub fn key(&self, name: &Name) -> Key {
        Key::of(self.bucket.id, self.bucket.slots, name.clone())
    }
}

pub(super) fn root_key(name: &Name) -> Key {
    Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone())
}

/// Changes what the name of a bucket says.
pub(super) async fn change<S: NameService>(
    service: &S,
    name: &Name,
    key: RequestKey,
    (operation, condition): (Operation<Entry>, Condition),
) -> ClientResult<Outcome, S> {
    let (versioning, permit) = (Versioning::Off, Permit::default());
    let request = Request { key, operation, condition, versioning, permit };
    update(service, (root_key(name), request, None)).await
}

/// Makes a bucket, in a cluster of so many negotiating groups.
///
/// # Errors
/// If there is one of this name, or too few voters answer.
pub async fn make_bucket<S: NameService>(
    service: &S,
    name: &Name,
    (key, groups): (RequestKey, u32),
    wanted: NewBucket,
) -> ClientResult<FoundBucket, S> {
    let NewBucket { replicas, versioning, settings } = wanted;
    // No two buckets have the same number, in all time. Never that of the request, which a client may choose: whoever chose
    // the number of another bucket, or of the users, would have all that is in it.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let id = BucketId((new_key(service)?.0 as u64).max(1));
    let made = Bucket {
        id,
        slots: if groups == 1 { 1 } else { groups.next_power_of_two().min(MAX_FIRST_SLOTS) },
        versioning,
        replicas,
        created: service.now_ms(),
        is_sealed: false,
        tags: BTreeMap::new(),
        policy: None,
        settings,
    };
    let put = Operation::Put(Entry::Bucket(made));
    match change(service, name, key, (put, Condition::Absent)).await? {
        // The same request may have made it before, with another number.
        Outcome::Stored(_) => bucket(service, name).await,
        _ => Err(ObjectError::BucketExists(name.clone())),
    }
}

/// The bucket of this name.
///
/// # Errors
/// If there is none, or too few voters answer.
pub async fn bucket<S: NameService>(service: &S, name: &Name) -> ClientResult<FoundBucket, S> {
    let record = read(service, root_key(name)).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some((version, entry)) = head.and_then(|found| Some((found.id, found.object.as_ref()?)))
    else {
        service.forget(name);
        return Err(ObjectError::NoBucket(name.clone()));
    };
    let bucket = entry.bucket().cloned().ok_or_else(|| ObjectError::OtherKind(name.clone()))?;
    let found = FoundBucket::new(name.clone(), version, bucket);
    service.keep(&found);
    Ok(found)
}

/// A page of buckets, in the order of their names, and where it goes on.
///
/// # Errors
/// If too few voters answer.
pub async fn buckets<S: NameService>(
    service: &S,
    prefix: &str,
    from: From,
    limit: u32,
) -> ClientResult<(Vec<FoundBucket>, Option<From>), S> {
    let prefix = prefix.to_string();
    let request = listing_of(&Bucket::ROOT, Listing { prefix, ..Listing::all(from, limit) });
    let Listed { names, next, .. } = list(service, request).await?;
    let found = names.into_iter().filter_map(|listed| {
        let version = listed.versions.first()?;
        let bucket = version.object.as_ref()?.bucket()?.clone();
        Some(FoundBucket::new(listed.name, version.id, bucket))
    });
    Ok((found.collect(), next))
}

/// The bucket of this number, or that in which an upload is under way which is kept under this number.
///
/// # Errors
/// If too few voters answer.
pub async fn bucket_of<S: NameService>(
    service: &S,
    id: BucketId,
) -> ClientResult<Option<FoundBucket>, S> {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let (found, next) = buckets(service, "", begin, MAX_PAGE).await?;
        let is_it =
            |found: &FoundBucket| [found.bucket.id, found.bucket.id.uploads()].contains(&id);
        if let Some(found) = found.into_iter().find(is_it) {
            return Ok(Some(found));
        }
        from = next;
    }
    Ok(None)
}

/// Puts `bucket` in the place of what was found, if that is still there. Gives its version, or that of what is there
/// instead.
pub(super) async fn replace<S: NameService>(
    service: &S,
    found: &FoundBucket,
    key: RequestKey,
    bucket: &Bucket,
) -> ClientResult<Result<VersionId, Option<VersionId>>, S> {
    let put = Operation::Put(Entry::Bucket(bucket.clone()));
    match change(service, &found.name, key, (put, Condition::Is(found.version))).await? {
        Outcome::Stored(version) => Ok(Ok(version)),
        Outcome::ConditionFailed(latest) => Ok(Err(latest)),
        _ => Err(ObjectError::stopped()),
    }
}

/// Sets what a bucket keeps of earlier versions from now on; with a `version` only if the bucket has that.
///
/// # Errors
/// If there is no such bucket or it has another version, it has object lock, or too few voters answer.
pub async fn set_versioning<S: NameService>(
    service: &S,
    name: &Name,
    key: RequestKey,
    version: Option<VersionId>,
    keeps: bool,
) -> ClientResult<FoundBucket, S> {
    let change = |bucket: &mut Bucket| {
        bucket.versioning = match (keeps, bucket.versioning) {
            (true, _) => Versioning::On,
            (false, Versioning::Off) => Versioning::Off,
            (false, Versioning::On | Versioning::Suspended) => Versioning::Suspended,
        };
    };
    amend_bucket(service, name, (key, version), change).await
}

/// Changes what is said of a bucket; with a `version` only if the bucket has that. Of several who do so at the same time
/// each change takes effect, one after another.
///
/// # Errors
/// If there is no such bucket or it has another version, it has object lock, or too few voters answer.
pub async fn amend_bucket<S: NameService>(
    service: &S,
    name: &Name,
    (key, version): (RequestKey, Option<VersionId>),
    change: impl Fn(&mut Bucket),
) -> ClientResult<FoundBucket, S> {
    for _ in 0..MAX_ATTEMPTS {
        let found = bucket(service, name).await?;
        if version.is_some_and(|version| version != found.version) {
            return Err(ObjectError::BucketChanged(name.clone(), found.version));
        }
        let mut bucket = found.bucket.clone();
        change(&mut bucket);
        bucket.is_sealed = false;
        if bucket == found.bucket {
            return Ok(found);
        }
        if !found.bucket.may_become(&bucket) {
            return Err(ObjectError::LockedBucket(name.clone()));
        }
        if let Ok(version) = replace(service, &found, key, &bucket).await? {
            return Ok(FoundBucket { version, bucket, ..found });
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// How a change relies on its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relies {
    /// On what is said of it, whatever that is by then.
    OnName,
    /// On this bucket: another one of the same name does not do.
    OnBucket,
}

/// Changes a name in a bucket which is there, and not sealed, when the change is decided. `change` does what is to be done as
/// the bucket says. Gives the bucket as it was then, too.
///
/// # Errors
/// As `change` has; if the bucket was removed, or is changed again and again.
pub async fn change_in<S: NameService, T, F: Future<Output = ClientResult<T, S>>>(
    service: &S,
    (found, relies): (&FoundBucket, Relies),
    change: impl Fn(FoundBucket) -> F,
) -> ClientResult<(T, FoundBucket), S> {
    let mut now = found.clone();
    for _ in 0..MAX_ATTEMPTS {
        let is_sealed = now.bucket.is_sealed;
        let is_open = !is_sealed || open(service, &mut now).await?;
        if is_open {
            match change(now.clone()).await {
                Err(ObjectError::Names(NameFailure::Overtaken)) => {}
                changed => return Ok((changed?, now)),
            }
        }
        now = match bucket(service, &found.name).await {
            Ok(now) if relies == Relies::OnBucket && now.bucket.id != found.bucket.id => {
                return Err(gone(found));
            }
            Ok(now) => now,
            Err(ObjectError::NoBucket(_)) => return Err(gone(found)),
            Err(error) => return Err(error),
        };
    }
    Err(NameFailure::Unavailable.into())
}

/// Opens a sealed bucket again; false if somebody else has changed it.
async fn open<S: NameService>(service: &S, found: &mut FoundBucket) -> ClientResult<bool, S> {
    let open = Bucket { is_sealed: false, ..found.bucket.clone() };
    match replace(service, found, new_key(service)?, &open).await? {
        Ok(version) => {
            (found.version, found.bucket) = (version, open);
            service.keep(found);
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}
