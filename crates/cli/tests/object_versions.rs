//! Versions of objects, tags, and the removal of buckets, in a real store.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};
use served::{Served, content, said};

fn start(folder: &tempfile::TempDir) -> Served {
    Served::start(&folder.path().join("data"), &[])
}

/// Stores content, and gives its version.
fn put(served: &Served, path: &str, body: &[u8]) -> String {
    let answer = served.ask(&format!("PUT /v2/{path}"), "", body);
    assert_eq!(answer.status(), 200, "{answer:?}");
    answer.json()["version"].as_str().expect("a version").to_owned()
}

/// Lines of JSON.
fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn what_was_replaced_and_deleted_is_kept_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "--versions", "slot://b"]);
    assert_eq!(served.says(&["versions", "slot://b"]), "on");
    // In the register, and in a chunk.
    let contents = [content(100, 1), content(30_000, 2), content(5, 3)];
    let versions: Vec<String> =
        contents.iter().map(|content| put(&served, "b/n", content)).collect();
    let marker = served.ask("DELETE /v2/b/n", "", b"").json()["marker"].clone();
    let marker = marker.as_str().expect("a marker").to_owned();
    let gone = said(&served.run(&["cat", "slot://b/n"]));
    assert!(gone.contains("undelete") && gone.contains(&marker), "{gone}");
    assert_eq!(served.says(&["ls", "slot://b"]), "");

    // A kill in between changes nothing.
    drop(served);
    let served = start(&folder);
    let listed = lines(&served.says(&["ls", "--versions", "--json", "slot://b"]));
    let found: Vec<&str> = listed.iter().filter_map(|line| line["version"].as_str()).collect();
    assert_eq!(found, [&marker, &versions[2], &versions[1], &versions[0]]);
    assert_eq!(listed[0]["deleted"], json!(true));
    assert_eq!(listed[1]["size"], json!(5));
    assert!(served.says(&["ls", "--versions", "slot://b"]).contains("deleted"));
    for (version, content) in versions.iter().zip(&contents) {
        let output = served.run(&["cat", "--version", version, "slot://b/n"]);
        assert!(output.stdout == *content, "{version}");
        let head = served.ask(&format!("HEAD /v2/b/n?version={version}"), "", b"").head;
        assert!(head.contains(version) && head.contains("200"), "{head}");
    }
    assert_eq!(served.ask(&format!("GET /v2/b/n?version={marker}"), "", b"").status(), 404);

    served.says(&["undelete", "slot://b/n"]);
    assert_eq!(served.ask("GET /v2/b/n", "", b"").body, contents[2]);
    assert!(said(&served.run(&["undelete", "slot://b/n"])).contains("was not deleted"));
    // The latest version is deleted for good, and the one before it is the latest.
    served.says(&["rm", "--version", &versions[2], "slot://b/n"]);
    let again = said(&served.run(&["rm", "--version", &versions[2], "slot://b/n"]));
    assert!(again.contains("no version"), "{again}");
    assert_eq!(served.ask("GET /v2/b/n", "", b"").body, contents[1]);

    // Off: what is stored replaces what was stored while it was off, and nothing else.
    assert_eq!(served.says(&["versions", "slot://b", "off"]), "suspended");
    put(&served, "b/n", b"one");
    let last = put(&served, "b/n", b"two");
    let listed = lines(&served.says(&["ls", "--versions", "--json", "slot://b/n"]));
    let found: Vec<&str> = listed.iter().filter_map(|line| line["version"].as_str()).collect();
    assert_eq!(found, [&last, &versions[1], &versions[0]]);
    served.says(&["rm", "--versions", "slot://b/n"]);
    assert_eq!(served.says(&["ls", "--versions", "slot://b"]), "");
}

