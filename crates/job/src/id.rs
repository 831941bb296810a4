//! What jobs and those who work on them are called.

use alloc::format;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};
use slotcast_object::Name;

/// A job. Later jobs have greater numbers, as far as clocks agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

impl JobId {
    /// One that begins now, told from others of the same millisecond by a random number.
    pub fn new(now_ms: u64, random: u64) -> JobId {
        JobId(now_ms << 20 | random & 0xf_ffff)
    }

    /// The job that is written so: 16 hexadecimal digits.
    pub fn read(text: &str) -> Option<JobId> {
        let is_number = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_number.then(|| u64::from_str_radix(text, 16).ok())?;
        number.map(JobId)
    }

    /// As the name of a register.
    pub fn name(self) -> Name {
        Name::new(format!("{self}")).expect("digits are a name")
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A node that works on jobs, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerId {
    /// The number of the node.
    pub node: u32,
    /// Another one after each start.
    pub incarnation: u64,
}

/// One of the registers of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Register {
    /// What the job is to do.
    Text,
    /// How it stands.
    State,
    /// A unit of work. Unit 0 makes the others.
    Unit(u32),
    /// A part of the list of names that it was given.
    List(u32),
}

impl Register {
    /// The name of the register among those of the job.
    pub fn name(self) -> Name {
        let text: String = match self {
            Register::Text => "text".into(),
            Register::State => "state".into(),
            Register::Unit(number) => format!("unit-{number:010}"),
            Register::List(number) => format!("list-{number:010}"),
        };
        Name::new(text).expect("letters are a name")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_read_as_they_are_written_and_in_the_order_of_their_beginning() {
        let (first, second) =
            (JobId::new(1_700_000_000_000, u64::MAX), JobId::new(1_700_000_000_001, 0));
        assert!(first < second && first.name() < second.name());
        assert_eq!(JobId::read(&format!("{first}")), Some(first));
        for wrong in ["", "1", "00000000000000g0", "+000000000000001"] {
            assert_eq!(JobId::read(wrong), None, "{wrong}");
        }
    }
}
