//! Master keys: what is kept in registers and must stay secret is sealed with them.
//!
//! They have numbers. What is new is sealed with the first, and what was sealed with any of them is opened. So they are
//! rotated: a new one is added behind the others in the files of all nodes, and then comes first in all of them.

use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use zeroize::Zeroizing;

use super::secret_file::{self, SecretFileError};
use crate::file_stamp::{Stamp, stamp};

/// The most master keys at a time.
pub const MAX_MASTER_KEYS: usize = 64;

/// The master keys are wrong.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MasterKeyError {
    /// It is none. What it says is not shown: it may be a key with a slip.
    #[error(
        "line {0} of the master keys: a key has 64 hexadecimal digits, as `slotcast key` prints them, and a number before \
         it where there are several"
    )]
    Malformed(usize),
    /// Others can read its file.
    #[error("others can read the master key in `{path}` (mode {1:03o}): run `chmod 600 {path}`", path = .0.display())]
    Open(PathBuf, u32),
    /// Its file cannot be read or written.
    #[error("the master key in `{path}`: {1}", path = .0.display())]
    Io(PathBuf, Arc<io::Error>),
    /// There is no key of this number.
    #[error("there is no master key {0}")]
    NoKey(u32),
    /// No more keys are kept.
    #[error("there are {MAX_MASTER_KEYS} master keys, and no more are kept")]
    TooMany,
}

/// One key of 256 bits, overwritten in memory when it is given up.
type KeyBytes = Zeroizing<[u8; 32]>;

/// Keys that secrets are sealed with: the first seals, all open. Clones are the same.
#[derive(Clone)]
pub struct MasterKeys(Arc<Vec<(u32, KeyBytes)>>);

impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MasterKeys").field(&self.numbers().collect::<Vec<_>>()).finish()
    }
}

fn random() -> io::Result<KeyBytes> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes).map_err(io::Error::other)?;
    Ok(bytes)
}

fn digits(text: &str) -> Option<KeyBytes> {
    let decoded = Zeroizing::new(HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?);
    let mut bytes = Zeroizing::new([0; 32]);
    (decoded.len() == bytes.len()).then(|| bytes.copy_from_slice(&decoded))?;
    Some(bytes)
}

