//! Opens the disks of a node's targets.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use slotcast_member::TargetSetup;
use slotcast_protocol::TargetId;

use super::starting::{Parts, StartError};
use crate::buffers::Buffers;
use crate::disk::{Disk, READERS, Report};
use crate::folder::{Folder, FolderError, Refusal};
use crate::mailbox::Mailbox;
use crate::open_files;
use crate::reactor::Event;
use crate::rows::Rows;

/// The device that a folder is on, or will be on when it has been made.
fn device(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find_map(|path| std::fs::metadata(path).ok());
    there.map(|metadata| metadata.dev())
}

/// In the folder of a target, where it keeps names.
const NAMES: &str = "names";

/// Threads of a target that read rows of names.
const ROWS_READERS: usize = 1;

/// Targets with their disks.
pub(super) struct Opened {
    pub(super) setups: Vec<TargetSetup>,
    pub(super) disks: BTreeMap<TargetId, Disk>,
    /// Where targets whose folders can be used keep names.
    pub(super) rows: BTreeMap<TargetId, Rows>,
    pub(super) folders: BTreeMap<TargetId, (PathBuf, Option<Refusal>)>,
}

/// Starts the disks of all targets. A node goes on with those whose folders can be used; without any there is
/// most likely a slip in what it was told.
pub(super) fn open_targets(parts: &mut Parts<'_>, mailbox: &Mailbox) -> Result<Opened, StartError> {
    let buffers = Arc::default();
    let mut opened = Opened {
        setups: Vec::new(),
        disks: BTreeMap::new(),
        rows: BTreeMap::new(),
        folders: BTreeMap::new(),
    };
    let mut unusable = Vec::new();
    let devices: Vec<_> = parts.targets.iter().map(|(_, path, _)| device(path)).collect();
    let folders = std::mem::take(&mut parts.folders);
    for (((id, path, config), own), folder) in parts.targets.iter().zip(&devices).zip(folders) {
        let on_device = devices.iter().filter(|device| *device == own).count();
        let sharing = u32::try_from(on_device).unwrap_or(u32::MAX);
        let (store, disk, error) = open_disk((*id, path, folder), parts, mailbox, &buffers)?;
        opened.setups.push(TargetSetup {
            id: *id,
            target: config.clone(),
            store,
            repair: parts.rules.repair_of(sharing),
            queue: Some(parts.rules.queue),
            records: parts.records,
        });
        opened.disks.insert(*id, disk);
        if error.is_none() && parts.has_names() {
            opened.rows.insert(*id, open_rows(*id, path, mailbox)?);
        }
        let refusal = match &error {
            Some(FolderError::Refused(refusal)) => Some((**refusal).clone()),
            _ => None,
        };
        opened.folders.insert(*id, (path.to_path_buf(), refusal));
        unusable.extend(error);
    }
    if unusable.len() == opened.setups.len()
        && let Some(error) = unusable.into_iter().next()
    {
        return Err(error.into());
    }
    Ok(opened)
}

/// Where a target keeps names.
fn open_rows(id: TargetId, path: &Path, mailbox: &Mailbox) -> Result<Rows, StartError> {
    let mailbox = mailbox.clone();
    let report = move |op, result| mailbox.put(Event::Rows(id, op, result));
    Ok(Rows::start(path.join(NAMES), ROWS_READERS, Arc::new(report))?)
}

/// The disk of a target, and what its store is told: or if the folder cannot be used, one that fails, and why.
fn open_disk(
    (id, path, folder): (TargetId, &Path, Result<Folder, FolderError>),
    parts: &Parts<'_>,
    mailbox: &Mailbox,
    buffers: &Arc<Buffers>,
) -> Result<(slotcast_store::Config, Disk, Option<FolderError>), StartError> {
    let mailbox = mailbox.clone();
    let report: Report = Arc::new(move |done| mailbox.put(Event::Disk(id, done)));
    let rate = parts.disk_rates.get(&id).copied().or(parts.limits.disk_rate);
    let max_open = parts.files.segment_files;
    let error = match folder {
        Ok(folder) => {
            let store =
                slotcast_store::Config { replicas: parts.rules.replicas, ..folder.config() };
            let disk = Disk::start(folder, READERS, buffers.clone(), max_open, rate, &report)?;
            return Ok((store, disk, None));
        }
        Err(error @ FolderError::Locked(_)) => return Err(error.into()),
        Err(error) => error,
    };
    // The system is out of something: no fault of the folder, and there at another start.
    if let FolderError::Io { error: cause, .. } = &error
        && open_files::is_shortage(cause)
    {
        return Err(error.into());
    }
    tracing::error!(target = id.0, folder = %path.display(), cause = %error, "folder unusable");
    let store = slotcast_store::Config {
        segment_size: parts.segment_size,
        replicas: parts.rules.replicas,
        ..slotcast_store::Config::new(slotcast_store::Identity([0; 32]))
    };
    Ok((store, Disk::unusable(&error, report), Some(error)))
}
