//! Which folder is taken for which target when a node starts.
//!
//! A folder is looked at first and changed only if it holds the target that it should, or is empty and was never
//! formatted for it. Everything else is refused, and stays as it is: a disk that is not mounted, disks that were
//! swapped, a disk of another cluster. Nothing here deletes anything.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use slotcast_protocol::TargetId;
use tracing::{info, warn};

use crate::folder::{Folder, FolderError, Refusal, Rewrite};
use crate::label::{self, ClusterId, Contents, Label, Owner, Seat};
use crate::register::{self, Entry, Register, RegisterError, State};

/// A target, as its node is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedTarget {
    /// Its number.
    pub target: TargetId,
    /// Its folder.
    pub folder: PathBuf,
    /// Where it is asked for chunks.
    pub seat: Seat,
}

/// The targets of a node, as it is told, and where it keeps who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredTargets {
    /// The register: a file outside of their folders.
    pub register: PathBuf,
    /// The cluster; none of a store in one process, which makes an id of its own.
    pub cluster: Option<ClusterId>,
    /// The targets.
    pub targets: Vec<PlacedTarget>,
}

/// Folders that are open, and the lock of their register.
pub(crate) struct Opened {
    pub(crate) folders: Vec<Result<Folder, FolderError>>,
    pub(crate) register: File,
}

/// What a folder is to a node, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderState {
    /// It holds the target that it should.
    Fits,
    /// It is new: the next start formats it.
    New,
    /// It does not hold the target that it should.
    Refused,
    /// It cannot be read.
    Unreadable,
}

/// A target and its folder, for people.
#[derive(Debug)]
pub struct ListedTarget {
    /// Its number.
    pub target: TargetId,
    /// Its folder.
    pub folder: PathBuf,
    /// Counts from 1 how often the target has begun with nothing.
    pub incarnation: u32,
    /// What the folder is.
    pub state: FolderState,
    /// Why it is refused, if it is.
    pub refusal: Option<Refusal>,
    /// What the system says of a folder that cannot be read.
    pub error: Option<io::Error>,
}

/// What is to be done with a folder.
#[derive(Debug)]
enum Decision {
    /// Open it.
    Open(Label, Option<Rewrite>),
    /// Give it this label.
    Format(Label),
    /// Leave it alone.
    Refuse(Refusal),
    /// Nobody knows what is in it.
    Unreadable(io::Error),
}

/// What follows from the register and the folders, before anything is changed.
struct Plan {
    /// The register as it was, if there was one.
    before: Option<Register>,
    register: Register,
    /// For each target.
    decisions: Vec<Decision>,
}

impl RegisteredTargets {
    /// Opens the folders that hold the targets that they should, and formats those that are new, for segments of
    /// `segment_size` bytes.
    pub(crate) fn open(&self, segment_size: u64) -> Result<Opened, RegisterError> {
        let lock = register::lock(&self.register)?;
        let Plan { before, mut register, decisions } = self.plan(segment_size)?;
        self.log_register(before.as_ref(), &register);
        let is_usable =
            |decision: &Decision| matches!(decision, Decision::Open(..) | Decision::Format(_));
        // With none of its folders a node does not start. Then it has most likely been told something wrong,
        // which is not to be kept.
        if decisions.iter().any(is_usable) && before.as_ref() != Some(&register) {
            let formats = |decision: &Decision| matches!(decision, Decision::Format(_));
            match register.write(&self.register) {
                // Where nothing is formatted, the next start finds what this one has found.
                Err(error) if !decisions.iter().any(formats) => {
                    warn!(%error, "register of targets not written");
                }
                written => written?,
            }
        }
        let mut folders = Vec::new();
        let mut is_changed = false;
        for (PlacedTarget { target, folder, .. }, decision) in self.targets.iter().zip(decisions) {
            folders.push(match decision {
                Decision::Open(label, rewrite) => Folder::open_labelled(folder, &label, rewrite),
                Decision::Format(label) => {
                    let opened = Folder::format(folder, &label);
                    if opened.is_ok() {
                        info!(target = target.0, folder = %folder.display(), "target formatted");
                        let state = State::Formatted(label.identity);
                        register.targets.entry(*target).and_modify(|entry| entry.state = state);
                        is_changed = true;
                    }
                    opened
                }
                Decision::Refuse(refusal) => Err(FolderError::Refused(Box::new(refusal))),
                Decision::Unreadable(error) => {
                    Err(FolderError::Io { action: "read", path: folder.clone(), error })
                }
            });
        }
        if is_changed {
            register.write(&self.register)?;
        }
        Ok(Opened { folders, register: lock })
    }

