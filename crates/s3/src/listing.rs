//! ListObjects and ListObjectsV2.

use std::fmt::Write;

use data_encoding::BASE64URL_NOPAD;
use s3s::dto::{
    ChecksumAlgorithm, CommonPrefix, ETag, EncodingType, ListObjectsInput, ListObjectsOutput,
    ListObjectsV2Input, ListObjectsV2Output, Object as Listed,
};
use s3s::{S3Request, S3Response, S3Result, s3_error};
use slotcast_node::Listing;
use slotcast_object::{From, ListedName, MAX_PAGE, Name, Object};

use crate::algorithm::Algorithm;
use crate::buckets::owner;
use crate::checksums::{etag, shown};
use crate::description::{STANDARD, class};
use crate::errors::of_object;
use crate::gateway::Gateway;
use crate::names::time_of;

/// How many names a request wants; AWS gives at most 1,000.
pub(crate) fn limit(wanted: Option<i32>, what: &str) -> S3Result<u32> {
    let most = MAX_PAGE;
    match u32::try_from(wanted.unwrap_or(1000)) {
        Ok(wanted) => Ok(wanted.min(most)),
        Err(_) => Err(s3_error!(
            InvalidArgument,
            "Argument {what} must be an integer between 0 and 2147483647"
        )),
    }
}

/// How keys are written in an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoding(bool);

impl Encoding {
    /// As in addresses.
    pub(crate) const URL: Encoding = Encoding(true);

    pub(crate) fn read(wanted: Option<&EncodingType>) -> S3Result<Encoding> {
        match wanted.map(|wanted| wanted.as_str()) {
            None => Ok(Encoding(false)),
            Some(EncodingType::URL) => Ok(Encoding(true)),
            Some(_) => {
                Err(s3_error!(InvalidArgument, "Invalid Encoding Method specified in Request"))
            }
        }
    }

    pub(crate) fn of(self, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let mut encoded = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                    encoded.push(char::from(byte));
                }
                // Writing to a string does not fail.
                _ => drop(write!(encoded, "%{byte:02X}")),
            }
        }
        encoded
    }
}

/// Where names begin that come after `text`, which a client has had. After a common prefix it is what does not begin so.
pub(crate) fn after(text: &str, prefix: &str, delimiter: Option<&str>) -> S3Result<From> {
    let Ok(name) = Name::new(text) else {
        // What is no name, as it is too long, has a place in the order all the same.
        return Ok(if text.is_empty() { From::Start } else { From::At(text.to_owned()) });
    };
    let rolled = delimiter.filter(|delimiter| !delimiter.is_empty()).and_then(|delimiter| {
        let rest = text.strip_prefix(prefix)?;
        (rest.find(delimiter)? + delimiter.len() == rest.len()).then_some(())
    });
    Ok(match rolled {
        Some(()) => From::At(format!("{text}{}", char::MAX)),
        None => From::After(name),
    })
}

/// Where a listing goes on, as clients give it back.
fn token_of(from: From) -> Option<String> {
    let text = match from {
        From::Start => return None,
        From::After(name) => format!("a{name}"),
        From::At(text) => format!("t{text}"),
    };
    Some(BASE64URL_NOPAD.encode(text.as_bytes()))
}

fn of_token(token: &str) -> S3Result<From> {
    let wrong = || s3_error!(InvalidArgument, "The continuation token provided is incorrect");
    let bytes = BASE64URL_NOPAD.decode(token.as_bytes()).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    match text.split_at_checked(1) {
        Some(("a", name)) => Name::new(name).map(From::After).map_err(|_| wrong()),
        Some(("t", text)) => Ok(From::At(text.to_owned())),
        _ => Err(wrong()),
    }
}

/// The algorithms of an object's checksums.
pub(crate) fn algorithms(object: &Object) -> Option<Vec<ChecksumAlgorithm>> {
    let there = Algorithm::ALL.into_iter().filter(|one| one.of(&object.checksums).is_some());
    let there: Vec<_> = there.map(|one| ChecksumAlgorithm::from_static(one.name())).collect();
    (!there.is_empty()).then_some(there)
}

fn entry(listed: &ListedName, encoding: Encoding) -> Option<Listed> {
    let object = listed.versions.first()?.object.as_ref()?.object()?;
    let mut entry = Listed::default();
    entry.key = Some(encoding.of(listed.name.as_str()));
    entry.e_tag = Some(ETag::Strong(etag(object)));
    entry.last_modified = Some(time_of(object.modified));
    entry.size = i64::try_from(object.size).ok();
    entry.storage_class = Some(class(object).unwrap_or(STANDARD).to_owned().into());
    entry.checksum_algorithm = algorithms(object);
    entry.checksum_type = shown(object).kind;
    Some(entry)
}

pub(crate) fn common(prefixes: &[String], encoding: Encoding) -> Vec<CommonPrefix> {
    let one = |prefix: &String| {
        let mut common = CommonPrefix::default();
        common.prefix = Some(encoding.of(prefix));
        common
    };
    prefixes.iter().map(one).collect()
}

/// A page of a bucket.
#[derive(Debug, Default)]
struct Page {
    entries: Vec<Listed>,
    prefixes: Vec<String>,
    /// The last that is in it, of names and of common prefixes.
    last: Option<String>,
    next: Option<From>,
}

