//! A folder is used for the target that it holds, or not at all: disks that are not mounted, that were swapped,
//! labels that are lost, and targets that an operator replaces.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, files and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[path = "support/mount.rs"]
mod mount;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use cluster::{Cluster, Plan, content, get, loopback_hosts, put};
use mount::Mount;
use serde_json::Value;

type Stored = Vec<(String, Vec<u8>)>;

fn slotcast(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    command.args(arguments).stdin(Stdio::null()).output().expect("it runs")
}

/// What a `slotcast serve` that must not start says on standard error.
fn refused_start(arguments: &[&str]) -> String {
    let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["serve", "--s3", "off"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut line = String::new();
    let out = process.stdout.as_mut().expect("a pipe");
    BufReader::new(out).read_line(&mut line).expect("text");
    if !line.is_empty() {
        process.kill().expect("it runs");
    }
    let output = process.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{line}{told}");
    told
}

/// A node with four targets, with three replicas of everything.
fn node(folder: &Path) -> Cluster {
    let settings = "data_rate = \"2Gbps\"\nfailure_domain = \"target\"".into();
    let plan = Plan { nodes: 1, targets_per_node: 4, settings, hosts: loopback_hosts(1) };
    Cluster::new(folder, plan)
}

fn store(cluster: &Cluster, seeds: std::ops::Range<u32>) -> Stored {
    let file = |seed| content(1_300_000 + seed as usize * 50_000, seed);
    seeds.map(|seed| (put(cluster, 0, &file(seed)).expect("it is stored"), file(seed))).collect()
}

fn all_readable(cluster: &Cluster, stored: &Stored) {
    for (address, content) in stored {
        assert!(get(cluster, 0, address) == *content, "{address}");
    }
}

fn target(cluster: &Cluster, number: u64) -> Value {
    let status = cluster.status(0);
    let mut targets = status["targets"].as_array().expect("targets").iter();
    targets.find(|target| target["target"] == number).expect("such a target").clone()
}

/// Where nothing is new, a node needs no place to write who its targets are.
#[test]
fn a_register_that_cannot_be_written_is_enough_for_targets_that_it_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().join("etc");
    let Some(mount) = Mount::new(at.clone(), &["-t", "tmpfs", "-o", "size=1M", "none"]) else {
        return;
    };
    let mut cluster = node(folder.path());
    let path = folder.path().join("node-0.toml");
    let file = fs::read_to_string(&path).expect("it is there");
    let file = file.replacen('\n', "\nregister = \"etc/targets.toml\"\n", 1);
    fs::write(&path, file).expect("room");
    cluster.start(0);
    let stored = store(&cluster, 0..3);
    cluster.kill(0);
    mount.remount("ro");
    cluster.start(0);
    all_readable(&cluster, &stored);
    let twice = refused_start(&["--config", &path.display().to_string()]);
    assert!(twice.contains("used by another process") || twice.contains("in use"), "{twice}");
    cluster.kill(0);

    fs::remove_dir_all(folder.path().join("target-002")).expect("it is there");
    cluster.start(0);
    assert_eq!(target(&cluster, 2)["state"], "failed");
    assert!(!folder.path().join("target-002").exists());
}

/// Of every target: its state, and how many chunks it holds.
fn states(cluster: &Cluster) -> Vec<(String, u64)> {
    let of = |number| {
        let target = target(cluster, number);
        let state = target["state"].as_str().expect("a state").to_owned();
        (state, target["chunks"].as_u64().expect("a number"))
    };
    (0..4).map(of).collect()
}

/// The content of all segments in a folder, by their names.
fn segments(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder.join("segments")).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let segments = paths.filter(|path| path.extension().is_some_and(|end| end == "seg"));
    segments.map(|path| (path.clone(), fs::read(path).expect("it is there"))).collect()
}

fn swap(a: &Path, b: &Path) {
    let aside = a.with_extension("aside");
    fs::rename(a, &aside).expect("it moves");
    fs::rename(b, a).expect("it moves");
    fs::rename(aside, b).expect("it moves");
}

#[test]
fn a_disk_that_is_not_mounted_is_no_new_target() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = node(folder.path());
    cluster.start(0);
    let mut stored = store(&cluster, 0..6);
    let before = states(&cluster);
    assert!(before[1].1 > 0, "{before:?}");
    cluster.kill(0);

    // An empty mount point, and none at all.
    let [place, away] = ["target-001", "away"].map(|name| folder.path().join(name));
    fs::rename(&place, &away).expect("it moves");
    for mount_point in [true, false] {
        if mount_point {
            fs::create_dir(&place).expect("room");
        }
        cluster.start(0);
        let refused = target(&cluster, 1);
        assert_eq!((&refused["state"], &refused["chunks"]), (&"failed".into(), &0.into()));
        let found = if mount_point { "its folder is empty" } else { "its folder is not there" };
        assert_eq!(refused["reason"], found, "{refused}");
        let text = cluster.says(0, &["status"]);
        for part in ["expected target 1 of cluster", "slotcast target replace --target 1"] {
            assert!(text.contains(part), "{text}");
        }
        let logged = cluster.logged(0, "folder unusable");
        let logged = logged.last().expect("a line");
        assert_eq!((&logged["level"], &logged["target"]), (&"ERROR".into(), &1.into()), "{logged}");
        let cause = logged["cause"].as_str().expect("a text");
        assert!(cause.contains(found) && cause.contains("mount its disk"), "{logged}");
        all_readable(&cluster, &stored);
        stored.extend(store(&cluster, 6..8));
        cluster.kill(0);
        match mount_point {
            true => fs::remove_dir(&place).expect("nothing was written into it"),
            false => assert!(!place.exists(), "nothing was made"),
        }
    }

    fs::rename(&away, &place).expect("it moves");
    cluster.start(0);
    assert_eq!(states(&cluster)[1], before[1], "it is there with what it held");
    all_readable(&cluster, &stored);
}

