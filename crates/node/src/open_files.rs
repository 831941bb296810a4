//! Divides the files that a process may have open: between the disks, the network and HTTP.
//!
//! Decided once, at the start. Each part then keeps to its own share whatever the others do, so that clients
//! who open connections never take a file from a disk.

use std::fs;
use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::connections::SPARE;
use crate::disk::{READERS, WRITERS};

/// Files that the process opens beside those that are open when the shares are decided: event queues and
/// signals of the runtime (6 measured), and what is read and closed again.
const PROCESS: usize = 24;

/// Files of one target beside its segments: the lock, and for each reader a segment that is being made or a
/// folder that is listed or flushed.
const PER_TARGET: usize = 1 + READERS;

/// Files of the rows of names of one target: tables that are open, journals, and what is being written.
const ROWS: usize = crate::rows::TABLE_FILES + 16;

/// Files of a cluster beside a socket for each group: the socket of datagrams, connections to etcd, and what it
/// takes to look up an address.
const NETWORK: usize = 16;

/// Each thread of a disk uses at most one segment file at a time.
const MIN_SEGMENT_FILES: usize = READERS + WRITERS;

/// More make no difference: to open a file takes microseconds.
const MAX_SEGMENT_FILES: usize = 512;

/// Connections without which a node is of no use, and the most that are allowed unless it is told otherwise.
const MIN_CONNECTIONS: usize = 16;
const MAX_CONNECTIONS: usize = 4096;

/// What is to share the files of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Targets of the node.
    pub(crate) targets: usize,
    /// Whether its targets keep names.
    pub(crate) has_names: bool,
    /// Whether it speaks with other nodes.
    pub(crate) has_network: bool,
    /// HTTP connections that it must be able to serve, if that was said.
    pub(crate) connections: Option<usize>,
}

/// The share of each part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenFiles {
    /// Files that the process may have open.
    pub(crate) limit: usize,
    /// Segment files that each target may have open.
    pub(crate) segment_files: usize,
    /// HTTP connections that may be open, beside the [`SPARE`] ones.
    pub(crate) connections: usize,
}

/// The process may not open as many files as the node needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{targets} targets and {connections} connections need {needed} open files, and the limit is {limit}"
)]
pub struct TooFewFiles {
    /// Targets of the node.
    pub targets: usize,
    /// HTTP connections that it must be able to serve.
    pub connections: usize,
    /// Files that the process needs at least.
    pub needed: usize,
    /// Files that it may have open.
    pub limit: usize,
}

impl TooFewFiles {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        remedy(self.needed)
    }
}

fn remedy(files: usize) -> String {
    format!(
        "raise the hard limit of open files: `ulimit -n {files}` in a shell, LimitNOFILE={files} in a \
         unit of systemd"
    )
}

/// What to do when an operation fails with `error`, which [`is_shortage`].
pub(crate) fn remedy_for(error: &io::Error) -> String {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::NFILE) => "raise fs.file-max of the system".into(),
        Some(rustix::io::Errno::NOMEM) => "give the system more memory".into(),
        _ => remedy(limit().saturating_mul(2)),
    }
}

/// Whether the process or the system is out of files or memory: nothing that a disk could do anything about,
/// and nothing that lasts.
pub(crate) fn is_shortage(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = Errno::from_io_error(error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM))
}

/// Files that this process may have open now.
pub(crate) fn limit() -> usize {
    let current = getrlimit(Resource::Nofile).current;
    current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// Whether a process of this user may open as many files as a node with so many targets needs, however many it may open
/// as it was started: gives its hard limit.
///
/// # Errors
/// If it may not: how many it needs, and what to do.
pub fn check_open_files(targets: usize, has_network: bool) -> Result<usize, TooFewFiles> {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let limit = maximum.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX);
    let needs = Needs { targets, has_names: true, has_network, connections: None };
    // Standard input, output and error are open in any process.
    OpenFiles::divide(limit, 3, needs).map(|_| limit)
}

