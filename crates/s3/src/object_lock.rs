//! Object lock: of buckets, of new objects, and of those that are there. Whether a version has to be kept is decided in the
//! register of its name.

use axum::http::HeaderMap;
use s3s::dto::{
    DefaultRetention as DefaultSaid, GetObjectLegalHoldInput, GetObjectLegalHoldOutput,
    GetObjectLockConfigurationInput, GetObjectLockConfigurationOutput, GetObjectRetentionInput,
    GetObjectRetentionOutput, ObjectLockConfiguration, ObjectLockEnabled, ObjectLockLegalHold,
    ObjectLockLegalHoldStatus, ObjectLockRetention, ObjectLockRetentionMode, ObjectLockRule,
    PutObjectLegalHoldInput, PutObjectLegalHoldOutput, PutObjectLockConfigurationInput,
    PutObjectLockConfigurationOutput, PutObjectRetentionInput, PutObjectRetentionOutput, Timestamp,
    TimestampFormat,
};
use s3s::{S3Error, S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{Change, FoundBucket, now_ms};
use slotcast_object::{
    Bucket, BucketLock, Condition, DefaultRetention, LockMode, Object, Period, RequestKey,
    Retention, Versioning,
};

use crate::errors::{custom, malformed_xml, of_object};
use crate::gateway::Gateway;
use crate::get::Found;
use crate::names::{milliseconds, request_key, time_of};

/// The longest default, in days and in years, as AWS documents it.
const MAX_DAYS: i32 = 36_500;
const MAX_YEARS: i32 = 100;

fn mode_of(text: &str) -> Option<LockMode> {
    match text {
        ObjectLockRetentionMode::GOVERNANCE => Some(LockMode::Governance),
        ObjectLockRetentionMode::COMPLIANCE => Some(LockMode::Compliance),
        _ => None,
    }
}

/// How a mode is written.
pub(crate) fn mode_text(mode: LockMode) -> &'static str {
    match mode {
        LockMode::Governance => ObjectLockRetentionMode::GOVERNANCE,
        LockMode::Compliance => ObjectLockRetentionMode::COMPLIANCE,
    }
}

/// How a legal hold is written.
pub(crate) fn hold_text(is_held: bool) -> &'static str {
    match is_held {
        true => ObjectLockLegalHoldStatus::ON,
        false => ObjectLockLegalHoldStatus::OFF,
    }
}

fn has_no_lock() -> S3Error {
    s3_error!(InvalidRequest, "Bucket is missing Object Lock Configuration")
}

/// What a request says of the lock of an object that it stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    retention: Option<Retention>,
    hold: Option<bool>,
}

impl Wanted {
    /// What its headers say.
    pub(crate) fn of(headers: &HeaderMap) -> S3Result<Wanted> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or(""));
        let hold = match text("x-amz-object-lock-legal-hold") {
            None => None,
            Some(ObjectLockLegalHoldStatus::ON) => Some(true),
            Some(ObjectLockLegalHoldStatus::OFF) => Some(false),
            Some(_) => {
                return Err(s3_error!(
                    InvalidArgument,
                    "Legal Hold must be either of 'ON' or 'OFF'"
                ));
            }
        };
        let (mode, until) =
            (text("x-amz-object-lock-mode"), text("x-amz-object-lock-retain-until-date"));
        let retention = match (mode, until) {
            (None, None) => None,
            (Some(mode), Some(until)) => {
                let mode = mode_of(mode)
                    .ok_or_else(|| s3_error!(InvalidArgument, "Unknown wormMode directive."))?;
                let until = Timestamp::parse(TimestampFormat::DateTime, until).map_err(|_| {
                    s3_error!(
                        InvalidArgument,
                        "The retain until date must be provided in ISO 8601 format"
                    )
                })?;
                Some(Retention { mode, until: in_future(&until)? })
            }
            _ => {
                return Err(s3_error!(
                    InvalidArgument,
                    "x-amz-object-lock-retain-until-date and x-amz-object-lock-mode must both be supplied"
                ));
            }
        };
        Ok(Wanted { retention, hold })
    }

    /// Whether it says anything.
    pub(crate) fn is_any(self) -> bool {
        self != Wanted::default()
    }

    /// Says so of an object of this bucket.
    pub(crate) fn put(self, object: &mut Object, bucket: &Bucket) -> S3Result<()> {
        if self.is_any() && bucket.settings.lock.is_none() {
            return Err(has_no_lock());
        }
        object.retention = self.retention;
        object.legal_hold = self.hold == Some(true);
        Ok(())
    }

    /// As an upload in parts keeps it until it is completed.
    pub(crate) fn text(self) -> Option<String> {
        let retention = self.retention.map_or("- 0".to_owned(), |retention| {
            format!("{} {}", mode_text(retention.mode), retention.until)
        });
        self.is_any().then(|| format!("{retention} {}", hold_text(self.hold == Some(true))))
    }

    /// What was written so.
    pub(crate) fn read(text: &str) -> Wanted {
        let mut words = text.split(' ');
        let mode = words.next().and_then(mode_of);
        let until = words.next().and_then(|until| until.parse().ok());
        let retention = mode.zip(until).map(|(mode, until)| Retention { mode, until });
        Wanted { retention, hold: words.next().map(|hold| hold == hold_text(true)) }
    }
}

