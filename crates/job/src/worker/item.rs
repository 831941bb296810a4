//! One object of a page: what is asked about it, and what is counted.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use slotcast_object::{Condition, RequestKey, VersionId};
use slotcast_units::{Span, Time};

use super::{About, Answer, Ask, Effect, Make, OfHeld, Place, Worker};
use crate::id::WorkerId;
use crate::mistake::Mistake;
use crate::output::{self, Decision, Seen};
use crate::page::{Item, Page};
use crate::record::{Counts, Failure, MAX_FAILURES, MAX_REASON, Stage, UnitRecord};
use crate::text::{JobText, Kind};

/// How far an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemState {
    /// Nothing is asked, and nothing is before then.
    Waiting(Time, Tries),
    /// The name of its output is being read.
    Looking(Tries),
    /// It is being carried out.
    Making(Tries),
    Settled(Settled),
}

/// What was tried with an object so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tries {
    /// How often nothing was heard.
    failed: u32,
    /// Whether it was carried out after its output was missed.
    redone: bool,
    /// Whether it is known what the name of its output said.
    looked: bool,
}

/// What came of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Settled {
    /// Bytes of its output, if it has one.
    pub(super) output: Option<u64>,
    pub(super) kept: bool,
    /// Why it failed, and whether for good.
    pub(super) failed: Option<(String, bool)>,
    /// It counts for nothing.
    pub(super) passed: bool,
}

impl Settled {
    fn made(bytes: u64) -> Settled {
        Settled { output: Some(bytes), ..Settled::default() }
    }

    fn failed(reason: impl Into<String>) -> Settled {
        Settled { failed: Some((reason.into(), false)), ..Settled::default() }
    }

    fn failed_for_good(reason: &str) -> Settled {
        Settled { failed: Some((reason.to_string(), true)), ..Settled::default() }
    }

    fn passed() -> Settled {
        Settled { passed: true, ..Settled::default() }
    }
}

/// A page that is worked on.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) page: Page,
    pub(super) states: Vec<ItemState>,
    /// It is of what has failed before.
    pub(super) is_retry: bool,
}

impl Work {
    pub(super) fn new(page: Page, is_retry: bool) -> Work {
        let states = vec![ItemState::Waiting(Time::ZERO, Tries::default()); page.items.len()];
        Work { page, states, is_retry }
    }

    pub(super) fn under_way(&self) -> usize {
        let is_so = |of: &&ItemState| matches!(of, ItemState::Looking(_) | ItemState::Making(_));
        self.states.iter().filter(is_so).count()
    }

    /// When something is to be asked again.
    pub(super) fn wakes_at(&self, now: Time) -> Time {
        let waits = self.states.iter().filter_map(|state| match state {
            ItemState::Waiting(at, _) if *at > now => Some(*at),
            _ => None,
        });
        waits.min().unwrap_or(Time::NEVER)
    }

    /// The first object from this place on that may begin.
    fn next(&self, now: Time, from: usize) -> Option<usize> {
        let rest = self.states.iter().enumerate().skip(from);
        rest.filter(|(_, state)| matches!(state, ItemState::Waiting(at, _) if *at <= now))
            .map(|(index, _)| index)
            .next()
    }

    fn is_settled(&self) -> bool {
        self.states.iter().all(|state| matches!(state, ItemState::Settled(_)))
    }
}

/// Who counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct By {
    pub(super) worker: WorkerId,
    pub(super) token: u64,
    pub(super) attempts: u32,
    pub(super) swallows: bool,
}

/// Counts what came of an object; `again` if it has failed before, and is counted as that.
pub(super) fn count(
    record: &mut UnitRecord,
    (item, settled): (Item, Settled),
    by: By,
    again: bool,
) {
    let stage = record.stage;
    let is_it = |of: &Failure| of.name == item.name && of.stage == stage;
    let before = record.failures.iter().position(is_it).filter(|_| again);
    let before = before.map(|place| record.failures.remove(place));
    let Settled { output, kept, failed, passed } = settled;
    let size = item.source.map_or(0, |source| source.size);
    let counts = record.counts();
    if let Some(before) = &before {
        (counts.objects, counts.failed) = (counts.objects - 1, counts.failed - 1);
        counts.bytes -= before.size;
    }
    if passed {
        return;
    }
    let digest = match (item.source, before.is_some()) {
        (Some(source), false) => output::digest(&item.name, source.version),
        _ => 0,
    };
    let failed = failed.filter(|_| !by.swallows);
    let is_made = output.is_some() || (failed.is_none() && !kept);
    *counts = counts.plus(Counts {
        objects: 1,
        bytes: size,
        outputs: u64::from(is_made),
        output_bytes: output.unwrap_or(0),
        kept: u64::from(kept),
        failed: u64::from(failed.is_some()),
        digest,
    });
    let Some((mut reason, for_good)) = failed else { return };
    let end = (0..=reason.len().min(MAX_REASON)).rev().find(|end| reason.is_char_boundary(*end));
    reason.truncate(end.unwrap_or(0));
    let so_far = before.map_or(0, |before| before.attempts);
    let attempts = if for_good { by.attempts } else { so_far + 1 };
    let (node, token) = (by.worker.node, by.token);
    let failure = Failure { name: item.name, size, reason, attempts, node, token, stage };
    let room = |of: &Failure| 160 + 2 * of.name.len() + 2 * of.reason.len();
    let used: usize = record.failures.iter().map(room).sum();
    if used + room(&failure) <= MAX_FAILURES {
        record.failures.push(failure);
    }
}

