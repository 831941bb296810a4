//! Refusals of what a request asks for and is not there: a client must not believe that it has it.

use axum::http::HeaderMap;
use s3s::{S3Result, s3_error};

use crate::acl;

/// Headers that ask for what is not implemented, with what that is.
const MISSING: [(&str, &str); 1] = [("x-amz-write-offset-bytes", "Appending to an object")];

/// Refuses a request that stores something and asks for more than is there.
pub(crate) fn check(headers: &HeaderMap) -> S3Result<()> {
    acl::check(headers)?;
    for (name, what) in MISSING {
        if headers.contains_key(name) {
            return Err(s3_error!(NotImplemented, "{what} is not implemented yet ({name})"));
        }
    }
    Ok(())
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
        let no_acl = Err("AccessControlListNotSupported".to_owned());
        assert_eq!(checked("x-amz-acl", "public-read"), no_acl);
        let missing = Err("NotImplemented".to_owned());
        assert_eq!(checked("x-amz-write-offset-bytes", "7"), missing);
    }
}
