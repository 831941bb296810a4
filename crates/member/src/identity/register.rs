//! What a node knows of its targets apart from their folders.

use alloc::collections::BTreeMap;
use alloc::string::String;

use slotcast_protocol::TargetId;
use slotcast_store::Identity;

use super::layout::LastLayout;
use super::{ClusterId, Verdict};

/// What is known of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Counts from 1 how often the target has begun with nothing.
    pub incarnation: u32,
    /// How far it is.
    pub state: State,
}

/// How far a target is, and by what its folder is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its folder is to be formatted with this identity, or was when a crash came: nothing was ever stored in it.
    Planned(Identity),
    /// Its folder has this identity.
    Formatted(Identity),
    /// It may have been there before this register was: its own label says what it is.
    Unknown,
}

/// The targets of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Their cluster.
    pub cluster: ClusterId,
    /// How the cluster was laid out when they were used last.
    pub layout: LastLayout,
    /// Who they are.
    pub targets: BTreeMap<TargetId, Entry>,
}

/// Why a target is not given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotReplaced {
    /// Its folder holds it, and nobody insists.
    IsThere,
    /// It is new: nothing was ever stored in it.
    IsNew,
    /// Its folder holds something else: what.
    HoldsOther(String),
    /// Its folder cannot be read.
    Unreadable,
}

impl Register {
    /// The incarnation of a target.
    pub fn incarnation(&self, target: TargetId) -> u32 {
        self.targets.get(&target).map_or(1, |entry| entry.incarnation)
    }

    /// With the folder of `target` formatted as this identity.
    #[must_use]
    pub fn formatted(mut self, target: TargetId, identity: Identity) -> Register {
        let entry = self.targets.entry(target);
        entry.and_modify(|entry| entry.state = State::Formatted(identity));
        self
    }

    /// Whether a target is only planned here that is formatted as `other` says.
    pub fn plans_what_is_in(&self, other: &Register) -> bool {
        let is_formatted = |target: &TargetId| {
            let entry = other.targets.get(target);
            entry.is_some_and(|entry| matches!(entry.state, State::Formatted(_)))
        };
        let mut all = self.targets.iter();
        all.any(|(target, entry)| matches!(entry.state, State::Planned(_)) && is_formatted(target))
    }

    /// With `target` given up, and all that its disk held: its next incarnation begins with nothing, as `new`.
    /// `verdict` is what the next start would make of its folder, which `is_vacant` if nothing is in it. If the
    /// target is in order, somebody must insist: its disk will be taken out.
    ///
    /// # Errors
    /// If that would give up something that is there, or the next start would refuse the folder.
    pub fn replaced(
        mut self,
        target: TargetId,
        (verdict, is_vacant): (&Verdict, bool),
        insists: bool,
        new: Identity,
    ) -> Result<Register, NotReplaced> {
        match verdict {
            Verdict::Open(..) if insists => {}
            Verdict::Open(..) => return Err(NotReplaced::IsThere),
            Verdict::Format(_) => return Err(NotReplaced::IsNew),
            Verdict::Refuse(_) if is_vacant => {}
            Verdict::Refuse(refused) => return Err(NotReplaced::HoldsOther(refused.found.clone())),
            Verdict::Unreadable => return Err(NotReplaced::Unreadable),
        }
        let incarnation = self.incarnation(target) + 1;
        self.targets.insert(target, Entry { incarnation, state: State::Planned(new) });
        Ok(self)
    }
}
