//! A unit that this worker holds: page after page, each settled in one swap with the cursor and the counts.

use alloc::vec::Vec;

use slotcast_object::VersionId;
use slotcast_units::{Span, Time};

use super::item::{ItemState, Work};
use super::{About, Answer, Ask, Effect, Note, OfHeld, Place, Rules, Worker};
use crate::id::JobId;
use crate::mistake::Mistake;
use crate::page::Page;
use crate::record::{Cursor, Range, Stage, UnitRecord};

/// A unit that is held.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) version: VersionId,
    /// As its register says.
    pub(super) record: UnitRecord,
    /// As it is to say, while that is not known.
    pub(super) pending: Option<UnitRecord>,
    /// Whether somebody has been asked, who has not answered.
    pub(super) is_swapping: bool,
    pub(super) is_paging: bool,
    /// When its record last changed, by the clock of this worker.
    pub(super) swapped: Time,
    /// Before which nothing is asked again.
    pub(super) not_before: Time,
    pub(super) backoff: u32,
    pub(super) work: Option<Work>,
    /// Of the plan: units that it has made since its record says how many.
    pub(super) planned: Option<(Cursor, u32)>,
}

/// What is next about a unit that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Wait,
    Swap,
    Page,
    Items,
    Plan,
}

impl Held {
    pub(super) fn new(now: Time, version: VersionId, record: UnitRecord) -> Held {
        Held {
            version,
            record,
            pending: None,
            is_swapping: false,
            is_paging: false,
            swapped: now,
            not_before: Time::ZERO,
            backoff: 0,
            work: None,
            planned: None,
        }
    }

    /// When its record is to change, so that others see that it is worked on.
    fn beats_at(&self, rules: &Rules) -> Time {
        self.swapped.saturating_add(Span::from_ns(rules.lease.as_ns() / 3))
    }

    pub(super) fn wakes_at(&self, now: Time, rules: &Rules) -> Time {
        let later = |at: Time| if at > now { at } else { Time::NEVER };
        let beat =
            if self.is_swapping { Time::NEVER } else { self.beats_at(rules).max(self.not_before) };
        let items = self.work.as_ref().map_or(Time::NEVER, |work| work.wakes_at(now));
        beat.min(later(self.not_before)).min(items)
    }

    /// Something could not be asked: it is tried again later, and later each time.
    pub(super) fn back_off(&mut self, now: Time, rules: &Rules) {
        self.backoff = (self.backoff + 1).min(4);
        let wait = Span::from_ns(rules.backoff.as_ns() << self.backoff);
        self.not_before = now.saturating_add(wait);
    }

    fn next(&self, now: Time, runs: bool, rules: &Rules) -> Next {
        if self.is_swapping || now < self.not_before {
            return match self.work {
                // What is under way goes on while its record changes.
                Some(_) if runs => Next::Items,
                _ => Next::Wait,
            };
        }
        if self.pending.is_some() || now >= self.beats_at(rules) {
            return Next::Swap;
        }
        match (&self.work, self.is_paging) {
            (_, true) => Next::Wait,
            (Some(_), _) => Next::Items,
            (None, _) if self.record.range == Range::Plan => Next::Plan,
            (None, _) => Next::Page,
        }
    }
}

/// Whether something of a unit is to be tried again.
fn is_open(record: &UnitRecord, attempts: u32) -> bool {
    record.failures.iter().any(|of| of.stage == record.stage && of.attempts < attempts)
}

impl Worker {
    /// Goes on with a unit that is held.
    pub(super) fn advance(&mut self, now: Time, id: JobId, unit: u32, effects: &mut Vec<Effect>) {
        let obeys = !self.makes(Mistake::IgnoresOrders);
        let rules = self.rules;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        let runs = job.runs() || !obeys;
        let stage = job.state.as_ref().map(|(_, state)| state.stage);
        let Some(held) = job.held.get_mut(&unit) else { return };
        let place = Place { job: id, unit, token: held.record.token };
        if !runs && !held.is_swapping && held.pending.is_none() {
            let is_idle = held.work.as_ref().is_none_or(|work| work.under_way() == 0);
            if is_idle && !held.is_paging {
                // What of the page is done is found done by whoever takes it next.
                held.work = None;
                held.planned = None;
                held.pending = Some(UnitRecord { lease: None, ..held.record.clone() });
            }
        }
        // Who has not heard yet that the others are at the next stage has nothing to do in this one.
        let is_late = stage.is_some_and(|stage| stage > held.record.stage && unit != 0);
        match held.next(now, runs && !is_late, &rules) {
            Next::Wait => {}
            Next::Swap => self.swap(now, place, effects),
            Next::Page => self.turn_page(now, place, effects),
            Next::Plan => self.plan(now, place, effects),
            Next::Items if runs => self.work(now, place, effects),
            Next::Items => {}
        }
    }

