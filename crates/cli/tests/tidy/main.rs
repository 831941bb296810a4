//! Keeps the house in order: arrows between crates point inwards, ring 1 is pure, and files stay small.
//!
//! Each rule is a function from what there is to a list of complaints. It is asked about this checkout, and
//! about planted mistakes that it must find.
#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

mod arrows;
mod crates;
mod files;
mod purity;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `program` prints, run in the root of the checkout.
fn printed(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    output.stdout
}