#[test]
fn disks_that_were_swapped_are_refused_until_they_are_swapped_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = node(folder.path());
    cluster.start(0);
    let stored = store(&cluster, 0..6);
    let before = states(&cluster);
    cluster.kill(0);

    let [a, b] = ["target-000", "target-002"].map(|name| folder.path().join(name));
    swap(&a, &b);
    let held = [segments(&a), segments(&b)];
    cluster.start(0);
    for (number, other) in [(0, 2), (2, 0)] {
        let refused = target(&cluster, number);
        assert_eq!(refused["state"], "failed", "{refused}");
        assert_eq!(refused["reason"], format!("its folder is that of target {other}"));
    }
    assert_eq!([target(&cluster, 1), target(&cluster, 3)].map(|t| t["state"].clone()), ["open"; 2]);
    all_readable(&cluster, &stored);
    cluster.kill(0);
    assert!(held == [segments(&a), segments(&b)], "nothing was changed in them");

    swap(&a, &b);
    cluster.start(0);
    let after = states(&cluster);
    assert!(
        after.iter().zip(&before).all(|(now, then)| now.0 == "open" && now.1 >= then.1),
        "{after:?}"
    );
    all_readable(&cluster, &stored);
}

#[test]
fn one_copy_of_a_label_is_enough_and_without_any_nothing_is_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = node(folder.path());
    cluster.start(0);
    let stored = store(&cluster, 0..6);
    let before = states(&cluster);
    cluster.kill(0);

    let place = folder.path().join("target-003");
    let labels = ["target.toml", "segments/target.toml"].map(|copy| place.join(copy));
    let texts = labels.clone().map(|label| fs::read(label).expect("it is there"));
    for (n, label) in (1..).zip(&labels) {
        fs::remove_file(label).expect("it was there");
        cluster.start(0);
        assert_eq!(states(&cluster), before, "nothing is lost");
        assert_eq!(labels.clone().map(|label| fs::read(label).expect("it is there")), texts);
        let restored = cluster.logged(0, "label of a target restored");
        assert_eq!(
            (restored.len(), &restored[n - 1]["level"]),
            (n, &"WARN".into()),
            "{restored:?}"
        );
        all_readable(&cluster, &stored);
        cluster.kill(0);
    }

    let held = segments(&place);
    assert!(!held.is_empty());
    labels.iter().for_each(|label| fs::remove_file(label).expect("it was there"));
    cluster.start(0);
    let refused = target(&cluster, 3);
    assert_eq!(refused["state"], "failed", "{refused}");
    assert!(refused["reason"].as_str().expect("text").contains("no label"), "{refused}");
    all_readable(&cluster, &stored);
    cluster.kill(0);
    assert!(segments(&place) == held, "no segment was touched");

    labels.iter().zip(texts).for_each(|(label, text)| fs::write(label, text).expect("room"));
    cluster.start(0);
    assert_eq!(states(&cluster)[3], before[3]);
    all_readable(&cluster, &stored);
}

