//! A mounted file system for a test.
#![allow(clippy::disallowed_types, clippy::disallowed_methods, reason = "it has files")]

use slotcast_lossy::LossyDisk;
use tempfile::TempDir;

/// A mounted file system, and the folder that it is mounted at; none, with the reason told, where that is not allowed.
/// The folder goes last.
pub(crate) fn mounted() -> Option<(LossyDisk, TempDir)> {
    let folder = tempfile::tempdir().expect("a folder");
    match LossyDisk::mount(folder.path()) {
        Ok(disk) => Some((disk, folder)),
        Err(error) => {
            eprintln!("skipped: no file system can be mounted through FUSE: {error}");
            None
        }
    }
}
