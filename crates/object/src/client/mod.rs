//! What a client does in several requests for names, one after another: buckets that are made, changed and removed, objects
//! that are named in them, uploads in parts.
//!
//! Each is an async function over a [`NameService`], which carries a request out: a node sends it to its member, a fault
//! simulation to a member that it simulates. So what is decided between two requests is simulated, too. Any of them may be
//! the last: a client can be gone after each. What is left then is said where it is, and is in nobody's way.
//!
//! * [`bucket`], [`make_bucket`], [`amend_bucket`], [`remove_bucket`]: buckets are names of the root bucket.
//! * [`change_in`], [`within`]: what is done in a bucket relies on what the bucket says when it is done.
//! * [`find`], [`delete`], [`amend`], [`name_object`]: objects.
//! * [`announce`], [`withdraw`], [`announcements`]: changes that somebody is to be told of.
//! * [`begin_upload`], [`put_part`], [`complete`], [`abort`]: uploads in parts.

mod announcements;
mod believed;
mod bucket;
mod error;
mod objects;
mod removal;
mod uploads;

pub use announcements::{
    announce, announced, announcement_name, announcements, read_fenced, withdraw,
};
pub use believed::{BelievedBuckets, believed, certain, within};
pub use bucket::{
    FoundBucket, NewBucket, Relies, amend_bucket, bucket, bucket_of, buckets, change_in,
    make_bucket, set_versioning,
};
pub use error::{ObjectError, Stopped, text_of, version_of};
pub use objects::{
    Change, FoundObject, Listing, amend, changed, check_metadata, delete, find, list, listing_of,
    name_in, name_object, read, stored, update,
};
pub use removal::{remove_bucket, seal};
pub use uploads::{
    Completion, FoundPart, FoundUpload, abort, begin_upload, complete, end_upload, find_upload,
    parts, put_part, uploads,
};

use alloc::sync::Arc;
use core::future::Future;

use crate::key::Name;
use crate::names::{NameAnswer, NameRequest};
use crate::register::record::RequestKey;

/// The names of a cluster, as whoever serves clients reaches them.
pub trait NameService {
    /// What can go wrong with content, and that the service has ended.
    type Error: core::convert::From<Stopped>;

    /// Asks for something, and waits for the answer; an error if the service has ended: it may have been done.
    fn ask(&self, request: NameRequest) -> impl Future<Output = Result<NameAnswer, Stopped>>;

    /// A key that no other request has.
    ///
    /// # Errors
    /// If there are no random numbers to be had.
    fn new_key(&self) -> Result<RequestKey, Stopped>;

    /// Milliseconds since 1970.
    fn now_ms(&self) -> u64;

    /// What is believed of a bucket.
    fn believes(&self, name: &Name) -> Option<FoundBucket>;

    /// The register of a bucket says this.
    fn keep(&self, found: &FoundBucket);

    /// There is no such bucket.
    fn forget(&self, name: &Name);
}

impl<S: NameService> NameService for Arc<S> {
    type Error = S::Error;

    fn ask(&self, request: NameRequest) -> impl Future<Output = Result<NameAnswer, Stopped>> {
        (**self).ask(request)
    }

    fn new_key(&self) -> Result<RequestKey, Stopped> {
        (**self).new_key()
    }

    fn now_ms(&self) -> u64 {
        (**self).now_ms()
    }

    fn believes(&self, name: &Name) -> Option<FoundBucket> {
        (**self).believes(name)
    }

    fn keep(&self, found: &FoundBucket) {
        (**self).keep(found);
    }

    fn forget(&self, name: &Name) {
        (**self).forget(name);
    }
}

/// How a request of a client ends.
pub type ClientResult<T, S> = Result<T, ObjectError<<S as NameService>::Error>>;

async fn ask<S: NameService>(service: &S, request: NameRequest) -> ClientResult<NameAnswer, S> {
    match service.ask(request).await {
        Ok(NameAnswer::Failed(failure)) => Err(failure.into()),
        Ok(answer) => Ok(answer),
        Err(Stopped) => Err(ObjectError::stopped()),
    }
}

fn new_key<S: NameService>(service: &S) -> ClientResult<RequestKey, S> {
    service.new_key().map_err(|Stopped| ObjectError::stopped())
}
