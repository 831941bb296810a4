//! Removal of replicas beyond the wanted number: only when the others are known to suffice, and never so that two
//! holders rely on each other.
//!
//! A node that was away for longer than it is waited for comes back with what was replaced meanwhile; an
//! acknowledgement is late and its chunk was put elsewhere. Then a chunk is on more targets than are wanted. Who is to
//! remove it follows from its name: of the holders, in an order that every chunk has of its own, the first ones that
//! are on as many failure domains as wanted are its [*keepers*](keepers); each of the others is *surplus*.
//!
//! ```text
//!  a scan finds that this target is surplus
//!     |        no put was heard for a while, nothing of the chunk is being written
//!     v
//!  releasing ------> all members answer, and keepers suffice ------> removing ------> gone
//!     |        from here on this target says that it does not hold the chunk
//!     v
//!  kept: a put asked for the chunk, somebody did not answer, or something changed in the group
//! ```
//!
//! * A target that *releases* a chunk says from that moment on that it does not hold it, in every survey. Only then it
//!   asks the others: each says whether it holds the chunk, on stable storage, for at least as many replicas and with
//!   at least the claim that it has here, counts as a member, and does not release it itself. Answers to earlier
//!   questions do not count.
//! * It removes the chunk if every member that takes puts has answered, all in one incarnation, the keepers among those
//!   that hold it are on as many failure domains as wanted, and it is none of them. Otherwise it keeps the chunk, says
//!   so from then on, and may try again later.
//! * Whoever is asked promises nothing and remembers nothing, so there is no promise to be lost in a restart, to
//!   expire while somebody stands still, or to be taken back.
//! * A put that asks for the chunk, or one of it that arrives, ends the release, and is answered as if there had been
//!   none. When the removal is on its way to the disk it is too late for that: then the put is answered as by a
//!   target that does not hold the chunk, and what it brings is written after the removal.
//!
//! *Why enough stay.* Take all removals of a chunk that have been carried out by some time, by targets that were told a
//! number of at least `n`, and of these the one whose release began last. Each of its keepers has answered after that,
//! and held the chunk for at least `n` replicas without releasing it. Had a keeper removed its own since, its release
//! would have begun later still, which contradicts the choice. So all of them hold it: at least `n` targets have it for
//! `n` replicas or more, whatever the targets knew of each other, and whoever was started anew in between. What was
//! acknowledged for `n` replicas was on `n` targets for at least that number, and stays so. The same goes for
//! claims, which are compared as numbers are: what was acknowledged with the higher one stays stored with it. A keeper
//! whose disk fails is missed as any other replica is, and replaced.
//!
//! A get that was promised a chunk which is removed before it is read is told so, and asks the others. Where a member
//! is away, has failed or does not open, nothing is removed: it may be needed. What a drained member holds counts for
//! nobody.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound;

use slotcast_units::Time;

use super::surveys::CHUNKS;
use super::{Inventory, REMEMBERED, Repair, RepairEffect};
use crate::group::{GroupMap, Members};
use crate::ids::{ChunkId, GroupId};

/// Those of `holders` that keep `chunk`: the first in its order that are in `wanted` different failure domains. None if
/// they are in fewer.
pub fn keepers(
    groups: &GroupMap,
    group: GroupId,
    (chunk, wanted): (&ChunkId, u8),
    holders: Members,
) -> Option<Members> {
    let mut left = holders.intersection(groups.members_for_puts(group));
    let mut kept = Members::NONE;
    while kept.len() < usize::from(wanted) {
        let place = |position: &u8| (chunk.mix(0x6b65_6570_0000 + u64::from(*position)), *position);
        let first = left.iter().min_by_key(place)?;
        kept.insert(first);
        left = left.without(groups.sharing_a_domain(group, Members::only(first)));
    }
    Some(kept)
}

/// Chunks of which this target is not a keeper, as far as it knows.
#[derive(Debug, Clone, Default)]
pub(super) struct Surplus {
    known: BTreeSet<ChunkId>,
    /// The others are asked about these.
    asked: Option<Vec<ChunkId>>,
    /// The last one that was asked about in this round.
    after: Option<ChunkId>,
    /// The next may be asked about.
    ask_at: Time,
}

impl Surplus {
    pub(super) fn len(&self) -> u64 {
        self.known.len() as u64
    }
}

impl Repair {
    /// A scan has found that others suffice for `chunk`, or that they do not.
    pub(super) fn found_surplus(&mut self, chunk: ChunkId, is_surplus: bool) {
        let known = &mut self.surplus.known;
        if !is_surplus {
            known.remove(&chunk);
        } else if known.len() < REMEMBERED {
            known.insert(chunk);
        }
    }

    /// When it asks about surplus replicas, if nothing is told before.
    pub(super) fn release_due(&self, now: Time) -> Time {
        let Surplus { known, asked, ask_at, .. } = &self.surplus;
        let wants = !known.is_empty() && asked.is_none() && !self.is_draining;
        if wants && *ask_at > now { *ask_at } else { Time::NEVER }
    }

    /// Asks for the removal of what is surplus: of some chunks at a time, one round after another.
    pub(super) fn release(
        &mut self,
        now: Time,
        inventory: &impl Inventory,
        effects: &mut Vec<RepairEffect>,
    ) {
        let Repair { surplus, in_hand, lacking, is_draining, rules, .. } = self;
        let Surplus { known, asked, after, ask_at, .. } = surplus;
        if known.is_empty() || asked.is_some() || *ask_at > now || *is_draining {
            return;
        }
        let from = after.take().map_or(Bound::Unbounded, Bound::Excluded);
        let is_free = |chunk: &&ChunkId| !in_hand.contains_key(*chunk) && !lacking.contains(*chunk);
        let next = known.range((from, Bound::Unbounded)).filter(is_free).take(CHUNKS);
        let next: Vec<ChunkId> = next.copied().collect();
        // Once round: what is left is tried again later.
        let Some(last) = next.last() else {
            *ask_at = now + rules.retry;
            return;
        };
        *after = Some(*last);
        let mut chunks = Vec::with_capacity(next.len());
        for chunk in next {
            match inventory.wanted(&chunk) {
                Some(wanted) => chunks.push((chunk, wanted)),
                None => drop(known.remove(&chunk)),
            }
        }
        *asked = Some(chunks.iter().map(|(chunk, _)| *chunk).collect());
        effects.push(RepairEffect::Release(chunks));
    }

    /// Of the chunks that were asked about, the first one in the least bit: which are settled, removed or not.
    pub(super) fn released(&mut self, now: Time, settled: u32) {
        let Some(chunks) = self.surplus.asked.take() else { return };
        for (bit, chunk) in chunks.iter().enumerate() {
            if settled >> bit & 1 == 1 {
                self.surplus.known.remove(chunk);
            }
        }
        self.surplus.ask_at = now + self.rules.survey_pause;
    }
}
