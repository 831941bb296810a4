//! The segments of one folder that are open: so many at most, however much is stored.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use slotcast_store::SegmentId;

use crate::direct;
use crate::folder::Folder;

/// Each takes two descriptors, of which a process has 1024 by default.
const MOST: usize = 48;

/// A segment, open twice.
pub(crate) struct Segment {
    pub(crate) file: File,
    /// For writes around the page cache, where there are such.
    pub(crate) direct: Option<File>,
}

/// Segments by number.
#[derive(Default)]
pub(crate) struct OpenSegments(Mutex<BTreeMap<SegmentId, Arc<Segment>>>);

impl OpenSegments {
    /// The segment, opened if it is not; for that the oldest one is closed if there are too many. Who uses it
    /// keeps it open.
    pub(crate) fn get(&self, folder: &Folder, segment: SegmentId) -> io::Result<Arc<Segment>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = open.get(&segment) {
            return Ok(found.clone());
        }
        if open.len() >= MOST {
            open.pop_first();
        }
        let opened = match folder.open_segment(segment) {
            Ok(file) => Segment { file, direct: direct::open(&folder.path_of(segment))? },
            // What is stored can be read still.
            Err(error) if error.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                Segment { file: File::open(folder.path_of(segment))?, direct: None }
            }
            Err(error) => return Err(error),
        };
        let opened = Arc::new(opened);
        open.insert(segment, opened.clone());
        Ok(opened)
    }

    pub(crate) fn close(&self, segment: SegmentId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_segments_takes_a_bounded_number_of_descriptors() {
        let path = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(path.path(), 64 << 10).expect("an empty folder");
        let open = OpenSegments::default();
        for n in 0..200 {
            folder.create_segment(SegmentId(n), 4096).expect("room");
            assert!(open.get(&folder, SegmentId(n)).is_ok());
        }
        let held = open.get(&folder, SegmentId(0)).expect("it was only closed");
        assert_eq!(open.0.lock().expect("nobody panics").len(), MOST);
        assert_eq!(held.file.metadata().expect("it is open").len(), 4096);
        open.close(SegmentId(0));
        assert!(open.get(&folder, SegmentId(200)).is_err(), "there is none");
    }
}