impl MasterKeys {
    /// The keys that a text has: one by itself, which has number 1, or a number and a key in each line. Commas may stand
    /// for the ends of lines, as they do in variables of the environment.
    ///
    /// # Errors
    /// If it does not have them.
    pub fn read(text: &str) -> Result<MasterKeys, MasterKeyError> {
        if let Some(key) = digits(text.trim()) {
            return Ok(MasterKeys(Arc::new(vec![(1, key)])));
        }
        let (mut keys, mut last): (Vec<(u32, KeyBytes)>, usize) = (Vec::new(), 1);
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with('#'));
        for (entry, n) in lines.flat_map(|(line, n)| line.split(',').map(move |entry| (entry, n))) {
            let mut words = entry.split_whitespace();
            let Some(first) = words.next() else { continue };
            last = n;
            let number = first.parse::<u32>().ok().filter(|number| *number > 0);
            let key = words.next().and_then(digits);
            let (Some(number), Some(key), None) = (number, key, words.next()) else {
                return Err(MasterKeyError::Malformed(last));
            };
            if keys.iter().any(|(other, _)| *other == number) {
                return Err(MasterKeyError::Malformed(last));
            }
            keys.push((number, key));
        }
        match keys.len() {
            0 => Err(MasterKeyError::Malformed(last)),
            1..=MAX_MASTER_KEYS => Ok(MasterKeys(Arc::new(keys))),
            _ => Err(MasterKeyError::TooMany),
        }
    }

    /// The keys in the file at `path`.
    ///
    /// # Errors
    /// If others can read it, or it has none.
    pub fn from_file(path: &Path) -> Result<MasterKeys, MasterKeyError> {
        let text = secret_file::read(path).map_err(|error| match error {
            SecretFileError::Open(mode) => MasterKeyError::Open(path.to_owned(), mode),
            SecretFileError::Io(error) => MasterKeyError::Io(path.to_owned(), Arc::new(error)),
        })?;
        MasterKeys::read(&text)
    }

    /// Writes them in place of the file at `path`, which keeps its mode and its owner. It is there as it was, or whole.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn replace(&self, path: &Path) -> Result<(), MasterKeyError> {
        secret_file::replace(path, self.text().as_bytes())
            .map_err(|error| MasterKeyError::Io(path.to_owned(), Arc::new(error)))
    }

    fn make(path: &Path) -> Result<MasterKeys, MasterKeyError> {
        let wrong = |error| MasterKeyError::Io(path.to_owned(), Arc::new(error));
        let keys = MasterKeys(Arc::new(vec![(1, random().map_err(wrong)?)]));
        secret_file::write(path, keys.text().as_bytes()).map_err(wrong)?;
        Ok(keys)
    }

    fn text(&self) -> Zeroizing<String> {
        if let [(1, key)] = &self.0[..] {
            return Zeroizing::new(HEXLOWER.encode(&**key) + "\n");
        }
        let mut text = Zeroizing::new(String::with_capacity(128 + self.0.len() * 80));
        text.push_str("# Master keys. The first seals what is new, all open; see `slotcast key master --help`.\n");
        for (number, key) in self.0.iter() {
            let digits = Zeroizing::new(HEXLOWER.encode(&**key));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{number} {}", *digits);
        }
        text
    }

    /// Numbers of the keys, that which seals first.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(number, _)| *number)
    }

    /// The keys with their numbers, that which seals first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &[u8; 32])> {
        self.0.iter().map(|(number, key)| (*number, &**key))
    }

    /// That which seals.
    pub(crate) fn first(&self) -> (u32, &[u8; 32]) {
        self.iter().next().expect("there is one")
    }

    /// With a further key behind the others; and its number.
    ///
    /// # Errors
    /// If there are too many.
    pub fn with_new(&self) -> Result<(MasterKeys, u32), MasterKeyError> {
        if self.0.len() >= MAX_MASTER_KEYS {
            return Err(MasterKeyError::TooMany);
        }
        let last = self.numbers().max().unwrap_or(0);
        let number = last.checked_add(1).ok_or(MasterKeyError::TooMany)?;
        let wrong = |error| MasterKeyError::Io(PathBuf::from("/dev/urandom"), Arc::new(error));
        let mut keys = (*self.0).clone();
        keys.push((number, random().map_err(wrong)?));
        Ok((MasterKeys(Arc::new(keys)), number))
    }

    /// The same, of which this one seals.
    ///
    /// # Errors
    /// If it is not there.
    pub fn sealing_with(&self, number: u32) -> Result<MasterKeys, MasterKeyError> {
        let at = self.numbers().position(|other| other == number);
        let at = at.ok_or(MasterKeyError::NoKey(number))?;
        let mut keys = (*self.0).clone();
        keys[..=at].rotate_right(1);
        Ok(MasterKeys(Arc::new(keys)))
    }
}

/// Where the master keys come from.
#[derive(Debug)]
pub enum MasterKeySource {
    /// They are these.
    Keys(MasterKeys),
    /// They are in a file, which is read again when it has changed.
    File(MasterKeyFile),
    /// There are none.
    None,
}

/// A file with master keys.
#[derive(Debug)]
pub struct MasterKeyFile {
    path: PathBuf,
    /// It is made when it is needed for the first time.
    is_made: bool,
    known: Mutex<Option<(Stamp, MasterKeys)>>,
}

impl MasterKeySource {
    /// Keys in this file, which is made with one when it is needed for the first time.
    pub fn in_file(path: PathBuf) -> MasterKeySource {
        MasterKeySource::File(MasterKeyFile { path, is_made: true, known: Mutex::new(None) })
    }

    /// Keys in this file, which is there.
    ///
    /// # Errors
    /// If others can read it, or it has none.
    pub fn of_file(path: PathBuf) -> Result<MasterKeySource, MasterKeyError> {
        let file = MasterKeyFile { path, is_made: false, known: Mutex::new(None) };
        file.get(false)?;
        Ok(MasterKeySource::File(file))
    }

