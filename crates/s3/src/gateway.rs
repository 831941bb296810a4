//! The operations. Each is carried out by a function of its own; what is not here answers `NotImplemented` with its name,
//! as the trait of `s3s` does.

use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result};
use slotcast_node::access::Access;
use slotcast_node::{FoundBucket, Objects};
use slotcast_object::{Condition, Name, RequestKey};

use crate::conditions::Wanted;
use crate::errors::of_object;
use crate::{
    acl, attributes, bucket_encryption, bucket_policy, buckets, copy, cors, delete, get, lifecycle,
    listing, multipart, notification, object_lock, parts, put, settings, tagging, unset, versions,
};

/// What carries out the operations.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    pub(crate) objects: Objects,
    pub(crate) access: Access,
}

impl Gateway {
    pub(crate) fn new(objects: Objects, access: Access) -> Gateway {
        Gateway { objects, access }
    }

    /// What must hold of a name, where a request asks for something. The name is read only then.
    pub(crate) async fn condition(
        &self,
        wanted: &Wanted,
        (bucket, name): (&FoundBucket, &Name),
        key: RequestKey,
    ) -> S3Result<Condition> {
        if !wanted.is_any() {
            return Ok(Condition::Always);
        }
        let (record, _) = self.objects.record(bucket, name).await.map_err(of_object)?;
        wanted.of(record.as_ref(), key)
    }
}

/// Operations, each with the function that carries it out.
macro_rules! operations {
    ($($method:ident($input:ident) -> $output:ident: $path:path;)*) => {
        #[async_trait::async_trait]
        impl S3 for Gateway {
            $(async fn $method(&self, request: S3Request<$input>) -> S3Result<S3Response<$output>> {
                $path(self, request).await
            })*
        }
    };
}

