//! Content that was written or read of late, kept in memory for the gets that follow.
//!
//! Content has the name that its hash gives, and was checked when it came or was read: it is right for as long as it is in
//! memory, whatever happens to the disks. It is given out only for a replica that the target holds, so that the cache says
//! nothing about where a chunk is; and repair and scrubs read the disks, whatever is here.
//!
//! What is dropped is decided by S3-FIFO (Yang et al., *FIFO queues are all you need for cache eviction*, SOSP 2023): what is
//! asked for once passes through a short queue, and only what is asked for again gets into the long one. So a scan of a
//! whole store does not drive out what many ask for.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use slotcast_protocol::ChunkId;
use slotcast_store::Content;

/// The short queue has one of so many parts of the memory.
const SHORT: u64 = 10;

/// Uses of content that are counted.
const USES: u8 = 3;

/// What content takes beside its bytes, about: its place in a map and in a queue.
const OVERHEAD: u64 = 200;

/// Shorter content may be a part of a larger buffer, which it would keep in memory: it is copied.
const COPIED: usize = 32 << 10;

/// Longer content than one of so many parts of the memory is not kept.
const LARGEST: u64 = 8;

#[derive(Debug)]
struct Kept {
    content: Content,
    uses: u8,
}

impl Kept {
    fn bytes(&self) -> u64 {
        self.content.bytes().len() as u64 + OVERHEAD
    }
}

/// How often there was something to give out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheStatistics {
    /// Gets that were answered from memory.
    pub hits: u64,
    /// Gets for which the disk was read.
    pub misses: u64,
    /// Bytes in memory at present.
    pub bytes: u64,
}

/// Content that is kept in memory, by all targets of a node together. Each operation takes O(log chunks).
#[derive(Debug)]
pub(crate) struct ContentCache {
    /// Bytes at most; 0 keeps nothing.
    limit: u64,
    kept: BTreeMap<ChunkId, Kept>,
    short: VecDeque<ChunkId>,
    short_bytes: u64,
    long: VecDeque<ChunkId>,
    long_bytes: u64,
    /// Names of what was dropped from the short queue of late, oldest first: as many as there are chunks in memory.
    dropped: VecDeque<ChunkId>,
    was_dropped: BTreeSet<ChunkId>,
    statistics: CacheStatistics,
}

impl ContentCache {
    /// One of so many bytes.
    pub(crate) fn new(limit: u64) -> ContentCache {
        ContentCache {
            limit,
            kept: BTreeMap::new(),
            short: VecDeque::new(),
            short_bytes: 0,
            long: VecDeque::new(),
            long_bytes: 0,
            dropped: VecDeque::new(),
            was_dropped: BTreeSet::new(),
            statistics: CacheStatistics::default(),
        }
    }

    pub(crate) fn statistics(&self) -> CacheStatistics {
        CacheStatistics { bytes: self.short_bytes + self.long_bytes, ..self.statistics }
    }

    /// The content of a chunk that somebody asks for, if it is here.
    pub(crate) fn get(&mut self, chunk: &ChunkId) -> Option<Content> {
        let Some(kept) = self.kept.get_mut(chunk) else {
            self.statistics.misses += u64::from(self.limit > 0);
            return None;
        };
        kept.uses = (kept.uses + 1).min(USES);
        self.statistics.hits += 1;
        Some(kept.content.clone())
    }

    /// Content that was read from a disk.
    pub(crate) fn keep_read(&mut self, content: &Content) {
        if self.takes(content) {
            self.insert(content.clone());
        }
    }

    /// Content that came, and is about to be written.
    pub(crate) fn keep_written(&mut self, content: &Content) {
        if !self.takes(content) {
            return;
        }
        let is_part = content.bytes().len() < COPIED;
        self.insert(match is_part {
            true => content.with_bytes(Bytes::copy_from_slice(content.bytes())),
            false => content.clone(),
        });
    }

    /// Whether it is not here, and would not fill much of the memory by itself.
    fn takes(&self, content: &Content) -> bool {
        let bytes = content.bytes().len() as u64 + OVERHEAD;
        bytes <= self.limit / LARGEST && !self.kept.contains_key(&content.chunk())
    }

    fn insert(&mut self, content: Content) {
        let chunk = content.chunk();
        let kept = Kept { content, uses: 0 };
        if self.was_dropped.remove(&chunk) {
            self.long_bytes += kept.bytes();
            self.long.push_back(chunk);
        } else {
            self.short_bytes += kept.bytes();
            self.short.push_back(chunk);
        }
        self.kept.insert(chunk, kept);
        while self.short_bytes + self.long_bytes > self.limit {
            self.drop_one();
        }
    }