fn in_future(until: &Timestamp) -> S3Result<u64> {
    match milliseconds(until) {
        until if until > now_ms() => Ok(until),
        _ => Err(s3_error!(InvalidArgument, "The retain until date must be in the future!")),
    }
}

/// What a bucket is told of its default.
fn default_of(said: &DefaultSaid) -> S3Result<DefaultRetention> {
    let mode = said.mode.as_ref().and_then(|mode| mode_of(mode.as_str()));
    let mode = mode.ok_or_else(malformed_xml)?;
    let positive = |number: i32, most: i32| match number {
        1.. if number <= most => Ok(number.unsigned_abs()),
        1.. => Err(s3_error!(InvalidArgument, "Default retention period is too large")),
        _ => {
            let message = "Default retention period must be a positive integer value.";
            Err(custom("InvalidRetentionPeriod", 400, message))
        }
    };
    let period = match (said.days, said.years) {
        (Some(days), None) => Period::Days(positive(days, MAX_DAYS)?),
        (None, Some(years)) => Period::Years(positive(years, MAX_YEARS)?),
        _ => return Err(malformed_xml()),
    };
    Ok(DefaultRetention { mode, period })
}

pub(crate) async fn put_configuration(
    gateway: &Gateway,
    request: S3Request<PutObjectLockConfigurationInput>,
) -> S3Result<S3Response<PutObjectLockConfigurationOutput>> {
    let key = request_key(&request)?;
    let said = request.input.object_lock_configuration.as_ref().ok_or_else(malformed_xml)?;
    let is_enabled = said.object_lock_enabled.as_ref().map(ObjectLockEnabled::as_str);
    if is_enabled != Some(ObjectLockEnabled::ENABLED) {
        return Err(malformed_xml());
    }
    let default = match &said.rule {
        None => None,
        Some(rule) => Some(default_of(rule.default_retention.as_ref().ok_or_else(malformed_xml)?)?),
    };
    let bucket = gateway.bucket(&request.input.bucket).await?;
    if bucket.bucket.versioning != Versioning::On {
        return Err(s3_error!(
            InvalidBucketState,
            "Versioning must be 'Enabled' on the bucket to apply a Object Lock configuration"
        ));
    }
    let change = |settings: &mut slotcast_object::Settings| {
        settings.lock = Some(BucketLock { default });
    };
    gateway.set(&request.input.bucket, key, change).await?;
    Ok(S3Response::new(PutObjectLockConfigurationOutput::default()))
}

pub(crate) async fn configuration(
    gateway: &Gateway,
    request: S3Request<GetObjectLockConfigurationInput>,
) -> S3Result<S3Response<GetObjectLockConfigurationOutput>> {
    let lock = gateway.settings(&request.input.bucket).await?.lock;
    let lock = lock.ok_or_else(|| {
        s3_error!(
            ObjectLockConfigurationNotFoundError,
            "Object Lock configuration does not exist for this bucket"
        )
    })?;
    let mut configuration = ObjectLockConfiguration::default();
    configuration.object_lock_enabled =
        Some(ObjectLockEnabled::from_static(ObjectLockEnabled::ENABLED));
    configuration.rule = lock.default.map(|DefaultRetention { mode, period }| {
        let mut default = DefaultSaid::default();
        default.mode = Some(ObjectLockRetentionMode::from_static(mode_text(mode)));
        match period {
            Period::Days(days) => default.days = i32::try_from(days).ok(),
            Period::Years(years) => default.years = i32::try_from(years).ok(),
        }
        let mut rule = ObjectLockRule::default();
        rule.default_retention = Some(default);
        rule
    });
    let mut output = GetObjectLockConfigurationOutput::default();
    output.object_lock_configuration = Some(configuration);
    Ok(S3Response::new(output))
}

