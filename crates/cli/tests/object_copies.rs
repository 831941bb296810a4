//! Copies, moves and sums of objects, in a real store: at the command line, with many at a time, stopped and gone on with.
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

use serde_json::{Value, json};
use served::{Served, content, said};

fn start(folder: &tempfile::TempDir) -> Served {
    Served::start(&folder.path().join("data"), &[])
}

fn put(served: &Served, path: &str, headers: &str, body: &[u8]) {
    let answer = served.ask(&format!("PUT /v2/{path}"), headers, body);
    assert_eq!(answer.status(), 200, "{answer:?}");
}

fn get(served: &Served, path: &str) -> Vec<u8> {
    let answer = served.ask(&format!("GET /v2/{path}"), "", b"");
    assert_eq!(answer.status(), 200, "{path}: {answer:?}");
    answer.body
}

fn described(served: &Served, path: &str) -> Value {
    served.ask(&format!("GET /v2/{path}?describe=true"), "", b"").json()
}

/// Bytes of the files in a folder and those below it.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let bytes = entries.map(|entry| match entry.metadata().expect("it is there") {
        of if of.is_dir() => bytes_in(&entry.path()),
        of => of.len(),
    });
    bytes.sum()
}

#[test]
fn a_copy_inside_the_store_moves_no_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    for arguments in [["mb", "slot://a"], ["mb", "slot://b"]] {
        served.says(&arguments);
    }
    let headers = "Content-Type: text/x\r\nSlotcast-Meta-K: v\r\nSlotcast-Tags: t=1\r\n";
    // In the register, a chunk, and a list of chunks.
    let contents = [content(10, 1), content(50_000, 2), content(5_000_000, 3)];
    for (n, content) in contents.iter().enumerate() {
        put(&served, &format!("a/{n}"), headers, content);
    }
    let chunks_before: Vec<Value> =
        (0..3).map(|n| described(&served, &format!("a/{n}"))["content"].clone()).collect();
    let before = bytes_in(&folder.path().join("data"));
    for n in 0..3 {
        for copy in 0..4 {
            served.says(&["cp", &format!("slot://a/{n}"), &format!("slot://b/{copy}/{n}")]);
        }
    }
    let more = bytes_in(&folder.path().join("data")).saturating_sub(before);
    assert!(more < 5_000_000, "{more} bytes for copies of 5 MB");
    for (n, content) in contents.iter().enumerate() {
        assert!(get(&served, &format!("b/3/{n}")) == *content, "{n}");
        let copy = described(&served, &format!("b/3/{n}"));
        assert_eq!(copy["content"], chunks_before[n]);
        assert_eq!(copy["metadata"], json!({ "k": "v" }));
        assert_eq!(copy["tags"], json!({ "t": "1" }));
        assert_eq!(copy["media_type"], json!("text/x"));
    }
    let there = said(&served.run(&["cp", "--if-absent", "slot://a/0", "slot://b/3/0"]));
    assert!(there.contains("412"), "{there}");
    let same = said(&served.run(&["cp", "slot://a/0", "slot://a/0"]));
    assert!(same.contains("both source and target"), "{same}");
    // What is made on the way is not copied again.
    let told = served.says(&["cp", "-r", "slot://a/", "slot://a/below/"]);
    assert_eq!(told, "3 copied, 5050010 bytes");
    assert_eq!(served.says(&["rm", "-r", "slot://a/below/"]), "3 deleted");
    // What the bucket wants of its chunks holds for copies, too.
    served.says(&["mb", "--replicas", "4", "slot://safe"]);
    served.says(&["cp", "-r", "slot://a/", "slot://safe/"]);
    for (n, content) in contents.iter().enumerate().skip(1) {
        let address = described(&served, &format!("safe/{n}"))["content"].clone();
        assert_eq!(address, chunks_before[n]);
        let address = address.as_str().expect("an address");
        let chunks = served.says(&["stat", "--json", address]);
        let chunks: Value = serde_json::from_str(&chunks).expect("JSON");
        for chunk in chunks.as_array().expect("chunks") {
            assert_eq!(chunk["replicas"], json!(4), "{chunk}");
        }
        assert!(get(&served, &format!("safe/{n}")) == *content);
    }
}

