//! Buckets and objects of a real store: what people do with them at the command line, races for a name over HTTP, and a
//! kill in between.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::fs;
use std::thread;

use served::{Served, content, said};

#[test]
fn what_has_a_name_is_there_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://photos"]);
    let again = served.run(&["mb", "slot://photos"]);
    assert!(!again.status.success() && said(&again).contains("already"), "{again:?}");

    // In the register, one chunk, several chunks, several lists of them would take gigabytes.
    let lengths = [0, 1, 16 << 10, (16 << 10) + 1, 1 << 20, (1 << 20) + 1, 20_000_000];
    for (n, length) in lengths.into_iter().enumerate() {
        fs::write(path("in"), content(length, u32::try_from(n).expect("few"))).expect("room");
        served.says(&["cp", &path("in"), &format!("slot://photos/by length/{length}")]);
    }
    served.says(&["cp", &path("in"), "slot://photos/"]);
    drop(served);

    let served = Served::start(&folder.path().join("data"), &[]);
    for (n, length) in lengths.into_iter().enumerate() {
        served.says(&["cp", &format!("slot://photos/by length/{length}"), &path("out")]);
        let expected = content(length, u32::try_from(n).expect("few"));
        assert!(fs::read(path("out")).expect("it is there") == expected, "{length} bytes");
    }
    let listed = served.says(&["ls", "slot://photos"]);
    let names: Vec<&str> =
        listed.lines().map(|line| line.trim_start().rsplit("  ").next().unwrap_or("")).collect();
    assert_eq!(names, ["by length/", "in"]);
    assert_eq!(served.says(&["ls", "-r", "slot://photos/by length/"]).lines().count(), 7);
    assert_eq!(served.says(&["ls"]), "slot://photos");

    // What is deleted is not there any more, nor after a kill.
    served.says(&["rm", "slot://photos/in"]);
    let gone = served.run(&["rm", "slot://photos/in"]);
    assert!(!gone.status.success() && said(&gone).contains("no object"), "{gone:?}");
    drop(served);
    let served = Served::start(&folder.path().join("data"), &[]);
    let gone = served.run(&["cat", "slot://photos/in"]);
    assert!(!gone.status.success() && said(&gone).contains("no object \"in\""), "{gone:?}");
    served.says(&["rm", "-r", "slot://photos/"]);
    assert_eq!(served.says(&["ls", "-r", "slot://photos"]), "");
}

#[test]
fn a_folder_goes_in_and_comes_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    for (n, name) in ["in/one", "in/deep/er/two", "in/ümlaut ?#%"].into_iter().enumerate() {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("room");
        fs::write(file, content(30_000 * (n + 1), u32::try_from(n).expect("few"))).expect("room");
    }
    let text = served.says(&["cp", "-r", &path("in"), "slot://b/backup"]);
    assert_eq!(text, "3 copied and verified, 180000 bytes");
    assert_eq!(served.says(&["cp", "-r", "slot://b/backup/", &path("out")]), text);
    for name in ["one", "deep/er/two", "ümlaut ?#%"] {
        let read = |at: &str| fs::read(folder.path().join(at).join(name)).expect("it is there");
        assert!(read("in") == read("out"), "{name}");
    }
    let whole = served.run(&["cp", &path("in"), "slot://b/x"]);
    assert!(!whole.status.success() && said(&whole).contains("is a folder"), "{whole:?}");
    // A name never leads out of the folder that is copied to.
    served.says(&["cp", &path("in/one"), "slot://b/evil/../../../escaped"]);
    let escaped = served.run(&["cp", "-r", "slot://b/evil/", &path("out/a/b")]);
    assert!(!escaped.status.success() && said(&escaped).contains("no path"), "{escaped:?}");
    assert!(!folder.path().join("escaped").exists());
}

/// The status of a put of `body` under a name, with `headers`.
fn put(served: &Served, name: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let answer = served.ask(&format!("PUT /v2/b/{name}"), headers, body);
    (answer.status(), String::from_utf8_lossy(&answer.body).into_owned())
}

#[test]
fn of_many_who_create_a_name_one_succeeds_and_the_others_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    for round in 0..20 {
        // Some fit into the register, some are a chunk.
        let length = if round % 2 == 0 { 100 } else { 40_000 };
        let won: Vec<u32> = thread::scope(|scope| {
            let served = &served;
            let create = move |n: u32| {
                let body = content(length, round * 100 + n);
                let headers = "If-None-Match: *\r\n";
                let (status, text) = put(served, &format!("lock-{round}"), headers, &body);
                assert!(status == 200 || status == 412, "{status}: {text}");
                (status == 200).then_some(n)
            };
            let clients: Vec<_> = (0..8).map(|n| scope.spawn(move || create(n))).collect();
            clients.into_iter().filter_map(|client| client.join().expect("it ends")).collect()
        });
        assert_eq!(won.len(), 1, "round {round}: {won:?}");
        let answer = served.ask(&format!("GET /v2/b/lock-{round}"), "", b"");
        assert!(answer.body == content(length, round * 100 + won[0]), "round {round}");
    }
}

