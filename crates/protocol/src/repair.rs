//! Replica repair: a target sees to it that what it holds is stored often enough in its group.
//!
//! A target *scans* its chunks in the order of their names and asks the group about them. First it compares
//! what all members hold in a range of names ([`ranges`]): where that is what it was when all was in order, nothing
//! more is asked. Elsewhere it *surveys* many chunks with one question: whoever holds them says so. What is not on
//! enough members by that is asked about one by one, by the first round of an ordinary put. Members that hold it
//! answer "already stored" and count. Where too few do, and only there, the target reads the chunk and puts it again:
//! what is missing is made by appointment, like any other put. No target has to know what another one holds.
//!
//! ```text
//!            something changed, or the period is over
//!   resting ------------------------------------------> scanning
//!      ^                                                   |
//!      +---------------------------------------------------+
//!               all chunks visited, none in hand, all that lack replicas put again
//! ```
//!
//! So that the holders of a chunk do not all ask about it, each begins its scan at another place, by its
//! position in the group, and passes over a chunk whose put by somebody else it has heard in this scan.
//! How many targets are to hold a chunk is stored with it, and each holder sees to the number that it was
//! told: neither more, nor fewer because it heard somebody see to fewer.
//!
//! Beside the scans, and seldom, a target *scrubs*: it reads every chunk, which checks its hash. What was read
//! and found rotten is *recovered*: fetched from the others, and put again.
//!
//! Reads take no more than a *share* of the disk. From one read to the next passes the time for the chunk at
//! that share of the rate that the disk was found to have; the share is larger for a chunk that has too few
//! replicas than for one that is only looked at. What a put again writes is up to those who write it: they
//! give it a window like any other.
//!
//! What a scan finds on more members than are wanted is *surplus*, and removed when the others are known to suffice:
//! [`keepers`] has the protocol, and why it loses nothing.
//!
//! A target that *drains* scans in the same way. What it holds does not count as a replica any more, so each
//! question and each put is about the others, and it relies on nobody else's puts. It has *handed over* when a
//! whole scan has ended, of every chunk of it the others hold enough, and none has come since it began. It
//! removes nothing.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use core::ops::Bound;

use slotcast_units::{Rate, Share, Size, Span, Time};

use crate::claim::Wanted;
use crate::ids::ChunkId;

mod exchange;
mod next;
pub mod ranges;
mod scan;
mod surplus;
mod surveys;

pub use exchange::{Answers, RepairEffect, RepairInput, RepairOutcome, RepairStatistics};
pub use scan::{RepairPace, RepairProgress};
pub use surplus::keepers;

use ranges::{RangeSum, Ranges};
use scan::Scan;
use surplus::Surplus;
use surveys::Surveys;

/// How a target repairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairRules {
    /// Most chunks in hand at a time, at least 1.
    pub at_once: usize,
    /// How much of the disk reads may take of chunks that have too few replicas.
    pub heal_share: Share,
    /// How much of it the reads of a scrub may take, while nothing is to be healed.
    pub scrub_share: Share,
    /// The least time from one read to the next, and from one question about a chunk to the next.
    pub least_pause: Span,
    /// From one question about many chunks to the next.
    pub survey_pause: Span,
    /// The most from one read to the next: so slow is a disk never taken for.
    pub most_pause: Span,
    /// From the end of a scan to the next if nothing changes.
    pub period: Span,
    /// How long sums of ranges are believed: after that a scan asks about every chunk, whatever it began for.
    pub belief: Span,
    /// From the end of a scrub to the next: how long rot stays undiscovered.
    pub scrub_period: Span,
    /// From the first scan to the first scrub.
    pub first_scrub: Span,
    /// From a failed attempt to the next for the same chunk.
    pub retry: Span,
    /// How long no put may have asked for a chunk before a surplus replica of it is removed.
    pub surplus_after: Span,
}

impl RepairRules {
    /// The time from a read of `size` to the next, if the disk reads at `rate` and `share` of it may be taken.
    pub fn pause(&self, size: Size, rate: Rate, share: Share) -> Span {
        let rate = rate.share(share).max(Rate::from_bps(1));
        rate.time_for(size).max(self.least_pause).min(self.most_pause)
    }
}

/// Chunks that a target holds. The host looks them up; the machine only asks.
pub trait Inventory {
    /// The first held chunk from `from` on, in the order of names. Should take O(log chunks).
    fn chunk_from(&self, from: Bound<ChunkId>) -> Option<ChunkId>;

    /// How many targets are to hold `chunk`, as it is stored here; none if it is not.
    fn wanted(&self, chunk: &ChunkId) -> Option<Wanted>;

    /// How large `chunk` is; none if it is not stored here.
    fn size(&self, chunk: &ChunkId) -> Option<Size>;