impl OpenFiles {
    /// Raises the limit of this process as far as it may, and divides what it gives.
    pub(crate) fn reserve(needs: Needs) -> Result<OpenFiles, TooFewFiles> {
        let all = getrlimit(Resource::Nofile);
        // Where that is refused, what there is may be enough.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: all.maximum, ..all });
        // Standard input, output and error, what was opened until now, and what was inherited.
        let open = fs::read_dir("/proc/self/fd").map_or(3, Iterator::count);
        let files = OpenFiles::divide(limit(), open, needs)?;
        let OpenFiles { limit, segment_files, connections } = files;
        tracing::info!(limit, segment_files, connections, "open files divided");
        Ok(files)
    }

    /// Divides `limit` files, of which `open` are open. One half of what is not spoken for goes to the segments
    /// and the rest to HTTP, unless the number of connections is given.
    fn divide(limit: usize, open: usize, needs: Needs) -> Result<OpenFiles, TooFewFiles> {
        let Needs { targets, has_names, has_network, connections } = needs;
        let rows = if has_names { ROWS } else { 0 };
        let network = if has_network { NETWORK + targets } else { 0 };
        let min_connections = connections.unwrap_or(MIN_CONNECTIONS);
        let fixed = open + PROCESS + network + SPARE + targets * (PER_TARGET + rows);
        let needed = fixed + targets * MIN_SEGMENT_FILES + min_connections;
        let Some(left) = limit.checked_sub(needed) else {
            return Err(TooFewFiles { targets, connections: min_connections, needed, limit });
        };
        let for_segments = if connections.is_some() { left } else { left / 2 };
        let extra = for_segments.checked_div(targets).unwrap_or(0);
        let segment_files = (MIN_SEGMENT_FILES + extra).min(MAX_SEGMENT_FILES);
        let rest = limit - fixed - targets * segment_files;
        let connections = connections.unwrap_or(rest.min(MAX_CONNECTIONS));
        Ok(OpenFiles { limit, segment_files, connections })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALONE: Needs =
        Needs { targets: 9, has_names: false, has_network: false, connections: None };

    #[test]
    fn nine_and_64_targets_fit_into_the_usual_limit() {
        let nine = OpenFiles::divide(1024, 8, ALONE).expect("enough");
        assert!(nine.segment_files >= 32 && nine.connections >= 256, "{nine:?}");
        let many = Needs { targets: 64, has_network: true, ..ALONE };
        let many = OpenFiles::divide(1024, 8, many).expect("enough");
        assert!(many.segment_files >= 4 && many.connections >= 128, "{many:?}");
        let named = OpenFiles::divide(1024, 8, Needs { has_names: true, ..ALONE }).expect("enough");
        assert!(named.segment_files >= 16 && named.connections >= 128, "{named:?}");
        let ample = OpenFiles::divide(1 << 20, 8, ALONE).expect("enough");
        assert_eq!(ample.segment_files, MAX_SEGMENT_FILES);
        assert_eq!(ample.connections, MAX_CONNECTIONS);
    }

    proptest! {
        /// The shares never add up to more than the limit, and none is too small; what is refused is refused
        /// only where the number that is said to be needed would indeed be enough, and one less is not.
        #[test]
        fn shares_fit(
            limit in 0_usize..100_000,
            open in 3_usize..300,
            targets in 1_usize..1024,
            has_names: bool,
            has_network: bool,
            connections in proptest::option::of(1_usize..10_000),
        ) {
            let needs = Needs { targets, has_names, has_network, connections };
            match OpenFiles::divide(limit, open, needs) {
                Ok(files) => {
                    let network = if has_network { NETWORK + targets } else { 0 };
                    let rows = if has_names { ROWS } else { 0 };
                    let disks = targets * (PER_TARGET + rows + files.segment_files);
                    let http = files.connections + SPARE;
                    prop_assert!(open + PROCESS + network + disks + http <= limit);
                    prop_assert!(files.segment_files >= MIN_SEGMENT_FILES);
                    prop_assert!(files.connections >= connections.unwrap_or(MIN_CONNECTIONS));
                }
                Err(refused) => {
                    prop_assert!(refused.needed > limit);
                    prop_assert!(OpenFiles::divide(refused.needed, open, needs).is_ok());
                    prop_assert!(OpenFiles::divide(refused.needed - 1, open, needs).is_err());
                }
            }
        }
    }
}
