//! Settings of buckets: how they are read and changed, and those that are short. Others have files of their own.

use axum::http::StatusCode;
use s3s::dto::{
    DeleteBucketOwnershipControlsInput, DeleteBucketOwnershipControlsOutput,
    DeletePublicAccessBlockInput, DeletePublicAccessBlockOutput, GetBucketOwnershipControlsInput,
    GetBucketOwnershipControlsOutput, GetBucketRequestPaymentInput, GetBucketRequestPaymentOutput,
    GetPublicAccessBlockInput, GetPublicAccessBlockOutput, ObjectOwnership, OwnershipControls,
    OwnershipControlsRule, Payer, PublicAccessBlockConfiguration, PutBucketOwnershipControlsInput,
    PutBucketOwnershipControlsOutput, PutBucketRequestPaymentInput, PutBucketRequestPaymentOutput,
    PutPublicAccessBlockInput, PutPublicAccessBlockOutput,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_object::{PublicAccess, RequestKey, Settings};

use crate::errors::{custom, malformed_xml, of_object};
use crate::gateway::Gateway;
use crate::names::{bucket_name, request_key};

impl Gateway {
    /// What is set of a bucket.
    pub(crate) async fn settings(&self, bucket: &str) -> S3Result<Settings> {
        Ok(self.bucket(bucket).await?.bucket.settings)
    }

    /// Changes it.
    pub(crate) async fn set(
        &self,
        bucket: &str,
        key: RequestKey,
        change: impl Fn(&mut Settings),
    ) -> S3Result<()> {
        let name = bucket_name(bucket)?;
        let changed = self.objects.amend_bucket(&name, key, |of| change(&mut of.settings)).await;
        self.access.policy_changed(&name);
        changed.map_err(of_object).map(drop)
    }
}

/// An answer without content.
pub(crate) fn done<T: Default>() -> S3Response<T> {
    S3Response::with_status(T::default(), StatusCode::NO_CONTENT)
}

/// What is said of ownership, at which only one thing can be said: objects belong to whom their bucket belongs to.
pub(crate) fn check_ownership(ownership: &ObjectOwnership) -> S3Result<()> {
    match ownership.as_str() {
        ObjectOwnership::BUCKET_OWNER_ENFORCED => Ok(()),
        ObjectOwnership::BUCKET_OWNER_PREFERRED | ObjectOwnership::OBJECT_WRITER => Err(s3_error!(
            NotImplemented,
            "Access control lists are not implemented: object ownership is BucketOwnerEnforced"
        )),
        _ => Err(malformed_xml()),
    }
}

pub(crate) async fn put_ownership(
    gateway: &Gateway,
    request: S3Request<PutBucketOwnershipControlsInput>,
) -> S3Result<S3Response<PutBucketOwnershipControlsOutput>> {
    let key = request_key(&request)?;
    let [rule] = &request.input.ownership_controls.rules[..] else { return Err(malformed_xml()) };
    check_ownership(&rule.object_ownership)?;
    gateway.set(&request.input.bucket, key, |settings| settings.has_no_ownership = false).await?;
    Ok(S3Response::new(PutBucketOwnershipControlsOutput::default()))
}

pub(crate) async fn ownership(
    gateway: &Gateway,
    request: S3Request<GetBucketOwnershipControlsInput>,
) -> S3Result<S3Response<GetBucketOwnershipControlsOutput>> {
    if gateway.settings(&request.input.bucket).await?.has_no_ownership {
        return Err(s3_error!(
            OwnershipControlsNotFoundError,
            "The bucket ownership controls were not found"
        ));
    }
    let object_ownership = ObjectOwnership::from_static(ObjectOwnership::BUCKET_OWNER_ENFORCED);
    let rules = vec![OwnershipControlsRule { object_ownership }];
    let mut output = GetBucketOwnershipControlsOutput::default();
    output.ownership_controls = Some(OwnershipControls { rules });
    Ok(S3Response::new(output))
}

pub(crate) async fn delete_ownership(
    gateway: &Gateway,
    request: S3Request<DeleteBucketOwnershipControlsInput>,
) -> S3Result<S3Response<DeleteBucketOwnershipControlsOutput>> {
    let key = request_key(&request)?;
    gateway.set(&request.input.bucket, key, |settings| settings.has_no_ownership = true).await?;
    Ok(done())
}

pub(crate) async fn put_public_access(
    gateway: &Gateway,
    request: S3Request<PutPublicAccessBlockInput>,
) -> S3Result<S3Response<PutPublicAccessBlockOutput>> {
    let key = request_key(&request)?;
    let wanted = &request.input.public_access_block_configuration;
    let access = PublicAccess {
        blocks_acls: wanted.block_public_acls == Some(true),
        ignores_acls: wanted.ignore_public_acls == Some(true),
        blocks_policy: wanted.block_public_policy == Some(true),
        restricts: wanted.restrict_public_buckets == Some(true),
    };
    let change = |settings: &mut Settings| settings.public_access = Some(access);
    gateway.set(&request.input.bucket, key, change).await?;
    Ok(S3Response::new(PutPublicAccessBlockOutput::default()))
}

pub(crate) async fn public_access(
    gateway: &Gateway,
    request: S3Request<GetPublicAccessBlockInput>,
) -> S3Result<S3Response<GetPublicAccessBlockOutput>> {
    let access = gateway.settings(&request.input.bucket).await?.public_access;
    let none = "The public access block configuration was not found";
    let access = access.ok_or_else(|| custom("NoSuchPublicAccessBlockConfiguration", 404, none))?;
    let mut block = PublicAccessBlockConfiguration::default();
    block.block_public_acls = Some(access.blocks_acls);
    block.ignore_public_acls = Some(access.ignores_acls);
    block.block_public_policy = Some(access.blocks_policy);
    block.restrict_public_buckets = Some(access.restricts);
    let mut output = GetPublicAccessBlockOutput::default();
    output.public_access_block_configuration = Some(block);
    Ok(S3Response::new(output))
}

pub(crate) async fn delete_public_access(
    gateway: &Gateway,
    request: S3Request<DeletePublicAccessBlockInput>,
) -> S3Result<S3Response<DeletePublicAccessBlockOutput>> {
    let key = request_key(&request)?;
    gateway.set(&request.input.bucket, key, |settings| settings.public_access = None).await?;
    Ok(done())
}

/// Whoever asks pays for nothing; so does the owner.
pub(crate) async fn payer(
    gateway: &Gateway,
    request: S3Request<GetBucketRequestPaymentInput>,
) -> S3Result<S3Response<GetBucketRequestPaymentOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    let mut output = GetBucketRequestPaymentOutput::default();
    output.payer = Some(Payer::from_static(Payer::BUCKET_OWNER));
    Ok(S3Response::new(output))
}

pub(crate) async fn put_payer(
    gateway: &Gateway,
    request: S3Request<PutBucketRequestPaymentInput>,
) -> S3Result<S3Response<PutBucketRequestPaymentOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    match request.input.request_payment_configuration.payer.as_str() {
        Payer::BUCKET_OWNER => Ok(S3Response::new(PutBucketRequestPaymentOutput::default())),
        Payer::REQUESTER => {
            Err(s3_error!(NotImplemented, "Requester pays is not implemented: nobody pays here"))
        }
        _ => Err(malformed_xml()),
    }
}