impl Gateway {
    /// An object in a bucket that has object lock.
    async fn lockable(
        &self,
        (bucket, key): (&str, &str),
        version: Option<&str>,
    ) -> S3Result<Found> {
        let settings = self.settings(bucket).await?;
        settings.lock.ok_or_else(has_no_lock)?;
        self.find(bucket, key, version).await
    }

    /// Changes the lock of a version.
    async fn lock(
        &self,
        found: &Found,
        (key, bypasses): (RequestKey, bool),
        change: impl Fn(&mut Object),
    ) -> S3Result<()> {
        let place = (&found.bucket, &found.name);
        let when = (Change { key, condition: Condition::Always, bypasses }, None);
        let amended = self.objects.amend(place, Some(found.version.id), when, change).await;
        amended.map_err(of_object).map(drop)
    }
}

pub(crate) async fn put_retention(
    gateway: &Gateway,
    request: S3Request<PutObjectRetentionInput>,
) -> S3Result<S3Response<PutObjectRetentionOutput>> {
    let request_key = request_key(&request)?;
    let PutObjectRetentionInput { bucket, key, version_id, retention, .. } = &request.input;
    let found = gateway.lockable((bucket, key), version_id.as_deref()).await?;
    let said = retention.as_ref().ok_or_else(malformed_xml)?;
    let wanted = match (&said.mode, &said.retain_until_date) {
        // An empty one takes it back.
        (None, None) => None,
        (Some(mode), Some(until)) => {
            let mode = mode_of(mode.as_str()).ok_or_else(malformed_xml)?;
            Some(Retention { mode, until: in_future(until)? })
        }
        _ => return Err(malformed_xml()),
    };
    let bypasses = request.input.bypass_governance_retention == Some(true);
    let change = |object: &mut Object| object.retention = wanted;
    gateway.lock(&found, (request_key, bypasses), change).await?;
    Ok(S3Response::new(PutObjectRetentionOutput::default()))
}

pub(crate) async fn retention(
    gateway: &Gateway,
    request: S3Request<GetObjectRetentionInput>,
) -> S3Result<S3Response<GetObjectRetentionOutput>> {
    let GetObjectRetentionInput { bucket, key, version_id, .. } = &request.input;
    let found = gateway.lockable((bucket, key), version_id.as_deref()).await?;
    let Retention { mode, until } = found.object.retention.ok_or_else(no_lock_of_object)?;
    let mut retention = ObjectLockRetention::default();
    retention.mode = Some(ObjectLockRetentionMode::from_static(mode_text(mode)));
    retention.retain_until_date = Some(time_of(until));
    let mut output = GetObjectRetentionOutput::default();
    output.retention = Some(retention);
    Ok(S3Response::new(output))
}

fn no_lock_of_object() -> S3Error {
    s3_error!(
        NoSuchObjectLockConfiguration,
        "The specified object does not have a ObjectLock configuration"
    )
}

pub(crate) async fn put_hold(
    gateway: &Gateway,
    request: S3Request<PutObjectLegalHoldInput>,
) -> S3Result<S3Response<PutObjectLegalHoldOutput>> {
    let request_key = request_key(&request)?;
    let PutObjectLegalHoldInput { bucket, key, version_id, legal_hold, .. } = &request.input;
    let found = gateway.lockable((bucket, key), version_id.as_deref()).await?;
    let status = legal_hold.as_ref().and_then(|hold| hold.status.as_ref());
    let is_held = match status.map(ObjectLockLegalHoldStatus::as_str) {
        Some(ObjectLockLegalHoldStatus::ON) => true,
        Some(ObjectLockLegalHoldStatus::OFF) => false,
        _ => return Err(malformed_xml()),
    };
    let change = |object: &mut Object| object.legal_hold = is_held;
    gateway.lock(&found, (request_key, false), change).await?;
    Ok(S3Response::new(PutObjectLegalHoldOutput::default()))
}

