//! Conditions of requests: on the version that is there, decided at the moment at which a change takes effect.

use axum::http::{HeaderMap, HeaderValue};
use s3s::dto::{ETag, ETagCondition, Timestamp};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use slotcast_object::{Condition, Entry, NameRecord, Object, RequestKey, Version, VersionId};

use crate::checksums::etag;
use crate::errors::{no_such_key, precondition_failed};
use crate::names::seconds;

/// Whether `condition` means this object.
pub(crate) fn means(condition: &ETagCondition, object: &Object) -> bool {
    match condition {
        ETagCondition::Any => true,
        ETagCondition::ETag(tag) => *tag.value() == etag(object),
    }
}

/// The condition that headers state (for operations of which `s3s` does not read it).
pub(crate) fn header(headers: &HeaderMap, name: &str) -> S3Result<Option<ETagCondition>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let wrong = |_| {
        let message = format!("invalid header: {name}");
        S3Error::with_message(S3ErrorCode::InvalidRequest, message)
    };
    ETagCondition::parse_http_header(value.as_bytes()).map(Some).map_err(wrong)
}

/// What is asked of the name that is changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
}

/// What never holds. A request that has changed the name before is told what it was told then, whatever it asks; and if so
/// much has changed by now that nobody knows of it, it changes nothing.
pub(crate) const NEVER: Condition = Condition::Is(VersionId { change: 0, salt: 0 });

/// The latest object of a record.
pub(crate) fn latest(record: Option<&NameRecord>) -> Option<(&Version<Entry>, &Object)> {
    let head = record?.head()?;
    Some((head, head.object.as_ref()?.object()?))
}

impl Wanted {
    /// Whether anything is asked.
    pub(crate) fn is_any(&self) -> bool {
        self.if_match.is_some() || self.if_none_match.is_some()
    }

    /// The same, of the version that is there: an entity tag is that of a version, and it is the version that must still be
    /// there when the change takes effect.
    /// Of a request that has changed the name before it is [`NEVER`].
    pub(crate) fn of(&self, record: Option<&NameRecord>, key: RequestKey) -> S3Result<Condition> {
        let is_done = |record: &NameRecord| record.recent.iter().any(|(done, _)| *done == key);
        if !self.is_any() {
            return Ok(Condition::Always);
        }
        if self.if_match.is_some() && self.if_none_match.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "If-Match and If-None-Match cannot be asked of one change together"
            ));
        }
        if record.is_some_and(is_done) {
            return Ok(NEVER);
        }
        let latest = latest(record);
        if let Some(condition) = &self.if_none_match {
            return match (condition, latest) {
                (ETagCondition::Any, _) | (ETagCondition::ETag(_), None) => Ok(Condition::Absent),
                (_, Some((_, object))) if means(condition, object) => Err(precondition_failed()),
                (_, Some((version, _))) => Ok(Condition::Is(version.id)),
            };
        }
        match (&self.if_match, latest) {
            (None, _) => Ok(Condition::Always),
            (Some(_), None) => Err(no_such_key()),
            (Some(ETagCondition::Any), Some(_)) => Ok(Condition::Present),
            (Some(condition), Some((version, object))) => match means(condition, object) {
                true => Ok(Condition::Is(version.id)),
                false => Err(precondition_failed()),
            },
        }
    }
}

/// What must hold of an object that is read.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) if_match: Option<ETagCondition>,
    pub(crate) if_none_match: Option<ETagCondition>,
    pub(crate) if_modified_since: Option<Timestamp>,
    pub(crate) if_unmodified_since: Option<Timestamp>,
}

/// What the input of an operation says must hold of what it reads.
macro_rules! reading {
    ($input:expr) => {
        $crate::conditions::Reading {
            if_match: $input.if_match.clone(),
            if_none_match: $input.if_none_match.clone(),
            if_modified_since: $input.if_modified_since.clone(),
            if_unmodified_since: $input.if_unmodified_since.clone(),
        }
    };
}
pub(crate) use reading;

/// The same of what it copies.
macro_rules! reading_source {
    ($input:expr) => {
        $crate::conditions::Reading {
            if_match: $input.copy_source_if_match.clone(),
            if_none_match: $input.copy_source_if_none_match.clone(),
            if_modified_since: $input.copy_source_if_modified_since.clone(),
            if_unmodified_since: $input.copy_source_if_unmodified_since.clone(),
        }
    };
}
pub(crate) use reading_source;

/// What comes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    NotModified,
    Failed,
}

impl Reading {
    /// In the order of RFC 9110, 13.2.2.
    pub(crate) fn verdict(&self, object: &Object) -> Verdict {
        let modified = i64::try_from(object.modified / 1000).unwrap_or(i64::MAX);
        let is_after = |time: &Timestamp| modified > seconds(time);
        let fails = match (&self.if_match, &self.if_unmodified_since) {
            (Some(condition), _) => !means(condition, object),
            (None, Some(time)) => is_after(time),
            (None, None) => false,
        };
        if fails {
            return Verdict::Failed;
        }
        let is_known = match (&self.if_none_match, &self.if_modified_since) {
            (Some(condition), _) => means(condition, object),
            (None, Some(time)) => !is_after(time),
            (None, None) => false,
        };
        if is_known { Verdict::NotModified } else { Verdict::Fine }
    }

