//! `slotcast doctor` on the real machine, and what is made from the commands: completions and manual pages.
#![allow(clippy::disallowed_methods, reason = "tests read and write files")]

mod support;

use std::fs;
use std::net::TcpListener;
use std::path::Path;

use serde_json::Value;
use support::{command, file, scratch, slotcast};

/// What it says of a check: its verdict, and whether there is a remedy.
fn findings(arguments: &[&str]) -> (i32, Vec<(String, String, bool)>) {
    let mut all = vec!["doctor", "--json"];
    all.extend(arguments);
    let run = slotcast(&all);
    let json: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let of = |finding: &Value, key: &str| finding[key].as_str().expect("a text").to_owned();
    let findings = json["findings"].as_array().expect("findings").iter();
    let findings = findings.map(|finding| {
        (of(finding, "check"), of(finding, "verdict"), finding.get("remedy").is_some())
    });
    (run.status, findings.collect())
}

fn verdict_of<'a>(findings: &'a [(String, String, bool)], check: &str) -> &'a str {
    let finding = findings.iter().find(|(name, ..)| name == check);
    &finding.unwrap_or_else(|| panic!("{check} in {findings:?}")).1
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_folder_on_a_disk_will_do_and_nothing_is_left_in_it() {
    let folder = scratch("fit");
    fs::create_dir_all(&folder).expect("a folder");
    let arguments = ["--data", text(&folder), "--listen", "127.0.0.1:0", "--s3", "127.0.0.1:0"];
    let (status, findings) = findings(&arguments);
    assert_eq!(status, 0, "{findings:?}");
    assert_eq!(verdict_of(&findings, "open files"), "good");
    assert_eq!(verdict_of(&findings, "disks"), "warning", "nine targets on one disk");
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0, "a probe was left");
    for (check, verdict, has_remedy) in &findings {
        let needs_one = ["warning", "bad"].contains(&verdict.as_str());
        assert!(*has_remedy || !needs_one, "{check} is {verdict}, and nothing says what to do");
    }
    let run = command(&["doctor"]).args(arguments).output().expect("it runs");
    let text = String::from_utf8(run.stdout).expect("UTF-8");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn memory_is_no_disk() {
    let folder = Path::new("/dev/shm");
    if !folder.is_dir() {
        eprintln!("skipped: /dev/shm is not there");
        return;
    }
    let (status, findings) = findings(&["--data", text(folder)]);
    assert_eq!((status, verdict_of(&findings, "file system")), (1, "bad"));
}

#[test]
fn a_folder_that_cannot_be_made_is_bad() {
    let (status, findings) = findings(&["--data", "/proc/slotcast"]);
    assert_eq!(status, 1);
    assert_eq!(verdict_of(&findings, "folder"), "bad");
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let folder = scratch("ports");
    let (status, findings) = findings(&["--data", text(&folder), "--listen", &address]);
    assert_eq!((status, verdict_of(&findings, "HTTP")), (0, "warning"));
}

#[test]
fn a_node_of_a_cluster_has_datagrams_to_look_at() {
    let folder = scratch("cluster");
    fs::create_dir_all(folder.join("disk")).expect("a folder");
    let key = folder.join("cluster.key");
    fs::write(&key, "ab".repeat(32)).expect("a file");
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("its mode");
    let map = "epoch = 1\nreplicas = 1\nmtu = 1500\nmulticast = \"239.77.3.0:17482\"\n\
               [[node]]\nnumber = 0\naddress = \"127.0.0.1:17481\"\ntargets = [0]\n";
    fs::write(folder.join("cluster.toml"), map).expect("a file");
    let node = "name = \"a\"\nnode = 0\nhttp = \"127.0.0.1:0\"\ncluster = \"cluster.toml\"\n\
                key = \"cluster.key\"\n[[target]]\nnumber = 0\nfolder = \"disk\"\n";
    fs::write(folder.join("node.toml"), node).expect("a file");
    let (_, findings) = findings(&["--config", text(&folder.join("node.toml"))]);
    for check in ["datagrams", "rmem_max", "wmem_max", "MTU", "multicast"] {
        assert_ne!(verdict_of(&findings, check), "bad", "{findings:?}");
    }
    assert_eq!(verdict_of(&findings, "disks"), "good", "one target on one disk");
    let missing = slotcast(&["doctor", "--config", "nowhere/node.toml"]);
    assert_eq!(missing.status, 2);
    assert!(missing.stderr.contains("nowhere/node.toml"), "{}", missing.stderr);
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let run = slotcast(&["completions", shell]);
        assert_eq!(run.status, 0, "{}", run.stderr);
        for name in ["serve", "undelete", "doctor"] {
            assert!(run.stdout.contains(name), "{shell} does not know {name}");
        }
    }
    let script = file("slotcast.bash", &slotcast(&["completions", "bash"]).stdout);
    let checked = std::process::Command::new("bash").arg("-n").arg(&script).status();
    assert!(checked.expect("bash runs").success(), "bash does not read it");
}

#[test]
fn manual_pages_are_written_once() {
    let folder = scratch("pages");
    let _ = fs::remove_dir_all(&folder);
    let run = slotcast(&["man", "--out", text(&folder)]);
    assert_eq!(run.status, 0, "{}", run.stderr);
    let page = fs::read_to_string(folder.join("slotcast-target-replace.1")).expect("a page");
    assert!(page.contains(r"\-\-force") && page.contains("slotcast\\-target\\-replace"), "{page}");
    let again = slotcast(&["man", "--out", text(&folder)]);
    assert_eq!(again.status, 2);
    assert!(again.stderr.contains("--force"), "{}", again.stderr);
    assert_eq!(slotcast(&["man", "--force", "--out", text(&folder)]).status, 0);
}
