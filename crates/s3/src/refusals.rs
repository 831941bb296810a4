//! Refusals of what a request asks for and is not there: a client must not believe that it has it.

use axum::http::HeaderMap;
use s3s::{S3Result, s3_error};

/// Canned ACLs that say what is so anyway: objects belong to the owner of their bucket, and only that one has rights.
const OWNERS: [&str; 2] = ["private", "bucket-owner-full-control"];

const GRANTS: [&str; 5] = [
    "x-amz-grant-full-control",
    "x-amz-grant-read",
    "x-amz-grant-read-acp",
    "x-amz-grant-write",
    "x-amz-grant-write-acp",
];

/// Headers that ask for what is not implemented, with what that is.
const MISSING: [(&str, &str); 6] = [
    ("x-amz-server-side-encryption", "Server-side encryption"),
    ("x-amz-server-side-encryption-customer-algorithm", "Encryption with keys of customers"),
    ("x-amz-object-lock-mode", "Object lock"),
    ("x-amz-object-lock-retain-until-date", "Object lock"),
    ("x-amz-object-lock-legal-hold", "Object lock"),
    ("x-amz-write-offset-bytes", "Appending to an object"),
];

/// Refuses a request that stores something and asks for more than is there.
pub(crate) fn check(headers: &HeaderMap) -> S3Result<()> {
    check_acl(headers)?;
    for (name, what) in MISSING {
        if headers.contains_key(name) {
            return Err(s3_error!(NotImplemented, "{what} is not implemented yet ({name})"));
        }
    }
    let locks = headers.get("x-amz-bucket-object-lock-enabled");
    if locks.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true")) {
        return Err(s3_error!(NotImplemented, "Object lock is not implemented yet"));
    }
    Ok(())
}

/// Refuses rights of others.
pub(crate) fn check_acl(headers: &HeaderMap) -> S3Result<()> {
    let acl = headers.get("x-amz-acl").map(|value| value.to_str().unwrap_or(""));
    let is_owners = acl.is_none_or(|acl| OWNERS.contains(&acl));
    if is_owners && !GRANTS.iter().any(|name| headers.contains_key(*name)) {
        return Ok(());
    }
    Err(s3_error!(AccessControlListNotSupported, "The bucket does not allow ACLs"))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn what_is_not_there_is_not_promised() {
        let checked = |name: &'static str, value: &'static str| {
            let headers = HeaderMap::from_iter([(
                axum::http::HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )]);
            check(&headers).map_err(|error| error.code().as_str().to_owned())
        };
        assert_eq!(checked("x-amz-acl", "private"), Ok(()));
        let no_acl = Err("AccessControlListNotSupported".to_owned());
        assert_eq!(checked("x-amz-acl", "public-read"), no_acl);
        assert_eq!(checked("x-amz-grant-read", "id=1"), no_acl);
        let missing = Err("NotImplemented".to_owned());
        assert_eq!(checked("x-amz-server-side-encryption", "AES256"), missing);
        assert_eq!(checked("x-amz-bucket-object-lock-enabled", "true"), missing);
        assert_eq!(checked("x-amz-bucket-object-lock-enabled", "false"), Ok(()));
    }
}
