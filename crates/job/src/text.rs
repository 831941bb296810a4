//! What a job is to do. It is written once, and never changes.

use alloc::string::{String, ToString};

use serde::{Deserialize, Serialize};
use slotcast_object::Name;

use crate::glob::Glob;
use crate::template::{NoTemplate, Template};

/// The text of a job, in an immutable register. A node that cannot read all of it leaves the job to others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobText {
    /// What is done with each object.
    pub kind: Kind,
    /// Where the objects are.
    pub from: Place,
    /// Which of them.
    #[serde(default)]
    pub select: Selection,
    /// Where the outputs go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Place>,
    /// What becomes of objects that have the name of an output already.
    #[serde(default)]
    pub existing: Existing,
    /// Whether all is counted and compared again at the end.
    #[serde(default = "yes")]
    pub check: bool,
    /// When it was started, in milliseconds since 1970 on the clock of a node. It decides nothing.
    #[serde(default)]
    pub started: u64,
    /// Who has started it.
    #[serde(default)]
    pub by: String,
}

fn yes() -> bool {
    true
}

/// What is done with each object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It gets a further name. No content moves, unless another number of replicas is wanted.
    Copy,
    /// It is deleted.
    Delete,
    /// Its content is read and checked.
    Verify,
    /// What a command makes of it is stored.
    Transform(Transform),
}

impl Kind {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Kind::Copy => "copy",
            Kind::Delete => "delete",
            Kind::Verify => "verify",
            Kind::Transform(_) => "transform",
        }
    }

    /// Whether it makes an object of each.
    pub fn has_outputs(&self) -> bool {
        matches!(self, Kind::Copy | Kind::Transform(_))
    }
}

/// A command that has the object on standard input, and its output on standard output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transform {
    /// The command, for `/bin/sh`.
    pub command: String,
    /// What the name of an output ends with, after the name of its object.
    #[serde(default)]
    pub suffix: String,
    /// How long it may take for one object, in milliseconds.
    pub timeout_ms: u64,
    /// How long it may compute for one object, in seconds.
    pub cpu_s: u64,
    /// How much memory each of its processes may have, in bytes.
    pub memory: u64,
    /// Whether it may use the network.
    #[serde(default)]
    pub network: bool,
}

impl Transform {
    /// A digest of all that makes a difference to what comes out.
    pub fn digest(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for part in [&self.command, &self.suffix] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        hasher.finalize().into()
    }
}

/// A bucket, and what names in it begin with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// The bucket.
    pub bucket: String,
    /// What the names begin with.
    #[serde(default)]
    pub prefix: String,
}

/// Which of the objects that begin with the prefix are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Selection {
    /// All that are listed.
    #[default]
    All,
    /// Those whose rest of the name, after the prefix, matches this pattern.
    Glob(String),
    /// Those whose rest of the name this template counts.
    Template(String),
    /// Those whose rest of the name is in a list of so many parts.
    List(u32),
}

/// What becomes of an object that has the name of an output already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Existing {
    /// The output takes its place.
    #[default]
    Replace,
    /// It stays, and counts as kept.
    Keep,
}

/// Why a text makes no job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoJob {
    /// There is no place for its outputs.
    #[error("a {0} job needs a place for its outputs: slot://BUCKET/PREFIX")]
    NoDestination(&'static str),
    /// It has no outputs.
    #[error("a {0} job has no outputs, and so no place for them")]
    Destination(&'static str),
    /// Outputs would be selected, too.
    #[error("{0} lies in {1}, or that in it: outputs would be taken for what is selected")]
    Overlap(String, String),
    /// A bucket has no such name.
    #[error("the bucket: {0}")]
    Bucket(slotcast_object::NoName),
    /// The template is none.
    #[error("the template: {0}")]
    Template(#[from] NoTemplate),
    /// There is no command.
    #[error("the command is empty")]
    NoCommand,
    /// Nothing can be done within the limits.
    #[error("time, computing time and memory of a command are more than 0; memory at least 1 MiB")]
    NoLimit,
    /// The text is too long.
    #[error("the job has {0} bytes as text; {MAX_TEXT} are the most")]
    Long(usize),
}

/// The most bytes of a text.
pub const MAX_TEXT: usize = 8 << 10;

impl Place {
    fn text(&self) -> String {
        alloc::format!("slot://{}/{}", self.bucket, self.prefix)
    }

    fn overlaps(&self, other: &Place) -> bool {
        let begins = self.prefix.starts_with(&other.prefix);
        self.bucket == other.bucket && (begins || other.prefix.starts_with(&self.prefix))
    }
}

impl JobText {
    /// Refuses what makes no job.
    ///
    /// # Errors
    /// If it makes none.
    pub fn check(&self) -> Result<(), NoJob> {
        let name = self.kind.name();
        for place in core::iter::once(&self.from).chain(&self.to) {
            Name::new(&place.bucket[..]).map_err(NoJob::Bucket)?;
        }
        match &self.to {
            None if self.kind.has_outputs() => return Err(NoJob::NoDestination(name)),
            Some(_) if !self.kind.has_outputs() => return Err(NoJob::Destination(name)),
            Some(to) if to.overlaps(&self.from) => {
                return Err(NoJob::Overlap(to.text(), self.from.text()));
            }
            _ => {}
        }
        if let Selection::Template(text) = &self.select {
            Template::new(text)?;
        }
        if let Kind::Transform(transform) = &self.kind {
            if transform.command.trim().is_empty() {
                return Err(NoJob::NoCommand);
            }
            let Transform { timeout_ms, cpu_s, memory, .. } = transform;
            if *timeout_ms == 0 || *cpu_s == 0 || *memory < 1 << 20 {
                return Err(NoJob::NoLimit);
            }
        }
        match self.write().len() {
            length if length > MAX_TEXT => Err(NoJob::Long(length)),
            _ => Ok(()),
        }
    }

    /// As it is kept.
    pub fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The text that is kept so; none if it cannot be read.
    pub fn read(bytes: &[u8]) -> Option<JobText> {
        serde_json::from_slice(bytes).ok()
    }

    /// Whether a listed name is meant.
    pub fn selects(&self, name: &str) -> bool {
        match (name.strip_prefix(&self.from.prefix[..]), &self.select) {
            (None, _) => false,
            (Some(rest), Selection::Glob(pattern)) => Glob::new(pattern).matches(rest),
            (Some(_), _) => true,
        }
    }

    /// What all names begin with that are listed for it.
    pub fn listed_prefix(&self) -> String {
        match &self.select {
            Selection::Glob(pattern) => self.from.prefix.clone() + &Glob::new(pattern).prefix(),
            _ => self.from.prefix.clone(),
        }
    }

    /// Whether its names are found by listing them.
    pub fn lists(&self) -> bool {
        matches!(self.select, Selection::All | Selection::Glob(_))
    }

    /// The name of what is made of an object.
    pub fn output(&self, name: &str) -> Option<String> {
        let rest = name.strip_prefix(&self.from.prefix[..])?;
        let suffix = match &self.kind {
            Kind::Transform(transform) => &transform.suffix[..],
            _ => "",
        };
        let to = self.to.as_ref()?;
        Some([&to.prefix[..], rest, suffix].concat().to_string())
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
