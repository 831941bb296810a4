//! Policies of buckets.

use s3s::dto::{
    DeleteBucketPolicyInput, DeleteBucketPolicyOutput, GetBucketPolicyInput, GetBucketPolicyOutput,
    GetBucketPolicyStatusInput, GetBucketPolicyStatusOutput, PolicyStatus, PutBucketPolicyInput,
    PutBucketPolicyOutput,
};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use slotcast_object::RequestKey;
use slotcast_policy::Policy;

use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::names::{bucket_name, request_key};

impl Gateway {
    async fn policy_of(&self, bucket: &str) -> S3Result<String> {
        let found = self.bucket(bucket).await?;
        let none = || s3_error!(NoSuchBucketPolicy, "The bucket policy does not exist");
        found.bucket.policy.ok_or_else(none)
    }

    async fn set_policy(
        &self,
        bucket: &str,
        key: RequestKey,
        policy: Option<String>,
    ) -> S3Result<()> {
        let name = bucket_name(bucket)?;
        let changed = self.objects.amend_bucket(&name, key, |of| of.policy.clone_from(&policy));
        let changed = changed.await;
        self.access.policy_changed(&name);
        changed.map_err(of_object).map(drop)
    }
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutBucketPolicyInput>,
) -> S3Result<S3Response<PutBucketPolicyOutput>> {
    let key = request_key(&request)?;
    let PutBucketPolicyInput { bucket, policy, .. } = request.input;
    let read = Policy::of_bucket(&policy, &bucket)
        .map_err(|error| S3Error::with_message(S3ErrorCode::MalformedPolicy, error.to_string()))?;
    if read.is_public()
        && gateway.settings(&bucket).await?.public_access.is_some_and(|access| access.blocks_policy)
    {
        return Err(s3_error!(
            AccessDenied,
            "Access Denied: public policies are blocked by the BlockPublicPolicy setting"
        ));
    }
    gateway.set_policy(&bucket, key, Some(policy)).await?;
    Ok(S3Response::new(PutBucketPolicyOutput::default()))
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetBucketPolicyInput>,
) -> S3Result<S3Response<GetBucketPolicyOutput>> {
    let mut output = GetBucketPolicyOutput::default();
    output.policy = Some(gateway.policy_of(&request.input.bucket).await?);
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketPolicyInput>,
) -> S3Result<S3Response<DeleteBucketPolicyOutput>> {
    gateway.set_policy(&request.input.bucket, request_key(&request)?, None).await?;
    let status = axum::http::StatusCode::NO_CONTENT;
    Ok(S3Response::with_status(DeleteBucketPolicyOutput::default(), status))
}

pub(crate) async fn status(
    gateway: &Gateway,
    request: S3Request<GetBucketPolicyStatusInput>,
) -> S3Result<S3Response<GetBucketPolicyStatusOutput>> {
    let bucket = &request.input.bucket;
    let text = gateway.policy_of(bucket).await?;
    let policy = Policy::of_bucket(&text, bucket);
    let mut status = PolicyStatus::default();
    status.is_public = Some(policy.is_ok_and(|policy| policy.is_public()));
    let mut output = GetBucketPolicyStatusOutput::default();
    output.policy_status = Some(status);
    Ok(S3Response::new(output))
}
