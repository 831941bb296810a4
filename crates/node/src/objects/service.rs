//! A node as the names of its cluster: what carries out the requests of clients.

use std::sync::PoisonError;
use std::time::{SystemTime, UNIX_EPOCH};

use slotcast_object::client::{FoundBucket, NameService, NewBucket, ObjectError, Stopped};
use slotcast_object::{Name, NameAnswer, NameRequest, RequestKey};

use super::Result;
use crate::content_stream::ContentError;
use crate::node::Node;

impl From<Stopped> for ContentError {
    fn from(Stopped: Stopped) -> ContentError {
        ContentError::Stopped
    }
}

impl From<ContentError> for ObjectError<ContentError> {
    fn from(error: ContentError) -> ObjectError<ContentError> {
        ObjectError::Content(error)
    }
}

/// A key that no other request has.
///
/// # Errors
/// If the system gives no random bytes.
pub fn new_key() -> Result<RequestKey> {
    random_key().map_err(|Stopped| ObjectError::stopped())
}

fn random_key() -> std::result::Result<RequestKey, Stopped> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Stopped)?;
    Ok(RequestKey(u128::from_be_bytes(bytes)))
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

impl NameService for Node {
    type Error = ContentError;

    async fn ask(&self, request: NameRequest) -> std::result::Result<NameAnswer, Stopped> {
        self.names(request).await.map_err(|_| Stopped)
    }

    fn new_key(&self) -> std::result::Result<RequestKey, Stopped> {
        random_key()
    }

    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn believes(&self, name: &Name) -> Option<FoundBucket> {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner).get(name)
    }

    fn keep(&self, found: &FoundBucket) {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner).keep(found);
    }

    fn forget(&self, name: &Name) {
        self.believed.lock().unwrap_or_else(PoisonError::into_inner).forget(name);
    }
}

/// Makes a bucket.
///
/// # Errors
/// If there is one of this name, or too few voters answer.
pub(crate) async fn make_bucket(
    node: &Node,
    name: &Name,
    key: RequestKey,
    wanted: NewBucket,
) -> Result<FoundBucket> {
    let groups = node.groups().await.map_err(|_| ObjectError::stopped())?;
    slotcast_object::client::make_bucket(node, name, (key, groups), wanted).await
}
