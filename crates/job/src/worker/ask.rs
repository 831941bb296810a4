//! What a worker asks of its host, and hears.

use alloc::string::String;
use alloc::vec::Vec;

use slotcast_object::{Condition, RequestKey, VersionId};
use slotcast_units::Time;

use crate::id::JobId;
use crate::output::Seen;
use crate::page::{Item, Page};
use crate::record::{Cursor, Range, StateRecord, Status, UnitRecord};
use crate::text::JobText;

/// The number of a question, for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub u64);

/// Something that happens to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "none is kept for long")]
pub enum Input {
    /// Time has passed.
    Wake,
    /// A job was started or changed: the worker is to look now.
    Kick,
    /// An answer.
    Answer(TaskId, Answer),
}

/// What a worker wants.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "none is kept for long")]
pub enum Effect {
    /// An answer to this, some time.
    Ask(TaskId, Ask),
    /// To be told what time it is then, or before.
    WakeAt(Time),
    /// To have this logged.
    Note(Note),
}

/// What people may want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// It works on a unit from now on.
    Taken(JobId, u32),
    /// Somebody else works on its unit.
    Fenced(JobId, u32),
    /// It has seen that a job has become this, and has said so.
    Became(JobId, Status),
}

/// A question of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// Which jobs there are.
    Jobs,
    /// What the text of a job says.
    Text(JobId),
    /// How a job stands.
    State(JobId),
    /// How a unit stands.
    Unit(JobId, u32),
    /// Let the job stand so, if its register has this version.
    SwapState(JobId, Option<VersionId>, StateRecord),
    /// Let the unit stand so, if its register has this version, or none.
    SwapUnit(JobId, u32, Option<VersionId>, UnitRecord),
    /// What of a range is next after the cursor, about so much of it.
    Page(JobId, Range, Cursor, u32),
    /// What these names stand for.
    Find(JobId, Vec<String>),
    /// What a name says: of the destination, or of the source of what is deleted.
    Look(JobId, String, RequestKey),
    /// Carry the job out on an object.
    Make(JobId, Item, Make),
}

/// How a job is carried out on an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Make {
    /// The name of the output; of what is deleted or read, its own.
    pub name: String,
    /// The same in each attempt, by whomever.
    pub key: RequestKey,
    /// What must hold of the name.
    pub condition: Condition,
}

/// What a host answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Jobs, in order.
    Jobs(Vec<JobId>),
    /// The text of a job; none if it cannot be read, or is gone.
    Text(Option<JobText>),
    /// How a job stands, with the version of its register.
    State(Option<(VersionId, StateRecord)>),
    /// How a unit stands.
    Unit(Option<(VersionId, UnitRecord)>),
    /// The register says it, in this version.
    Swapped(VersionId),
    /// The register has another version.
    Lost,
    /// A page.
    Page(Page),
    /// A name says this.
    Looked(Seen),
    /// It is carried out; so many bytes came of it.
    Made(u64),
    /// It was not: the condition does not hold.
    ConditionFailed,
    /// It was not: the name does not stand for the source version any more.
    Gone,
    /// It was not, and this is what is wrong with the object; or with all that is selected, where a page was asked for: then the
    /// job has failed.
    Refused(String),
    /// It could not be asked or carried out now, or whether it was is not known.
    Failed(String),
}