impl Gateway {
    async fn page(
        &self,
        bucket: &str,
        (prefix, delimiter): (Option<&str>, Option<&str>),
        (from, limit): (From, u32),
        encoding: Encoding,
    ) -> S3Result<Page> {
        if limit == 0 {
            self.bucket(bucket).await?;
            return Ok(Page::default());
        }
        let bucket = self.believed(bucket).await?;
        let listing = Listing {
            prefix: prefix.unwrap_or("").to_owned(),
            delimiter: delimiter.filter(|text| !text.is_empty()).map(str::to_owned),
            from,
            limit,
            versions: false,
        };
        let listed = self.objects.list(&bucket, listing).await.map_err(of_object)?;
        let last = listed.names.last().map(|listed| listed.name.as_str());
        let last = last.max(listed.prefixes.last().map(|prefix| &prefix[..]));
        Ok(Page {
            last: last.map(str::to_owned),
            entries: listed.names.iter().filter_map(|listed| entry(listed, encoding)).collect(),
            prefixes: listed.prefixes,
            next: listed.next,
        })
    }
}

pub(crate) async fn list(
    gateway: &Gateway,
    request: S3Request<ListObjectsInput>,
) -> S3Result<S3Response<ListObjectsOutput>> {
    let input = request.input;
    let encoding = Encoding::read(input.encoding_type.as_ref())?;
    let limit = limit(input.max_keys, "max-keys")?;
    let (prefix, delimiter) = (input.prefix.as_deref(), input.delimiter.as_deref());
    let marker = input.marker.as_deref().unwrap_or("");
    let from = after(marker, prefix.unwrap_or(""), delimiter)?;
    let page = gateway.page(&input.bucket, (prefix, delimiter), (from, limit), encoding).await?;
    let mut output = ListObjectsOutput::default();
    let is_truncated = page.next.is_some();
    output.next_marker = page.next.and_then(|next| {
        // Where nothing was found yet, it goes on where the listing stands.
        let stands = || match next {
            From::Start => None,
            From::After(name) => Some(name.to_string()),
            From::At(text) => Some(text),
        };
        page.last.or_else(stands).map(|text| encoding.of(&text))
    });
    output.is_truncated = Some(is_truncated);
    output.contents = Some(page.entries);
    output.common_prefixes = Some(common(&page.prefixes, encoding));
    output.name = Some(input.bucket);
    output.marker = Some(encoding.of(marker));
    output.max_keys = i32::try_from(limit).ok();
    output.prefix = Some(encoding.of(prefix.unwrap_or("")));
    output.delimiter = delimiter.map(|text| encoding.of(text));
    output.encoding_type = input.encoding_type;
    Ok(S3Response::new(output))
}

pub(crate) async fn list_v2(
    gateway: &Gateway,
    request: S3Request<ListObjectsV2Input>,
) -> S3Result<S3Response<ListObjectsV2Output>> {
    let input = request.input;
    let encoding = Encoding::read(input.encoding_type.as_ref())?;
    let limit = limit(input.max_keys, "max-keys")?;
    let (prefix, delimiter) = (input.prefix.as_deref(), input.delimiter.as_deref());
    let from = match (&input.continuation_token, &input.start_after) {
        (Some(token), _) if !token.is_empty() => of_token(token)?,
        (_, Some(start)) => after(start, prefix.unwrap_or(""), delimiter)?,
        (_, None) => From::Start,
    };
    let mut page =
        gateway.page(&input.bucket, (prefix, delimiter), (from, limit), encoding).await?;
    if input.fetch_owner == Some(true) {
        page.entries.iter_mut().for_each(|entry| entry.owner = Some(owner()));
    }
    let mut output = ListObjectsV2Output::default();
    output.key_count = i32::try_from(page.entries.len() + page.prefixes.len()).ok();
    output.is_truncated = Some(page.next.is_some());
    output.next_continuation_token = page.next.and_then(token_of);
    output.contents = Some(page.entries);
    output.common_prefixes = Some(common(&page.prefixes, encoding));
    output.name = Some(input.bucket);
    output.continuation_token = input.continuation_token;
    output.start_after = input.start_after.as_deref().map(|text| encoding.of(text));
    output.max_keys = i32::try_from(limit).ok();
    output.prefix = Some(encoding.of(prefix.unwrap_or("")));
    output.delimiter = delimiter.map(|text| encoding.of(text));
    output.encoding_type = input.encoding_type;
    Ok(S3Response::new(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_read_as_they_are_written() {
        let name = Name::new("a/b").expect("a name");
        for from in [From::After(name), From::At("a/\u{10ffff}".into())] {
            let token = token_of(from.clone()).expect("it goes on");
            assert_eq!(of_token(&token).ok(), Some(from));
        }
        for wrong in ["", "?", "YQ", "eA"] {
            assert!(of_token(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_are_encoded_as_clients_decode_them() {
        assert_eq!(Encoding(true).of("foo+1/quux ab/é"), "foo%2B1/quux%20ab/%C3%A9");
        assert_eq!(Encoding(false).of("foo+1 b"), "foo+1 b");
    }

    #[test]
    fn after_a_common_prefix_nothing_of_it_comes_again() {
        let from = |text, prefix, delimiter| after(text, prefix, delimiter).ok();
        let name = |text| Some(From::After(Name::new(text).expect("a name")));
        let skips = |text: &str| Some(From::At(format!("{text}{}", char::MAX)));
        assert_eq!(from("", "", None), Some(From::Start));
        assert_eq!(from("a/", "", None), name("a/"));
        assert_eq!(from("a/", "", Some("/")), skips("a/"));
        assert_eq!(from("a/b", "", Some("/")), name("a/b"));
        assert_eq!(from("a/", "a/", Some("/")), name("a/"));
        assert_eq!(from("a/b/", "a/", Some("/")), skips("a/b/"));
    }
}
