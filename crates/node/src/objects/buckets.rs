//! Buckets: the names of the root bucket.
//!
//! Whoever removes a bucket seals it first, looks whether it is empty, and then deletes its register: see [`Guard`] for why
//! no object is lost by that which was acknowledged. Nobody waits for anybody, and a seal whose owner has died is in
//! nobody's way: who stores something opens the bucket again.
//!
//! [`Guard`]: slotcast_object::Guard

use std::collections::BTreeMap;

use slotcast_object::{
    Bucket, BucketId, Condition, Entry, From, Key, ListRequest, Listed, MAX_PAGE, Name,
    NameFailure, Operation, Outcome, Permit, Request, RequestKey, Settings, VersionId, Versioning,
};

use super::believed::gone;
use super::{ObjectError, Result, list, new_key, now_ms, read, update, uploads};
use crate::node::Node;

/// Slots of a new bucket for each negotiating group, and the most that it has.
const MAX_FIRST_SLOTS: u32 = 16;

/// How often a change of a bucket is tried while others change it.
const MAX_ATTEMPTS: u32 = 32;

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

impl std::convert::From<Versioning> for NewBucket {
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
    pub(crate) fn new(name: Name, version: VersionId, bucket: Bucket) -> FoundBucket {
        FoundBucket { name, version, bucket, is_believed: false }
    }

    /// The register of a name in it.
    pub(crate) fn key(&self, name: &Name) -> Key {
        Key::of(self.bucket.id, self.bucket.slots, name.clone())
    }
}

pub(super) fn root_key(name: &Name) -> Key {
    Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone())
}

/// Changes what the name of a bucket says.
async fn change(
    node: &Node,
    name: &Name,
    key: RequestKey,
    (operation, condition): (Operation<Entry>, Condition),
) -> Result<Outcome> {
    let (versioning, permit) = (Versioning::Off, Permit::default());
    let request = Request { key, operation, condition, versioning, permit };
    update(node, (root_key(name), request, None)).await
}

/// Makes a bucket.
pub(crate) async fn make_bucket(
    node: &Node,
    name: &Name,
    key: RequestKey,
    wanted: NewBucket,
) -> Result<FoundBucket> {
    let NewBucket { replicas, versioning, settings } = wanted;
    let groups = node.groups().await.map_err(|_| ObjectError::STOPPED)?;
    // No two buckets have the same number, in all time. Never that of the request, which a client may choose: whoever chose
    // the number of another bucket, or of the users, would have all that is in it.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let id = BucketId((new_key()?.0 as u64).max(1));
    let made = Bucket {
        id,
        slots: if groups == 1 { 1 } else { groups.next_power_of_two().min(MAX_FIRST_SLOTS) },
        versioning,
        replicas,
        created: now_ms(),
        is_sealed: false,
        tags: BTreeMap::new(),
        policy: None,
        settings,
    };
    let put = Operation::Put(Entry::Bucket(made));
    match change(node, name, key, (put, Condition::Absent)).await? {
        // The same request may have made it before, with another number.
        Outcome::Stored(_) => bucket(node, name).await,
        _ => Err(ObjectError::BucketExists(name.clone())),
    }
}

/// The bucket of this name.
pub(crate) async fn bucket(node: &Node, name: &Name) -> Result<FoundBucket> {
    let record = read(node, root_key(name)).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some((version, entry)) = head.and_then(|found| Some((found.id, found.object.as_ref()?)))
    else {
        node.believed.forget(name);
        return Err(ObjectError::NoBucket(name.clone()));
    };
    let bucket = entry.bucket().cloned().ok_or_else(|| ObjectError::OtherKind(name.clone()))?;
    let found = FoundBucket::new(name.clone(), version, bucket);
    node.believed.keep(&found);
    Ok(found)
}

/// A page of buckets, in the order of their names, and where it goes on.
pub(crate) async fn buckets(
    node: &Node,
    prefix: &str,
    from: From,
    limit: u32,
) -> Result<(Vec<FoundBucket>, Option<From>)> {
    let request = ListRequest {
        bucket: BucketId::ROOT,
        slots: Bucket::ROOT.slots,
        prefix: prefix.to_owned(),
        delimiter: None,
        from,
        limit,
        versions: false,
        fences: false,
    };
    let Listed { names, next, .. } = list(node, request).await?;
    let found = names.into_iter().filter_map(|listed| {
        let version = listed.versions.first()?;
        let bucket = version.object.as_ref()?.bucket()?.clone();
        Some(FoundBucket::new(listed.name, version.id, bucket))
    });
    Ok((found.collect(), next))
}

/// The bucket of this number, or that in which an upload is under way which is kept under this number.
pub(crate) async fn bucket_of(node: &Node, id: BucketId) -> Result<Option<FoundBucket>> {
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let (found, next) = buckets(node, "", begin, MAX_PAGE).await?;
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
        if !found.bucket.may_become(&bucket) {
            return Err(ObjectError::LockedBucket(name.clone()));
        }
        if let Ok(version) = replace(node, &found, key, &bucket).await? {
            return Ok(FoundBucket { version, bucket, ..found });
        }
    }
    Err(NameFailure::Unavailable.into())
}

/// How a change relies on its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relies {
    /// On what is said of it, whatever that is by then.
    OnName,
    /// On this bucket: another one of the same name does not do.
    OnBucket,
}

/// Changes a name in a bucket which is there, and not sealed, when the change is decided. `request` says what is to be done
/// as the bucket says. Gives the bucket as it was then, too.
pub(super) async fn change_in<T, F: Future<Output = Result<T>>>(
    node: &Node,
    (found, relies): (&FoundBucket, Relies),
    change: impl Fn(FoundBucket) -> F,
) -> Result<(T, FoundBucket)> {
    let mut now = found.clone();
    for _ in 0..MAX_ATTEMPTS {
        let is_sealed = now.bucket.is_sealed;
        let is_open = !is_sealed || open(node, &mut now).await?;
        if is_open {
            match change(now.clone()).await {
                Err(ObjectError::Names(NameFailure::Overtaken)) => {}
                changed => return Ok((changed?, now)),
            }
        }
        now = match bucket(node, &found.name).await {
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
async fn open(node: &Node, found: &mut FoundBucket) -> Result<bool> {
    let open = Bucket { is_sealed: false, ..found.bucket.clone() };
    match replace(node, found, new_key()?, &open).await? {
        Ok(version) => {
            (found.version, found.bucket) = (version, open);
            node.believed.keep(found);
            Ok(true)
        }
        Err(_) => Ok(false),
    }
}

/// Seals a bucket; none if the request with this key has removed it before.
pub(super) async fn seal(node: &Node, name: &Name, key: RequestKey) -> Result<Option<FoundBucket>> {
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
            fences: true,
        };
        let listed = list(node, request).await?;
        if let Some(found) = listed.names.into_iter().next() {
            return Ok(Some(found.name));
        }
        from = listed.next;
    }
    Ok(None)
}

/// Removes a bucket in which nothing is.
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
    let deletion = (Operation::Delete(now_ms()), Condition::Is(sealed.version));
    match change(node, name, key, deletion).await? {
        Outcome::Deleted(_) => {
            node.believed.forget(name);
            uploads::clear(node, &sealed).await;
            Ok(())
        }
        Outcome::ConditionFailed(Some(_)) => Err(ObjectError::InUse(name.clone())),
        Outcome::ConditionFailed(None) => Err(ObjectError::NoBucket(name.clone())),
        _ => Err(ObjectError::STOPPED),
    }
}