    /// Refuses what does not hold, as an answer to a get.
    pub(crate) fn check(&self, object: &Object) -> S3Result<()> {
        match self.verdict(object) {
            Verdict::Fine => Ok(()),
            Verdict::Failed => Err(precondition_failed()),
            Verdict::NotModified => {
                let mut error = S3Error::new(S3ErrorCode::NotModified);
                let mut headers = HeaderMap::new();
                if let Ok(value) = ETag::Strong(etag(object)).to_http_header() {
                    headers.insert("etag", value);
                }
                let mut text = Vec::new();
                let time = crate::names::second_of(object.modified);
                let _ = time.format(s3s::dto::TimestampFormat::HttpDate, &mut text);
                if let Ok(value) = HeaderValue::from_bytes(&text) {
                    headers.insert("last-modified", value);
                }
                error.set_headers(headers);
                Err(error)
            }
        }
    }

    /// The same for what is copied: what the client has already is not copied either.
    pub(crate) fn check_source(&self, object: &Object) -> S3Result<()> {
        match self.verdict(object) {
            Verdict::Fine => Ok(()),
            Verdict::Failed | Verdict::NotModified => Err(precondition_failed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use slotcast_object::{Checksums, Outcome, Record, VersionId};

    use super::*;
    use crate::names::time_of;

    fn object() -> Object {
        let checksums = Checksums { md5: Some([0xab; 16]), ..Checksums::default() };
        Object { modified: 10_500, checksums, ..Object::default() }
    }

    fn tag(byte: &str) -> ETagCondition {
        ETagCondition::ETag(ETag::Strong(byte.repeat(16)))
    }

    fn record(recent: Vec<(RequestKey, Outcome)>) -> NameRecord {
        let id = VersionId { change: 3, salt: 4 };
        let object = Some(Entry::Object(object()));
        let versions = vec![Version { id, is_null: true, object, deleted_at: None }];
        Record { born: RequestKey(1), change: 3, versions, recent }
    }

    #[test]
    fn an_entity_tag_becomes_the_version_that_has_it() {
        let there = record(Vec::new());
        let id = there.versions[0].id;
        let wanted = |if_match, if_none_match| Wanted { if_match, if_none_match };
        let of = |wanted: Wanted, record| match wanted.of(record, RequestKey(9)) {
            Ok(condition) => Ok(condition),
            Err(error) => Err(error.code().as_str().to_owned()),
        };
        let failed = Err("PreconditionFailed".to_owned());
        let missing = Err("NoSuchKey".to_owned());
        let any = || Some(ETagCondition::Any);
        assert_eq!(of(wanted(None, None), Some(&there)), Ok(Condition::Always));
        assert_eq!(of(wanted(any(), any()), Some(&there)), Err("InvalidRequest".to_owned()));
        assert_eq!(of(wanted(Some(tag("ab")), None), Some(&there)), Ok(Condition::Is(id)));
        assert_eq!(of(wanted(Some(tag("cd")), None), Some(&there)), failed);
        assert_eq!(of(wanted(any(), None), Some(&there)), Ok(Condition::Present));
        assert_eq!(of(wanted(any(), None), None), missing);
        assert_eq!(of(wanted(Some(tag("ab")), None), None), missing);
        assert_eq!(of(wanted(None, any()), Some(&there)), Ok(Condition::Absent));
        assert_eq!(of(wanted(None, Some(tag("ab"))), Some(&there)), failed);
        assert_eq!(of(wanted(None, Some(tag("cd"))), Some(&there)), Ok(Condition::Is(id)));
        assert_eq!(of(wanted(None, Some(tag("ab"))), None), Ok(Condition::Absent));
    }

    #[test]
    fn a_retry_of_what_took_effect_is_not_refused_by_its_own_effect() {
        let done = record(vec![(RequestKey(9), Outcome::Stored(VersionId { change: 3, salt: 4 }))]);
        let wanted = Wanted { if_match: Some(tag("cd")), if_none_match: None };
        assert!(matches!(wanted.of(Some(&done), RequestKey(9)), Ok(NEVER)));
        assert!(wanted.of(Some(&done), RequestKey(8)).is_err());
    }

    #[test]
    fn conditions_of_a_get_are_those_of_rfc_9110() {
        let at = |seconds: u64| Some(time_of(seconds * 1000));
        let verdict = |reading: Reading| reading.verdict(&object());
        let none = Reading::default;
        assert_eq!(verdict(none()), Verdict::Fine);
        assert_eq!(verdict(Reading { if_match: Some(tag("cd")), ..none() }), Verdict::Failed);
        let known = || Some(tag("ab"));
        assert_eq!(verdict(Reading { if_none_match: known(), ..none() }), Verdict::NotModified);
        // Times are in seconds, and count only where no tag does.
        assert_eq!(verdict(Reading { if_modified_since: at(10), ..none() }), Verdict::NotModified);
        assert_eq!(verdict(Reading { if_modified_since: at(9), ..none() }), Verdict::Fine);
        assert_eq!(verdict(Reading { if_unmodified_since: at(9), ..none() }), Verdict::Failed);
        assert_eq!(verdict(Reading { if_unmodified_since: at(10), ..none() }), Verdict::Fine);
        let both = Reading { if_match: known(), if_unmodified_since: at(9), ..none() };
        assert_eq!(verdict(both), Verdict::Fine);
        let both = Reading { if_none_match: Some(tag("cd")), if_modified_since: at(10), ..none() };
        assert_eq!(verdict(both), Verdict::Fine);
    }
}
