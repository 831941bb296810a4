//! Opens the folders of a node's targets, as [`slotcast_member::identity`] decides.
//!
//! A folder is looked at first and changed only if it is taken for its target. Nothing here deletes anything.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use slotcast_member::identity::{
    Admission, ClusterId, Contents, Entry, LastLayout, Layout, NotReplaced, Placed, Refused,
    Register, Seat, State, Verdict, admit,
};
use slotcast_protocol::TargetId;
use tracing::{info, warn};

use crate::folder::{Folder, FolderError, Refusal};
use crate::label;
use crate::register::{self, RegisterError};

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
    /// How they are laid out with the others.
    pub layout: Layout,
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

/// What follows from the register and the folders, before anything is changed.
struct Plan {
    /// The register as it was, if there was one.
    before: Option<Register>,
    register: Register,
    /// For each target, and why its folder could not be read.
    verdicts: Vec<(Verdict, Option<io::Error>)>,
}

impl RegisteredTargets {
    /// Opens the folders that hold the targets that they should, and formats those that are new, for segments of
    /// `segment_size` bytes.
    pub(crate) fn open(&self, segment_size: u64) -> Result<Opened, RegisterError> {
        let lock = register::lock(&self.register)?;
        let Plan { before, mut register, verdicts } = self.plan(segment_size)?;
        register.layout.may_become(&self.layout).map_err(|change| {
            RegisterError::new(format!("another layout: {}", change.message), change.remedy)
        })?;
        register.layout = register.layout.after(&self.layout);
        self.log_register(before.as_ref(), &register);
        let formats = |(verdict, _): &(Verdict, _)| matches!(verdict, Verdict::Format(_));
        let opens = |(verdict, _): &(Verdict, _)| matches!(verdict, Verdict::Open(..));
        // With none of its folders a node does not start. Then it has most likely been told something wrong,
        // which is not to be kept.
        let is_usable = |verdict: &_| opens(verdict) || formats(verdict);
        // A target that is only planned as far as the register says would be made anew where its disk is not mounted.
        let is_found = before.as_ref().is_some_and(|before| before.plans_what_is_in(&register));
        if verdicts.iter().any(is_usable) && before.as_ref() != Some(&register) {
            match register::write(&register, &self.register) {
                // Where nothing is formatted, the next start finds what this one has found.
                Err(error) if !is_found && !verdicts.iter().any(formats) => {
                    warn!(%error, "register of targets not written");
                }
                written => written?,
            }
        }
        let mut folders = Vec::new();
        let mut is_changed = false;
        for (placed, (verdict, error)) in self.targets.iter().zip(verdicts) {
            let PlacedTarget { target, folder, .. } = placed;
            folders.push(match verdict {
                Verdict::Open(label, rewrite) => Folder::open_labelled(folder, &label, rewrite),
                Verdict::Format(label) => {
                    let opened = Folder::format(folder, &label);
                    if opened.is_ok() {
                        info!(target = target.0, folder = %folder.display(), "target formatted");
                        register = register.formatted(*target, label.identity);
                        is_changed = true;
                    }
                    opened
                }
                Verdict::Refuse(refused) => {
                    Err(FolderError::Refused(Box::new(refusal(placed, refused))))
                }
                Verdict::Unreadable => {
                    let error = error.unwrap_or_else(|| io::ErrorKind::Other.into());
                    Err(FolderError::Io { action: "read", path: folder.clone(), error })
                }
            });
        }
        if is_changed {
            register::write(&register, &self.register)?;
        }
        Ok(Opened { folders, register: lock })
    }

