//! What is said of an object beside its content: as headers of requests and answers, and as JSON.

use std::collections::BTreeMap;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::{Deserialize, Serialize};
use slotcast_object::{Body, Object};
use slotcast_protocol::ChunkId;

use super::{bad_request, digests, tag};
use crate::content_hash::ContentHash;
use crate::encryption::{Encryption, is_description};
use crate::http::Problem;
use crate::objects::{FoundObject, check_metadata, text_of};
use slotcast_object::Address;

/// What headers with metadata of a client begin with.
const META: &str = "slotcast-meta-";

/// Tags, as in a query: `a=1&b=2`.
pub(crate) const TAGS: &str = "slotcast-tags";

/// The address of the content.
const CONTENT: &str = "slotcast-content";

/// How the content is encrypted where it is stored.
const ENCRYPTION: &str = "slotcast-encryption";

/// Headers that are given back as they came. In the metadata of an object their names begin with a colon, as no header's
/// name does.
const GIVEN_BACK: [HeaderName; 5] = [
    header::CACHE_CONTROL,
    header::CONTENT_DISPOSITION,
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::EXPIRES,
];

fn text(name: &HeaderName, value: &HeaderValue) -> Result<String, Problem> {
    let text = str::from_utf8(value.as_bytes()).map(str::to_owned);
    text.map_err(|_| bad_request(format!("the value of {name} is not UTF-8")))
}

/// Whether headers say something of an object.
pub(super) fn has_any(headers: &HeaderMap) -> bool {
    let says = |name: &HeaderName| name.as_str().starts_with(META) || GIVEN_BACK.contains(name);
    headers.contains_key(header::CONTENT_TYPE)
        || headers.contains_key(TAGS)
        || headers.keys().any(says)
}

/// An object of which the headers of a put say all that they do.
pub(super) fn of_headers(headers: &HeaderMap) -> Result<Object, Problem> {
    let mut object = Object::default();
    if let Some(value) = headers.get(header::CONTENT_TYPE) {
        object.media_type = Some(text(&header::CONTENT_TYPE, value)?);
    }
    for (name, value) in headers {
        let key = match name.as_str().strip_prefix(META) {
            Some("") => return Err(bad_request(format!("{META} is followed by a name"))),
            Some(key) => key.to_owned(),
            None if GIVEN_BACK.contains(name) => format!(":{name}"),
            None => continue,
        };
        if object.metadata.insert(key, text(name, value)?).is_some() {
            return Err(bad_request(format!("{name} is there twice")));
        }
    }
    if let Some(value) = headers.get(TAGS) {
        let wrong = |why: &dyn std::fmt::Display| {
            bad_request(format!("{TAGS} is written as a query, `a=1&b=2`: {why}"))
        };
        let pairs: Vec<(String, String)> =
            serde_urlencoded::from_bytes(value.as_bytes()).map_err(|error| wrong(&error))?;
        for (key, value) in pairs {
            if key.is_empty() || object.tags.insert(key.clone(), value).is_some() {
                return Err(wrong(&format!("the tag \"{key}\" has no name or is there twice")));
            }
        }
    }
    check_metadata(&object)?;
    Ok(object)
}

/// Where the content would be if it were stored without a name; it is a hash of it.
pub(super) fn address(object: &Object) -> Address {
    match &object.body {
        Body::Inline(..) if object.size == 0 => ContentHash::new().address(),
        body @ Body::Inline(..) => Address::Chunk(ChunkId(body.hash())),
        Body::Chunk(chunk) => Address::Chunk(*chunk),
        Body::List(chunk) => Address::List(*chunk),
    }
}

/// How an object is encrypted, if it is.
pub(super) fn encryption(object: &Object) -> Option<String> {
    Encryption::of(object).map(|encryption| encryption.name().to_owned())
}

/// The media type of an answer.
pub(super) fn media_type(object: &Object) -> HeaderValue {
    let of = object.media_type.as_ref().map(|text| HeaderValue::from_bytes(text.as_bytes()));
    of.and_then(Result::ok).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// The headers of an answer that say what is said of an object.
pub(super) fn headers(found: &FoundObject) -> HeaderMap {
    let object = &found.object;
    let mut headers = HeaderMap::new();
    let ascii = |text: String| HeaderValue::try_from(text).expect("it is ASCII");
    headers.insert(header::ETAG, tag(found.version));
    headers.extend(digests::header(object).map(|value| (digests::NAME, value)));
    match encryption(object) {
        // The address of what is stored says nothing of what is read.
        Some(name) => headers.insert(ENCRYPTION, ascii(name)),
        None => headers.insert(CONTENT, ascii(address(object).to_string())),
    };
    for (key, value) in object.metadata.iter().filter(|(key, _)| !is_description(key)) {
        let name = match key.strip_prefix(':') {
            Some(name) => HeaderName::try_from(name),
            None => HeaderName::try_from(format!("{META}{key}")),
        };
        // What came in as a header is one.
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
            headers.insert(name, value);
        }
    }
    if !object.tags.is_empty() {
        let tags = serde_urlencoded::to_string(&object.tags).unwrap_or_default();
        headers.insert(TAGS, ascii(tags));
    }
    headers
}

/// All that is known of an object but its content, for programs.
#[derive(Debug, Serialize, Deserialize)]
pub struct ObjectDescription {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether the name stands for this version.
    pub latest: bool,
    /// Bytes of content.
    pub size: u64,
    /// When it was put, in milliseconds since 1970.
    pub modified: u64,
    /// The address of its content, which is a hash of it: equal content has the same.
    pub content: String,
    /// Whether the content is kept with the name, and not in chunks.
    pub inline: bool,
    /// On how many targets its chunks are to be, if the bucket says so.
    pub replicas: Option<u8>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Headers that are given back with it.
    pub headers: BTreeMap<String, String>,
    /// What the client says of it.
    pub metadata: BTreeMap<String, String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// Checksums of its content that are kept, in base64, by their names in `Repr-Digest`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// How its content is encrypted, if it is: then its address is that of what is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encryption: Option<String>,
}

impl ObjectDescription {
    pub(super) fn of(name: String, found: FoundObject, replicas: Option<u8>) -> ObjectDescription {
        let FoundObject { version, is_latest, object } = found;
        let content = address(&object).to_string();
        let encryption = encryption(&object);
        let digests = digests::known(&object);
        let digests = digests.map(|(name, value)| (name.to_owned(), value)).collect();
        let (mut headers, mut metadata) = (BTreeMap::new(), BTreeMap::new());
        let metadata_of = object.metadata.into_iter().filter(|(key, _)| !is_description(key));
        for (key, value) in metadata_of {
            match key.strip_prefix(':') {
                Some(key) => headers.insert(key.to_owned(), value),
                None => metadata.insert(key, value),
            };
        }
        ObjectDescription {
            name,
            version: text_of(version),
            latest: is_latest,
            size: object.size,
            modified: object.modified,
            content,
            inline: matches!(object.body, Body::Inline(..)),
            replicas,
            media_type: object.media_type,
            headers,
            metadata,
            tags: object.tags,
            digests,
            encryption,
        }
    }
}
