//! The label of a target's folder: which target it holds, in two copies.
//!
//! One copy is `target.toml` in the folder, the other one lies in `segments/`, so that it stays with the chunks
//! whatever happens to the first.

use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use slotcast_protocol::{GroupId, TargetId};
use slotcast_store::Identity;

use crate::whole_file::write_whole;

/// The layout of a folder that this program writes; it reads 1, too, where a label has no `[target]`.
const FORMAT: u32 = 2;

/// Where the copies are in the folder.
const FIRST: &str = "target.toml";
const SECOND: &str = "segments/target.toml";

/// Tells one cluster from another: 32 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct ClusterId(String);

impl ClusterId {
    /// A new one, made at random.
    pub(crate) fn random() -> ClusterId {
        ClusterId(hexadecimal(random())[..32].to_owned())
    }

    /// That of the cluster whose nodes share this key. It tells nothing about the key.
    pub fn of_key(secret: &[u8; 32]) -> ClusterId {
        let derived = blake3::derive_key("slotcast 2026 id of a cluster", secret);
        ClusterId(hexadecimal(Identity(derived))[..32].to_owned())
    }

    /// Its first digits, for people.
    pub(crate) fn short(&self) -> &str {
        &self.0[..8]
    }
}

impl TryFrom<String> for ClusterId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<ClusterId, &'static str> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        match text.len() == 32 && text.bytes().all(is_digit) {
            true => Ok(ClusterId(text)),
            false => Err("the id of a cluster is 32 hexadecimal digits"),
        }
    }
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a target sits among those that are asked for its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// Its negotiating group.
    pub group: GroupId,
    /// Its position in it.
    pub position: u8,
}

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "position {} of group {}", self.position, self.group.0)
    }
}

/// Which target a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) cluster: ClusterId,
    pub(crate) target: TargetId,
    pub(crate) seat: Seat,
    /// Counts from 1 how often the target has begun with nothing.
    pub(crate) incarnation: u32,
}

/// What a label says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Label {
    /// What the records of its store are checked with, made at random when the folder was formatted.
    pub(crate) identity: Identity,
    /// Size of a segment in bytes.
    pub(crate) segment_size: u64,
    /// None in a folder of format 1, and where nothing is registered.
    pub(crate) owner: Option<Owner>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LabelFile {
    format: u32,
    identity: String,
    segment_size: u64,
    target: Option<OwnerTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnerTable {
    cluster: ClusterId,
    number: u32,
    group: u32,
    position: u8,
    incarnation: u32,
}

/// Only the version: what else there is depends on it.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Label {
    /// Of a folder that is not registered.
    pub(crate) fn new(segment_size: u64) -> Label {
        Label { identity: random(), segment_size, owner: None }
    }

    fn parse(text: &str) -> Result<Label, String> {
        let file: LabelFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        if !(1..=FORMAT).contains(&file.format) {
            return Err(format!("there is no format {}", file.format));
        }
        let size = file.segment_size;
        if !(64 << 10..=2 << 30).contains(&size) || !size.is_multiple_of(4096) {
            return Err(format!("segments of {size} bytes are not possible"));
        }
        let identity = from_hexadecimal(&file.identity)
            .ok_or("the identity is not 64 hexadecimal digits".to_owned())?;
        let owner = file.target.map(|table| Owner {
            cluster: table.cluster,
            target: TargetId(table.number),
            seat: Seat { group: GroupId(table.group), position: table.position },
            incarnation: table.incarnation,
        });
        Ok(Label { identity, segment_size: size, owner })
    }

    fn to_toml(&self) -> String {
        let mut text = format!(
            "# A target of Slotcast. Without this its chunks cannot be read; a copy is in {SECOND}.\n\
             format = {FORMAT}\nidentity = \"{}\"\nsegment_size = {}\n",
            hexadecimal(self.identity),
            self.segment_size
        );
        if let Some(Owner { cluster, target, seat, incarnation }) = &self.owner {
            let (group, position) = (seat.group.0, seat.position);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n[target]\ncluster = \"{cluster}\"\nnumber = {}\ngroup = {group}\n\
                 position = {position}\nincarnation = {incarnation}\n",
                target.0
            );
        }
        text
    }

    /// Writes both copies, the one beside the segments first.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let text = self.to_toml();
        write_whole(&folder.join(SECOND), &text)?;
        write_whole(&folder.join(FIRST), &text)
    }
}

/// What a folder holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contents {
    /// The folder is not there.
    Missing,
    /// Nothing, but for what a file system and an interrupted format leave.
    Empty,
    /// Files that are not of a target; the name of one.
    OtherFiles(String),
    /// What may be a target that cannot be told: why.
    Unreadable(String),
    /// A target.
    Labelled {
        /// What its label says.
        label: Label,
        /// The copy of it that is missing, damaged, or says less.
        broken_copy: Option<&'static str>,
    },
}