    /// What the next start would find. Changes nothing; the node may run.
    ///
    /// # Errors
    /// If the register cannot be read.
    pub fn list(&self) -> Result<(ClusterId, Vec<ListedTarget>), RegisterError> {
        let Plan { register, verdicts, .. } = self.plan(0)?;
        let listed = |(placed, (verdict, error)): (&PlacedTarget, (Verdict, _))| {
            let PlacedTarget { target, folder, .. } = placed.clone();
            let incarnation = register.incarnation(target);
            let (state, refusal) = match verdict {
                Verdict::Open(..) => (FolderState::Fits, None),
                Verdict::Format(_) => (FolderState::New, None),
                Verdict::Refuse(refused) => (FolderState::Refused, Some(refusal(placed, refused))),
                Verdict::Unreadable => (FolderState::Unreadable, None),
            };
            ListedTarget { target, folder, incarnation, state, refusal, error }
        };
        let targets = self.targets.iter().zip(verdicts).map(listed).collect();
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
        let Plan { register, mut verdicts, .. } = self.plan(0)?;
        let (verdict, error) = verdicts.swap_remove(at);
        let is_vacant = matches!(label::inspect(folder), Ok(Contents::Missing | Contents::Empty));
        let new = label::random_identity();
        let register = match register.replaced(target, (&verdict, is_vacant), force, new) {
            Ok(register) => register,
            Err(NotReplaced::IsThere) => {
                let help = "start the node. If the disk will be taken out, --force gives up what it holds, and \
                            others make up for it from their replicas";
                return refused(format!("target {number} is in `{place}`, in good order"), help);
            }
            Err(NotReplaced::IsNew) => {
                let help = "start the node, which formats its folder";
                return refused(format!("target {number} is new, nothing is stored in it"), help);
            }
            Err(NotReplaced::HoldsOther(found)) => {
                let help = "nothing is deleted here: mount the new disk, or empty the folder first";
                return refused(format!("target {number}, `{place}`: {found}"), help);
            }
            Err(NotReplaced::Unreadable) => {
                let error = error.unwrap_or_else(|| io::ErrorKind::Other.into());
                let message = format!("target {number}: cannot read `{place}`: {error}");
                return refused(message, "mount a disk that can be read");
            }
        };
        register::write(&register, &self.register)?;
        Ok(register.incarnation(target))
    }

    /// Lets the next start of the node use its targets with any layout. Gives the one that it has now.
    ///
    /// # Errors
    /// If the node runs, or has no register.
    pub fn accept_layout(&self) -> Result<Layout, RegisterError> {
        let _lock = register::lock(&self.register)?;
        let Some(mut register) = register::read(&self.register)? else {
            let message = format!("there is no register `{}`", self.register.display());
            return Err(RegisterError::new(message, "start the node, which makes it"));
        };
        register.layout = LastLayout::Any;
        register::write(&register, &self.register)?;
        Ok(self.layout)
    }

    /// Looks at the register and the folders, and changes nothing.
    fn plan(&self, segment_size: u64) -> Result<Plan, RegisterError> {
        let before = register::read(&self.register)?;
        let contents: Vec<io::Result<Contents>> =
            self.targets.iter().map(|placed| label::inspect(&placed.folder)).collect();
        let placed = |PlacedTarget { target, seat, .. }: &PlacedTarget| Placed {
            target: *target,
            seat: *seat,
            new: label::random_identity(),
        };
        let targets: Vec<_> = self
            .targets
            .iter()
            .zip(&contents)
            .map(|(target, contents)| (placed(target), contents.as_ref().ok()))
            .collect();
        let clusters = (self.cluster.as_ref(), &label::random_cluster());
        let Admission { register, verdicts } =
            admit(before.as_ref(), clusters, &targets, segment_size);
        let errors = contents.into_iter().map(Result::err);
        Ok(Plan { before, register, verdicts: verdicts.into_iter().zip(errors).collect() })
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

fn refusal(placed: &PlacedTarget, refused: Refused) -> Refusal {
    let Refused { found, expected, remedy } = refused;
    Refusal { target: Some(placed.target), folder: placed.folder.clone(), found, expected, remedy }
}

/// The number of targets of the store in one process under `data`, if there is one: that of its register, or of
/// its folders if that is missing.
///
/// # Errors
/// If `told` is another number, or the register cannot be read.
pub fn targets_in(data: &Path, told: Option<u32>) -> Result<Option<u32>, RegisterError> {
    let found = match register::read(&register_in(data))? {
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
