//! The folder of one target: its identity, and the files of its segments.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use serde::{Deserialize, Serialize};
use slotcast_store::{Config, Identity, SegmentId};

/// What `target.toml` in a target's folder says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Label {
    /// Version of the layout of the folder.
    format: u32,
    /// 64 hexadecimal digits, made at random when the folder was formatted.
    identity: String,
    /// Size of a segment in bytes.
    segment_size: u64,
}

/// The layout that this program writes and reads.
const FORMAT: u32 = 1;

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
    /// `target.toml` is not what this program wrote.
    #[error("`{}`: {problem}", path.display())]
    Label {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another process has it open.
    #[error("`{}` is used by another process", .0.display())]
    Locked(PathBuf),
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
    /// Opens the folder at `path`; an empty or missing one is formatted for segments of `segment_size`
    /// bytes, and the size of one that is there already stays what it is.
    ///
    /// # Errors
    /// If the folder cannot be made, read or locked, or holds something else.
    pub fn open(path: &Path, segment_size: u64) -> Result<Folder, FolderError> {
        let failed = |action, path: &Path| {
            let path = path.to_path_buf();
            move |error| FolderError::Io { action, path, error }
        };
        let segments = path.join("segments");
        fs::create_dir_all(&segments).map_err(failed("create", &segments))?;
        let lock_path = path.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(failed("open", &lock_path))?;
        lock.try_lock().map_err(|_| FolderError::Locked(path.to_path_buf()))?;

        let label_path = path.join("target.toml");
        let label = match fs::read_to_string(&label_path) {
            Ok(text) => read_label(&label_path, &text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let label = new_label(segment_size);
                write_label(path, &label_path, &label).map_err(failed("write", &label_path))?;
                label
            }
            Err(error) => return Err(failed("read", &label_path)(error)),
        };
        let identity = identity_of(&label).ok_or_else(|| FolderError::Label {
            path: label_path,
            problem: "the identity is not 64 hexadecimal digits".into(),
        })?;
        let config = Config { segment_size: label.segment_size, ..Config::new(identity) };
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

    /// Makes a segment, with its room reserved and its name on stable storage.
    pub(crate) fn create_segment(&self, segment: SegmentId, length: u64) -> io::Result<()> {
        let path = self.path_of(segment);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        reserve(&file, length)?;
        file.sync_all()?;
        self.sync_names()
    }

    pub(crate) fn delete_segment(&self, segment: SegmentId) -> io::Result<()> {
        match fs::remove_file(self.path_of(segment)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => self.sync_names(),
        }
    }

    /// Zeroes everything from `offset` on, and makes the segment `length` bytes long.
    pub(crate) fn cut_segment(&self, file: &File, offset: u64, length: u64) -> io::Result<()> {
        file.set_len(offset)?;
        reserve(file, length)?;
        file.sync_all()
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.segments)?.sync_all()
    }

    /// Bytes that the file system has left for this user.
    pub fn free(&self) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(&self.segments)?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }
}

fn inode_of(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Reserves room up to `length`, where the file system can.
fn reserve(file: &File, length: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(length),
        Err(error) => Err(error.into()),
    }
}

fn read_label(path: &Path, text: &str) -> Result<Label, FolderError> {
    let wrong = |problem: String| FolderError::Label { path: path.to_path_buf(), problem };
    let label: Label = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if label.format != FORMAT {
        let problem = format!("format {}, and this program reads format {FORMAT}", label.format);
        return Err(wrong(problem));
    }
    let size = label.segment_size;
    if !(64 << 10..=2 << 30).contains(&size) || !size.is_multiple_of(4096) {
        return Err(wrong(format!("segments of {size} bytes are not possible")));
    }
    Ok(label)
}

fn new_label(segment_size: u64) -> Label {
    let mut identity = [0; 32];
    getrandom::fill(&mut identity).expect("the system has random numbers");
    let identity = blake3::Hash::from_bytes(identity).to_hex().to_string();
    Label { format: FORMAT, identity, segment_size }
}

fn identity_of(label: &Label) -> Option<Identity> {
    let hash = blake3::Hash::from_hex(&label.identity).ok()?;
    Some(Identity(*hash.as_bytes()))
}

/// Whole or not at all: a label that is torn would make the folder useless.
fn write_label(folder: &Path, path: &Path, label: &Label) -> io::Result<()> {
    let text = format!(
        "# A target of Slotcast. Without this file its chunks cannot be read.\n\
         format = {}\nidentity = \"{}\"\nsegment_size = {}\n",
        label.format, label.identity, label.segment_size
    );
    let temporary = path.with_extension("toml.new");
    let mut file = File::create(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    File::open(folder)?.sync_all()
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