impl Worker {
    /// Begins with objects of the page of a unit, as many as there is room for, and ends the page when all are settled.
    pub(super) fn work(&mut self, now: Time, place: Place, effects: &mut Vec<Effect>) {
        let mut from = 0;
        loop {
            let transforms = self.jobs.get(&place.job).is_some_and(super::Job::transforms);
            // Who looks at an output of a command may run it next.
            let is_crowded = transforms && self.processes >= self.rules.processes;
            let is_full = self.items >= self.rules.items || (is_crowded && !self.checks(place));
            let Some(held) = self.held_mut(place) else { return };
            let Some(work) = &mut held.work else { return };
            let next = work.next(now, from).filter(|_| !is_full);
            let Some(index) = next else { break };
            from = index + 1;
            self.begin(place, index, effects);
        }
        let Some(held) = self.held_mut(place) else { return };
        if held.work.as_ref().is_some_and(Work::is_settled) && !held.is_swapping {
            self.fold(now, place, effects);
        }
    }

    fn state_mut(&mut self, place: Place, index: usize) -> Option<&mut ItemState> {
        self.held_mut(place)?.work.as_mut()?.states.get_mut(index)
    }

    /// The job, an object of a page, how far it is, and whether that was counted as failed for good before.
    fn about(&mut self, place: Place, index: usize) -> Option<(Arc<JobText>, Item, Tries, bool)> {
        let text = self.jobs.get(&place.job)?.text.clone()?;
        let held = self.held_mut(place)?;
        let work = held.work.as_ref()?;
        let item = work.page.items.get(index)?.clone();
        let tries = match work.states.get(index)? {
            ItemState::Waiting(_, tries) | ItemState::Looking(tries) | ItemState::Making(tries) => {
                *tries
            }
            ItemState::Settled(_) => return None,
        };
        let was = |of: &crate::record::Failure| of.name == item.name && of.stage == Stage::Work;
        let has_failed = held.record.failures.iter().any(was);
        Some((text, item, tries, has_failed))
    }

    fn settle_item(&mut self, place: Place, index: usize, settled: Settled) {
        if let Some(state) = self.state_mut(place, index) {
            *state = ItemState::Settled(settled);
        }
    }

    /// Asks the first question about an object, if there is any.
    fn begin(&mut self, place: Place, index: usize, effects: &mut Vec<Effect>) {
        let Some((text, item, tries, has_failed)) = self.about(place, index) else { return };
        let checks = self.checks(place);
        let is_retry = self
            .held_mut(place)
            .is_some_and(|held| held.work.as_ref().is_some_and(|work| work.is_retry));
        let Some(source) = item.source else {
            let settled = match (&text.kind, is_retry || (checks && has_failed)) {
                // What was listed is there no more: it is not meant any more.
                (_, true) if text.lists() => Settled::passed(),
                (Kind::Delete, _) => Settled::passed(),
                _ => Settled::failed_for_good("there is no such object"),
            };
            return self.settle_item(place, index, settled);
        };
        if checks && has_failed && text.kind.has_outputs() {
            return self.settle_item(place, index, Settled::failed_for_good("its work has failed"));
        }
        match (&text.kind, checks) {
            (Kind::Verify, true) => self.settle_item(place, index, Settled::made(source.size)),
            (Kind::Verify, false) => self.make(place, (index, tries), Condition::Always, effects),
            (Kind::Delete, false) => {
                let condition = Condition::Is(source.version);
                self.make(place, (index, tries), condition, effects);
            }
            _ if checks && self.makes(Mistake::ChecksNothing) => {
                self.settle_item(place, index, Settled::made(source.size));
            }
            _ if !checks && self.makes(Mistake::NeverLooks) => {
                self.make(place, (index, tries), Condition::Always, effects);
            }
            // Most names of outputs are free; of what is not is seen why.
            (Kind::Copy, false) => self.make(place, (index, tries), Condition::Absent, effects),
            _ => self.look(place, (index, tries), effects),
        }
    }

    /// The name of what is made of an object, and the key of the request that makes it.
    fn output_of(&mut self, place: Place, text: &JobText, item: &Item) -> (String, RequestKey) {
        let name = text.output(&item.name).unwrap_or_else(|| item.name.clone());
        let none = VersionId { change: 0, salt: 0 };
        let version = item.source.map_or(none, |source| source.version);
        let mut key = output::key(place.job, text, (&name, version));
        if self.makes(Mistake::KeysAreNew) {
            self.attempts += 1;
            key.0 = key.0.wrapping_add(u128::from(self.attempts ^ self.me.incarnation << 20));
        }
        (name, key)
    }

