//! Buckets: create, head, delete, list, location, and what is said of them.

use s3s::dto::{
    Bucket as Listed, BucketVersioningStatus, CreateBucketInput, CreateBucketOutput,
    DeleteBucketInput, DeleteBucketOutput, GetBucketLocationInput, GetBucketLocationOutput,
    GetBucketVersioningInput, GetBucketVersioningOutput, HeadBucketInput, HeadBucketOutput,
    ListBucketsInput, ListBucketsOutput, Owner, PutBucketVersioningInput,
    PutBucketVersioningOutput,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::{FoundBucket, NewBucket};
use slotcast_object::{Bucket, BucketLock, From, MAX_PAGE, Name, Versioning};

use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::names::{bucket_name, request_key, time_of};
use crate::refusals;
use crate::settings::check_ownership;

/// The region that clients are told: the one that they take where they are told none.
const REGION: &str = "us-east-1";

/// Whom all buckets and objects belong to.
pub(crate) const OWNER: &str = "slotcast";

/// Whom all buckets and objects belong to.
pub(crate) fn owner() -> Owner {
    let mut owner = Owner::default();
    owner.display_name = Some(OWNER.into());
    owner.id = Some(OWNER.into());
    owner
}

impl Gateway {
    /// The bucket of this name.
    pub(crate) async fn bucket(&self, name: &str) -> S3Result<FoundBucket> {
        self.objects.bucket(&bucket_name(name)?).await.map_err(of_object)
    }

    /// The same as this node has read it some time ago: see [`slotcast_node::Objects::believed`].
    pub(crate) async fn believed(&self, name: &str) -> S3Result<FoundBucket> {
        self.objects.believed(&bucket_name(name)?).await.map_err(of_object)
    }
}

pub(crate) async fn create(
    gateway: &Gateway,
    request: S3Request<CreateBucketInput>,
) -> S3Result<S3Response<CreateBucketOutput>> {
    refusals::check(&request.headers)?;
    let (name, key) = (bucket_name(&request.input.bucket)?, request_key(&request)?);
    if let Some(ownership) = &request.input.object_ownership {
        check_ownership(ownership)?;
    }
    let is_locked = request.input.object_lock_enabled_for_bucket == Some(true);
    let mut wanted = NewBucket::from(if is_locked { Versioning::On } else { Versioning::Off });
    wanted.settings.lock = is_locked.then(BucketLock::default);
    let made = gateway.objects.make_bucket(&name, key, wanted).await;
    made.map_err(of_object)?;
    let mut output = CreateBucketOutput::default();
    output.location = Some(format!("/{name}"));
    Ok(S3Response::new(output))
}

pub(crate) async fn head(
    gateway: &Gateway,
    request: S3Request<HeadBucketInput>,
) -> S3Result<S3Response<HeadBucketOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    let mut output = HeadBucketOutput::default();
    output.bucket_region = Some(REGION.to_owned());
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketInput>,
) -> S3Result<S3Response<DeleteBucketOutput>> {
    let (name, key) = (bucket_name(&request.input.bucket)?, request_key(&request)?);
    gateway.objects.remove_bucket(&name, key).await.map_err(of_object)?;
    Ok(S3Response::with_status(DeleteBucketOutput::default(), axum::http::StatusCode::NO_CONTENT))
}

pub(crate) async fn location(
    gateway: &Gateway,
    request: S3Request<GetBucketLocationInput>,
) -> S3Result<S3Response<GetBucketLocationOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    // Of that region nothing is said.
    Ok(S3Response::new(GetBucketLocationOutput::default()))
}

fn listed(found: &FoundBucket) -> Listed {
    let mut bucket = Listed::default();
    bucket.name = Some(found.name.to_string());
    bucket.creation_date = Some(time_of(found.bucket.created));
    bucket
}

pub(crate) async fn list(
    gateway: &Gateway,
    request: S3Request<ListBucketsInput>,
) -> S3Result<S3Response<ListBucketsOutput>> {
    let ListBucketsInput { continuation_token, max_buckets, prefix, .. } = request.input;
    let limit = match max_buckets {
        None => None,
        Some(limit) => match usize::try_from(limit) {
            Ok(limit @ 1..=10_000) => Some(limit),
            _ => {
                return Err(s3_error!(
                    InvalidArgument,
                    "Argument max-buckets must be an integer between 1 and 10000"
                ));
            }
        },
    };
    let mut from = Some(match continuation_token {
        None => From::Start,
        Some(token) => {
            let wrong =
                |_| s3_error!(InvalidArgument, "The continuation token provided is incorrect");
            From::After(Name::new(token).map_err(wrong)?)
        }
    });
    let mut buckets: Vec<Listed> = Vec::new();
    let mut last = None;
    while let Some(begin) = from.take() {
        let prefix = prefix.as_deref().unwrap_or("");
        let page = gateway.objects.buckets(prefix, begin, MAX_PAGE).await;
        let (found, next) = page.map_err(of_object)?;
        // Native HTTP makes buckets that S3 has no names for.
        let usable = found.iter().filter(|found| s3s::path::check_bucket_name(found.name.as_str()));
        for found in usable {
            if limit.is_some_and(|limit| buckets.len() == limit) {
                last = buckets.last().and_then(|bucket| bucket.name.clone());
                break;
            }
            buckets.push(listed(found));
        }
        from = next.filter(|_| last.is_none());
    }
    let mut output = ListBucketsOutput::default();
    output.buckets = Some(buckets);
    output.owner = Some(owner());
    output.prefix = prefix;
    output.continuation_token = last;
    Ok(S3Response::new(output))
}

pub(crate) async fn versioning(
    gateway: &Gateway,
    request: S3Request<GetBucketVersioningInput>,
) -> S3Result<S3Response<GetBucketVersioningOutput>> {
    let found = gateway.bucket(&request.input.bucket).await?;
    let mut output = GetBucketVersioningOutput::default();
    output.status = match found.bucket.versioning {
        Versioning::Off => None,
        Versioning::On => {
            Some(BucketVersioningStatus::from_static(BucketVersioningStatus::ENABLED))
        }
        Versioning::Suspended => {
            Some(BucketVersioningStatus::from_static(BucketVersioningStatus::SUSPENDED))
        }
    };
    Ok(S3Response::new(output))
}

pub(crate) async fn set_versioning(
    gateway: &Gateway,
    request: S3Request<PutBucketVersioningInput>,
) -> S3Result<S3Response<PutBucketVersioningOutput>> {
    let (name, key) = (bucket_name(&request.input.bucket)?, request_key(&request)?);
    let wanted = &request.input.versioning_configuration;
    if wanted.mfa_delete.as_ref().is_some_and(|mfa| mfa.as_str() == "Enabled") {
        return Err(s3_error!(NotImplemented, "MFA delete is not implemented yet"));
    }
    let versioning = match wanted.status.as_ref().map(|status| status.as_str()) {
        Some(BucketVersioningStatus::ENABLED) => Versioning::On,
        Some(BucketVersioningStatus::SUSPENDED) => Versioning::Suspended,
        _ => {
            return Err(s3_error!(
                IllegalVersioningConfigurationException,
                "The Versioning element must be specified"
            ));
        }
    };
    let change = |bucket: &mut Bucket| bucket.versioning = versioning;
    gateway.objects.amend_bucket(&name, key, change).await.map_err(of_object)?;
    Ok(S3Response::new(PutBucketVersioningOutput::default()))
}