    /// What the next start would find. Changes nothing; the node may run.
    ///
    /// # Errors
    /// If the register cannot be read.
    pub fn list(&self) -> Result<(ClusterId, Vec<ListedTarget>), RegisterError> {
        let Plan { register, decisions, .. } = self.plan(0)?;
        let listed = |(placed, decision): (&PlacedTarget, Decision)| {
            let PlacedTarget { target, folder, .. } = placed.clone();
            let incarnation = register.targets.get(&target).map_or(1, |entry| entry.incarnation);
            let (state, refusal, error) = match decision {
                Decision::Open(..) => (FolderState::Fits, None, None),
                Decision::Format(_) => (FolderState::New, None, None),
                Decision::Refuse(refusal) => (FolderState::Refused, Some(refusal), None),
                Decision::Unreadable(error) => (FolderState::Unreadable, None, Some(error)),
            };
            ListedTarget { target, folder, incarnation, state, refusal, error }
        };
        let targets = self.targets.iter().zip(decisions).map(listed).collect();
        Ok((register.cluster, targets))
    }

    /// Gives `target` up with all that its disk held: it begins with nothing in the folder that it is told, as the
    /// incarnation that is given back. The next start of the node formats the folder, which must be empty then.
    ///
    /// # Errors
    /// If the node runs, the target is new, its folder holds it still (unless `force` says that it will not), or
    /// the folder holds something else.
    pub fn replace(&self, target: TargetId, force: bool) -> Result<u32, RegisterError> {
        let number = target.0;
        let refused = |message: String, help: &str| Err(RegisterError::new(message, help));
        let Some(at) = self.targets.iter().position(|placed| placed.target == target) else {
            let message = format!("this node has no target {number}");
            return refused(message, "`slotcast target list` shows those that it has");
        };
        let _lock = register::lock(&self.register)?;
        let folder = &self.targets[at].folder;
        let place = folder.display();
        // One that runs since before registers were kept has locked the folder alone.
        if let Ok(file) = File::open(folder.join("lock"))
            && file.try_lock().is_err()
        {
            return refused(format!("`{place}` is used by another process"), "stop the node first");
        }
        let Plan { mut register, mut decisions, .. } = self.plan(0)?;
        let is_vacant = matches!(label::inspect(folder), Ok(Contents::Missing | Contents::Empty));
        match decisions.swap_remove(at) {
            Decision::Open(..) if force => {}
            Decision::Open(..) => {
                let help = "start the node. If the disk will be taken out, --force gives up what it holds, and \
                            others make up for it from their replicas";
                return refused(format!("target {number} is in `{place}`, in good order"), help);
            }
            Decision::Format(_) => {
                let help = "start the node, which formats its folder";
                return refused(format!("target {number} is new, nothing is stored in it"), help);
            }
            Decision::Refuse(_) if is_vacant => {}
            Decision::Refuse(Refusal { found, .. }) => {
                let help = "nothing is deleted here: mount the new disk, or empty the folder first";
                return refused(format!("target {number}, `{place}`: {found}"), help);
            }
            Decision::Unreadable(error) => {
                let message = format!("target {number}: cannot read `{place}`: {error}");
                return refused(message, "mount a disk that can be read");
            }
        }
        let incarnation = register.targets.get(&target).map_or(1, |entry| entry.incarnation) + 1;
        let entry = Entry { incarnation, state: State::Planned(label::random()) };
        register.targets.insert(target, entry);
        register.write(&self.register)?;
        Ok(incarnation)
    }

    /// Looks at the register and the folders, and changes nothing.
    fn plan(&self, segment_size: u64) -> Result<Plan, RegisterError> {
        let before = Register::read(&self.register)?;
        let contents: Vec<io::Result<Contents>> =
            self.targets.iter().map(|placed| label::inspect(&placed.folder)).collect();
        let mut register = before.clone().unwrap_or_else(|| self.first_register(&contents));
        let mut decisions = Vec::new();
        for (placed, contents) in self.targets.iter().zip(contents) {
            let new = match &contents {
                // It was registered elsewhere: its label says who it is.
                Ok(Contents::Labelled { label, .. }) if label.owner.is_some() => State::Unknown,
                _ => State::Planned(label::random()),
            };
            let new = Entry { incarnation: 1, state: new };
            let entry = register.targets.entry(placed.target).or_insert(new);
            let decide = |contents: Contents| {
                decide(&register.cluster, placed, *entry, &contents, segment_size)
            };
            let decision = contents.map_or_else(Decision::Unreadable, decide);
            if let Decision::Open(label, _) = &decision {
                let incarnation = label.owner.as_ref().map_or(1, |owner| owner.incarnation);
                *entry = Entry { incarnation, state: State::Formatted(label.identity) };
            }
            decisions.push(decision);
        }
        Ok(Plan { before, register, decisions })
    }

    /// Where there is none. If any folder holds a target, or may, the store is not new, and a folder without one
    /// may be that of a disk that is not mounted.
    fn first_register(&self, contents: &[io::Result<Contents>]) -> Register {
        let is_store = |contents: &io::Result<Contents>| {
            matches!(contents, Ok(Contents::Labelled { .. } | Contents::Unreadable(_)))
        };
        let mut targets = BTreeMap::new();
        if contents.iter().any(is_store) {
            let unknown = Entry { incarnation: 1, state: State::Unknown };
            targets.extend(self.targets.iter().map(|placed| (placed.target, unknown)));
        }
        let cluster = self.cluster.clone().or_else(|| most_frequent_cluster(contents));
        Register { cluster: cluster.unwrap_or_else(ClusterId::random), targets }
    }