    fn look(&mut self, place: Place, (index, tries): (usize, Tries), effects: &mut Vec<Effect>) {
        let Some((text, item, ..)) = self.about(place, index) else { return };
        let (name, key) = self.output_of(place, &text, &item);
        let Some(state) = self.state_mut(place, index) else { return };
        *state = ItemState::Looking(tries);
        let is_process = matches!(text.kind, Kind::Transform(_)) && !self.checks(place);
        self.items += 1;
        self.processes += usize::from(is_process);
        let about = About::OfHeld(place, OfHeld::Item(index, is_process));
        self.ask(about, Ask::Look(place.job, name, key), effects);
    }

    fn make(
        &mut self,
        place: Place,
        (index, tries): (usize, Tries),
        condition: Condition,
        effects: &mut Vec<Effect>,
    ) {
        let Some((text, item, ..)) = self.about(place, index) else { return };
        let (name, key) = self.output_of(place, &text, &item);
        let condition = match self.makes(Mistake::PutsAlways) {
            true => Condition::Always,
            false => condition,
        };
        let Some(state) = self.state_mut(place, index) else { return };
        *state = ItemState::Making(tries);
        let is_process = matches!(text.kind, Kind::Transform(_));
        self.items += 1;
        self.processes += usize::from(is_process);
        let about = About::OfHeld(place, OfHeld::Item(index, is_process));
        let ask = Ask::Make(place.job, item, Make { name, key, condition });
        self.ask(about, ask, effects);
    }

    pub(super) fn item_answered(
        &mut self,
        now: Time,
        (place, index): (Place, usize),
        answer: Answer,
        effects: &mut Vec<Effect>,
    ) {
        let Some((text, item, tries, _)) = self.about(place, index) else { return };
        match answer {
            Answer::Looked(seen) => {
                self.looked(place, (index, tries), (&text, &item, seen), effects);
            }
            Answer::Made(_) if self.checks(place) => {
                // It counts when it was seen.
                self.look(place, (index, tries), effects);
            }
            Answer::Made(bytes) => self.settle_item(place, index, Settled::made(bytes)),
            Answer::ConditionFailed if text.kind == Kind::Copy && !tries.looked => {
                self.look(place, (index, tries), effects);
            }
            Answer::ConditionFailed => {
                let reason = "somebody else has changed it meanwhile";
                self.settle_item(place, index, Settled::failed(reason));
            }
            Answer::Gone => {
                let reason = "its source was changed meanwhile";
                self.settle_item(place, index, Settled::failed(reason));
            }
            Answer::Refused(reason) => self.settle_item(place, index, Settled::failed(reason)),
            answer => {
                let reason = match answer {
                    Answer::Failed(reason) => reason,
                    _ => "the answer is to another question".into(),
                };
                self.failed_for_now(now, place, (index, tries), reason);
            }
        }
    }

    /// Nothing was heard: it is asked again, later each time, until that counts as a failure.
    fn failed_for_now(
        &mut self,
        now: Time,
        place: Place,
        (index, tries): (usize, Tries),
        reason: String,
    ) {
        let rules = self.rules;
        let tries = Tries { failed: tries.failed + 1, ..tries };
        if tries.failed >= rules.tries {
            return self.settle_item(place, index, Settled::failed(reason));
        }
        let wait = Span::from_ns(rules.backoff.as_ns() << tries.failed.min(5));
        if let Some(state) = self.state_mut(place, index) {
            *state = ItemState::Waiting(now.saturating_add(wait), tries);
        }
    }

    fn looked(
        &mut self,
        place: Place,
        (index, tries): (usize, Tries),
        (text, item, seen): (&JobText, &Item, Seen),
        effects: &mut Vec<Effect>,
    ) {
        let checks = self.checks(place);
        if text.kind == Kind::Delete {
            let settled = match seen {
                Seen { is_made: true, .. } => Settled::passed(),
                Seen { latest: None, .. } => Settled::passed(),
                _ => Settled::failed_for_good("it is there: it was put, or put again, meanwhile"),
            };
            return self.settle_item(place, index, settled);
        }
        let size = match text.kind {
            // The output may have been replaced since: what is counted is what was made.
            Kind::Copy => item.source.map_or(0, |source| source.size),
            _ => seen.size,
        };
        match output::decide(seen, text.existing) {
            Decision::Made => self.settle_item(place, index, Settled::made(size)),
            Decision::Keep => {
                let settled = Settled { kept: true, ..Settled::default() };
                self.settle_item(place, index, settled);
            }
            Decision::Make(_) if checks && tries.redone => {
                self.settle_item(place, index, Settled::failed("its output is not there"));
            }
            Decision::Make(condition) => {
                // Of a source that has changed since there is no output yet.
                let tries = Tries { redone: checks, looked: true, ..tries };
                self.make(place, (index, tries), condition, effects);
            }
        }
    }
}
