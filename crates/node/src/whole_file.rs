//! Small files that are there whole or not at all, also after a crash.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file so that whoever reads it sees what was there or what is new; when this returns, the new one is
/// on stable storage.
pub(crate) fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = PathBuf::from(name);
    let mut file = File::create(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    sync_folder(parent(path))
}

/// Makes a folder and those above it that are missing, with their names on stable storage.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|folder| !is_there(folder)).collect();
    fs::create_dir_all(path)?;
    missing.into_iter().rev().try_for_each(|folder| sync_folder(parent(folder)))
}

fn is_there(folder: &Path) -> bool {
    folder.as_os_str().is_empty() || folder.exists()
}

/// The folder that has the name of `path`.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Puts on stable storage which names a folder has.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
