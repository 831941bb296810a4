//! A real store: a process that serves, others that put and get, and a kill in between.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use served::{Served, content};

/// Says that a target whose folder was removed begins anew in an empty one.
fn replace(data: &Path, target: u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["target", "replace", "--target", &target.to_string(), "--data"])
        .arg(data)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn what_was_put_is_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = Served::start(&folder.path().join("data"), &[]);
    let mut stored = Vec::new();
    for (n, length) in [0, 1, 4096, 1 << 20, (1 << 20) + 1, 20_000_000].into_iter().enumerate() {
        let content = content(length, u32::try_from(n).unwrap());
        fs::write(path("in"), &content).unwrap();
        stored.push((served.says(&["put", &path("in")]), content));
    }
    drop(served);

    let served = Served::start(&folder.path().join("data"), &[]);
    for (address, content) in &stored {
        served.says(&["get", address, "-o", &path("out")]);
        assert!(fs::read(path("out")).unwrap() == *content, "{address}");
        assert!(!Path::new(&path("out.part")).exists());
    }
    // Equal content costs no room, and has the same address.
    let before = served.says(&["status", "--json"]);
    fs::write(path("in"), &stored[5].1).unwrap();
    assert_eq!(served.says(&["put", &path("in")]), stored[5].0);
    let chunks = |status: &str| -> u64 {
        let status: serde_json::Value = serde_json::from_str(status).unwrap();
        status["targets"].as_array().unwrap().iter().map(|t| t["chunks"].as_u64().unwrap()).sum()
    };
    assert_eq!(chunks(&served.says(&["status", "--json"])), chunks(&before));

    // Every chunk has its three replicas on different targets.
    let chunks = served.says(&["stat", &stored[5].0, "--json"]);
    let chunks: serde_json::Value = serde_json::from_str(&chunks).unwrap();
    let chunks = chunks.as_array().unwrap();
    assert_eq!(chunks.len(), 20);
    for chunk in chunks {
        assert_eq!(chunk["holders"].as_array().unwrap().len(), 3, "{chunk}");
    }
}