#[test]
fn of_two_who_change_a_bucket_one_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "slot://b"]);
    let bucket = || lines(&served.says(&["versions", "--json", "slot://b"])).remove(0);
    assert_eq!(bucket()["versions"], json!("off"));
    let version = bucket()["version"].as_str().expect("a version").to_owned();
    served.says(&["versions", "slot://b", "on", "--if-version", &version]);
    let late = said(&served.run(&["versions", "slot://b", "off", "--if-version", &version]));
    assert!(late.contains("412"), "{late}");
    assert_eq!(bucket()["versions"], json!("on"));
    // Without a condition each change is made, whoever else makes one.
    thread::scope(|scope| {
        for n in 0..8 {
            let keeps = if n % 2 == 0 { "on" } else { "off" };
            let served = &served;
            scope.spawn(move || served.says(&["versions", "slot://b", keeps]));
        }
    });
    for (body, told) in [
        ("{\"versions\": \"perhaps\"}", "perhaps"),
        ("{\"replicas\": 3}", "replicas"),
        ("{", "EOF"),
        ("", "EOF"),
    ] {
        let answer = served.ask("PATCH /v2/b", "", body.as_bytes());
        assert_eq!(answer.status(), 400, "{answer:?}");
        assert!(answer.error().contains(told), "{answer:?}");
    }
    assert_eq!(served.ask("PATCH /v2/none", "", b"{\"versions\": \"on\"}").status(), 404);
    assert_eq!(served.ask("PUT /v2/c?versions=perhaps", "", b"").status(), 400);
    assert_eq!(served.ask("GET /v2/?bucket=none", "", b"").status(), 404);
}

#[test]
fn tags_change_in_place_and_none_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "--versions", "slot://b"]);
    let headers = "Content-Type: text/plain\r\nSlotcast-Meta-Author: J\u{fc}rgen\r\n\
                   Cache-Control: no-store\r\nSlotcast-Tags: a=1&b=%C3%BC%26\r\n";
    let answer = served.ask("PUT /v2/b/n", headers, &content(20_000, 1));
    assert_eq!(answer.status(), 200, "{answer:?}");
    let version = answer.json()["version"].clone();
    let described = || served.ask("GET /v2/b/n?describe=true", "", b"").json();
    let found = described();
    assert_eq!(found["version"], version);
    assert_eq!(found["media_type"], json!("text/plain"));
    assert_eq!(found["metadata"], json!({ "author": "J\u{fc}rgen" }));
    assert_eq!(found["headers"], json!({ "cache-control": "no-store" }));
    assert_eq!(found["tags"], json!({ "a": "1", "b": "\u{fc}&" }));
    let head = served.ask("HEAD /v2/b/n", "", b"").head;
    for line in ["slotcast-meta-author: j", "cache-control: no-store", "slotcast-tags: a=1&b="] {
        assert!(head.contains(line), "{line}: {head}");
    }

    // Each of many tags at a time is there, in the same version with the same content.
    thread::scope(|scope| {
        for n in 0..12 {
            let served = &served;
            scope.spawn(move || served.says(&["tag", "slot://b/n", &format!("t{n}={n}")]));
        }
    });
    let found = described();
    assert_eq!((found["tags"].as_object().expect("tags").len(), &found["version"]), (14, &version));
    assert_eq!(served.ask("GET /v2/b/n", "", b"").body, content(20_000, 1));
    assert_eq!(served.says(&["ls", "--versions", "slot://b"]).lines().count(), 1);
    served.says(&["tag", "--clear", "slot://b/n", "only=this"]);
    assert_eq!(served.says(&["tag", "slot://b/n"]), "only=this");
    // Those of an earlier version, and not of the latest.
    put(&served, "b/n", b"new");
    let version = version.as_str().expect("a version");
    served.says(&["tag", "--version", version, "--remove", "only", "slot://b/n", "old=yes"]);
    assert_eq!(served.says(&["tag", "slot://b/n"]), "");
    assert_eq!(served.says(&["tag", "--version", version, "slot://b/n"]), "old=yes");

    let long = format!("Slotcast-Meta-Long: {}\r\n", "x".repeat(9000));
    for (headers, told) in [
        (long.as_str(), "8192"),
        ("Slotcast-Tags: a=1&a=2\r\n", "twice"),
        ("Slotcast-Tags: =1\r\n", "no name"),
        ("Slotcast-Meta-: x\r\n", "followed by a name"),
    ] {
        let answer = served.ask("PUT /v2/b/m", headers, b"x");
        assert!(answer.status() == 400 && answer.error().contains(told), "{answer:?}");
    }
    let long = json!({ "tags": { "t": "x".repeat(9000) } }).to_string();
    let patch =
        |body: &str, headers: &str| served.ask("PATCH /v2/b/n", headers, body.as_bytes()).status();
    assert_eq!(patch(&long, ""), 400);
    assert_eq!(patch("{\"metadata\": {}}", ""), 400);
    assert_eq!(patch("{\"tags\": {}}", &format!("If-Match: \"{version}\"\r\n")), 412);
    assert_eq!(served.ask("PATCH /v2/b/none", "", b"{}").status(), 404);
}

