//! Which target holds which chunk. Not a location table of the protocol, which has none: it stands
//! for the disks' contents.

use rustc_hash::FxHashMap;
use slotcast_engine::Streams;
use slotcast_protocol::{ChunkId, GroupId, GroupMap, Holdings, Members, TargetId};
use slotcast_units::Size;

use crate::clients::random_chunk;

/// The contents of all disks. Kept only if somebody may ask for a chunk that is there: a run of puts
/// of ever new chunks, without faults, needs none of it.
#[derive(Debug)]
pub(super) struct Stores {
    kept: bool,
    shelves: Vec<FxHashMap<ChunkId, Size>>,
    catalogue: Vec<ChunkId>,
}

/// The content of one disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shelf<'a>(Option<&'a FxHashMap<ChunkId, Size>>);

impl Holdings for Shelf<'_> {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.0?.get(chunk).copied()
    }
}

impl Stores {
    pub(super) fn new(targets: u32, kept: bool) -> Stores {
        let shelves = if kept { targets as usize } else { 0 };
        Stores { kept, shelves: vec![FxHashMap::default(); shelves], catalogue: Vec::new() }
    }

    /// Puts `count` chunks of `size` on `replicas` targets of their groups each.
    pub(super) fn preload(
        &mut self,
        count: u32,
        size: Size,
        replicas: usize,
        groups: &GroupMap,
        streams: &Streams,
    ) {
        let mut random = streams.stream("preload", 0);
        for _ in 0..count {
            let chunk = random_chunk(&mut random);
            let group: GroupId = groups.group_of(&chunk);
            let members = groups.members(group);
            let first =
                usize::try_from(random.below(members.len() as u64)).expect("below a length");
            let mut holders = Members::NONE;
            for seat in (0..members.len()).map(|i| (first + i) % members.len()) {
                let position = u8::try_from(seat).expect("at most 64 members");
                let taken = groups.sharing_a_domain(group, holders);
                if holders.len() < replicas && !taken.contains(position) {
                    holders.insert(position);
                    let TargetId(target) = members[seat];
                    self.add(target, chunk, size);
                }
            }
            self.list(chunk);
        }
    }

    /// `target` holds `chunk` from now on.
    pub(super) fn add(&mut self, target: u32, chunk: ChunkId, size: Size) {
        if self.kept {
            self.shelves[target as usize].insert(chunk, size);
        }
    }

    /// `chunk` has been acknowledged: gets may ask for it.
    pub(super) fn list(&mut self, chunk: ChunkId) {
        if self.kept {
            self.catalogue.push(chunk);
        }
    }

    /// Chunks that gets may ask for.
    pub(super) fn catalogue(&self) -> &[ChunkId] {
        &self.catalogue
    }

    pub(super) fn shelf(&self, target: u32) -> Shelf<'_> {
        Shelf(self.shelves.get(target as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloaded_chunks_have_their_replicas_in_different_domains() {
        let groups = GroupMap::new(36, 9, 4).unwrap();
        let size = Size::from_kib(4);
        let mut stores = Stores::new(36, true);
        stores.preload(50, size, 3, &groups, &Streams::new(1));
        assert_eq!(stores.catalogue().len(), 50);
        for chunk in stores.catalogue() {
            let holders: Vec<u32> =
                (0..36).filter(|&t| stores.shelf(t).size_of(chunk) == Some(size)).collect();
            let mut domains: Vec<u32> = holders.iter().map(|t| t / 4).collect();
            domains.sort_unstable();
            domains.dedup();
            assert_eq!((holders.len(), domains.len()), (3, 3), "{holders:?}");
        }
    }
}
