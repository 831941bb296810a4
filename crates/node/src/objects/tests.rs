//! What is believed of buckets, on a whole node.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use slotcast_object::client::{NameService, seal, update};
use slotcast_object::notification::EventKind;
use slotcast_object::{Condition, From, Name, NameFailure, Object, Versioning};
use tokio::time::timeout;

use super::*;
use crate::encryption::Encrypt;
use crate::node::{Node, NodeConfig};

fn start(base: &std::path::Path) -> Arc<Node> {
    Arc::new(Node::start(&NodeConfig::of_three(base)).expect("it starts"))
}

fn name(text: &str) -> Name {
    Name::new(text).expect("a name")
}

/// Whoever is told that the voters are slow, as on a disk that others use, asks again.
async fn again<T>(act: impl AsyncFn() -> Result<T>) -> Result<T> {
    for _ in 0..20 {
        match act().await {
            Err(ObjectError::Names(NameFailure::Unavailable)) => {}
            done => return done,
        }
    }
    act().await
}

async fn put(objects: &Objects, name: &Name, length: usize) -> Result<StoredObject> {
    let key = new_key()?;
    let put = async || {
        let bucket = objects.believed(&self::name("b")).await?;
        let put = PutObject {
            key,
            condition: Condition::Always,
            object: Object::default(),
            seal: None,
            encrypt: Encrypt::AsBucket,
            cause: EventKind::CreatedPut.into(),
        };
        let content = stream::iter([Ok::<_, String>(Bytes::from(vec![7; length]))]);
        let incoming = Incoming { length: Some(length as u64), buffered: 0 };
        objects.put((&bucket, name), put, incoming, content).await
    };
    again(put).await
}

async fn names(objects: &Objects) -> Result<Vec<String>> {
    let bucket = objects.believed(&name("b")).await?;
    let (prefix, delimiter, from) = (String::new(), None, From::Start);
    let listing = Listing { prefix, delimiter, from, limit: 10, versions: false };
    let listed = objects.list(&bucket, listing).await?;
    Ok(listed.names.into_iter().map(|listed| listed.name.to_string()).collect())
}

/// As it is where other nodes have made, changed and removed buckets of which this one knows nothing.
#[tokio::test]
async fn nothing_is_done_by_what_is_believed_wrongly() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = start(folder.path());
    let objects = Objects::new(node.clone());
    let make = async |versioning| {
        let key = new_key().expect("random bytes");
        let make = async || objects.make_bucket(&name("b"), key, NewBucket::from(versioning)).await;
        again(make).await.expect("a bucket")
    };
    let remove = async || {
        let key = new_key().expect("random bytes");
        again(async || objects.remove_bucket(&name("b"), key).await).await
    };
    let first = make(Versioning::Off).await;
    remove().await.expect("it is empty");
    let second = make(Versioning::On).await;
    // In the register, and as a chunk; each is to be kept in the bucket that is there.
    for length in [100, 50_000] {
        node.keep(&first);
        let stored = put(&objects, &name("o"), length).await.expect("it is stored");
        assert_eq!(stored.versioning, Versioning::On, "{length}");
    }
    node.keep(&first);
    assert_eq!(names(&objects).await.expect("they are listed"), ["o"]);
    node.keep(&first);
    let bucket = objects.believed(&name("b")).await.expect("it is believed");
    let (record, bucket) = objects.record(&bucket, &name("o")).await.expect("it is read");
    assert_eq!(record.map(|record| record.versions.len()), Some(2));
    assert_eq!(bucket.bucket.id, second.bucket.id);

    // What was stored in a bucket that is gone is nowhere, and whoever stores it is told.
    let gone = second.believed();
    let place = gone.key(&name("o"));
    for version in bucket_versions(&objects).await {
        let operation = slotcast_object::Operation::DeleteVersion(version);
        let (key, condition) = (new_key().expect("random bytes"), Condition::Always);
        let versioning = Versioning::On;
        let permit = slotcast_object::Permit::default();
        let request = slotcast_object::Request { key, operation, condition, versioning, permit };
        let delete = async || update(&node, (place.clone(), request.clone(), None)).await;
        again(delete).await.expect("it is deleted");
    }
    remove().await.expect("it is empty");
    for length in [100, 50_000] {
        node.keep(&second);
        let refused = put(&objects, &name("o"), length).await;
        assert!(matches!(refused, Err(ObjectError::NoBucket(_))), "{refused:?}");
    }
    node.keep(&second);
    assert!(matches!(names(&objects).await, Err(ObjectError::NoBucket(_))));
    let left = read(&node, place).await.expect("it is read");
    assert!(left.is_none_or(|record| record.versions.is_empty()));
}

async fn bucket_versions(objects: &Objects) -> Vec<slotcast_object::VersionId> {
    let bucket = objects.bucket(&name("b")).await.expect("it is there");
    let (record, _) = objects.record(&bucket, &name("o")).await.expect("it is read");
    record.into_iter().flat_map(|record| record.versions).map(|version| version.id).collect()
}

#[tokio::test]
async fn a_sealed_bucket_is_opened_by_whoever_stores_something() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = start(folder.path());
    let objects = Objects::new(node.clone());
    let key = new_key().expect("random bytes");
    let wanted = || NewBucket::from(Versioning::Off);
    let made = again(async || objects.make_bucket(&name("b"), key, wanted()).await).await;
    let made = made.expect("a bucket");
    for is_told in [true, false] {
        let sealed = again(async || seal(&node, &name("b"), new_key()?).await).await;
        assert!(sealed.expect("it is sealed").is_some());
        if !is_told {
            // Another node has sealed it.
            node.keep(&made);
        }
        put(&objects, &name("o"), 100).await.expect("it is stored");
        let now = objects.bucket(&name("b")).await.expect("it is there");
        assert!(!now.bucket.is_sealed);
    }
}

/// A client whose upload was aborted sends its part, and goes away at any moment.
#[tokio::test]
async fn a_part_that_comes_too_late_is_taken_back_though_its_client_is_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let objects = Objects::new(start(folder.path()));
    let key = || new_key().expect("random bytes");
    let wanted = || NewBucket::from(Versioning::Off);
    let made = again(async || objects.make_bucket(&name("b"), key(), wanted()).await).await;
    let (bucket, name) = (made.expect("a bucket"), name("o"));
    let place = (&bucket, &name);
    let object = || (Object::default(), Encrypt::AsBucket);
    let begun = again(async || objects.begin_upload(place, key(), object()).await).await;
    let (version, _) = begun.expect("it begins");
    let upload = again(async || objects.upload(place, version).await).await;
    let upload = upload.expect("it is under way");
    again(async || objects.abort(place, version).await).await.expect("it is aborted");
    for number in 1..=60 {
        let part = NewPart { number, object: Object::default(), seal: None };
        let content = stream::iter([Ok::<_, String>(Bytes::from(vec![7; 1000]))]);
        let incoming = Incoming { length: Some(1000), buffered: 0 };
        let put = objects.put_part(&upload, (part, None), incoming, content);
        let patience = Duration::from_micros(u64::from(number) * 250);
        assert!(!matches!(timeout(patience, put).await, Ok(Ok(_))), "there is no such upload");
    }
    let mut left = Vec::new();
    for _ in 0..100 {
        let list = async || objects.parts_of(&upload, 0, 100).await;
        (left, _) = again(list).await.expect("they are listed");
        if left.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("these are of no upload: {:?}", left.iter().map(|p| p.number).collect::<Vec<_>>());
}
