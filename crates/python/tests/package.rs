//! The extension module as Cargo builds it. That it works, Python has to say: `python/tests`.
//!
//! This test also has Cargo build the module together with all other tests, as the same build.
#![allow(clippy::disallowed_methods, reason = "it reads what was built")]

use std::fs;
use std::path::{Path, PathBuf};

/// The folder in which Cargo leaves what tests are built with.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.parent().expect("target/PROFILE/deps").to_path_buf()
}

#[test]
#[cfg(target_os = "linux")]
fn the_module_has_its_entry_and_needs_no_python() {
    let module = fs::read(built().join("libslotcast_python.so")).expect("the module");
    let has = |text: &[u8]| module.windows(text.len()).any(|bytes| bytes == text);
    assert!(has(b"PyInit__slotcast\0"), "the entry of `slotcast._slotcast`");
    assert!(!has(b"libpython"), "Python brings its own symbols");
}

#[test]
fn the_package_is_found_where_it_is_built_from() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let project = fs::read_to_string(root.join("python/pyproject.toml")).expect("a project");
    assert!(project.contains("manifest-path = \"../crates/python/Cargo.toml\""));
    assert!(project.contains("module-name = \"slotcast._slotcast\""));
    let citation = fs::read_to_string(root.join("CITATION.cff")).expect("a citation");
    assert!(citation.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))));
}
