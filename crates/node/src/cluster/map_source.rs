//! Where the cluster map is kept.

use std::fmt;
use std::path::{Path, PathBuf};

use slotcast_member::ClusterMap;

use super::error::{FileError, Result, Source};
use super::etcd::{Etcd, EtcdError};
use super::etcd_address::EtcdAddress;
use super::map_file::{map_in, parse_map};
use crate::whole_file::write_whole;

/// Where the cluster map is kept: what `cluster` in `node.toml` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapSource {
    /// In a file, which is the same on all hosts.
    File(PathBuf),
    /// In etcd.
    Etcd(EtcdAddress),
}

/// A map, as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundMap {
    /// Its text.
    pub text: String,
    /// What it says.
    pub map: ClusterMap,
    /// Of etcd: the revision at which it was written; 0 of a file.
    pub revision: u64,
}

impl MapSource {
    /// Reads `etcd://ADDRESS:PORT,…/KEY`, with TLS `etcds://…`, or a path; files are relative to `base`.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn parse(text: &str, base: &Path) -> std::result::Result<MapSource, String> {
        match EtcdAddress::is_meant(text) {
            true => EtcdAddress::parse(text, base).map(MapSource::Etcd),
            false => Ok(MapSource::File(base.join(text))),
        }
    }

    /// Reads the map.
    ///
    /// # Errors
    /// If there is none, nobody answers, or it says something that cannot be.
    pub fn load(&self) -> Result<FoundMap> {
        match self {
            MapSource::File(path) => {
                let source = Source::open(path)?;
                let map = map_in(&source)?;
                Ok(FoundMap { text: source.text, map, revision: 0 })
            }
            MapSource::Etcd(address) => {
                let etcd = Etcd::new(address.clone());
                let stored = etcd.get().map_err(|error| self.away(&error))?;
                let stored = stored.ok_or_else(|| {
                    let help =
                        format!("`slotcast cluster init cluster.toml --map {self}` writes one");
                    self.problem("there is no cluster map".into(), &help)
                })?;
                let map = parse_map(&self.to_string(), &stored.text)?;
                Ok(FoundMap { text: stored.text, map, revision: stored.revision })
            }
        }
    }

    /// Writes `text` in place of what was `found`, or where there is none; false if somebody else has
    /// written meanwhile, which is noticed in etcd alone.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, found: Option<&FoundMap>, text: &str) -> Result<bool> {
        match self {
            MapSource::File(path) => {
                if found.is_none() && path.exists() {
                    return Ok(false);
                }
                write_whole(path, text).map_err(|error| {
                    self.problem(format!("cannot be written: {error}"), "choose another place")
                })?;
                Ok(true)
            }
            MapSource::Etcd(address) => Etcd::new(address.clone())
                .replace(found.map(|found| found.revision), text)
                .map_err(|error| self.away(&error)),
        }
    }

    fn away(&self, error: &EtcdError) -> Box<FileError> {
        self.problem(error.to_string(), "is it running, and is its address right?")
    }

    fn problem(&self, message: String, help: &str) -> Box<FileError> {
        let (file, text, help) = (self.to_string(), String::new(), Some(help.to_owned()));
        Box::new(FileError { file, text, span: None, message, help })
    }
}

impl fmt::Display for MapSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MapSource::File(path) => path.display().fmt(f),
            MapSource::Etcd(address) => address.fmt(f),
        }
    }
}
