//! Buckets: the names of the root bucket.

use slotcast_object::{
    Bucket, BucketId, Condition, Entry, Key, Name, NameRequest, Operation, Outcome, Request,
    RequestKey, Versioning,
};

use super::{ObjectError, Result, ask, changed, now_ms, read};
use crate::node::Node;

/// Slots of a new bucket for each negotiating group, and the most that it has.
const MAX_FIRST_SLOTS: u32 = 16;

fn root_key(name: &Name) -> Key {
    Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone())
}

/// Makes a bucket.
pub(crate) async fn make_bucket(
    node: &Node,
    name: &Name,
    key: RequestKey,
    replicas: Option<u8>,
) -> Result<Bucket> {
    let groups = node.groups().await.map_err(|_| ObjectError::STOPPED)?;
    // As the key is, so is its lower half: no two buckets have the same number, in all time.
    #[expect(clippy::cast_possible_truncation, reason = "half of it")]
    let id = BucketId((key.0 as u64).max(1));
    let bucket = Bucket {
        id,
        slots: if groups == 1 { 1 } else { groups.next_power_of_two().min(MAX_FIRST_SLOTS) },
        versioning: Versioning::Off,
        replicas,
        created: now_ms(),
        is_sealed: false,
    };
    let request = Request {
        key,
        operation: Operation::Put(Entry::Bucket(bucket.clone())),
        condition: Condition::Absent,
        versioning: Versioning::Off,
    };
    match changed(&ask(node, NameRequest::Update(root_key(name), request)).await?)? {
        Outcome::Stored(_) => Ok(bucket),
        _ => Err(ObjectError::BucketExists(name.clone())),
    }
}

/// The bucket of this name.
pub(crate) async fn bucket(node: &Node, name: &Name) -> Result<Bucket> {
    let record = read(node, root_key(name)).await?;
    let head = record.as_ref().and_then(|record| record.head());
    let Some(entry) = head.and_then(|version| version.object.as_ref()) else {
        return Err(ObjectError::NoBucket(name.clone()));
    };
    entry.bucket().cloned().ok_or_else(|| ObjectError::OtherKind(name.clone()))
}
