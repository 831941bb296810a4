//! Who keeps the names of a real store changes: each of its targets is replaced, one after another, and no name is lost.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use served::{PATIENCE, Served, content};

const TARGETS: u64 = 5;

/// The store with which a target votes, if it is the only set that votes.
fn store_of(data: &Path, target: u64) -> Option<String> {
    let text = fs::read_to_string(data.join("voters.toml")).ok()?;
    let line = text.lines().find(|line| line.contains(&format!("{{ target = {target}, ")))?;
    let store = line.split('"').nth(1)?.to_owned();
    (!text.contains("joining")).then_some(store)
}

/// Waits until a target votes with another store than this.
fn votes(data: &Path, target: u64, not: Option<&str>) -> String {
    let since = Instant::now();
    loop {
        match store_of(data, target) {
            Some(store) if Some(store.as_str()) != not => return store,
            _ => sleep(Duration::from_millis(50)),
        }
        assert!(since.elapsed() < PATIENCE, "{:?}", fs::read_to_string(data.join("voters.toml")));
    }
}

#[test]
fn names_outlive_all_stores_that_kept_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = folder.path().join("data");
    let targets = ["--targets", &TARGETS.to_string()];
    let mut served = Served::start(&data, &targets);
    served.says(&["mb", "slot://b"]);
    for n in 0..70 {
        fs::write(path("in"), content(100 + n as usize, n)).expect("room");
        served.says(&["cp", &path("in"), &format!("slot://b/{n:02}")]);
    }
    served.says(&["rm", "slot://b/69"]);
    for target in 0..TARGETS {
        let before = votes(&data, target, None);
        drop(served);
        fs::remove_dir_all(data.join(format!("target-{target:03}"))).expect("it is there");
        let output = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(["target", "replace", "--target", &target.to_string(), "--data"])
            .arg(&data)
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{output:?}");
        served = Served::start(&data, &targets);
        votes(&data, target, Some(&before));
        // What is deleted does not come back, and who wants a name that is taken is told so.
        assert_eq!(served.says(&["ls", "-r", "slot://b"]).lines().count(), 69);
        fs::write(path("in"), b"another").expect("room");
        let taken = served.run(&["cp", "--if-absent", &path("in"), "slot://b/07"]);
        assert!(!taken.status.success(), "{taken:?}");
    }
    for n in 0..69 {
        served.says(&["cp", &format!("slot://b/{n:02}"), &path("out")]);
        assert!(fs::read(path("out")).expect("it is there") == content(100 + n as usize, n), "{n}");
        fs::remove_file(path("out")).expect("it is there");
    }
}
