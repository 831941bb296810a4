//! Files: none too large, none empty, no link to a package registry's site; and pages name files that are there.

use std::fs;

use crate::{root, tracked};

/// Largest tracked file, in bytes.
const MAX_BYTES: usize = 500_000;

/// Most lines of a source file.
const MAX_LINES: usize = 500;

/// Folders whose sources must not have more lines.
const SHORT: &[&str] = &[
    "crates/cli/tests/tidy/",
    "crates/disk/",
    "crates/engine/",
    "crates/evaluations/",
    "crates/faults/",
    "crates/job/",
    "crates/lab/",
    "crates/lossy/",
    "crates/member/",
    "crates/object/src/",
    "crates/peers/",
    "crates/plan/",
    "crates/protocol/src/",
    "crates/random/",
    "crates/scenario/",
    "crates/schedule/",
    "crates/sim/src/replicast/",
    "crates/store/",
    "crates/trace/",
    "crates/transport/",
    "crates/tune/",
    "crates/units/",
    "studies/",
];

/// Sources that have more, with their number of lines. This list may only shrink, and so may they.
const LONG: &[(&str, usize)] =
    &[("crates/lab/src/setting/table.rs", 555), ("crates/protocol/src/target/tests.rs", 551)];

/// Sites that may be gone or ask for a browser tomorrow. A project's own page says more.
const REGISTRIES: &[&str] = &["crates.io", "lib.rs", "npmjs.com", "pypi.org", "rubygems.org"];

/// What is wrong with a tracked file.
fn problems(path: &str, content: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    if content.is_empty() {
        found.push(format!("{path}: empty"));
    }
    if content.len() > MAX_BYTES {
        found.push(format!("{path}: {} bytes, more than {MAX_BYTES}", content.len()));
    }
    let Ok(text) = std::str::from_utf8(content) else { return found };
    for (number, line) in text.lines().enumerate() {
        let links = |site: &&&str| {
            ["://", "://www."].iter().any(|at| line.contains(&format!("{at}{site}/")))
        };
        if let Some(site) = REGISTRIES.iter().find(links) {
            found.push(format!("{path}:{}: a link to {site}", number + 1));
        }
    }
    if path.ends_with(".rs") && SHORT.iter().any(|folder| path.starts_with(folder)) {
        let lines = text.lines().count();
        match LONG.iter().find(|(long, _)| *long == path) {
            Some((_, most)) if lines > *most => {
                found.push(format!("{path}: {lines} lines, and had {most}"));
            }
            Some(_) if lines <= MAX_LINES => {
                found.push(format!("{path}: {lines} lines, an exception no more: strike it"));
            }
            None if lines > MAX_LINES => {
                found.push(format!("{path}: {lines} lines, more than {MAX_LINES}"));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn files_are_small_and_not_empty_and_link_to_no_registry() {
    let Some(paths) = tracked() else { return };
    let mut found = Vec::new();
    for path in &paths {
        // A file that was removed, but not yet from the index, is no concern of ours.
        if let Ok(content) = fs::read(root().join(path)) {
            found.extend(problems(path, &content));
        }
    }
    assert_eq!(found, Vec::<String>::new());
    for (long, _) in LONG {
        assert!(paths.iter().any(|path| path == long), "{long} is gone: strike it");
    }
}

/// Files and folders that a page names as `crates/...` or `studies/...`, in backquotes.
fn named_paths(page: &str) -> Vec<&str> {
    let is_path = |text: &&str| {
        ["crates/", "studies/"].iter().any(|start| text.starts_with(start)) && !text.contains(' ')
    };
    page.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).filter(is_path).collect()
}

#[test]
fn pages_name_files_that_are_there() {
    let Some(paths) = tracked() else { return };
    let mut count = 0;
    // The list of changes may name what is gone.
    for page in paths.iter().filter(|path| path.ends_with(".md") && *path != "CHANGELOG.md") {
        let text = fs::read_to_string(root().join(page)).expect("a readable page");
        for path in named_paths(&text) {
            assert!(root().join(path).exists(), "{page} names {path}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} paths were found");
    let planted = "see `crates/new/src/lib.rs`, not crates/old or `slotcast sim crates/x`";
    assert_eq!(named_paths(planted), ["crates/new/src/lib.rs"]);
}

#[test]
fn planted_mistakes_are_found() {
    let found = |path: &str, content: &str| problems(path, content.as_bytes()).join("\n");
    let lines = |count: usize| "//\n".repeat(count);
    assert_eq!(found("docs/a.md", "fine\n"), "");
    assert_eq!(found("docs/a.md", ""), "docs/a.md: empty");
    assert!(found("a.bin", &"a".repeat(MAX_BYTES + 1)).contains("more than 500000"));
    let link = format!("fine\n[redb](https://{}/crates/redb)\n", REGISTRIES[0]);
    assert_eq!(found("docs/a.md", &link), "docs/a.md:2: a link to crates.io");
    let link = format!("https://www.{}/package/x", REGISTRIES[2]);
    assert_eq!(found("docs/a.md", &link), "docs/a.md:1: a link to npmjs.com");
    assert_eq!(found("studies/new/src/lib.rs", &lines(MAX_LINES)), "");
    assert!(found("studies/new/src/lib.rs", &lines(MAX_LINES + 1)).contains("501 lines"));
    for (long, most) in LONG {
        assert_eq!(found(long, &lines(*most)), "");
        assert!(found(long, &lines(most + 1)).contains("and had"));
        assert!(found(long, &lines(MAX_LINES)).contains("strike it"));
    }
}
