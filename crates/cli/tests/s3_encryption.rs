//! Encryption over S3: with keys of customers (SSE-C) and of the server (SSE-S3), and what of it is seen natively.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use data_encoding::BASE64;
use served::{Served, content, said};
use signed::{ACCESS, Headers, S3, SECRET, md5, md5_base64};

const MIB: usize = 1 << 20;
const BY_SERVER: (&str, &str) = ("x-amz-server-side-encryption", "AES256");
const NO_KEY: (u16, &str) = (400, "InvalidRequest");
const WRONG_KEY: (u16, &str) = (403, "AccessDenied");

/// A key of a customer, as headers have it.
struct Key {
    key: String,
    md5: String,
}

impl Key {
    fn new(byte: u8) -> Key {
        Key { key: BASE64.encode(&[byte; 32]), md5: md5_base64(&[byte; 32]) }
    }

    fn headers(&self) -> [(&str, &str); 3] {
        [
            ("x-amz-server-side-encryption-customer-algorithm", "AES256"),
            ("x-amz-server-side-encryption-customer-key", &self.key),
            ("x-amz-server-side-encryption-customer-key-md5", &self.md5),
        ]
    }

    fn of_source(&self) -> [(&str, &str); 3] {
        [
            ("x-amz-copy-source-server-side-encryption-customer-algorithm", "AES256"),
            ("x-amz-copy-source-server-side-encryption-customer-key", &self.key),
            ("x-amz-copy-source-server-side-encryption-customer-key-md5", &self.md5),
        ]
    }

    fn with<'a>(&'a self, more: Headers<'a>) -> Vec<(&'a str, &'a str)> {
        [&self.headers()[..], more].concat()
    }
}

fn refused(s3: &S3, line: &str, headers: Headers<'_>, body: &[u8]) -> (u16, &'static str) {
    let (status, code) = s3.refused(line, headers, body);
    (status, code.leak())
}

/// Whether bytes are in any file of a folder, or of one in it.
fn is_on_disk(folder: &Path, wanted: &[u8]) -> bool {
    fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => is_on_disk(&path, wanted),
            false => {
                let bytes = fs::read(&path).unwrap_or_default();
                let mut places = bytes.windows(wanted.len());
                places.any(|bytes| bytes[0] == wanted[0] && bytes == wanted)
            }
        }
    })
}

#[test]
fn with_a_key_of_a_customer_only_whoever_has_it_reads() {
    let (_folder, s3) = S3::fresh();
    let (key, other) = (Key::new(1), Key::new(2));
    let long = content(2 * MIB + MIB / 2, 1);
    for (name, bytes) in [("long", &long[..]), ("short", b"a few bytes"), ("empty", b"")] {
        let line = format!("/first/{name}");
        let put = s3.done(&format!("PUT {line}"), &key.headers(), bytes);
        let told = "x-amz-server-side-encryption-customer-algorithm";
        assert_eq!(put.header(told), "aes256");
        assert_ne!(put.header("etag"), format!("\"{}\"", md5(bytes)));
        let got = s3.done(&format!("GET {line}"), &key.headers(), b"");
        assert!(got.body == bytes && got.header("etag") == put.header("etag"), "{name}");
        assert_eq!(got.header(told), "aes256");
        let head = s3.done(&format!("HEAD {line}"), &key.headers(), b"");
        assert_eq!(head.header("content-length"), bytes.len().to_string());
        assert_eq!(refused(&s3, &format!("GET {line}"), &[], b""), NO_KEY);
        assert_eq!(refused(&s3, &format!("GET {line}"), &other.headers(), b""), WRONG_KEY);
        assert_eq!(s3.ask(&format!("HEAD {line}"), &[], b"").status(), 400);
        assert_eq!(s3.ask(&format!("HEAD {line}"), &other.headers(), b"").status(), 403);
    }
    for (range, begin, end) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1048570-1048580", MIB - 6, MIB + 5),
        ("bytes=1048576-", MIB, long.len()),
        ("bytes=-7", long.len() - 7, long.len()),
    ] {
        let got = s3.done("GET /first/long", &key.with(&[("range", range)]), b"");
        assert!(got.status() == 206 && got.body == long[begin..end], "{range}");
    }

    let mut wrong = key.headers();
    wrong[2].1 = &other.md5;
    assert_eq!(refused(&s3, "PUT /first/x", &wrong, b"x"), (400, "InvalidArgument"));
    assert_eq!(refused(&s3, "GET /first/long", &wrong, b""), (400, "InvalidArgument"));
    let mut wrong = key.headers();
    wrong[0].1 = "AES128";
    let invalid = (400, "InvalidEncryptionAlgorithmError");
    assert_eq!(refused(&s3, "PUT /first/x", &wrong, b"x"), invalid);
    assert_eq!(refused(&s3, "PUT /first/x", &key.headers()[..1], b"x"), (400, "InvalidArgument"));
    let both = key.with(&[BY_SERVER]);
    assert_eq!(refused(&s3, "PUT /first/x", &both, b"x"), (400, "InvalidArgument"));
    s3.done("PUT /first/plain", &[], b"plain");
    assert_eq!(refused(&s3, "GET /first/plain", &key.headers(), b""), NO_KEY);

    // Natively nobody has the key, and is told so.
    let told = said(&s3.served.run(&["cat", "slot://first/short"]));
    assert!(told.contains("SSE-C"), "{told}");
    assert!(s3.served.says(&["stat", "slot://first/short"]).contains("SSE-C"));
    // What is deleted or listed needs none.
    assert_eq!(s3.done("GET /first?list-type=2", &[], b"").texts("Size")[1], "2621440");
    s3.done("DELETE /first/short", &[], b"");
}