pub(crate) async fn hold(
    gateway: &Gateway,
    request: S3Request<GetObjectLegalHoldInput>,
) -> S3Result<S3Response<GetObjectLegalHoldOutput>> {
    let GetObjectLegalHoldInput { bucket, key, version_id, .. } = &request.input;
    let found = gateway.lockable((bucket, key), version_id.as_deref()).await?;
    let mut hold = ObjectLockLegalHold::default();
    hold.status = Some(ObjectLockLegalHoldStatus::from_static(hold_text(found.object.legal_hold)));
    let mut output = GetObjectLegalHoldOutput::default();
    output.legal_hold = Some(hold);
    Ok(S3Response::new(output))
}

/// Puts the lock of an object into an answer.
macro_rules! show_lock {
    ($output:expr, $object:expr) => {{
        let object: &slotcast_object::Object = $object;
        if let Some(retention) = object.retention {
            let mode = $crate::object_lock::mode_text(retention.mode);
            $output.object_lock_mode = Some(s3s::dto::ObjectLockMode::from_static(mode));
            $output.object_lock_retain_until_date = Some($crate::names::time_of(retention.until));
        }
        if object.legal_hold {
            let hold = $crate::object_lock::hold_text(true);
            $output.object_lock_legal_hold_status =
                Some(s3s::dto::ObjectLockLegalHoldStatus::from_static(hold));
        }
    }};
}
pub(crate) use show_lock;

/// Whether an object that is copied or uploaded into this bucket may be locked as is wanted.
pub(crate) fn checked(headers: &HeaderMap, bucket: &FoundBucket) -> S3Result<Wanted> {
    let wanted = Wanted::of(headers)?;
    wanted.put(&mut Object::default(), &bucket.bucket)?;
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn wanted(pairs: &[(&'static str, &'static str)]) -> Result<Wanted, String> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers: HeaderMap = pairs.iter().map(pair).collect();
        Wanted::of(&headers).map_err(|error| error.code().as_str().to_owned())
    }

    const MODE: &str = "x-amz-object-lock-mode";
    const UNTIL: &str = "x-amz-object-lock-retain-until-date";
    const HOLD: &str = "x-amz-object-lock-legal-hold";

    #[test]
    fn locks_are_read_as_they_are_written_and_kept() {
        let lock = wanted(&[(MODE, "COMPLIANCE"), (UNTIL, "2093-01-01T00:00:00Z"), (HOLD, "ON")]);
        let lock = lock.expect("it is fine");
        let retention = Retention { mode: LockMode::Compliance, until: 3_881_606_400_000 };
        assert_eq!(lock, Wanted { retention: Some(retention), hold: Some(true) });
        assert_eq!(Wanted::read(&lock.text().expect("it says something")), lock);
        let held = wanted(&[(HOLD, "ON")]).expect("it is fine");
        assert_eq!(Wanted::read(&held.text().expect("it says something")), held);
        assert_eq!(Wanted::default().text(), None);
        let wrong = Err("InvalidArgument".to_owned());
        for pairs in [
            &[(MODE, "COMPLIANCE")][..],
            &[(UNTIL, "2093-01-01T00:00:00Z")],
            &[(MODE, "STRICT"), (UNTIL, "2093-01-01T00:00:00Z")],
            &[(MODE, "GOVERNANCE"), (UNTIL, "1993-01-01T00:00:00Z")],
            &[(MODE, "GOVERNANCE"), (UNTIL, "tomorrow")],
            &[(HOLD, "on")],
        ] {
            assert_eq!(wanted(pairs), wrong, "{pairs:?}");
        }
        let mut object = Object::default();
        assert!(lock.put(&mut object, &Bucket::ROOT).is_err());
    }

    #[test]
    fn defaults_have_one_period() {
        let said = |mode: &'static str, days, years| {
            let mut said = DefaultSaid::default();
            said.mode = Some(ObjectLockRetentionMode::from_static(mode));
            (said.days, said.years) = (days, years);
            default_of(&said).map_err(|error| error.code().as_str().to_owned())
        };
        let governance = ObjectLockRetentionMode::GOVERNANCE;
        assert!(said(governance, Some(1), None).is_ok() && said(governance, None, Some(1)).is_ok());
        let malformed = Err("MalformedXML".to_owned());
        assert_eq!(said(governance, Some(1), Some(1)), malformed);
        assert_eq!(said(governance, None, None), malformed);
        assert_eq!(said("governance", Some(1), None), malformed);
        assert_eq!(said(governance, Some(0), None), Err("InvalidRetentionPeriod".into()));
        assert_eq!(said(governance, Some(36_501), None), Err("InvalidArgument".into()));
    }
}
