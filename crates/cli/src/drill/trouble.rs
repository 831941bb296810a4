//! Why a drill does not go on.

use std::fmt;

use crate::failure::Failure;

/// Why a drill does not go on.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Somebody has pressed Ctrl-C.
    Interrupted,
    /// What should have come did not, or something went wrong: this is what a drill looks for.
    Stuck(String),
    /// It cannot be carried out here.
    Failure(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        Trouble::Failure(failure)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Interrupted => f.write_str("stopped by Ctrl-C"),
            Trouble::Stuck(what) => f.write_str(what),
            Trouble::Failure(failure) => failure.fmt(f),
        }
    }
}
