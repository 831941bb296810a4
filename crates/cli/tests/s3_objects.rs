//! Buckets and objects over S3: what is stored is given back, conditions are exact, and all is there after a kill.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::thread;

use served::content;
use signed::{S3, Signer, md5, md5_base64};

#[test]
fn buckets_are_made_listed_and_removed() {
    let (_folder, s3) = S3::fresh();
    assert_eq!(s3.done("GET /", &[], b"").texts("Name"), ["first"]);
    s3.done("PUT /second", &[], b"");
    let again = s3.refused("PUT /second", &[], b"");
    assert_eq!(again, (409, "BucketAlreadyOwnedByYou".into()));
    assert_eq!(s3.done("GET /", &[], b"").texts("Name"), ["first", "second"]);
    let page = s3.done("GET /?max-buckets=1", &[], b"");
    assert_eq!(page.texts("Name"), ["first"]);
    let next = format!("GET /?max-buckets=1&continuation-token={}", page.text("ContinuationToken"));
    assert_eq!(s3.done(&next, &[], b"").texts("Name"), ["second"]);
    assert_eq!(s3.done("HEAD /second", &[], b"").header("x-amz-bucket-region"), "us-east-1");
    assert_eq!(s3.done("GET /second?location", &[], b"").text("LocationConstraint"), "");
    s3.done("PUT /second/in it", &[], b"x");
    assert_eq!(s3.refused("DELETE /second", &[], b""), (409, "BucketNotEmpty".into()));
    s3.done("DELETE /second/in it", &[], b"");
    assert_eq!(s3.done("DELETE /second", &[], b"").status(), 204);
    for line in ["GET /second", "DELETE /second", "PUT /second/x", "GET /second/x"] {
        assert_eq!(s3.refused(line, &[], b""), (404, "NoSuchBucket".into()), "{line}");
    }
    assert_eq!(s3.ask("HEAD /second", &[], b"").status(), 404);
    assert_eq!(s3.refused("PUT /Second_", &[], b""), (400, "InvalidBucketName".into()));
}

#[test]
fn objects_are_given_back_as_they_were_put_also_after_a_kill() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    // In the register, one chunk, several.
    let lengths = [0, 1, 16 << 10, (16 << 10) + 1, 1 << 20, (1 << 20) + 1, 5_000_000];
    for (length, seed) in lengths.into_iter().zip(0..) {
        let content = content(length, seed);
        let line = format!("PUT /first/by length/{length}");
        let answer = s3.done(&line, &[("content-md5", &md5_base64(&content))], &content);
        assert_eq!(answer.header("etag"), format!("\"{}\"", md5(&content)));
    }
    let said = [
        ("content-type", "text/plain; charset=utf-8"),
        ("cache-control", "no-store"),
        ("content-disposition", "attachment"),
        ("content-encoding", "gzip"),
        ("content-language", "de"),
        ("expires", "Thu, 01 Dec 2044 16:00:00 GMT"),
        ("x-amz-meta-who", "Me"),
        ("x-amz-storage-class", "STANDARD_IA"),
    ];
    s3.done("PUT /first/said", &said, b"0123456789");
    drop(s3);

    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    for (length, seed) in lengths.into_iter().zip(0..) {
        let answer = s3.done(&format!("GET /first/by length/{length}"), &[], b"");
        assert!(answer.body == content(length, seed), "{length} bytes");
        assert_eq!(answer.header("content-length"), length.to_string());
    }
    for line in ["GET /first/said", "HEAD /first/said"] {
        let answer = s3.done(line, &[], b"");
        for (name, value) in said {
            assert_eq!(answer.header(name), value.to_lowercase(), "{name}");
        }
        assert_eq!(answer.header("accept-ranges"), "bytes");
        assert!(!answer.header("last-modified").is_empty());
        assert_eq!(answer.header("content-length"), "10");
    }
    let other = "response-content-type=a/b&response-cache-control=x&response-content-encoding=y";
    let answer = s3.done(&format!("GET /first/said?{other}"), &[], b"");
    let three =
        ["content-type", "cache-control", "content-encoding"].map(|name| answer.header(name));
    assert_eq!(three, ["a/b", "x", "y"]);
}