    fn log_register(&self, before: Option<&Register>, register: &Register) {
        let place = self.register.display();
        let is_known = |entry: &Entry| !matches!(entry.state, State::Planned(_));
        match before {
            None if register.targets.values().any(is_known) => {
                warn!(register = %place, "register of targets missing: made anew from their labels");
            }
            None => info!(register = %place, targets = self.targets.len(), "new store"),
            Some(before) => {
                let derived = self.cluster.as_ref().filter(|cluster| **cluster != before.cluster);
                if let Some(derived) = derived {
                    warn!(
                        register = %place,
                        cluster = %before.cluster,
                        by_key = %derived,
                        "the key is not that with which the targets of this node were registered"
                    );
                }
            }
        }
    }
}

/// What is to be done with a folder that has these `contents`, and should be that of the target as `entry` says.
fn decide(
    cluster: &ClusterId,
    placed: &PlacedTarget,
    entry: Entry,
    contents: &Contents,
    segment_size: u64,
) -> Decision {
    let PlacedTarget { target, seat, .. } = placed;
    let (target, seat) = (*target, *seat);
    let owner = |incarnation| Some(Owner { cluster: cluster.clone(), target, seat, incarnation });
    let refuse = |found: &str| Decision::Refuse(refusal(cluster, placed, entry, found));
    let identity = match entry.state {
        State::Planned(identity) | State::Formatted(identity) => Some(identity),
        State::Unknown => None,
    };
    let (label, broken_copy) = match (contents, entry.state) {
        (Contents::Missing | Contents::Empty, State::Planned(identity)) => {
            return Decision::Format(Label {
                identity,
                segment_size,
                owner: owner(entry.incarnation),
            });
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
                Decision::Open(label, Some(Rewrite::Owner))
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
    if found.seat != seat {
        return refuse(&format!("its folder is of {}", found.seat));
    }
    Decision::Open(label.clone(), broken_copy.map(Rewrite::BrokenCopy))
}

fn refusal(cluster: &ClusterId, placed: &PlacedTarget, entry: Entry, found: &str) -> Refusal {
    let PlacedTarget { target, folder, seat } = placed.clone();
    let who = format!("target {} of cluster {}, {seat}", target.0, cluster.short());
    let (expected, remedy) = match entry.state {
        State::Planned(_) => (
            "an empty folder, as the target is new".to_owned(),
            "mount an empty disk, empty the folder, or name another one".to_owned(),
        ),
        State::Formatted(_) => (format!("{who}, incarnation {}", entry.incarnation), lost(target)),
        State::Unknown => (who, lost(target)),
    };
    Refusal { target: Some(target), folder, found: found.to_owned(), expected, remedy }
}

/// What to do about a target that is not in its folder.
fn lost(target: TargetId) -> String {
    format!("mount its disk; if that is lost: `slotcast target replace --target {}`", target.0)
}

/// The cluster of most labels.
fn most_frequent_cluster(contents: &[io::Result<Contents>]) -> Option<ClusterId> {
    let mut counts = BTreeMap::new();
    for contents in contents {
        if let Ok(Contents::Labelled { label: Label { owner: Some(owner), .. }, .. }) = contents {
            *counts.entry(owner.cluster.clone()).or_insert(0) += 1;
        }
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(cluster, _)| cluster)
}

/// The number of targets of the store in one process under `data`, if there is one: that of its register, or of
/// its folders if that is missing.
///
/// # Errors
/// If `told` is another number, or the register cannot be read.
pub fn targets_in(data: &Path, told: Option<u32>) -> Result<Option<u32>, RegisterError> {
    let found = match Register::read(&register_in(data))? {
        Some(register) => register.targets.last_key_value().map(|(target, _)| target.0 + 1),
        None => folders_in(data),
    };
    match (found, told) {
        (Some(found), Some(told)) if found != told => {
            let message =
                format!("the store under `{}` has {found} targets, not {told}", data.display());
            let help = format!("chunks are placed by it: give --targets {found}, or leave it out");
            Err(RegisterError::new(message, help))
        }
        _ => Ok(found),
    }
}

/// Where the register of the store in one process under `data` is.
pub fn register_in(data: &Path) -> PathBuf {
    data.join("targets.toml")
}

/// Where its target `number` is.
pub fn folder_in(data: &Path, number: u32) -> PathBuf {
    data.join(format!("target-{number:03}"))
}

/// One more than the highest number of a target's folder in `data`, if any of them holds a target, or may.
fn folders_in(data: &Path) -> Option<u32> {
    let entries = fs::read_dir(data).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let numbers: Vec<u32> =
        names.filter_map(|name| name.strip_prefix("target-")?.parse().ok()).collect();
    let holds = |number: &u32| {
        let contents = label::inspect(&folder_in(data, *number));
        matches!(contents, Ok(Contents::Labelled { .. } | Contents::Unreadable(_)))
    };
    let highest = numbers.iter().max()?;
    numbers.iter().any(holds).then_some(highest + 1)
}

#[cfg(test)]
mod tests;
