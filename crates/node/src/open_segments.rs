//! Cache of the open files of one folder's segments: a bounded number of them, however much is stored and
//! whatever is in use.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use slotcast_store::SegmentId;

use crate::direct;
use crate::folder::Folder;

/// How a file is to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// Read and written through the page cache.
    Cached,
    /// Written around the page cache, where the file system has such writes.
    Direct,
}

/// An open file of a segment.
pub(crate) struct SegmentFile {
    pub(crate) file: File,
    /// Whether writes go around the page cache.
    pub(crate) is_direct: bool,
    /// After the file, so that it is closed before it is not counted any more.
    _counted: Counted,
}

/// One of the files that are open.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Entry {
    file: Arc<SegmentFile>,
    /// The number of the request that used it last.
    used: u64,
}

impl Entry {
    /// Whether nobody uses it now. Nobody can begin to while the cache is locked.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.file) == 1
    }
}

#[derive(Default)]
struct Cache {
    files: BTreeMap<(SegmentId, Way), Entry>,
    requests: u64,
}

/// Open files by segment.
pub(crate) struct OpenSegments {
    max: usize,
    /// Files that are open: those in the cache, and those that are used although they were taken out of it.
    open: Arc<AtomicUsize>,
    cache: Mutex<Cache>,
}

impl OpenSegments {
    /// At most `max` files are ever open.
    pub(crate) fn new(max: usize) -> OpenSegments {
        OpenSegments { max, open: Arc::default(), cache: Mutex::default() }
    }

    /// The file, opened if it is not; if too many are open, the one that was not used for longest is closed
    /// before. While it is held it stays open.
    ///
    /// # Errors
    /// As the system says, and `EMFILE` if all files are in use.
    pub(crate) fn get(
        &self,
        folder: &Folder,
        segment: SegmentId,
        way: Way,
    ) -> io::Result<Arc<SegmentFile>> {
        let mut cache = self.lock();
        cache.requests += 1;
        let used = cache.requests;
        if let Some(found) = cache.files.get_mut(&(segment, way)) {
            found.used = used;
            return Ok(found.file.clone());
        }
        while self.open.load(Ordering::Relaxed) >= self.max {
            let idle = cache.files.iter().filter(|(_, entry)| entry.is_idle());
            let oldest = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key);
            let oldest = oldest.ok_or(rustix::io::Errno::MFILE)?;
            cache.files.remove(&oldest);
        }
        let (file, is_direct) = open(folder, segment, way)?;
        self.open.fetch_add(1, Ordering::Relaxed);
        let counted = Counted(self.open.clone());
        let file = Arc::new(SegmentFile { file, is_direct, _counted: counted });
        cache.files.insert((segment, way), Entry { file: file.clone(), used });
        Ok(file)
    }

    /// Closes what is not in use; returns the number of files.
    pub(crate) fn close_idle(&self) -> usize {
        let mut cache = self.lock();
        let before = cache.files.len();
        cache.files.retain(|_, entry| !entry.is_idle());
        before - cache.files.len()
    }

    /// Forgets a segment; what is in use is closed when it is not any more.
    pub(crate) fn close(&self, segment: SegmentId) {
        let mut cache = self.lock();
        for way in [Way::Cached, Way::Direct] {
            cache.files.remove(&(segment, way));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file, and whether writes to it go around the page cache.
fn open(folder: &Folder, segment: SegmentId, way: Way) -> io::Result<(File, bool)> {
    if way == Way::Direct
        && let Some(file) = direct::open(&folder.path_of(segment))?
    {
        return Ok((file, true));
    }
    let file = match folder.open_segment(segment) {
        // What is stored can be read still.
        Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
            File::open(folder.path_of(segment))?
        }
        result => result?,
    };
    Ok((file, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 12;

    fn folder_of(segments: u32) -> (tempfile::TempDir, Folder) {
        let path = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(path.path(), 64 << 10).expect("an empty folder");
        for n in 0..segments {
            folder.new_segment(SegmentId(n)).and_then(|file| file.set_len(4096)).expect("room");
        }
        (path, folder)
    }

    #[test]
    fn any_number_of_segments_takes_a_bounded_number_of_files() {
        let (_path, folder) = folder_of(200);
        let open = OpenSegments::new(MAX);
        for n in 0..200 {
            assert!(open.get(&folder, SegmentId(n), Way::Cached).is_ok());
            assert!(open.get(&folder, SegmentId(n / 2), Way::Direct).is_ok());
            assert!(open.open.load(Ordering::Relaxed) <= MAX);
        }
        let held = open.get(&folder, SegmentId(0), Way::Cached).expect("it was only closed");
        assert_eq!(held.file.metadata().expect("it is open").len(), 4096);
        open.close(SegmentId(0));
        assert!(open.get(&folder, SegmentId(200), Way::Cached).is_err(), "there is none");
    }

    #[test]
    fn files_in_use_stay_open_and_count() {
        let (_path, folder) = folder_of(20);
        let open = OpenSegments::new(MAX);
        let get = |n| open.get(&folder, SegmentId(n), Way::Cached);
        let held: Vec<_> = (0..12).map(|n| get(n).expect("room")).collect();
        let refused = get(12).err().and_then(|error| error.raw_os_error());
        assert_eq!(refused, Some(rustix::io::Errno::MFILE.raw_os_error()));
        // Deleted while it is read: still open, and so still in the way.
        open.close(SegmentId(3));
        assert!(get(12).is_err());
        assert_eq!(open.close_idle(), 0);
        drop(held);
        assert_eq!(open.open.load(Ordering::Relaxed), 11);
        assert!(get(12).is_ok());
        assert_eq!(open.close_idle(), 12);
        assert_eq!(open.open.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_was_used_last_stays_open() {
        let (_path, folder) = folder_of(40);
        let open = OpenSegments::new(MAX);
        let first = open.get(&folder, SegmentId(0), Way::Cached).map(|file| Arc::as_ptr(&file));
        let first = first.expect("room");
        for n in 1..40 {
            let again = open.get(&folder, SegmentId(0), Way::Cached).expect("room");
            assert_eq!(Arc::as_ptr(&again), first, "after {n} others");
            assert!(open.get(&folder, SegmentId(n), Way::Cached).is_ok());
        }
    }
}
