//! When a job is finished, verified, or has failed.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_object::VersionId;
use slotcast_units::Time;

use super::{About, Answer, Ask, Effect, Job, Note, Worker};
use crate::id::JobId;
use crate::mistake::Mistake;
use crate::record::{Counts, Stage, StateRecord, Status, UnitRecord};
use crate::text::{JobText, Kind};

/// All units of a job together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// What was counted while they were worked on.
    pub work: Counts,
    /// What was counted while they were compared.
    pub check: Counts,
    /// Units that are planned.
    pub units: u32,
    /// Those of them whose work is over.
    pub worked: u32,
    /// Those that are compared.
    pub checked: u32,
    /// Whether all units are planned.
    pub is_planned: bool,
}

impl Totals {
    /// Adds a unit.
    pub fn add(&mut self, unit: u32, record: &UnitRecord) {
        if unit == 0 {
            self.units = record.units;
            self.is_planned = record.is_done;
            return;
        }
        self.work = self.work.plus(record.work);
        self.check = self.check.plus(record.check);
        self.worked += u32::from(record.is_done_in(Stage::Work));
        self.checked += u32::from(record.is_done_in(Stage::Check));
    }
}

/// What becomes of a job all of whose units are over in its stage; `work` and `check` are counted by all of them.
pub fn verdict(text: &JobText, stage: Stage, totals: &Totals) -> StateRecord {
    let Totals { work, check, .. } = totals;
    let state = |status, reason: Option<String>| {
        let stage = if text.check { Stage::Check } else { stage };
        StateRecord { status, stage, reason }
    };
    let uneven = |counts: &Counts| {
        format!(
            "{} objects were selected, and {} outputs, {} kept and {} failed counted",
            counts.objects, counts.outputs, counts.kept, counts.failed
        )
    };
    let failed =
        |counts: &Counts| format!("{} of {} objects failed", counts.failed, counts.objects);
    if stage == Stage::Work {
        return match text.check {
            _ if !work.are_even() => state(Status::Failed, Some(uneven(work))),
            false if work.failed > 0 => state(Status::Failed, Some(failed(work))),
            _ => state(Status::Finished, None),
        };
    }
    if !check.are_even() {
        return state(Status::Failed, Some(uneven(check)));
    }
    if check.failed > 0 {
        return state(Status::Failed, Some(failed(check)));
    }
    match text.kind {
        Kind::Delete if check.objects > 0 => {
            state(Status::Failed, Some(format!("{} objects are left", check.objects)))
        }
        Kind::Delete if work.failed > 0 => state(Status::Failed, Some(failed(work))),
        Kind::Verify if check.digest != work.digest || check.objects != work.objects => {
            let reason = format!(
                "what is selected was changed: {} objects were read, and {} are there",
                work.objects, check.objects
            );
            state(Status::Failed, Some(reason))
        }
        Kind::Verify if work.failed > 0 => state(Status::Failed, Some(failed(work))),
        Kind::Copy if check.kept == 0 && check.output_bytes != check.bytes => {
            let reason = format!(
                "{} bytes were selected, and the outputs have {}",
                check.bytes, check.output_bytes
            );
            state(Status::Failed, Some(reason))
        }
        _ => state(Status::Verified, None),
    }
}

/// The counts of all units, if all are known to be over in this stage.
fn totals(job: &Job, stage: Stage, forgets: bool) -> Option<Totals> {
    let plan = job.known.get(&0).filter(|plan| plan.record.is_done || forgets)?;
    let mut totals = Totals::default();
    totals.add(0, &plan.record);
    for unit in 1..=plan.record.units {
        match job.known.get(&unit) {
            Some(known) if known.record.is_done_in(stage) => totals.add(unit, &known.record),
            _ if forgets => {}
            _ => return None,
        }
    }
    Some(totals)
}

impl Worker {
    /// Lets a job become what follows, if all of its units are over.
    pub(super) fn settle(&mut self, id: JobId, effects: &mut Vec<Effect>) {
        let forgets = self.makes(Mistake::ForgetsUnits);
        let unseen = self.makes(Mistake::VerifiesUnseen);
        let Some(job) = self.jobs.get(&id).filter(|job| job.runs()) else { return };
        let (Some(text), Some((version, state))) = (&job.text, &job.state) else { return };
        if job.is_settling {
            return;
        }
        let Some(totals) = totals(job, state.stage, forgets) else { return };
        let mut next = verdict(text, state.stage, &totals);
        if unseen && next.status == Status::Finished {
            next.status = Status::Verified;
        }
        self.begin_settling(id, *version, next, effects);
    }

    /// What is selected cannot be had any more, whoever asks: the job has failed.
    pub(super) fn fail(&mut self, id: JobId, reason: String, effects: &mut Vec<Effect>) {
        let Some(job) = self.jobs.get(&id).filter(|job| job.runs()) else { return };
        let Some((version, state)) = job.state.as_ref().filter(|_| !job.is_settling) else {
            return;
        };
        let next = StateRecord { status: Status::Failed, stage: state.stage, reason: Some(reason) };
        self.begin_settling(id, *version, next, effects);
    }

    /// Asks that the state of a job, which has this version, becomes `next`; once at a time.
    fn begin_settling(
        &mut self,
        id: JobId,
        version: VersionId,
        next: StateRecord,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_settling = true;
        }
        let about = About::SwapState(id, next.clone());
        self.ask(about, Ask::SwapState(id, Some(version), next), effects);
    }

    pub(super) fn settled(
        &mut self,
        now: Time,
        id: JobId,
        (state, answer): (StateRecord, &Answer),
        effects: &mut Vec<Effect>,
    ) {
        self.poll_at = now;
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.is_settling = false;
        if let Answer::Swapped(version) = answer {
            effects.push(Effect::Note(Note::Became(id, state.status)));
            job.state = Some((*version, state));
        }
    }
}
