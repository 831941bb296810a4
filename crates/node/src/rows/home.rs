//! The folder `names` of a target: which store its rows are, and where they are.
//!
//! ```text
//!  names/store.toml    the identity of the store, and which folder has its rows
//!  names/rows-1        a database; another one is there only while rows are cleared, or after a crash
//!  names/rows-1.toml   what it has at least
//! ```
//!
//! `store.toml` is written whole when all that it speaks of is on stable storage. So rows that were only half made, or
//! half cleared, are not believed after a crash: a store begins, and all its rows are gone, at the moment in which that
//! file takes its place. Without it there is no store, and what lies there is nobody's.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::database::Database;
use super::failure::{Failure, failed, unusable};
use crate::whole_file::{create_folder, sync_folder, write_whole};

/// The layout of the folder that this program writes and reads.
const FORMAT: u32 = 1;

const FILE: &str = "store.toml";

/// What folders with rows are called, but for their number.
const ROWS: &str = "rows-";

/// What `store.toml` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Store {
    /// Not 0.
    pub(super) identity: u64,
    /// The folder of its rows.
    rows: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoreFile {
    format: u32,
    store: String,
    rows: u64,
}

fn parse(text: &str) -> Result<Store, String> {
    let file: StoreFile = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if file.format != FORMAT {
        return Err(format!("there is no format {}", file.format));
    }
    let identity = u64::from_str_radix(&file.store, 16).ok().filter(|identity| *identity != 0);
    let identity = identity.ok_or("the store is not a hexadecimal number above 0")?;
    Ok(Store { identity, rows: file.rows })
}

/// A new identity. No two stores have the same one.
fn random_identity() -> u64 {
    loop {
        let identity = getrandom::u64().expect("the system has random numbers");
        if identity != 0 {
            return identity;
        }
    }
}

/// A folder for the rows of one target.
pub(super) struct Home {
    folder: PathBuf,
}

impl Home {
    pub(super) fn new(folder: PathBuf) -> Home {
        Home { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Opens the rows, or makes them.
    pub(super) fn open(&self) -> Result<(Store, Database), Failure> {
        create_folder(&self.folder).map_err(failed("create", &self.folder))?;
        if let Some(store) = self.read()? {
            self.remove_all_but(Some(store.rows))?;
            return Ok((store, Database::open(&self.rows(store.rows))?));
        }
        self.remove_all_but(None)?;
        self.make(Store { identity: random_identity(), rows: 1 })
    }

    /// The same store without rows.
    pub(super) fn clear(&self, store: Store) -> Result<(Store, Database), Failure> {
        self.make(Store { rows: store.rows + 1, ..store })
    }

    /// Takes away rows that are not those of the store; they must be closed.
    pub(super) fn remove_others(&self, store: Store) -> Result<(), Failure> {
        self.remove_all_but(Some(store.rows))
    }

    fn make(&self, store: Store) -> Result<(Store, Database), Failure> {
        let database = Database::make(&self.rows(store.rows))?;
        sync_folder(&self.folder).map_err(failed("flush", &self.folder))?;
        let Store { identity, rows } = store;
        let text = format!(
            "# The store of names of a target. Without this its rows cannot be read.\n\
             format = {FORMAT}\nstore = \"{identity:016x}\"\nrows = {rows}\n"
        );
        let path = self.folder.join(FILE);
        write_whole(&path, &text).map_err(failed("write", &path))?;
        Ok((store, database))
    }

    fn rows(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{ROWS}{number}"))
    }

    fn read(&self) -> Result<Option<Store>, Failure> {
        let path = self.folder.join(FILE);
        let store = match fs::read_to_string(&path) {
            Ok(text) => parse(&text).map_err(|why| unusable(&path, why))?,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        // A process that ended amid the writing may have left the name in memory only.
        sync_folder(&self.folder).map_err(failed("flush", &self.folder))?;
        Ok(Some(store))
    }

    fn remove_all_but(&self, kept: Option<u64>) -> Result<(), Failure> {
        for entry in fs::read_dir(&self.folder).map_err(failed("list", &self.folder))? {
            let path = entry.map_err(failed("list", &self.folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let name = name.strip_suffix(".toml").unwrap_or(name);
            let number = name.strip_prefix(ROWS).and_then(|number| number.parse::<u64>().ok());
            if number.is_some() && number != kept {
                let is_removed = match path.is_dir() {
                    true => fs::remove_dir_all(&path),
                    false => fs::remove_file(&path),
                };
                is_removed.map_err(failed("remove", &path))?;
            }
        }
        Ok(())
    }
}
