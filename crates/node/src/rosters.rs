//! Who keeps the names of a cluster in one process: a file beside the register of its targets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slotcast_object::Rosters;

use crate::cluster::{
    CollectionEntry, NamesEntry, VotersWrong, voters_of, write_collection, write_voters,
};
use crate::whole_file::write_whole;

/// What the file is called.
const FILE: &str = "voters.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RostersFile {
    epoch: u64,
    collection: Option<CollectionEntry>,
    #[serde(default)]
    names: Vec<NamesEntry>,
}

/// Why it cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RostersError {
    /// It cannot be read.
    #[error("{file}: {1}", file = .0.display())]
    Io(PathBuf, io::Error),
    /// It says something that cannot be.
    #[error(
        "{file}: {1}; it says who keeps the names, and the program alone writes it: put back what it was",
        file = .0.display()
    )]
    Wrong(PathBuf, String),
}

/// The file of a cluster whose register is this file.
pub(crate) fn beside(register: &Path) -> PathBuf {
    register.with_file_name(FILE)
}

/// Who votes in a cluster of so many groups; nobody yet if there is no file.
///
/// # Errors
/// If it cannot be read, or says something that cannot be.
pub(crate) fn read(path: &Path, groups: u32) -> Result<Rosters, RostersError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Rosters::default()),
        Err(error) => return Err(RostersError::Io(path.into(), error)),
    };
    let wrong = |why: String| RostersError::Wrong(path.into(), why);
    let file: RostersFile = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let groups =
        voters_of(&file.names, groups).map_err(|why: VotersWrong| wrong(why.to_string()))?;
    let collection = file.collection.map(|of| of.collection()).transpose();
    let collection = collection.map_err(|why| wrong(why.to_string()))?.unwrap_or_default();
    Ok(Rosters { epoch: file.epoch, groups, collection })
}

/// Writes it, so that it is on stable storage, or stays as it was.
pub(crate) fn write(path: &Path, rosters: &Rosters) -> io::Result<()> {
    let mut text = format!("epoch = {}\n", rosters.epoch);
    write_collection(rosters.collection, &mut text);
    write_voters(&rosters.groups, &mut text);
    write_whole(path, &text)
}
