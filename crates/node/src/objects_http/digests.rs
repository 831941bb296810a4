//! Checksums of content over HTTP, as digest fields (RFC 9530): `Repr-Digest: sha-256=:…:, crc64nvme=:…:`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use bytes::Bytes;
use data_encoding::BASE64;
use futures_util::{Stream, StreamExt};
use slotcast_object::Object;

use super::bad_request;
use crate::digests::{Checksum, Digests};
use crate::encryption::Encryption;
use crate::http::Problem;
use crate::objects::Seal;

/// What the content of a request is said to be: of a put of all of an object both are the same.
const ANNOUNCED: [&str; 2] = ["content-digest", "repr-digest"];

/// What an answer says of all of an object.
pub(super) const NAME: HeaderName = HeaderName::from_static("repr-digest");

/// Which are to be computed and kept.
const WANTED: &str = "want-repr-digest";

const MD5: &str = "content-md5";

/// The names of the registry of digest fields; those of CRCs that are not in it, as S3 has them in its headers.
fn name(checksum: Checksum) -> &'static str {
    match checksum {
        Checksum::Md5 => "md5",
        Checksum::Crc32 => "crc32",
        Checksum::Crc32c => "crc32c",
        Checksum::Crc64Nvme => "crc64nvme",
        Checksum::Sha1 => "sha",
        Checksum::Sha256 => "sha-256",
    }
}

fn named(text: &str, header: &str) -> Result<Checksum, Problem> {
    let found = Checksum::ALL.into_iter().find(|checksum| name(*checksum) == text);
    found.ok_or_else(|| {
        let known = Checksum::ALL.map(name).join(", ");
        bad_request(format!("{header}: `{text}` is not known; {known} are"))
    })
}

/// The members of a dictionary (RFC 9651) in all headers of a name: keys with their values.
fn members<'a>(
    headers: &'a HeaderMap,
    header: &'a str,
) -> impl Iterator<Item = Result<(&'a str, &'a str), Problem>> {
    let texts = headers.get_all(header).into_iter().map(|value| value.to_str().unwrap_or("?"));
    let members =
        texts.flat_map(|text| text.split(',').map(|member| member.trim_matches([' ', '\t'])));
    members.map(move |member| {
        let wrong = || bad_request(format!("{header}: `{member}` is not as `sha-256=…`"));
        member.split_once('=').ok_or_else(wrong)
    })
}

/// What a client says of the checksums of its content, and wants to be kept.
#[derive(Debug, Default)]
pub(super) struct Announced {
    wanted: Vec<Checksum>,
    expected: Vec<(Checksum, Vec<u8>, String)>,
}

/// Whether headers say something of checksums.
pub(super) fn has_any(headers: &HeaderMap) -> bool {
    ANNOUNCED.iter().chain([&WANTED, &MD5]).any(|header| headers.contains_key(*header))
}

impl Announced {
    pub(super) fn of(headers: &HeaderMap) -> Result<Announced, Problem> {
        let mut announced = Announced::default();
        for header in ANNOUNCED {
            for member in members(headers, header) {
                let (key, value) = member?;
                let checksum = named(key, header)?;
                let text = value.strip_prefix(':').and_then(|text| text.strip_suffix(':'));
                announced.expect(checksum, text, header)?;
            }
        }
        if let Some(value) = headers.get(MD5) {
            announced.expect(Checksum::Md5, value.to_str().ok(), MD5)?;
        }
        for member in members(headers, WANTED) {
            let (key, weight) = member?;
            match weight.parse::<u8>() {
                Ok(0) => {}
                Ok(1..=10) => announced.want(named(key, WANTED)?),
                _ => return Err(bad_request(format!("{WANTED}: {key} is from 0 to 10"))),
            }
        }
        Ok(announced)
    }

    fn want(&mut self, checksum: Checksum) {
        if !self.wanted.contains(&checksum) {
            self.wanted.push(checksum);
        }
    }

    fn expect(
        &mut self,
        checksum: Checksum,
        text: Option<&str>,
        header: &str,
    ) -> Result<(), Problem> {
        let value = text.and_then(|text| BASE64.decode(text.as_bytes()).ok());
        let length = checksum.length();
        let value = value.filter(|value| value.len() == length).ok_or_else(|| {
            let name = name(checksum);
            bad_request(format!(
                "{header}: {name} is {length} bytes in base64, between colons in a digest field"
            ))
        })?;
        self.want(checksum);
        self.expected.push((checksum, value, header.to_owned()));
        Ok(())
    }

