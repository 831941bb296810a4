//! Policies that are there already.

/// Their names, with what they allow and the documents.
pub const CANNED: [(&str, &str, &str); 4] = [
    (
        "readwrite",
        "everything with buckets, objects and content",
        r#"{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": "s3:*", "Resource": "arn:aws:s3:::*"},
  {"Effect": "Allow", "Action": ["slotcast:GetContent", "slotcast:PutContent", "slotcast:GetStatus"], "Resource": "arn:slotcast:::*"}
]}"#,
    ),
    (
        "readonly",
        "lists and reads buckets, objects and content",
        r#"{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["s3:Get*", "s3:List*"], "Resource": "arn:aws:s3:::*"},
  {"Effect": "Allow", "Action": ["slotcast:GetContent", "slotcast:GetStatus"], "Resource": "arn:slotcast:::*"}
]}"#,
    ),
    (
        "writeonly",
        "stores objects and content, and neither reads nor deletes",
        r#"{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:GetBucketLocation"], "Resource": "arn:aws:s3:::*"},
  {"Effect": "Allow", "Action": "slotcast:PutContent", "Resource": "arn:slotcast:::*"}
]}"#,
    ),
    (
        "admin",
        "everything, users among it",
        r#"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}"#,
    ),
];

/// The document of the policy of this name.
pub fn canned(name: &str) -> Option<&'static str> {
    CANNED.iter().find(|(known, ..)| *known == name).map(|(.., document)| *document)
}
