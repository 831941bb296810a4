//! Ring 1 is pure: no clock, IO, threads, hidden randomness or unordered iteration. `no_std` and the
//! linter see to it; this test also holds where neither is looked at.
#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

use std::fs;
use std::path::Path;

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

const RING_1: [&str; 7] = [
    "crates/units",
    "crates/protocol",
    "crates/schedule",
    "crates/store",
    "crates/transport",
    "studies/stripes/machines",
    "studies/lustre/schedulers",
];

fn look_at(folder: &Path, found: &mut Vec<String>, files: &mut usize) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            look_at(&path, found, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            *files += 1;
            let text = fs::read_to_string(&path).expect("a readable source");
            for (number, line) in text.lines().enumerate() {
                let code = line.split("//").next().unwrap_or("");
                for name in FORBIDDEN.iter().filter(|name| code.contains(**name)) {
                    found.push(format!("{}:{}: {name}", path.display(), number + 1));
                }
            }
        }
    }
}

#[test]
fn ring_one_reaches_for_nothing_outside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in RING_1 {
        let source = root.join(name).join("src");
        let (mut found, mut files) = (Vec::new(), 0);
        look_at(&source, &mut found, &mut files);
        assert!(files > 0, "{name}: the sources are not where they were");
        assert_eq!(found, Vec::<String>::new());
        let root = fs::read_to_string(source.join("lib.rs")).expect("a crate root");
        assert!(root.contains("#![no_std]"), "{name} is no_std");
    }
}
