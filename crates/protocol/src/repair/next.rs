//! What a repair does next, and when.

use slotcast_units::{Size, Time};

use super::{Inventory, Repair, Scan, Work, is_seen_to};
use crate::claim::Wanted;
use crate::ids::ChunkId;

impl Repair {
    /// How many chunks this target knows to have too few replicas. None while it does not know: it owes a scan since
    /// something has changed, or since it began, or has forgotten what one has found. A scan whose period is over is not
    /// owed.
    pub fn short(&self) -> Option<u64> {
        let knows = !self.owes_scan && !self.has_forgotten;
        knows.then(|| self.statistics().under_replicated)
    }

    /// When it has something to do, if nothing is told before.
    pub(super) fn due(&self, now: Time) -> Time {
        let mut due = self.retry_at.min(self.survey_due(now)).min(self.release_due(now));
        if self.scan.is_none() {
            due = due.min(self.rested);
        }
        if self.scrub.is_none() {
            due = due.min(self.scrub_at);
        }
        // With all hands full, whatever ends will be told; and so it will where what is to be done has to wait
        // for something in hand.
        if self.in_hand.len() < self.rules.at_once {
            let goes_on = |scan: Option<Scan>| scan.is_some_and(|scan| !scan.over);
            let asks = !self.to_recover.is_empty()
                || !self.to_retry.is_empty()
                || !self.surveys.to_check.is_empty();
            let reads = !self.to_heal.is_empty() || goes_on(self.scrub);
            let later = |wants: bool, at: Time| if wants && at > now { at } else { Time::NEVER };
            due = due.min(later(asks, self.ask_at)).min(later(reads, self.read_at));
        }
        due
    }

    /// What is to be asked of the group next.
    pub(super) fn ask(&mut self, now: Time) -> Option<(ChunkId, Work)> {
        let asked = self.question();
        if asked.is_some() {
            self.ask_at = now + self.rules.least_pause;
        }
        asked
    }

    fn question(&mut self) -> Option<(ChunkId, Work)> {
        // Some may be with nobody who answers, which takes long to find out: others are seen to meanwhile.
        let recovering = self.in_hand.values().filter(|work| matches!(work, Work::Recover(_)));
        let may_recover = recovering.count() < self.rules.at_once.div_ceil(2);
        let is_free = |(chunk, _): &(ChunkId, Wanted)| !self.in_hand.contains_key(chunk);
        if let Some(i) = self.to_recover.iter().position(is_free).filter(|_| may_recover) {
            let lost = self.to_recover.remove(i);
            return lost.map(|(chunk, wanted)| (chunk, Work::Recover(wanted)));
        }
        while let Some(chunk) = self.to_retry.pop_front() {
            if self.lacking.contains(&chunk) && !self.in_hand.contains_key(&chunk) {
                return Some((chunk, Work::Check));
            }
        }
        let Repair { surveys, in_hand, heard, lacking, is_draining, .. } = self;
        surveys.to_check.retain(|chunk| !is_seen_to(chunk, heard, lacking, *is_draining));
        let is_free = |chunk: &ChunkId| !in_hand.contains_key(chunk);
        let at = surveys.to_check.iter().position(is_free)?;
        surveys.to_check.remove(at).map(|chunk| (chunk, Work::Check))
    }

    /// What is to be read next: what lacks replicas, or else what a scrub has come to.
    pub(super) fn read(
        &mut self,
        now: Time,
        inventory: &impl Inventory,
    ) -> Option<(ChunkId, Work)> {
        let is_free = |chunk: &&ChunkId| !self.in_hand.contains_key(*chunk);
        let (chunk, work, share) = match self.to_heal.iter().find(is_free).copied() {
            Some(chunk) => {
                self.to_heal.remove(&chunk);
                (chunk, Work::PutAgain, self.rules.heal_share)
            }
            None if !self.to_heal.is_empty() => return None,
            None => {
                let Repair { scrub, in_hand, .. } = self;
                let scrub = scrub.as_mut()?;
                let chunk = scrub.peek(inventory).filter(|chunk| !in_hand.contains_key(chunk))?;
                scrub.take(chunk);
                scrub.visit(now, 1);
                self.statistics.scrubbed += 1;
                (chunk, Work::Read, self.rules.scrub_share)
            }
        };
        let size = inventory.size(&chunk).unwrap_or(Size::ZERO);
        self.read_at = now + self.rules.pause(size, inventory.read_rate(), share);
        Some((chunk, work))
    }
}
