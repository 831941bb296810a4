//! Surplus replicas of a target, until they are removed; see [`keepers`](slotcast_protocol::keepers).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use slotcast_protocol::{ChunkId, RepairInput, Wanted};
use slotcast_store::{Input as StoreInput, Ticket, WriteError};
use slotcast_units::{Span, Time};

use super::{Asker, StorageTarget};
use crate::mistake::Mistake;
use crate::outbox::{Outbox, Want};

/// How far the removal of a chunk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The others are asked. It can be taken back.
    Asking,
    /// The removal is on its way to the disk.
    Removing,
}

/// Chunks that are released, and what was put of late.
#[derive(Debug)]
pub(super) struct Releasing {
    stages: BTreeMap<ChunkId, Stage>,
    /// What repair has asked for, in its order, with what is wanted of those that are released.
    asked: Vec<(ChunkId, Option<Wanted>)>,
    recent: Recent,
}

impl Releasing {
    pub(super) fn new(after: Span) -> Releasing {
        Releasing { stages: BTreeMap::new(), asked: Vec::new(), recent: Recent::new(after) }
    }

    /// Whether this target says that it does not hold `chunk`, although it still does.
    pub(super) fn has(&self, chunk: &ChunkId) -> bool {
        self.stages.contains_key(chunk)
    }

    pub(super) fn first(&self) -> Option<ChunkId> {
        self.stages.keys().next().copied()
    }

    /// Whether it will not hold `chunk` any more: that cannot be taken back.
    pub(super) fn removes(&self, chunk: &ChunkId) -> bool {
        self.stages.get(chunk) == Some(&Stage::Removing)
    }
}

impl StorageTarget {
    /// Whether a chunk is stored here, also if it could not be read when that was last tried.
    pub fn has(&self, chunk: &ChunkId) -> bool {
        self.store.length(chunk).is_some()
    }

    /// Whether a chunk is being removed, since it is surplus: it may still be stored here, and does not count.
    pub fn is_removing(&self, chunk: &ChunkId) -> bool {
        self.releasing.removes(chunk)
    }

    /// Whether it says that it does not hold a chunk, although it may still do: that is about to be removed.
    pub(crate) fn is_released(&self, chunk: &ChunkId) -> bool {
        self.releasing.has(chunk)
    }

    /// A chunk that is about to be removed, since it is surplus; any of them.
    pub fn released(&self) -> Option<ChunkId> {
        self.releasing.first()
    }

    /// Surplus replicas that were removed since it began.
    pub fn surplus_removed(&self) -> u64 {
        self.surplus_removed
    }

    /// A put asks for `chunk`, or one of it has arrived: it is kept, if that is still possible.
    pub(super) fn keep(&mut self, now: Time, chunk: &ChunkId) {
        if self.mistake == Some(Mistake::RemovesDespitePut) {
            return;
        }
        self.releasing.recent.insert(now, chunk);
        if self.releasing.stages.get(chunk) == Some(&Stage::Asking) {
            self.releasing.stages.remove(chunk);
        }
    }

    /// Repair wants these removed: from now on this target says that it does not hold them, and the others are asked.
    pub(super) fn release(
        &mut self,
        now: Time,
        chunks: Vec<(ChunkId, Wanted)>,
        outbox: &mut Outbox,
    ) {
        let mut released = Vec::new();
        for (chunk, wanted) in chunks {
            let may_begin = self.may_release(now, &chunk, wanted);
            self.releasing.asked.push((chunk, may_begin.then_some(wanted)));
            if may_begin {
                self.releasing.stages.insert(chunk, Stage::Asking);
                released.push((chunk, wanted));
            }
        }
        if released.is_empty() {
            self.may_remove(now, 0, 0);
        } else if self.mistake == Some(Mistake::RemovesWithoutAsking) {
            self.may_remove(now, u32::MAX, 0);
        } else {
            outbox.wants.push((self.id, Want::Release(released)));
        }
    }

    /// Whether nobody has asked for `chunk` of late, and this is what it is stored here for and will be.
    fn may_release(&mut self, now: Time, chunk: &ChunkId, wanted: Wanted) -> bool {
        let is_held = self.store.wanted(chunk) == Some(wanted) && !self.releasing.has(chunk);
        let is_quiet = !self.store.is_changing(chunk) && !self.releasing.recent.has(now, chunk);
        is_held && self.counts() && (is_quiet || self.mistake == Some(Mistake::RemovesDespitePut))
    }

