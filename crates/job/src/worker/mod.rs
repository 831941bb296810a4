//! A worker: takes units of jobs, carries them out, and says when a job is over.

mod ask;
mod item;
mod plan;
mod poll;
mod settle;
mod unit;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use slotcast_object::VersionId;
use slotcast_units::{Span, Time};

pub use self::ask::{Answer, Ask, Effect, Input, Make, Note, TaskId};
pub use self::settle::{Totals, verdict};
use self::unit::Held;
use crate::id::{JobId, WorkerId};
use crate::mistake::Mistake;
use crate::record::{StateRecord, UnitRecord};
use crate::text::{JobText, Kind};

/// How a worker works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// How long the record of a unit has not changed when its holder counts as gone.
    pub lease: Span,
    /// After which it looks again while there is work.
    pub busy_poll: Span,
    /// After which it looks again while there is none.
    pub idle_poll: Span,
    /// After which it tries again what could not be asked; longer each time.
    pub backoff: Span,
    /// The most units that it works on at a time.
    pub units: usize,
    /// The most objects that it has under way.
    pub items: usize,
    /// The most of them that are transformed.
    pub processes: usize,
    /// Objects of a page.
    pub page: u32,
    /// How often something is tried with an object, by one after another.
    pub attempts: u32,
    /// How often the same worker asks again before an attempt counts as failed.
    pub tries: u32,
    /// Names of the first units; later ones have more.
    pub first_unit: u32,
    /// Whether it carries out commands.
    pub transforms: bool,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            lease: Span::from_secs(3),
            busy_poll: Span::from_ms(250),
            idle_poll: Span::from_secs(2),
            backoff: Span::from_ms(200),
            units: 4,
            items: 64,
            processes: 2,
            page: 128,
            attempts: 3,
            tries: 8,
            first_unit: 32,
            transforms: false,
        }
    }
}

/// What a task is about.
#[derive(Debug, Clone)]
enum About {
    Jobs,
    Text(JobId),
    State(JobId),
    /// It is looked at, to be taken perhaps.
    Unit(JobId, u32),
    /// It is to be ours, and to say this.
    Take(JobId, u32, UnitRecord),
    /// Something of a unit that is held with this token.
    OfHeld(Place, OfHeld),
    /// The job is to stand so.
    SwapState(JobId, StateRecord),
}

/// A unit that is held, and its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    job: JobId,
    unit: u32,
    token: u64,
}

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "few are kept")]
enum OfHeld {
    Swap,
    Reread,
    Page,
    /// An object of its page, and whether a process is run for it.
    Item(usize, bool),
    /// The plan makes a unit.
    Create(UnitRecord),
    /// A unit was there already when the plan would make it.
    Found,
}

/// A unit as it was read.
#[derive(Debug, Clone)]
struct Known {
    version: VersionId,
    record: UnitRecord,
    /// When it was first seen in this version, by the clock of this worker.
    since: Time,
}

#[derive(Debug, Default)]
struct Job {
    text: Option<Arc<JobText>>,
    state: Option<(VersionId, StateRecord)>,
    known: BTreeMap<u32, Known>,
    held: BTreeMap<u32, Held>,
    /// Units that are being read or taken.
    asked: BTreeSet<u32>,
    is_asked: bool,
    is_settling: bool,
}

impl Job {
    /// Whether units of it are worked on.
    fn runs(&self) -> bool {
        match (&self.text, &self.state) {
            (Some(text), Some((_, state))) => state.runs(text.check),
            _ => false,
        }
    }

    fn is_over(&self) -> bool {
        match (&self.text, &self.state) {
            (Some(text), Some((_, state))) => state.is_over(text.check),
            _ => false,
        }
    }

    fn transforms(&self) -> bool {
        matches!(self.text.as_ref().map(|text| &text.kind), Some(Kind::Transform(_)))
    }
}

