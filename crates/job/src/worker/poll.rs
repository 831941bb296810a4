//! Looking: which jobs there are, how they stand, and which unit is taken.

use alloc::sync::Arc;
use alloc::vec::Vec;

use slotcast_object::VersionId;
use slotcast_units::Time;

use super::unit::Held;
use super::{About, Answer, Ask, Effect, Job, Known, Note, Worker};
use crate::id::{JobId, WorkerId};
use crate::mistake::Mistake;
use crate::record::{Cursor, Lease, Stage, UnitRecord};

/// Units that are looked at again in one round to see whether their holders still work.
const WATCHED: usize = 16;

impl Worker {
    /// Looks which jobs there are, if it is time.
    pub(super) fn poll(&mut self, now: Time, effects: &mut Vec<Effect>) {
        if self.is_polling || now < self.poll_at {
            return;
        }
        self.is_polling = true;
        self.ask(About::Jobs, Ask::Jobs, effects);
    }

    pub(super) fn jobs_listed(&mut self, now: Time, answer: Answer, effects: &mut Vec<Effect>) {
        self.is_polling = false;
        self.poll_at = now.saturating_add(self.rules.idle_poll);
        let Answer::Jobs(ids) = answer else { return };
        // What is gone was removed, and nobody works on it any more.
        self.jobs.retain(|id, _| ids.contains(id));
        for id in ids {
            let is_new = !self.jobs.contains_key(&id);
            let job = self.jobs.entry(id).or_default();
            // Of a job whose text cannot be read others take care.
            if is_new || (job.text.is_some() && !job.is_over()) {
                self.poll_at = now.saturating_add(self.rules.busy_poll);
            }
            if job.is_asked || job.is_over() {
                continue;
            }
            job.is_asked = true;
            match job.text {
                None => self.ask(About::Text(id), Ask::Text(id), effects),
                Some(_) => self.ask(About::State(id), Ask::State(id), effects),
            }
        }
    }

    pub(super) fn text_read(&mut self, id: JobId, answer: Answer, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.is_asked = false;
        if let Answer::Text(Some(text)) = answer {
            job.text = Some(Arc::new(text));
            job.is_asked = true;
            self.ask(About::State(id), Ask::State(id), effects);
        }
    }

    pub(super) fn state_read(
        &mut self,
        now: Time,
        id: JobId,
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.is_asked = false;
        let Answer::State(Some(state)) = answer else { return };
        job.state = Some(state);
        self.look_at_units(now, id, effects);
    }

    /// How many more units of a job it takes: each of those that run gets its share.
    fn room(&self, id: JobId) -> usize {
        let Some(job) = self.jobs.get(&id) else { return 0 };
        let running = self.jobs.values().filter(|job| job.runs()).count().max(1);
        let share = (self.rules.units / running).max(1);
        let free = self.rules.units.saturating_sub(self.held());
        free.min(share.saturating_sub(job.held.len()))
    }

    /// Reads units of a job: some that may be free, and some to see whether those who hold them still work.
    pub(super) fn look_at_units(&mut self, now: Time, id: JobId, effects: &mut Vec<Effect>) {
        let room = self.room(id);
        let can_transform = self.rules.transforms;
        let seed = self.me.incarnation;
        let ignores = self.makes(Mistake::IgnoresOrders);
        let runs = |job: &&mut Job| job.runs() || ignores;
        let Some(job) = self.jobs.get_mut(&id).filter(runs) else { return };
        let Some((_, state)) = &job.state else { return };
        let stage = state.stage;
        let (mut free, mut watched) = (Vec::new(), Vec::new());
        let count = job.known.get(&0).map_or(0, |plan| plan.record.units);
        let first = if count == 0 { 0 } else { seed % u64::from(count) };
        // Each begins elsewhere: so few want the same one.
        let turned = (0..count).map(|n| ((u64::from(n) + first) % u64::from(count)) as u32 + 1);
        for unit in core::iter::once(0).chain(turned) {
            if job.held.contains_key(&unit) || job.asked.contains(&unit) {
                continue;
            }
            match job.known.get(&unit) {
                Some(known) if known.record.is_done_in(stage) => {}
                Some(known) if unit == 0 && known.record.is_done => {}
                Some(known) if known.record.lease.is_some() => watched.push(unit),
                _ => free.push(unit),
            }
            if free.len() > 2 * room && watched.len() > WATCHED {
                break;
            }
        }
        if job.transforms() && !can_transform {
            free.truncate(1);
        }
        free.truncate(2 * room.max(1));
        // Who has held theirs for longest in the same version is looked at first.
        let since = |unit: &u32| job.known.get(unit).map(|known| known.since);
        watched.sort_by_key(since);
        watched.truncate(WATCHED);
        free.extend(watched);
        for unit in free {
            let is_known = |job: &mut Job| {
                let known = job.known.get(&unit);
                known.is_some_and(|of| of.record.lease.is_none() && of.record.avoid.is_none())
            };
            if self.jobs.get_mut(&id).is_some_and(is_known) {
                // If it was taken since, it has another version.
                self.take(now, (id, unit), effects);
                continue;
            }
            if let Some(job) = self.jobs.get_mut(&id) {
                job.asked.insert(unit);
            }
            self.ask(About::Unit(id, unit), Ask::Unit(id, unit), effects);
        }
        self.settle(id, effects);
    }

