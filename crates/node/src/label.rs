//! The label of a target's folder: which target it holds, in two copies.
//!
//! One copy is `target.toml` in the folder, the other one lies in `segments/`, so that it stays with the chunks
//! whatever happens to the first.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use slotcast_member::identity::{ClusterId, Contents, Label, Owner, Seat};
use slotcast_protocol::{GroupId, TargetId};
use slotcast_store::Identity;

use crate::whole_file::write_whole;

/// The layout of a folder that this program writes; it reads 1, too, where a label has no `[target]`.
const FORMAT: u32 = 2;

/// Where the copies are in the folder.
const FIRST: &str = "target.toml";
const SECOND: &str = "segments/target.toml";

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
    cluster: String,
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

/// The label of a folder that is not registered.
pub(crate) fn unregistered(segment_size: u64) -> Label {
    Label { identity: random_identity(), segment_size, owner: None }
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
    let owner = |table: OwnerTable| -> Result<Owner, String> {
        Ok(Owner {
            cluster: ClusterId::try_from(table.cluster)?,
            target: TargetId(table.number),
            seat: Seat { group: GroupId(table.group), position: table.position },
            incarnation: table.incarnation,
        })
    };
    Ok(Label { identity, segment_size: size, owner: file.target.map(owner).transpose()? })
}

fn to_toml(label: &Label) -> String {
    let mut text = format!(
        "# A target of Slotcast. Without this its chunks cannot be read; a copy is in {SECOND}.\n\
         format = {FORMAT}\nidentity = \"{}\"\nsegment_size = {}\n",
        hexadecimal(label.identity),
        label.segment_size
    );
    if let Some(Owner { cluster, target, seat, incarnation }) = &label.owner {
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
pub(crate) fn write(label: &Label, folder: &Path) -> io::Result<()> {
    let text = to_toml(label);
    write_whole(&folder.join(SECOND), &text)?;
    write_whole(&folder.join(FIRST), &text)
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
    Ok(match (parse(&text), toml::from_str(&text)) {
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
            "names" if folder.join("names/store.toml").try_exists()? => {
                let why = "it has names, and no label says of which target";
                return Ok(Contents::Unreadable(why.into()));
            }
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

/// Bytes that nobody can foresee.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes
}

/// A new identity of a target.
pub(crate) fn random_identity() -> Identity {
    Identity(random())
}

/// A new cluster.
pub(crate) fn random_cluster() -> ClusterId {
    ClusterId::from_bytes(random())
}

pub(crate) fn hexadecimal(Identity(bytes): Identity) -> String {
    blake3::Hash::from_bytes(bytes).to_hex().to_string()
}

pub(crate) fn from_hexadecimal(text: &str) -> Option<Identity> {
    blake3::Hash::from_hex(text).ok().map(|hash| Identity(*hash.as_bytes()))
}

#[cfg(test)]
mod tests;
