use std::sync::Arc;

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use slotcast_object::list::{self, Part};
use slotcast_object::notification::EventKind;
use slotcast_object::{Body, Condition, Name, Object, Versioning};
use slotcast_protocol::Claim;
use slotcast_store::Content;

use super::*;
use crate::access::{MasterKeySource, MasterKeys};
use crate::node::NodeConfig;
use crate::objects::{
    CopyFrom, FoundBucket, Incoming, NewBucket, ObjectError, Objects, PutObject, StoredObject,
    new_key,
};

#[test]
fn what_is_said_of_encryption_is_read_as_it_is_written() {
    let server = Encryption::Server { master: 7, sealed: vec![1, 2, 3] };
    let customer = Encryption::Customer { salt: [1; SALT], check: [2; 32] };
    for encryption in [server, customer] {
        let mut object = Object::default();
        assert_eq!(Encryption::of(&object), None);
        encryption.put(&mut object);
        assert_eq!(Encryption::of(&object), Some(encryption));
        let mut copy = Object::default();
        Encryption::carry(&object, &mut copy);
        assert_eq!(Encryption::of(&copy), Encryption::of(&object));
        Encryption::carry(&Object::default(), &mut copy);
        assert_eq!(copy, Object::default());
    }
    for later in ["", "2 server 7 AQID", "1 server x AQID", "1 customer AQID AQID"] {
        let mut object = Object::default();
        object.metadata.insert(DESCRIPTION.into(), later.into());
        assert_eq!(Encryption::of(&object), Some(Encryption::Unknown), "{later}");
    }
}

struct Store {
    _folder: tempfile::TempDir,
    node: Arc<Node>,
    objects: Objects,
    bucket: FoundBucket,
}

impl Store {
    async fn start(master_keys: Option<&str>) -> Store {
        let folder = tempfile::tempdir().expect("a folder");
        // So large that a segment takes a chunk of a mebibyte.
        let config = NodeConfig { segment_size: 64 << 20, ..NodeConfig::of_three(folder.path()) };
        let node = Arc::new(Node::start(&config).expect("it starts"));
        if let Some(text) = master_keys {
            let keys = MasterKeys::read(text).expect("keys");
            node.seals_with(Arc::new(MasterKeySource::Keys(keys)));
        }
        let objects = Objects::new(node.clone());
        let (key, name) = (new_key().expect("random"), Name::new("b").expect("a name"));
        let bucket = objects.make_bucket(&name, key, NewBucket::from(Versioning::Off)).await;
        Store { _folder: folder, node, objects, bucket: bucket.expect("it is made") }
    }

    async fn put(&self, encrypt: Encrypt, content: &[u8]) -> Result<StoredObject, ObjectError> {
        let (key, condition) = (new_key()?, Condition::Always);
        let (object, cause) = (Object::default(), EventKind::CreatedPut.into());
        let put = PutObject { key, condition, object, seal: None, encrypt, cause };
        let pieces = [Ok::<_, String>(Bytes::copy_from_slice(content))];
        let incoming = Incoming { length: Some(content.len() as u64), buffered: 0 };
        let name = Name::new("a").expect("a name");
        self.objects.put((&self.bucket, &name), put, incoming, stream::iter(pieces)).await
    }

    async fn read(
        &self,
        object: &Object,
        customer: Option<&CustomerKey>,
    ) -> Result<Vec<u8>, ContentError> {
        let content = self.objects.read(object, customer, 0..object.size).await?.boxed();
        let pieces: Vec<Bytes> = content.try_collect().await?;
        Ok(pieces.concat())
    }

    /// The parts of a list, and another list of others in their place.
    async fn with_parts(&self, object: &Object, change: impl FnOnce(&mut Vec<Part>)) -> Object {
        let Body::List(list) = object.body else { panic!("it is long") };
        let content = self.node.get(list).await.expect("an answer").expect("it is there");
        let list = list::List::decode(content.bytes()).expect("a list");
        let mut parts: Vec<Part> = (0..).map_while(|place| list.part(place)).collect();
        change(&mut parts);
        let content = Content::of(list::encode(&parts));
        let body = Body::List(content.chunk());
        let put = self.node.put_on(content, None, Claim::Bare);
        put.await.expect("an answer").expect("it is stored");
        Object { body, ..object.clone() }
    }
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|n| u8::try_from(n / 4096 % 251).expect("small")).collect()
}