#[test]
fn a_target_that_is_replaced_is_a_new_incarnation_and_is_filled_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = node(folder.path());
    let config = folder.path().join("node-0.toml").display().to_string();
    let replace = |more: &[&str]| {
        let output = slotcast(
            &[&["target", "replace", "--config", &config, "--target", "2"], more].concat(),
        );
        let text =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        (output.status.success(), text.concat())
    };
    let list = || -> Vec<Value> {
        let output = slotcast(&["target", "list", "--config", &config, "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    cluster.start(0);
    let stored = store(&cluster, 0..6);
    let held = target(&cluster, 2)["chunks"].as_u64().expect("a number");
    assert!(held > 0);
    assert!(list().iter().all(|target| target["state"] == "fits" && target["incarnation"] == 1));
    let (done, text) = replace(&[]);
    assert!(!done && text.contains("used by another process"), "{text}");
    cluster.kill(0);
    let (done, text) = replace(&[]);
    assert!(!done && text.contains("in good order"), "{text}");

    // The disk is lost, and a new one is mounted.
    let place = folder.path().join("target-002");
    fs::remove_dir_all(&place).expect("it was there");
    fs::create_dir(&place).expect("room");
    fs::write(place.join("thesis.txt"), "mine").expect("room");
    let (done, text) = replace(&["--force"]);
    assert!(!done && text.contains("empty the folder first"), "{text}");
    fs::remove_file(place.join("thesis.txt")).expect("it was there");
    let text = slotcast(&["target", "list", "--config", &config]).stdout;
    let text = String::from_utf8(text).expect("text");
    let rows = text.lines().filter(|line| !line.contains(&folder.path().display().to_string()));
    assert!(rows.map(|line| line.trim_end().chars().count()).max() <= Some(80), "{text}");
    assert!(text.contains("target 2: its folder is empty\n  expected target 2"), "{text}");
    assert_eq!(
        (&list()[2]["state"], &list()[2]["found"]),
        (&"refused".into(), &"its folder is empty".into())
    );
    let (done, text) = replace(&[]);
    assert!(done && text.contains("incarnation 2"), "{text}");
    assert_eq!(list()[2]["state"], "new");
    assert!(fs::read_dir(&place).expect("a folder").next().is_none(), "the node formats it");

    cluster.start(0);
    assert_eq!((&list()[2]["state"], &list()[2]["incarnation"]), (&"fits".into(), &2.into()));
    all_readable(&cluster, &stored);
    // What it held is put again, into it or elsewhere.
    cluster.wait("all chunks have three replicas again", || {
        let chunks = stored.iter().flat_map(|(address, _)| -> Vec<Value> {
            serde_json::from_str(&cluster.says(0, &["stat", address, "--json"])).expect("JSON")
        });
        chunks.map(|chunk| chunk["holders"].as_array().map_or(0, Vec::len)).all(|held| held >= 3)
    });
}

#[test]
fn without_any_of_its_disks_a_node_does_not_start_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut cluster = node(folder.path());
    cluster.start(0);
    cluster.kill(0);
    for number in 0..4 {
        fs::remove_dir_all(folder.path().join(format!("target-{number:03}")))
            .expect("it was there");
    }
    let config = folder.path().join("node-0.toml").display().to_string();
    let told = refused_start(&["--config", &config]);
    assert!(
        told.contains("its folder is not there") && told.contains("slotcast target replace"),
        "{told}"
    );
    assert!(!folder.path().join("target-000").exists());
}

/// A store in one process; killed when dropped.
struct Served(Child, String);

impl Served {
    fn start(data: &str, more: &[&str]) -> Served {
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args(
                [&["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--data", data], more]
                    .concat(),
            )
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        let out = process.stdout.take().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        let node = line.trim().rsplit("http://").next().expect("an address").to_owned();
        assert!(!node.is_empty(), "{line:?}");
        Served(process, node)
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = slotcast(&[arguments, &["--node", &self.1]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A crash between the register and the folders must neither lose a target nor refuse it for ever.
#[test]
fn a_first_start_that_is_killed_is_ended_by_the_next() {
    for killed_at in ["targets.toml", "target-000/segments", "target-000/target.toml", "target-009"]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data").display().to_string();
        let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
            .args([
                "serve",
                "--s3",
                "off",
                "--listen",
                "127.0.0.1:0",
                "--targets",
                "18",
                "--data",
                &data,
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        let place = Path::new(&data).join(killed_at);
        while !place.exists() {
            assert!(process.try_wait().expect("a process").is_none(), "it serves");
        }
        process.kill().expect("it runs");
        process.wait().expect("it ends");
        let served = Served::start(&data, &[]);
        let status: Value =
            serde_json::from_str(&served.says(&["status", "--json"])).expect("JSON");
        let targets = status["targets"].as_array().expect("targets");
        assert_eq!(targets.len(), 18);
        assert!(targets.iter().all(|target| target["state"] == "open"), "{killed_at}: {status}");
    }
}

/// Eighteen targets are two groups, and nine are one: with another number most of the content is not found.
#[test]
fn a_store_keeps_its_number_of_targets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (data, input) = (path("data"), path("in"));
    let served = Served::start(&data, &["--targets", "18"]);
    let put = |seed| {
        fs::write(&input, content(60_000, seed)).expect("room");
        (served.says(&["put", &input]), content(60_000, seed))
    };
    let stored: Stored = (0..8).map(put).collect();
    drop(served);

    let refused = |more: &[&str]| {
        let told = refused_start(&[&["--listen", "127.0.0.1:0", "--data", &data], more].concat());
        assert!(told.contains("has 18 targets") && told.contains("--targets 18"), "{told}");
    };
    for register in [true, false] {
        if !register {
            fs::remove_file(folder.path().join("data/targets.toml")).expect("it was there");
        }
        refused(&["--targets", "9"]);
        refused(&["--targets", "27"]);
        // Who does not say it gets the number that the store has.
        let served = Served::start(&data, &[]);
        for (address, content) in &stored {
            served.says(&["get", address, "-o", &path("out")]);
            assert!(fs::read(path("out")).expect("it is there") == *content, "{address}");
        }
    }
}
