//! Whether a file has changed since it was read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How often files are looked at that are read again when they change.
pub(crate) const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What of a file changes when it is written; none if it is not there.
pub(crate) type Stamp = Option<(SystemTime, u64, u64)>;

/// The stamp of the file at `path`.
pub(crate) fn stamp(path: &Path) -> Stamp {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len(), metadata.ino()))
}