#[test]
fn copies_are_encrypted_as_they_are_asked_for() {
    let (_folder, s3) = S3::fresh();
    let (key, other) = (Key::new(1), Key::new(2));
    let bytes = content(MIB + 7, 1);
    s3.done("PUT /first/of-customer", &key.headers(), &bytes);
    s3.done("PUT /first/of-server", &[BY_SERVER], &bytes);
    s3.done("PUT /first/plain", &[], &bytes);
    let customer = [("x-amz-copy-source", "/first/of-customer")];
    assert_eq!(refused(&s3, "PUT /first/to", &customer, b""), NO_KEY);
    let wrong = [&customer[..], &other.of_source()].concat();
    assert_eq!(refused(&s3, "PUT /first/to", &wrong, b""), WRONG_KEY);
    let key_of_source = [&customer[..], &key.of_source()].concat();
    for (source, name) in [
        (key_of_source, "of-customer"),
        (vec![("x-amz-copy-source", "/first/of-server")], "of-server"),
        (vec![("x-amz-copy-source", "/first/plain")], "plain"),
    ] {
        for (to, headers) in [
            ("same-key", &key.headers()[..]),
            ("other-key", &other.headers()),
            ("server", &[BY_SERVER]),
            ("unsaid", &[]),
        ] {
            let line = format!("/first/{name}-{to}");
            let replaced = [("x-amz-metadata-directive", "REPLACE"), ("x-amz-meta-k", "v")];
            let all = [&source[..], headers, &replaced].concat();
            s3.done(&format!("PUT {line}"), &all, b"");
            let reading = if to.ends_with("key") { headers } else { &[] };
            let got = s3.done(&format!("GET {line}"), reading, b"");
            assert!(got.body == bytes, "{line}");
            assert_eq!(got.header("x-amz-meta-k"), "v");
            let is_by_server = to == "server" || (name, to) == ("of-server", "unsaid");
            let expected = if is_by_server { "aes256" } else { "" };
            assert_eq!(got.header("x-amz-server-side-encryption"), expected, "{line}");
            let is_md5 = got.header("etag") == format!("\"{}\"", md5(&bytes));
            assert_eq!(is_md5, !to.ends_with("key"), "{line}: {got:?}");
        }
    }
    // Its encryption is all that changes.
    let itself = [("x-amz-copy-source", "/first/plain")];
    assert_eq!(refused(&s3, "PUT /first/plain", &itself, b""), NO_KEY);
    s3.done("PUT /first/plain", &[itself[0], BY_SERVER], b"");
    let head = s3.done("HEAD /first/plain", &[], b"");
    assert_eq!(head.header("x-amz-server-side-encryption"), "aes256");
}

fn upload(s3: &S3, name: &str, headers: Headers<'_>, of_parts: Headers<'_>) -> Vec<u8> {
    let begun = s3.done(&format!("POST /first/{name}?uploads"), headers, b"");
    let id = begun.text("UploadId");
    let parts = [content(5 * MIB + 3, 1), content(5 * MIB, 2), content(100, 3)];
    let mut list = String::from("<CompleteMultipartUpload>");
    for (bytes, number) in parts.iter().zip([1, 2, 7]) {
        let line = format!("PUT /first/{name}?partNumber={number}&uploadId={id}");
        // The first one is stored twice: the later one counts.
        if number == 1 {
            s3.done(&line, of_parts, b"to be replaced");
        }
        let tag = s3.done(&line, of_parts, bytes).header("etag").to_owned();
        list += &format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
    }
    list += "</CompleteMultipartUpload>";
    s3.done(&format!("POST /first/{name}?uploadId={id}"), &[], list.as_bytes());
    parts.concat()
}