/// Works on the jobs of a cluster, as one of its nodes.
///
/// It is told of answers and of time, and asks for what it needs. It can be forgotten at any moment: all that it has done
/// and that counts is in registers.
#[derive(Debug)]
pub struct Worker {
    me: WorkerId,
    rules: Rules,
    mistake: Option<Mistake>,
    jobs: BTreeMap<JobId, Job>,
    tasks: BTreeMap<TaskId, About>,
    next_task: u64,
    /// Objects under way.
    items: usize,
    /// Those of them that are transformed.
    processes: usize,
    is_polling: bool,
    poll_at: Time,
    /// A number that no two attempts share, for a mistake.
    attempts: u64,
}

impl Worker {
    /// A worker that knows of no job yet.
    pub fn new(me: WorkerId, rules: Rules) -> Worker {
        Worker {
            me,
            rules,
            mistake: None,
            jobs: BTreeMap::new(),
            tasks: BTreeMap::new(),
            next_task: 0,
            items: 0,
            processes: 0,
            is_polling: false,
            poll_at: Time::ZERO,
            attempts: 0,
        }
    }

    /// The same with a planted mistake.
    #[doc(hidden)]
    #[must_use]
    pub fn with_mistake(mut self, mistake: Option<Mistake>) -> Worker {
        self.mistake = mistake;
        self
    }

    /// How many units it works on.
    pub fn held(&self) -> usize {
        self.jobs.values().map(|job| job.held.len()).sum()
    }

    fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Something has happened. What is wanted is added to `effects`; the last of them says when to wake it.
    pub fn handle(&mut self, now: Time, input: Input, effects: &mut Vec<Effect>) {
        match input {
            Input::Wake => {}
            Input::Kick => self.poll_at = now,
            Input::Answer(task, answer) => {
                if let Some(about) = self.tasks.remove(&task) {
                    self.answered(now, about, answer, effects);
                }
            }
        }
        self.poll(now, effects);
        let places: Vec<(JobId, u32)> = self
            .jobs
            .iter()
            .flat_map(|(id, job)| job.held.keys().map(move |unit| (*id, *unit)))
            .collect();
        for (job, unit) in places {
            self.advance(now, job, unit, effects);
        }
        effects.push(Effect::WakeAt(self.wakes_at(now)));
    }

    fn wakes_at(&self, now: Time) -> Time {
        let poll = if self.is_polling { Time::NEVER } else { self.poll_at };
        let held = self.jobs.values().flat_map(|job| job.held.values());
        let held = held.map(|held| held.wakes_at(now, &self.rules)).min();
        held.unwrap_or(Time::NEVER).min(poll)
    }

    fn ask(&mut self, about: About, ask: Ask, effects: &mut Vec<Effect>) {
        let task = TaskId(self.next_task);
        self.next_task += 1;
        self.tasks.insert(task, about);
        effects.push(Effect::Ask(task, ask));
    }

    fn answered(&mut self, now: Time, about: About, answer: Answer, effects: &mut Vec<Effect>) {
        match (about, answer) {
            (About::Jobs, answer) => self.jobs_listed(now, answer, effects),
            (About::Text(id), answer) => self.text_read(id, answer, effects),
            (About::State(id), answer) => self.state_read(now, id, answer, effects),
            (About::Unit(id, unit), answer) => self.unit_read(now, (id, unit), answer, effects),
            (About::Take(id, unit, record), answer) => {
                self.taken(now, (id, unit), (record, &answer), effects);
            }
            (About::SwapState(id, state), answer) => {
                self.settled(now, id, (state, &answer), effects);
            }
            (About::OfHeld(place, what), answer) => {
                self.held_answered(now, place, (what, answer), effects);
            }
        }
    }

    fn held_mut(&mut self, place: Place) -> Option<&mut Held> {
        let held = self.jobs.get_mut(&place.job)?.held.get_mut(&place.unit)?;
        (held.record.token == place.token).then_some(held)
    }
}
