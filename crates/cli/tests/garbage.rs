//! The collection of garbage of a real store: what is deleted gives its room back, and nothing else goes.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use served::{Served, content, said};

/// Chunks on all targets.
fn replicas(served: &Served) -> u64 {
    let status = served.says(&["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let targets = status["targets"].as_array().expect("targets");
    targets.iter().map(|target| target["chunks"].as_u64().expect("a number")).sum()
}

/// What rounds of collection have removed.
fn collect(served: &Served) -> u64 {
    let rounds = served.says(&["gc", "run", "--json"]);
    let removed = rounds.lines().map(|line| {
        let round: serde_json::Value = serde_json::from_str(line).expect("JSON");
        assert_eq!(round["given_up"], false, "{line}");
        round["removed_replicas"].as_u64().expect("a number")
    });
    removed.sum()
}

#[test]
fn what_is_deleted_goes_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let file = |name: &str, length: usize, seed: u32| {
        fs::write(folder.path().join(name), content(length, seed)).expect("room");
        path(name)
    };
    let data = folder.path().join("data");
    let served = Served::start(&data, &[]);
    served.says(&["mb", "slot://b"]);
    let (one, several, bare) =
        (file("one", 100_000, 1), file("several", 5_000_000, 2), file("bare", 100_000, 3));
    // One chunk, six with the list, one without a name, and one with a name and without.
    served.says(&["cp", &one, "slot://b/one"]);
    served.says(&["cp", &several, "slot://b/several"]);
    let address = served.says(&["put", &bare]);
    let address = address.split_whitespace().next().expect("an address").to_string();
    served.says(&["put", &file("both", 90_000, 4)]);
    served.says(&["cp", &path("both"), "slot://b/both"]);
    assert_eq!(replicas(&served), 3 * (1 + 6 + 1 + 1));
    assert_eq!(collect(&served), 0, "all of it is wanted");

    // A copy is another name for the same content.
    served.says(&["cp", "slot://b/several", "slot://b/copy"]);
    served.says(&["rm", "slot://b/one"]);
    served.says(&["rm", "slot://b/several"]);
    served.says(&["rm", "slot://b/both"]);
    assert_eq!(collect(&served), 3, "what was deleted is one chunk");
    served.says(&["cp", "slot://b/copy", &path("out")]);
    assert!(fs::read(path("out")).expect("it is there") == content(5_000_000, 2));
    served.says(&["get", &address, "-o", &path("out-bare")]);
    assert!(fs::read(path("out-bare")).expect("it is there") == content(100_000, 3));

    // What was put again after its deletion stays.
    served.says(&["rm", "slot://b/copy"]);
    served.says(&["cp", &several, "slot://b/again"]);
    assert_eq!(collect(&served), 0);
    drop(served);

    // A node that has started anew does not know what was put before, and sits out at first.
    let served = Served::start(&data, &[]);
    served.says(&["rm", "slot://b/again"]);
    assert_eq!(collect(&served), 3 * 6);
    assert_eq!(replicas(&served), 3 * 2);
    let status = served.says(&["gc", "status"]);
    assert!(status.contains("is the latest") && status.contains("18 replicas"), "{status}");
    let none = served.run(&["cp", "slot://b/again", &path("none")]);
    assert!(!none.status.success() && said(&none).contains("no object"), "{none:?}");
}

#[test]
fn parts_of_an_upload_that_was_given_up_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    // Its length is not known before, and its client breaks off.
    let body = content(3_000_000, 5);
    let answer = served.ask("PUT /v2/b/broken", "Transfer-Encoding: chunked\r\n", b"zz\r\n");
    assert!(answer.status() >= 400, "{}", answer.status());
    let answer = served.ask("PUT /v2/b/wrong", "If-Match: \"7-00f3a2c41d5e6b78\"\r\n", &body);
    assert_eq!(answer.status(), 412);
    // That may be decided before the last of its chunks is stored.
    let mut before = 0;
    for _ in 0..60 {
        let now = replicas(&served);
        if now > 0 && now == before {
            break;
        }
        before = now;
        thread::sleep(Duration::from_millis(500));
    }
    assert!(before > 0, "its chunks are stored whatever becomes of it");
    assert_eq!(collect(&served), before);
    assert_eq!(replicas(&served), 0);
}

/// Spoils each list of chunks that is somewhere below a folder; gives their number.
fn spoil_lists(folder: &Path) -> usize {
    let mut spoiled = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            spoiled += spoil_lists(&path);
            continue;
        }
        let mut bytes = fs::read(&path).expect("a file");
        let begins = |n: &usize| bytes[*n..].starts_with(b"SLCLIST1");
        let found: Vec<usize> = (0..bytes.len()).filter(begins).collect();
        for place in &found {
            bytes[place + 20] ^= 1;
        }
        if !found.is_empty() {
            fs::write(&path, bytes).expect("room");
        }
        spoiled += found.len();
    }
    spoiled
}

#[test]
fn a_list_that_is_lost_is_told_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let file = folder.path().join("file").display().to_string();
    fs::write(&file, content(3_000_000, 7)).expect("room");
    let served = Served::start(&data, &["--targets", "3"]);
    served.says(&["mb", "slot://b"]);
    served.says(&["cp", &file, "slot://b/a folder/several"]);
    served.says(&["cp", &file, "slot://b/other"]);
    served.says(&["rm", "slot://b/other"]);
    drop(served);
    assert_eq!(spoil_lists(&data), 3, "a list, on three targets");

    let served = Served::start(&data, &["--targets", "3"]);
    let round = served.says(&["gc", "run", "--rounds", "1", "--json"]);
    let round: serde_json::Value = serde_json::from_str(&round).expect("JSON");
    assert_eq!(round["given_up"], true, "{round}");
    assert_eq!(round["lost"]["bucket"], "b", "{round}");
    assert_eq!(round["lost"]["object"], "a folder/several", "{round}");
    let status = served.says(&["gc", "status"]);
    assert!(status.contains("slot://b/a folder/several") && status.contains("delete"), "{status}");
    let log = fs::read_to_string(data.with_extension("log")).expect("a log");
    let line = log.lines().find(|line| line.contains("a list of chunks is lost"));
    assert!(line.is_some_and(|line| line.contains("a folder/several")), "{log}");

    // Without it garbage is collected again.
    served.says(&["rm", "slot://b/a folder/several"]);
    let round = served.says(&["gc", "run", "--rounds", "1", "--json"]);
    assert!(!round.contains("\"given_up\":true"), "{round}");
    let status = served.says(&["gc", "status"]);
    assert!(!status.contains("cannot be read"), "{status}");
}
