//! DeleteObject and DeleteObjects.

use futures_util::{StreamExt, stream};
use s3s::dto::{
    DeleteObjectInput, DeleteObjectOutput, DeleteObjectsInput, DeleteObjectsOutput, DeletedObject,
    ETagCondition, Error, ObjectIdentifier, Timestamp,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{Cause, Change, FoundBucket, ObjectError, new_key, text_of};
use slotcast_object::notification::EventKind;
use slotcast_object::{Condition, Name, NameRecord, Outcome, RequestKey, VersionId};

use crate::access::Kept;
use crate::conditions::{NEVER, means};
use crate::errors::{malformed_xml, of_object, precondition_failed};
use crate::gateway::Gateway;
use crate::names::{NULL, Which, object_name, request_key, seconds};
use crate::notification::cause;

/// The most objects of one request, as AWS documents it.
const MAX_OBJECTS: usize = 1000;

/// Refuses a request with none, or with more than may be deleted at once.
pub(crate) fn check_number(objects: usize) -> S3Result<()> {
    match objects {
        1..=MAX_OBJECTS => Ok(()),
        _ => Err(malformed_xml()),
    }
}

/// Objects of one request that are deleted at a time.
const AT_A_TIME: usize = 32;

/// How often it is tried to delete what somebody else changes.
const MAX_ATTEMPTS: u32 = 32;

/// What must hold of what is deleted.
#[derive(Debug, Default)]
struct Wanted {
    if_match: Option<ETagCondition>,
    size: Option<i64>,
    modified: Option<Timestamp>,
}

impl Wanted {
    fn is_any(&self) -> bool {
        self.if_match.is_some() || self.size.is_some() || self.modified.is_some()
    }
}

/// What was deleted.
#[derive(Debug, Default)]
struct Deleted {
    /// The version that is gone, as it was asked for.
    version: Option<String>,
    /// The marker that was made; or a marker is what is gone.
    marker: Option<String>,
}

/// The version that is to go, if there is one; and the condition on which it goes.
fn choose(
    record: Option<&NameRecord>,
    (which, wanted): (Which, &Wanted),
    key: RequestKey,
) -> S3Result<Option<(Option<VersionId>, Condition, bool)>> {
    let is_done = record.is_some_and(|record| record.recent.iter().any(|(done, _)| *done == key));
    let versions = record.map_or(&[][..], |record| &record.versions);
    let mut all = versions.iter().enumerate();
    let found = all.find(|(place, version)| which.is(version, *place == 0));
    let found = found.map(|(_, version)| version);
    let object = found.and_then(|version| version.object.as_ref()?.object());
    let mut condition = Condition::Always;
    if wanted.is_any() && is_done {
        condition = NEVER;
    } else if wanted.is_any() {
        // What is not there need not be deleted.
        let (Some(version), Some(object)) = (found, object) else { return Ok(None) };
        let is_size = wanted.size.is_none_or(|size| u64::try_from(size) == Ok(object.size));
        let of = i64::try_from(object.modified / 1000).unwrap_or(0);
        let is_time = wanted.modified.as_ref().is_none_or(|time| seconds(time) == of);
        let is_tag = wanted.if_match.as_ref().is_none_or(|tag| means(tag, object));
        if !(is_size && is_time && is_tag) {
            return Err(precondition_failed());
        }
        // A version of its own never says anything else; the latest may be another one by then.
        if which == Which::Latest {
            condition = Condition::Is(version.id);
        }
    }
    let is_marker = found.is_some_and(|version| version.object.is_none());
    match which {
        Which::Latest => Ok(Some((None, condition, false))),
        Which::Null | Which::Is(_) => {
            Ok(found.map(|version| (Some(version.id), condition, is_marker)))
        }
    }
}

impl Gateway {
    async fn delete_one(
        &self,
        (bucket, name): (&FoundBucket, &Name),
        (which, text): (Which, Option<&str>),
        wanted: &Wanted,
        (key, bypasses): (RequestKey, bool),
        cause: &Cause,
    ) -> S3Result<Deleted> {
        let as_asked = || Deleted { version: text.map(str::to_owned), marker: None };
        for _ in 0..MAX_ATTEMPTS {
            let needs_record = wanted.is_any() || which != Which::Latest;
            let record = match needs_record {
                true => self.objects.record(bucket, name).await.map_err(of_object)?.0,
                false => None,
            };
            let chosen = choose(record.as_ref(), (which, wanted), key)?;
            let Some((version, condition, is_marker)) = chosen else { return Ok(as_asked()) };
            let change = Change { key, condition, bypasses };
            let outcome =
                match self.objects.delete((bucket, name), version, (change, cause.clone())).await {
                    Ok(outcome) => outcome,
                    // A lost race: what was deleted meanwhile is gone, what was changed is something else.
                    Err(ObjectError::Condition(None)) => return Ok(as_asked()),
                    Err(error) => return Err(of_object(error)),
                };
            return match (version, outcome) {
                (None, Outcome::Deleted(Some(marker))) => {
                    Ok(Deleted { version: None, marker: Some(self.marker_text(bucket, marker)) })
                }
                (Some(_), Outcome::NothingToDelete) if which == Which::Null => continue,
                (Some(_), _) => Ok(Deleted {
                    marker: is_marker.then(|| text.unwrap_or(NULL).into()),
                    ..as_asked()
                }),
                (None, _) => Ok(as_asked()),
            };
        }
        Err(s3_error!(OperationAborted, "Others change this object all the time"))
    }

    /// The id of a marker that was made.
    fn marker_text(&self, bucket: &FoundBucket, marker: VersionId) -> String {
        match bucket.bucket.versioning {
            slotcast_object::Versioning::On => text_of(marker),
            _ => NULL.into(),
        }
    }
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteObjectInput>,
) -> S3Result<S3Response<DeleteObjectOutput>> {
    let key = request_key(&request)?;
    let DeleteObjectInput { bucket, key: name, version_id, .. } = &request.input;
    let bypasses = request.input.bypass_governance_retention == Some(true);
    let which = Which::read(version_id.as_deref())?;
    let wanted = Wanted {
        if_match: request.input.if_match.clone(),
        size: request.input.if_match_size,
        modified: request.input.if_match_last_modified_time.clone(),
    };
    let name = object_name(name)?;
    let bucket = gateway.bucket(bucket).await?;
    let version = (which, version_id.as_deref());
    let cause = cause(&request, EventKind::RemovedDelete);
    let how = (key, bypasses);
    let deleted = gateway.delete_one((&bucket, &name), version, &wanted, how, &cause).await?;
    let mut output = DeleteObjectOutput::default();
    output.delete_marker = deleted.marker.is_some().then_some(true);
    output.version_id = deleted.version.or(deleted.marker);
    Ok(S3Response::new(output))
}

pub(crate) async fn delete_many(
    gateway: &Gateway,
    mut request: S3Request<DeleteObjectsInput>,
) -> S3Result<S3Response<DeleteObjectsOutput>> {
    let kept = request.extensions.remove().map_or_else(Vec::new, |Kept(kept)| kept);
    let bypasses = request.input.bypass_governance_retention == Some(true);
    let cause = cause(&request, EventKind::RemovedDelete);
    let DeleteObjectsInput { bucket, delete, .. } = request.input;
    let bucket = gateway.bucket(&bucket).await?;
    let one = async |object: ObjectIdentifier| {
        let deleted = gateway.delete_identified(&bucket, &object, bypasses, &cause).await;
        (object, deleted)
    };
    let all: Vec<_> = stream::iter(delete.objects).map(one).buffered(AT_A_TIME).collect().await;
    let (mut gone, mut errors) = (Vec::new(), Vec::new());
    let refused =
        kept.into_iter().map(|object| (object, Err(s3_error!(AccessDenied, "Access Denied"))));
    for (object, deleted) in all.into_iter().chain(refused) {
        match deleted {
            Ok(_) if delete.quiet == Some(true) => {}
            Ok(Deleted { version, marker }) => {
                let mut one = DeletedObject::default();
                one.delete_marker = marker.is_some().then_some(true);
                one.delete_marker_version_id = marker;
                one.key = Some(object.key);
                one.version_id = version;
                gone.push(one);
            }
            Err(error) => {
                let mut one = Error::default();
                one.code = Some(error.code().as_str().to_owned());
                one.message = error.message().map(str::to_owned);
                one.key = Some(object.key);
                one.version_id = object.version_id;
                errors.push(one);
            }
        }
    }
    let mut output = DeleteObjectsOutput::default();
    output.deleted = Some(gone);
    output.errors = Some(errors);
    Ok(S3Response::new(output))
}

impl Gateway {
    async fn delete_identified(
        &self,
        bucket: &FoundBucket,
        object: &ObjectIdentifier,
        bypasses: bool,
        cause: &Cause,
    ) -> S3Result<Deleted> {
        let name = object_name(&object.key)?;
        let text = object.version_id.as_deref().filter(|text| !text.is_empty());
        let version = (Which::read(text)?, text);
        let wanted = Wanted {
            if_match: object.e_tag.clone().map(ETagCondition::ETag),
            size: object.size,
            modified: object.last_modified_time.clone(),
        };
        let key = new_key().map_err(of_object)?;
        self.delete_one((bucket, &name), version, &wanted, (key, bypasses), cause).await
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::{Entry, Object, Record, Version};

    use super::*;
    use crate::names::version_text;

    fn record() -> NameRecord {
        let id = |change| VersionId { change, salt: 1 };
        let object = Some(Entry::Object(Object { size: 5, ..Object::default() }));
        let versions = vec![
            Version { id: id(2), is_null: false, object: None, deleted_at: None },
            Version { id: id(1), is_null: true, object, deleted_at: None },
        ];
        Record { born: RequestKey(1), change: 2, versions, recent: Vec::new() }
    }

    #[test]
    fn what_goes_is_what_was_meant() {
        let there = record();
        assert_eq!(version_text(&there.versions[1]), NULL);
        let of = |which, wanted: &Wanted| {
            let chosen = choose(Some(&there), (which, wanted), RequestKey(9));
            chosen.map_err(|error| error.code().as_str().to_owned())
        };
        let any = Wanted::default();
        let (marker, null) = (there.versions[0].id, there.versions[1].id);
        assert_eq!(of(Which::Latest, &any), Ok(Some((None, Condition::Always, false))));
        assert_eq!(of(Which::Null, &any), Ok(Some((Some(null), Condition::Always, false))));
        assert_eq!(of(Which::Is(marker), &any), Ok(Some((Some(marker), Condition::Always, true))));
        let other = VersionId { change: 7, salt: 7 };
        assert_eq!(of(Which::Is(other), &any), Ok(None));
        // The latest is a marker: there is nothing whose size could be wrong.
        let sized = Wanted { size: Some(4), ..Wanted::default() };
        assert_eq!(of(Which::Latest, &sized), Ok(None));
        assert_eq!(of(Which::Null, &sized), Err("PreconditionFailed".into()));
        // A retry is told what it was told, or changes nothing.
        let recent = vec![(RequestKey(9), Outcome::Deleted(None))];
        let done = NameRecord { recent, ..record() };
        let chosen = choose(Some(&done), (Which::Latest, &sized), RequestKey(9));
        assert_eq!(chosen.ok().flatten(), Some((None, NEVER, false)));
    }
}