#[test]
fn a_target_that_lost_its_folder_is_made_up_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = folder.path().join("data");
    let served = Served::start(&data, &[]);
    fs::write(path("in"), content(12_000_000, 7)).unwrap();
    let address = served.says(&["put", &path("in")]);
    let holders = |served: &Served| -> Vec<Vec<u64>> {
        let chunks = served.says(&["stat", &address, "--json"]);
        let chunks: serde_json::Value = serde_json::from_str(&chunks).unwrap();
        let chunks = chunks.as_array().unwrap().iter();
        let numbers = |chunk: &serde_json::Value| {
            let holders = chunk["holders"].as_array().unwrap().iter();
            holders.map(|holder| holder.as_u64().unwrap()).collect()
        };
        chunks.map(numbers).collect()
    };
    let before = holders(&served);
    let gone = before[0][0];
    drop(served);

    fs::remove_dir_all(data.join(format!("target-{gone:03}"))).unwrap();
    replace(&data, gone);
    let served = Served::start(&data, &[]);
    let lost = before.iter().filter(|chunk| chunk.contains(&gone)).count() as u64;
    let healed = |status: &serde_json::Value| -> u64 {
        let targets = status["targets"].as_array().unwrap().iter();
        targets.map(|target| target["repair"]["healed_chunks"].as_u64().unwrap()).sum()
    };
    // Nobody asks for it; how long it takes is the machine's affair.
    loop {
        if holders(&served).iter().all(|chunk| chunk.len() >= 3) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    served.says(&["get", &address, "-o", &path("out")]);
    assert!(fs::read(path("out")).unwrap() == content(12_000_000, 7));
    loop {
        let status = served.says(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&status).unwrap();
        // One that two targets have found counts as healed twice, and another may still be looked at.
        let nothing_lacks = served.says(&["status"]).contains("0 chunks known to have too few");
        if healed(&status) >= lost && nothing_lacks {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// The wanted replicas and the holders of each chunk at `address`.
fn stat(served: &Served, address: &str) -> Vec<(u64, Vec<u64>)> {
    let chunks = served.says(&["stat", address, "--json"]);
    let chunks: serde_json::Value = serde_json::from_str(&chunks).unwrap();
    let told = |chunk: &serde_json::Value| {
        let holders = chunk["holders"].as_array().unwrap().iter();
        let holders = holders.map(|holder| holder.as_u64().unwrap()).collect();
        (chunk["replicas"].as_u64().unwrap(), holders)
    };
    chunks.as_array().unwrap().iter().map(told).collect()
}

#[test]
fn content_is_put_and_kept_on_as_many_targets_as_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = folder.path().join("data");
    let served = Served::start(&data, &[]);
    let put = |served: &Served, seed: u32, length: usize, more: &[&str]| {
        fs::write(path("in"), content(length, seed)).unwrap();
        served.says(&[&["put", &path("in")][..], more].concat())
    };
    let is_on = |served: &Served, address: &str, replicas: u64| {
        let told = stat(served, address).into_iter();
        told.filter(|(wanted, held)| (*wanted, held.len() as u64) != (replicas, replicas)).count()
            == 0
    };
    let one = put(&served, 1, 50_000, &["--replicas", "1"]);
    let five = put(&served, 2, 3_000_000, &["--replicas", "5"]);
    let list = five.replace("list-", "chunk-");
    let usual = put(&served, 3, 50_000, &[]);
    assert!(five.starts_with("list-"), "{five}");
    for (address, replicas) in [(&one, 1), (&five, 5), (&list, 5), (&usual, 3)] {
        assert!(is_on(&served, address, replicas), "{:?}", stat(&served, address));
    }
    // The highest number stays, and what is there counts.
    assert_eq!(put(&served, 2, 3_000_000, &["--replicas", "2"]), five);
    assert_eq!(put(&served, 3, 50_000, &["--replicas", "4"]), usual);
    for (address, replicas) in [(&five, 5), (&usual, 4)] {
        assert!(is_on(&served, address, replicas), "{:?}", stat(&served, address));
    }

    // A folder is lost: repair knows the numbers after a kill, and raises none.
    let only = stat(&served, &one)[0].1[0];
    let (_, holders) = stat(&served, &five).swap_remove(0);
    let gone = *holders.iter().find(|holder| **holder != only).expect("five holders");
    drop(served);
    fs::remove_dir_all(data.join(format!("target-{gone:03}"))).unwrap();
    replace(&data, gone);
    let served = Served::start(&data, &[]);
    let is_healed = || {
        let at_least = |address: &str, replicas: usize| {
            stat(&served, address).iter().all(|(_, held)| held.len() >= replicas)
        };
        at_least(&five, 5) && at_least(&list, 5) && at_least(&usual, 4)
    };
    let begun = std::time::Instant::now();
    while !is_healed() {
        assert!(begun.elapsed() < served::PATIENCE, "it is not healed");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(stat(&served, &one), [(1, vec![only])]);
    assert!(stat(&served, &five).iter().all(|(wanted, _)| *wanted == 5));
    let shown = served.says(&["stat", &one]);
    assert!(shown.contains("wanted"), "{shown}");

    let bench = ["--size", "16KiB", "--duration", "50ms", "--warmup", "10ms", "--json", "-"];
    let report = served.says(&[&["bench", "put", "--replicas", "2"][..], &bench].concat());
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report["configuration"]["cluster.replicas"], "2");
}

#[test]
fn more_replicas_than_there_is_room_for_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &["--targets", "5"]);
    for (replicas, says) in [("0", "1..=8"), ("9", "1..=8"), ("6", "from 1 to 5")] {
        let output = served.run(&["put", "--replicas", replicas, "Cargo.toml"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(says) && text.contains(replicas), "{text}");
    }
    // More than fits on its way: the answer comes although not all was sent.
    let large = folder.path().join("large");
    std::fs::write(&large, vec![1; 32 << 20]).expect("room");
    let output = served.run(&["put", "--replicas", "6", large.to_str().expect("UTF-8")]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("from 1 to 5"), "{text}");
    served.says(&["put", "--replicas", "5", "Cargo.toml"]);
}

#[test]
fn errors_say_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let absent = format!("chunk-{}", "0".repeat(64));
    let fails = |arguments: &[&str], says: &str| {
        let output = served.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?}: {text}");
    };
    fails(&["get", &absent], "is not stored here");
    fails(&["get", "nonsense"], "`nonsense` is not an address");
    fails(&["put", "no-such-file"], "cannot read `no-such-file`");
    fails(&["put", "."], "it is a folder");
    fails(&["put", "--chunk-size", "1KiB", "Cargo.toml"], "from 4096 to 8388608 bytes, not 1024");
    fails(&["status", "--node", "127.0.0.1:1"], "slotcast serve");
    let data = folder.path().join("data").display().to_string();
    fails(
        &["serve", "--s3", "off", "--data", &data, "--listen", "127.0.0.1:0"],
        "is used by another process",
    );
    fails(&["serve", "--s3", "off", "--listen", &served.node], "does another one run?");
    fails(&["serve", "--targets", "2"], "3 replicas need as many targets");
}

