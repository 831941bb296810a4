//! Rules of lifecycle: how they are put and given back. What they mean is in `slotcast_object::lifecycle`; nodes carry them out.

use std::collections::{BTreeMap, BTreeSet};

use s3s::dto::{
    AbortIncompleteMultipartUpload, DeleteBucketLifecycleInput, DeleteBucketLifecycleOutput,
    ExpirationStatus, GetBucketLifecycleConfigurationInput, GetBucketLifecycleConfigurationOutput,
    LifecycleExpiration, LifecycleRule as RuleSaid, LifecycleRuleAndOperator, LifecycleRuleFilter,
    NoncurrentVersionExpiration, PutBucketLifecycleConfigurationInput,
    PutBucketLifecycleConfigurationOutput, Tag, Timestamp, TimestampFormat,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::new_key;
use slotcast_object::lifecycle::{
    Expiration, FilterForm, LifecycleFilter, LifecycleRule, NoncurrentExpiration, expires,
};
use slotcast_object::{Bucket, DAY_MS, Object};

use crate::errors::{malformed_xml, of_object};
use crate::gateway::Gateway;
use crate::names::{milliseconds, request_key, time_of};
use crate::settings::done;

/// The most rules of a bucket, and letters of the name of one, as AWS documents it.
const MAX_RULES: usize = 1000;
const MAX_ID: usize = 255;

/// The most earlier versions that a rule keeps.
const MAX_NEWER: i32 = 100;

fn days(number: i32, what: &str) -> S3Result<u32> {
    match u32::try_from(number) {
        Ok(days @ 1..) => Ok(days),
        _ => Err(s3_error!(InvalidArgument, "'{what}' for action must be a positive integer")),
    }
}

fn size(number: Option<i64>) -> S3Result<Option<u64>> {
    number.map(u64::try_from).transpose().map_err(|_| malformed_xml())
}

fn tags_of(tags: &[Tag]) -> S3Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for tag in tags {
        let key = tag.key.clone().ok_or_else(malformed_xml)?;
        if all.insert(key, tag.value.clone().unwrap_or_default()).is_some() {
            return Err(s3_error!(InvalidRequest, "Duplicate Tag Keys are not allowed."));
        }
    }
    Ok(all)
}

fn filter_of(said: &RuleSaid) -> S3Result<(LifecycleFilter, FilterForm)> {
    let Some(filter) = &said.filter else {
        let prefix = said.prefix.clone();
        return Ok((LifecycleFilter { prefix, ..LifecycleFilter::default() }, FilterForm::Prefix));
    };
    if said.prefix.is_some() {
        return Err(malformed_xml());
    }
    let is_single = [
        filter.prefix.is_some(),
        filter.tag.is_some(),
        filter.object_size_greater_than.is_some(),
        filter.object_size_less_than.is_some(),
        filter.and.is_some(),
    ];
    if is_single.iter().filter(|is_said| **is_said).count() > 1 {
        return Err(malformed_xml());
    }
    let (filter, form) = match &filter.and {
        None => {
            let tags = tags_of(filter.tag.as_slice())?;
            let filter = LifecycleFilter {
                prefix: filter.prefix.clone(),
                tags,
                larger_than: size(filter.object_size_greater_than)?,
                smaller_than: size(filter.object_size_less_than)?,
            };
            (filter, FilterForm::One)
        }
        Some(and) => {
            let filter = LifecycleFilter {
                prefix: and.prefix.clone(),
                tags: tags_of(and.tags.as_deref().unwrap_or(&[]))?,
                larger_than: size(and.object_size_greater_than)?,
                smaller_than: size(and.object_size_less_than)?,
            };
            (filter, FilterForm::And)
        }
    };
    if let (Some(larger), Some(smaller)) = (filter.larger_than, filter.smaller_than)
        && larger >= smaller
    {
        return Err(s3_error!(
            InvalidRequest,
            "'ObjectSizeLessThan' has to be a value greater than 'ObjectSizeGreaterThan'."
        ));
    }
    Ok((filter, form))
}