#[test]
fn uploads_in_parts_have_one_key() {
    let (_folder, s3) = S3::fresh();
    let (key, other) = (Key::new(1), Key::new(2));
    let begun = s3.done("POST /first/x?uploads", &key.headers(), b"");
    let line = format!("PUT /first/x?partNumber=1&uploadId={}", begun.text("UploadId"));
    assert_eq!(refused(&s3, &line, &[], b"x"), NO_KEY);
    assert_eq!(refused(&s3, &line, &other.headers(), b"x"), NO_KEY);
    let begun = s3.done("POST /first/x?uploads", &[BY_SERVER], b"");
    assert_eq!(begun.header("x-amz-server-side-encryption"), "aes256");
    let line = format!("PUT /first/x?partNumber=1&uploadId={}", begun.text("UploadId"));
    assert_eq!(refused(&s3, &line, &key.headers(), b"x"), NO_KEY);
    assert_eq!(refused(&s3, &line, &[BY_SERVER], b"x"), (400, "InvalidArgument"));

    let by_key = upload(&s3, "by-key", &key.headers(), &key.headers());
    let by_server = upload(&s3, "by-server", &[BY_SERVER], &[]);
    assert!(by_key == by_server);
    for (name, headers) in [("by-key", &key.headers()[..]), ("by-server", &[])] {
        let line = format!("GET /first/{name}");
        assert!(s3.done(&line, headers, b"").body == by_key, "{name}");
        let edge = 5 * MIB + 3;
        let range = format!("bytes={}-{}", edge - 2, edge + MIB);
        let across = s3.done(&line, &[headers, &[("range", &range)]].concat(), b"");
        assert!(across.body == by_key[edge - 2..=edge + MIB], "{name}");
        let part = s3.done(&format!("{line}?partNumber=2"), headers, b"");
        assert!(part.body == by_key[edge..edge + 5 * MIB], "{name}");
        assert_eq!(part.header("x-amz-mp-parts-count"), "3");
    }
    assert_eq!(refused(&s3, "GET /first/by-key", &other.headers(), b""), WRONG_KEY);
    assert!(s3.served.run(&["cat", "slot://first/by-server"]).stdout == by_key);

    // A part is read of what is encrypted, and encrypted again.
    let begun = s3.done("POST /first/copied?uploads", &other.headers(), b"");
    let id = begun.text("UploadId");
    let line = format!("PUT /first/copied?partNumber=1&uploadId={id}");
    let source =
        [("x-amz-copy-source", "/first/by-key"), ("x-amz-copy-source-range", "bytes=9-19")];
    assert_eq!(refused(&s3, &line, &other.with(&source), b""), NO_KEY);
    let all = [&other.with(&source)[..], &key.of_source()].concat();
    let tag = s3.done(&line, &all, b"").text("ETag");
    let list = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part></CompleteMultipartUpload>"
    );
    s3.done(&format!("POST /first/copied?uploadId={id}"), &[], list.as_bytes());
    let got = s3.done("GET /first/copied", &other.headers(), b"");
    assert!(got.body == by_key[9..20]);
}

fn encryption(method: &str) -> String {
    format!(
        "<ServerSideEncryptionConfiguration><Rule><ApplyServerSideEncryptionByDefault><SSEAlgorithm>{method}</SSEAlgorithm>\
         </ApplyServerSideEncryptionByDefault></Rule></ServerSideEncryptionConfiguration>"
    )
}

