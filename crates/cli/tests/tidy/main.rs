//! Keeps the house in order: arrows between crates point inwards, ring 1 is pure, files and functions stay
//! small, and links between pages lead somewhere.
//!
//! Each rule is a function from what there is to a list of complaints. It is asked about this checkout, and
//! about planted mistakes that it must find.
#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

mod arrows;
mod book;
mod crates;
mod files;
mod functions;
mod purity;
mod words;

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

/// The tracked files; none where the sources are not a checkout of git.
fn tracked() -> Option<Vec<String>> {
    if !root().join(".git").exists() {
        eprintln!("skipped: not a checkout of git, so nobody knows what is tracked");
        return None;
    }
    let listed = String::from_utf8(printed("git", &["ls-files", "-z"])).expect("names in UTF-8");
    let paths: Vec<String> = listed.split_terminator('\0').map(String::from).collect();
    assert!(paths.len() > 100, "{} tracked files", paths.len());
    Some(paths)
}
