//! The keys of the gateway.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use s3s::auth::{S3Auth, SecretKey};
use s3s::{S3Result, s3_error};

/// The pair of keys that requests are signed with.
#[derive(Clone)]
pub struct Keys {
    access: String,
    secret: SecretKey,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is never shown.
        f.debug_struct("Keys").field("access", &self.access).finish_non_exhaustive()
    }
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
        "others can read the keys in `{0}` (mode {1:03o}): run `chmod 600 {0}`, and make new keys if somebody did"
    )]
    Open(PathBuf, u32),
    /// The file is not as it was written.
    #[error(
        "`{0}` does not have an access key and a secret key, a line each: remove it to have new keys made"
    )]
    Damaged(PathBuf),
    /// The file cannot be read or written.
    #[error("the keys in `{0}`: {1}")]
    Io(PathBuf, io::Error),
}

/// The mode of the file.
const MODE: u32 = 0o600;

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
        Ok(Keys { access, secret: secret.into() })
    }

    /// The keys in the file at `path`; new ones, which are written there, if there is none. Gives the secret key where it is
    /// new, to be shown once.
    ///
    /// # Errors
    /// If others can read the file, it is damaged, or cannot be read or written.
    pub fn in_file(path: &Path) -> Result<(Keys, Option<String>), KeysError> {
        let wrong = |error| KeysError::Io(path.to_owned(), error);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Keys::make(path).map(|(keys, secret)| (keys, Some(secret)));
            }
            Err(error) => return Err(wrong(error)),
        };
        let mode = fs::metadata(path).map_err(wrong)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(KeysError::Open(path.to_owned(), mode));
        }
        let mut lines = text.lines();
        let damaged = || KeysError::Damaged(path.to_owned());
        let (Some(access), Some(secret), None) = (lines.next(), lines.next(), lines.next()) else {
            return Err(damaged());
        };
        let keys = Keys::new(access.to_owned(), secret.to_owned()).map_err(|_| damaged())?;
        Ok((keys, None))
    }

    /// Makes new keys, and writes them to a file that only its owner can read. It is there whole, or not at all.
    fn make(path: &Path) -> Result<(Keys, String), KeysError> {
        let wrong = |error| KeysError::Io(path.to_owned(), error);
        let mut random = [0; 42];
        getrandom::fill(&mut random).map_err(|error| wrong(io::Error::other(error)))?;
        let (first, second) = random.split_at(12);
        let (access, secret) = (BASE32_NOPAD.encode(first), BASE64URL_NOPAD.encode(second));
        let new = path.with_extension("new");
        // What is left of an earlier attempt has a mode of its own.
        let _ = fs::remove_file(&new);
        let mut file = fs::OpenOptions::new();
        let mut file = file.write(true).create_new(true).mode(MODE).open(&new).map_err(wrong)?;
        file.write_all(format!("{access}\n{secret}\n").as_bytes()).map_err(wrong)?;
        file.sync_all().map_err(wrong)?;
        fs::rename(&new, path).map_err(wrong)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(wrong)?;
        }
        Ok((Keys::new(access, secret.clone())?, secret))
    }

    /// The access key, which is no secret.
    pub fn access(&self) -> &str {
        &self.access
    }
}

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        match access_key == self.access {
            true => Ok(self.secret.clone()),
            false => Err(s3_error!(
                InvalidAccessKeyId,
                "The AWS Access Key Id you provided does not exist in our records."
            )),
        }
    }
}

#[cfg(test)]
mod tests {
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