operations! {
    create_bucket(CreateBucketInput) -> CreateBucketOutput: buckets::create;
    head_bucket(HeadBucketInput) -> HeadBucketOutput: buckets::head;
    delete_bucket(DeleteBucketInput) -> DeleteBucketOutput: buckets::delete;
    list_buckets(ListBucketsInput) -> ListBucketsOutput: buckets::list;
    get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput: buckets::location;
    get_bucket_acl(GetBucketAclInput) -> GetBucketAclOutput: acl::of_bucket;
    get_object_acl(GetObjectAclInput) -> GetObjectAclOutput: acl::of_object;
    put_bucket_acl(PutBucketAclInput) -> PutBucketAclOutput: acl::put_of_bucket;
    put_object_acl(PutObjectAclInput) -> PutObjectAclOutput: acl::put_of_object;
    get_bucket_ownership_controls(GetBucketOwnershipControlsInput) -> GetBucketOwnershipControlsOutput: settings::ownership;
    put_bucket_ownership_controls(PutBucketOwnershipControlsInput) -> PutBucketOwnershipControlsOutput: settings::put_ownership;
    delete_bucket_ownership_controls(DeleteBucketOwnershipControlsInput) -> DeleteBucketOwnershipControlsOutput: settings::delete_ownership;
    get_public_access_block(GetPublicAccessBlockInput) -> GetPublicAccessBlockOutput: settings::public_access;
    put_public_access_block(PutPublicAccessBlockInput) -> PutPublicAccessBlockOutput: settings::put_public_access;
    delete_public_access_block(DeletePublicAccessBlockInput) -> DeletePublicAccessBlockOutput: settings::delete_public_access;
    get_bucket_request_payment(GetBucketRequestPaymentInput) -> GetBucketRequestPaymentOutput: settings::payer;
    put_bucket_request_payment(PutBucketRequestPaymentInput) -> PutBucketRequestPaymentOutput: settings::put_payer;
    get_bucket_accelerate_configuration(GetBucketAccelerateConfigurationInput) -> GetBucketAccelerateConfigurationOutput: unset::accelerate;
    get_bucket_logging(GetBucketLoggingInput) -> GetBucketLoggingOutput: unset::logging;
    get_bucket_notification_configuration(GetBucketNotificationConfigurationInput) -> GetBucketNotificationConfigurationOutput: notification::get;
    put_bucket_notification_configuration(PutBucketNotificationConfigurationInput) -> PutBucketNotificationConfigurationOutput: notification::put;
    get_bucket_encryption(GetBucketEncryptionInput) -> GetBucketEncryptionOutput: bucket_encryption::get;
    put_bucket_encryption(PutBucketEncryptionInput) -> PutBucketEncryptionOutput: bucket_encryption::put;
    delete_bucket_encryption(DeleteBucketEncryptionInput) -> DeleteBucketEncryptionOutput: bucket_encryption::delete;
    get_bucket_replication(GetBucketReplicationInput) -> GetBucketReplicationOutput: unset::replication;
    delete_bucket_replication(DeleteBucketReplicationInput) -> DeleteBucketReplicationOutput: unset::delete_replication;
    get_bucket_website(GetBucketWebsiteInput) -> GetBucketWebsiteOutput: unset::website;
    delete_bucket_website(DeleteBucketWebsiteInput) -> DeleteBucketWebsiteOutput: unset::delete_website;
    get_bucket_cors(GetBucketCorsInput) -> GetBucketCorsOutput: cors::get;
    put_bucket_cors(PutBucketCorsInput) -> PutBucketCorsOutput: cors::put;
    delete_bucket_cors(DeleteBucketCorsInput) -> DeleteBucketCorsOutput: cors::delete;
    get_bucket_lifecycle_configuration(GetBucketLifecycleConfigurationInput) -> GetBucketLifecycleConfigurationOutput: lifecycle::get;
    put_bucket_lifecycle_configuration(PutBucketLifecycleConfigurationInput) -> PutBucketLifecycleConfigurationOutput: lifecycle::put;
    delete_bucket_lifecycle(DeleteBucketLifecycleInput) -> DeleteBucketLifecycleOutput: lifecycle::delete;
    get_object_lock_configuration(GetObjectLockConfigurationInput) -> GetObjectLockConfigurationOutput: object_lock::configuration;
    put_object_lock_configuration(PutObjectLockConfigurationInput) -> PutObjectLockConfigurationOutput: object_lock::put_configuration;
    get_object_retention(GetObjectRetentionInput) -> GetObjectRetentionOutput: object_lock::retention;
    put_object_retention(PutObjectRetentionInput) -> PutObjectRetentionOutput: object_lock::put_retention;
    get_object_legal_hold(GetObjectLegalHoldInput) -> GetObjectLegalHoldOutput: object_lock::hold;
    put_object_legal_hold(PutObjectLegalHoldInput) -> PutObjectLegalHoldOutput: object_lock::put_hold;
    list_objects(ListObjectsInput) -> ListObjectsOutput: listing::list;
    list_objects_v2(ListObjectsV2Input) -> ListObjectsV2Output: listing::list_v2;
    put_object(PutObjectInput) -> PutObjectOutput: put::put;
    get_object(GetObjectInput) -> GetObjectOutput: get::get;
    head_object(HeadObjectInput) -> HeadObjectOutput: get::head;
    delete_object(DeleteObjectInput) -> DeleteObjectOutput: delete::delete;
    delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput: delete::delete_many;
    copy_object(CopyObjectInput) -> CopyObjectOutput: copy::copy;
    get_bucket_versioning(GetBucketVersioningInput) -> GetBucketVersioningOutput: buckets::versioning;
    put_bucket_versioning(PutBucketVersioningInput) -> PutBucketVersioningOutput: buckets::set_versioning;
    list_object_versions(ListObjectVersionsInput) -> ListObjectVersionsOutput: versions::list;
    get_object_attributes(GetObjectAttributesInput) -> GetObjectAttributesOutput: attributes::get;
    create_multipart_upload(CreateMultipartUploadInput) -> CreateMultipartUploadOutput: multipart::create;
    complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput: multipart::complete;
    abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput: multipart::abort;
    upload_part(UploadPartInput) -> UploadPartOutput: parts::put;
    upload_part_copy(UploadPartCopyInput) -> UploadPartCopyOutput: parts::copy;
    list_parts(ListPartsInput) -> ListPartsOutput: parts::list;
    list_multipart_uploads(ListMultipartUploadsInput) -> ListMultipartUploadsOutput: parts::uploads;
    get_object_tagging(GetObjectTaggingInput) -> GetObjectTaggingOutput: tagging::get;
    put_object_tagging(PutObjectTaggingInput) -> PutObjectTaggingOutput: tagging::put;
    delete_object_tagging(DeleteObjectTaggingInput) -> DeleteObjectTaggingOutput: tagging::delete;
    get_bucket_tagging(GetBucketTaggingInput) -> GetBucketTaggingOutput: tagging::get_of_bucket;
    get_bucket_policy(GetBucketPolicyInput) -> GetBucketPolicyOutput: bucket_policy::get;
    put_bucket_policy(PutBucketPolicyInput) -> PutBucketPolicyOutput: bucket_policy::put;
    delete_bucket_policy(DeleteBucketPolicyInput) -> DeleteBucketPolicyOutput: bucket_policy::delete;
    get_bucket_policy_status(GetBucketPolicyStatusInput) -> GetBucketPolicyStatusOutput: bucket_policy::status;
    put_bucket_tagging(PutBucketTaggingInput) -> PutBucketTaggingOutput: tagging::put_of_bucket;
    delete_bucket_tagging(DeleteBucketTaggingInput) -> DeleteBucketTaggingOutput: tagging::delete_of_bucket;
}
