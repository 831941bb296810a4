//! The register of a node's targets: who they are, kept apart from their folders.
//!
//! A folder alone cannot tell that its disk is not mounted: it is empty then, as a new one is. So what a target
//! is called on its disk is kept here, too, and a folder is taken for the target only if both say the same. An
//! entry is written before the folder is formatted, and again when that is done.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slotcast_member::identity::{ClusterId, Entry, LastLayout, Layout, Register, State};
use slotcast_protocol::{LayoutDigest, TargetId};

use crate::label::{from_hexadecimal, hexadecimal};
use crate::whole_file::{create_folder, write_whole};

/// Version of the file. Files of version 1 do not say how the cluster was laid out.
const FORMAT: u32 = 2;

/// What is wrong with the register of a node's targets, or with what was asked of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct RegisterError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl RegisterError {
    pub(crate) fn new(message: String, help: impl Into<String>) -> RegisterError {
        RegisterError { message, help: help.into() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegisterFile {
    format: u32,
    cluster: String,
    layout: Option<LayoutTable>,
    #[serde(default)]
    accepts_any_layout: bool,
    #[serde(default)]
    target: Vec<EntryTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutTable {
    epoch: u32,
    groups: u32,
    digest: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryTable {
    number: u32,
    incarnation: u32,
    state: String,
    identity: Option<String>,
}

/// Reads the register at `path`; none if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Register>, RegisterError> {
    let place = path.display();
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let message = format!("cannot read the register of targets `{place}`: {error}");
            return Err(RegisterError::new(message, "it must be readable for this user"));
        }
    };
    parse(&text).map(Some).map_err(|problem| {
        let message = format!("the register of targets `{place}` is damaged: {problem}");
        let help = "move it away when all disks are mounted, and it is made anew from their labels";
        RegisterError::new(message, help)
    })
}

fn parse(text: &str) -> Result<Register, String> {
    let file: RegisterFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if !(1..=FORMAT).contains(&file.format) {
        return Err(format!("format {}, and this program reads 1 to {FORMAT}", file.format));
    }
    let layout = match file.layout {
        _ if file.accepts_any_layout => LastLayout::Any,
        None => LastLayout::Unknown,
        Some(LayoutTable { epoch, groups, digest }) => {
            let digest = u64::from_str_radix(&digest, 16).ok().filter(|_| digest.len() == 16);
            let digest = digest.ok_or("the digest of a layout is 16 hexadecimal digits")?;
            let digest = LayoutDigest(digest.to_be_bytes());
            LastLayout::Used(Layout { epoch, groups, digest })
        }
    };
    let mut targets = BTreeMap::new();
    for EntryTable { number, incarnation, state, identity } in file.target {
        let identity = identity.as_deref().map(|text| from_hexadecimal(text).ok_or(text));
        let state = match (state.as_str(), identity) {
            ("planned", Some(Ok(identity))) => State::Planned(identity),
            ("formatted", Some(Ok(identity))) => State::Formatted(identity),
            ("unknown", None) => State::Unknown,
            _ => return Err(format!("target {number} has no such state and identity")),
        };
        if targets.insert(TargetId(number), Entry { incarnation, state }).is_some() {
            return Err(format!("target {number} is there twice"));
        }
    }
    Ok(Register { cluster: ClusterId::try_from(file.cluster)?, layout, targets })
}

fn to_toml(register: &Register) -> String {
    let mut text = format!(
        "# The targets of a node of Slotcast: what the labels in their folders must say. Written by the node\n\
         # and by `slotcast target`.\n\
         format = {FORMAT}\ncluster = \"{}\"\n",
        register.cluster
    );
    // Writing to a string cannot fail.
    let _ = match register.layout {
        LastLayout::Unknown => Ok(()),
        LastLayout::Any => writeln!(text, "accepts_any_layout = true"),
        LastLayout::Used(Layout { epoch, groups, digest }) => {
            writeln!(text, "\n[layout]\nepoch = {epoch}\ngroups = {groups}\ndigest = \"{digest}\"")
        }
    };
    for (TargetId(number), Entry { incarnation, state }) in &register.targets {
        let (state, identity) = match state {
            State::Planned(identity) => ("planned", Some(identity)),
            State::Formatted(identity) => ("formatted", Some(identity)),
            State::Unknown => ("unknown", None),
        };
        let _ = write!(
            text,
            "\n[[target]]\nnumber = {number}\nincarnation = {incarnation}\nstate = \"{state}\"\n"
        );
        if let Some(identity) = identity {
            let _ = writeln!(text, "identity = \"{}\"", hexadecimal(*identity));
        }
    }
    text
}

/// Puts it at `path`, on stable storage.
pub(crate) fn write(register: &Register, path: &Path) -> Result<(), RegisterError> {
    write_whole(path, &to_toml(register)).map_err(|error| not_written(path, &error))
}

/// Locks the register at `path` for this process, as long as the file is open. A node holds the lock while it
/// runs.
pub(crate) fn lock(path: &Path) -> Result<File, RegisterError> {
    let mut place = path.as_os_str().to_owned();
    place.push(".lock");
    let place = PathBuf::from(place);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir());
    folder.map_or(Ok(()), create_folder).map_err(|error| not_written(path, &error))?;
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&place);
    // A register that cannot be written is enough where nothing is new. It can be locked all the same.
    let file = file.or_else(|error| match error.kind() {
        io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull => {
            File::open(&place).or_else(|_| File::open(path)).map_err(|_| error)
        }
        _ => Err(error),
    });
    let file = file.map_err(|error| not_written(&place, &error))?;
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            let message = format!("`{}` is used by another process", path.display());
            RegisterError::new(message, "does this node run already?")
        }
        TryLockError::Error(error) => not_written(&place, &error),
    })?;
    Ok(file)
}

