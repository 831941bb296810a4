//! What users have put, and what they were told of it.

use std::collections::BTreeMap;

use bytes::Bytes;
use slotcast_engine::Stream;
use slotcast_protocol::{ChunkId, Claim, Wanted};
use slotcast_store::Content;

/// What the users of a chunk know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// A put is under way, or was given up.
    Asked,
    /// A put was acknowledged: it must be there from now on.
    Acknowledged,
    /// It was removed: it may be there or not.
    Retired,
    /// Nobody has ever put it: it cannot be there.
    Nothing,
}

/// One chunk.
#[derive(Debug)]
struct Entry {
    content: Content,
    known: Known,
    /// The highest number of replicas of all puts that were acknowledged.
    wanted: u8,
    /// The same of those that were not for a name.
    bare: u8,
    /// All of its replicas were destroyed, and nobody has put it since: names that say that it is theirs do not bring it back.
    is_lost: bool,
}

/// All chunks that were ever put.
#[derive(Debug)]
pub(super) struct Catalogue {
    chunks: Vec<Entry>,
    places: BTreeMap<ChunkId, usize>,
    chance: Stream,
}

impl Catalogue {
    pub(super) fn new(chance: Stream) -> Catalogue {
        Catalogue { chunks: Vec::new(), places: BTreeMap::new(), chance }
    }

    /// A chunk that was never there, of up to `longest` bytes.
    pub(super) fn add(&mut self, longest: u64) -> Content {
        let length = usize::try_from(1 + self.chance.below(longest)).expect("small");
        let mut bytes = Vec::with_capacity(length + 8);
        bytes.extend(self.chunks.len().to_le_bytes());
        while bytes.len() < length {
            bytes.extend(self.chance.next_u64().to_le_bytes());
        }
        let content = Content::of(Bytes::from(bytes));
        self.places.insert(content.chunk(), self.chunks.len());
        let known = Known::Asked;
        self.chunks.push(Entry {
            content: content.clone(),
            known,
            wanted: 0,
            bare: 0,
            is_lost: false,
        });
        content
    }

    /// This is a chunk, too.
    pub(super) fn know(&mut self, content: &Content) {
        let place = self.chunks.len();
        if *self.places.entry(content.chunk()).or_insert(place) == place {
            let (content, known) = (content.clone(), Known::Asked);
            self.chunks.push(Entry { content, known, wanted: 0, bare: 0, is_lost: false });
        }
    }

    /// One that was put before and is not retired.
    pub(super) fn any(&mut self) -> Option<Content> {
        let which = self.chance.below(self.chunks.len().max(1) as u64);
        let entry = self.chunks.get(usize::try_from(which).expect("an index"))?;
        (entry.known != Known::Retired).then(|| entry.content.clone())
    }

    pub(super) fn get(&self, index: u32) -> &Content {
        &self.chunks[index as usize].content
    }

    pub(super) fn content(&self, chunk: &ChunkId) -> &Content {
        &self.chunks[self.places[chunk]].content
    }

    pub(super) fn known(&self, chunk: &ChunkId) -> Known {
        self.places.get(chunk).map_or(Known::Nothing, |place| self.chunks[*place].known)
    }

    /// Where it is in the catalogue, if it must be there.
    pub(super) fn index_of(&self, chunk: &ChunkId) -> Option<u32> {
        let place = *self.places.get(chunk)?;
        let is_there = self.chunks[place].known == Known::Acknowledged;
        u32::try_from(place).ok().filter(|_| is_there)
    }

    /// On how many targets it must be; 0 if no put was acknowledged.
    pub(super) fn wanted(&self, chunk: &ChunkId) -> u8 {
        self.chunks[self.places[chunk]].wanted
    }

    /// On how many targets it must be until somebody removes it; 0 if only names want it.
    pub(super) fn bare(&self, chunk: &ChunkId) -> u8 {
        self.chunks[self.places[chunk]].bare
    }

    pub(super) fn acknowledge(&mut self, chunk: &ChunkId, Wanted { replicas, claim }: Wanted) {
        let entry = &mut self.chunks[self.places[chunk]];
        entry.is_lost = false;
        entry.wanted = entry.wanted.max(replicas);
        if claim == Claim::Bare {
            entry.bare = entry.bare.max(replicas);
        }
        if entry.known == Known::Asked {
            entry.known = Known::Acknowledged;
        }
    }

    /// A name says that it is its content, as long as that is not changed.
    pub(super) fn hold(&mut self, chunk: &ChunkId, replicas: u8) {
        if self.places.get(chunk).is_some_and(|place| !self.chunks[*place].is_lost) {
            self.acknowledge(chunk, Wanted::named(replicas));
        }
    }

    /// The name may be changed: it may be there or not, unless it was put without a name.
    pub(super) fn release(&mut self, chunk: &ChunkId) {
        let entry = &mut self.chunks[self.places[chunk]];
        if entry.known == Known::Acknowledged {
            entry.wanted = entry.bare;
            entry.known = if entry.bare == 0 { Known::Asked } else { Known::Acknowledged };
        }
    }

    /// All claims without a name were lost with their replicas, but for so many.
    pub(super) fn lose_claims(&mut self, chunk: &ChunkId, left: u8) {
        self.chunks[self.places[chunk]].bare = left;
    }

    /// As many of its replicas were destroyed as there were: it may be there or not.
    pub(super) fn forget(&mut self, chunk: &ChunkId) {
        let entry = &mut self.chunks[self.places[chunk]];
        (entry.known, entry.wanted, entry.bare) = (Known::Asked, 0, 0);
        entry.is_lost = true;
    }

    /// A put of it for a name was acknowledged.
    pub(super) fn stored_again(&mut self, chunk: &ChunkId) {
        if let Some(place) = self.places.get(chunk) {
            self.chunks[*place].is_lost = false;
        }
    }

    pub(super) fn retire(&mut self, chunk: &ChunkId) {
        self.chunks[self.places[chunk]].known = Known::Retired;
    }

    /// Those that must be there, with their numbers.
    pub(super) fn acknowledged(&self) -> impl Iterator<Item = (u32, ChunkId)> {
        let all = (0..).zip(&self.chunks);
        let acknowledged = all.filter(|(_, entry)| entry.known == Known::Acknowledged);
        acknowledged.map(|(index, entry)| (index, entry.content.chunk()))
    }
}
