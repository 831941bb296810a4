//! What a node logs for whoever looks after it: what changed, with the numbers of the moment.
//!
//! A member notes it among its effects, when something changes, and so it costs puts and gets nothing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use slotcast_member::Note;
use slotcast_member::map::name_of;
use slotcast_object::garbage::LostList;
use slotcast_protocol::TargetId;
use slotcast_store::{DiskError, Statistics, StoreStatus};
use slotcast_units::Span;
use tracing::field::display;
use tracing::{error, info, warn};

/// Lets a few lines of one kind through, and counts the rest: what goes wrong may do so for every chunk.
#[derive(Debug)]
pub(crate) struct Throttle {
    began: Instant,
    told: u32,
    left_out: u64,
}

/// So many lines in so long a time.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

impl Throttle {
    pub(crate) fn new() -> Throttle {
        Throttle { began: Instant::now(), told: 0, left_out: 0 }
    }

    /// If a line may be told now: how many were left out since the last one.
    pub(crate) fn admit(&mut self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&mut self, now: Instant) -> Option<u64> {
        if now.saturating_duration_since(self.began) >= PERIOD {
            (self.began, self.told) = (now, 0);
        }
        if self.told == LINES {
            self.left_out += 1;
            return None;
        }
        self.told += 1;
        Some(std::mem::take(&mut self.left_out))
    }
}

/// Writes what a member notes into the log.
#[derive(Debug)]
pub(crate) struct Journal {
    folders: BTreeMap<TargetId, PathBuf>,
    lost: BTreeMap<TargetId, Throttle>,
    unreadable: BTreeMap<TargetId, Throttle>,
}

impl Journal {
    /// Of a node with targets in these folders.
    pub(crate) fn new(folders: BTreeMap<TargetId, PathBuf>) -> Journal {
        Journal { folders, lost: BTreeMap::new(), unreadable: BTreeMap::new() }
    }

    fn folder(&self, target: TargetId) -> &Path {
        self.folders.get(&target).map_or(Path::new(""), PathBuf::as_path)
    }

    /// Writes a line.
    pub(crate) fn note(&mut self, note: &Note) {
        match note {
            Note::Target { target, before, status, statistics } => {
                tell_of_target(target.0, self.folder(*target), (*before, *status), statistics);
            }
            Note::ScanBegun { target, chunks } => {
                info!(target = target.0, chunks, "repair scan begun");
            }
            Note::ScanEnded { target, visited, healed, failed, under_replicated, elapsed } => {
                info!(
                    target = target.0,
                    visited_chunks = visited,
                    healed_chunks = healed,
                    failed_attempts = failed,
                    under_replicated_chunks = under_replicated,
                    elapsed_ms = milliseconds(*elapsed),
                    "repair scan ended"
                );
            }
            Note::ScrubBegun { target, chunks } => info!(target = target.0, chunks, "scrub begun"),
            Note::ScrubEnded { target, read, lost, elapsed } => info!(
                target = target.0,
                read_chunks = read,
                lost_chunks = lost,
                elapsed_ms = milliseconds(*elapsed),
                "scrub ended"
            ),
            Note::ChunkUnreadable { target, chunk } => {
                let unreadable = self.unreadable.entry(*target).or_insert_with(Throttle::new);
                if let Some(left_out) = unreadable.admit() {
                    let folder = display(self.folder(*target).display());
                    let target = target.0;
                    warn!(target, folder, %chunk, left_out, "chunk unreadable: the disk failed");
                }
            }
            Note::PeerTargetFailed(node, target) => {
                warn!(node, target = target.0, "target of a peer failed: others make up for it");
            }
            Note::ChunkLost { target, chunk } => {
                let lost = self.lost.entry(*target).or_insert_with(Throttle::new);
                if let Some(left_out) = lost.admit() {
                    let folder = display(self.folder(*target).display());
                    let target = target.0;
                    warn!(target, folder, %chunk, left_out, "chunk lost: its content is wrong");
                }
            }
            Note::PeerUp(node, address) => info!(node, %address, "peer up"),
            Note::PeerDown(node, address, gone_after) => {
                warn!(node, %address, gone_after_ms = milliseconds(*gone_after), "peer down");
            }
            Note::PeerRefused(node, address, refusal) => {
                let (reason, remedy) = (refusal.reason(), refusal.remedy());
                error!(node, %address, reason, cause = %refusal, remedy, "peer not believed");
            }
            Note::PeerGone(node) => warn!(node, "peer gone: what it held is replaced"),
            Note::PeerRestarted(node) => {
                info!(node, "peer started anew: what it holds is checked");
            }
            Note::MapTaken(epoch, membership) => {
                info!(epoch, state = name_of(*membership), "cluster map taken");
            }
            Note::HandedOver => info!("drained: may be stopped"),
            Note::ListLost(LostList { list, key }) => {
                let (bucket, object) = (key.slot.bucket.0, key.name.as_str());
                let remedy = "`slotcast gc status` names the bucket: delete that version of the object, or bring back the targets that hold its list";
                error!(%list, bucket, object, remedy, "a list of chunks is lost: no garbage is removed");
            }
        }
    }
}

fn tell_of_target(
    target: u32,
    folder: &Path,
    (before, status): (StoreStatus, StoreStatus),
    statistics: &Statistics,
) {
    let Statistics { chunks, content_bytes, segments, lost, unreadable_segments, .. } = statistics;
    let folder = display(folder.display());
    match status {
        StoreStatus::Opening => {}
        StoreStatus::Open if before == StoreStatus::Opening => info!(
            target,
            folder,
            chunks,
            content_bytes,
            segments,
            lost_chunks = lost,
            unreadable_segments,
            "target open"
        ),
        StoreStatus::Open => info!(target, folder, chunks, "target has room again"),
        StoreStatus::Full => {
            warn!(target, folder, chunks, content_bytes, "target full: it refuses puts");
        }
        StoreStatus::ReadOnly(cause @ DiskError::Gone) => {
            error!(target, folder, chunks, %cause, "target gone: others make up for it");
        }
        StoreStatus::ReadOnly(cause) => {
            error!(target, folder, chunks, unreadable_segments, %cause, "target read-only until the next start");
        }
        StoreStatus::Failed(cause) => error!(target, folder, %cause, "target failed to open"),
    }
}

pub(crate) fn milliseconds(span: Span) -> u64 {
    span.as_ns() / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repeats_is_counted_instead_of_told() {
        let mut throttle = Throttle::new();
        let start = throttle.began;
        let told = (0..25).filter(|_| throttle.admit_at(start) == Some(0)).count();
        assert_eq!(told, LINES as usize);
        assert_eq!(throttle.admit_at(start + PERIOD), Some(15));
        assert_eq!(throttle.admit_at(start + PERIOD), Some(0));
    }
}
