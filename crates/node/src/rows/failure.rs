//! Why rows cannot be used, for the log of the host. A voter only learns that they cannot.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error("cannot {action} `{}`: {error}", path.display())]
    Io { action: &'static str, path: PathBuf, error: io::Error },
    #[error(transparent)]
    Database(#[from] fjall::Error),
    /// Something that was acknowledged lies behind something that cannot be read.
    #[error("journal `{}` is damaged at byte {at}, and batches follow", path.display())]
    Damaged { path: PathBuf, at: u64 },
    #[error("`{}`: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
    #[error("a thread panicked")]
    Panicked,
    /// It was not opened, or has failed before.
    #[error("not open")]
    Closed,
}

/// Makes a failure of an error of the system.
pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Failure {
    let path = path.to_path_buf();
    move |error| Failure::Io { action, path, error }
}

/// What is in `path` is of no use.
pub(super) fn unusable(path: &Path, why: impl Into<String>) -> Failure {
    Failure::Unusable { path: path.to_path_buf(), why: why.into() }
}
