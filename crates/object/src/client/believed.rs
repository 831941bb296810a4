//! Buckets as they were read some time ago.
//!
//! What is believed is never acted on by itself: a change has it as its [`Guard`], and a read reads the bucket beside what it
//! is about. So it saves a round trip where it is right, and costs another one where it is not.

use alloc::collections::BTreeMap;
use core::future::Future;

use futures_util::future::join;

use super::bucket::root_key;
use super::{ClientResult, FoundBucket, NameService, ObjectError, bucket};
use crate::key::Name;
use crate::names::Guard;

/// The most buckets that are believed; whoever uses more has them read anew now and then.
const MAX_BUCKETS: usize = 1024;

/// What is believed of buckets.
#[derive(Debug, Default)]
pub struct BelievedBuckets(BTreeMap<Name, FoundBucket>);

impl BelievedBuckets {
    /// What is believed of this one.
    pub fn get(&self, name: &Name) -> Option<FoundBucket> {
        self.0.get(name).cloned()
    }

    /// The register of a bucket says this.
    pub fn keep(&mut self, found: &FoundBucket) {
        if self.0.len() >= MAX_BUCKETS && !self.0.contains_key(&found.name) {
            self.0.clear();
        }
        self.0.insert(found.name.clone(), found.believed());
    }

    /// There is no such bucket.
    pub fn forget(&mut self, name: &Name) {
        self.0.remove(name);
    }
}

impl FoundBucket {
    /// The same, of which it is not known whether it says so still.
    pub fn believed(&self) -> FoundBucket {
        FoundBucket { is_believed: true, ..self.clone() }
    }

    /// What a change relies on that is made as this says.
    pub fn guard(&self) -> Guard {
        Guard { key: root_key(&self.name), version: self.version }
    }
}

/// The bucket of this name as it is believed to be; as its register says where nothing is believed.
///
/// # Errors
/// If nothing is believed and there is none, or too few voters answer.
pub async fn believed<S: NameService>(service: &S, name: &Name) -> ClientResult<FoundBucket, S> {
    match service.believes(name) {
        Some(found) => Ok(found),
        None => bucket(service, name).await,
    }
}

/// The same bucket as its register says, unless that was read for it.
///
/// # Errors
/// If there is no such bucket any more, or too few voters answer.
pub async fn certain<S: NameService>(
    service: &S,
    found: &FoundBucket,
) -> ClientResult<FoundBucket, S> {
    match found.is_believed {
        true => bucket(service, &found.name).await,
        false => Ok(found.clone()),
    }
}

/// Reads something in a bucket, and the bucket beside that if it is only believed. Gives the bucket as it was then.
///
/// # Errors
/// As reading has, and if there is no such bucket any more.
pub async fn within<S: NameService, T, F: Future<Output = ClientResult<T, S>>>(
    service: &S,
    found: &FoundBucket,
    read: impl Fn(FoundBucket) -> F,
) -> ClientResult<(T, FoundBucket), S> {
    if !found.is_believed {
        return Ok((read(found.clone()).await?, found.clone()));
    }
    let (now, what) = join(bucket(service, &found.name), read(found.clone())).await;
    let now = now?;
    match now.version == found.version {
        true => Ok((what?, now)),
        false => Ok((read(now.clone()).await?, now)),
    }
}

/// What is to be said of a bucket that is gone: whoever has read it, and not only believed in it, hears that it was removed.
pub(super) fn gone<E>(found: &FoundBucket) -> ObjectError<E> {
    match found.is_believed {
        true => ObjectError::NoBucket(found.name.clone()),
        false => ObjectError::Removed(found.name.clone()),
    }
}
