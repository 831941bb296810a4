//! Looks after the file with the keys of a cluster, so that they are changed without a stop.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::keyring::Keyring;
use super::{NetworkConfig, Shared};
use crate::cluster::{ClusterKeys, Encryption};
use crate::file_stamp::{LOOK_EVERY, Stamp, stamp};

/// The keys of a node, and their file.
pub(super) struct WatchedKeys {
    shared: Arc<Shared>,
    path: PathBuf,
    keys: ClusterKeys,
    encryption: Encryption,
    sender: (u32, u64),
    stamp: Stamp,
}

impl WatchedKeys {
    pub(super) fn new(
        shared: Arc<Shared>,
        path: &Path,
        config: &NetworkConfig<'_>,
        sender: (u32, u64),
    ) -> WatchedKeys {
        let (keys, encryption) = (config.keys.clone(), config.encryption);
        // The file may have changed since the keys were read: it is read once more.
        WatchedKeys { shared, path: path.to_owned(), keys, encryption, sender, stamp: None }
    }

    /// Looks after the file until the other end of the channel is gone.
    pub(super) fn run(mut self, is_over: &Receiver<()>) {
        while is_over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
            self.look();
        }
    }

    /// Reads the file again if it has changed. What cannot be used is told, and the keys stay as they were.
    fn look(&mut self) {
        let stamp = stamp(&self.path);
        if stamp == self.stamp {
            return;
        }
        self.stamp = stamp;
        let keys = match ClusterKeys::read(&self.path) {
            Ok(keys) if keys == self.keys => return,
            Ok(keys) if keys.id() != self.keys.id() => {
                tracing::warn!(
                    file = %self.path.display(),
                    "the new keys are those of another cluster: the ones before them stay"
                );
                return;
            }
            Ok(keys) => keys,
            Err(error) => {
                tracing::warn!(%error, "the new keys cannot be used: the ones before them stay");
                return;
            }
        };
        let keyring = Keyring::new(&keys, self.encryption, self.sender);
        tracing::info!(numbers = ?keyring.numbers().collect::<Vec<_>>(), "keys read again");
        self.shared.set_keyring(keyring);
        self.keys = keys;
    }
}
