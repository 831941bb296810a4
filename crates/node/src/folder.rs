//! The folder of one target: its lock, and the files of its segments.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use slotcast_member::identity::{Contents, Label, Rewrite};
use slotcast_protocol::TargetId;
use slotcast_store::{Config, SegmentId};

use crate::label;
use crate::whole_file::create_folder;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system said no.
    #[error("cannot {action} `{}`: {error}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It does not hold the target that it should.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// Another process has it open.
    #[error("`{}` is used by another process", .0.display())]
    Locked(PathBuf),
}

/// Why a folder is not taken for the target that it should hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The target; none where any would do.
    pub target: Option<TargetId>,
    /// Its folder.
    pub folder: PathBuf,
    /// What is there.
    pub found: String,
    /// What should be there.
    pub expected: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refusal { target, folder, found, expected, remedy } = self;
        if let Some(target) = target {
            write!(f, "target {}, ", target.0)?;
        }
        write!(f, "`{}`: {found}; expected {expected}; {remedy}", folder.display())
    }
}

/// A target's folder, locked for this process.
#[derive(Debug)]
pub struct Folder {
    segments: PathBuf,
    /// What tells the folder of the segments from another one at its place.
    inode: (u64, u64),
    config: Config,
    /// Holds the lock as long as it is open.
    _lock: File,
}

impl Folder {
    /// Opens the folder at `path`, whichever target it holds; one without a target, or a missing one, is formatted
    /// for segments of `segment_size` bytes. The size of one that is there already stays what it is.
    ///
    /// # Errors
    /// If the folder cannot be made, read or locked, or holds what cannot be told.
    pub fn open(path: &Path, segment_size: u64) -> Result<Folder, FolderError> {
        match label::inspect(path).map_err(failed("read", path))? {
            Contents::Missing | Contents::Empty | Contents::OtherFiles(_) => {
                Folder::format(path, &label::unregistered(segment_size))
            }
            Contents::Labelled { label, broken_copy } => {
                Folder::open_labelled(path, &label, broken_copy.map(Rewrite::BrokenCopy))
            }
            Contents::Unreadable(found) => Err(FolderError::Refused(Box::new(Refusal {
                target: None,
                folder: path.to_path_buf(),
                found,
                expected: "a target, or an empty folder".into(),
                remedy: "empty it, or name another folder".into(),
            }))),
        }
    }

    /// Makes the folder, if it is missing, and labels it.
    pub(crate) fn format(path: &Path, label: &Label) -> Result<Folder, FolderError> {
        let segments = path.join("segments");
        create_folder(&segments).map_err(failed("create", &segments))?;
        let lock = lock(path)?;
        // Something may have been mounted since somebody looked.
        let found = match label::inspect(path).map_err(failed("read", path))? {
            Contents::Missing | Contents::Empty | Contents::OtherFiles(_) => None,
            Contents::Labelled { .. } => Some("it holds a target".into()),
            Contents::Unreadable(found) => Some(found),
        };
        if let Some(found) = found {
            return Err(FolderError::Refused(Box::new(Refusal {
                target: None,
                folder: path.to_path_buf(),
                found,
                expected: "an empty folder, as it was a moment ago".into(),
                remedy: "start the node anew".into(),
            })));
        }
        label::write(label, path).map_err(failed("write the label of", path))?;
        Folder::locked(path, label, lock)
    }

    /// Opens a folder that holds the target of `label`.
    pub(crate) fn open_labelled(
        path: &Path,
        label: &Label,
        rewrite: Option<Rewrite>,
    ) -> Result<Folder, FolderError> {
        let lock = lock(path)?;
        let folder = path.display();
        match rewrite.map(|rewrite| (rewrite, label::write(label, path))) {
            None => {}
            Some((Rewrite::BrokenCopy(copy), Ok(()))) => {
                tracing::warn!(%folder, copy, "label of a target restored");
            }
            Some((Rewrite::Owner, Ok(()))) => tracing::info!(%folder, "target registered"),
            // What is there says enough. A disk that is full is no reason to do without its chunks.
            Some((_, Err(error))) => {
                tracing::warn!(%folder, %error, "label of a target not written");
            }
        }
        Folder::locked(path, label, lock)
    }

    fn locked(path: &Path, label: &Label, lock: File) -> Result<Folder, FolderError> {
        let segments = path.join("segments");
        let config = Config { segment_size: label.segment_size, ..Config::new(label.identity) };
        let inode = inode_of(&segments).map_err(failed("read", &segments))?;
        Ok(Folder { segments, inode, config, _lock: lock })
    }

    /// The parameters with which its store is to be opened.
    pub fn config(&self) -> Config {
        self.config
    }

    /// Whether it is still where it was opened. One that was moved or whose disk was taken away can be
    /// written for a while, by the files that are open, and would not be found at the next start.
    pub(crate) fn is_there(&self) -> bool {
        match inode_of(&self.segments) {
            Ok(inode) => inode == self.inode,
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        }
    }

    /// Where its segments are.
    pub(crate) fn segments(&self) -> &Path {
        &self.segments
    }

    /// Where the rows of its names are, if it has any: a folder for [`Rows`](crate::Rows).
    pub fn names(&self) -> PathBuf {
        self.segments.with_file_name("names")
    }

    pub(crate) fn list(&self) -> io::Result<Vec<SegmentId>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.segments)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(".seg"));
            found.extend(number.and_then(|number| number.parse().ok()).map(SegmentId));
        }
        Ok(found)
    }

    pub(crate) fn path_of(&self, SegmentId(number): SegmentId) -> PathBuf {
        self.segments.join(format!("{number:010}.seg"))
    }

    pub(crate) fn open_segment(&self, segment: SegmentId) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.path_of(segment))
    }

    /// Makes a segment that is empty.
    pub(crate) fn new_segment(&self, segment: SegmentId) -> io::Result<File> {
        let path = self.path_of(segment);
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    }

    /// Takes a segment away; it is no error if there is none.
    pub(crate) fn remove_segment(&self, segment: SegmentId) -> io::Result<()> {
        match fs::remove_file(self.path_of(segment)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// The folder of the segments, to be flushed when one was made or taken away.
    pub(crate) fn open_names(&self) -> io::Result<File> {
        File::open(&self.segments)
    }
}

/// Locks the folder for this process, as long as the file is open.
fn lock(path: &Path) -> Result<File, FolderError> {
    let place = path.join("lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&place)
        .map_err(failed("open", &place))?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => FolderError::Locked(path.to_path_buf()),
        TryLockError::Error(error) => failed("lock", &place)(error),
    })?;
    Ok(lock)
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_path_buf();
    move |error| FolderError::Io { action, path, error }
}

fn inode_of(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Zeroes everything from `offset` on, makes the segment `length` bytes long with its room reserved, and flushes
/// it, also where there is no room: what is before `offset` is relied on.
pub(crate) fn cut_segment(file: &File, offset: u64, length: u64) -> io::Result<()> {
    file.set_len(offset)?;
    let reserved = reserve(file, length);
    file.sync_all()?;
    reserved
}

/// Reserves room up to `length`, where the file system can.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(length),
        Err(error) => Err(error.into()),
    }
}

/// Fills `bytes` from `offset` on; says how many there were before the file ended.
pub(crate) fn read_at(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
