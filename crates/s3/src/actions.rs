//! Which action of policies each operation of S3 is. What is not here is for the root alone.

/// What an operation is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    /// All buckets.
    Buckets,
    /// The bucket in the path.
    Bucket,
    /// The names of the bucket in the path that begin as the query says.
    Names,
    /// The object in the path.
    Object,
    /// Objects that the content of the request names: each of them is looked at when that was read.
    Named,
}

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Action {
    /// The action.
    pub(crate) action: &'static str,
    /// The action where a version is asked for.
    pub(crate) of_version: &'static str,
    pub(crate) on: On,
}

const fn action(on: On, action: &'static str) -> Option<Action> {
    Some(Action { action, of_version: action, on })
}

const fn versioned(action: &'static str, of_version: &'static str) -> Option<Action> {
    Some(Action { action, of_version, on: On::Object })
}

/// What the operation of this name needs; none if nothing is known of it.
pub(crate) fn of(operation: &str) -> Option<Action> {
    of_object(operation).or_else(|| of_bucket(operation))
}

fn of_object(operation: &str) -> Option<Action> {
    use On::{Named, Object};
    match operation {
        "AbortMultipartUpload" => action(Object, "s3:AbortMultipartUpload"),
        "CompleteMultipartUpload"
        | "CopyObject"
        | "CreateMultipartUpload"
        | "PutObject"
        | "UploadPart"
        | "UploadPartCopy" => action(Object, "s3:PutObject"),
        "DeleteObject" => versioned("s3:DeleteObject", "s3:DeleteObjectVersion"),
        "DeleteObjects" => action(Named, "s3:DeleteObject"),
        "DeleteObjectTagging" => {
            versioned("s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging")
        }
        "GetObject" | "HeadObject" | "SelectObjectContent" => {
            versioned("s3:GetObject", "s3:GetObjectVersion")
        }
        "GetObjectAcl" => versioned("s3:GetObjectAcl", "s3:GetObjectVersionAcl"),
        "GetObjectAttributes" => {
            versioned("s3:GetObjectAttributes", "s3:GetObjectVersionAttributes")
        }
        "GetObjectLegalHold" => action(Object, "s3:GetObjectLegalHold"),
        "GetObjectRetention" => action(Object, "s3:GetObjectRetention"),
        "GetObjectTagging" => versioned("s3:GetObjectTagging", "s3:GetObjectVersionTagging"),
        "GetObjectTorrent" => action(Object, "s3:GetObjectTorrent"),
        "ListParts" => action(Object, "s3:ListMultipartUploadParts"),
        "PutObjectAcl" => versioned("s3:PutObjectAcl", "s3:PutObjectVersionAcl"),
        "PutObjectLegalHold" => action(Object, "s3:PutObjectLegalHold"),
        "PutObjectRetention" => action(Object, "s3:PutObjectRetention"),
        "PutObjectTagging" => versioned("s3:PutObjectTagging", "s3:PutObjectVersionTagging"),
        "RestoreObject" => action(Object, "s3:RestoreObject"),
        _ => None,
    }
}

fn of_bucket(operation: &str) -> Option<Action> {
    let name = match operation {
        "ListBuckets" => return action(On::Buckets, "s3:ListAllMyBuckets"),
        "HeadBucket" | "ListObjects" | "ListObjectsV2" => {
            return action(On::Names, "s3:ListBucket");
        }
        "ListObjectVersions" => return action(On::Names, "s3:ListBucketVersions"),
        "ListMultipartUploads" => return action(On::Names, "s3:ListBucketMultipartUploads"),
        "CreateBucket" => "s3:CreateBucket",
        "DeleteBucket" => "s3:DeleteBucket",
        "DeleteBucketAnalyticsConfiguration" | "PutBucketAnalyticsConfiguration" => {
            "s3:PutAnalyticsConfiguration"
        }
        "DeleteBucketCors" | "PutBucketCors" => "s3:PutBucketCORS",
        "DeleteBucketEncryption" | "PutBucketEncryption" => "s3:PutEncryptionConfiguration",
        "DeleteBucketIntelligentTieringConfiguration"
        | "PutBucketIntelligentTieringConfiguration" => "s3:PutIntelligentTieringConfiguration",
        "DeleteBucketInventoryConfiguration" | "PutBucketInventoryConfiguration" => {
            "s3:PutInventoryConfiguration"
        }
        "DeleteBucketLifecycle" | "PutBucketLifecycleConfiguration" => {
            "s3:PutLifecycleConfiguration"
        }
        "CreateBucketMetadataTableConfiguration" | "DeleteBucketMetadataTableConfiguration" => {
            "s3:PutBucketMetadataTableConfiguration"
        }
        "DeleteBucketMetricsConfiguration" | "PutBucketMetricsConfiguration" => {
            "s3:PutMetricsConfiguration"
        }
        "DeleteBucketOwnershipControls" | "PutBucketOwnershipControls" => {
            "s3:PutBucketOwnershipControls"
        }
        "DeleteBucketPolicy" => "s3:DeleteBucketPolicy",
        "DeleteBucketReplication" | "PutBucketReplication" => "s3:PutReplicationConfiguration",
        "DeleteBucketTagging" | "PutBucketTagging" => "s3:PutBucketTagging",
        "DeleteBucketWebsite" => "s3:DeleteBucketWebsite",
        "DeletePublicAccessBlock" | "PutPublicAccessBlock" => "s3:PutBucketPublicAccessBlock",
        "PutBucketAccelerateConfiguration" => "s3:PutAccelerateConfiguration",
        "PutBucketAcl" => "s3:PutBucketAcl",
        "PutBucketLogging" => "s3:PutBucketLogging",
        "PutBucketNotificationConfiguration" => "s3:PutBucketNotification",
        "PutBucketPolicy" => "s3:PutBucketPolicy",
        "PutBucketRequestPayment" => "s3:PutBucketRequestPayment",
        "PutBucketVersioning" => "s3:PutBucketVersioning",
        "PutBucketWebsite" => "s3:PutBucketWebsite",
        "PutObjectLockConfiguration" => "s3:PutBucketObjectLockConfiguration",
        _ => reading_bucket(operation)?,
    };
    action(On::Bucket, name)
}