#[test]
fn conditions_and_retries_are_exact() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    let version = |text: &str| -> String {
        let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
        json["version"].as_str().expect("a version").to_owned()
    };
    let (status, text) = put(&served, "n", "", b"one");
    assert_eq!(status, 200, "{text}");
    let first = version(&text);
    let (status, text) = put(&served, "n", &format!("If-Match: \"{first}\"\r\n"), b"two");
    assert_eq!(status, 200, "{text}");
    let second = version(&text);
    assert_ne!(first, second);
    let (status, text) = put(&served, "n", &format!("If-Match: \"{first}\"\r\n"), b"three");
    assert!(status == 412 && text.contains(&second), "{status}: {text}");
    let (status, _) = put(&served, "absent", "If-Match: *\r\n", b"x");
    assert_eq!(status, 412);
    // Who lost the answer and asks again is told that it was the one.
    let key = "Idempotency-Key: 000102030405060708090a0b0c0d0e0f\r\nIf-None-Match: *\r\n";
    let (status, text) = put(&served, "once", key, b"x");
    let (again, same) = put(&served, "once", key, b"x");
    assert_eq!((status, again, version(&text)), (200, 200, version(&same)));
    let (status, _) = put(&served, "once", "If-None-Match: *\r\n", b"x");
    assert_eq!(status, 412);
    let answer = served.ask("DELETE /v2/b/n", &format!("If-Match: \"{first}\"\r\n"), b"");
    assert_eq!(answer.status(), 412);
    // The tag is the version, and ranges are those of the latest.
    let answer = served.ask("GET /v2/b/n", "Range: bytes=1-1\r\n", b"");
    assert_eq!((answer.status(), &*answer.body), (206, &b"w"[..]));
    let known = format!("If-None-Match: \"{second}\"\r\n");
    assert_eq!(served.ask("GET /v2/b/n", &known, b"").status(), 304);
    let answer = served.ask("HEAD /v2/b/n", "", b"");
    assert!(answer.head.contains("content-length: 3"), "{}", answer.head);
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    let long = "x".repeat(1025);
    for (name, headers, status, told) in [
        (long.as_str(), "", 400, "1025 bytes"),
        ("a%00b", "", 400, "NUL"),
        ("a%ffb", "", 400, "UTF-8"),
        ("n", "If-Match: 7\r\n", 400, "a version in quotes"),
        ("n", "If-Match: *\r\nIf-None-Match: *\r\n", 400, "exclude each other"),
        ("n", "If-None-Match: \"x\"\r\n", 400, "is *"),
        ("n", "Idempotency-Key: 12\r\n", 400, "32 hexadecimal digits"),
        ("n?what=1", "", 400, "what"),
    ] {
        let (found, text) = put(&served, name, headers, b"x");
        assert!(found == status && text.contains(told), "{name} {headers}: {found} {text}");
    }
    assert_eq!(served.ask("PUT /v2/none/n", "", b"x").status(), 404);
    assert_eq!(served.ask("GET /v2/b/none", "", b"").status(), 404);
    assert_eq!(served.ask("GET /v2/b?limit=0", "", b"").status(), 400);
    assert_eq!(served.ask("GET /v2/b?from=x", "", b"").status(), 400);
    // A name is no path: it is what it is.
    assert_eq!(put(&served, "..%2F%2E%2E", "", b"x").0, 200);
    let answer = served.ask("GET /v2/b", "", b"");
    assert!(String::from_utf8_lossy(&answer.body).contains("\"../..\""));
}