#[test]
fn ranges_and_conditions_of_a_get() {
    let (_folder, s3) = S3::fresh();
    let long = content(3 << 20, 3);
    let tag = s3.done("PUT /first/long", &[], &long).header("etag").to_owned();
    for (range, begin, end) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1048570-1048580", 1_048_570, 1_048_581),
        ("bytes=-5", 3_145_723, 3_145_728),
    ] {
        let answer = s3.done("GET /first/long", &[("range", range)], b"");
        assert!(answer.status() == 206 && answer.body == long[begin..end], "{range}");
        let said = format!("bytes {begin}-{}/3145728", end - 1);
        assert_eq!(answer.header("content-range"), said);
    }
    let beyond = s3.ask("GET /first/long", &[("range", "bytes=3145728-")], b"");
    assert_eq!(beyond.code(), (416, "InvalidRange".into()));
    assert_eq!(beyond.header("content-range"), "bytes */3145728");
    let (known, other) = (&tag[..], "\"00000000000000000000000000000000\"");
    let status = |header, value| s3.ask("GET /first/long", &[(header, value)], b"").status();
    assert_eq!(status("if-none-match", known), 304);
    assert_eq!(status("if-none-match", other), 200);
    assert_eq!(status("if-match", known), 200);
    assert_eq!(status("if-match", other), 412);
    assert_eq!(status("if-modified-since", "Thu, 01 Dec 2044 16:00:00 GMT"), 304);
    assert_eq!(status("if-unmodified-since", "Thu, 01 Dec 1994 16:00:00 GMT"), 412);
    assert_eq!(s3.refused("GET /first/none", &[], b""), (404, "NoSuchKey".into()));
}

#[test]
fn a_name_is_created_once_and_a_retried_winner_is_told_so() {
    let (_folder, s3) = S3::fresh();
    for round in 0..5 {
        let line = format!("PUT /first/race/{round}");
        let create = |n: usize| {
            let id = format!("{n:08}-0000-4000-8000-{round:012}");
            let headers = [("if-none-match", "*"), ("amz-sdk-invocation-id", &id[..])];
            s3.ask(&line, &headers, format!("writer {n}").as_bytes()).code()
        };
        let told: Vec<(u16, String)> = thread::scope(|scope| {
            let create = &create;
            let writers: Vec<_> = (0..8).map(|n| scope.spawn(move || create(n))).collect();
            writers.into_iter().map(|writer| writer.join().expect("no panic")).collect()
        });
        let winners: Vec<usize> = (0..8).filter(|n| told[*n].0 == 200).collect();
        let lost = (412, "PreconditionFailed".to_owned());
        assert!(
            winners.len() == 1 && told.iter().filter(|told| **told == lost).count() == 7,
            "{told:?}"
        );
        let winner = winners[0];
        assert_eq!(
            s3.done(&line.replace("PUT", "GET"), &[], b"").body,
            format!("writer {winner}").as_bytes()
        );
        // The winner has lost its answer.
        assert_eq!(create(winner).0, 200);
        assert_eq!(create((winner + 1) % 8), lost);
    }
}

#[test]
fn conditions_of_changes_are_on_what_is_there() {
    let (_folder, s3) = S3::fresh();
    let tag = |line: &str| s3.done(line, &[], line.as_bytes()).header("etag").to_owned();
    let lost = (412, "PreconditionFailed".to_owned());
    let missing = (404, "NoSuchKey".to_owned());
    let first = tag("PUT /first/k");
    assert_eq!(s3.refused("PUT /first/k", &[("if-none-match", "*")], b"x"), lost);
    assert_eq!(s3.refused("PUT /first/other", &[("if-match", &first)], b"x"), missing);
    let second = s3.done("PUT /first/k", &[("if-match", &first)], b"second");
    let second = second.header("etag").to_owned();
    assert_eq!(s3.refused("PUT /first/k", &[("if-match", &first)], b"x"), lost);
    assert_eq!(s3.refused("DELETE /first/k", &[("if-match", &first)], b""), lost);
    let from = ("x-amz-copy-source", "/first/k");
    assert_eq!(
        s3.refused("PUT /first/k2", &[from, ("x-amz-copy-source-if-match", &first)], b""),
        lost
    );
    s3.done("PUT /first/k2", &[from, ("if-none-match", "*")], b"");
    assert_eq!(s3.refused("PUT /first/k2", &[from, ("if-none-match", "*")], b""), lost);
    assert_eq!(s3.refused("PUT /first/k2", &[from, ("if-match", &first)], b""), lost);
    s3.done("PUT /first/k2", &[from, ("if-match", &second)], b"");
    s3.done("DELETE /first/k", &[("if-match", &second)], b"");
    // What is not there need not be deleted.
    assert_eq!(s3.done("DELETE /first/k", &[("if-match", &second)], b"").status(), 204);
    assert_eq!(s3.refused("GET /first/k", &[], b""), missing);
}

