//! How secret keys are kept: sealed with a master key (ChaCha20-Poly1305, RFC 8439).
//!
//! Signatures are checked with the secret key itself, so a hash of it is not enough. What is sealed is bound to its access
//! key and its user: put in the place of another one it cannot be opened.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use data_encoding::{BASE64, HEXLOWER, HEXLOWER_PERMISSIVE};
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::keys::Secret;
use super::secret_file::{self, SecretFileError};

/// The master key is wrong.
#[derive(Debug, Clone, thiserror::Error)]
pub enum MasterKeyError {
    /// It is none.
    #[error(
        "a master key has 64 hexadecimal digits, as `slotcast key` prints them; this has {0} bytes"
    )]
    Length(usize),
    /// Others can read its file.
    #[error("others can read the master key in `{path}` (mode {1:03o}): run `chmod 600 {path}`", path = .0.display())]
    Open(PathBuf, u32),
    /// Its file cannot be read or written.
    #[error("the master key in `{path}`: {1}", path = .0.display())]
    Io(PathBuf, Arc<std::io::Error>),
}

/// A key that secrets are sealed with.
#[derive(Clone)]
pub struct MasterKey(Arc<LessSafeKey>);

impl std::fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MasterKey(…)")
    }
}

impl MasterKey {
    /// The key that is written as 64 hexadecimal digits.
    ///
    /// # Errors
    /// If it is not.
    pub fn read(text: &str) -> Result<MasterKey, MasterKeyError> {
        let wrong = || MasterKeyError::Length(text.trim().len());
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).map_err(|_| wrong())?;
        let bytes = Zeroizing::new(bytes);
        let key = UnboundKey::new(&CHACHA20_POLY1305, &bytes).map_err(|_| wrong())?;
        Ok(MasterKey(Arc::new(LessSafeKey::new(key))))
    }

    /// The key in the file at `path`.
    ///
    /// # Errors
    /// If others can read it, or it is none.
    pub fn from_file(path: &Path) -> Result<MasterKey, MasterKeyError> {
        let text = secret_file::read(path).map_err(|error| match error {
            SecretFileError::Open(mode) => MasterKeyError::Open(path.to_owned(), mode),
            SecretFileError::Io(error) => MasterKeyError::Io(path.to_owned(), Arc::new(error)),
        })?;
        MasterKey::read(&text)
    }

    fn make(path: &Path) -> Result<MasterKey, MasterKeyError> {
        let wrong = |error| MasterKeyError::Io(path.to_owned(), Arc::new(error));
        let mut random = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *random).map_err(|error| wrong(std::io::Error::other(error)))?;
        let text = Zeroizing::new(HEXLOWER.encode(&*random) + "\n");
        secret_file::write(path, text.as_bytes()).map_err(wrong)?;
        MasterKey::read(&text)
    }

    /// `secret`, for nobody but whoever has this key.
    pub(crate) fn seal(&self, secret: &Secret, whose: &Whose<'_>) -> std::io::Result<String> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(std::io::Error::other)?;
        let mut sealed = secret.expose().as_bytes().to_vec();
        let about = Nonce::assume_unique_for_key(nonce);
        let done = self.0.seal_in_place_append_tag(about, whose.bound(), &mut sealed);
        done.map_err(|_| std::io::Error::other("the secret key cannot be sealed"))?;
        Ok(BASE64.encode(&[&nonce[..], &sealed].concat()))
    }

    /// The secret that was sealed, if it was with this key and for this pair.
    pub(crate) fn open(&self, sealed: &str, whose: &Whose<'_>) -> Option<Secret> {
        let mut bytes = Zeroizing::new(BASE64.decode(sealed.as_bytes()).ok()?);
        let (nonce, sealed) = bytes.split_first_chunk_mut::<NONCE_LEN>()?;
        let about = Nonce::assume_unique_for_key(*nonce);
        let opened = self.0.open_in_place(about, whose.bound(), sealed).ok()?;
        str::from_utf8(opened).ok().map(|text| Secret::new(text.to_owned()))
    }
}

/// Whose secret it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) user: &'a str,
    pub(crate) access: &'a str,
}

impl Whose<'_> {
    /// No two pairs give the same: neither part has a line break.
    fn bound(&self) -> Aad<Vec<u8>> {
        Aad::from(format!("slotcast user key 1\n{}\n{}", self.user, self.access).into_bytes())
    }
}

/// Where the master key comes from.
#[derive(Debug)]
pub enum MasterKeySource {
    /// It is this one.
    Key(MasterKey),
    /// It is in this file, and made there when it is needed for the first time.
    File(PathBuf, Mutex<Option<MasterKey>>),
    /// There is none.
    None,
}

impl MasterKeySource {
    /// A key in this file.
    pub fn in_file(path: PathBuf) -> MasterKeySource {
        MasterKeySource::File(path, Mutex::new(None))
    }

    /// The key, if there is one; with `makes` it is made if need be.
    pub(crate) fn get(&self, makes: bool) -> Result<Option<MasterKey>, MasterKeyError> {
        match self {
            MasterKeySource::Key(key) => Ok(Some(key.clone())),
            MasterKeySource::None => Ok(None),
            MasterKeySource::File(path, known) => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                if known.is_none() {
                    *known = match path.exists() {
                        true => Some(MasterKey::from_file(path)?),
                        false if makes => Some(MasterKey::make(path)?),
                        false => None,
                    };
                }
                Ok(known.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_opened_with_its_key_and_in_its_place_only() {
        let key = |digit: &str| MasterKey::read(&digit.repeat(64)).expect("a key");
        let secret = Secret::new("kept".into());
        let ann = Whose { user: "ann", access: "AKIA1" };
        let sealed = key("a").seal(&secret, &ann).expect("random numbers");
        assert!(!sealed.contains("kept") && sealed != key("a").seal(&secret, &ann).expect("again"));
        let opened = |digit: &str, whose: Whose<'_>| {
            key(digit).open(&sealed, &whose).map(|secret| secret.expose().to_owned())
        };
        assert_eq!(opened("a", ann), Some("kept".into()));
        assert_eq!(opened("b", ann), None);
        assert_eq!(opened("a", Whose { user: "bob", ..ann }), None);
        assert_eq!(opened("a", Whose { access: "AKIA2", ..ann }), None);
        assert!(key("a").open("", &ann).is_none() && key("a").open("!", &ann).is_none());
        assert!(MasterKey::read("abc").is_err() && MasterKey::read(&"x".repeat(64)).is_err());
    }

    #[test]
    fn a_master_key_is_made_when_it_is_needed_and_read_after_that() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("master-key");
        let source = || MasterKeySource::in_file(path.clone());
        assert!(source().get(false).expect("none yet").is_none() && !path.exists());
        let made = source().get(true).expect("room").expect("it is made");
        let whose = Whose { user: "ann", access: "AKIA1" };
        let sealed = made.seal(&Secret::new("kept".into()), &whose).expect("random numbers");
        let again = source().get(false).expect("it is there").expect("a key");
        assert!(again.open(&sealed, &whose).is_some_and(|secret| secret.is("kept")));
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        std::fs::set_permissions(&path, mode).expect("it is ours");
        let error = source().get(true).expect_err("others can read it").to_string();
        assert!(error.contains("chmod 600"), "{error}");
    }
}
