//! Pairs of keys: an access key, which names somebody, and a secret key, which proves it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use zeroize::Zeroizing;

use super::secret_file::{self, SecretFileError};

/// A secret: it is never shown, and overwritten in memory when it is given up.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// This secret.
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The secret itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `text` is it. How long that takes says nothing of where they differ: hashes are compared, and these in
    /// constant time.
    pub fn is(&self, text: &str) -> bool {
        blake3::hash(self.0.as_bytes()) == blake3::hash(text.as_bytes())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A pair of keys.
#[derive(Debug, Clone)]
pub struct Keys {
    access: String,
    secret: Secret,
}

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// An access key is no access key.
    #[error("the access key has {0} bytes: 3 to 128 letters, digits and -_.@ are needed")]
    Access(usize),
    /// A secret key is too short to keep anything secret.
    #[error("the secret key has {0} bytes: 8 to 128 are needed")]
    Secret(usize),
    /// The file can be read by others.
    #[error(
        "others can read the keys in `{path}` (mode {1:03o}): run `chmod 600 {path}`, and make new keys if somebody did",
        path = .0.display()
    )]
    Open(PathBuf, u32),
    /// The file is not as it was written.
    #[error(
        "`{}` does not have an access key and a secret key, a line each: remove it to have new keys made",
        .0.display()
    )]
    Damaged(PathBuf),
    /// The file cannot be read or written.
    #[error("the keys in `{path}`: {1}", path = .0.display())]
    Io(PathBuf, io::Error),
}

impl Keys {
    /// These keys.
    ///
    /// # Errors
    /// If they are too short, or too long.
    pub fn new(access: String, secret: String) -> Result<Keys, KeysError> {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
        if !(3..=128).contains(&access.len()) || !access.bytes().all(is_fit) {
            return Err(KeysError::Access(access.len()));
        }
        if !(8..=128).contains(&secret.len()) {
            return Err(KeysError::Secret(secret.len()));
        }
        Ok(Keys { access, secret: Secret::new(secret) })
    }

    /// The keys in the file at `path`; new ones, which are written there, if there is none. Gives the secret key where it is
    /// new, to be shown once.
    ///
    /// # Errors
    /// If others can read the file, it is damaged, or cannot be read or written.
    pub fn in_file(path: &Path) -> Result<(Keys, Option<String>), KeysError> {
        let wrong = |error| KeysError::Io(path.to_owned(), error);
        match fs::exists(path) {
            Ok(true) => Keys::from_file(path).map(|keys| (keys, None)),
            Ok(false) => Keys::make(path).map(|(keys, secret)| (keys, Some(secret))),
            Err(error) => Err(wrong(error)),
        }
    }

    /// The keys in the file at `path`: an access key and a secret key, a line each.
    ///
    /// # Errors
    /// If others can read the file, it is damaged, or cannot be read.
    pub fn from_file(path: &Path) -> Result<Keys, KeysError> {
        let text = secret_file::read(path).map_err(|error| match error {
            SecretFileError::Open(mode) => KeysError::Open(path.to_owned(), mode),
            SecretFileError::Io(error) => KeysError::Io(path.to_owned(), error),
        })?;
        let mut lines = text.lines();
        let damaged = || KeysError::Damaged(path.to_owned());
        let (Some(access), Some(secret), None) = (lines.next(), lines.next(), lines.next()) else {
            return Err(damaged());
        };
        Keys::new(access.to_owned(), secret.to_owned()).map_err(|_| damaged())
    }

    /// A pair that nobody has had before.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn random() -> io::Result<Keys> {
        let mut random = Zeroizing::new([0; 42]);
        getrandom::fill(&mut *random).map_err(io::Error::other)?;
        let (first, second) = random.split_at(12);
        let secret = Secret::new(BASE64URL_NOPAD.encode(second));
        Ok(Keys { access: BASE32_NOPAD.encode(first), secret })
    }

    /// Makes new keys, and writes them to a file that only its owner can read. It is there whole, or not at all.
    fn make(path: &Path) -> Result<(Keys, String), KeysError> {
        let wrong = |error| KeysError::Io(path.to_owned(), error);
        let keys = Keys::random().map_err(wrong)?;
        let secret = keys.secret.expose().to_owned();
        let text = Zeroizing::new(format!("{}\n{secret}\n", keys.access));
        secret_file::write(path, text.as_bytes()).map_err(wrong)?;
        Ok((keys, secret))
    }

    /// The access key, which is no secret.
    pub fn access(&self) -> &str {
        &self.access
    }

    /// The secret key.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn keys_are_made_once_and_kept_for_their_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s3-keys");
        let (made, secret) = Keys::in_file(&path).expect("it is written");
        let secret = secret.expect("it is new");
        assert!(made.access().len() >= 16 && secret.len() >= 40);
        assert!(!format!("{made:?}").contains(&secret));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode();
        assert_eq!(mode(&path) & 0o777, 0o600);
        let (again, shown) = Keys::in_file(&path).expect("it is there");
        assert!(again.access() == made.access() && shown.is_none());
        let text = fs::read_to_string(&path).expect("it is there");
        assert_eq!(text, format!("{}\n{secret}\n", made.access()));
        for wrong in [0o640, 0o604, 0o660] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wrong)).expect("it is ours");
            let error = Keys::in_file(&path).expect_err("others can read it").to_string();
            assert!(error.contains("chmod 600") && error.contains("others can read"), "{error}");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        for damaged in ["", "one line\n", "a\nb\nc\n"] {
            fs::write(&path, damaged).expect("room");
            assert!(matches!(Keys::in_file(&path), Err(KeysError::Damaged(_))), "{damaged:?}");
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let new = |access: &str, secret: &str| Keys::new(access.into(), secret.into());
        assert!(new("ABC", "12345678").is_ok());
        assert!(matches!(new("AB", "12345678"), Err(KeysError::Access(2))));
        assert!(matches!(new("A/B", "12345678"), Err(KeysError::Access(3))));
        assert!(matches!(new("ABC", "1234567"), Err(KeysError::Secret(7))));
    }
}
