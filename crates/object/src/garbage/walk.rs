//! Tells all nodes that may hold some content of each of its chunks.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::mem;

use bytes::Bytes;
use slotcast_protocol::ChunkId;
use slotcast_units::{Span, Time};

use super::message::{Chunks, GarbageMessage, MAX_WAVE, Mark, Root, WaveId};
use crate::key::Key;
use crate::list::List;

/// Lists that are fetched at a time.
const MAX_FETCHES: usize = 8;

/// Chunks that are put again at a time: each is in memory.
const MAX_RESTORED: usize = 4;

/// How often a list is fetched that cannot be had.
const TRIES: u32 = 3;

/// How often a node is asked that does not answer to a touch.
const MAX_ASKED: u32 = 6;

/// What nodes are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WalkKind {
    /// That the chunks are touched. Each has to be stored on as many targets as are wanted, of those who answer; what is on
    /// fewer is put again.
    Touch,
    /// The same of chunks that may be on their way: everybody has to answer.
    TouchAgain,
    /// That the chunks are named, in this round, as whoever began it says. Everybody has to answer.
    Mark(u64, u64),
}

/// What a walk wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WalkEffect {
    /// Fetch this list, and say [`Walk::fetched`].
    Fetch(ChunkId),
    /// Tell a node, which may be this one.
    Say(u32, GarbageMessage),
    /// Fetch this chunk, put it again on so many targets, or for 0 on as many as the cluster's number says, and say
    /// [`Walk::restored`].
    Restore(ChunkId, u8),
}

/// All chunks of some content, and of all that its lists list, told in waves to the nodes that may hold them. It takes
/// no more memory than a few lists do.
#[derive(Debug)]
pub struct Walk {
    id: u64,
    kind: WalkKind,
    patience: Span,
    lists: VecDeque<(ChunkId, Option<Arc<Key>>)>,
    /// Lists that are being fetched: how often they were, and where they are named.
    fetching: BTreeMap<ChunkId, (u32, Option<Arc<Key>>)>,
    ready: VecDeque<ChunkId>,
    /// On too few targets, with the wanted number; and which of those are being put again.
    to_restore: VecDeque<(ChunkId, u8)>,
    restoring: BTreeSet<ChunkId>,
    wave: Option<Wave>,
    waves: u32,
    /// How many waves each node was told.
    told: BTreeMap<u32, u32>,
    due: Time,
    has_failed: bool,
    is_missing: bool,
    lost: Option<LostList>,
    mistaken: bool,
}

/// A list that cannot be had, so that nobody knows what it lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostList {
    /// The list.
    pub list: ChunkId,
    /// A register that names it, or a list that lists it.
    pub key: Arc<Key>,
}

#[derive(Debug)]
struct Wave {
    chunks: Vec<ChunkId>,
    /// On how many of those who have answered each is stored, and on how many it is wanted.
    held: Vec<(u8, u8)>,
    /// Which of them each node is asked about that has not answered.
    awaited: BTreeMap<u32, Vec<usize>>,
    /// All that may hold any of them are asked.
    are_known: bool,
    /// None of them is down.
    are_up: bool,
    asked: u32,
}

impl Walk {
    /// Nothing yet. `id` tells it from all others of this node.
    pub fn new(id: u64, kind: WalkKind, patience: Span) -> Walk {
        Walk {
            id,
            kind,
            patience,
            lists: VecDeque::new(),
            fetching: BTreeMap::new(),
            ready: VecDeque::new(),
            to_restore: VecDeque::new(),
            restoring: BTreeSet::new(),
            wave: None,
            waves: 0,
            told: BTreeMap::new(),
            due: Time::NEVER,
            has_failed: false,
            is_missing: false,
            lost: None,
            mistaken: false,
        }
    }

    /// The same with a planted mistake: lists are not read.
    #[doc(hidden)]
    #[must_use]
    pub fn without_lists(mut self, mistaken: bool) -> Walk {
        self.mistaken = mistaken;
        self
    }

    /// This content belongs to it.
    pub fn add(&mut self, root: Root) {
        self.add_named(root, None);
    }