#[test]
fn a_bucket_encrypts_what_is_put_into_it_and_the_disk_has_nothing_of_it() {
    let (folder, s3) = S3::fresh();
    let line = "/first?encryption";
    let none = (404, "ServerSideEncryptionConfigurationNotFoundError");
    assert_eq!(refused(&s3, &format!("GET {line}"), &[], b""), none);
    let put = format!("PUT {line}");
    assert_eq!(refused(&s3, &put, &[], encryption("aws:kms").as_bytes()), (501, "NotImplemented"));
    assert_eq!(refused(&s3, &put, &[], encryption("DES").as_bytes()), (400, "MalformedXML"));
    let kms = [("x-amz-server-side-encryption", "aws:kms")];
    assert_eq!(refused(&s3, "PUT /first/x", &kms, b"x"), (501, "NotImplemented"));
    s3.done("PUT /first/before", &[], &b"in the clear, as before".repeat(5_000));
    s3.done(&put, &[], encryption("AES256").as_bytes());
    assert_eq!(s3.done(&format!("GET {line}"), &[], b"").text("SSEAlgorithm"), "AES256");

    let (short, long) =
        (b"a secret that is short".to_vec(), b"a secret that is long".repeat(90_000));
    let file = folder.path().join("native");
    fs::write(&file, b"a secret that came natively".repeat(3_000)).expect("room");
    s3.served.says(&["cp", file.to_str().expect("text"), "slot://first/native"]);
    for (name, bytes) in [("short", &short), ("long", &long)] {
        let put = s3.done(&format!("PUT /first/{name}"), &[], bytes);
        assert_eq!(put.header("x-amz-server-side-encryption"), "aes256");
        assert_eq!(put.header("etag"), format!("\"{}\"", md5(bytes)));
    }
    let native = fs::read(&file).expect("it is there");
    let keys = BASE64.encode(format!("{ACCESS}:{SECRET}").as_bytes());
    let ranged = format!("authorization: Basic {keys}\r\nrange: bytes=3-9\r\n");
    for (name, bytes) in [("short", &short), ("long", &long), ("native", &native)] {
        let got = s3.done(&format!("GET /first/{name}"), &[], b"");
        assert!(got.body == *bytes, "{name}");
        assert_eq!(got.header("x-amz-server-side-encryption"), "aes256");
        let place = format!("slot://first/{name}");
        assert!(s3.served.run(&["cat", &place]).stdout == *bytes, "{name}");
        let out = folder.path().join("out");
        s3.served.says(&["cp", &place, out.to_str().expect("text")]);
        assert!(fs::read(&out).expect("it is there") == *bytes, "{name}");
        let part = s3.served.ask(&format!("GET /v2/first/{name}"), &ranged, b"");
        assert_eq!((part.status(), &part.body[..]), (206, &bytes[3..10]));
    }
    let data = folder.path().join("data");
    assert!(is_on_disk(&data, b"in the clear, as before"));
    for secret in ["a secret that is short", "a secret that is long", "a secret that came natively"]
    {
        assert!(!is_on_disk(&data, secret.as_bytes()), "{secret}");
    }
    s3.done(&format!("DELETE {line}"), &[], b"");
    assert_eq!(refused(&s3, &format!("GET {line}"), &[], b""), none);
    let put = s3.done("PUT /first/after", &[], b"x");
    assert_eq!(put.header("x-amz-server-side-encryption"), "");
    assert!(s3.done("GET /first/long", &[], b"").body == long);
}

#[test]
fn jobs_carry_keys_along_and_read_what_is_encrypted() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3", "--transforms", "1"]);
    let key = Key::new(1);
    let (long, short) = (content(2 * MIB, 1), content(1000, 2));
    s3.done("PUT /first/in/long", &[BY_SERVER], &long);
    s3.done("PUT /first/in/short", &[BY_SERVER], &short);
    s3.done("PUT /first/in/customer", &key.headers(), &long);
    s3.done("PUT /first/in/customer-short", &key.headers(), &short);
    // Into one that keeps content elsewhere and in other numbers, and one that encrypts.
    s3.served.says(&["mb", "slot://two", "--replicas", "2", "--versions"]);
    s3.done("PUT /encrypts", &[], b"");
    s3.done("PUT /encrypts?encryption", &[], encryption("AES256").as_bytes());
    s3.done("PUT /first/in/plain", &[], b"plain");
    for to in ["two", "encrypts"] {
        let place = format!("slot://{to}/out/");
        s3.served.says(&["job", "start", "copy", "slot://first/in/", &place, "--watch"]);
        for (name, bytes, headers) in [
            ("long", &long, &[][..]),
            ("short", &short, &[]),
            ("customer", &long, &key.headers()),
            ("customer-short", &short, &key.headers()),
            ("plain", &b"plain".to_vec(), &[]),
        ] {
            let got = s3.done(&format!("GET /{to}/out/{name}"), headers, b"");
            assert!(got.body == *bytes, "{to} {name}");
        }
    }
    let head = s3.done("HEAD /encrypts/out/plain", &[], b"");
    assert_eq!(head.header("x-amz-server-side-encryption"), "aes256");
    s3.served.says(&["job", "start", "verify", "slot://two/out/", "--watch"]);

    let transform = |from: &str| {
        let all = ["job", "start", "transform", from, "slot://first/made/"];
        s3.served.run(&[&all[..], &["--command", "cat", "--watch", "--json"]].concat())
    };
    // What follows the prefix follows that of the output.
    let done = transform("slot://first/in/lo");
    assert!(done.status.success(), "{done:?}");
    let made = s3.done("GET /first/made/ng", &[], b"");
    assert!(made.body == long);
    assert_eq!(made.header("x-amz-server-side-encryption"), "aes256");
    let failed = transform("slot://first/in/cust");
    assert!(!failed.status.success(), "{failed:?}");
    let text = String::from_utf8(failed.stdout).expect("text");
    let job: serde_json::Value =
        serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    let log = s3.served.says(&["job", "log", job["job"].as_str().expect("a number")]);
    assert!(log.contains("SSE-C"), "{log}");
}

