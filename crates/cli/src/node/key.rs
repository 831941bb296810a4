//! `slotcast key`.

use std::fmt::Write;
use std::process::ExitCode;

use clap::Args;
use slotcast_lab::InputError;

use crate::failure::Outcome;
use crate::output::print;

/// Print a new key for a cluster; all of its nodes have the same
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  (umask 077; slotcast key > cluster.key)")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> Outcome {
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| InputError::plain(format!("the system has no random numbers: {error}")))?;
    let mut text = String::new();
    for byte in key {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}