fn not_written(path: &Path, error: &io::Error) -> RegisterError {
    let message = format!("cannot write `{}`: {error}", path.display());
    let help =
        "the register of targets must be writable; `register` in node.toml names another place";
    RegisterError::new(message, help)
}

#[cfg(test)]
mod tests {
    use slotcast_store::Identity;

    use super::*;

    #[test]
    fn it_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("targets.toml");
        assert_eq!(read(&path), Ok(None));
        let state = |n: u8| match n {
            0 => State::Unknown,
            1 => State::Planned(Identity([7; 32])),
            _ => State::Formatted(Identity([n; 32])),
        };
        let entry = |n| (TargetId(u32::from(n) * 3), Entry { incarnation: 1, state: state(n) });
        let layout = Layout { epoch: 3, groups: 2, digest: LayoutDigest(*b"\x00layout\xff") };
        for layout in [LastLayout::Unknown, LastLayout::Used(layout), LastLayout::Any] {
            let register = Register {
                cluster: crate::label::random_cluster(),
                layout,
                targets: (0..4).map(entry).collect(),
            };
            write(&register, &path).expect("room");
            assert_eq!(read(&path), Ok(Some(register)));
        }
    }

    #[test]
    fn what_is_damaged_is_said() {
        let cluster = "0123456789abcdef0123456789abcdef";
        let head = format!("format = 1\ncluster = \"{cluster}\"\n");
        let entry = |more: &str| format!("{head}[[target]]\nnumber = 3\nincarnation = 1\n{more}\n");
        for (text, says) in [
            ("", "format"),
            (&head.replace("format = 1", "format = 9"), "reads 1 to 2"),
            (&format!("{head}[layout]\nepoch = 1\ngroups = 1\ndigest = \"+12\"\n"), "16 hex"),
            (&head.replace("0123", "012"), "32 hexadecimal digits"),
            (&entry("state = \"formatted\""), "target 3 has no such state"),
            (&entry("state = \"planned\"\nidentity = \"12\""), "target 3 has no such state"),
            (
                &(entry("state = \"unknown\"") + &entry("state = \"unknown\"")[head.len()..]),
                "twice",
            ),
        ] {
            let problem = parse(text).expect_err(text);
            assert!(problem.contains(says), "{problem}");
        }
    }
}