#[test]
fn copies_have_what_is_said_of_their_source_or_of_them() {
    let (_folder, s3) = S3::fresh();
    let long = content(2 << 20, 9);
    let said = [("content-type", "a/b"), ("x-amz-meta-k", "v"), ("x-amz-tagging", "t=1")];
    let tag = s3.done("PUT /first/from é", &said, &long).header("etag").to_owned();
    let from = ("x-amz-copy-source", "first/from%20%C3%A9");
    let copied = s3.done("PUT /first/to", &[from], b"");
    assert_eq!(copied.text("ETag"), tag);
    let got = s3.done("GET /first/to", &[], b"");
    assert!(got.body == long && got.header("content-type") == "a/b");
    assert_eq!((got.header("x-amz-meta-k"), got.header("x-amz-tagging-count")), ("v", "1"));
    let replace = [
        from,
        ("x-amz-metadata-directive", "REPLACE"),
        ("content-type", "c/d"),
        ("x-amz-meta-n", "w"),
        ("x-amz-tagging-directive", "REPLACE"),
    ];
    s3.done("PUT /first/to", &replace, b"");
    let got = s3.done("HEAD /first/to", &[], b"");
    assert_eq!((got.header("content-type"), got.header("x-amz-meta-k")), ("c/d", ""));
    assert_eq!((got.header("x-amz-meta-n"), got.header("x-amz-tagging-count")), ("w", ""));
    let itself = s3.refused("PUT /first/from é", &[from], b"");
    assert_eq!(itself, (400, "InvalidRequest".into()));
    let missing = s3.refused("PUT /first/to", &[("x-amz-copy-source", "first/none")], b"");
    assert_eq!(missing, (404, "NoSuchKey".into()));
}

#[test]
fn listings_have_pages_prefixes_and_encoded_keys() {
    let (_folder, s3) = S3::fresh();
    for key in ["a b+", "a/1", "a/2", "b/1", "c", "d é"] {
        s3.done(&format!("PUT /first/{key}"), &[], key.as_bytes());
    }
    let keys = |line: &str| s3.done(line, &[], b"").texts("Key");
    let all = ["a b+", "a/1", "a/2", "b/1", "c", "d é"];
    assert_eq!(keys("GET /first"), all);
    assert_eq!(keys("GET /first?list-type=2"), all);
    assert_eq!(keys("GET /first?list-type=2&encoding-type=url")[0], "a%20b%2B");
    assert_eq!(keys("GET /first?list-type=2&start-after=a/1"), all[2..]);
    assert_eq!(keys("GET /first?marker=a/1"), all[2..]);
    assert_eq!(keys("GET /first?list-type=2&max-keys=0"), [""; 0]);
    let rolled = s3.done("GET /first?list-type=2&delimiter=/", &[], b"");
    assert_eq!(rolled.texts("Key"), ["a b+", "c", "d é"]);
    assert_eq!(rolled.text("KeyCount"), "5");
    // Page by page, one at a time, by both.
    let (mut seen, mut token) = (Vec::new(), String::new());
    loop {
        let more =
            if token.is_empty() { String::new() } else { format!("&continuation-token={token}") };
        let page =
            s3.done(&format!("GET /first?list-type=2&delimiter=/&max-keys=1{more}"), &[], b"");
        seen.extend(page.texts("Key"));
        seen.extend(page.texts("Prefix").into_iter().filter(|text| !text.is_empty()));
        token = page.text("NextContinuationToken");
        assert_eq!(page.text("IsTruncated") == "true", !token.is_empty());
        if token.is_empty() {
            break;
        }
    }
    assert_eq!(seen, ["a b+", "a/", "b/", "c", "d é"]);
    let (mut seen, mut marker) = (Vec::new(), String::new());
    loop {
        let page = s3.done(&format!("GET /first?delimiter=/&max-keys=1&marker={marker}"), &[], b"");
        seen.extend(page.texts("Key"));
        seen.extend(page.texts("Prefix").into_iter().filter(|text| !text.is_empty()));
        if page.text("IsTruncated") == "false" {
            break;
        }
        marker = page.text("NextMarker");
    }
    assert_eq!(seen, ["a b+", "a/", "b/", "c", "d é"]);
    let wrong = s3.refused("GET /first?list-type=2&continuation-token=zz", &[], b"");
    assert_eq!(wrong, (400, "InvalidArgument".into()));
}