    /// What is held of the names whose first `bits` bits, 0 to 14, are `range`. O(1) for the finest ranges.
    fn range_sum(&self, bits: u8, range: u32) -> RangeSum;

    /// How fast the disk reads what is seldom read, as far as that was found out.
    fn read_rate(&self) -> Rate;
}

/// Chunks heard of or lacking that are remembered; beyond, they are put again once more, or found
/// again by the next scan.
const REMEMBERED: usize = 1 << 16;

/// Scans go on while fewer than this were found to lack replicas and are not put again: what was found long
/// ago may be in order by now.
const AHEAD: usize = 1 << 10;

/// What is being done for a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Check,
    PutAgain,
    Read,
    Recover(Wanted),
}

/// Whether somebody else was heard to put `chunk` in this scan, so that it need not be asked about. Nobody does
/// so for a target that drains.
fn is_seen_to(
    chunk: &ChunkId,
    heard: &BTreeSet<ChunkId>,
    lacking: &BTreeSet<ChunkId>,
    is_draining: bool,
) -> bool {
    heard.contains(chunk) && !lacking.contains(chunk) && !is_draining
}

/// The repair of one target.
#[derive(Debug, Clone)]
pub struct Repair {
    rules: RepairRules,
    /// Where scans begin.
    start: ChunkId,
    scan: Option<Scan>,
    /// What is known of ranges of names, and asked about many chunks.
    ranges: Ranges,
    surveys: Surveys,
    surplus: Surplus,
    scrub: Option<Scan>,
    /// Something changed that the scan under way may have missed.
    again: bool,
    in_hand: BTreeMap<ChunkId, Work>,
    is_draining: bool,
    /// A scan that began after it was told to leave has ended, and nothing has come since it began.
    has_scanned: bool,
    /// No scan has ended yet that began after all that has changed and remembers what it has found.
    owes_scan: bool,
    /// Somebody has not answered in this scan, or in the last one: another one follows before long.
    scans_again: bool,
    /// A chunk that lacks replicas was not remembered: only another scan finds it.
    has_forgotten: bool,
    /// When a scan ended that asked about every chunk, and nothing had changed meanwhile.
    looked_at_all: Option<Time>,
    /// Put by somebody else since the scan began.
    heard: BTreeSet<ChunkId>,
    /// Lost and not yet asked for, with what was wanted of them.
    to_recover: VecDeque<(ChunkId, Wanted)>,
    /// Found to lack replicas, and not yet put again.
    to_heal: BTreeSet<ChunkId>,
    /// Could not be healed, and is to be asked about without waiting for the next scan.
    to_retry: VecDeque<ChunkId>,
    /// Lost once more while it was being recovered, after it had been put here.
    lost_again: BTreeSet<ChunkId>,
    /// Held, and found to lack replicas; all of `to_heal` and `to_retry` among them.
    lacking: BTreeSet<ChunkId>,
    /// Lost, and their last attempt failed.
    unrecovered: BTreeMap<ChunkId, Wanted>,
    /// Lost, and an attempt has failed: they are being tried again, or are about to be.
    tried_again: BTreeSet<ChunkId>,
    /// The next question may be asked from then on, and the next chunk read.
    ask_at: Time,
    read_at: Time,
    /// When the next scan begins if nothing changes, and the next scrub.
    rested: Time,
    scrub_at: Time,
    /// When what has failed is tried again.
    retry_at: Time,
    alarm: Time,
    statistics: RepairStatistics,
}

impl Repair {
    /// The repair of the member at `position` of a group of `members`. It rests until it is told that
    /// something [`Changed`](RepairInput::Changed).
    ///
    /// # Panics
    /// If there are no members, or nothing may be in hand.
    pub fn new(rules: RepairRules, position: u8, members: usize) -> Repair {
        assert!(members > 0 && rules.at_once > 0, "a repair by somebody, of something");
        let first = (u64::MAX / members as u64).wrapping_mul(u64::from(position));
        let mut start = ChunkId([0; 32]);
        start.0[..8].copy_from_slice(&first.to_be_bytes());
        Repair {
            rules,
            start,
            scan: None,
            ranges: Ranges::new(),
            surveys: Surveys::default(),
            surplus: Surplus::default(),
            scrub: None,
            again: false,
            in_hand: BTreeMap::new(),
            is_draining: false,
            has_scanned: false,
            owes_scan: true,
            scans_again: false,
            has_forgotten: false,
            looked_at_all: None,
            heard: BTreeSet::new(),
            to_recover: VecDeque::new(),
            to_heal: BTreeSet::new(),
            to_retry: VecDeque::new(),
            lost_again: BTreeSet::new(),
            lacking: BTreeSet::new(),
            unrecovered: BTreeMap::new(),
            tried_again: BTreeSet::new(),
            ask_at: Time::ZERO,
            read_at: Time::ZERO,
            rested: Time::NEVER,
            scrub_at: Time::NEVER,
            retry_at: Time::NEVER,
            alarm: Time::NEVER,
            statistics: RepairStatistics::default(),
        }
    }

