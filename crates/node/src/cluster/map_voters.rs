//! Who keeps the names of each group, in a file.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use slotcast_object::{Collection, Voter, Voters, VotersError};
use slotcast_protocol::{GroupId, TargetId};

/// The voters of one group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamesEntry {
    group: u32,
    since: u64,
    voters: Vec<VoterEntry>,
    #[serde(default)]
    joining: Vec<VoterEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VoterEntry {
    target: u32,
    store: String,
    joined: u64,
}

/// Why they cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum VotersWrong {
    #[error("group {0} stands there twice")]
    Twice(u32),
    #[error("there is no group {0}")]
    NoGroup(u32),
    #[error("store = \"{0}\" is no identity: it has 16 hexadecimal digits")]
    Store(String),
    #[error("by = \"{0}\" does not say who began a round: it has 16 hexadecimal digits")]
    By(String),
    #[error("the voters of group {0}: {1}")]
    Voters(u32, VotersError),
}

fn voters_in(entries: &[VoterEntry]) -> Result<Vec<Voter>, VotersWrong> {
    let voter = |VoterEntry { target, store, joined }: &VoterEntry| {
        let number = u64::from_str_radix(store, 16).ok().filter(|_| store.len() == 16);
        let store = number.ok_or_else(|| VotersWrong::Store(store.clone()))?;
        Ok(Voter { target: TargetId(*target), store, joined: *joined })
    };
    entries.iter().map(voter).collect()
}

/// The voters of a map of so many groups.
///
/// # Errors
/// What is wrong with them.
pub(crate) fn voters_of(
    entries: &[NamesEntry],
    groups: u32,
) -> Result<BTreeMap<GroupId, Voters>, VotersWrong> {
    let mut all = BTreeMap::new();
    for NamesEntry { group, since, voters, joining } in entries {
        if *group >= groups {
            return Err(VotersWrong::NoGroup(*group));
        }
        let (old, new) = (voters_in(voters)?, voters_in(joining)?);
        let voters = Voters::of_sets(*since, &old, &new);
        let voters = voters.map_err(|why| VotersWrong::Voters(*group, why))?;
        if all.insert(GroupId(*group), voters).is_some() {
            return Err(VotersWrong::Twice(*group));
        }
    }
    Ok(all)
}

/// A round of the collection of garbage, as it stands in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollectionEntry {
    round: u64,
    by: String,
}

impl CollectionEntry {
    /// # Errors
    /// If `by` is no number that tells who began it.
    pub(crate) fn collection(&self) -> Result<Collection, VotersWrong> {
        let by = u64::from_str_radix(&self.by, 16).ok().filter(|_| self.by.len() == 16);
        let by = by.ok_or_else(|| VotersWrong::By(self.by.clone()))?;
        Ok(Collection { round: self.round, by })
    }
}

/// The same as a text, once there was one: programs that know of none read maps without.
pub(crate) fn write_collection(collection: Collection, text: &mut String) {
    let Collection { round, by } = collection;
    if round > 0 {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "collection = {{ round = {round}, by = \"{by:016x}\" }}");
    }
}

/// The same as a text.
pub(crate) fn write_voters(all: &BTreeMap<GroupId, Voters>, text: &mut String) {
    let list = |voters: &[Voter]| {
        let entry = |Voter { target, store, joined }: &Voter| {
            format!("  {{ target = {}, store = \"{store:016x}\", joined = {joined} }},\n", target.0)
        };
        voters.iter().map(entry).collect::<String>()
    };
    for (GroupId(group), voters) in all {
        let (old, new) = voters.sets();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n[[names]]\ngroup = {group}\nsince = {}", voters.epoch());
        let _ = writeln!(text, "voters = [\n{}]", list(old));
        if !new.is_empty() {
            let _ = writeln!(text, "joining = [\n{}]", list(new));
        }
    }
}