fn expiration_of(said: &LifecycleExpiration) -> S3Result<Expiration> {
    match (said.days, &said.date, said.expired_object_delete_marker) {
        (Some(number), None, None) => Ok(Expiration::Days(days(number, "Days")?)),
        (None, Some(date), None) => {
            let at = milliseconds(date);
            match at % DAY_MS {
                0 => Ok(Expiration::At(at)),
                _ => Err(s3_error!(InvalidArgument, "'Date' must be at midnight GMT")),
            }
        }
        (None, None, Some(is_so)) => Ok(Expiration::Markers(is_so)),
        _ => Err(malformed_xml()),
    }
}

fn rule_of(said: &RuleSaid) -> S3Result<LifecycleRule> {
    if said.transitions.is_some() || said.noncurrent_version_transitions.is_some() {
        return Err(s3_error!(
            NotImplemented,
            "Transition is not implemented: all storage classes are kept alike"
        ));
    }
    let is_enabled = match said.status.as_str() {
        ExpirationStatus::ENABLED => true,
        ExpirationStatus::DISABLED => false,
        _ => return Err(malformed_xml()),
    };
    let id = match said.id.clone().filter(|id| !id.is_empty()) {
        Some(id) if id.chars().count() > MAX_ID => {
            return Err(s3_error!(
                InvalidArgument,
                "ID length should not exceed allowed limit of 255"
            ));
        }
        Some(id) => id,
        None => format!("{:032x}", new_key().map_err(of_object)?.0),
    };
    let (filter, form) = filter_of(said)?;
    let expiration = said.expiration.as_ref().map(expiration_of).transpose()?;
    let noncurrent = match &said.noncurrent_version_expiration {
        None => None,
        Some(said) => {
            let number = said.noncurrent_days.ok_or_else(malformed_xml)?;
            let newer = match said.newer_noncurrent_versions {
                None => None,
                Some(newer @ 1..=MAX_NEWER) => Some(newer.unsigned_abs()),
                Some(_) => {
                    return Err(s3_error!(
                        InvalidArgument,
                        "'NewerNoncurrentVersions' must be between 1 and 100"
                    ));
                }
            };
            Some(NoncurrentExpiration { days: days(number, "NoncurrentDays")?, newer })
        }
    };
    let abort_days = match &said.abort_incomplete_multipart_upload {
        None => None,
        Some(said) => {
            let number = said.days_after_initiation.ok_or_else(malformed_xml)?;
            Some(days(number, "DaysAfterInitiation")?)
        }
    };
    if expiration.is_none() && noncurrent.is_none() && abort_days.is_none() {
        return Err(s3_error!(
            InvalidRequest,
            "At least one action needs to be specified in a rule."
        ));
    }
    let is_of_markers = matches!(expiration, Some(Expiration::Markers(_)));
    if (abort_days.is_some() || is_of_markers) && !filter.is_of_names_only() {
        let what = match is_of_markers {
            true => "ExpiredObjectDeleteMarker",
            false => "AbortIncompleteMultipartUpload",
        };
        return Err(s3_error!(
            InvalidRequest,
            "{what} cannot be specified with Tags or ObjectSize."
        ));
    }
    Ok(LifecycleRule { id, is_enabled, filter, form, expiration, noncurrent, abort_days })
}

fn tags_said(tags: BTreeMap<String, String>) -> Vec<Tag> {
    let one = |(key, value)| {
        let mut tag = Tag::default();
        (tag.key, tag.value) = (Some(key), Some(value));
        tag
    };
    tags.into_iter().map(one).collect()
}

fn filter_said(filter: LifecycleFilter, is_and: bool) -> LifecycleRuleFilter {
    let LifecycleFilter { prefix, tags, larger_than, smaller_than } = filter;
    let (larger, smaller) = (
        larger_than.and_then(|size| i64::try_from(size).ok()),
        smaller_than.and_then(|size| i64::try_from(size).ok()),
    );
    let mut said = LifecycleRuleFilter::default();
    if is_and {
        let mut and = LifecycleRuleAndOperator::default();
        and.prefix = prefix;
        and.tags = (!tags.is_empty()).then(|| tags_said(tags));
        (and.object_size_greater_than, and.object_size_less_than) = (larger, smaller);
        said.and = Some(and);
    } else {
        said.prefix = prefix;
        said.tag = tags_said(tags).pop();
        (said.object_size_greater_than, said.object_size_less_than) = (larger, smaller);
    }
    said
}