#[tokio::test]
async fn chunks_in_the_place_of_others_are_not_read() {
    let store = Store::start(Some(&"ab".repeat(32))).await;
    let bytes = content((2 << 20) + 5);
    let stored = store.put(Encrypt::Server, &bytes).await.expect("it is stored");
    let object = &stored.object;
    assert_eq!(object.size, bytes.len() as u64);
    assert!(store.read(object, None).await.expect("it is read") == bytes);
    let swapped = store.with_parts(object, |parts| parts.swap(0, 1)).await;
    let is_altered = |result: Result<Vec<u8>, ContentError>| {
        matches!(result, Err(ContentError::Encryption(EncryptionError::Altered)))
    };
    assert!(is_altered(store.read(&swapped, None).await), "two are swapped");
    let short = store.with_parts(object, |parts| parts.truncate(2)).await;
    assert!(is_altered(store.read(&short, None).await), "the last is missing");
    let short = Object { size: 2 << 20, ..short };
    assert!(is_altered(store.read(&short, None).await), "and the size fits");
    let again = store.put(Encrypt::Server, &bytes).await.expect("it is stored").object;
    let Body::List(of_other) = again.body else { panic!("it is long") };
    let taken = Object { body: Body::List(of_other), ..object.clone() };
    assert!(is_altered(store.read(&taken, None).await), "the content of another object");
}

#[tokio::test]
async fn keys_are_needed_to_store_and_to_read() {
    let store = Store::start(None).await;
    let refused = store.put(Encrypt::Server, b"x").await.expect_err("no master key").to_string();
    assert!(refused.contains("SLOTCAST_MASTER_KEY"), "{refused}");
    let (key, other) = (CustomerKey::new(&[1; 32]), CustomerKey::new(&[2; 32]));
    let encrypt = Encrypt::Customer(key.clone());
    let object = store.put(encrypt, b"a few bytes").await.expect("it is stored").object;
    let why = |result: Result<Vec<u8>, ContentError>| match result {
        Err(ContentError::Encryption(error)) => Some(error),
        _ => None,
    };
    assert_eq!(store.read(&object, Some(&key)).await.expect("it is read"), b"a few bytes");
    let without = why(store.read(&object, None).await);
    assert!(matches!(without, Some(EncryptionError::NeedsKey)));
    let with_other = why(store.read(&object, Some(&other)).await);
    assert!(matches!(with_other, Some(EncryptionError::WrongKey)));

    // A copy without the key goes by reference.
    let name = Name::new("copy").expect("a name");
    let copy = |customer, encrypt| {
        let (key, condition) = (new_key().expect("random"), Condition::Always);
        let from = CopyFrom { bucket: &store.bucket, object: &object, customer };
        let (object, cause) = (object.clone(), EventKind::CreatedPut.into());
        let put = PutObject { key, condition, object, seal: None, encrypt, cause };
        store.objects.copy((&store.bucket, &name), (from, put))
    };
    let copied = copy(None, Encrypt::AsBucket).await.expect("it is copied").object;
    assert_eq!((&copied.body, &copied.metadata), (&object.body, &object.metadata));
    let copied = copy(Some(key.clone()), Encrypt::Customer(other.clone())).await;
    let copied = copied.expect("it is copied").object;
    assert_ne!(copied.body, object.body);
    assert_eq!(store.read(&copied, Some(&other)).await.expect("it is read"), b"a few bytes");
    let copied = copy(Some(key), Encrypt::AsBucket).await.expect("it is copied").object;
    assert_eq!(store.read(&copied, None).await.expect("it is read"), b"a few bytes");
}
