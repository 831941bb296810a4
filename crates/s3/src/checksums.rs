//! Checksums of content: computed as it passes by, and compared with what was announced.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use bytes::Bytes;
use data_encoding::BASE64;
use futures_util::{Stream, StreamExt};
use s3s::crypto::{Checksum as _, Md5};
use s3s::dto::ChecksumType;
use s3s::{S3Error, S3Result, StdError, TrailingHeaders, s3_error};
use slotcast_node::{Checksum, Digests, Incoming, Seal};
use slotcast_object::{Checksums, Object};

use crate::algorithm::Algorithm;
use crate::chunks::{MAX_SIGNED, is_signed};
use crate::errors::{custom, incomplete};

/// What computes MD5 and another checksum of content that passes by.
fn digests(algorithm: Algorithm) -> Digests {
    Digests::new([Checksum::Md5, algorithm.checksum()])
}

/// What a client says that the checksums of its content are.
#[derive(Debug)]
pub(crate) struct Announced {
    md5: Option<[u8; 16]>,
    /// What is computed beside MD5, and kept.
    pub(crate) algorithm: Algorithm,
    /// Whether the client has asked for it.
    pub(crate) is_asked: bool,
    value: Option<Vec<u8>>,
    /// The value follows the content.
    trailing: Option<TrailingHeaders>,
    /// A chunk of the content is in memory before any of it is read.
    is_chunked: bool,
}

impl Announced {
    /// What the headers of a request say. Where they name no algorithm it is `default`, or that which AWS takes then.
    pub(crate) fn of(
        headers: &HeaderMap,
        trailing_headers: Option<&TrailingHeaders>,
        default: Option<Algorithm>,
    ) -> S3Result<Announced> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let md5 = match text("content-md5") {
            Some(text) => Some(md5_of(text)?),
            None => None,
        };
        let given = given(headers)?;
        let trailer = trailer(headers)?;
        if given.is_some() && trailer.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
            ));
        }
        let named = match text("x-amz-sdk-checksum-algorithm") {
            Some(name) => Some(Algorithm::read(name)?),
            None => None,
        };
        let asked = given.as_ref().map(|(one, _)| *one).or(trailer).or(named);
        let trailing = match (trailer, trailing_headers) {
            (Some(_), Some(trailing)) => Some(trailing.clone()),
            (Some(_), None) => {
                return Err(s3_error!(
                    InvalidRequest,
                    "x-amz-trailer needs a content that is signed in chunks"
                ));
            }
            (None, _) => None,
        };
        Ok(Announced {
            md5,
            algorithm: asked.or(default).unwrap_or(Algorithm::Crc64),
            is_asked: asked.is_some(),
            value: given.map(|(_, value)| value),
            trailing,
            is_chunked: text("x-amz-content-sha256").and_then(is_signed) == Some(true),
        })
    }

    /// Compares what came with what was announced.
    fn check(&self, checksums: &Checksums) -> S3Result<()> {
        if self.md5.is_some() && self.md5 != checksums.md5 {
            return Err(s3_error!(
                BadDigest,
                "The Content-MD5 you specified did not match what we received."
            ));
        }
        let trailing = match &self.trailing {
            Some(trailing) => {
                let headers = trailing.take().unwrap_or_default();
                let text = headers.get(self.algorithm.header()).and_then(|text| text.to_str().ok());
                let missing = || {
                    let message = "The request contained trailing data that was not well-formed or did not conform to our published schema.";
                    custom("MalformedTrailerError", 400, message)
                };
                Some(self.algorithm.value(text.ok_or_else(missing)?)?)
            }
            None => None,
        };
        let expected = self.value.as_ref().or(trailing.as_ref());
        match expected.is_none_or(|value| Some(value) == self.algorithm.of(checksums).as_ref()) {
            true => Ok(()),
            false => Err(mismatch(self.algorithm)),
        }
    }

    /// What is known of the length of content before it comes.
    pub(crate) fn incoming(&self, length: Option<u64>) -> Incoming {
        let most = length.map_or(MAX_SIGNED, |length| length.min(MAX_SIGNED));
        Incoming { length, buffered: if self.is_chunked { most } else { 0 } }
    }

    /// The content, of which checksums are computed as it passes by, and what compares them and its length at its end and
    /// puts them into the object. (Content in chunks may end without its last one, and `s3s` does not mind.)
    pub(crate) fn pass(
        self,
        content: impl Stream<Item = Result<Bytes, StdError>> + Send,
        length: Option<u64>,
    ) -> (impl Stream<Item = Result<Bytes, StdError>> + Send, Seal) {
        let digests = Arc::new(Mutex::new(digests(self.algorithm)));
        let sum = digests.clone();
        let pieces = content.inspect(move |piece| {
            if let Ok(piece) = piece {
                sum.lock().unwrap_or_else(PoisonError::into_inner).update(piece);
            }
        });
        let seal = move |object: &mut Object| {
            if length.is_some_and(|length| object.size != length) {
                return Err(incomplete().into());
            }
            let sums = digests.lock().unwrap_or_else(PoisonError::into_inner).finish();
            self.check(&sums)?;
            object.checksums = sums;
            Ok(())
        };
        (pieces, Box::new(seal))
    }
}

