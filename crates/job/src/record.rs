//! What is kept of a job beside its text: how it stands, and its units of work.
//!
//! Records are JSON, and a record that cannot be read in full is left alone: only nodes that know all that it says change it.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::id::WorkerId;

/// The most bytes that the failures of a unit take in its record. Others are counted, and not tried again.
pub const MAX_FAILURES: usize = 10 << 10;

/// The most bytes of one reason.
pub const MAX_REASON: usize = 600;

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Units of it are worked on.
    Running,
    /// None is, until it is resumed.
    Paused,
    /// All work is done. It is being compared, unless that is not wanted.
    Finished,
    /// All that is selected was compared with what was made of it.
    Verified,
    /// Something could not be done, or does not fit.
    Failed,
    /// Somebody has ended it.
    Aborted,
}

impl Status {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Paused => "paused",
            Status::Finished => "finished",
            Status::Verified => "verified",
            Status::Failed => "failed",
            Status::Aborted => "aborted",
        }
    }

    /// Whether nothing comes after it.
    pub fn is_final(self) -> bool {
        matches!(self, Status::Verified | Status::Failed | Status::Aborted)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is done with units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Their work.
    Work,
    /// It is counted and compared.
    Check,
}

/// How a job stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateRecord {
    /// What it does.
    pub status: Status,
    /// What is done with its units.
    pub stage: Stage,
    /// Why it has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What somebody wants of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// No unit is worked on until it is resumed.
    Pause,
    /// It goes on.
    Resume,
    /// It ends.
    Abort,
}

impl StateRecord {
    /// That of a job that begins.
    pub fn new() -> StateRecord {
        StateRecord { status: Status::Running, stage: Stage::Work, reason: None }
    }

    /// Whether units of it are worked on, of a job that is compared at the end if `check`.
    pub fn runs(&self, check: bool) -> bool {
        match self.status {
            Status::Running => true,
            Status::Finished => check,
            _ => false,
        }
    }

    /// Whether nothing becomes of it any more.
    pub fn is_over(&self, check: bool) -> bool {
        self.status.is_final() || (self.status == Status::Finished && !check)
    }

    /// How it stands after an order; none if that makes no difference.
    ///
    /// # Errors
    /// If it is over: then this is how.
    pub fn ordered(&self, order: Order, check: bool) -> Result<Option<StateRecord>, Status> {
        if self.is_over(check) {
            let is_so = order == Order::Abort && self.status == Status::Aborted;
            return if is_so { Ok(None) } else { Err(self.status) };
        }
        let status = match (order, self.stage) {
            (Order::Pause, _) => Status::Paused,
            (Order::Abort, _) => Status::Aborted,
            (Order::Resume, _) if self.status != Status::Paused => self.status,
            (Order::Resume, Stage::Work) => Status::Running,
            (Order::Resume, Stage::Check) => Status::Finished,
        };
        Ok((status != self.status).then(|| StateRecord { status, ..self.clone() }))
    }
}

impl Default for StateRecord {
    fn default() -> StateRecord {
        StateRecord::new()
    }
}

/// What a unit is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Range {
    /// The other units are to be made.
    Plan,
    /// Names after the first one, up to and with the second one.
    Names {
        /// Not this name, and none before it; from the first one where there is none.
        after: Option<String>,
        /// And none after this; to the last one where there is none.
        upto: Option<String>,
    },
    /// Names that the template counts, from the first to before the second one.
    Numbers {
        /// The first one.
        from: u64,
        /// The one after the last.
        end: u64,
    },
    /// A part of the list.
    List(u32),
}

/// How far a unit is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cursor {
    /// Nothing is done.
    Start,
    /// All is done up to and with this name.
    After(String),
    /// So many are done.
    Count(u64),
    /// All is done, but what has failed and is to be tried again.
    End,
}

/// Who works on a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The node, from its start to its end.
    pub worker: WorkerId,
    /// Goes up while it works: so that others see that it does.
    pub beat: u64,
}

/// What was counted: all that is counted of sources was listed or read there, and all of outputs where they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Objects that are selected.
    pub objects: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Outputs, or what was deleted or read.
    pub outputs: u64,
    /// Bytes of outputs.
    pub output_bytes: u64,
    /// Objects that stay where outputs would be.
    pub kept: u64,
    /// Objects with which it failed.
    pub failed: u64,
    /// A sum over the selected names and versions, in whatever order.
    pub digest: u64,
}