#[test]
fn the_node_speaks_http_with_anybody() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let mut stream = TcpStream::connect(&served.node).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("slotcast_target_up{target=\"8\"} 1"), "{answer}");
    assert!(answer.ends_with("# EOF\n"), "{answer}");
}

#[test]
fn a_load_is_measured_as_a_simulation_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("put.json").display().to_string();
    let served = Served::start(&folder.path().join("data"), &[]);
    let common =
        ["--size", "16KiB", "--concurrency", "4", "--duration", "400ms", "--warmup", "50ms"];
    let text = served.says(&[&["bench", "put", "--json", &file][..], &common].concat());
    assert!(text.contains("chunks_per_s") && text.contains("0 failures"), "{text}");
    let put: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).expect("JSON");
    assert!(put["metrics"]["chunks_per_s"]["value"].as_f64().unwrap() > 0.0, "{put}");
    assert_eq!(put["configuration"]["workload.chunk_size"], "16KiB");
    assert_eq!(put["runs"].as_array().unwrap().len(), 10);

    // Every put had content of its own: as many chunks as were put, and those of the warm-up.
    let status: serde_json::Value =
        serde_json::from_str(&served.says(&["status", "--json"])).expect("JSON");
    let chunks: u64 =
        status["targets"].as_array().unwrap().iter().map(|t| t["chunks"].as_u64().unwrap()).sum();
    assert!(chunks >= 3 * put["counts"]["puts"].as_u64().unwrap(), "{status}");

    let get =
        served.says(&[&["bench", "get", "--chunks", "8", "--json", "-"][..], &common].concat());
    let get: serde_json::Value = serde_json::from_str(&get).expect("JSON");
    assert!(get["counts"]["gets"].as_u64().unwrap() > 0 && get["counts"]["failures"] == 0, "{get}");
    let other = folder.path().join("get.json");
    fs::write(&other, get.to_string()).unwrap();
    let compared = served.says(&["compare", &file, &other.display().to_string()]);
    assert!(compared.contains("latency_us.p99"), "{compared}");

    let top = served.says(&["top", "--interval", "100ms", "--count", "2"]);
    assert_eq!(top.matches("all targets:").count(), 2, "{top}");
}

#[test]
fn a_load_that_cannot_be_says_why() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    for (arguments, told) in [
        (&["bench", "put", "--size", "1KiB"][..], "from 4KiB to 8MiB"),
        (&["bench", "put", "--duration", "1ms"], "too short"),
        (&["top", "--interval", "1ms"], "too short"),
        (&["bench", "put", "--duration", "100ms", "--node", "127.0.0.1:1"], "cannot speak with"),
    ] {
        let output = served.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(told), "{arguments:?}: {error}");
    }
}