#[test]
fn a_move_never_loses_what_came_between() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "slot://b"]);
    for round in 0..16 {
        put(&served, "b/from", "", b"old");
        let to = format!("slot://b/to/{round}");
        thread::scope(|scope| {
            let (served, to) = (&served, &to);
            let moved = scope.spawn(move || served.run(&["mv", "slot://b/from", to]));
            scope.spawn(move || {
                // At all moments of the move.
                for _ in 0..round % 8 {
                    served.ask("GET /v2/", "", b"");
                }
                put(served, "b/from", "", b"new");
            });
            moved.join().expect("it ends")
        });
        let at = |path: &str| served.ask(&format!("GET /v2/b/{path}"), "", b"").body;
        let is_there = at("from") == b"new" || at(&format!("to/{round}")) == b"new";
        assert!(is_there, "round {round}: acknowledged, and lost");
    }
    // Without anybody in between it is at one place.
    put(&served, "b/x/1", "", b"1");
    put(&served, "b/x/2", "", b"2");
    assert_eq!(served.says(&["mv", "-r", "slot://b/x/", "slot://b/y/"]), "2 moved, 2 bytes");
    let names = lines(&served.says(&["ls", "-r", "--json", "slot://b/y"]));
    assert_eq!(names.len(), 2);
    assert_eq!(served.says(&["ls", "-r", "slot://b/x"]), "");
    assert_eq!(get(&served, "b/y/2"), b"2");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_was_stopped_goes_on_and_what_is_there_is_passed_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = start(&folder);
    served.says(&["mb", "slot://b"]);
    fs::create_dir_all(path("in/deep")).expect("room");
    for n in 0..8 {
        fs::write(path(&format!("in/deep/{n}")), content(2_000_000, n)).expect("room");
    }
    let resumed = ["cp", "-r", "--resume", &path("in"), "slot://b/x"];
    // Some are there, one of them is another one of equal length.
    served.says(&["cp", &path("in/deep/0"), &path("in/deep/1"), "slot://b/x/deep/"]);
    put(&served, "b/x/deep/2", "", &content(2_000_000, 77));
    let told = served.says(&resumed);
    let text =
        "6 copied and verified, 12000000 bytes; 2 had the same content already, 4000000 bytes";
    assert_eq!(told, text);
    assert!(get(&served, "b/x/deep/2") == content(2_000_000, 2));
    let version = described(&served, "b/x/deep/0")["version"].clone();
    assert!(served.says(&resumed).starts_with("0 copied and verified, 0 bytes; 8 had"));
    assert_eq!(described(&served, "b/x/deep/0")["version"], version, "it was not stored again");
    let tagged = ["cp", "-r", "--resume", "--tag", "k=v", &path("in"), "slot://b/x"];
    assert!(served.says(&tagged).starts_with("8 copied"), "they were not tagged so");
    assert!(served.says(&tagged).starts_with("0 copied"));
    // And back: a file that is shorter, one that is another, and one that was left in part.
    served.says(&["cp", "-r", "slot://b/x/", &path("out")]);
    fs::write(path("out/deep/0"), b"short").expect("room");
    fs::write(path("out/deep/1"), content(2_000_000, 99)).expect("room");
    fs::remove_file(path("out/deep/2")).expect("it was there");
    fs::write(path("out/deep/2.part"), b"in part").expect("room");
    let told = served.says(&["cp", "-r", "--resume", "slot://b/x/", &path("out")]);
    assert!(told.starts_with("3 copied and verified, 6000000 bytes; 5 had"), "{told}");
    for n in 0..8 {
        let of = |at: &str| fs::read(path(&format!("{at}/deep/{n}"))).expect("it is there");
        assert!(of("in") == of("out"), "{n}");
    }
    assert!(!folder.path().join("out/deep/2.part").exists());
    // Inside the store, too; what is said of an object counts.
    served.says(&["cp", "-r", "slot://b/x/", "slot://b/y/"]);
    served.says(&["tag", "slot://b/x/deep/3", "a=1"]);
    let told = served.says(&["cp", "-r", "--resume", "slot://b/x/", "slot://b/y/"]);
    assert!(told.starts_with("1 copied, 2000000 bytes; 7 had"), "{told}");
    let told = served.says(&["mv", "-r", "--resume", "slot://b/x/", "slot://b/y/"]);
    assert!(told.starts_with("0 moved, 0 bytes; 8 had"), "{told}");
    assert_eq!(served.says(&["ls", "slot://b"]).trim(), "y/");
}