fn reading_bucket(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "GetBucketAccelerateConfiguration" => "s3:GetAccelerateConfiguration",
        "GetBucketAcl" => "s3:GetBucketAcl",
        "GetBucketAnalyticsConfiguration" | "ListBucketAnalyticsConfigurations" => {
            "s3:GetAnalyticsConfiguration"
        }
        "GetBucketCors" => "s3:GetBucketCORS",
        "GetBucketEncryption" => "s3:GetEncryptionConfiguration",
        "GetBucketIntelligentTieringConfiguration"
        | "ListBucketIntelligentTieringConfigurations" => "s3:GetIntelligentTieringConfiguration",
        "GetBucketInventoryConfiguration" | "ListBucketInventoryConfigurations" => {
            "s3:GetInventoryConfiguration"
        }
        "GetBucketLifecycleConfiguration" => "s3:GetLifecycleConfiguration",
        "GetBucketLocation" => "s3:GetBucketLocation",
        "GetBucketLogging" => "s3:GetBucketLogging",
        "GetBucketMetadataTableConfiguration" => "s3:GetBucketMetadataTableConfiguration",
        "GetBucketMetricsConfiguration" | "ListBucketMetricsConfigurations" => {
            "s3:GetMetricsConfiguration"
        }
        "GetBucketNotificationConfiguration" => "s3:GetBucketNotification",
        "GetBucketOwnershipControls" => "s3:GetBucketOwnershipControls",
        "GetBucketPolicy" => "s3:GetBucketPolicy",
        "GetBucketPolicyStatus" => "s3:GetBucketPolicyStatus",
        "GetBucketReplication" => "s3:GetReplicationConfiguration",
        "GetBucketRequestPayment" => "s3:GetBucketRequestPayment",
        "GetBucketTagging" => "s3:GetBucketTagging",
        "GetBucketVersioning" => "s3:GetBucketVersioning",
        "GetBucketWebsite" => "s3:GetBucketWebsite",
        "GetObjectLockConfiguration" => "s3:GetBucketObjectLockConfiguration",
        "GetPublicAccessBlock" => "s3:GetBucketPublicAccessBlock",
        _ => return None,
    })
}

/// Headers with which a request does more than its operation says, with the actions that these need.
pub(crate) const BY_HEADER: [(&str, &str); 5] = [
    ("x-amz-bypass-governance-retention", "s3:BypassGovernanceRetention"),
    ("x-amz-object-lock-legal-hold", "s3:PutObjectLegalHold"),
    ("x-amz-object-lock-mode", "s3:PutObjectRetention"),
    ("x-amz-object-lock-retain-until-date", "s3:PutObjectRetention"),
    ("x-amz-tagging", "s3:PutObjectTagging"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_actions_are_known_to_policies() {
        let source = include_str!("actions.rs");
        let is_name = |text: &&str| text.starts_with("s3:") && text.len() > 3;
        let named: Vec<&str> = source.split('"').filter(is_name).collect();
        assert!(named.len() > 80, "{}", named.len());
        for action in named {
            assert!(slotcast_policy::is_action(action), "{action}");
        }
    }

    #[test]
    fn operations_of_the_gateway_have_an_action() {
        // `list_objects_v2(ListObjectsV2Input) -> …` of the table of operations.
        let source = include_str!("gateway.rs");
        let operations: Vec<&str> = source
            .lines()
            .filter_map(|line| line.trim().split_once('(')?.1.split_once("Input) -> "))
            .map(|(operation, _)| operation)
            .collect();
        assert!(operations.len() > 30, "{operations:?}");
        for operation in operations {
            assert!(of(operation).is_some(), "{operation}");
        }
        assert_eq!(of("CreateSession"), None);
        // Forms are answered before the library, which asks for no action where they name a key.
        assert_eq!(of("PostObject"), None);
    }
}