    pub(super) fn unit_read(
        &mut self,
        now: Time,
        (id, unit): (JobId, u32),
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.asked.remove(&unit);
        let Answer::Unit(Some((version, record))) = answer else { return };
        let is_first = unit == 0 && !job.known.contains_key(&0);
        observe(job, now, unit, (version, record));
        self.take(now, (id, unit), effects);
        if is_first {
            // The plan says which units there are.
            self.look_at_units(now, id, effects);
        }
        self.settle(id, effects);
    }

    /// Takes a unit, if it is free.
    fn take(&mut self, now: Time, (id, unit): (JobId, u32), effects: &mut Vec<Effect>) {
        let (me, has_room) = (self.me, self.room(id) > 0);
        let Some(job) = self.jobs.get(&id) else { return };
        let can = unit == 0 || self.rules.transforms || !job.transforms();
        let is_ours = job.held.contains_key(&unit) || job.asked.contains(&unit);
        let runs = job.runs() || self.makes(Mistake::IgnoresOrders);
        if !has_room || !can || is_ours || !runs {
            return;
        }
        let (Some(known), Some((_, state))) = (job.known.get(&unit), &job.state) else { return };
        let unchanged = now.saturating_since(known.since);
        let is_over = unchanged >= self.rules.lease || self.makes(Mistake::IgnoresLeases);
        if !is_free(me, &known.record, is_over) {
            return;
        }
        let Some(record) = next_in(state.stage, unit, &known.record) else { return };
        let lease = Some(Lease { worker: me, beat: 0 });
        let mut record = UnitRecord { lease, token: record.token + 1, avoid: None, ..record };
        if self.makes(Mistake::CountsTwice) {
            let again = *record.counts();
            *record.counts() = again.plus(again);
        }
        let version = Some(known.version);
        let about = About::Take(id, unit, record.clone());
        if let Some(job) = self.jobs.get_mut(&id) {
            job.asked.insert(unit);
        }
        self.ask(about, Ask::SwapUnit(id, unit, version, record), effects);
    }

    pub(super) fn taken(
        &mut self,
        now: Time,
        (id, unit): (JobId, u32),
        (record, answer): (UnitRecord, &Answer),
        effects: &mut Vec<Effect>,
    ) {
        let has_room = self.held() < self.rules.units;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.asked.remove(&unit);
        match answer {
            Answer::Swapped(version) => {
                observe(job, now, unit, (*version, record.clone()));
                // Of those that it wanted at the same time it keeps as many as it has room for; the rest it takes later,
                // since nobody else works in its name.
                if has_room {
                    job.held.insert(unit, Held::new(now, *version, record));
                    effects.push(Effect::Note(Note::Taken(id, unit)));
                }
            }
            // Somebody else was faster, or it is not known who: what it says now is read again.
            _ => {
                job.known.remove(&unit);
                self.poll_at = self.poll_at.min(now.saturating_add(self.rules.backoff));
            }
        }
    }
}

/// A unit was read: how long it says the same is counted from the first time.
pub(super) fn observe(
    job: &mut Job,
    now: Time,
    unit: u32,
    (version, mut record): (VersionId, UnitRecord),
) {
    if record.is_done && record.stage == Stage::Check {
        // Only its counts are needed, and there may be many.
        record.failures = Vec::new();
    }
    match job.known.get_mut(&unit) {
        Some(known) if known.version == version => {}
        _ => drop(job.known.insert(unit, Known { version, record, since: now })),
    }
}

/// Whether nobody works on a unit, of which the record has not changed for as long as a lease if `is_over`.
fn is_free(me: WorkerId, record: &UnitRecord, is_over: bool) -> bool {
    match &record.lease {
        None => record.avoid != Some(me.node) || is_over,
        // This node was started anew, or has lost count of what it holds.
        Some(lease) if lease.worker.node == me.node => true,
        Some(_) => is_over,
    }
}

/// What a unit that is to be worked on in a stage says before; none if there is nothing to do.
fn next_in(stage: Stage, unit: u32, record: &UnitRecord) -> Option<UnitRecord> {
    match (record.is_done, record.stage == stage) {
        (true, true) => None,
        (true, false) if unit == 0 || record.stage > stage => None,
        (true, false) => {
            let cursor = Cursor::Start;
            Some(UnitRecord { stage, cursor, is_done: false, ..record.clone() })
        }
        (false, _) => Some(record.clone()),
    }
}