    /// The same of content that a register names.
    pub fn add_named(&mut self, root: Root, key: Option<Arc<Key>>) {
        self.ready.push_back(root.chunk);
        if root.is_list && !self.mistaken {
            // What a list lists comes before others, so that few are known and not read.
            self.lists.push_front((root.chunk, key));
        }
    }

    /// Whether it has little left to do.
    pub fn is_hungry(&self) -> bool {
        self.ready.len() < MAX_WAVE && self.lists.is_empty() && self.fetching.is_empty()
    }

    /// Whether all of it was told to all, and all have answered.
    pub fn is_done(&self) -> bool {
        self.is_hungry()
            && self.ready.is_empty()
            && self.to_restore.is_empty()
            && self.restoring.is_empty()
            && self.wave.is_none()
    }

    /// Some list cannot be had, or some chunk is nowhere.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The list that cannot be had, if that is known and where it is named.
    pub fn lost(&self) -> Option<&LostList> {
        self.lost.as_ref()
    }

    /// Some chunk is nowhere, and all that may hold it have said so.
    pub fn is_missing(&self) -> bool {
        self.is_missing
    }

    /// Which.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// How many waves a node was told.
    pub fn told(&self, node: u32) -> u32 {
        self.told.get(&node).copied().unwrap_or(0)
    }

    /// When [`Walk::wake`] has something to do.
    pub fn wakes_at(&self) -> Time {
        self.due
    }

    /// Goes on with what it can. `nodes_of` names the nodes that may hold a chunk, and says whether these are all: others
    /// that may are of an older program, which neither answers nor removes anything. One that `is_down` is not waited for
    /// where those who answer suffice.
    pub fn go_on(
        &mut self,
        now: Time,
        nodes_of: impl Fn(&ChunkId) -> (BTreeSet<u32>, bool),
        is_down: impl Fn(u32) -> bool,
        effects: &mut Vec<WalkEffect>,
    ) {
        loop {
            self.fetch_and_restore(effects);
            if self.wave.is_some() || self.ready.is_empty() || !self.to_restore.is_empty() {
                return;
            }
            // Where nobody can be asked the wave is over at once, and nothing else would make it go on.
            if self.begin_wave(&nodes_of, &is_down) {
                return self.ask(now, effects);
            }
            self.end_wave();
        }
    }

    fn fetch_and_restore(&mut self, effects: &mut Vec<WalkEffect>) {
        // A list has many parts: no more of them than are told next.
        while self.fetching.len() < MAX_FETCHES
            && self.ready.len() < MAX_WAVE
            && let Some((list, key)) = self.lists.pop_front()
        {
            if self.fetching.insert(list, (1, key)).is_none() {
                effects.push(WalkEffect::Fetch(list));
            }
        }
        while self.restoring.len() < MAX_RESTORED
            && let Some((chunk, replicas)) = self.to_restore.pop_front()
        {
            self.restoring.insert(chunk);
            effects.push(WalkEffect::Restore(chunk, replicas));
        }
    }

    /// The next wave. False if there is nobody to be asked.
    fn begin_wave(
        &mut self,
        nodes_of: impl Fn(&ChunkId) -> (BTreeSet<u32>, bool),
        is_down: impl Fn(u32) -> bool,
    ) -> bool {
        let chunks: Vec<ChunkId> = self.ready.drain(..self.ready.len().min(MAX_WAVE)).collect();
        let mut awaited: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let (mut are_known, mut are_up) = (true, true);
        for (n, chunk) in chunks.iter().enumerate() {
            let (mut nodes, are_all) = nodes_of(chunk);
            are_known &= are_all;
            if self.kind == WalkKind::Touch {
                let all = nodes.len();
                nodes.retain(|node| !is_down(*node));
                are_up &= all == nodes.len();
            }
            for node in nodes {
                awaited.entry(node).or_default().push(n);
            }
        }
        self.waves += 1;
        for node in awaited.keys() {
            *self.told.entry(*node).or_default() += 1;
        }
        let held = vec![(0, 0); chunks.len()];
        let is_asked = !awaited.is_empty();
        self.wave = Some(Wave { chunks, held, awaited, are_known, are_up, asked: 0 });
        is_asked
    }

