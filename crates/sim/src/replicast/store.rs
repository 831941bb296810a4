//! Which target holds which chunk. Not a location table of the protocol, which has none: it stands
//! for the disks' contents.

use rustc_hash::FxHashMap;
use slotcast_engine::Streams;
use slotcast_protocol::{ChunkId, GroupId, GroupMap, Holdings, Members, TargetId};
use slotcast_scenario::Scenario;
use slotcast_scenario::clients::random_chunk;
use slotcast_units::Size;

use crate::objects::{Part, part, parts};

/// Spreads preloaded chunks over the disks of their targets.
const DISK_SALT: u64 = 0xd15c;

/// The contents of all disks. Kept only if somebody may ask for a chunk that is there: a run of puts
/// of ever new chunks, without faults, needs none of it.
#[derive(Debug)]
pub(super) struct Stores {
    kept: bool,
    /// Of every target, each chunk with its size and its disk.
    shelves: Vec<FxHashMap<ChunkId, (Size, u16)>>,
    /// Objects that gets may ask for, by the name of their first chunk.
    catalogue: Vec<(ChunkId, Size)>,
}

/// The content of one target's disks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shelf<'a>(Option<&'a FxHashMap<ChunkId, (Size, u16)>>);

impl Holdings for Shelf<'_> {
    fn size_of(&self, chunk: &ChunkId) -> Option<Size> {
        self.0?.get(chunk).map(|(size, _)| *size)
    }

    fn disk_of(&self, chunk: &ChunkId) -> u16 {
        self.0.and_then(|shelf| shelf.get(chunk)).map_or(0, |(_, disk)| *disk)
    }
}

impl Stores {
    pub(super) fn new(targets: u32, kept: bool) -> Stores {
        let shelves = if kept { targets as usize } else { 0 };
        Stores { kept, shelves: vec![FxHashMap::default(); shelves], catalogue: Vec::new() }
    }

    /// Puts the objects that are there at the start on the targets of their groups.
    pub(super) fn preload(&mut self, scenario: &Scenario, groups: &GroupMap, streams: &Streams) {
        let Scenario { cluster, disk, workload, .. } = scenario;
        let disks = u64::from(disk.per_target);
        let mut random = streams.stream("preload", 0);
        for _ in 0..workload.preloaded_chunks {
            let name = random_chunk(&mut random);
            let size = match workload.mix.is_none() {
                true => workload.chunk_size,
                false => workload.mix.pick(random.below(1_000_000)),
            };
            for index in 0..parts(size, workload.chunk_size) {
                let Part { chunk, size } = part(&name, size, workload.chunk_size, index);
                let disk = u16::try_from(chunk.mix(DISK_SALT) % disks).expect("checked before");
                let group: GroupId = groups.group_of(&chunk);
                let members = groups.members(group);
                let first =
                    usize::try_from(random.below(members.len() as u64)).expect("below a length");
                let mut holders = Members::NONE;
                for seat in (0..members.len()).map(|i| (first + i) % members.len()) {
                    let position = u8::try_from(seat).expect("at most 64 members");
                    let taken = groups.sharing_a_domain(group, holders);
                    let wanted = holders.len() < cluster.replicas as usize;
                    if wanted && !taken.contains(position) {
                        holders.insert(position);
                        let TargetId(target) = members[seat];
                        self.add((target, disk), chunk, size);
                    }
                }
            }
            self.list(name, size);
        }
    }

    /// A disk of a target holds `chunk` from now on.
    pub(super) fn add(&mut self, (target, disk): (u32, u16), chunk: ChunkId, size: Size) {
        if self.kept {
            self.shelves[target as usize].insert(chunk, (size, disk));
        }
    }

    /// The object called `name` has been acknowledged: gets may ask for it.
    pub(super) fn list(&mut self, name: ChunkId, size: Size) {
        if self.kept {
            self.catalogue.push((name, size));
        }
    }

    /// Objects that gets may ask for.
    pub(super) fn catalogue(&self) -> &[(ChunkId, Size)] {
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
        let mut scenario = Scenario::default();
        scenario.workload.chunk_size = size;
        scenario.workload.preloaded_chunks = 50;
        let mut stores = Stores::new(36, true);
        stores.preload(&scenario, &groups, &Streams::new(1));
        assert_eq!(stores.catalogue().len(), 50);
        for (chunk, _) in stores.catalogue() {
            let holders: Vec<u32> =
                (0..36).filter(|&t| stores.shelf(t).size_of(chunk) == Some(size)).collect();
            let mut domains: Vec<u32> = holders.iter().map(|t| t / 4).collect();
            domains.sort_unstable();
            domains.dedup();
            assert_eq!((holders.len(), domains.len()), (3, 3), "{holders:?}");
        }
    }
}
