//! How much room a file system has left, and for whom.

use std::io;
use std::path::Path;

/// Of a file system this part is reserved.
const RESERVED_PART: u64 = 4;

/// The most bytes that are reserved: half of them are more than a journal of rows and what is written of it to tables.
const MAX_RESERVED: u64 = 256 << 20;

/// What a file system has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    /// Bytes that this user may still write.
    free: u64,
    /// Bytes of those which new segments leave to the rows of names: rows are written anew before old ones are taken away, and
    /// where they cannot be written nothing can be deleted any more.
    reserved: u64,
}

impl FreeSpace {
    /// Of the file system on which a file or a folder is.
    pub(crate) fn of(path: &Path) -> io::Result<FreeSpace> {
        let stat = rustix::fs::statvfs(path)?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        let reserved = (bytes(stat.f_blocks) / RESERVED_PART).min(MAX_RESERVED);
        Ok(FreeSpace { free: bytes(stat.f_bavail), reserved })
    }

    /// Whether there is room for a segment of so many bytes.
    pub(crate) fn has_room_for_segment(self, length: u64) -> bool {
        self.free >= length.saturating_add(self.reserved)
    }

    /// Whether only what deletes should write rows.
    pub(crate) fn is_nearly_full(self) -> bool {
        self.free < self.reserved / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_end_before_rows_and_rows_before_deletions() {
        let of = |free| FreeSpace { free, reserved: 100 };
        assert_eq!([of(164), of(163)].map(|space| space.has_room_for_segment(64)), [true, false]);
        assert_eq!([of(50), of(49)].map(FreeSpace::is_nearly_full), [false, true]);
        let here = FreeSpace::of(Path::new(".")).expect("a file system");
        assert!((1..=MAX_RESERVED).contains(&here.reserved), "{here:?}");
    }
}
