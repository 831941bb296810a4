//! A digest of a layout: nodes compare it to see whether chunks belong to the same targets for both.

use core::fmt;

use super::GroupMap;
use crate::ids::{GroupId, TargetId};

/// A digest of all that decides where a chunk belongs. Equal layouts have equal ones, and of different layouts
/// two have the same by a chance of 2^-64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LayoutDigest(pub [u8; 8]);

impl fmt::Display for LayoutDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl GroupMap {
    /// The digest of its groups, seats, and of who takes puts and answers gets; together with the `node` that has each
    /// target, and what else is `agreed` on, as what a failure domain is. A seat without a target is an empty one,
    /// whatever its number. O(seats).
    pub fn digest(&self, agreed: &[u8], node: impl Fn(TargetId) -> u32) -> LayoutDigest {
        let mut hasher = blake3::Hasher::new_derive_key("slotcast 2026 layout of a cluster");
        let length = |n: usize| (n as u64).to_le_bytes();
        hasher.update(&length(agreed.len())).update(agreed);
        hasher.update(&self.groups().to_le_bytes());
        for group in (0..self.groups()).map(GroupId) {
            let members = self.members(group);
            hasher.update(&length(members.len()));
            hasher.update(&self.members_for_puts(group).bits().to_le_bytes());
            hasher.update(&self.members_for_gets(group).bits().to_le_bytes());
            for target in members {
                if self.find(*target).is_none() {
                    hasher.update(&[0]);
                    continue;
                }
                hasher.update(&[1]);
                for number in [target.0, node(*target)] {
                    hasher.update(&number.to_le_bytes());
                }
            }
        }
        let mut digest = [0; 8];
        digest.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        LayoutDigest(digest)
    }
}