/// What was announced is not what came.
pub(crate) fn mismatch(algorithm: Algorithm) -> S3Error {
    s3_error!(
        BadDigest,
        "The {} you specified did not match the calculated checksum.",
        algorithm.name()
    )
}

/// What Content-MD5 says.
fn md5_of(text: &str) -> S3Result<[u8; 16]> {
    let value = BASE64.decode(text.as_bytes()).ok().and_then(|value| value.try_into().ok());
    value.ok_or_else(|| s3_error!(InvalidDigest, "The Content-MD5 you specified was invalid."))
}

/// The checksum among headers.
pub(crate) fn given(headers: &HeaderMap) -> S3Result<Option<(Algorithm, Vec<u8>)>> {
    let mut found = None;
    for algorithm in Algorithm::ALL {
        let Some(value) = headers.get(algorithm.header()) else { continue };
        if found.is_some() {
            return Err(s3_error!(
                InvalidRequest,
                "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."
            ));
        }
        found = Some((algorithm, algorithm.value(value.to_str().unwrap_or(""))?));
    }
    Ok(found)
}

/// The checksum that follows the content.
fn trailer(headers: &HeaderMap) -> S3Result<Option<Algorithm>> {
    let text = headers.get("x-amz-trailer").and_then(|value| value.to_str().ok());
    let Some(text) = text else { return Ok(None) };
    let name = text.trim();
    let found = Algorithm::ALL.into_iter().find(|one| one.header().eq_ignore_ascii_case(name));
    found.map(Some).ok_or_else(|| {
        s3_error!(
            InvalidRequest,
            "The value specified in the x-amz-trailer header is not supported"
        )
    })
}

pub(crate) use slotcast_node::entity_tag as etag;

/// Checksums as answers have them.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) crc32: Option<String>,
    pub(crate) crc32c: Option<String>,
    pub(crate) crc64nvme: Option<String>,
    pub(crate) sha1: Option<String>,
    pub(crate) sha256: Option<String>,
    pub(crate) kind: Option<ChecksumType>,
}

/// The checksums of an object but for MD5.
pub(crate) fn shown(object: &Object) -> Shown {
    let sums = &object.checksums;
    let text = |algorithm: Algorithm| {
        algorithm.of(sums).map(|value| match sums.of_parts {
            true => format!("{}-{}", BASE64.encode(&value), object.parts),
            false => BASE64.encode(&value),
        })
    };
    let [crc32, crc32c, crc64nvme, sha1, sha256] = Algorithm::ALL.map(text);
    let is_any = [&crc32, &crc32c, &crc64nvme, &sha1, &sha256].iter().any(|one| one.is_some());
    let kind = match sums.of_parts {
        true => ChecksumType::from_static(ChecksumType::COMPOSITE),
        false => ChecksumType::from_static(ChecksumType::FULL_OBJECT),
    };
    Shown { crc32, crc32c, crc64nvme, sha1, sha256, kind: is_any.then_some(kind) }
}

/// Puts checksums into an answer.
macro_rules! show {
    ($output:expr, $shown:expr) => {{
        let shown: $crate::checksums::Shown = $shown;
        $output.checksum_crc32 = shown.crc32;
        $output.checksum_crc32c = shown.crc32c;
        $output.checksum_crc64nvme = shown.crc64nvme;
        $output.checksum_sha1 = shown.sha1;
        $output.checksum_sha256 = shown.sha256;
        shown.kind
    }};
}
pub(crate) use show;