/// One copy of a label, as it was found.
enum Copy {
    Missing,
    Damaged(String),
    /// Of a later version of this program, which is left alone.
    Later(u32),
    Good(Label),
}

/// Looks at a folder, and changes nothing.
pub(crate) fn inspect(folder: &Path) -> io::Result<Contents> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Contents::Missing),
        Err(error) => return Err(error),
    };
    let labelled = |label, broken_copy| Contents::Labelled { label, broken_copy };
    let contents = match (read_copy(&folder.join(FIRST))?, read_copy(&folder.join(SECOND))?) {
        (Copy::Later(format), _) | (_, Copy::Later(format)) => Contents::Unreadable(format!(
            "its label has format {format}, and this program reads up to {FORMAT}"
        )),
        (Copy::Good(first), Copy::Good(second)) => match (&first.owner, &second.owner) {
            _ if (first.identity, first.segment_size) != (second.identity, second.segment_size) => {
                Contents::Unreadable("its two labels contradict each other".into())
            }
            (mine, other) if mine == other => labelled(first, None),
            // One was rewritten when the target was registered, and then came a crash.
            (None, _) => labelled(second, Some(FIRST)),
            (_, None) => labelled(first, Some(SECOND)),
            _ => Contents::Unreadable("its two labels contradict each other".into()),
        },
        // The second copy is written first, so there was one: its disk may be another one, which is not mounted.
        (Copy::Good(label), Copy::Missing) if label.owner.is_some() && !has_segments(folder)? => {
            Contents::Unreadable("its segments are missing".into())
        }
        (Copy::Good(label), _) => labelled(label, Some(SECOND)),
        (_, Copy::Good(label)) => labelled(label, Some(FIRST)),
        (Copy::Damaged(why), _) | (_, Copy::Damaged(why)) => {
            Contents::Unreadable(format!("its label is damaged: {why}"))
        }
        (Copy::Missing, Copy::Missing) => return unlabelled(folder, entries),
    };
    match contents {
        // A label is written after the folder of the segments.
        Contents::Labelled { .. } if !folder.join("segments").is_dir() => {
            Ok(Contents::Unreadable("its segments are missing".into()))
        }
        contents => Ok(contents),
    }
}

/// Whether a folder holds the target of this number, of whichever cluster.
pub(crate) fn holds(folder: &Path, target: TargetId) -> bool {
    let is_target = |owner: &Owner| owner.target == target;
    let contents = inspect(folder);
    matches!(contents, Ok(Contents::Labelled { label, .. }) if label.owner.as_ref().is_some_and(is_target))
}

fn read_copy(path: &Path) -> io::Result<Copy> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Copy::Missing),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return Ok(Copy::Damaged("it is no text".into()));
        }
        Err(error) => return Err(error),
    };
    Ok(match (Label::parse(&text), toml::from_str(&text)) {
        (_, Ok(Version { format })) if format > FORMAT => Copy::Later(format),
        (Ok(label), _) => Copy::Good(label),
        (Err(why), _) => Copy::Damaged(why),
    })
}

/// Whether there is any segment.
fn has_segments(folder: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(folder.join("segments")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        entries => entries?,
    };
    for entry in entries {
        if entry?.file_name().to_string_lossy().ends_with(".seg") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is in a folder without a label.
fn unlabelled(folder: &Path, entries: fs::ReadDir) -> io::Result<Contents> {
    let mut other = None;
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        match name.as_str() {
            "lock" | "lost+found" | "target.toml.new" | "segments" => {}
            _ => other = Some(name),
        }
    }
    let segments = match fs::read_dir(folder.join("segments")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(other.map_or(Contents::Empty, Contents::OtherFiles));
        }
        Err(error) => return Err(error),
    };
    for entry in segments {
        match entry?.file_name().to_string_lossy() {
            name if name == "target.toml.new" => {}
            name if name.ends_with(".seg") => {
                let why = "it has segments, and no label says of which target";
                return Ok(Contents::Unreadable(why.into()));
            }
            name => other = Some(format!("segments/{name}")),
        }
    }
    Ok(other.map_or(Contents::Empty, Contents::OtherFiles))
}

/// A new identity.
pub(crate) fn random() -> Identity {
    let mut identity = [0; 32];
    getrandom::fill(&mut identity).expect("the system has random numbers");
    Identity(identity)
}

pub(crate) fn hexadecimal(Identity(bytes): Identity) -> String {
    blake3::Hash::from_bytes(bytes).to_hex().to_string()
}

pub(crate) fn from_hexadecimal(text: &str) -> Option<Identity> {
    blake3::Hash::from_hex(text).ok().map(|hash| Identity(*hash.as_bytes()))
}

#[cfg(test)]
mod tests;
