//! What is done with each folder at a start.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use slotcast_protocol::TargetId;
use slotcast_store::Identity;

use super::{ClusterId, Contents, Entry, Label, LastLayout, Owner, Register, Seat, State};

/// A target, as its node is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// Its number.
    pub target: TargetId,
    /// Where it is asked for chunks.
    pub seat: Seat,
    /// Its identity, should it be formatted now: made at random by the host.
    pub new: Identity,
}

/// Why a label is written to a folder that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewrite {
    /// This copy is missing or damaged.
    BrokenCopy(&'static str),
    /// It does not say yet which target the folder holds, or not where that sits now.
    Owner,
}

/// Why a folder is not taken for a target, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is there.
    pub found: String,
    /// What should be there.
    pub expected: String,
    /// What to do about it.
    pub remedy: String,
}

/// What is to be done with a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Open it, and write its label again if that says something.
    Open(Label, Option<Rewrite>),
    /// Give it this label.
    Format(Label),
    /// Leave it alone.
    Refuse(Refused),
    /// Nobody knows what is in it.
    Unreadable,
}

/// What follows from the register and the folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admission {
    /// The register, as it is to be before anything is formatted.
    pub register: Register,
    /// For each target.
    pub verdicts: Vec<Verdict>,
}

/// Decides about the folders of all targets of a node: what was `before` in the register, if there is one; what is in
/// each folder, if it can be read; segments are of `segment_size` bytes in what is formatted. A store in one process has
/// no cluster of its own and takes that of its labels, or the `new` one. O(targets log targets).
pub fn admit(
    before: Option<&Register>,
    (own, new): (Option<&ClusterId>, &ClusterId),
    targets: &[(Placed, Option<&Contents>)],
    segment_size: u64,
) -> Admission {
    let first = || first_register(own, new, targets);
    let mut register = before.cloned().unwrap_or_else(first);
    let mut verdicts = Vec::with_capacity(targets.len());
    let may_move = register.layout == LastLayout::Any;
    for (placed, contents) in targets {
        let state = match contents {
            // It was registered elsewhere: its label says who it is.
            Some(Contents::Labelled { label, .. }) if label.owner.is_some() => State::Unknown,
            _ => State::Planned(placed.new),
        };
        let entry = Entry { incarnation: 1, state };
        let entry = register.targets.entry(placed.target).or_insert(entry);
        let verdict = contents.map_or(Verdict::Unreadable, |contents| {
            decide((&register.cluster, may_move), placed, *entry, contents, segment_size)
        });
        if let Verdict::Open(label, _) = &verdict {
            let incarnation = label.owner.as_ref().map_or(1, |owner| owner.incarnation);
            *entry = Entry { incarnation, state: State::Formatted(label.identity) };
        }
        verdicts.push(verdict);
    }
    Admission { register, verdicts }
}

/// Where there is none. If any folder holds a target, or may, as one that cannot be read, the store is not new, and a folder
/// without one may be that of a disk that is not mounted.
fn first_register(
    own: Option<&ClusterId>,
    new: &ClusterId,
    all: &[(Placed, Option<&Contents>)],
) -> Register {
    let is_store = |contents: Option<&Contents>| {
        matches!(contents, None | Some(Contents::Labelled { .. } | Contents::Unreadable(_)))
    };
    let mut targets = BTreeMap::new();
    if all.iter().any(|(_, contents)| is_store(*contents)) {
        let unknown = Entry { incarnation: 1, state: State::Unknown };
        targets.extend(all.iter().map(|(placed, _)| (placed.target, unknown)));
    }
    let cluster = own.cloned().or_else(|| most_frequent_cluster(all));
    let cluster = cluster.unwrap_or_else(|| new.clone());
    Register { cluster, layout: LastLayout::Unknown, targets }
}

/// The cluster of most labels.
fn most_frequent_cluster(targets: &[(Placed, Option<&Contents>)]) -> Option<ClusterId> {
    let mut counts = BTreeMap::new();
    for (_, contents) in targets {
        if let Some(Contents::Labelled { label: Label { owner: Some(owner), .. }, .. }) = contents {
            *counts.entry(owner.cluster.clone()).or_insert(0) += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(cluster, _)| cluster)
}

/// What is to be done with a folder that has these `contents`, and should be that of the target as `entry` says. If it
/// `may_move`, somebody has said that its seat may be another one than before.
fn decide(
    (cluster, may_move): (&ClusterId, bool),
    placed: &Placed,
    entry: Entry,
    contents: &Contents,
    segment_size: u64,
) -> Verdict {
    let Placed { target, seat, .. } = *placed;
    let owner = |incarnation| Some(Owner { cluster: cluster.clone(), target, seat, incarnation });
    let refuse = |found: &str| Verdict::Refuse(refused(cluster, placed, entry, found));
    let identity = match entry.state {
        State::Planned(identity) | State::Formatted(identity) => Some(identity),
        State::Unknown => None,
    };
    let (label, broken_copy) = match (contents, entry.state) {
        (Contents::Missing | Contents::Empty, State::Planned(identity)) => {
            let owner = owner(entry.incarnation);
            return Verdict::Format(Label { identity, segment_size, owner });
        }
        (Contents::Missing, _) => return refuse("its folder is not there"),
        (Contents::Empty, _) => return refuse("its folder is empty"),
        (Contents::OtherFiles(name), _) => {
            return refuse(&format!("its folder holds other files, as `{name}`"));
        }
        (Contents::Unreadable(why), _) => return refuse(why),
        (Contents::Labelled { label, broken_copy }, _) => (label, *broken_copy),
    };
    let is_known = identity.is_some_and(|identity| identity == label.identity);
    let Some(found) = &label.owner else {
        return match is_known || identity.is_none() {
            true => {
                let label = Label { owner: owner(entry.incarnation), ..label.clone() };
                Verdict::Open(label, Some(Rewrite::Owner))
            }
            false => refuse("its folder is that of a target that is not registered here"),
        };
    };
    if found.cluster != *cluster {
        return refuse(&format!("its folder is of cluster {}", found.cluster.short()));
    }
    if found.target != target {
        return refuse(&format!("its folder is that of target {}", found.target.0));
    }
    if identity.is_some() && found.incarnation != entry.incarnation {
        return refuse(&format!("its folder is of incarnation {}", found.incarnation));
    }
    if identity.is_some() && !is_known {
        return refuse("its folder is that of another target of this number");
    }
    if found.seat != seat && may_move {
        let label = Label { owner: owner(found.incarnation), ..label.clone() };
        return Verdict::Open(label, Some(Rewrite::Owner));
    }
    if found.seat != seat {
        return refuse(&format!("its folder is of {}", found.seat));
    }
    Verdict::Open(label.clone(), broken_copy.map(Rewrite::BrokenCopy))
}

fn refused(cluster: &ClusterId, placed: &Placed, entry: Entry, found: &str) -> Refused {
    let Placed { target, seat, .. } = placed;
    let who = format!("target {} of cluster {}, {seat}", target.0, cluster.short());
    let (expected, remedy) = match entry.state {
        State::Planned(_) => (
            "an empty folder, as the target is new".to_owned(),
            "mount an empty disk, empty the folder, or name another one".to_owned(),
        ),
        State::Formatted(_) => (format!("{who}, incarnation {}", entry.incarnation), lost(*target)),
        State::Unknown => (who, lost(*target)),
    };
    Refused { found: found.to_owned(), expected, remedy }
}

/// What to do about a target that is not in its folder.
fn lost(target: TargetId) -> String {
    format!("mount its disk; if that is lost: `slotcast target replace --target {}`", target.0)
}
