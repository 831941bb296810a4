//! Changes a cluster map where it is kept.

use std::fmt;

use slotcast_member::ClusterMap;
use slotcast_member::map::change::{Changed, Refused};

use super::error::FileError;
use super::map_file::{map_text, parse_map};
use super::map_source::MapSource;

/// Changes that somebody else makes at the same time are rare; so many in a row are a mistake.
const ATTEMPTS: usize = 20;

/// Why a map is not changed.
#[derive(Debug)]
pub enum ChangeError {
    /// It cannot be read or written.
    File(Box<FileError>),
    /// The change would lose something.
    Refused(Refused),
    /// Somebody else changes it all the time.
    Contended,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::File(error) => error.fmt(f),
            ChangeError::Refused(Refused { message, help }) => write!(f, "{message}; {help}"),
            ChangeError::Contended => f.write_str("somebody else changes the map all the time"),
        }
    }
}

impl std::error::Error for ChangeError {}

impl MapSource {
    /// Changes the map by `by`, unless it is as it should be already; gives the new one, and what `by` gave with it.
    ///
    /// # Errors
    /// If the change is refused, or the map cannot be read or written, or somebody else changes it each time.
    pub fn change<T: Default>(
        &self,
        is_so: impl Fn(&ClusterMap) -> bool,
        by: impl Fn(&ClusterMap) -> Changed<(ClusterMap, T)>,
    ) -> Result<(ClusterMap, T), ChangeError> {
        for _ in 0..ATTEMPTS {
            let found = self.load().map_err(ChangeError::File)?;
            if is_so(&found.map) {
                return Ok((found.map, T::default()));
            }
            let (map, more) = by(&found.map).map_err(ChangeError::Refused)?;
            // What is written is what every node will read.
            let text = map_text(&map);
            let map = parse_map("the new map", &text).map_err(ChangeError::File)?;
            if self.replace(Some(&found), &text).map_err(ChangeError::File)? {
                return Ok((map, more));
            }
        }
        Err(ChangeError::Contended)
    }
}
