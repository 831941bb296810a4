//! Ring 1 is pure: no clock, IO, threads, hidden randomness or unordered iteration. `no_std` and the
//! linter see to it; this test also holds where neither is looked at.

use std::fs;
use std::path::Path;

use crate::crates::ring_1;
use crate::root;

const FORBIDDEN: [&str; 12] = [
    "std::time",
    "std::fs",
    "std::net",
    "std::thread",
    "std::env",
    "std::io",
    "tokio",
    "Instant::now",
    "SystemTime",
    "HashMap",
    "HashSet",
    "extern crate std",
];

/// Names in `text` that ring 1 must not reach for, with their lines.
fn forbidden(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for name in FORBIDDEN.iter().filter(|name| code.contains(**name)) {
            found.push(format!("{}: {name}", number + 1));
        }
    }
    found
}

fn look_at(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_at(&path, found, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            *files += 1;
            let text = fs::read_to_string(&path).expect("a readable source");
            found.extend(forbidden(&text).iter().map(|at| format!("{}:{at}", path.display())));
        }
    }
}

#[test]
fn ring_one_reaches_for_nothing_outside() {
    for known in ring_1() {
        let (name, source) = (known.package, root().join(known.folder).join("src"));
        let (mut found, mut files) = (Vec::new(), 0);
        look_at(&source, &mut found, &mut files);
        assert!(files > 1, "{name}: the sources are not where they were");
        assert_eq!(found, Vec::<String>::new());
        let root = fs::read_to_string(source.join("lib.rs")).expect("a crate root");
        assert!(root.contains("#![no_std]"), "{name} is no_std");
    }
}

#[test]
fn what_is_forbidden_is_found() {
    let text = "// std::time\nlet now = Instant::now();\n";
    assert_eq!(forbidden(text), ["2: Instant::now"]);
}

/// The continuous integration builds all of ring 1 for a machine without an operating system.
#[test]
fn all_of_ring_one_is_built_without_an_operating_system() {
    let script = fs::read_to_string(root().join(".ci/run")).expect("a readable script");
    let build = script.lines().find(|line| line.contains("--target wasm32")).expect("a build");
    for known in ring_1() {
        let is_built = build.split(' ').any(|word| word == known.package);
        assert!(is_built, "{} is missing", known.package);
    }
}