    /// Numbers for people.
    pub fn statistics(&self) -> RepairStatistics {
        let in_hand = self.in_hand.values().filter(|work| matches!(work, Work::Recover(_)));
        let lost = self.to_recover.len() + in_hand.count() + self.unrecovered.len();
        let under_replicated = (self.lacking.len() + lost) as u64;
        let unrecovered = (self.unrecovered.len() + self.tried_again.len()) as u64;
        let surplus = self.surplus.len();
        RepairStatistics { under_replicated, unrecovered, surplus, ..self.statistics }
    }

    /// Whether everything that a leaving target holds, or has lost and could fetch, is with the others in the
    /// wanted number.
    pub fn has_handed_over(&self) -> bool {
        self.is_draining
            && self.has_scanned
            && self.scan.is_none()
            && self.is_idle()
            && self.to_recover.is_empty()
            && self.lacking.is_empty()
            && self.unrecovered.is_empty()
    }

    /// Whether nothing is in hand but for a scrub.
    fn is_idle(&self) -> bool {
        self.surveys.is_empty() && self.in_hand.values().all(|work| *work == Work::Read)
    }

    /// How far the scan under way is.
    pub fn progress(&self, now: Time) -> Option<RepairProgress> {
        let putting = self.in_hand.values().filter(|work| **work == Work::PutAgain).count();
        // Most of what is not on enough members as far as they have answered will be found to lack replicas.
        let to_check = self.surveys.to_check.len() as u64;
        let waiting = (self.to_heal.len() + putting) as u64 + to_check;
        let progress = self.scan.map(|scan| scan.progress(now, waiting))?;
        Some(RepairProgress { found: progress.found + to_check, ..progress })
    }

    /// How far the scrub under way is.
    pub fn scrub_progress(&self, now: Time) -> Option<RepairProgress> {
        self.scrub.map(|scrub| scrub.progress(now, 0))
    }

    /// Whether nothing is under way that a scan has found. What was lost is recovered beside the scans: of what nobody
    /// has who answers, an attempt follows the other, and no scan would ever end.
    fn has_settled_scan(&self) -> bool {
        let is_of_scan = |work: &Work| matches!(work, Work::Check | Work::PutAgain);
        self.surveys.is_empty() && self.to_heal.is_empty() && !self.in_hand.values().any(is_of_scan)
    }

    /// Takes `input` at `now` and appends what is to be done to `effects`.
    pub fn handle(
        &mut self,
        now: Time,
        input: RepairInput,
        inventory: &impl Inventory,
        effects: &mut Vec<RepairEffect>,
    ) {
        match input {
            RepairInput::Changed => self.changed(now, inventory),
            RepairInput::Draining(is_draining) if is_draining == self.is_draining => {}
            RepairInput::Draining(is_draining) => {
                self.is_draining = is_draining;
                self.has_scanned = false;
                self.changed(now, inventory);
            }
            RepairInput::Stored => {
                if self.is_draining {
                    self.has_scanned = false;
                    self.changed(now, inventory);
                }
            }
            RepairInput::Compared(others) => self.compared(others),
            RepairInput::Surveyed { number, enough, surplus, answers } => {
                self.surveyed(now, number, (enough, surplus), answers);
            }
            RepairInput::Released { settled } => self.released(now, settled),
            RepairInput::Lost(chunk, wanted) => self.lost(chunk, wanted),
            RepairInput::Heard(chunk, put) => {
                // A put on fewer targets than are wanted here does not see to all of them, nor one with a lower claim.
                let is_enough = || inventory.wanted(&chunk).is_none_or(|here| put.covers(here));
                if self.is_scanning() && self.heard.len() < REMEMBERED && is_enough() {
                    self.heard.insert(chunk);
                }
            }
            RepairInput::Ended(chunk, outcome) => self.ended(now, chunk, outcome),
            RepairInput::Wake => self.wake(now, inventory),
        }
        self.go_on(now, inventory, effects);
    }

    fn wake(&mut self, now: Time, inventory: &impl Inventory) {
        if self.alarm <= now {
            self.alarm = Time::NEVER;
        }
        if self.scan.is_none() && self.rested <= now {
            self.begin(now, inventory);
        }
        if self.scrub.is_none() && self.scrub_at <= now {
            self.scrub_at = Time::NEVER;
            self.scrub = Some(Scan::new(now, self.start));
        }
        if self.retry_at <= now {
            self.retry_at = Time::NEVER;
            self.tried_again.extend(self.unrecovered.keys());
            self.to_recover.extend(core::mem::take(&mut self.unrecovered));
            if self.to_retry.is_empty() {
                let Repair { to_heal, in_hand, lacking, to_retry, .. } = self;
                let is_tried = |c: &&ChunkId| !to_heal.contains(*c) && !in_hand.contains_key(*c);
                to_retry.extend(lacking.iter().filter(is_tried));
            } else {
                self.retry_at = now + self.rules.retry;
            }
        }
    }

