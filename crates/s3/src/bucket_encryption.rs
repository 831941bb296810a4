//! What a bucket says of the encryption of what is put into it.

use s3s::dto::{
    DeleteBucketEncryptionInput, DeleteBucketEncryptionOutput, GetBucketEncryptionInput,
    GetBucketEncryptionOutput, PutBucketEncryptionInput, PutBucketEncryptionOutput,
    ServerSideEncryption, ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration,
    ServerSideEncryptionRule,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};

use crate::encryption::{AES256, no_kms};
use crate::errors::{custom, malformed_xml, of_content};
use crate::gateway::Gateway;
use crate::names::request_key;
use crate::settings::done;

/// Refuses rules but the one that there is.
fn check(rules: &[ServerSideEncryptionRule]) -> S3Result<()> {
    let [rule] = rules else { return Err(malformed_xml()) };
    let default =
        rule.apply_server_side_encryption_by_default.as_ref().ok_or_else(malformed_xml)?;
    match default.sse_algorithm.as_str() {
        AES256 if default.kms_master_key_id.is_none() => Ok(()),
        AES256 => Err(s3_error!(
            InvalidArgument,
            "a KMSMasterKeyID is not applicable if the default sse algorithm is not aws:kms"
        )),
        method if method.starts_with("aws:kms") => Err(no_kms()),
        _ => Err(malformed_xml()),
    }
}

pub(crate) async fn put(
    gateway: &Gateway,
    request: S3Request<PutBucketEncryptionInput>,
) -> S3Result<S3Response<PutBucketEncryptionOutput>> {
    let key = request_key(&request)?;
    check(&request.input.server_side_encryption_configuration.rules)?;
    // Else nothing could be put into it any more.
    gateway.objects.can_encrypt().map_err(|error| of_content(&error.into()))?;
    gateway.set(&request.input.bucket, key, |settings| settings.encrypts = true).await?;
    Ok(S3Response::new(PutBucketEncryptionOutput::default()))
}

pub(crate) async fn get(
    gateway: &Gateway,
    request: S3Request<GetBucketEncryptionInput>,
) -> S3Result<S3Response<GetBucketEncryptionOutput>> {
    if !gateway.settings(&request.input.bucket).await?.encrypts {
        // The library has another status for it.
        let code = "ServerSideEncryptionConfigurationNotFoundError";
        return Err(custom(code, 404, "The server side encryption configuration was not found"));
    }
    let default = ServerSideEncryptionByDefault {
        kms_master_key_id: None,
        sse_algorithm: ServerSideEncryption::from_static(AES256),
    };
    let rule = ServerSideEncryptionRule {
        apply_server_side_encryption_by_default: Some(default),
        bucket_key_enabled: Some(false),
    };
    let mut output = GetBucketEncryptionOutput::default();
    output.server_side_encryption_configuration =
        Some(ServerSideEncryptionConfiguration { rules: vec![rule] });
    Ok(S3Response::new(output))
}

pub(crate) async fn delete(
    gateway: &Gateway,
    request: S3Request<DeleteBucketEncryptionInput>,
) -> S3Result<S3Response<DeleteBucketEncryptionOutput>> {
    let key = request_key(&request)?;
    gateway.set(&request.input.bucket, key, |settings| settings.encrypts = false).await?;
    Ok(done())
}
