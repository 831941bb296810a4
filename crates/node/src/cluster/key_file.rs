//! The keys of a cluster, in a file that all its nodes have.
//!
//! Datagrams between nodes are sealed, and encrypted where that is asked for, with the first key; those of every key are
//! believed. So a key is changed without a stop: a new one is added behind it in the files of all nodes, then comes
//! first in all of them, and then the old one is taken away.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

use data_encoding::HEXLOWER_PERMISSIVE;
use slotcast_member::identity::ClusterId;

use crate::access::secret_file;

/// The most keys of a cluster at a time; their numbers differ modulo this.
pub const MAX_KEYS: usize = 8;

/// The most bytes of a file with keys.
const MAX_LENGTH: u64 = 1 << 16;

/// What the nodes of a cluster know, and nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterKeys {
    id: ClusterId,
    /// The first is sent with.
    keys: Vec<(u32, [u8; 32])>,
}

/// Whether what nodes say to each other is encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Encryption {
    /// It is sealed: others can read it, and not change it.
    #[default]
    Off,
    /// It is encrypted; what others send is believed either way, while not all of them do so.
    Sends,
    /// It is encrypted, and nothing else is believed.
    Only,
}

/// Why keys cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file cannot be read or written.
    #[error("`{0}`: {1}")]
    Io(String, io::Error),
    /// Others can read or write it.
    #[error(
        "`{path}`: {who} can read it, or write it: run `chmod 600 {path}`; whoever has read it can be a node"
    )]
    Open {
        /// The file.
        path: String,
        /// Who can.
        who: &'static str,
    },
    /// It is no file of keys. What it says is not shown: it may be a key with a slip.
    #[error("`{path}`, line {line}: {what}")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong there.
        what: &'static str,
    },
    /// The change cannot be made.
    #[error("{0}")]
    Change(String),
}

/// What is wrong in which line.
type Wrong = (usize, &'static str);

impl fmt::Debug for ClusterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<u32> = self.iter().map(|(number, _)| number).collect();
        f.debug_struct("ClusterKeys").field("id", &self.id).field("numbers", &numbers).finish()
    }
}

impl ClusterKeys {
    /// Those of a cluster with one key, which has the number 1.
    pub fn one(secret: [u8; 32]) -> ClusterKeys {
        ClusterKeys { id: ClusterId::of_key(&secret), keys: vec![(1, secret)] }
    }

    /// Which cluster it is; that stays so, whichever keys it has.
    pub fn id(&self) -> &ClusterId {
        &self.id
    }

    /// Numbers and keys, that which is sent with first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8; 32])> {
        self.keys.iter().map(|(number, secret)| (*number, secret))
    }

    /// Reads the file at `path`.
    ///
    /// # Errors
    /// If it cannot be read, others can read it, or it is no file of keys.
    pub fn read(path: &Path) -> Result<ClusterKeys, KeysError> {
        let name = || path.display().to_string();
        let io = |error| KeysError::Io(name(), error);
        let file = File::open(path).map_err(io)?;
        // The file that is read, whatever its name means by now.
        let metadata = file.metadata().map_err(io)?;
        if let Some(who) = other_readers(metadata.mode(), metadata.uid()) {
            return Err(KeysError::Open { path: name(), who });
        }
        let mut text = String::new();
        file.take(MAX_LENGTH).read_to_string(&mut text).map_err(io)?;
        text.parse().map_err(|(line, what)| KeysError::Line { path: name(), line, what })
    }

    /// Writes them in place of the file at `path`, which keeps its mode and its owner. It is there as it was, or whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, path: &Path) -> Result<(), KeysError> {
        secret_file::replace(path, self.text().as_bytes())
            .map_err(|error| KeysError::Io(path.display().to_string(), error))
    }

    fn text(&self) -> String {
        let mut text = String::from(
            "# Keys of a cluster. The first is sent with, all are believed; `slotcast key --help` says how to change them.\n",
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "cluster {}", self.id);
        for (number, secret) in &self.keys {
            let _ = writeln!(text, "{number} {}", HEXLOWER_PERMISSIVE.encode(secret));
        }
        text
    }

    /// Adds a key behind the others; gives its number.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add(&mut self, secret: [u8; 32]) -> Result<u32, KeysError> {
        if self.keys.len() == MAX_KEYS {
            let message = format!("there are {MAX_KEYS} keys already: remove one that is not used");
            return Err(KeysError::Change(message));
        }
        let is_free = |number: &u32| !self.keys.iter().any(|(other, _)| is_same(*number, *other));
        let last = self.keys.iter().map(|(number, _)| *number).max().unwrap_or(0);
        let number = (last.saturating_add(1)..=u32::MAX).find(is_free);
        let number = number.ok_or_else(|| KeysError::Change("the numbers are used up".into()))?;
        self.keys.push((number, secret));
        Ok(number)
    }

    /// From now on this one is sent with.
    ///
    /// # Errors
    /// If it is not there.
    pub fn send_with(&mut self, number: u32) -> Result<(), KeysError> {
        let at = self.find(number)?;
        self.keys[..=at].rotate_right(1);
        Ok(())
    }

    /// Takes one away that is not sent with.
    ///
    /// # Errors
    /// If it is, or is not there.
    pub fn remove(&mut self, number: u32) -> Result<(), KeysError> {
        match self.find(number)? {
            0 => Err(KeysError::Change(format!(
                "key {number} is sent with: use another one first, in the files of all nodes"
            ))),
            at => {
                self.keys.remove(at);
                Ok(())
            }
        }
    }

    fn find(&self, number: u32) -> Result<usize, KeysError> {
        self.keys.iter().position(|(other, _)| *other == number).ok_or_else(|| {
            let numbers: Vec<String> = self.iter().map(|(number, _)| number.to_string()).collect();
            KeysError::Change(format!(
                "there is no key {number}: the file has {}",
                numbers.join(", ")
            ))
        })
    }
}

