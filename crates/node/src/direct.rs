//! Writes around the page cache.
//!
//! What a target has just written is seldom read next, and writing it through the page cache costs a copy, the
//! pages, and the kernel's work to find them again for the flush: three times the processor time for 128 KiB,
//! at little more than half of the rate (docs/understand/disk.md). Reads go through the page cache
//! as ever.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use bytes::Bytes;
use rustix::fs::OFlags;

/// What addresses, offsets and lengths are multiples of: no disk has larger blocks.
const BLOCK: usize = 4096;

/// Most bytes that are written by one call.
const MOST: usize = 1 << 20;

/// Most parts that one call takes through the page cache (`IOV_MAX`).
const PARTS: usize = 1024;

/// A file open for writes that go around the page cache; none where the file system has no such writes.
pub(crate) fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::DIRECT.bits().cast_signed();
    match OpenOptions::new().write(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(None),
        Err(error) => Err(error),
    }
}

/// Aligned memory that parts are gathered in. Grows up to 1 MiB.
#[derive(Debug, Default)]
pub(crate) struct Gather {
    memory: Vec<u8>,
}

impl Gather {
    /// Room for `length` bytes at an aligned address.
    fn room(&mut self, length: usize) -> &mut [u8] {
        if self.memory.len() < length + BLOCK {
            self.memory = vec![0; length + BLOCK];
        }
        let skip = self.memory.as_ptr().align_offset(BLOCK);
        &mut self.memory[skip..skip + length]
    }

    /// Writes `parts` one after another from `offset` on, to a file that is [`open`] for that. `offset` and the
    /// length of all must be multiples of 4096.
    pub(crate) fn write(
        &mut self,
        file: &File,
        mut offset: u64,
        parts: &[Bytes],
    ) -> io::Result<()> {
        let mut rest: usize = parts.iter().map(Bytes::len).sum();
        let mut parts = parts.iter().map(|part| &part[..]);
        let mut part: &[u8] = &[];
        while rest > 0 {
            let room = self.room(rest.min(MOST));
            let mut filled = 0;
            while filled < room.len() {
                if part.is_empty() {
                    part = parts.next().expect("the parts have the length that was counted");
                }
                let (now, later) = part.split_at(part.len().min(room.len() - filled));
                room[filled..filled + now.len()].copy_from_slice(now);
                (part, filled) = (later, filled + now.len());
            }
            file.write_all_at(room, offset)?;
            offset += filled as u64;
            rest -= filled;
        }
        Ok(())
    }
}

/// Whether a write from `offset` on can go around the page cache.
pub(crate) fn is_aligned(offset: u64, parts: &[Bytes]) -> bool {
    let length: usize = parts.iter().map(Bytes::len).sum();
    length.is_multiple_of(BLOCK) && offset.is_multiple_of(BLOCK as u64)
}

/// Writes `parts` one after another from `offset` on, through the page cache.
pub(crate) fn write_through_cache(file: &File, mut offset: u64, parts: &[Bytes]) -> io::Result<()> {
    let mut parts: Vec<&[u8]> = parts.iter().map(|part| &part[..]).collect();
    let mut first = 0;
    while first < parts.len() {
        let last = parts.len().min(first + PARTS);
        let slices: Vec<IoSlice<'_>> =
            parts[first..last].iter().map(|part| IoSlice::new(part)).collect();
        let mut written = match rustix::io::pwritev(file, &slices, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        offset += written as u64;
        while first < last && written >= parts[first].len() {
            written -= parts[first].len();
            first += 1;
        }
        if written > 0 {
            parts[first] = &parts[first][written..];
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(lengths: &[usize]) -> Vec<Bytes> {
        let bytes = |(n, length): (usize, &usize)| Bytes::from(vec![n as u8 + 1; *length]);
        lengths.iter().enumerate().map(bytes).collect()
    }

    /// Around the page cache or through it, what is read is what was written, and nothing else has changed.
    #[test]
    fn either_way_writes_the_same() {
        let folder = tempfile::tempdir_in(".").expect("a folder on a disk");
        let odd = [64, 100_000, 28, 64, 2 << 20, 4004];
        let aligned = [64, 4000, 32];
        for (offset, lengths) in [(0, &odd[..]), (8192, &aligned), (8192, &odd), (100, &aligned)] {
            let parts = parts(lengths);
            let path = folder.path().join("file");
            let before = vec![0xee; 3 << 20];
            std::fs::write(&path, &before).expect("room");
            let file = File::options().write(true).open(&path).expect("it is there");
            let direct = open(&path).expect("it is there");
            match direct.filter(|_| is_aligned(offset, &parts)) {
                Some(direct) => Gather::default().write(&direct, offset, &parts),
                None => write_through_cache(&file, offset, &parts),
            }
            .expect("room");
            let mut expected = before;
            let (start, all) = (usize::try_from(offset).expect("small"), parts.concat());
            expected[start..start + all.len()].copy_from_slice(&all);
            assert!(std::fs::read(&path).expect("it is there") == expected, "{offset} {lengths:?}");
        }
    }

    #[test]
    fn memory_is_aligned_and_bounded() {
        let mut gather = Gather::default();
        for length in [4096, MOST, 8192] {
            let room = gather.room(length);
            assert_eq!((room.len(), room.as_ptr().align_offset(BLOCK)), (length, 0));
        }
        assert_eq!(gather.memory.len(), MOST + BLOCK);
    }
}