    /// The others have answered. Of the chunks that were released, the first one in the least bit: those that may be
    /// removed, and those that are kept.
    pub(super) fn may_remove(&mut self, now: Time, removed: u32, kept: u32) {
        let mut settled = 0;
        let mut place = 0;
        for (n, (chunk, wanted)) in
            core::mem::take(&mut self.releasing.asked).into_iter().enumerate()
        {
            let Some(wanted) = wanted else { continue };
            let is = |bits: u32| bits >> place & 1 == 1;
            let (may_go, stays) = (is(removed), is(kept));
            place += 1;
            let is_same = self.releasing.stages.get(&chunk) == Some(&Stage::Asking);
            if may_go && is_same && self.is_unchanged(&chunk, wanted) {
                let ticket = self.ticket(Asker::Release(chunk));
                self.releasing.stages.insert(chunk, Stage::Removing);
                self.store.handle(StoreInput::Remove(ticket, chunk), &mut self.store_effects);
                settled |= 1 << n;
            } else if is_same {
                self.releasing.stages.remove(&chunk);
                settled |= u32::from(stays) << n;
            }
        }
        self.tell_repair(now, RepairInput::Released { settled });
    }

    /// Whether no put has come between.
    fn is_unchanged(&self, chunk: &ChunkId, wanted: Wanted) -> bool {
        self.store.wanted(chunk) == Some(wanted) && !self.store.is_changing(chunk)
            || self.mistake == Some(Mistake::RemovesDespitePut)
    }

    /// A chunk is garbage: it is removed, unless it is being put, or removed already. Gives its length in bytes.
    pub(crate) fn sweep(&mut self, now: Time, chunk: ChunkId, outbox: &mut Outbox) -> Option<u64> {
        if self.store.is_changing(&chunk) || self.releasing.has(&chunk) || !self.is_open() {
            return None;
        }
        let length = self.store.length(&chunk)?;
        let ticket = self.ticket(Asker::Sweep(chunk));
        self.releasing.stages.insert(chunk, Stage::Removing);
        self.store.handle(StoreInput::Remove(ticket, chunk), &mut self.store_effects);
        self.settle(now, outbox);
        Some(u64::from(length))
    }

    /// The removal is on stable storage.
    pub(super) fn removed(&mut self, ticket: Ticket) {
        let asker = self.asked.remove(&ticket);
        if let Some(Asker::Release(chunk) | Asker::Sweep(chunk)) = asker {
            self.releasing.stages.remove(&chunk);
            self.surplus_removed += u64::from(matches!(asker, Some(Asker::Release(_))));
        }
    }

    /// The removal has failed. Where a disk has failed to write it, it may be there nevertheless at the next start.
    pub(super) fn not_removed(&mut self, ticket: Ticket, error: WriteError) {
        if let Some(Asker::Release(chunk) | Asker::Sweep(chunk)) = self.asked.remove(&ticket)
            && !matches!(error, WriteError::Disk(_))
        {
            self.releasing.stages.remove(&chunk);
        }
    }
}

/// Chunks that puts have asked for in the last while: about as many bits as a busy target has puts in that time. A
/// chunk may be taken for another one that was put; never the other way round.
#[derive(Debug)]
struct Recent {
    /// How long they are remembered at least; twice as long at most.
    lasts: Span,
    began: Time,
    now: Box<[u64]>,
    before: Box<[u64]>,
}

const BITS: u32 = 16;

impl Recent {
    fn new(lasts: Span) -> Recent {
        let none = || vec![0; 1 << (BITS - 6)].into();
        Recent { lasts, began: Time::ZERO, now: none(), before: none() }
    }

    fn place(chunk: &ChunkId) -> (usize, u64) {
        let bit = chunk.mix(0x7265_6365_6e74) >> (64 - BITS);
        (usize::try_from(bit / 64).expect("16 bits"), 1 << (bit % 64))
    }

    fn turn(&mut self, now: Time) {
        let passed = now.saturating_since(self.began);
        if passed < self.lasts {
            return;
        }
        self.began = now;
        core::mem::swap(&mut self.now, &mut self.before);
        self.now.fill(0);
        if passed >= self.lasts * 2 {
            self.before.fill(0);
        }
    }

    fn insert(&mut self, now: Time, chunk: &ChunkId) {
        self.turn(now);
        let (word, bit) = Recent::place(chunk);
        self.now[word] |= bit;
    }

    fn has(&mut self, now: Time, chunk: &ChunkId) -> bool {
        self.turn(now);
        let (word, bit) = Recent::place(chunk);
        (self.now[word] | self.before[word]) & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_remembered_for_a_while_and_not_for_ever() {
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
        let chunk = |n: u8| ChunkId([n; 32]);
        let mut recent = Recent::new(Span::from_ms(10));
        recent.insert(at(1009), &chunk(1));
        assert!(recent.has(at(1009), &chunk(1)) && !recent.has(at(1009), &chunk(2)));
        assert!(recent.has(at(1018), &chunk(1)), "for the time at least");
        recent.insert(at(1025), &chunk(2));
        assert!(!recent.has(at(1040), &chunk(1)), "twice the time");
        assert!(!recent.has(at(5000), &chunk(2)), "also if nobody asks meanwhile");
    }
}