    fn lost(&mut self, chunk: ChunkId, wanted: Wanted) {
        self.lacking.remove(&chunk);
        self.to_heal.remove(&chunk);
        self.unrecovered.remove(&chunk);
        // That which is under way may end well for what is not here any more.
        if matches!(self.in_hand.get(&chunk), Some(Work::Recover(_))) {
            self.lost_again.insert(chunk);
            return;
        }
        let is_known = self.to_recover.iter().any(|(known, _)| *known == chunk);
        match is_known {
            true => {}
            false if self.to_recover.len() < REMEMBERED => {
                self.to_recover.push_back((chunk, wanted));
            }
            false => self.has_forgotten = true,
        }
    }

    fn ended(&mut self, now: Time, chunk: ChunkId, outcome: RepairOutcome) {
        let Some(work) = self.in_hand.remove(&chunk) else { return };
        // That it is not readable is told as a loss; that it has moved meanwhile says nothing.
        if work == Work::Read {
            return;
        }
        self.tried_again.remove(&chunk);
        let is_lost_again = self.lost_again.remove(&chunk);
        if let Work::Recover(wanted) = work
            && is_lost_again
            && outcome != RepairOutcome::Failed
        {
            self.to_recover.push_back((chunk, wanted));
        }
        if let (Work::PutAgain, Some(scan)) = (work, &mut self.scan) {
            scan.tried(now, outcome == RepairOutcome::Healed);
        }
        match outcome {
            RepairOutcome::Complete | RepairOutcome::NotFound => {
                self.lacking.remove(&chunk);
            }
            RepairOutcome::Healed => {
                self.lacking.remove(&chunk);
                self.statistics.healed += 1;
                self.statistics.recovered += u64::from(matches!(work, Work::Recover(_)));
            }
            RepairOutcome::Lacking if self.remember(chunk) => {
                self.to_heal.insert(chunk);
                if let Some(scan) = &mut self.scan {
                    scan.found += 1;
                }
            }
            RepairOutcome::Lacking => {}
            RepairOutcome::Failed => {
                self.statistics.failed += 1;
                match work {
                    Work::Recover(wanted) if self.unrecovered.len() < REMEMBERED => {
                        self.unrecovered.insert(chunk, wanted);
                    }
                    Work::Recover(_) => self.has_forgotten = true,
                    _ => drop(self.remember(chunk)),
                }
                self.retry_at = self.retry_at.min(now + self.rules.retry);
            }
        }
    }

    /// `chunk` lacks replicas. False if there are too many such.
    fn remember(&mut self, chunk: ChunkId) -> bool {
        let has_room = self.lacking.len() < REMEMBERED || self.lacking.contains(&chunk);
        if has_room {
            self.lacking.insert(chunk);
        } else {
            self.has_forgotten = true;
        }
        has_room
    }

    /// Takes in hand what can be, ends scans that are over, and sets the alarm.
    fn go_on(&mut self, now: Time, inventory: &impl Inventory, effects: &mut Vec<RepairEffect>) {
        while self.in_hand.len() < self.rules.at_once {
            let question = if self.ask_at <= now { self.ask(now) } else { None };
            let read = || if self.read_at <= now { self.read(now, inventory) } else { None };
            let Some((chunk, work)) = question.or_else(read) else { break };
            self.in_hand.insert(chunk, work);
            effects.push(match work {
                Work::Check => RepairEffect::Check(chunk),
                Work::PutAgain => RepairEffect::PutAgain(chunk),
                Work::Read => RepairEffect::Read(chunk),
                Work::Recover(wanted) => RepairEffect::Recover(chunk, wanted),
            });
        }
        self.survey(now, inventory, effects);
        self.release(now, inventory, effects);
        if self.scan.is_some_and(|scan| scan.over) && self.has_settled_scan() {
            self.end_scan(now);
        }
        if self.scrub.is_some_and(|scrub| scrub.over)
            && !self.in_hand.values().any(|work| *work == Work::Read)
        {
            self.statistics.scrubs += 1;
            self.scrub = None;
            self.scrub_at = now + self.rules.scrub_period;
        }
        let due = self.due(now);
        if due < self.alarm {
            self.alarm = due;
            effects.push(RepairEffect::WakeAt(due));
        }
    }
}

#[cfg(test)]
mod pace_tests;
#[cfg(test)]
mod surplus_tests;
#[cfg(test)]
mod survey_tests;
#[cfg(test)]
mod tests;
