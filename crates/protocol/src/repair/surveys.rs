//! Asks about many chunks at a time, as the scan comes to them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use slotcast_units::Time;

use super::ranges::{Look, names_of};
use super::{AHEAD, Answers, Inventory, Repair, RepairEffect, is_seen_to};
use crate::ids::ChunkId;

/// Chunks in a survey.
pub(super) const CHUNKS: usize = 32;

/// Surveys under way at a time.
const AT_ONCE: usize = 2;

/// Surveys under way, and what they have not settled.
#[derive(Debug, Clone, Default)]
pub(super) struct Surveys {
    /// Whether what is known of ranges is believed in this scan.
    pub(super) believes: bool,
    /// The first of the ranges that are compared.
    comparing: Option<u32>,
    last_number: u32,
    asked: BTreeMap<u32, Vec<ChunkId>>,
    /// Not on enough members as far as those have answered: each is asked about by itself.
    pub(super) to_check: VecDeque<ChunkId>,
    ask_at: Time,
}

impl Surveys {
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.comparing.is_none() && self.to_check.is_empty()
    }

    /// When the next may be asked; never, while those under way are awaited.
    fn next(&self) -> Time {
        match self.asked.len() < AT_ONCE && self.comparing.is_none() {
            true => self.ask_at,
            false => Time::NEVER,
        }
    }
}

impl Repair {
    /// Whether a scan has more to ask about, and not too much waits that it has found.
    fn may_survey(&self) -> bool {
        self.scan.is_some_and(|scan| !scan.over)
            && self.to_heal.len() + self.surveys.to_check.len() < AHEAD
    }

    /// When it asks about more, if nothing is told before.
    pub(super) fn survey_due(&self, now: Time) -> Time {
        let next = self.surveys.next();
        if self.may_survey() && next > now { next } else { Time::NEVER }
    }

    /// Asks about what the scan comes to next.
    pub(super) fn survey(
        &mut self,
        now: Time,
        inventory: &impl Inventory,
        effects: &mut Vec<RepairEffect>,
    ) {
        while self.may_survey() && self.surveys.next() <= now {
            let Some(effect) = self.next_survey(now, inventory) else { break };
            effects.push(effect);
            self.surveys.ask_at = now + self.rules.survey_pause;
        }
        let next = self.scan.as_mut().and_then(|scan| scan.peek(inventory));
        let current = next.map(|chunk| self.ranges.of(&chunk));
        self.ranges.leave(current, inventory);
    }

    fn next_survey(&mut self, now: Time, inventory: &impl Inventory) -> Option<RepairEffect> {
        let Repair { scan, ranges, surveys, in_hand, heard, lacking, is_draining, to_heal, .. } =
            self;
        let scan = scan.as_mut()?;
        let mut chunks = Vec::new();
        while chunks.len() < CHUNKS {
            // What is in hand is visited when that has ended.
            let next = scan.peek(inventory).filter(|chunk| !in_hand.contains_key(chunk));
            let Some(chunk) = next else { break };
            let range = ranges.of(&chunk);
            match ranges.look(range, inventory) {
                Look::Unknown { .. } if !chunks.is_empty() => break,
                Look::Unknown { first, count } => {
                    surveys.comparing = Some(first);
                    return Some(RepairEffect::Compare { bits: ranges.bits(), first, count });
                }
                Look::Same if surveys.believes => {
                    let names = names_of(range, ranges.bits());
                    if lacking.range(names).next().is_none() {
                        let was_wrapped = scan.wrapped;
                        scan.pass(names.1);
                        // That in which the scan began is come to twice.
                        if !(was_wrapped && ranges.is_first(range)) {
                            let passed = inventory.range_sum(ranges.bits(), range).chunks;
                            self.statistics.visited += passed;
                            scan.visit(now, passed);
                        }
                        continue;
                    }
                }
                Look::Same | Look::Differs => {}
            }
            let is_whole = !(scan.wrapped && ranges.is_first(range));
            scan.take(chunk);
            self.statistics.visited += 1;
            let is_seen_to = is_seen_to(&chunk, heard, lacking, *is_draining);
            let wanted = inventory.wanted(&chunk);
            let wanted = wanted.filter(|_| !is_seen_to && !to_heal.contains(&chunk));
            ranges.ask(range, (wanted.is_some(), is_whole), inventory);
            scan.visit(now, u64::from(wanted.is_none()));
            chunks.extend(wanted.map(|wanted| (chunk, wanted)));
        }
        if chunks.is_empty() {
            return None;
        }
        surveys.last_number = surveys.last_number.wrapping_add(1);
        let names = chunks.iter().map(|(chunk, _)| *chunk).collect();
        surveys.asked.insert(surveys.last_number, names);
        Some(RepairEffect::Survey(surveys.last_number, chunks))
    }

    pub(super) fn compared(&mut self, others: Option<Box<[u64]>>) {
        if let Some(first) = self.surveys.comparing.take() {
            self.ranges.compared(first, others);
        }
    }

    /// Of the chunks of a survey, the first one in the least bit: which are on enough members, and of which this target
    /// is no keeper.
    pub(super) fn surveyed(
        &mut self,
        now: Time,
        number: u32,
        (enough, surplus): (u32, u32),
        answers: Answers,
    ) {
        let Some(chunks) = self.surveys.asked.remove(&number) else { return };
        let is_to_wait = answers == Answers::Awaited;
        self.scans_again |= answers == Answers::Some;
        for (n, chunk) in chunks.into_iter().enumerate() {
            let is_on_enough = enough >> n & 1 == 1;
            let is_surplus = surplus >> n & 1 == 1;
            // A range with a chunk that is on too many is not in order: it is visited again.
            let is_known = answers == Answers::All;
            self.ranges.answered(&chunk, is_on_enough && is_known && !is_surplus);
            if !is_to_wait {
                self.found_surplus(chunk, is_surplus && is_on_enough);
            }
            match (is_to_wait, is_on_enough) {
                (true, _) => {}
                (false, true) => drop(self.lacking.remove(&chunk)),
                (false, false) => self.surveys.to_check.push_back(chunk),
            }
            if let Some(scan) = &mut self.scan {
                scan.visit(now, 1);
            }
        }
    }
}