/// The checksums of an object that was uploaded in these parts: MD5 of their MD5s, and another one as is wanted.
pub(crate) fn of_parts<'a>(
    parts: impl Iterator<Item = &'a Object> + Clone,
    wanted: Option<(Algorithm, bool)>,
) -> Checksums {
    let mut md5 = Md5::new();
    parts.clone().filter_map(|part| part.checksums.md5).for_each(|one| md5.update(&one));
    let mut sums = Checksums { md5: Some(md5.finalize()), ..Checksums::default() };
    match wanted {
        Some((algorithm, true)) => {
            let mut digests = digests(algorithm);
            parts.filter_map(|part| algorithm.of(&part.checksums)).for_each(|value| {
                digests.update(&value);
            });
            if let Some(value) = algorithm.of(&digests.finish()) {
                algorithm.set(&mut sums, &value);
                sums.of_parts = true;
            }
        }
        Some((algorithm, false)) => {
            if let Some(value) = whole(parts, algorithm) {
                algorithm.set(&mut sums, &value);
            }
        }
        None => {}
    }
    sums
}

/// The checksum of all of the content, from those of its parts.
fn whole<'a>(parts: impl Iterator<Item = &'a Object>, algorithm: Algorithm) -> Option<Vec<u8>> {
    let crc = algorithm.combined()?;
    let mut whole: Option<u64> = None;
    for part in parts {
        let bytes = algorithm.of(&part.checksums)?;
        let value = bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
        whole = Some(match whole {
            Some(before) => crc_fast::checksum_combine(crc, before, value, part.size),
            None => value,
        });
    }
    let bytes = whole?.to_be_bytes();
    Some(bytes[bytes.len() - algorithm.length()..].to_vec())
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER;
    use slotcast_object::Body;

    use super::*;

    fn object(content: &[u8]) -> Object {
        let mut checksums = Checksums::default();
        for algorithm in Algorithm::ALL {
            let mut digests = digests(algorithm);
            digests.update(content);
            let sums = digests.finish();
            checksums.md5 = sums.md5;
            let value = algorithm.of(&sums).expect("it was computed");
            algorithm.set(&mut checksums, &value);
        }
        Object { size: content.len() as u64, checksums, ..Object::default() }
    }

    #[test]
    fn the_checksum_of_a_whole_is_found_from_those_of_its_parts() {
        let content: Vec<u8> = (0..40_000_u32).map(|n| (n % 251) as u8).collect();
        let whole = object(&content);
        for cuts in [vec![0], vec![1, 20_000], vec![7, 8, 9, 39_999]] {
            let mut parts = Vec::new();
            let mut begin = 0;
            for end in cuts.into_iter().chain([content.len()]) {
                parts.push(object(&content[begin..end]));
                begin = end;
            }
            for algorithm in [Algorithm::Crc32, Algorithm::Crc32c, Algorithm::Crc64] {
                let sums = of_parts(parts.iter(), Some((algorithm, false)));
                assert_eq!(algorithm.of(&sums), algorithm.of(&whole.checksums), "{algorithm:?}");
                assert!(!sums.of_parts);
            }
        }
    }

    /// Those that AWS shows of an object of two parts are computed so: the checksum of the checksums, in order.
    #[test]
    fn checksums_of_parts_have_the_number_of_parts() {
        let parts = [object(b"one"), object(b"two")];
        let checksums = of_parts(parts.iter(), Some((Algorithm::Sha256, true)));
        let both: Vec<u8> =
            parts.iter().flat_map(|part| part.checksums.sha256.expect("it is there")).collect();
        assert_eq!(checksums.sha256, Some(s3s::crypto::Sha256::checksum(&both)));
        let whole = Object { parts: 2, checksums, ..Object::default() };
        let shown = shown(&whole);
        assert!(shown.sha256.is_some_and(|text| text.ends_with("-2")));
        assert_eq!(shown.kind.as_ref().map(ChecksumType::as_str), Some(ChecksumType::COMPOSITE));
        let md5: Vec<u8> =
            parts.iter().flat_map(|part| part.checksums.md5.expect("it is there")).collect();
        assert_eq!(etag(&whole), format!("{}-2", HEXLOWER.encode(&Md5::checksum(&md5))));
    }

    #[test]
    fn what_has_no_md5_has_a_tag_that_is_none() {
        let native = Object { body: Body::inline("abc".into()), ..Object::default() };
        assert!(etag(&native).ends_with("-1") && etag(&native).len() == 34);
        assert_ne!(etag(&native), etag(&Object::default()));
    }
}
