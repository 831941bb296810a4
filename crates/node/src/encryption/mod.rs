//! Content that is stored encrypted (AES-256-GCM), with keys of the server (SSE-S3) or of whoever asks (SSE-C).
//!
//! ```text
//!   master key --opens--> key of the object ---.
//!   key of a customer, and a salt --derive-----'--> key of a run of frames --> frames: chunks of 1 MiB and 32 bytes
//! ```
//!
//! Each object has a key of its own, so nothing of it fits into another one. What is said of an object says how its key is
//! had ([`Encryption`]): sealed with a master key, or derived from a key that is not kept. It travels in the metadata, under
//! a name that no client can give: a node whose program is older carries it along although it does not know what it means.
//!
//! `frames` is what content looks like, `read` and `store` are the way out and in.

mod frames;
mod keys;
mod read;
mod store;

use data_encoding::BASE64;
use slotcast_object::{Bucket, Object};

pub(crate) use self::frames::{FRAME, plain_length, stored_length};
pub use self::keys::CustomerKey;
pub(crate) use self::keys::{ObjectKey, SALT};
pub(crate) use self::read::{plain_lengths, read};
pub(crate) use self::store::{encrypted, store};
use crate::access::MasterKeyError;
use crate::content_stream::ContentError;
use crate::node::Node;

/// Among the metadata of an object: how it is encrypted.
const DESCRIPTION: &str = ":slotcast-encryption";

/// The version of the form of that.
const VERSION: &str = "1";

/// Why content cannot be encrypted or decrypted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EncryptionError {
    /// Its key is not kept here.
    #[error(
        "the object is encrypted with a key that is not kept here (SSE-C): a request of S3 reads it that has the key in \
         x-amz-server-side-encryption-customer-key"
    )]
    NeedsKey,
    /// It was encrypted with another key.
    #[error("the object is encrypted with another key than the one that was given")]
    WrongKey,
    /// There is no master key.
    #[error(
        "encryption needs a master key: set SLOTCAST_MASTER_KEY to what `slotcast key` prints, on all nodes the same, or \
         give --master-key FILE"
    )]
    NoMasterKey,
    /// The master key of this number is not there, or another one.
    #[error("the key of the object is sealed with master key {0}, which this node does not have")]
    OtherMasterKey(u32),
    /// The master keys cannot be read.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// It is not what was encrypted.
    #[error(
        "the content is not what was encrypted: something of it was changed, left out, or stands in the place of something else"
    )]
    Altered,
    /// A later version of the program has encrypted it.
    #[error("the object is encrypted in a way that this version of the program does not know")]
    Unknown,
    /// The system gives no random numbers.
    #[error("the system has no random numbers")]
    NoRandom,
}

/// How the key of an object is had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encryption {
    /// It is sealed with a master key (SSE-S3).
    Server {
        /// The number of the master key.
        master: u32,
        /// The sealed key.
        sealed: Vec<u8>,
    },
    /// It is derived from a key of whoever asks (SSE-C).
    Customer {
        /// What makes it another one for each object.
        salt: [u8; SALT],
        /// Tells whether a key is the right one, and nothing else.
        check: [u8; 32],
    },
    /// In a way that this program does not know.
    Unknown,
}

impl Encryption {
    /// How an object is encrypted, if it is.
    pub fn of(object: &Object) -> Option<Encryption> {
        let text = object.metadata.get(DESCRIPTION)?;
        Some(Encryption::read(text).unwrap_or(Encryption::Unknown))
    }

    fn read(text: &str) -> Option<Encryption> {
        let words: Vec<&str> = text.split(' ').collect();
        let bytes = |text: &str| BASE64.decode(text.as_bytes()).ok();
        match words[..] {
            [VERSION, "server", master, sealed] => {
                Some(Encryption::Server { master: master.parse().ok()?, sealed: bytes(sealed)? })
            }
            [VERSION, "customer", salt, check] => {
                let (salt, check) = (bytes(salt)?.try_into().ok()?, bytes(check)?.try_into().ok()?);
                Some(Encryption::Customer { salt, check })
            }
            _ => None,
        }
    }

    fn text(&self) -> String {
        match self {
            Encryption::Server { master, sealed } => {
                format!("{VERSION} server {master} {}", BASE64.encode(sealed))
            }
            Encryption::Customer { salt, check } => {
                format!("{VERSION} customer {} {}", BASE64.encode(salt), BASE64.encode(check))
            }
            Encryption::Unknown => "0".into(),
        }
    }