    /// Lets the record of a unit say what it is to say, or that it is still worked on.
    pub(super) fn swap(&mut self, now: Time, place: Place, effects: &mut Vec<Effect>) {
        let never_beats = self.makes(Mistake::NeverBeats);
        let Some(held) = self.held_mut(place) else { return };
        let mut record = match held.pending.clone() {
            Some(record) => record,
            None if never_beats => {
                held.swapped = now;
                return;
            }
            None => held.record.clone(),
        };
        if let Some(lease) = &mut record.lease {
            let before = held.record.lease.as_ref().map_or(0, |lease| lease.beat);
            lease.beat = before + 1;
        }
        held.pending = Some(record.clone());
        held.is_swapping = true;
        let version = Some(held.version);
        let about = About::OfHeld(place, OfHeld::Swap);
        self.ask(about, Ask::SwapUnit(place.job, place.unit, version, record), effects);
    }

    pub(super) fn held_answered(
        &mut self,
        now: Time,
        place: Place,
        (what, answer): (OfHeld, Answer),
        effects: &mut Vec<Effect>,
    ) {
        if let OfHeld::Item(index, is_process) = what {
            self.items -= 1;
            self.processes -= usize::from(is_process);
            return self.item_answered(now, (place, index), answer, effects);
        }
        if self.held_mut(place).is_none() {
            return;
        }
        match (what, answer) {
            (OfHeld::Swap, Answer::Swapped(version)) => self.swapped(now, place, version, effects),
            (OfHeld::Swap, _) => {
                // Lost, or not known: what the register says now tells.
                let ask = Ask::Unit(place.job, place.unit);
                self.ask(About::OfHeld(place, OfHeld::Reread), ask, effects);
            }
            (OfHeld::Reread, answer) => self.reread(now, place, answer, effects),
            (OfHeld::Page, Answer::Page(page)) if place.unit == 0 => {
                self.planned_page(place, page, effects);
            }
            (OfHeld::Page, Answer::Page(page)) => self.paged(now, place, page, effects),
            (OfHeld::Page, answer) => {
                let rules = self.rules;
                if let Some(held) = self.held_mut(place) {
                    held.is_paging = false;
                    held.back_off(now, &rules);
                }
                if let Answer::Refused(reason) = answer {
                    self.fail(place.job, reason, effects);
                }
            }
            (OfHeld::Create(record), answer) => {
                self.created(now, place, (record, answer), effects);
            }
            (OfHeld::Found, answer) => self.found(now, place, answer),
            (OfHeld::Item(..), _) => {}
        }
    }

    /// The record says what it was to say.
    fn swapped(&mut self, now: Time, place: Place, version: VersionId, effects: &mut Vec<Effect>) {
        let Some(held) = self.held_mut(place) else { return };
        held.is_swapping = false;
        held.backoff = 0;
        held.swapped = now;
        held.version = version;
        if let Some(record) = held.pending.take() {
            held.record = record;
        }
        let record = held.record.clone();
        if record.lease.is_none() {
            let Some(job) = self.jobs.get_mut(&place.job) else { return };
            job.held.remove(&place.unit);
            super::poll::observe(job, now, place.unit, (version, record));
            self.look_at_units(now, place.job, effects);
        } else if place.unit == 0 {
            let Some(job) = self.jobs.get_mut(&place.job) else { return };
            super::poll::observe(job, now, 0, (version, record));
            self.poll_at = now;
        }
    }

