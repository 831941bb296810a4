//! What the headers of a get say of the content that is wanted: all of it, a part, or nothing where it is known.

use std::ops::Range;

use axum::http::{HeaderMap, header};

use slotcast_object::Address;

/// The entity tag of content: its address is a hash of it, so it never changes.
pub(crate) fn tag(address: Address) -> String {
    format!("\"{address}\"")
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether the client has the content with this tag already (If-None-Match).
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let mut values = headers.get_all(header::IF_NONE_MATCH).iter();
    values.any(|value| {
        let mut tags = value.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
    })
}

/// What a get wants of content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it.
    All,
    /// These bytes.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Nothing,
}

/// What is wanted of content with this tag and this length (Range, If-Range). Several ranges, other units and what
/// cannot be read are passed over, as RFC 9110 allows.
pub(crate) fn wanted(headers: &HeaderMap, tag: &str, length: u64) -> Wanted {
    let Some(range) = text(headers, header::RANGE) else { return Wanted::All };
    if text(headers, header::IF_RANGE).is_some_and(|known| known != tag) {
        return Wanted::All;
    }
    let bounds = range.trim().strip_prefix("bytes=").and_then(|range| range.trim().split_once('-'));
    let Some((first, last)) = bounds else { return Wanted::All };
    let number = |text: &str| -> Option<u64> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // What is too large for a number is behind the end.
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let range = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Wanted::All,
    };
    match range.is_empty() {
        true => Wanted::Nothing,
        false => Wanted::Part(range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(header::HeaderName, &'static str)]) -> HeaderMap {
        let value = |text: &'static str| header::HeaderValue::from_static(text);
        pairs.iter().map(|(name, text)| (name.clone(), value(text))).collect()
    }

    #[test]
    fn ranges_are_those_of_rfc_9110() {
        for (range, part) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-4", Wanted::Part(2..5)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=9-99999999999999999999999", Wanted::Part(9..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=4-2", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=-", Wanted::All),
            ("bytes=+1-2", Wanted::All),
            ("lines=1-2", Wanted::All),
        ] {
            assert_eq!(wanted(&headers(&[(header::RANGE, range)]), "\"x\"", 10), part, "{range}");
        }
        assert_eq!(wanted(&headers(&[(header::RANGE, "bytes=0-")]), "\"x\"", 0), Wanted::Nothing);
        for (known, part) in [("\"x\"", Wanted::Part(1..2)), ("\"y\"", Wanted::All)] {
            let both = headers(&[(header::RANGE, "bytes=1-1"), (header::IF_RANGE, known)]);
            assert_eq!(wanted(&both, "\"x\"", 10), part);
        }
    }

    #[test]
    fn known_content_is_found_among_tags() {
        for (tags, is) in
            [("\"x\"", true), ("\"a\", W/\"x\"", true), ("*", true), ("\"xy\"", false)]
        {
            assert_eq!(is_known(&headers(&[(header::IF_NONE_MATCH, tags)]), "\"x\""), is, "{tags}");
        }
        assert!(!is_known(&HeaderMap::new(), "\"x\""));
    }
}