    fn put(&self, object: &mut Object) {
        object.metadata.insert(DESCRIPTION.into(), self.text());
    }

    /// What is said of the encryption of `from` is said of `to`, and nothing else of its own.
    pub fn carry(from: &Object, to: &mut Object) {
        to.metadata.remove(DESCRIPTION);
        let text = from.metadata.get(DESCRIPTION);
        to.metadata.extend(text.map(|text| (DESCRIPTION.to_owned(), text.clone())));
    }

    /// Nothing is said of the encryption of `object`.
    pub fn take(object: &mut Object) {
        object.metadata.remove(DESCRIPTION);
    }

    /// What people call it.
    pub fn name(&self) -> &'static str {
        match self {
            Encryption::Server { .. } => "SSE-S3",
            Encryption::Customer { .. } => "SSE-C",
            Encryption::Unknown => "unknown",
        }
    }

    /// Whether `key` is the one that it was encrypted with, if it was with one of a customer.
    pub fn is_with(&self, key: &CustomerKey) -> bool {
        match self {
            Encryption::Customer { salt, check } => key.fits(salt, check),
            Encryption::Server { .. } | Encryption::Unknown => false,
        }
    }
}

/// Whether an entry of the metadata of an object is about its encryption, and not for clients.
pub(crate) fn is_description(key: &str) -> bool {
    key == DESCRIPTION
}

/// How content is to be encrypted that is stored.
#[derive(Debug, Clone, Default)]
pub enum Encrypt {
    /// As its bucket says.
    #[default]
    AsBucket,
    /// With a key of the server (SSE-S3).
    Server,
    /// With this key, which is not kept (SSE-C).
    Customer(CustomerKey),
    /// It is encrypted already, as the object says.
    Done,
}

impl Encrypt {
    /// The key of the customer, if it is to be encrypted with one.
    pub(crate) fn customer(&self) -> Option<&CustomerKey> {
        match self {
            Encrypt::Customer(key) => Some(key),
            Encrypt::AsBucket | Encrypt::Server | Encrypt::Done => None,
        }
    }

    /// Whether what is stored in `bucket` is encrypted with a key of the server.
    pub(crate) fn is_by_server(&self, bucket: &Bucket) -> bool {
        match self {
            Encrypt::AsBucket => bucket.settings.encrypts,
            Encrypt::Server => true,
            Encrypt::Customer(_) | Encrypt::Done => false,
        }
    }

    /// A new key for an object that is stored in `bucket`, of which the object then says how it is had; none if it is not to be
    /// encrypted.
    pub(crate) fn begin(
        &self,
        node: &Node,
        bucket: &Bucket,
        object: &mut Object,
    ) -> Result<Option<ObjectKey>, EncryptionError> {
        if let Encrypt::Customer(key) = self {
            let salt = keys::random::<SALT>()?;
            let check = key.check(&salt);
            Encryption::Customer { salt: *salt, check }.put(object);
            return Ok(Some(key.object_key(&salt)));
        }
        if !self.is_by_server(bucket) {
            return Ok(None);
        }
        let masters = node.master_keys().get(true)?.ok_or(EncryptionError::NoMasterKey)?;
        let key = ObjectKey::random()?;
        let (master, sealed) = masters.seal_key(&key)?;
        Encryption::Server { master, sealed }.put(object);
        Ok(Some(key))
    }
}

/// The key of the content of an object, if it is encrypted.
pub(crate) fn key_of(
    node: &Node,
    object: &Object,
    customer: Option<&CustomerKey>,
) -> Result<Option<ObjectKey>, EncryptionError> {
    match Encryption::of(object) {
        None => Ok(None),
        Some(Encryption::Server { master, sealed }) => {
            let masters = node.master_keys().get(false)?;
            let opened = masters.and_then(|masters| masters.open_key(master, &sealed));
            opened.ok_or(EncryptionError::OtherMasterKey(master)).map(Some)
        }
        Some(encryption @ Encryption::Customer { salt, .. }) => match customer {
            None => Err(EncryptionError::NeedsKey),
            Some(key) if encryption.is_with(key) => Ok(Some(key.object_key(&salt))),
            Some(_) => Err(EncryptionError::WrongKey),
        },
        Some(Encryption::Unknown) => Err(EncryptionError::Unknown),
    }
}

impl From<MasterKeyError> for ContentError {
    fn from(error: MasterKeyError) -> ContentError {
        EncryptionError::from(error).into()
    }
}

#[cfg(test)]
mod tests;