impl Counts {
    /// Whether each object has become something.
    pub fn are_even(&self) -> bool {
        self.objects == self.outputs + self.kept + self.failed
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Counts) -> Counts {
        Counts {
            objects: self.objects + other.objects,
            bytes: self.bytes + other.bytes,
            outputs: self.outputs + other.outputs,
            output_bytes: self.output_bytes + other.output_bytes,
            kept: self.kept + other.kept,
            failed: self.failed + other.failed,
            digest: self.digest.wrapping_add(other.digest),
        }
    }
}

/// An object with which something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its name.
    pub name: String,
    /// Its bytes, as they were counted.
    pub size: u64,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Where it was tried last.
    pub node: u32,
    /// By whom: the token of the unit then.
    pub token: u64,
    /// What was tried.
    pub stage: Stage,
}

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitRecord {
    /// What it is about. It never changes.
    pub range: Range,
    /// What is done with it.
    pub stage: Stage,
    /// How far that is.
    pub cursor: Cursor,
    /// Whether that is over.
    pub is_done: bool,
    /// Who does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// Goes up each time that it is taken: the fencing token.
    pub token: u64,
    /// A node that has failed with something of it, and is to leave that to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avoid: Option<u32>,
    /// What was counted while it was worked on.
    pub work: Counts,
    /// What was counted while it was compared.
    pub check: Counts,
    /// What has failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
    /// Of the plan: how many units it has made.
    #[serde(default)]
    pub units: u32,
}

impl UnitRecord {
    /// A unit that nobody has worked on.
    pub fn new(range: Range) -> UnitRecord {
        UnitRecord {
            range,
            stage: Stage::Work,
            cursor: Cursor::Start,
            is_done: false,
            lease: None,
            token: 0,
            avoid: None,
            work: Counts::default(),
            check: Counts::default(),
            failures: Vec::new(),
            units: 0,
        }
    }

    /// Whether this stage of it is over.
    pub fn is_done_in(&self, stage: Stage) -> bool {
        self.stage > stage || (self.stage == stage && self.is_done)
    }

    /// What was counted in the stage that it is in.
    pub(crate) fn counts(&mut self) -> &mut Counts {
        match self.stage {
            Stage::Work => &mut self.work,
            Stage::Check => &mut self.check,
        }
    }
}

/// As a record is kept.
pub fn write<T: Serialize>(record: &T) -> String {
    serde_json::to_string(record).unwrap_or_default()
}

/// The record that is kept so; none if it cannot be read in full.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_obeyed_until_a_job_is_over() {
        let running = StateRecord::new();
        let paused = running.ordered(Order::Pause, true).expect("it runs").expect("a change");
        assert_eq!(paused.status, Status::Paused);
        assert_eq!(paused.ordered(Order::Pause, true), Ok(None));
        assert_eq!(paused.ordered(Order::Resume, true), Ok(Some(running.clone())));
        assert_eq!(running.ordered(Order::Resume, true), Ok(None));
        let checking = StateRecord { status: Status::Finished, stage: Stage::Check, reason: None };
        let paused =
            checking.ordered(Order::Pause, true).expect("it is compared").expect("a change");
        assert_eq!(paused.ordered(Order::Resume, true), Ok(Some(checking.clone())));
        assert_eq!(checking.ordered(Order::Pause, false), Err(Status::Finished));
        let aborted = running.ordered(Order::Abort, true).expect("it runs").expect("a change");
        assert_eq!(aborted.ordered(Order::Abort, true), Ok(None));
        assert_eq!(aborted.ordered(Order::Resume, true), Err(Status::Aborted));
    }

    #[test]
    fn records_are_read_as_they_are_written_and_never_in_part() {
        let worker = WorkerId { node: 1, incarnation: 2 };
        let failure = Failure {
            name: "a".into(),
            size: 7,
            reason: "exit status 1".into(),
            attempts: 1,
            node: 1,
            token: 3,
            stage: Stage::Work,
        };
        let ranges = [
            Range::Plan,
            Range::Names { after: None, upto: Some("m".into()) },
            Range::Numbers { from: 3, end: 9 },
            Range::List(2),
        ];
        for range in ranges {
            let record = UnitRecord {
                cursor: Cursor::After("c".into()),
                lease: Some(Lease { worker, beat: 9 }),
                failures: alloc::vec![failure.clone()],
                ..UnitRecord::new(range)
            };
            let text = write(&record);
            assert_eq!(read(text.as_bytes()), Some(record));
            let more = text.replacen('{', "{\"more\":1,", 1);
            assert_eq!(read::<UnitRecord>(more.as_bytes()), None);
        }
        assert_eq!(read(write(&StateRecord::new()).as_bytes()), Some(StateRecord::new()));
    }
}
