//! What clients are told when something goes wrong, with the codes that AWS documents.

use s3s::{S3Error, S3ErrorCode, s3_error};
use slotcast_node::{ContentError, EncryptionError, ObjectError};
use slotcast_object::NameFailure;

/// What content whose length was not known says when it gets too long.
pub(crate) const TOO_LONG: &str = "more came than may be stored";

/// A code that `s3s` has no name for.
pub(crate) fn custom(code: &'static str, status: u16, message: impl Into<String>) -> S3Error {
    let mut error = S3Error::with_message(S3ErrorCode::Custom(code.into()), message.into());
    if let Ok(status) = axum::http::StatusCode::from_u16(status) {
        error.set_status_code(status);
    }
    error
}

/// What was sent is not the XML that was expected.
pub(crate) fn malformed_xml() -> S3Error {
    s3_error!(
        MalformedXML,
        "The XML you provided was not well-formed or did not validate against our published schema"
    )
}

/// A condition of a request does not hold.
pub(crate) fn precondition_failed() -> S3Error {
    s3_error!(PreconditionFailed, "At least one of the pre-conditions you specified did not hold")
}

/// Less came than was announced, or it broke off.
pub(crate) fn incomplete() -> S3Error {
    s3_error!(
        IncompleteBody,
        "You did not provide the number of bytes specified by the Content-Length HTTP header."
    )
}

/// There is no such object.
pub(crate) fn no_such_key() -> S3Error {
    s3_error!(NoSuchKey, "The specified key does not exist.")
}

/// What `error` means to a client.
pub(crate) fn of_object(error: ObjectError) -> S3Error {
    let text = error.to_string();
    match error {
        ObjectError::Content(error) => of_content(&error),
        ObjectError::NoName(_) => S3Error::with_message(S3ErrorCode::InvalidArgument, text),
        ObjectError::NoBucket(_) | ObjectError::Removed(_) => {
            s3_error!(NoSuchBucket, "The specified bucket does not exist")
        }
        ObjectError::BucketExists(_) => s3_error!(
            BucketAlreadyOwnedByYou,
            "Your previous request to create the named bucket succeeded and you already own it."
        ),
        ObjectError::NotEmpty(..) | ObjectError::InUse(_) => {
            s3_error!(BucketNotEmpty, "The bucket you tried to delete is not empty")
        }
        ObjectError::NoObject(_) | ObjectError::Deleted(..) => no_such_key(),
        ObjectError::NoVersion(..) => {
            s3_error!(NoSuchVersion, "The specified version does not exist.")
        }
        ObjectError::Marker(..) => {
            s3_error!(
                MethodNotAllowed,
                "The specified method is not allowed against this resource."
            )
        }
        ObjectError::Condition(_) | ObjectError::BucketChanged(..) => precondition_failed(),
        ObjectError::Metadata(_) => S3Error::with_message(S3ErrorCode::MetadataTooLarge, text),
        ObjectError::NoUpload(..) => s3_error!(
            NoSuchUpload,
            "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed."
        ),
        ObjectError::TooManyVersions => S3Error::with_message(S3ErrorCode::InvalidRequest, text),
        ObjectError::Names(
            NameFailure::Unavailable | NameFailure::Missing | NameFailure::Overtaken,
        ) => S3Error::with_message(S3ErrorCode::ServiceUnavailable, text),
        // Whether it took effect is not known: a client that asks again with the same invocation id is told.
        ObjectError::Names(NameFailure::Unknown) => {
            S3Error::with_message(S3ErrorCode::InternalError, text)
        }
        ObjectError::Refused(error) => match error.downcast::<S3Error>() {
            Ok(error) => *error,
            Err(error) => S3Error::with_message(S3ErrorCode::InvalidRequest, error.to_string()),
        },
        ObjectError::Locked => {
            s3_error!(AccessDenied, "Access Denied because object protected by object lock.")
        }
        ObjectError::LockedBucket(_) => s3_error!(
            InvalidBucketState,
            "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
        ),
        ObjectError::OtherKind(_) => S3Error::with_message(S3ErrorCode::InternalError, text),
    }
}

/// What `error` means to a client.
pub(crate) fn of_content(error: &ContentError) -> S3Error {
    let text = error.to_string();
    let code = match error {
        ContentError::BrokeOff(why) if why.contains("Sha256Mismatch") => {
            let message =
                "The provided 'x-amz-content-sha256' header does not match what was computed.";
            return custom("XAmzContentSHA256Mismatch", 400, message);
        }
        ContentError::BrokeOff(why) if why.contains("SignatureMismatch") => {
            return s3_error!(
                SignatureDoesNotMatch,
                "The signature of a chunk of the content does not match what was computed."
            );
        }
        ContentError::BrokeOff(why) if why == TOO_LONG => {
            return s3_error!(
                EntityTooLarge,
                "Your proposed upload exceeds the maximum allowed size"
            );
        }
        ContentError::BrokeOff(why) if why.contains("ChunkTooLong") => {
            let message = "Chunks of content that are signed have at most 1048576 bytes";
            return custom("InvalidChunkSizeError", 403, message);
        }
        ContentError::BrokeOff(_) => return incomplete(),
        ContentError::Encryption(EncryptionError::NeedsKey) => S3ErrorCode::InvalidRequest,
        ContentError::Encryption(EncryptionError::WrongKey) => S3ErrorCode::AccessDenied,
        ContentError::Encryption(EncryptionError::NoMasterKey) => S3ErrorCode::NotImplemented,
        ContentError::Encryption(_) => S3ErrorCode::InternalError,
        ContentError::TooLong(_) => S3ErrorCode::EntityTooLarge,
        ContentError::Stalled(_) => S3ErrorCode::RequestTimeout,
        ContentError::Busy => S3ErrorCode::SlowDown,
        ContentError::TooFewReplicas(_) | ContentError::TooFewAvailable(_) => {
            S3ErrorCode::ServiceUnavailable
        }
        ContentError::Uncertain(_) | ContentError::Undelivered(_) | ContentError::Stopped => {
            S3ErrorCode::ServiceUnavailable
        }
        ContentError::NotFound(_) | ContentError::NoList(_) | ContentError::WrongLength(_) => {
            S3ErrorCode::InternalError
        }
    };
    S3Error::with_message(code, text)
}
