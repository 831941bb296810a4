//! What is said of an object beside its content, as headers of requests.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use s3s::dto::{Metadata, Timestamp, TimestampFormat};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use slotcast_node::now_ms;
use slotcast_object::Object;

/// The most bytes of metadata of a client, as AWS documents it.
const MAX_METADATA: usize = 2 << 10;

/// Headers that are given back as they came. In the metadata of an object their names begin with a colon, as no header's
/// name does, and as those of native HTTP do.
const GIVEN_BACK: [&str; 6] = [
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-language",
    "expires",
    "x-amz-website-redirect-location",
];

/// The storage class that a client has named. All are kept alike.
const CLASS: &str = ":x-amz-storage-class";

/// What AWS calls the storage class of all that names none.
pub(crate) const STANDARD: &str = "STANDARD";

const CLASSES: [&str; 10] = [
    STANDARD,
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "DEEP_ARCHIVE",
    "GLACIER_IR",
    "OUTPOSTS",
    "EXPRESS_ONEZONE",
];

/// An object of which the headers of a request say all that they do.
pub(crate) fn of_headers(headers: &HeaderMap, metadata: Option<&Metadata>) -> S3Result<Object> {
    let text = |name: &str| {
        let text = headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
        text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut object = Object { modified: now_ms(), ..Object::default() };
    object.media_type = text("content-type");
    for name in GIVEN_BACK {
        let value = match (name, text(name)) {
            // That is how the content is signed, and nothing of the content.
            ("content-encoding", Some(value)) => without_chunks(&value),
            (_, value) => value,
        };
        object.metadata.extend(value.map(|value| (format!(":{name}"), value)));
    }
    if let Some(class) = text("x-amz-storage-class") {
        if !CLASSES.contains(&&class[..]) {
            return Err(s3_error!(
                InvalidStorageClass,
                "The storage class you specified is not valid"
            ));
        }
        object.metadata.insert(CLASS.into(), class);
    }
    let mut bytes = 0;
    for (key, value) in metadata.into_iter().flatten() {
        bytes += key.len() + value.len();
        object.metadata.insert(key.clone(), value.clone());
    }
    if bytes > MAX_METADATA {
        let message = "Your metadata headers exceed the maximum allowed metadata size";
        return Err(S3Error::with_message(S3ErrorCode::MetadataTooLarge, message));
    }
    if let Some(tags) = text("x-amz-tagging") {
        object.tags = crate::tagging::of_query(&tags)?;
    }
    Ok(object)
}

/// A Content-Encoding without `aws-chunked`.
fn without_chunks(value: &str) -> Option<String> {
    let all = value.split(',').map(str::trim);
    let left: Vec<&str> = all.filter(|one| !one.eq_ignore_ascii_case("aws-chunked")).collect();
    (!left.is_empty()).then(|| left.join(","))
}

/// A header that was given with an object.
pub(crate) fn given(object: &Object, name: &str) -> Option<String> {
    object.metadata.get(&format!(":{name}")).cloned()
}

/// When its content expires, as was said.
pub(crate) fn expires(object: &Object) -> Option<Timestamp> {
    Timestamp::parse(TimestampFormat::HttpDate, &given(object, "expires")?).ok()
}

/// What a client says of it.
pub(crate) fn metadata(object: &Object) -> Option<Metadata> {
    let own = object.metadata.iter().filter(|(key, _)| !key.starts_with(':'));
    let own: Metadata = own.map(|(key, value)| (key.clone(), value.clone())).collect();
    (!own.is_empty()).then_some(own)
}

/// The storage class, where it is not the usual one.
pub(crate) fn class(object: &Object) -> Option<&str> {
    object.metadata.get(CLASS).map(|class| &class[..]).filter(|class| *class != STANDARD)
}

/// All that is said of `object` but its content, and not what `keeps_class` leaves out: what a copy takes over.
pub(crate) fn copied(object: &Object) -> (Option<String>, BTreeMap<String, String>) {
    let mut metadata = object.metadata.clone();
    // A copy has the class that its request names.
    metadata.remove(CLASS);
    // Where a page leads to is not copied either, as AWS documents it.
    metadata.remove(":x-amz-website-redirect-location");
    (object.media_type.clone(), metadata)
}

/// Puts what is said of an object into an answer.
macro_rules! describe {
    ($output:expr, $object:expr) => {{
        let object: &slotcast_object::Object = $object;
        $output.accept_ranges = Some("bytes".into());
        $output.cache_control = $crate::description::given(object, "cache-control");
        $output.content_disposition = $crate::description::given(object, "content-disposition");
        $output.content_encoding = $crate::description::given(object, "content-encoding");
        $output.content_language = $crate::description::given(object, "content-language");
        $output.website_redirect_location =
            $crate::description::given(object, "x-amz-website-redirect-location");
        $output.expires = $crate::description::expires(object);
        $output.metadata = $crate::description::metadata(object);
        $output.content_type =
            Some(object.media_type.clone().unwrap_or_else(|| "binary/octet-stream".into()));
        $output.e_tag = Some(s3s::dto::ETag::Strong($crate::checksums::etag(object)));
        $output.last_modified = Some($crate::names::second_of(object.modified));
        $output.storage_class =
            $crate::description::class(object).map(|class| class.to_owned().into());
    }};
}
pub(crate) use describe;

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (axum::http::HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn how_content_is_signed_is_no_encoding_of_it() {
        for (value, kept) in [
            ("aws-chunked", None),
            ("gzip", Some("gzip")),
            ("aws-chunked,gzip", Some("gzip")),
            ("gzip, aws-chunked", Some("gzip")),
        ] {
            let object = of_headers(&headers(&[("content-encoding", value)]), None);
            let object = object.expect("it is fine");
            assert_eq!(given(&object, "content-encoding").as_deref(), kept, "{value}");
        }
    }

    #[test]
    fn too_much_metadata_and_unknown_classes_are_refused() {
        let of = |bytes: usize| {
            let metadata = Metadata::from([("k".to_owned(), "v".repeat(bytes - 1))]);
            of_headers(&HeaderMap::new(), Some(&metadata))
        };
        assert!(of(2048).is_ok());
        assert!(of(2049).is_err_and(|error| *error.code() == S3ErrorCode::MetadataTooLarge));
        let class = |class| of_headers(&headers(&[("x-amz-storage-class", class)]), None);
        assert!(class("COLD").is_err());
        let stored = |name| class(name).expect("it is known");
        assert_eq!(super::class(&stored("STANDARD_IA")), Some("STANDARD_IA"));
        assert_eq!(super::class(&stored("STANDARD")), None);
    }
}