#[test]
fn a_bucket_is_removed_when_nothing_is_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "--versions", "slot://b"]);
    put(&served, "b/n", b"x");
    let full = said(&served.run(&["rb", "slot://b"]));
    assert!(full.contains("not empty") && full.contains("\"n\""), "{full}");
    // A marker and an earlier version are something, too.
    served.says(&["rm", "slot://b/n"]);
    assert!(said(&served.run(&["rb", "slot://b"])).contains("not empty"));
    // It can be used all the same.
    put(&served, "b/m", b"x");
    served.says(&["rb", "--force", "slot://b"]);
    assert_eq!(served.says(&["ls"]), "");
    assert_eq!(served.ask("PUT /v2/b/n", "", b"x").status(), 404);
    assert!(said(&served.run(&["rb", "slot://b"])).contains("no bucket"));
    // Another one of this name has nothing of it.
    served.says(&["mb", "slot://b"]);
    assert_eq!(served.says(&["ls", "--versions", "slot://b"]), "");
    // Whoever lost the answer and asks again is told that it was the one.
    let key = "Idempotency-Key: 000102030405060708090a0b0c0d0e0f\r\n";
    for _ in 0..2 {
        assert_eq!(served.ask("DELETE /v2/b", key, b"").status(), 200);
    }
    assert_eq!(served.ask("DELETE /v2/b", "", b"").status(), 404);
    assert_eq!(served.ask("DELETE /v2/b?force=true", "", b"").status(), 400);
}

/// Stores an object, looks for it and deletes it, again and again until the bucket is gone or `is_over`. Gives whether it is
/// gone.
fn use_until_gone(served: &Served, n: usize, is_over: &AtomicBool) -> bool {
    // A disk may be slow for longer than a voter is waited for. Each of these may be asked again.
    let ask = |method: &str, body: &[u8]| loop {
        let answer = served.ask(&format!("{method} /v2/b/{n}"), "", body);
        if answer.status() != 503 {
            return answer;
        }
    };
    // Some fit into the register, some are a chunk.
    let bodies = [content(10, 1), content(20_000, 2)];
    for body in bodies.iter().cycle() {
        if is_over.load(Ordering::Relaxed) {
            return false;
        }
        let answer = ask("PUT", body);
        if answer.status() == 404 {
            return true;
        }
        assert_eq!(answer.status(), 200, "{answer:?}");
        let answer = ask("GET", b"");
        assert_eq!(answer.status(), 200, "acknowledged, and lost: {answer:?}");
        let answer = ask("DELETE", b"");
        assert_eq!(answer.status(), 200, "{answer:?}");
    }
    unreachable!("it does not end by itself")
}

