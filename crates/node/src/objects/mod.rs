//! Buckets and objects, as clients of a node ask for them.
//!
//! What a request does one after another is decided in [`slotcast_object::client`]; here are what carries it out, and the
//! content.

mod change;
mod copy;
mod gateway;
mod put;
mod service;
#[cfg(test)]
mod tests;
mod uploads;

pub(crate) use slotcast_object::client::{
    BelievedBuckets, amend_bucket, believed, bucket, bucket_of, buckets, check_metadata, find,
    list, listing_of, read, remove_bucket, set_versioning, update, within,
};
pub use slotcast_object::client::{
    Change, FoundBucket, FoundObject, FoundPart, FoundUpload, Listing, NewBucket, text_of,
    version_of,
};

pub(crate) use self::change::{amend, delete};
pub use self::copy::CopyFrom;
pub(crate) use self::copy::{CopyObject, copy};
pub use self::gateway::{Incoming, NewPart, Objects, Whole};
pub(crate) use self::put::put;
pub use self::put::{PutObject, Seal, Sealed, StoredObject, entity_tag};
pub(crate) use self::service::make_bucket;
pub use self::service::{new_key, now_ms};
pub(crate) use self::uploads::{abort, list as list_uploads};
use crate::content_stream::ContentError;

/// Why a request about an object was not carried out.
pub type ObjectError = slotcast_object::client::ObjectError<ContentError>;

type Result<T> = std::result::Result<T, ObjectError>;