    /// The keys, if there are any; with `makes` one is made if need be.
    pub(crate) fn get(&self, makes: bool) -> Result<Option<MasterKeys>, MasterKeyError> {
        match self {
            MasterKeySource::Keys(keys) => Ok(Some(keys.clone())),
            MasterKeySource::None => Ok(None),
            MasterKeySource::File(file) => file.get(makes),
        }
    }
}

impl MasterKeyFile {
    fn get(&self, makes: bool) -> Result<Option<MasterKeys>, MasterKeyError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stamp(&self.path);
        if let Some((before, keys)) = &*known
            && (*before == now || now.is_none())
        {
            return Ok(Some(keys.clone()));
        }
        let read = match now {
            None if self.is_made && makes => MasterKeys::make(&self.path),
            None if self.is_made => return Ok(None),
            _ => MasterKeys::from_file(&self.path),
        };
        match (read, &mut *known) {
            (Ok(keys), known) => {
                // What was just made is not read again.
                *known = Some((now.or_else(|| stamp(&self.path)), keys.clone()));
                Ok(Some(keys))
            }
            (Err(error), Some((before, keys))) => {
                tracing::error!(%error, "the master keys were changed and cannot be read: those before them count");
                *before = now;
                Ok(Some(keys.clone()))
            }
            (Err(error), None) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn numbers(keys: &MasterKeys) -> Vec<u32> {
        keys.numbers().collect()
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        let (a, b) = ("a".repeat(64), "B".repeat(64));
        let one = MasterKeys::read(&format!("{a}\n")).expect("a key");
        assert_eq!(numbers(&one), [1]);
        assert_eq!(*one.text(), format!("{a}\n"));
        for text in [format!("2 {b}\n# old\n\n1 {a}\n"), format!("2 {b}, 1 {a}")] {
            let both = MasterKeys::read(&text).expect("two keys");
            assert_eq!(numbers(&both), [2, 1]);
            assert_eq!(both.first(), (2, &[0xbb; 32]));
            let again = MasterKeys::read(&both.text()).expect("two keys");
            assert!(again.iter().eq(both.iter()));
            assert!(!format!("{both:?}").contains("bb"), "it is a secret");
        }
        for (text, line) in [
            (String::new(), 1),
            ("x".repeat(64), 1),
            (format!("0 {a}"), 1),
            (format!("1 {a}\n1 {b}"), 2),
            (format!("1 {a}\n2 {b} 3"), 2),
        ] {
            let error = MasterKeys::read(&text).expect_err(&text);
            assert!(matches!(error, MasterKeyError::Malformed(n) if n == line), "{text}: {error}");
            assert!(!error.to_string().contains(&a), "it is a secret");
        }
    }

    #[test]
    fn a_file_is_made_when_it_is_needed_and_read_again_when_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("master-key");
        let source = || MasterKeySource::in_file(path.clone());
        assert!(MasterKeySource::of_file(path.clone()).is_err());
        assert!(source().get(false).expect("none yet").is_none() && !path.exists());
        let kept = source();
        let made = kept.get(true).expect("room").expect("it is made");
        let again = source().get(false).expect("it is there").expect("a key");
        assert!(again.iter().eq(made.iter()));
        let (more, number) = made.with_new().expect("room for more");
        assert_eq!((numbers(&more), number), (vec![1, 2], 2));
        more.sealing_with(2).expect("it is there").replace(&path).expect("room");
        assert!(more.sealing_with(3).is_err());
        assert_eq!(numbers(&kept.get(false).expect("keys").expect("keys")), [2, 1]);
        // A slip while the node runs does no harm.
        fs::write(&path, "no key").expect("room");
        assert_eq!(numbers(&kept.get(false).expect("keys").expect("keys")), [2, 1]);
        assert!(source().get(true).is_err(), "it is not written over");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        let error = source().get(true).expect_err("others can read it").to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
