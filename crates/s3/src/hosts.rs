//! Buckets in the name of the host: `bucket.s3.example.org`.

use axum::http::{HeaderMap, Uri, header};
use data_encoding::HEXLOWER_PERMISSIVE;
use s3s::S3Result;
use s3s::host::{S3Host, VirtualHost};

/// Domains below which each name is a bucket.
#[derive(Debug, Clone, Default)]
pub(crate) struct Domains(Vec<String>);

impl Domains {
    pub(crate) fn new(domains: &[String]) -> Domains {
        Domains(domains.iter().map(|domain| domain.to_ascii_lowercase()).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The bucket that a host names, of all that is not below a domain none.
    fn bucket<'a>(&self, host: &'a str) -> Option<&'a str> {
        let host = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let below = |domain: &String| {
            let end = host.len().checked_sub(domain.len())?;
            let (bucket, rest) = (host.get(..end)?, host.get(end..)?);
            let bucket = bucket.strip_suffix('.').filter(|bucket| !bucket.is_empty())?;
            rest.eq_ignore_ascii_case(domain).then_some(bucket)
        };
        self.0.iter().find_map(below)
    }

    /// The bucket, and the key, that a request is about.
    pub(crate) fn place(&self, uri: &Uri, headers: &HeaderMap) -> (Option<String>, Option<String>) {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = host.or_else(|| uri.authority().map(|authority| authority.as_str()));
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let path = decoded(uri.path().strip_prefix('/').unwrap_or(""));
        match host.and_then(|host| self.bucket(host)) {
            Some(bucket) => (some(bucket), some(&path)),
            None => {
                let (bucket, key) = path.split_once('/').unwrap_or((&path, ""));
                (some(bucket), some(key))
            }
        }
    }
}

impl S3Host for Domains {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        Ok(match self.bucket(host) {
            Some(bucket) => VirtualHost::new(host).with_bucket(bucket),
            None => VirtualHost::new(host),
        })
    }
}

/// A path without its percent signs.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = (*first == b'%').then(|| after.get(..2)).flatten();
        match pair.and_then(|pair| HEXLOWER_PERMISSIVE.decode(pair).ok()) {
            Some(byte) => {
                bytes.extend_from_slice(&byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn buckets_are_in_the_host_or_in_the_path() {
        let domains = Domains::new(&["S3.example.org".to_owned(), "localhost".to_owned()]);
        let place = |host: &'static str, path: &'static str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            let (bucket, key) = domains.place(&Uri::from_static(path), &headers);
            format!("{} {}", bucket.unwrap_or_default(), key.unwrap_or_default())
        };
        assert_eq!(place("a.s3.example.org", "/k/l"), "a k/l");
        assert_eq!(place("a.b.S3.EXAMPLE.org:9000", "/"), "a.b ");
        assert_eq!(place("a.localhost:9000", "/x%20y"), "a x y");
        assert_eq!(place("s3.example.org", "/a/k"), "a k");
        assert_eq!(place("xs3.example.org", "/a"), "a ");
        assert_eq!(place("127.0.0.1:9000", "/a%2Fb"), "a b");
        assert_eq!(place("other.org", "/100%"), "100% ");
    }
}