    /// The content, of which checksums are computed as it passes by, and what compares them at its end and puts them into
    /// the object.
    pub(super) fn pass<E>(
        self,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> (impl Stream<Item = Result<Bytes, E>>, Option<Seal>) {
        let digests = Arc::new(Mutex::new(Digests::new(self.wanted.iter().copied())));
        let (sum, is_any) = (digests.clone(), !self.wanted.is_empty());
        let pieces = content.inspect(move |piece| {
            if let (true, Ok(piece)) = (is_any, piece) {
                sum.lock().unwrap_or_else(PoisonError::into_inner).update(piece);
            }
        });
        let seal = move |object: &mut Object| {
            let sums = digests.lock().unwrap_or_else(PoisonError::into_inner).finish();
            for (checksum, expected, header) in &self.expected {
                let found = checksum.of(&sums).unwrap_or_default();
                if found != *expected {
                    let (name, found, expected) =
                        (name(*checksum), BASE64.encode(&found), BASE64.encode(expected));
                    return Err(format!(
                        "the {name} of the content that came is {found}, and not {expected} as {header} says: \
                         nothing is stored"
                    )
                    .into());
                }
            }
            object.checksums = sums;
            Ok(())
        };
        let seal: Option<Seal> = if is_any { Some(Box::new(seal)) } else { None };
        (pieces, seal)
    }
}

/// Which of the checksums of an object are those of its content, each with its name.
pub(super) fn known(object: &Object) -> impl Iterator<Item = (&'static str, String)> {
    // Of an upload in parts some are those of the checksums of its parts.
    // With a key of a customer something else stands for the MD5.
    let has_tag = matches!(Encryption::of(object), Some(Encryption::Customer { .. }));
    let is_whole = move |checksum: &Checksum| match checksum {
        Checksum::Md5 => object.parts == 0 && !has_tag,
        _ => !object.checksums.of_parts,
    };
    Checksum::ALL.into_iter().filter(is_whole).filter_map(|checksum| {
        let value = checksum.of(&object.checksums)?;
        Some((name(checksum), BASE64.encode(&value)))
    })
}

/// The header of an answer that says them; none if there are none.
pub(super) fn header(object: &Object) -> Option<HeaderValue> {
    let all: Vec<String> = known(object).map(|(name, value)| format!("{name}=:{value}:")).collect();
    (!all.is_empty()).then(|| HeaderValue::try_from(all.join(", ")).expect("it is ASCII"))
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    fn announced(pairs: &[(&'static str, &str)]) -> Result<Announced, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        Announced::of(&headers).map_err(|Problem(_, text)| text)
    }

    /// What is kept of `123456789`, or why it is refused.
    async fn put(pairs: &[(&'static str, &str)]) -> Result<Option<String>, String> {
        let content = stream::iter([Ok::<_, String>("12345".into()), Ok("6789".into())]);
        let (pieces, seal) = announced(pairs)?.pass(content);
        let mut object = Object::default();
        assert_eq!(pieces.count().await, 2);
        seal.map_or(Ok(()), |seal| seal(&mut object)).map_err(|error| error.to_string())?;
        Ok(header(&object).map(|value| value.to_str().expect("ASCII").to_owned()))
    }

    #[tokio::test]
    async fn what_is_announced_is_compared_and_kept() {
        let (md5, crc) = ("JfnnlDI7RTiF9RgfG2JNCw==", "4waSgw==");
        let both = format!("md5=:{md5}:, crc32c=:{crc}:");
        for header in ANNOUNCED {
            assert_eq!(put(&[(header, &both)]).await, Ok(Some(both.clone())));
        }
        assert_eq!(put(&[("content-md5", md5)]).await, Ok(Some(format!("md5=:{md5}:"))));
        let twice = [("content-digest", &format!("crc32c=:{crc}:")[..]), ("content-md5", md5)];
        assert_eq!(put(&twice).await, Ok(Some(both)));
        assert_eq!(put(&[]).await, Ok(None));
        let wanted = put(&[("want-repr-digest", "crc64nvme=5, sha-256=0")]).await;
        assert_eq!(wanted, Ok(Some("crc64nvme=:rosUhgp5mIg=:".into())));
        let wrong = put(&[("content-digest", "crc32c=:4waSgg==:")]).await;
        assert!(wrong.is_err_and(|text| text.contains("4waSgw==") && text.contains("4waSgg==")));
    }

    #[test]
    fn what_cannot_be_compared_is_refused() {
        for (header, value, says) in [
            ("content-digest", "sha-512=:AAAA:", "`sha-512` is not known"),
            ("content-digest", "crc32c=:AAAA:", "4 bytes"),
            ("content-digest", "crc32c=4waSgw==", "4 bytes"),
            ("repr-digest", "crc32c", "not as"),
            ("content-md5", "?", "16 bytes"),
            ("want-repr-digest", "md5=11", "from 0 to 10"),
            ("want-repr-digest", "xx=1", "`xx` is not known"),
        ] {
            let refused = announced(&[(header, value)]).map(drop);
            assert!(
                refused.as_ref().is_err_and(|text| text.contains(says)),
                "{value}: {refused:?}"
            );
        }
    }
}