/// Whether two numbers cannot be told apart in a datagram.
fn is_same(one: u32, other: u32) -> bool {
    one as usize % MAX_KEYS == other as usize % MAX_KEYS
}

fn digits(text: &str) -> Option<[u8; 32]> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}

impl FromStr for ClusterKeys {
    type Err = Wrong;

    fn from_str(text: &str) -> Result<ClusterKeys, Wrong> {
        if let Some(secret) = digits(text.trim()) {
            return Ok(ClusterKeys::one(secret));
        }
        let mut id = None;
        let mut keys: Vec<(u32, [u8; 32])> = Vec::new();
        let mut last = 1;
        for (n, line) in text.lines().enumerate() {
            last = n + 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with('#') => {}
                ["cluster", text] if id.is_none() => {
                    let read = ClusterId::try_from(text.to_owned());
                    id = Some(read.map_err(|_| (last, "`cluster` has 32 hexadecimal digits"))?);
                }
                [number, secret] => {
                    let number: Option<u32> = number.parse().ok().filter(|number| *number > 0);
                    let number = number.ok_or((last, "it begins with no number from 1 on"))?;
                    let secret = digits(secret).ok_or((last, "a key has 64 hexadecimal digits"))?;
                    if keys.iter().any(|(other, _)| is_same(number, *other)) {
                        return Err((last, "numbers of keys differ modulo 8"));
                    }
                    keys.push((number, secret));
                }
                _ => return Err((last, "it is no key: 64 hexadecimal digits")),
            }
        }
        let first = keys.first().ok_or((last, "there is no key: 64 hexadecimal digits"))?.1;
        let id = match id {
            Some(id) => id,
            None if keys.len() == 1 => ClusterId::of_key(&first),
            // Which one the cluster began with is not known.
            None => {
                return Err((last, "of several keys, a line `cluster ID` says of which cluster"));
            }
        };
        Ok(ClusterKeys { id, keys })
    }
}

/// Who beside its owner can read or change a file with this mode. Its group may read one that belongs to root, so
/// that a node need not run as root to have a key that it cannot change.
fn other_readers(mode: u32, owner: u32) -> Option<&'static str> {
    let group = if owner == 0 { 0o020 } else { 0o060 };
    match mode {
        _ if mode & 0o006 != 0 => Some("everybody on this machine"),
        _ if mode & group != 0 => Some("its group"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn numbers(keys: &ClusterKeys) -> Vec<u32> {
        keys.iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn a_key_is_read_by_its_owner_and_by_the_group_of_one_of_root() {
        assert_eq!(other_readers(0o100_600, 1000), None);
        assert_eq!(other_readers(0o100_400, 0), None);
        assert_eq!(other_readers(0o100_640, 0), None);
        assert_eq!(other_readers(0o100_640, 1000), Some("its group"));
        assert_eq!(other_readers(0o100_660, 0), Some("its group"));
        assert_eq!(other_readers(0o100_644, 0), Some("everybody on this machine"));
        assert_eq!(other_readers(0o100_602, 1000), Some("everybody on this machine"));
    }

    #[test]
    fn keys_come_and_go_and_the_cluster_stays_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cluster.key");
        fs::write(&path, format!("{}\n", "Ab".repeat(32))).expect("room");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).expect("it is ours");
        let mut keys = ClusterKeys::read(&path).expect("a key");
        let id = keys.id().clone();
        assert_eq!(id, ClusterId::of_key(&[0xab; 32]));
        assert_eq!(keys.add([1; 32]).ok(), Some(2));
        assert!(keys.remove(1).is_err() && keys.remove(7).is_err() && keys.send_with(7).is_err());
        keys.send_with(2).expect("it is there");
        keys.replace(&path).expect("room");
        assert_eq!(fs::metadata(&path).expect("it is there").mode() & 0o777, 0o400);
        let mut read = ClusterKeys::read(&path).expect("keys");
        assert_eq!((numbers(&read), &read), (vec![2, 1], &keys));
        read.remove(1).expect("it is not used");
        read.replace(&path).expect("room");
        let read = ClusterKeys::read(&path).expect("a key");
        assert_eq!((numbers(&read), read.id()), (vec![2], &id));
        assert!(!format!("{read:?}").contains("0101"), "it is a secret");
    }

    #[test]
    fn numbers_are_told_apart_in_three_bits() {
        let mut keys = ClusterKeys::one([0; 32]);
        for expected in 2..=8 {
            assert_eq!(keys.add([1; 32]).ok(), Some(expected));
        }
        assert!(keys.add([1; 32]).is_err(), "no ninth");
        keys.send_with(8).and_then(|()| keys.remove(3)).expect("they are there");
        assert_eq!(keys.add([1; 32]).ok(), Some(11));
    }

    #[test]
    fn what_is_no_file_of_keys_says_where() {
        let key = "a".repeat(64);
        let id = "0".repeat(32);
        for (text, line) in [
            (String::new(), 1),
            ("a".repeat(63), 1),
            (format!("1 {key}\n2 {key}"), 2),
            (format!("cluster {id}\n1 {key}\n9 {key}"), 3),
            (format!("cluster {id}\n\n0 {key}"), 3),
            (format!("# keys\ncluster {id}"), 2),
            (format!("cluster 12\n1 {key}"), 1),
            (format!("cluster {id}\n1 {key} 3"), 2),
        ] {
            assert_eq!(
                text.parse::<ClusterKeys>().err().map(|wrong| wrong.0),
                Some(line),
                "{text}"
            );
        }
    }
}