fn said_of(rule: LifecycleRule) -> RuleSaid {
    let LifecycleRule { id, is_enabled, filter, form, expiration, noncurrent, abort_days } = rule;
    let number = |days: u32| i32::try_from(days).ok();
    let expiration = expiration.map(|expiration| {
        let mut said = LifecycleExpiration::default();
        match expiration {
            Expiration::Days(days) => said.days = number(days),
            Expiration::At(at) => said.date = Some(time_of(at)),
            Expiration::Markers(is_so) => said.expired_object_delete_marker = Some(is_so),
        }
        said
    });
    let noncurrent_version_expiration = noncurrent.map(|NoncurrentExpiration { days, newer }| {
        let mut said = NoncurrentVersionExpiration::default();
        said.noncurrent_days = number(days);
        said.newer_noncurrent_versions = newer.and_then(number);
        said
    });
    let abort_incomplete_multipart_upload = abort_days.map(|days| {
        let mut said = AbortIncompleteMultipartUpload::default();
        said.days_after_initiation = number(days);
        said
    });
    let (prefix, filter) = match form {
        FilterForm::Prefix => (filter.prefix, None),
        FilterForm::One => (None, Some(filter_said(filter, false))),
        FilterForm::And => (None, Some(filter_said(filter, true))),
    };
    let status = if is_enabled { ExpirationStatus::ENABLED } else { ExpirationStatus::DISABLED };
    RuleSaid {
        abort_incomplete_multipart_upload,
        expiration,
        filter,
        id: Some(id),
        noncurrent_version_expiration,
        noncurrent_version_transitions: None,
        prefix,
        status: ExpirationStatus::from_static(status),
        transitions: None,
    }
}

fn rules_of(said: &[RuleSaid]) -> S3Result<Vec<LifecycleRule>> {
    if !(1..=MAX_RULES).contains(&said.len()) {
        return Err(malformed_xml());
    }
    let rules: Vec<LifecycleRule> = said.iter().map(rule_of).collect::<S3Result<_>>()?;
    let ids: BTreeSet<&str> = rules.iter().map(|rule| &rule.id[..]).collect();
    match ids.len() == rules.len() {
        true => Ok(rules),
        false => Err(s3_error!(InvalidArgument, "Rule ID must be unique.")),
    }
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutBucketLifecycleConfigurationInput>,
) -> S3Result<S3Response<PutBucketLifecycleConfigurationOutput>> {
    let key = request_key(&request)?;
    let said = request.input.lifecycle_configuration.as_ref().ok_or_else(malformed_xml)?;
    let rules = rules_of(&said.rules)?;
    let change = |settings: &mut slotcast_object::Settings| settings.lifecycle.clone_from(&rules);
    gateway.set(&request.input.bucket, key, change).await?;
    Ok(S3Response::new(PutBucketLifecycleConfigurationOutput::default()))
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetBucketLifecycleConfigurationInput>,
) -> S3Result<S3Response<GetBucketLifecycleConfigurationOutput>> {
    let rules = gateway.settings(&request.input.bucket).await?.lifecycle;
    if rules.is_empty() {
        return Err(s3_error!(
            NoSuchLifecycleConfiguration,
            "The lifecycle configuration does not exist"
        ));
    }
    let mut output = GetBucketLifecycleConfigurationOutput::default();
    output.rules = Some(rules.into_iter().map(said_of).collect());
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketLifecycleInput>,
) -> S3Result<S3Response<DeleteBucketLifecycleOutput>> {
    let key = request_key(&request)?;
    gateway.set(&request.input.bucket, key, |settings| settings.lifecycle.clear()).await?;
    Ok(done())
}

