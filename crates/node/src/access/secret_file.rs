//! Files with secrets in them: only their owner can read them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use zeroize::Zeroizing;

/// The mode of such a file.
const MODE: u32 = 0o600;

/// The most bytes of one.
const MAX_LENGTH: u64 = 1 << 20;

/// Why a file cannot be used.
#[derive(Debug)]
pub(crate) enum SecretFileError {
    /// Others than its owner may read or write it: it has this mode.
    Open(u32),
    /// It cannot be read.
    Io(io::Error),
}

/// What is in the file at `path`.
pub(crate) fn read(path: &Path) -> Result<Zeroizing<String>, SecretFileError> {
    let file = File::open(path).map_err(SecretFileError::Io)?;
    // The file that is read, whatever its name means by now.
    let metadata = file.metadata().map_err(SecretFileError::Io)?;
    if metadata.mode() & 0o077 != 0 {
        return Err(SecretFileError::Open(metadata.mode() & 0o777));
    }
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_LENGTH).read_to_string(&mut text).map_err(SecretFileError::Io)?;
    Ok(text)
}

/// Writes a new file. It is there whole, or not at all, and others can never read it.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    write_with(path, content, |_| Ok(()))
}

/// Writes a file in place of the one at `path`, which keeps its mode and its owner. It is there as it was, or whole.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let before = fs::metadata(path)?;
    write_with(path, content, |file| {
        let new = file.metadata()?;
        if (before.uid(), before.gid()) != (new.uid(), new.gid()) {
            fchown(file, Some(before.uid()), Some(before.gid()))?;
        }
        file.set_permissions(before.permissions())
    })
}

/// The same, with a file made ready before it has anything in it.
fn write_with(
    path: &Path,
    content: &[u8],
    ready: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let new = path.with_extension("new");
    // What is left of an earlier attempt has a mode of its own.
    let _ = fs::remove_file(&new);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&new)?;
    ready(&file)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}