#[test]
fn several_are_deleted_at_once() {
    let (_folder, s3) = S3::fresh();
    s3.done("PUT /first/a", &[], b"1");
    s3.done("PUT /first/b&<", &[], b"1");
    let body = "<Delete><Object><Key>a</Key></Object><Object><Key>b&amp;&lt;</Key></Object>\
                <Object><Key>never</Key></Object></Delete>";
    let md5 = md5_base64(body.as_bytes());
    let deleted = s3.done("POST /first?delete", &[("content-md5", &md5)], body.as_bytes());
    assert_eq!(deleted.texts("Key"), ["a", "b&<", "never"]);
    assert_eq!(s3.done("GET /first", &[], b"").texts("Key"), [""; 0]);
    let many: String = (0..1001).map(|n| format!("<Object><Key>{n}</Key></Object>")).collect();
    let many = format!("<Delete>{many}</Delete>");
    let refused = s3.refused("POST /first?delete", &[], many.as_bytes());
    assert_eq!(refused, (400, "MalformedXML".into()));
}

#[test]
fn what_is_not_there_says_its_name() {
    let (_folder, s3) = S3::fresh();
    for (line, name) in [
        ("GET /first?analytics&id=a", "GetBucketAnalytics"),
        ("GET /first?inventory&id=a", "GetBucketInventory"),
        ("GET /first?metrics&id=a", "GetBucketMetrics"),
        ("GET /first/x?torrent", "GetObjectTorrent"),
    ] {
        let answer = s3.ask(line, &[], b"");
        assert_eq!(answer.code(), (501, "NotImplemented".into()), "{line}");
        assert!(answer.text("Message").contains(name), "{line}: {answer:?}");
    }
    for (header, value) in
        [("x-amz-server-side-encryption", "aws:kms"), ("x-amz-write-offset-bytes", "7")]
    {
        let refused = s3.refused("PUT /first/x", &[(header, value)], b"x");
        assert_eq!(refused, (501, "NotImplemented".into()), "{header}");
    }
    let acl = s3.refused("PUT /first/x", &[("x-amz-acl", "public-read")], b"x");
    assert_eq!(acl, (400, "AccessControlListNotSupported".into()));
    assert_eq!(s3.done("GET /first?acl", &[], b"").text("Permission"), "FULL_CONTROL");
}

#[test]
fn native_and_s3_clients_see_the_same() {
    let (folder, s3) = S3::fresh();
    let path = folder.path().join("file");
    std::fs::write(&path, content(40_000, 1)).expect("room");
    // The first bucket is there when S3 answers.
    s3.done("HEAD /first", &[], b"");
    s3.served.says(&["cp", &path.display().to_string(), "slot://first/native"]);
    let got = s3.done("GET /first/native", &[], b"");
    assert!(got.body == content(40_000, 1));
    // It is no MD5, and does not look like one.
    assert!(got.header("etag").ends_with("-1\""), "{got:?}");
    s3.done("PUT /first/s3", &[("x-amz-meta-k", "v")], &content(40_000, 2));
    let out = folder.path().join("out");
    s3.served.says(&["cp", "slot://first/s3", &out.display().to_string()]);
    assert!(std::fs::read(&out).expect("it is there") == content(40_000, 2));
    let mut signer = Signer::now();
    signer.secret.push('x');
    let refused = s3.ask_as(&signer, "GET /first/native", &[], b"").code();
    assert_eq!(refused, (403, "SignatureDoesNotMatch".into()));
}