#[test]
fn pages_have_every_name_once_and_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    served.says(&["mb", "slot://b"]);
    let mut names: Vec<String> =
        (0..60).map(|n| format!("{}/{:02}", ["a", "b", "ü"][n % 3], n * 7 % 60)).collect();
    for name in &names {
        assert_eq!(put(&served, &name.replace('ü', "%C3%BC"), "", b"x").0, 200, "{name}");
    }
    names.sort();
    let page = |query: &str| -> serde_json::Value {
        let answer = served.ask(&format!("GET /v2/b?{query}"), "", b"");
        serde_json::from_slice(&answer.body).expect("JSON")
    };
    let (mut found, mut from) = (Vec::new(), String::new());
    loop {
        let answer = page(&format!("limit=7{from}"));
        for object in answer["objects"].as_array().expect("objects") {
            found.push(object["name"].as_str().expect("a name").to_owned());
        }
        let Some(next) = answer["next"].as_str() else { break };
        from = format!("&from={}", next.replace('ü', "%C3%BC"));
    }
    assert_eq!(found, names);
    let answer = page("delimiter=/&limit=2");
    assert_eq!(answer["prefixes"], serde_json::json!(["a/", "b/"]));
    let rest = page(&format!(
        "delimiter=/&from={}",
        answer["next"]
            .as_str()
            .expect("more")
            .replace('ü', "%C3%BC")
            .replace('\u{10ffff}', "%F4%8F%BF%BF")
    ));
    assert_eq!(rest["prefixes"], serde_json::json!(["ü/"]));
    assert_eq!(
        page("prefix=b/&after=b/50")["objects"].as_array().map(Vec::len),
        Some(names.iter().filter(|n| n.starts_with("b/") && n.as_str() > "b/50").count())
    );
}

/// Checksums that are announced are compared before anybody sees the object, and given back.
#[test]
fn checksums_are_compared_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &["--targets", "3"]);
    served.says(&["mb", "slot://b"]);
    // In the register, one chunk, several.
    for (name, length) in [("short", 9), ("chunk", 30_000), ("long", 1_500_000)] {
        let mut body = content(length, 3);
        if name == "short" {
            body = b"123456789".to_vec();
        }
        let put = |headers: &str| served.ask(&format!("PUT /v2/b/{name}"), headers, &body);
        let wrong = put("Content-Digest: crc32c=:AAAAAA==:\r\n");
        assert!(wrong.status() == 400 && wrong.error().contains("crc32c"), "{wrong:?}");
        let none = served.ask(&format!("HEAD /v2/b/{name}"), "", b"");
        assert_eq!(none.status(), 404, "what does not fit is not stored");
        let wanted = put("Want-Repr-Digest: crc32c=1, crc64nvme=1, sha-256=1, md5=1\r\n");
        assert_eq!(wanted.status(), 200, "{wanted:?}");
        // Heads of answers are in lower case here, and base64 is not: the description has them as they are.
        let described = served.ask(&format!("GET /v2/b/{name}?describe=true"), "", b"").json();
        let digests = described["digests"].as_object().expect("they are there").clone();
        assert_eq!(digests.len(), 4, "{digests:?}");
        if name == "short" {
            assert_eq!(digests["crc32c"], "4waSgw==");
            assert_eq!(digests["crc64nvme"], "rosUhgp5mIg=");
            assert_eq!(digests["md5"], "JfnnlDI7RTiF9RgfG2JNCw==");
            assert_eq!(digests["sha-256"], "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=");
        }
        let all: Vec<String> = digests
            .iter()
            .map(|(name, value)| format!("{name}=:{}:", value.as_str().expect("text")))
            .collect();
        let again = put(&format!("Repr-Digest: {}\r\n", all.join(", ")));
        assert_eq!(again.status(), 200, "{again:?}");
        for line in [format!("GET /v2/b/{name}"), format!("HEAD /v2/b/{name}")] {
            let answer = served.ask(&line, "", b"");
            assert!(answer.head.contains("\r\nrepr-digest: md5=:"), "{answer:?}");
        }
        let copied = served.ask(&format!("PUT /v2/b/copy?from=b/{name}"), "", b"");
        assert_eq!(copied.status(), 200, "{copied:?}");
        let described = served.ask("GET /v2/b/copy?describe=true", "", b"").json();
        assert_eq!(described["digests"].as_object(), Some(&digests));
    }
    let unknown = served.ask("PUT /v2/b/x", "Content-Digest: sha-512=:AAAA:\r\n", b"x");
    assert!(unknown.status() == 400 && unknown.error().contains("sha-512"), "{unknown:?}");
}

#[test]
fn no_client_chooses_what_a_bucket_has_in_common_with_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = Served::start(&folder.path().join("data"), &[]);
    let make = |bucket: &str, key: &str| {
        let key = format!("Idempotency-Key: {key}\r\n");
        served.ask(&format!("PUT /v2/{bucket}"), &key, b"").status()
    };
    assert_eq!(make("b", "00000000000000010000000000000007"), 201);
    assert_eq!(put(&served, "n", "", b"x").0, 200);
    // The lower half is the same: that was the number of the bucket once.
    assert_eq!(make("c", "00000000000000020000000000000007"), 201);
    assert_eq!(served.ask("GET /v2/c/n", "", b"").status(), 404);
    // Asked again, it is the bucket that is there.
    assert_eq!(make("b", "00000000000000010000000000000007"), 201);
    assert_eq!(served.ask("GET /v2/b/n", "", b"").body, b"x");
}
