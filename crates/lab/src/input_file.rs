//! Reads input files that may be anything: a device that never ends, a film, a folder.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::input_error::InputError;

/// Reads the text at `path`, which must not have more than `max` bytes. `expected` says what it should be.
pub(crate) fn read_text(path: &Path, max: u64, expected: &str) -> Result<String, Box<InputError>> {
    let name = path.display();
    let failed = |why: String| {
        InputError::plain(format!("cannot read `{name}`: {why}")).with_help(Some(expected.into()))
    };
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > max {
        return Err(failed(format!("it has more than {} MiB", max >> 20)));
    }
    String::from_utf8(bytes).map_err(|_| failed("it is no text".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(path: &str, max: u64) -> String {
        read_text(Path::new(path), max, "x").unwrap_err().to_string()
    }

    #[test]
    fn what_never_ends_is_left_after_the_limit() {
        assert_eq!(said("/dev/zero", 1 << 20), "cannot read `/dev/zero`: it has more than 1 MiB");
        assert!(said("/no/such/file", 1).contains("/no/such/file"));
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(said(own, 3).contains("more than 0 MiB"));
        assert!(read_text(Path::new(own), 1 << 20, "x").expect("a text").contains("[package]"));
    }
}