    /// What a register says after a swap of which it is not known what became.
    fn reread(&mut self, now: Time, place: Place, answer: Answer, effects: &mut Vec<Effect>) {
        let (me, rules) = (self.me, self.rules);
        let trusts = self.makes(Mistake::IgnoresTokens);
        let Some(held) = self.held_mut(place) else { return };
        match answer {
            Answer::Unit(Some((version, record))) => {
                if held.pending.as_ref() == Some(&record) {
                    return self.swapped(now, place, version, effects);
                }
                let is_ours = record.token == place.token
                    && record.lease.as_ref().is_some_and(|lease| lease.worker == me);
                if is_ours || trusts {
                    // It was not carried out yet. If it still is, this one is not.
                    held.is_swapping = false;
                    held.version = version;
                    held.back_off(now, &rules);
                    return;
                }
                // Somebody else works on it: what is under way here comes to nothing that counts.
                let Some(job) = self.jobs.get_mut(&place.job) else { return };
                job.held.remove(&place.unit);
                super::poll::observe(job, now, place.unit, (version, record));
                effects.push(Effect::Note(Note::Fenced(place.job, place.unit)));
                self.poll_at = now;
            }
            Answer::Unit(None) => {
                // The job was removed.
                if let Some(job) = self.jobs.get_mut(&place.job) {
                    job.held.remove(&place.unit);
                }
            }
            _ => {
                held.is_swapping = false;
                held.back_off(now, &rules);
            }
        }
    }

    /// Asks for the next page, or for what has failed; ends the unit where there is neither.
    fn turn_page(&mut self, now: Time, place: Place, effects: &mut Vec<Effect>) {
        let (me, rules) = (self.me, self.rules);
        let retries = !self.makes(Mistake::NeverRetries);
        let Some(held) = self.held_mut(place) else { return };
        let record = &held.record;
        if record.cursor != Cursor::End {
            held.is_paging = true;
            let (range, cursor) = (held.record.range.clone(), held.record.cursor.clone());
            let ask = Ask::Page(place.job, range, cursor, rules.page);
            return self.ask(About::OfHeld(place, OfHeld::Page), ask, effects);
        }
        let open: Vec<_> = record
            .failures
            .iter()
            .filter(|of| of.stage == record.stage && of.attempts < rules.attempts && retries)
            .collect();
        let mut after = record.clone();
        after.lease = None;
        if open.is_empty() {
            after.is_done = true;
        } else if open.iter().all(|of| of.token == place.token) {
            // They failed here, just now: another one is to try them.
            after.avoid = Some(me.node);
        } else {
            let names = open.iter().filter(|of| of.token != place.token);
            let names = names.map(|of| of.name.clone()).take(rules.page as usize).collect();
            held.is_paging = true;
            let ask = Ask::Find(place.job, names);
            return self.ask(About::OfHeld(place, OfHeld::Page), ask, effects);
        }
        held.pending = Some(after);
        self.swap(now, place, effects);
    }

    fn paged(&mut self, now: Time, place: Place, page: Page, effects: &mut Vec<Effect>) {
        let early = self.makes(Mistake::AdvancesEarly);
        let Some(held) = self.held_mut(place) else { return };
        held.is_paging = false;
        held.backoff = 0;
        let is_retry = held.record.cursor == Cursor::End;
        if early && !is_retry {
            let mut record = held.record.clone();
            record.cursor = page.cursor.clone();
            held.pending = Some(record);
            self.swap(now, place, effects);
        }
        let Some(held) = self.held_mut(place) else { return };
        held.work = Some(Work::new(page, is_retry));
        self.work(now, place, effects);
    }

    /// All of a page is settled: its counts, its failures and the cursor change together.
    pub(super) fn fold(&mut self, now: Time, place: Place, effects: &mut Vec<Effect>) {
        let (me, attempts) = (self.me, self.rules.attempts);
        let swallows = self.makes(Mistake::SwallowsFailures);
        let ends = self.makes(Mistake::FailureEndsUnit);
        let Some(held) = self.held_mut(place) else { return };
        let Some(work) = held.work.take() else { return };
        let mut record = held.pending.clone().unwrap_or_else(|| held.record.clone());
        let (Work { page, states, is_retry, .. }, mut has_failed) = (work, false);
        for (item, state) in page.items.into_iter().zip(states) {
            let ItemState::Settled(settled) = state else { continue };
            has_failed |= settled.failed.is_some();
            let by = super::item::By { worker: me, token: place.token, attempts, swallows };
            super::item::count(&mut record, (item, settled), by, is_retry);
        }
        if !is_retry {
            record.cursor = page.cursor;
        }
        if ends && has_failed {
            record.cursor = Cursor::End;
        }
        if record.cursor == Cursor::End && !is_open(&record, attempts) {
            record.is_done = true;
            record.lease = None;
        }
        held.pending = Some(record);
        self.swap(now, place, effects);
    }

    /// Whether the stage of a unit that is held is that of comparing.
    pub(super) fn checks(&mut self, place: Place) -> bool {
        self.held_mut(place).is_some_and(|held| held.record.stage == Stage::Check)
    }
}
