//! Buckets: the names of the root bucket.
//!
//! # Why a bucket is removed only when it is empty
//!
//! Its names are in many registers, and its own register is another one; no change is of several at a time. So whoever
//! removes a bucket *seals* it first: its register says so, in a version of its own. Then all slots are listed, and only
//! if nothing is in any of them the register is deleted, on condition that it still has that version. Whoever stores
//! something reads the register of the bucket once more *after* the object is in its register, and acknowledges it only
//! when the bucket is there and not sealed; a sealed one it opens again, which is a new version ([`confirm`]).
//!
//! No acknowledged object is lost by that. Its writer has seen the bucket open, at a moment after the object was in its
//! register. A seal before that moment was taken back by then, so that the deletion which belongs to it does not take
//! place: the register has another version. A seal after that moment is followed by a listing that has the object.
//! Nobody waits for anybody, and a seal whose owner has died is in nobody's way.
//!
//! A writer that finds the bucket gone says so, and takes its version back: nobody can see it, since no other bucket has
//! the same number, ever.

use std::collections::BTreeMap;

use slotcast_object::{
    Bucket, BucketId, Condition, Entry, From, Key, ListRequest, Name, NameFailure, Operation,
    Outcome, Request, RequestKey, VersionId, Versioning,
};

use super::{ObjectError, Result, list, new_key, now_ms, read, update, uploads};
use crate::node::Node;

/// Slots of a new bucket for each negotiating group, and the most that it has.
const MAX_FIRST_SLOTS: u32 = 16;

/// How often a change of a bucket is tried while others change it.
const MAX_ATTEMPTS: u32 = 32;

/// A bucket, as its register said.
#[derive(Debug, Clone)]
pub struct FoundBucket {
    /// Its name.
    pub name: Name,
    /// The version of all that is said of it.
    pub version: VersionId,
    /// What is said of it.
    pub bucket: Bucket,
}

impl FoundBucket {
    /// The register of a name in it.
    pub(super) fn key(&self, name: &Name) -> Key {
        Key::of(self.bucket.id, self.bucket.slots, name.clone())
    }
}

fn root_key(name: &Name) -> Key {
    Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone())
}

/// Changes what the name of a bucket says.
async fn change(
    node: &Node,
    name: &Name,
    key: RequestKey,
    (operation, condition): (Operation<Entry>, Condition),
) -> Result<Outcome> {
    let request = Request { key, operation, condition, versioning: Versioning::Off };
    update(node, root_key(name), request).await
}

/// Makes a bucket.
pub(crate) async fn make_bucket(
    node: &Node,
    name: &Name,
    key: RequestKey,
    (replicas, versioning): (Option<u8>, Versioning),
) -> Result<FoundBucket> {
    let groups = node.groups().await.map_err(|_| ObjectError::STOPPED)?;
    // As the key is, so is its lower half: no two buckets have the same number, in all time.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let id = BucketId((key.0 as u64).max(1));
    let bucket = Bucket {
        id,
        slots: if groups == 1 { 1 } else { groups.next_power_of_two().min(MAX_FIRST_SLOTS) },
        versioning,
        replicas,
        created: now_ms(),
        is_sealed: false,
        tags: BTreeMap::new(),
        policy: None,
    };
    let put = Operation::Put(Entry::Bucket(bucket.clone()));
    match change(node, name, key, (put, Condition::Absent)).await? {
        Outcome::Stored(version) => Ok(FoundBucket { name: name.clone(), version, bucket }),
        _ => Err(ObjectError::BucketExists(name.clone())),
    }
}

/// The bucket of this name.
pub(crate) async fn bucket(node: &Node, name: &Name) -> Result<FoundBucket> {
    let record = read(node, root_key(name)).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some((version, entry)) = head.and_then(|found| Some((found.id, found.object.as_ref()?)))
    else {
        return Err(ObjectError::NoBucket(name.clone()));
    };
    let bucket = entry.bucket().cloned().ok_or_else(|| ObjectError::OtherKind(name.clone()))?;
    Ok(FoundBucket { name: name.clone(), version, bucket })
}

/// Puts `bucket` in the place of what was found, if that is still there. Gives its version, or that of what is there
/// instead.
async fn replace(
    node: &Node,
    found: &FoundBucket,
    key: RequestKey,
    bucket: &Bucket,
) -> Result<std::result::Result<VersionId, Option<VersionId>>> {
    let put = Operation::Put(Entry::Bucket(bucket.clone()));
    match change(node, &found.name, key, (put, Condition::Is(found.version))).await? {
        Outcome::Stored(version) => Ok(Ok(version)),
        Outcome::ConditionFailed(latest) => Ok(Err(latest)),
        _ => Err(ObjectError::STOPPED),
    }
}