#[test]
fn patterns_and_sums_and_all_that_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = start(&folder);
    served.says(&["mb", "--versions", "slot://b"]);
    for name in ["a/1.jpg", "a/2.jpg", "a/3.txt", "a/deep/4.jpg", "b/5.jpg", "b/*.jpg"] {
        put(&served, &format!("b/{name}"), "", name.as_bytes());
    }
    let names = |arguments: &[&str]| -> Vec<String> {
        let all = lines(&served.says(arguments)).into_iter();
        all.map(|line| line["name"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&["ls", "--json", "slot://b/a/*.jpg"]), ["a/1.jpg", "a/2.jpg"]);
    assert_eq!(names(&["ls", "--json", "slot://b/**4.jpg"]), ["a/deep/4.jpg"]);
    assert_eq!(names(&["ls", "--json", "--literal", "slot://b/b/*"]), ["b/*.jpg"]);
    fs::create_dir(path("out")).expect("room");
    served.says(&["cp", "slot://b/a/[12].jpg", &path("out")]);
    assert_eq!(fs::read(path("out/2.jpg")).expect("it is there"), b"a/2.jpg");
    let none = said(&served.run(&["cp", "slot://b/a/*.png", &path("out")]));
    assert!(none.contains("nothing to copy"), "{none}");
    served.says(&["cp", "slot://b/*/?.jpg", "slot://b/copies/"]);
    assert_eq!(names(&["ls", "-r", "--json", "slot://b/copies/"]).len(), 4);
    assert_eq!(served.says(&["rm", "-r", "slot://b/copies/"]), "4 deleted");
    served.says(&["rm", "--literal", "slot://b/b/*.jpg"]);
    assert_eq!(names(&["ls", "--json", "slot://b/b/*"]), ["b/5.jpg"]);
    let gone = lines(&served.says(&["rm", "--json", "slot://b/b/*"]));
    assert_eq!(gone[0]["deleted"], json!(true));
    assert!(said(&served.run(&["rm", "slot://b/b/*"])).contains("no object"));

    let sum = |arguments: &[&str]| lines(&served.says(arguments)).remove(0);
    let all = sum(&["du", "--json", "slot://b"]);
    assert_eq!((&all["objects"], &all["bytes"]), (&json!(4), &json!(33)));
    let all = sum(&["du", "--json", "--versions", "slot://b/b/"]);
    assert_eq!(
        (&all["objects"], &all["versions"], &all["bytes"]),
        (&json!(0), &json!(2), &json!(14))
    );
    assert!(served.says(&["du"]).contains("4 objects"));

    let known: Value =
        serde_json::from_str(&served.says(&["stat", "--json", "slot://b/a/1.jpg"])).expect("JSON");
    assert_eq!((&known["size"], &known["latest"]), (&json!(7), &json!(true)));
    let text = served.says(&["stat", "slot://b/a/1.jpg"]);
    assert!(text.contains("the latest") && text.contains("(7 bytes)"), "{text}");
    assert!(served.says(&["stat", "slot://b"]).contains("versions     on"));
    assert!(said(&served.run(&["stat", "slot://b/none"])).contains("no object"));
    let version = known["version"].as_str().expect("a version");
    put(&served, "b/a/1.jpg", "", b"new");
    let text = served.says(&["stat", "--version", version, "slot://b/a/1.jpg"]);
    assert!(text.contains("an earlier one"), "{text}");
    assert_eq!(served.says(&["cat", "--version", version, "slot://b/a/1.jpg"]), "a/1.jpg");

    fs::write(path("f"), b"file").expect("room");
    served.says(&[
        "cp",
        "--type",
        "text/plain",
        "--meta",
        "a=\u{fc}",
        "--tag",
        "k=v w",
        &path("f"),
        "slot://b/f",
    ]);
    let known = described(&served, "b/f");
    assert_eq!(known["metadata"], json!({ "a": "\u{fc}" }));
    assert_eq!(known["tags"], json!({ "k": "v w" }));
    assert_eq!(known["media_type"], json!("text/plain"));
}

/// What the node says that content is and what was read are compared: a proxy in between cannot change it unseen.
#[test]
fn content_that_is_not_what_it_should_be_is_not_left_anywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let liar = listener.local_addr().expect("an address").to_string();
    let lies = thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = listener.accept().expect("a client");
        let mut buffer = [0; 4096];
        let _ = stream.read(&mut buffer).expect("a request");
        let hash = "0".repeat(64);
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nSlotcast-Content: chunk-{hash}\r\nConnection: close\r\n\r\nxyz"
        );
        stream.write_all(answer.as_bytes()).expect("it listens");
    });
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["cp", "--node", &liar, "slot://b/n", &path("out")])
        .output()
        .expect("it runs");
    lies.join().expect("it ends");
    let told = said(&output);
    assert!(told.contains("was stored as"), "{told}");
    assert!(!folder.path().join("out").exists() && !folder.path().join("out.part").exists());
}