    fn ask(&mut self, now: Time, effects: &mut Vec<WalkEffect>) {
        let Some(wave) = &mut self.wave else { return };
        let id = WaveId { walk: self.id, wave: self.waves };
        wave.asked += 1;
        for (node, places) in &wave.awaited {
            let chunks = Chunks(places.iter().map(|place| wave.chunks[*place]).collect());
            let message = match self.kind {
                WalkKind::Touch | WalkKind::TouchAgain => GarbageMessage::Touch(id, chunks),
                WalkKind::Mark(round, by) => {
                    GarbageMessage::Mark(Mark { round, by, wave: id }, chunks)
                }
            };
            effects.push(WalkEffect::Say(*node, message));
        }
        self.due = now + self.patience * u64::from(wave.asked.min(8));
    }

    /// A list was fetched, or cannot be.
    pub fn fetched(
        &mut self,
        list: ChunkId,
        content: Option<Bytes>,
        effects: &mut Vec<WalkEffect>,
    ) {
        let Some((tries, key)) = self.fetching.get_mut(&list) else { return };
        let key = key.clone();
        let Some(content) = content else {
            match *tries < TRIES {
                true => {
                    *tries += 1;
                    effects.push(WalkEffect::Fetch(list));
                }
                false => self.lose(list, key),
            }
            return;
        };
        self.fetching.remove(&list);
        let Some(content) = List::decode(&content) else {
            // Of another program, perhaps: what it lists is not known.
            return self.lose(list, key);
        };
        for part in (0..).map_while(|place| content.part(place)) {
            self.add_named(part.address.into(), key.clone());
        }
    }

    fn lose(&mut self, list: ChunkId, key: Option<Arc<Key>>) {
        self.has_failed = true;
        self.lost = self.lost.take().or(key.map(|key| LostList { list, key }));
    }

    /// Only these nodes are in the cluster map any more.
    pub fn retain(&mut self, is_there: impl Fn(u32) -> bool) {
        let Some(wave) = &mut self.wave else { return };
        wave.awaited.retain(|node, _| is_there(*node));
        if wave.awaited.is_empty() {
            self.end_wave();
        }
    }

    /// A node has answered, and says which of the chunks are stored there.
    pub fn answered(&mut self, node: u32, wave: WaveId, held: &[u8]) {
        let Some(open) = &mut self.wave else { return };
        if wave != (WaveId { walk: self.id, wave: self.waves }) {
            return;
        }
        let (here, _) = held.as_chunks::<2>();
        for (n, place) in open.awaited.remove(&node).into_iter().flatten().enumerate() {
            let [count, wanted] = here.get(n).copied().unwrap_or_default();
            let (all, most) = &mut open.held[place];
            (*all, *most) = (all.saturating_add(count), wanted.max(*most));
        }
        if open.awaited.is_empty() {
            self.end_wave();
        }
    }

    fn end_wave(&mut self) {
        self.due = Time::NEVER;
        let wave = self.wave.take().filter(|_| self.kind == WalkKind::Touch);
        let Some(Wave { chunks, held, are_known, are_up, awaited, .. }) = wave else { return };
        for (chunk, (count, wanted)) in chunks.into_iter().zip(held) {
            if !are_known {
                // Somebody who cannot be asked may hold it: whoever can read it is sure that it is there.
                if count == 0 {
                    self.to_restore.push_back((chunk, 0));
                }
                continue;
            }
            self.has_failed |= count == 0;
            self.is_missing |= count == 0 && are_up && awaited.is_empty();
            if count < wanted && count > 0 {
                self.to_restore.push_back((chunk, wanted));
            }
        }
    }

    /// A chunk was put again, or could not be.
    pub fn restored(&mut self, chunk: ChunkId, is_stored: bool) {
        self.has_failed |= self.restoring.remove(&chunk) && !is_stored;
    }

    /// Asks again those who have not answered.
    pub fn wake(&mut self, now: Time, effects: &mut Vec<WalkEffect>) {
        if now < self.due {
            return;
        }
        let is_over = |wave: &Wave| wave.asked >= MAX_ASKED && self.kind == WalkKind::Touch;
        match mem::take(&mut self.wave) {
            Some(wave) if is_over(&wave) => {
                self.wave = Some(wave);
                self.end_wave();
            }
            wave => {
                self.wave = wave;
                self.ask(now, effects);
            }
        }
    }
}

#[cfg(test)]
mod tests;
