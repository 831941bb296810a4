//! Content that is hashed as it passes by.

use std::io::{self, Read};
use std::path::Path;

use slotcast_node::ContentHash;
use ureq::Body;
use ureq::http::Response;

/// The header that says the address of content.
const CONTENT: &str = "slotcast-content";

/// The header that says how content is encrypted.
const ENCRYPTION: &str = "slotcast-encryption";

/// The address that an answer says that its content has.
pub(super) fn expected_of(answer: &Response<Body>) -> Option<String> {
    answer.headers().get(CONTENT)?.to_str().ok().map(str::to_owned)
}

/// Whether content is encrypted where it is stored.
pub(super) fn is_encrypted(answer: &Response<Body>) -> bool {
    answer.headers().contains_key(ENCRYPTION)
}

/// Reads content, and fails at its end if it is not what it should be.
pub(super) struct Verified<R> {
    inner: R,
    hash: ContentHash,
    expected: Option<String>,
}

impl<R> Verified<R> {
    pub(super) fn new(inner: R, expected: Option<String>) -> Verified<R> {
        Verified { inner, hash: ContentHash::new(), expected }
    }

    /// The address of what was read.
    pub(super) fn address(self) -> String {
        self.hash.address().to_string()
    }
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.hash.update(&buffer[..n]);
        if n == 0
            && !buffer.is_empty()
            && let Some(expected) = self.expected.take()
        {
            let found = std::mem::take(&mut self.hash).address().to_string();
            if found != expected {
                let message = format!("it is {found}, and was stored as {expected}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        Ok(n)
    }
}

/// The address that the content of a file has.
pub(super) fn address_of(path: &Path) -> io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut hash = ContentHash::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.address().to_string()),
            n => hash.update(&buffer[..n]),
        }
    }
}