fn secret_file(path: &Path, text: &str) {
    fs::write(path, text).expect("room");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
}

#[test]
fn master_keys_are_rotated_and_no_content_is_written_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let (data, file) = (folder.path().join("data"), folder.path().join("keys"));
    let path = file.to_str().expect("text");
    secret_file(&file, &"ab".repeat(32));
    let start = || S3::start(&data, &["--targets", "3", "--master-key", path]);
    let s3 = start();
    let get = |s3: &S3, name: &str| s3.ask(&format!("GET /first/{name}"), &[], b"");
    s3.done("PUT /first/old", &[BY_SERVER], b"old");
    let says = |arguments: &[&str]| s3.served.says(&[&["key", "master"], arguments].concat());
    assert!(says(&["list", path]).ends_with("master key 1"));
    assert!(says(&["add", path]).ends_with("master key 1 seals; opened with, too: 2"));
    assert!(says(&["use", path, "2"]).ends_with("master key 2 seals; opened with, too: 1"));
    assert!(said(&s3.served.run(&["key", "master", "use", path, "7"])).contains("no master key 7"));
    // The node runs on, and reads the file again.
    s3.done("PUT /first/new", &[BY_SERVER], b"new");
    assert_eq!((get(&s3, "old").body, get(&s3, "new").body), (b"old".to_vec(), b"new".to_vec()));
    let rotated = fs::read_to_string(&file).expect("it is there");
    drop(s3);
    let s3 = start();
    assert_eq!((get(&s3, "old").body, get(&s3, "new").body), (b"old".to_vec(), b"new".to_vec()));
    drop(s3);

    // What was sealed with a key that is gone is not to be had, and the rest is.
    let newest = rotated.lines().find(|line| line.starts_with("2 ")).expect("key 2");
    secret_file(&file, newest);
    let s3 = start();
    assert_eq!(get(&s3, "new").body, b"new");
    assert_eq!(get(&s3, "old").code(), (500, "InternalError".into()));
    assert!(said(&s3.served.run(&["cat", "slot://first/old"])).contains("master key 1"));
    drop(s3);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let other = Served::start_with(&data, &["--master-key", path], &[]);
    assert!(other.told.is_empty(), "others can read its keys: {}", other.told);
}

/// Changes a byte of this content wherever it is stored; gives how often it was.
fn flip(folder: &Path, wanted: &[u8]) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            count += flip(&path, wanted);
            continue;
        }
        let mut bytes = fs::read(&path).expect("it is there");
        let place = bytes.windows(64).position(|some| some[4..16] == wanted[4..16]);
        if let Some(place) = place.filter(|place| bytes.len() >= place + wanted.len()) {
            bytes[place + wanted.len() / 2] ^= 1;
            fs::write(&path, bytes).expect("room");
            count += 1;
        }
    }
    count
}

#[test]
fn a_chunk_that_was_changed_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let start = || S3::start(&data, &["--targets", "3"]);
    let s3 = start();
    let bytes = content(MIB / 2, 1);
    s3.done("PUT /first/x", &[BY_SERVER], &bytes);
    let stat = s3.served.says(&["stat", "--json", "slot://first/x"]);
    let stat: serde_json::Value = serde_json::from_str(&stat).expect("JSON");
    assert_eq!((&stat["encryption"], &stat["size"]), (&"SSE-S3".into(), &bytes.len().into()));
    let stored = s3.served.run(&["get", stat["content"].as_str().expect("an address")]).stdout;
    assert_eq!(stored.len(), bytes.len() + 32);
    assert!(!stored.windows(16).any(|some| some == &bytes[..16]));
    drop(s3);
    assert_eq!(flip(&data, &stored), 3);
    let s3 = start();
    let got = s3.ask("GET /first/x", &[], b"");
    assert!(got.status() >= 500, "{}", got.head);
}