/// Sets what a bucket keeps of earlier versions from now on; with a `version` only if the bucket has that.
pub(crate) async fn set_versioning(
    node: &Node,
    name: &Name,
    key: RequestKey,
    version: Option<VersionId>,
    keeps: bool,
) -> Result<FoundBucket> {
    let change = |bucket: &mut Bucket| {
        bucket.versioning = match (keeps, bucket.versioning) {
            (true, _) => Versioning::On,
            (false, Versioning::Off) => Versioning::Off,
            (false, Versioning::On | Versioning::Suspended) => Versioning::Suspended,
        };
    };
    amend_bucket(node, name, (key, version), change).await
}

/// Changes what is said of a bucket; with a `version` only if the bucket has that. Of several who do so at the same time
/// each change takes effect, one after another.
pub(crate) async fn amend_bucket(
    node: &Node,
    name: &Name,
    (key, version): (RequestKey, Option<VersionId>),
    change: impl Fn(&mut Bucket),
) -> Result<FoundBucket> {
    for _ in 0..MAX_ATTEMPTS {
        let found = bucket(node, name).await?;
        if version.is_some_and(|version| version != found.version) {
            return Err(ObjectError::BucketChanged(name.clone(), found.version));
        }
        let mut bucket = found.bucket.clone();
        change(&mut bucket);
        bucket.is_sealed = false;
        if bucket == found.bucket {
            return Ok(found);
        }
        if let Ok(version) = replace(node, &found, key, &bucket).await? {
            return Ok(FoundBucket { version, bucket, ..found });
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// Whether a bucket is still there and is going to stay, after something was stored in it. See the beginning of this
/// file.
pub(super) async fn confirm(node: &Node, found: &FoundBucket) -> Result<bool> {
    let unknown = |error| match error {
        ObjectError::Names(NameFailure::Unavailable) => NameFailure::Unknown.into(),
        error => error,
    };
    for _ in 0..MAX_ATTEMPTS {
        let now = match bucket(node, &found.name).await {
            Ok(now) if now.bucket.id == found.bucket.id => now,
            Ok(_) | Err(ObjectError::NoBucket(_)) => return Ok(false),
            Err(error) => return Err(unknown(error)),
        };
        if !now.bucket.is_sealed {
            return Ok(true);
        }
        let open = Bucket { is_sealed: false, ..now.bucket.clone() };
        if replace(node, &now, new_key()?, &open).await.map_err(unknown)?.is_ok() {
            return Ok(true);
        }
    }
    Err(NameFailure::Unknown.into())
}

/// Seals a bucket; none if the request with this key has removed it before.
async fn seal(node: &Node, name: &Name, key: RequestKey) -> Result<Option<FoundBucket>> {
    for _ in 0..MAX_ATTEMPTS {
        let record = read(node, root_key(name)).await?;
        let was_it = |(done, outcome): &(RequestKey, Outcome)| {
            *done == key && matches!(outcome, Outcome::Deleted(_))
        };
        if record.is_some_and(|record| record.recent.iter().any(was_it)) {
            return Ok(None);
        }
        let found = bucket(node, name).await?;
        let sealed = Bucket { is_sealed: true, ..found.bucket.clone() };
        // One that is sealed already is sealed anew: its first owner deletes it no more.
        if let Ok(version) = replace(node, &found, new_key()?, &sealed).await? {
            return Ok(Some(FoundBucket { version, bucket: sealed, ..found }));
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// Some name in a bucket that has a version, or a marker of deletion.
async fn any_name(node: &Node, bucket: &Bucket) -> Result<Option<Name>> {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let request = ListRequest {
            bucket: bucket.id,
            slots: bucket.slots,
            prefix: String::new(),
            delimiter: None,
            from: begin,
            limit: 1,
            versions: true,
        };
        let listed = list(node, request).await?;
        if let Some(found) = listed.names.into_iter().next() {
            return Ok(Some(found.name));
        }
        from = listed.next;
    }
    Ok(None)
}

/// Removes a bucket in which nothing is: see the beginning of this file.
pub(crate) async fn remove(node: &Node, name: &Name, key: RequestKey) -> Result<()> {
    let Some(sealed) = seal(node, name, key).await? else { return Ok(()) };
    let looked = match any_name(node, &sealed.bucket).await {
        Ok(None) => Ok(()),
        Ok(Some(left)) => Err(ObjectError::NotEmpty(name.clone(), left)),
        Err(error) => Err(error),
    };
    if let Err(error) = looked {
        // Whoever stores something next opens it otherwise.
        let open = Bucket { is_sealed: false, ..sealed.bucket.clone() };
        let _ = replace(node, &sealed, new_key()?, &open).await;
        return Err(error);
    }
    let deletion = (Operation::Delete, Condition::Is(sealed.version));
    match change(node, name, key, deletion).await? {
        Outcome::Deleted(_) => {
            uploads::clear(node, &sealed).await;
            Ok(())
        }
        Outcome::ConditionFailed(Some(_)) => Err(ObjectError::InUse(name.clone())),
        Outcome::ConditionFailed(None) => Err(ObjectError::NoBucket(name.clone())),
        _ => Err(ObjectError::STOPPED),
    }
}