#[test]
fn no_acknowledged_object_is_lost_with_a_bucket() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    let mut removed = 0;
    let requests = AtomicUsize::new(0);
    let remove = || {
        let request = requests.fetch_add(1, Ordering::Relaxed);
        let key = format!("Idempotency-Key: {request:032x}\r\n");
        // Whoever is not told what came of it asks the same again.
        let ask = |_| served.ask("DELETE /v2/b", &key, b"").status();
        (0..20).map(ask).find(|status| *status != 503).expect("an answer")
    };
    for writers in [1, 1, 1, 1, 1, 1, 2, 2] {
        served.says(&["mb", "slot://b"]);
        let is_over = AtomicBool::new(false);
        let told = thread::scope(|scope| {
            let (served, is_over) = (&served, &is_over);
            let used: Vec<_> = (0..writers)
                .map(|n| scope.spawn(move || use_until_gone(served, n, is_over)))
                .collect();
            let mut told = 409;
            for _ in 0..12 {
                told = remove();
                if told != 409 || used.iter().any(thread::ScopedJoinHandle::is_finished) {
                    break;
                }
            }
            is_over.store(true, Ordering::Relaxed);
            let gone = used.into_iter().filter_map(|used| used.join().ok()).collect::<Vec<_>>();
            assert_eq!(gone.len(), writers, "a writer has lost something");
            told
        });
        removed += u32::from(told == 200);
        let left = remove();
        assert_eq!(left, if told == 200 { 404 } else { 200 }, "nothing is in it");
    }
    eprintln!("{removed} removed while they were used");
}

#[test]
fn what_makes_no_sense_of_versions_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "slot://b"]);
    put(&served, "b/n", b"x");
    let unknown = "7-00000000000000ab";
    for (line, status, told) in [
        ("GET /v2/b/n?version=7", 400, "is no version"),
        ("HEAD /v2/b/n?version=7", 400, ""),
        ("DELETE /v2/b/n?version=", 400, "is no version"),
        (&format!("GET /v2/b/n?version={unknown}"), 404, "no version 7-"),
        (&format!("PATCH /v2/b/n?version={unknown}"), 404, "no version 7-"),
        ("PUT /v2/b/n?version=7", 400, "version"),
        ("GET /v2/b/n?describe=perhaps", 400, "describe"),
        ("GET /v2/b/n?what=1", 400, "what"),
        ("DELETE /v2/b/n?what=1", 400, "what"),
        ("PATCH /v2/b/n?what=1", 400, "what"),
        ("PATCH /v2/b?what=1", 400, "what"),
        ("DELETE /v2/b?what=1", 400, "what"),
        ("GET /v2/b?versions=perhaps", 400, "versions"),
        ("PUT /v2/b/m?from=b", 400, "at least one byte"),
        ("PUT /v2/b/m?from=b/none", 404, "no object \"none\""),
        ("PUT /v2/b/m?from=none/n", 404, "no bucket \"none\""),
        ("PUT /v2/b/m?from=b/n&from_version=x", 400, "is no version"),
        ("PUT /v2/b/m?from_version=x", 400, "needs from"),
        ("PUT /v2/b/m?from=b/a%00b", 400, "NUL"),
    ] {
        let body: &[u8] = if line.starts_with("PATCH") { b"{}" } else { b"" };
        let answer = served.ask(line, "", body);
        assert_eq!(answer.status(), status, "{line}: {answer:?}");
        assert!(told.is_empty() || answer.error().contains(told), "{line}: {answer:?}");
    }
    let answer = served.ask("PUT /v2/b/m?from=b/n", "", b"content");
    assert!(answer.status() == 400 && answer.error().contains("no content"), "{answer:?}");
    let answer = served.ask("PUT /v2/b/m?from=b/n", "Slotcast-Tags: a=1\r\n", b"");
    assert!(answer.status() == 400 && answer.error().contains("of its source"), "{answer:?}");
    // What is not there is not deleted, and that is no error of a program.
    let answer = served.ask(&format!("DELETE /v2/b/n?version={unknown}"), "", b"");
    assert_eq!(answer.json(), json!({ "deleted": false }));
}
