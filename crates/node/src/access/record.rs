//! What is kept of users and keys, in registers, as JSON.
//!
//! A key counts only if its own register names a user, and the register of that user names the key. So it is there from one
//! moment on, and gone from one moment on, although two registers change: the key comes before the user says so, and goes
//! after the user has ceased to. No two users have the same access key, since that is the name of a register.

use serde::{Deserialize, Serialize};
use slotcast_object::MAX_INLINE;
use slotcast_policy::{Policy, canned};

use super::error::AccessError;

/// The most keys of a user.
pub(crate) const MAX_KEYS: usize = 8;

/// The most bytes of the name of a user.
const MAX_NAME: usize = 64;

/// What is kept of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UserRecord {
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: u64,
    /// Whether its keys count.
    pub(crate) is_active: bool,
    /// Its keys.
    pub(crate) keys: Vec<KeyOfUser>,
    /// What it may do.
    pub(crate) policies: Vec<Attached>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyOfUser {
    pub(crate) access: String,
    /// When it was made, in milliseconds since 1970.
    pub(crate) created: u64,
}

/// A policy that a user has: one that is there already, or a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attached {
    /// Its name.
    pub policy: String,
    /// Its document; none if it is there already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// What is kept of a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KeyRecord {
    /// Whose it is.
    pub(crate) user: String,
    /// The secret key, sealed.
    pub(crate) sealed: String,
}

impl Attached {
    /// The policy.
    pub(crate) fn read(&self) -> Result<Policy, AccessError> {
        let document = match &self.document {
            Some(document) => document,
            None => {
                canned(&self.policy).ok_or_else(|| AccessError::NoPolicy(self.policy.clone()))?
            }
        };
        Policy::of_user(document).map_err(|error| AccessError::Policy(self.policy.clone(), error))
    }
}

impl UserRecord {
    /// All of its policies.
    pub(crate) fn policies(&self) -> Result<Vec<Policy>, AccessError> {
        self.policies.iter().map(Attached::read).collect()
    }

    /// Whether it can add users.
    pub(crate) fn is_admin(&self) -> bool {
        self.policies.iter().any(|of| of.policy == "admin" && of.document.is_none())
    }

    /// As it is kept of the user of this name.
    pub(crate) fn write(&self, name: &str) -> Result<Vec<u8>, AccessError> {
        let text = serde_json::to_vec(self).map_err(|_| AccessError::Damaged(name.to_owned()))?;
        match text.len() {
            length if length > MAX_INLINE => Err(AccessError::Long(name.to_owned(), length)),
            _ => Ok(text),
        }
    }
}

/// Refuses what is no name of a user.
pub(crate) fn check_name(name: &str) -> Result<(), AccessError> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_fit);
    // A part of a path that is a way up is none of a request.
    match is_name && !matches!(name, "root" | "." | "..") {
        true => Ok(()),
        false => Err(AccessError::NoName(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_users_are_short_and_plain() {
        for name in ["ann", "a.b@example.org", "x-1_2"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "root", "..", "a b", "a/b", "ü", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn a_policy_is_there_already_or_has_a_document() {
        let of = |policy: &str, document: Option<&str>| {
            let document = document.map(str::to_owned);
            Attached { policy: policy.into(), document }.read().map(drop)
        };
        assert!(of("readonly", None).is_ok());
        assert!(matches!(of("mine", None), Err(AccessError::NoPolicy(_))));
        assert!(matches!(of("mine", Some("{}")), Err(AccessError::Policy(..))));
    }
}
