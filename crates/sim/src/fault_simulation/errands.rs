//! What clients of buckets do, one request after another.

use slotcast_member::{Answer, Request};
use slotcast_object::client::{
    self, ClientResult, Completion, FoundBucket, Listing, NameService, ObjectError, Relies,
};
use slotcast_object::{
    Body, Condition, Entry, From, MAX_PAGE, Name, Object, Operation, Permit, RequestKey, VersionId,
};
use slotcast_protocol::Claim;
use slotcast_store::Content;

use super::buckets::{End, ToStore};
use super::clients::{ClientOf, NotDone};

type Ended<T> = ClientResult<T, ClientOf>;

pub(super) fn end_of(result: &Ended<()>) -> End {
    match result {
        Ok(()) => End::Done,
        Err(ObjectError::Names(_) | ObjectError::Content(NotDone)) => End::Failed,
        Err(_) => End::Refused,
    }
}

/// An object is put by a node that believes what it has read of the bucket some time ago.
pub(super) async fn put_object(at: &ClientOf, bucket: &Name, put: &ToStore) -> Ended<()> {
    let ToStore { name, key, content, .. } = put;
    let found = client::believed(at, bucket).await?;
    let put_in = |bucket: FoundBucket| async move {
        let body = match content {
            Ok(content) => Body::Chunk(content.chunk()),
            Err(inline) => Body::inline(inline.clone().into()),
        };
        let operation = Operation::Put(Entry::Object(Object { body, ..Object::default() }));
        let (condition, versioning) = (Condition::Always, bucket.bucket.versioning);
        let (key, permit) = (*key, Permit::default());
        let request = slotcast_object::Request { key, operation, condition, versioning, permit };
        let change = (bucket.key(name), request, Some(bucket.guard()));
        let outcome = match content {
            Ok(content) => {
                let request = Request::PutNamed(content.clone(), Some(1), Box::new(change));
                match at.request(request).await {
                    Answer::Names(answer) => client::changed(&answer)?,
                    _ => return Err(ObjectError::Content(NotDone)),
                }
            }
            Err(_) => client::update(at, change).await?,
        };
        client::stored(outcome)
    };
    client::change_in(at, (&found, Relies::OnName), put_in).await.map(drop)
}

/// Content of at most one chunk is stored.
async fn store(at: &ClientOf, request: Request) -> Ended<()> {
    match at.request(request).await {
        Answer::Put(Ok(())) => Ok(()),
        _ => Err(ObjectError::Content(NotDone)),
    }
}

/// An object is uploaded in parts, and made of them with a `list`; without one the upload is aborted.
pub(super) async fn upload(
    at: &ClientOf,
    (bucket, name): (&Name, &Name),
    (parts, list, number): (&[Content], Option<&Content>, u64),
) -> Ended<()> {
    let found = client::believed(at, bucket).await?;
    let object = Object::default();
    let key = new_key(at);
    let version = client::begin_upload(at, (&found, name), key, &object).await?;
    let place = (&client::bucket(at, bucket).await?, name);
    let under_way = client::find_upload(at, place, version).await?;
    for (n, part) in (1..).zip(parts) {
        store(at, Request::Upload(number, part.clone(), Some(1))).await?;
        at.upload_ended(number);
        let (body, size) = (Body::Chunk(part.chunk()), part.bytes().len() as u64);
        let object = Object { body, size, ..Object::default() };
        client::put_part(at, &under_way, (n, &object)).await?;
    }
    let Some(list) = list else { return client::abort(at, place, version).await };
    let (stored, _) = client::parts(at, &under_way, 0, MAX_PAGE).await?;
    if stored.len() < parts.len() {
        // Somebody has aborted it.
        return Err(ObjectError::NoUpload(name.clone(), version));
    }
    store(at, Request::Put(list.clone(), Some(1), Claim::Names)).await?;
    let object = Object { body: Body::List(list.chunk()), ..object };
    let (key, condition) = (new_key(at), Condition::Always);
    let completion = Completion { key, condition, object: &object };
    client::complete(at, place, version, completion).await.map(drop)
}

fn new_key(at: &ClientOf) -> RequestKey {
    at.new_key().expect("there always is one")
}

/// A page of names from here on.
fn page(from: From) -> Listing {
    Listing::all(from, 3)
}

pub(super) async fn abort_uploads(at: &ClientOf, bucket: &Name) -> Ended<()> {
    let found = client::bucket(at, bucket).await?;
    let mut from = Some(From::Start);
    while let Some(begin) = from {
        let (listed, ending) = client::uploads(at, &found, page(begin)).await?;
        for (name, upload) in ending {
            client::end_upload(at, (&found, &name), upload).await?;
        }
        let all = listed.names.iter().flat_map(|name| {
            name.versions
                .iter()
                .map(|version: &slotcast_object::Version<Entry>| (&name.name, version.id))
        });
        for (name, upload) in all.collect::<Vec<(&Name, VersionId)>>() {
            match client::abort(at, (&found, name), upload).await {
                Ok(()) | Err(ObjectError::NoUpload(..)) => {}
                Err(error) => return Err(error),
            }
        }
        from = listed.next;
    }
    Ok(())
}

/// What the names in a bucket stand for.
pub(super) async fn bodies_in(at: &ClientOf, bucket: &Name) -> Ended<Vec<Body>> {
    let found = client::bucket(at, bucket).await?;
    let (mut from, mut bodies) = (Some(From::Start), Vec::new());
    while let Some(begin) = from {
        let request = client::listing_of(&found.bucket, page(begin));
        let listed = client::list(at, request).await?;
        let versions = listed.names.into_iter().flat_map(|name| name.versions);
        let entries = versions.filter_map(|version| version.object);
        bodies.extend(entries.filter_map(|entry| entry.object().map(|o| o.body.clone())));
        from = listed.next;
    }
    Ok(bodies)
}