/// What a client is told of when an object goes (`x-amz-expiration`).
pub(crate) fn told(bucket: &Bucket, name: &str, object: &Object, day: u64) -> Option<String> {
    let (at, rule) = expires(&bucket.settings.lifecycle, name, object, day)?;
    let time: Timestamp = time_of(at);
    let mut text = Vec::new();
    time.format(TimestampFormat::HttpDate, &mut text).ok()?;
    let id = rule.id.replace('"', "%22");
    Some(format!("expiry-date=\"{}\", rule-id=\"{id}\"", String::from_utf8_lossy(&text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(change: impl FnOnce(&mut RuleSaid)) -> RuleSaid {
        let mut rule = said_of(LifecycleRule {
            id: "a".into(),
            is_enabled: true,
            expiration: Some(Expiration::Days(3)),
            ..LifecycleRule::default()
        });
        change(&mut rule);
        rule
    }

    fn refused(change: impl FnOnce(&mut RuleSaid)) -> Option<String> {
        rule_of(&said(change)).err().map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn rules_are_given_back_as_they_were_put() {
        let tags = BTreeMap::from([("k".to_owned(), "v".to_owned())]);
        let filter = LifecycleFilter { prefix: Some("p".into()), tags, ..Default::default() };
        let noncurrent = Some(NoncurrentExpiration { days: 2, newer: Some(5) });
        let rule = LifecycleRule { id: "a".into(), noncurrent, ..LifecycleRule::default() };
        for rule in [
            LifecycleRule { filter: filter.clone(), form: FilterForm::And, ..rule.clone() },
            LifecycleRule { form: FilterForm::One, ..rule.clone() },
            LifecycleRule {
                filter: LifecycleFilter { prefix: Some("p".into()), ..Default::default() },
                is_enabled: true,
                abort_days: Some(1),
                expiration: Some(Expiration::At(DAY_MS)),
                ..rule
            },
        ] {
            assert_eq!(rule_of(&said_of(rule.clone())).ok(), Some(rule));
        }
        let unnamed = rule_of(&said(|rule| rule.id = None)).expect("it is fine");
        assert_eq!(unnamed.id.len(), 32);
    }

    #[test]
    fn rules_that_aws_refuses_are_refused() {
        let expiration = |rule: &mut RuleSaid, days, is_marker| {
            let mut said = LifecycleExpiration::default();
            (said.days, said.expired_object_delete_marker) = (days, is_marker);
            rule.expiration = Some(said);
        };
        assert_eq!(refused(|_| ()), None);
        let is = |code: &str| Some(code.to_owned());
        assert_eq!(refused(|rule| expiration(rule, Some(0), None)), is("InvalidArgument"));
        assert_eq!(refused(|rule| expiration(rule, Some(1), Some(true))), is("MalformedXML"));
        assert_eq!(refused(|rule| expiration(rule, None, None)), is("MalformedXML"));
        assert_eq!(refused(|rule| rule.expiration = None), is("InvalidRequest"));
        assert_eq!(refused(|rule| rule.id = Some("x".repeat(256))), is("InvalidArgument"));
        let status = ExpirationStatus::from_static("enabled");
        assert_eq!(refused(|rule| rule.status = status), is("MalformedXML"));
        let tagged = |rule: &mut RuleSaid| {
            let mut filter = LifecycleRuleFilter::default();
            filter.tag = tags_said([("k".to_owned(), "v".to_owned())].into()).pop();
            rule.filter = Some(filter);
        };
        assert_eq!(refused(tagged), None);
        let both = |rule: &mut RuleSaid| {
            tagged(rule);
            expiration(rule, None, Some(true));
        };
        assert_eq!(refused(both), is("InvalidRequest"));
        let twice = [said(|_| ()), said(|_| ())];
        assert!(rules_of(&twice).is_err_and(|error| error.code().as_str() == "InvalidArgument"));
        assert!(rules_of(&[]).is_err());
    }

    #[test]
    fn what_is_told_names_the_rule_and_the_day() {
        let lifecycle = rules_of(&[said(|_| ())]).expect("it is fine");
        let settings = slotcast_object::Settings { lifecycle, ..Default::default() };
        let bucket = Bucket { settings, ..Bucket::ROOT };
        let object = Object { modified: 1, ..Object::default() };
        let expected = "expiry-date=\"Mon, 05 Jan 1970 00:00:00 GMT\", rule-id=\"a\"";
        assert_eq!(told(&bucket, "x", &object, DAY_MS).as_deref(), Some(expected));
    }
}
