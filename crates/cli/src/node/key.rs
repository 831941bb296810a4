//! `slotcast key`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use data_encoding::HEXLOWER;
use slotcast_lab::InputError;
use slotcast_node::access::{MasterKeyError, MasterKeys};
use slotcast_node::cluster::{ClusterKeys, KeysError};

use crate::failure::Outcome;
use crate::output::print;

/// Print a new key for a cluster, or change the keys of one; rotate master keys
#[derive(Debug, Args)]
#[command(after_help = "\
All nodes of a cluster have the same file of keys. They send with its first key
and believe all, and read the file again within seconds after it has changed.
So a key is changed without a stop, each step on all nodes before the next:

  slotcast key add cluster.key        on one; copy the file to the others
  slotcast key use cluster.key 2      on each
  slotcast key remove cluster.key 1   on each, once `slotcast status` of all
                                      counts no more datagrams with key 1

Example:
  (umask 077; slotcast key > cluster.key)")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Change>,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Show the numbers of the keys in a file, that which is sent with first
    List {
        /// The file
        file: PathBuf,
    },
    /// Add a new key to a file, behind the others
    Add {
        /// The file
        file: PathBuf,
    },
    /// Send with this key from now on
    Use {
        /// The file
        file: PathBuf,
        /// The number of the key
        number: u32,
    },
    /// Take away a key that is not sent with
    Remove {
        /// The file
        file: PathBuf,
        /// The number of the key
        number: u32,
    },
    /// Show or rotate master keys, with which keys of objects and of users are sealed
    Master {
        #[command(subcommand)]
        command: MasterChange,
    },
}

#[derive(Debug, Subcommand)]
#[command(after_help = "\
What is new is sealed with the first master key of the file, and what was sealed
with any of them is opened: so no content is written again. A node reads the
file again when it has changed. In a cluster each step is taken on all nodes
before the next:

  slotcast key master add master-key      on one; copy the file to the others
  slotcast key master use master-key 2    on each

A key that something was sealed with is kept for ever: without it that is lost.")]
enum MasterChange {
    /// Show the numbers of the master keys in a file, that which seals first
    List {
        /// The file
        file: PathBuf,
    },
    /// Add a new master key to a file, behind the others
    Add {
        /// The file
        file: PathBuf,
    },
    /// Seal with this master key from now on
    Use {
        /// The file
        file: PathBuf,
        /// The number of the key
        number: u32,
    },
}

fn wrong_master(error: &MasterKeyError) -> Box<InputError> {
    InputError::plain(error.to_string())
}

/// Changes the master keys in a file, if that is wanted; says which there are then.
fn master(command: &MasterChange) -> Result<String, Box<InputError>> {
    let read = |file: &Path| MasterKeys::from_file(file).map_err(|error| wrong_master(&error));
    let (file, changed) = match command {
        MasterChange::List { file } => (file, None),
        MasterChange::Add { file } => (file, Some(read(file)?.with_new().map(|(keys, _)| keys))),
        MasterChange::Use { file, number } => (file, Some(read(file)?.sealing_with(*number))),
    };
    let keys = match changed {
        None => read(file)?,
        Some(changed) => {
            let keys = changed.map_err(|error| wrong_master(&error))?;
            keys.replace(file).map_err(|error| wrong_master(&error))?;
            keys
        }
    };
    let numbers: Vec<String> = keys.numbers().map(|number| number.to_string()).collect();
    Ok(match &numbers[..] {
        [first, others @ ..] if !others.is_empty() => format!(
            "{}: master key {first} seals; opened with, too: {}\n",
            file.display(),
            others.join(", ")
        ),
        _ => format!("{}: master key {}\n", file.display(), numbers.join(", ")),
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it maps errors")]
fn wrong(error: KeysError) -> Box<InputError> {
    InputError::plain(error.to_string())
}

fn new_key() -> Result<[u8; 32], Box<InputError>> {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| InputError::plain(format!("the system has no random numbers: {error}")))?;
    Ok(key)
}

fn numbers(keys: &ClusterKeys) -> String {
    let numbers: Vec<String> = keys.iter().map(|(number, _)| number.to_string()).collect();
    match &numbers[..] {
        [first] => format!("key {first}"),
        [first, others @ ..] => {
            format!("key {first} is sent with; believed, too: {}", others.join(", "))
        }
        [] => "no key".into(),
    }
}

/// Changes the keys in a file; says which there are then.
fn change(
    path: &Path,
    change: impl FnOnce(&mut ClusterKeys) -> Result<(), Box<InputError>>,
) -> Result<String, Box<InputError>> {
    let mut keys = ClusterKeys::read(path).map_err(wrong)?;
    change(&mut keys)?;
    keys.replace(path).map_err(wrong)?;
    Ok(format!("{}: {}\n", path.display(), numbers(&keys)))
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let said = match &arguments.command {
        None => HEXLOWER.encode(&new_key()?) + "\n",
        Some(Change::List { file }) => {
            let keys = ClusterKeys::read(file).map_err(wrong)?;
            format!("cluster {}: {}\n", keys.id(), numbers(&keys))
        }
        Some(Change::Add { file }) => {
            let key = new_key()?;
            change(file, |keys| keys.add(key).map(|_| ()).map_err(wrong))?
        }
        Some(Change::Use { file, number }) => {
            change(file, |keys| keys.send_with(*number).map_err(wrong))?
        }
        Some(Change::Master { command }) => master(command)?,
        Some(Change::Remove { file, number }) => {
            change(file, |keys| keys.remove(*number).map_err(wrong))?
        }
    };
    print(&said)?;
    Ok(ExitCode::SUCCESS)
}
