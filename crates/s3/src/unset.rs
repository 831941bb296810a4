//! Settings of buckets that cannot be put: who asks for them is told that nothing is set, and to take them away changes nothing.

use s3s::dto::{
    DeleteBucketReplicationInput, DeleteBucketReplicationOutput, DeleteBucketWebsiteInput,
    DeleteBucketWebsiteOutput, GetBucketAccelerateConfigurationInput,
    GetBucketAccelerateConfigurationOutput, GetBucketLoggingInput, GetBucketLoggingOutput,
    GetBucketReplicationInput, GetBucketReplicationOutput, GetBucketWebsiteInput,
    GetBucketWebsiteOutput,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};

use crate::gateway::Gateway;
use crate::settings::done;

/// Functions that say of a bucket that is there that nothing is set.
macro_rules! nothing {
    ($($name:ident($input:ident) -> $output:ident;)*) => {$(
        pub(crate) async fn $name(
            gateway: &Gateway,
            request: S3Request<$input>,
        ) -> S3Result<S3Response<$output>> {
            gateway.bucket(&request.input.bucket).await?;
            Ok(S3Response::new($output::default()))
        }
    )*};
}

/// Functions that take away what is not there.
macro_rules! gone {
    ($($name:ident($input:ident) -> $output:ident;)*) => {$(
        pub(crate) async fn $name(
            gateway: &Gateway,
            request: S3Request<$input>,
        ) -> S3Result<S3Response<$output>> {
            gateway.bucket(&request.input.bucket).await?;
            Ok(done())
        }
    )*};
}

nothing! {
    accelerate(GetBucketAccelerateConfigurationInput) -> GetBucketAccelerateConfigurationOutput;
    logging(GetBucketLoggingInput) -> GetBucketLoggingOutput;
}

gone! {
    delete_replication(DeleteBucketReplicationInput) -> DeleteBucketReplicationOutput;
    delete_website(DeleteBucketWebsiteInput) -> DeleteBucketWebsiteOutput;
}

pub(crate) async fn replication(
    gateway: &Gateway,
    request: S3Request<GetBucketReplicationInput>,
) -> S3Result<S3Response<GetBucketReplicationOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    Err(s3_error!(
        ReplicationConfigurationNotFoundError,
        "The replication configuration was not found"
    ))
}

pub(crate) async fn website(
    gateway: &Gateway,
    request: S3Request<GetBucketWebsiteInput>,
) -> S3Result<S3Response<GetBucketWebsiteOutput>> {
    gateway.bucket(&request.input.bucket).await?;
    Err(s3_error!(
        NoSuchWebsiteConfiguration,
        "The specified bucket does not have a website configuration"
    ))
}
