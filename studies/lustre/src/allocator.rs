//! Where the bytes of an object lie on disk.

use slotcast_units::Size;

/// A piece of an object that lies on disk without a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mapped {
    /// Place on disk, in bytes.
    pub(crate) place: u64,
    /// Number of bytes.
    pub(crate) length: u64,
    /// Whether the blocks were taken for this request.
    pub(crate) is_new: bool,
}

/// A part of an object for which blocks were taken together.
#[derive(Debug, Clone, Copy)]
struct Window {
    start: u64,
    length: u64,
    place: u64,
}

/// The blocks of one object.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObjectMap {
    /// By start; they do not overlap.
    windows: Vec<Window>,
    size: u64,
}

/// The multi-block allocator of ldiskfs (mballoc) on one OST: each object takes blocks in windows whose
/// length grows with it, and a window takes the next free space of the disk (seed 003, "Multiple block
/// allocation algorithm"; sizes up to 1 MiB and the clipping from Lustre-Simulator 950d9e2). A window begins with the
/// request that makes it, at whole sectors: the original means to align larger ones to their size, and its shifts do
/// not. The first try at its goal always succeeds: the disk is one group with room.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allocator {
    next: u64,
}

const MIB: u64 = 1 << 20;
const SECTOR: u64 = 512;

/// The window for `offset` of an object of `size` bytes: its start and length, before clipping.
fn window(offset: u64, size: u64) -> (u64, u64) {
    let from_here = |length: u64| (offset / SECTOR * SECTOR, length);
    match size {
        _ if size <= MIB => {
            let length = size.next_power_of_two().max(64 << 10);
            (0, length)
        }
        _ if size <= 4 * MIB => from_here(2 * MIB),
        _ if size <= 8 * MIB => from_here(4 * MIB),
        _ => from_here(8 * MIB),
    }
}

impl Allocator {
    /// Where the first bytes of `offset..offset + length` of an object lie, as many as have no gap; blocks
    /// that are missing are taken. `length` is more than zero.
    ///
    /// Complexity: O(log windows) to find, O(windows) to take blocks before the end of the object.
    pub(crate) fn map(&mut self, object: &mut ObjectMap, offset: u64, length: Size) -> Mapped {
        let length = length.as_bytes();
        let after = object.windows.partition_point(|window| window.start <= offset);
        let before = after.checked_sub(1).map(|index| object.windows[index]);
        if let Some(found) = before.filter(|found| offset < found.start + found.length) {
            object.size = object.size.max(offset + length);
            let within = offset - found.start;
            let length = length.min(found.length - within);
            return Mapped { place: found.place + within, length, is_new: false };
        }
        object.size = object.size.max(offset + length);
        let (mut start, wanted) = window(offset, object.size);
        let mut end = start + wanted;
        if let Some(before) = before {
            start = start.max(before.start + before.length);
        }
        if let Some(next) = object.windows.get(after) {
            end = end.min(next.start);
        }
        let taken = Window { start, length: end - start, place: self.next };
        self.next += taken.length;
        object.windows.insert(after, taken);
        let within = offset - start;
        let length = length.min(taken.length - within);
        Mapped { place: taken.place + within, length, is_new: true }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(transfer: u64, count: u64) -> Vec<(u64, u64)> {
        let (mut allocator, mut object) = (Allocator::default(), ObjectMap::default());
        for i in 0..count {
            allocator.map(&mut object, i * transfer, Size::from_bytes(transfer));
        }
        object.windows.iter().map(|w| (w.start >> 10, w.length >> 10)).collect()
    }

    #[test]
    fn windows_grow_with_the_object_as_the_table_says() {
        let mib = |windows: &[(u64, u64)]| {
            windows.iter().map(|(start, length)| (start << 10, length << 10)).collect::<Vec<_>>()
        };
        // Of eight requests in a row each turn of a round robin crosses the end of a window.
        assert_eq!(sizes(1 << 20, 18), mib(&[(0, 1), (1, 2), (3, 2), (5, 4), (9, 8), (17, 8)]));
        let small = [(0, 64), (64, 64), (128, 128), (256, 256), (512, 512), (1024, 2048)];
        assert_eq!(sizes(64 << 10, 17), small);
    }

    #[test]
    fn objects_that_grow_together_lie_interleaved() {
        let mut allocator = Allocator::default();
        let (mut a, mut b) = (ObjectMap::default(), ObjectMap::default());
        let mib = Size::from_mib(1);
        let place = |mapped: Mapped| mapped.place >> 20;
        assert_eq!(place(allocator.map(&mut a, 0, mib)), 0);
        assert_eq!(place(allocator.map(&mut b, 0, mib)), 1);
        assert_eq!(place(allocator.map(&mut a, 1 << 20, mib)), 2);
        assert_eq!(place(allocator.map(&mut a, 2 << 20, mib)), 3);
        // The second half of a window of 2 MiB was taken with its first.
        assert_eq!(place(allocator.map(&mut b, 1 << 20, mib)), 4);
        assert_eq!(place(allocator.map(&mut a, 3 << 20, mib)), 6);
        assert_eq!(place(allocator.map(&mut b, 2 << 20, mib)), 5);
    }

    #[test]
    fn a_request_across_windows_comes_in_pieces() {
        let (mut allocator, mut object) = (Allocator::default(), ObjectMap::default());
        let whole = Size::from_mib(12);
        let first = allocator.map(&mut object, 6 << 20, whole);
        assert_eq!((first.length, first.is_new), (8 << 20, true));
        let second = allocator.map(&mut object, 14 << 20, Size::from_mib(4));
        assert_eq!((second.length, second.place), (4 << 20, 8 << 20));
        let again = allocator.map(&mut object, 15 << 20, Size::from_mib(1));
        assert_eq!((again.place, again.is_new), (9 << 20, false));
    }

    proptest! {
        #[test]
        fn no_two_bytes_share_a_place(requests in prop::collection::vec((0..3usize, 0..40u64, 1..5u64), 1..60)) {
            let mut allocator = Allocator::default();
            let mut objects = vec![ObjectMap::default(); 3];
            let unit = 256 << 10;
            for (object, offset, length) in requests {
                let (mut offset, end) = (offset * unit, (offset + length) * unit);
                while offset < end {
                    let mapped = allocator.map(&mut objects[object], offset, Size::from_bytes(end - offset));
                    prop_assert!(mapped.length > 0);
                    offset += mapped.length;
                }
            }
            let mut used: Vec<_> = objects
                .iter()
                .flat_map(|object| object.windows.iter().map(|w| (w.place, w.length)))
                .collect();
            used.sort_unstable();
            prop_assert!(used.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0));
            for object in &objects {
                prop_assert!(object.windows.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start));
            }
        }
    }
}
