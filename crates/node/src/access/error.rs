//! Why something about users was not done.

use slotcast_policy::PolicyError;

use super::master_keys::MasterKeyError;
use crate::objects::ObjectError;

/// Why something about users was not done.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// It is no name of a user.
    #[error("`{0}` is no name of a user: 1 to 64 letters, digits and -_.@ are, but for `root`")]
    NoName(String),
    /// There is no such user.
    #[error("there is no user `{0}`: `slotcast user ls` lists them")]
    NoUser(String),
    /// There is one already.
    #[error("there is a user `{0}` already")]
    Exists(String),
    /// The user has no such key.
    #[error("the user `{0}` has no key `{1}`")]
    NoKey(String, String),
    /// The user has too many keys.
    #[error("the user `{0}` has {max} keys, and no more are kept: remove one", max = super::record::MAX_KEYS)]
    TooManyKeys(String),
    /// Too much is said of the user.
    #[error("policies and keys of `{0}` have {1} bytes together; {max} are the most", max = slotcast_object::MAX_INLINE)]
    Long(String, usize),
    /// It is no policy.
    #[error("policy `{0}`: {1}")]
    Policy(String, PolicyError),
    /// There is no such policy.
    #[error(
        "there is no policy `{0}`: readwrite, readonly, writeonly and admin are there; or give a document"
    )]
    NoPolicy(String),
    /// The first user of a store without a root may not do everything.
    #[error(
        "from the first user on credentials are asked for, and nobody could add others: give this one the policy admin, or \
         start the node with SLOTCAST_ACCESS_KEY and SLOTCAST_SECRET_KEY"
    )]
    NobodyLeft,
    /// There is no master key.
    #[error(
        "secret keys are kept sealed, and there is no master key: set SLOTCAST_MASTER_KEY to what `slotcast key` prints, on \
         all nodes the same, or give --master-key FILE"
    )]
    NoMasterKey,
    /// The secret was sealed with another master key.
    #[error("the key `{1}` of `{0}` was sealed with another master key than this node has")]
    OtherMasterKey(String, String),
    /// The master key is wrong.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// The record is not what it should be.
    #[error("what is kept of `{0}` cannot be read")]
    Damaged(String),
    /// The system gives no random numbers.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// The registers could not be read or changed.
    #[error(transparent)]
    Names(#[from] ObjectError),
}
