//! The registers of jobs: in buckets that no client can name, as JSON.

use bytes::Bytes;
use slotcast_job::{JobId, Register};
use slotcast_object::{
    Body, BucketId, Condition, Entry, From, Key, ListRequest, MAX_PAGE, Object, Operation, Outcome,
    Permit, Request, VersionId, Versioning,
};

use crate::node::Node;
use crate::objects::{self, ObjectError, new_key, now_ms};

type Result<T> = std::result::Result<T, ObjectError>;

/// All registers of a job are in one slot, and those of different jobs in different ones.
const SLOTS: u32 = 1;

fn key(job: JobId, register: Register) -> Key {
    match register {
        Register::Text => Key::of(BucketId::jobs(), SLOTS, job.name()),
        other => Key::of(BucketId::job(job.0), SLOTS, other.name()),
    }
}

/// What a register says, with its version.
pub(super) async fn read(
    node: &Node,
    job: JobId,
    register: Register,
) -> Result<Option<(VersionId, Bytes)>> {
    let key = key(job, register);
    let name = key.name.clone();
    let record = objects::read(node, key).await?;
    let Some(version) = record.as_ref().and_then(|record| record.head()) else { return Ok(None) };
    match version.object.as_ref().and_then(Entry::object).map(|object| &object.body) {
        Some(Body::Inline(bytes, _)) => Ok(Some((version.id, bytes.clone()))),
        _ => Err(ObjectError::OtherKind(name)),
    }
}

/// A change of a register, which keeps nothing of what it said before.
fn request(operation: Operation<Entry>, condition: Condition) -> Result<Request<Entry>> {
    let (versioning, permit) = (Versioning::Off, Permit::at(now_ms()));
    Ok(Request { key: new_key()?, operation, condition, versioning, permit })
}

/// Lets a register say something if it has this version, or says nothing; gives the version that it has then. None if it has
/// another one.
pub(super) async fn swap(
    node: &Node,
    (job, register): (JobId, Register),
    expected: Option<VersionId>,
    text: String,
) -> Result<Option<VersionId>> {
    let (size, body) = (text.len() as u64, Body::inline(text.into()));
    let object = Object { size, body, modified: now_ms(), ..Object::default() };
    let operation = Operation::Put(Entry::Object(object));
    let condition = expected.map_or(Condition::Absent, Condition::Is);
    let request = request(operation, condition)?;
    match objects::update(node, (key(job, register), request, None)).await? {
        Outcome::Stored(version) => Ok(Some(version)),
        _ => Ok(None),
    }
}

/// Lets a register say nothing any more.
async fn forget(node: &Node, key: Key) -> Result<()> {
    let operation = Operation::Delete(now_ms());
    let condition = Condition::Always;
    let request = request(operation, condition)?;
    objects::update(node, (key, request, None)).await.map(drop)
}

fn listing(bucket: BucketId, from: From) -> ListRequest {
    ListRequest {
        bucket,
        slots: SLOTS,
        prefix: String::new(),
        delimiter: None,
        from,
        limit: MAX_PAGE,
        versions: false,
        fences: false,
    }
}

/// All jobs, in the order of their beginning.
pub(super) async fn jobs(node: &Node) -> Result<Vec<JobId>> {
    let (mut jobs, mut from) = (Vec::new(), Some(From::Start));
    while let Some(begin) = from {
        let listed = objects::list(node, listing(BucketId::jobs(), begin)).await?;
        jobs.extend(listed.names.iter().filter_map(|of| JobId::read(of.name.as_str())));
        from = listed.next;
    }
    Ok(jobs)
}

/// Forgets a job: its text first, so that nobody works on what is half gone.
pub(super) async fn remove(node: &Node, job: JobId) -> Result<()> {
    forget(node, key(job, Register::Text)).await?;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let listed = objects::list(node, listing(BucketId::job(job.0), begin)).await?;
        for of in listed.names {
            forget(node, Key::of(BucketId::job(job.0), SLOTS, of.name)).await?;
        }
        from = listed.next;
    }
    Ok(())
}