    /// Drops something, or moves something nearer to that.
    fn drop_one(&mut self) {
        let is_short = self.short_bytes > self.limit / SHORT || self.long.is_empty();
        let queue = if is_short { &mut self.short } else { &mut self.long };
        let Some(chunk) = queue.pop_front() else { return };
        let Some(kept) = self.kept.get_mut(&chunk) else { return };
        let (bytes, is_used) = (kept.bytes(), kept.uses > 0);
        match (is_short, is_used) {
            (true, true) => {
                kept.uses = 0;
                self.short_bytes -= bytes;
                self.long_bytes += bytes;
                self.long.push_back(chunk);
            }
            (false, true) => {
                kept.uses -= 1;
                self.long.push_back(chunk);
            }
            (true, false) => {
                self.kept.remove(&chunk);
                self.short_bytes -= bytes;
                self.remember(chunk);
            }
            (false, false) => {
                self.kept.remove(&chunk);
                self.long_bytes -= bytes;
            }
        }
    }

    fn remember(&mut self, chunk: ChunkId) {
        if self.was_dropped.insert(chunk) {
            self.dropped.push_back(chunk);
        }
        while self.dropped.len() > self.kept.len().max(1) {
            let Some(oldest) = self.dropped.pop_front() else { return };
            self.was_dropped.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    const SIZE: usize = 1000;

    fn content(n: u32) -> Content {
        let mut bytes = vec![0; SIZE];
        bytes[..4].copy_from_slice(&n.to_le_bytes());
        Content::of(bytes.into())
    }

    /// A cache with room for so many of these.
    fn cache(chunks: u64) -> ContentCache {
        ContentCache::new(chunks * (SIZE as u64 + OVERHEAD))
    }

    /// Somebody asks for one of them, and reads it from the disk where it is not here. Whether it was here.
    fn asks(cache: &mut ContentCache, n: u32) -> bool {
        let content = content(n);
        let found = cache.get(&content.chunk());
        if found.is_none() {
            cache.keep_read(&content);
        }
        found.is_some_and(|found| found.bytes() == content.bytes())
    }

    #[test]
    fn what_was_written_is_there_as_a_copy_of_its_own() {
        let mut cache = cache(100);
        let content = content(1);
        cache.keep_written(&content);
        let found = cache.get(&content.chunk()).expect("kept");
        assert_eq!(found.bytes(), content.bytes());
        assert_ne!(found.bytes().as_ptr(), content.bytes().as_ptr(), "no part of another buffer");
        assert!(found.parts().is_some(), "its parts are known still");
        let long = Content::of(vec![7; COPIED].into());
        let mut cache = ContentCache::new(1 << 20);
        cache.keep_written(&long);
        let found = cache.get(&long.chunk()).expect("kept");
        assert_eq!(found.bytes().as_ptr(), long.bytes().as_ptr(), "that is not copied");
        assert_eq!(cache.statistics().hits, 1);
    }

    #[test]
    fn a_scan_does_not_drive_out_what_many_ask_for() {
        let mut cache = cache(100);
        for is_there in [false, true, true] {
            (0..50).for_each(|n| assert!(asks(&mut cache, n) == is_there));
        }
        assert!((1000..5000).all(|n| !asks(&mut cache, n)));
        let there = (0..50).filter(|n| asks(&mut cache, *n)).count();
        assert_eq!(there, 50);
    }

    #[test]
    fn nothing_is_kept_without_memory_and_nothing_that_fills_it() {
        let mut none = ContentCache::new(0);
        assert!(!asks(&mut none, 1) && !asks(&mut none, 1));
        assert_eq!(none.statistics(), CacheStatistics::default());
        let mut small = cache(7);
        assert!(!asks(&mut small, 1) && !asks(&mut small, 1), "an eighth is too much");
    }

    proptest! {
        /// Whatever is asked for: the memory has its bound, what is counted is there, and nothing is here twice.
        #[test]
        fn it_keeps_to_its_bound(
            chunks in 8u64..40,
            asked in proptest::collection::vec((0u32..60, any::<bool>()), 0..400),
        ) {
            let mut cache = cache(chunks);
            for (n, is_put) in asked {
                match is_put {
                    true => cache.keep_written(&content(n)),
                    false => _ = asks(&mut cache, n),
                }
                let bytes: u64 = cache.kept.values().map(Kept::bytes).sum();
                prop_assert_eq!(bytes, cache.statistics().bytes);
                prop_assert!(bytes <= cache.limit);
                let mut queued: Vec<_> = cache.short.iter().chain(&cache.long).copied().collect();
                queued.sort_unstable();
                prop_assert!(queued.iter().eq(cache.kept.keys()), "each in one queue, once");
                prop_assert!(cache.dropped.len() <= cache.kept.len().max(1));
                prop_assert!(cache.was_dropped.len() <= cache.dropped.len());
            }
        }
    }
}
