//! Who may use S3: keys and where they come from, signatures, and what does not fit what was announced.
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
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use data_encoding::BASE64;
use served::{Served, content, said};
use signed::{S3, Signer, date, md5_base64, sha256};

fn start(folder: &Path) -> S3 {
    S3::start(&folder.join("data"), &["--targets", "3"])
}

/// The status and the code of the answer to a request that is not signed by a header.
fn unsigned(s3: &S3, method: &str, target: &str, more: &str) -> (u16, String) {
    let address = &s3.address;
    let text =
        format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{more}\r\n");
    s3.send(text.as_bytes()).code()
}

#[test]
fn only_whoever_has_the_key_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    s3.done("PUT /first/k", &[], b"content");
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(unsigned(&s3, "GET", "/first/k", ""), denied);
    let as_other = |change: fn(&mut Signer)| {
        let mut signer = Signer::now();
        change(&mut signer);
        s3.ask_as(&signer, "GET /first/k", &[], b"").code()
    };
    assert_eq!(as_other(|_| ()).0, 200);
    assert_eq!(as_other(|s| s.secret.push('x')), (403, "SignatureDoesNotMatch".into()));
    assert_eq!(as_other(|s| s.access.push('x')), (403, "InvalidAccessKeyId".into()));
    assert_eq!(as_other(|s| s.date = date(-1000)), (403, "RequestTimeTooSkewed".into()));
    assert_eq!(as_other(|s| s.date = date(1000)), (403, "RequestTimeTooSkewed".into()));
    let v2 = "Authorization: AWS AKIATEST:frJIUN8DYpKDtOLCwo//yllqDzg=\r\n";
    assert_eq!(unsigned(&s3, "GET", "/first/k", v2), (400, "InvalidRequest".into()));
}

#[test]
fn a_presigned_url_is_good_for_its_time_and_seven_days_at_most() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    let signer = Signer::now();
    let url = |method, expires| signer.presigned((method, "/first/ü k", &s3.address), expires);
    let put = url("PUT", 60);
    assert_eq!(unsigned(&s3, "PUT", &put, "Content-Length: 0\r\n"), (200, String::new()));
    let get = |target: &str| unsigned(&s3, "GET", target, "");
    assert_eq!(get(&url("GET", 60)).0, 200);
    assert_eq!(get(&url("GET", 604_800)).0, 200);
    assert_eq!(get(&url("GET", 604_801)), (400, "AuthorizationQueryParametersError".into()));
    assert_eq!(get(&put), (403, "SignatureDoesNotMatch".into()));
    let longer = url("GET", 60).replace("X-Amz-Expires=60", "X-Amz-Expires=61");
    assert_eq!(get(&longer), (403, "SignatureDoesNotMatch".into()));
    let old = Signer { date: date(-100), ..Signer::now() };
    let old = |expires| get(&old.presigned(("GET", "/first/ü k", &s3.address), expires));
    assert_eq!(old(99), (403, "AccessDenied".into()));
    assert_eq!(old(1000).0, 200);
}

#[test]
fn whoever_has_no_credentials_changes_no_headers_of_answers() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    s3.done("PUT /first/k", &[], b"x");
    let policy = r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::first/*"}}"#;
    s3.done("PUT /first?policy", &[], policy.as_bytes());
    assert_eq!(unsigned(&s3, "GET", "/first/k", "").0, 200);
    let page = "/first/k?response-content-type=text%2Fhtml";
    assert_eq!(unsigned(&s3, "GET", page, ""), (400, "InvalidRequest".into()));
    let signed = s3.done("GET /first/k?response-content-type=text/html", &[], b"");
    assert_eq!(signed.header("content-type"), "text/html");
}

#[test]
fn what_a_request_says_in_headers_of_amazon_is_signed() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    s3.done("PUT /first/secret", &[], b"secret");
    let signer = Signer::now();
    let denied = (403, "AccessDenied".to_owned());
    // Whoever may put one object does not read another with that, and whoever may delete one bypasses no lock.
    let copy = "x-amz-copy-source: /first/secret\r\nContent-Length: 0\r\n";
    let bypass = "x-amz-bypass-governance-retention: true\r\n";
    for (method, more) in [("PUT", copy), ("DELETE", bypass)] {
        let url = signer.presigned((method, "/first/k", &s3.address), 60);
        assert_eq!(unsigned(&s3, method, &url, more), denied, "{more}");
    }
    let (header, _) = signer.header(("PUT", "/first/k", &[]), &s3.address, &[], &sha256(b""));
    assert_eq!(s3.send(format!("{header}{copy}\r\n").as_bytes()).code(), denied);
    assert_eq!(s3.refused("GET /first/k", &[], b""), (404, "NoSuchKey".into()));
    s3.done("PUT /first/k", &[("x-amz-copy-source", "/first/secret")], b"");
}

#[test]
fn whoever_sends_nothing_of_what_was_announced_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3", "--body-timeout", "1s"]);
    let length = "Content-Length: 1000\r\n";
    let post = |target: &str, more: &str| unsigned(&s3, "POST", target, &format!("{length}{more}"));
    // Somebody unknown is not asked what to delete where nothing is open.
    for target in ["/first?delete", "/none?delete"] {
        assert_eq!(post(target, ""), (403, "AccessDenied".into()), "{target}");
    }
    let form = "Content-Type: multipart/form-data; boundary=xyz\r\n";
    assert_eq!(post("/first", form), (400, "IncompleteBody".into()));
    let policy = r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:DeleteObject",
        "Resource": "arn:aws:s3:::first/*"}}"#;
    s3.done("PUT /first?policy", &[], policy.as_bytes());
    assert!(post("/first?delete", "").0 >= 400);
    let objects = "<Object><Key>k</Key></Object>".repeat(1001);
    let xml = format!("<Delete>{objects}</Delete>");
    let more =
        format!("Content-Length: {}\r\nContent-MD5: {}", xml.len(), md5_base64(xml.as_bytes()));
    let told = unsigned(&s3, "POST", "/first?delete", &format!("{more}\r\n\r\n{xml}"));
    assert_eq!(told, (400, "MalformedXML".into()));
}

#[test]
fn content_that_is_not_what_was_signed_or_announced_is_not_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    // Short content goes another way than long content.
    for length in [10, 3 << 20] {
        let content = content(length, 1);
        let signer = Signer::now();
        let line = ("PUT", "/first/k", &[][..]);
        let (header, _) = signer.header(line, &s3.address, &[], &sha256(b"other"));
        let head = format!("{header}Content-Length: {length}\r\n\r\n");
        let answer = s3.send(&[head.as_bytes(), &content].concat());
        assert_eq!(answer.code(), (400, "XAmzContentSHA256Mismatch".into()), "{length} bytes");
        let put = |name, value: &str| s3.refused("PUT /first/k", &[(name, value)], &content);
        let bad = (400, "BadDigest".to_owned());
        assert_eq!(put("content-md5", "AAAAAAAAAAAAAAAAAAAAAA=="), bad);
        assert_eq!(put("content-md5", "x"), (400, "InvalidDigest".into()));
        assert_eq!(put("x-amz-checksum-crc32", "AAAAAA=="), bad);
        assert_eq!(put("x-amz-checksum-crc32c", "AAAAAA=="), bad);
        assert_eq!(put("x-amz-checksum-crc64nvme", "AAAAAAAAAAA="), bad);
        assert_eq!(put("x-amz-checksum-sha1", &BASE64.encode(&[0; 20])), bad);
        assert_eq!(put("x-amz-checksum-sha256", &BASE64.encode(&[0; 32])), bad);
        assert_eq!(put("x-amz-checksum-sha256", "AAAA"), (400, "InvalidRequest".into()));
        let both = [("x-amz-checksum-crc32", "AAAAAA=="), ("x-amz-checksum-crc32c", "AAAAAA==")];
        assert_eq!(s3.refused("PUT /first/k", &both, &content), (400, "InvalidRequest".into()));
        assert_eq!(s3.refused("GET /first/k", &[], b""), (404, "NoSuchKey".into()));
    }
    let whole = content(3 << 20, 1);
    let sum =
        BASE64.encode(&data_encoding::HEXLOWER.decode(sha256(&whole).as_bytes()).expect("hex"));
    let put = s3.done("PUT /first/k", &[("x-amz-checksum-sha256", &sum)], &whole);
    assert_eq!(put.header("x-amz-checksum-sha256"), sum.to_lowercase());
    let got = s3.done("GET /first/k", &[("x-amz-checksum-mode", "ENABLED")], b"");
    assert_eq!(got.header("x-amz-checksum-sha256"), sum.to_lowercase());
    let got = s3.done("GET /first/k", &[], b"");
    assert_eq!(got.header("x-amz-checksum-sha256"), "");
}

/// A put whose content is signed in chunks; each is changed by `damage` after it was signed.
fn put_chunks(s3: &S3, pieces: &[&[u8]], damage: fn(&mut Vec<u8>)) -> (u16, String) {
    let signer = Signer::now();
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let length = length.to_string();
    let headers =
        [("x-amz-decoded-content-length", &length[..]), ("content-encoding", "aws-chunked")];
    let line = ("PUT", "/first/chunked", &[][..]);
    let (header, mut signature) =
        signer.header(line, &s3.address, &headers, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD");
    let mut body = Vec::new();
    for piece in pieces.iter().chain([&&b""[..]]) {
        signature = signer.sign_chunk(&signature, piece);
        body.extend_from_slice(
            format!("{:x};chunk-signature={signature}\r\n", piece.len()).as_bytes(),
        );
        let mut bytes = piece.to_vec();
        damage(&mut bytes);
        body.extend_from_slice(&bytes);
        body.extend_from_slice(b"\r\n");
    }
    let head = format!("{header}Content-Length: {}\r\n\r\n", body.len());
    s3.send(&[head.as_bytes(), &body].concat()).code()
}

#[test]
fn signatures_of_chunks_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    let long = content(200_000, 4);
    let pieces: Vec<&[u8]> = long.chunks(65_536).collect();
    assert_eq!(put_chunks(&s3, &pieces, |_| ()), (200, String::new()));
    let got = s3.done("GET /first/chunked", &[], b"");
    assert!(got.body == long && got.header("content-encoding").is_empty());
    s3.done("DELETE /first/chunked", &[], b"");
    let damage = |bytes: &mut Vec<u8>| bytes.iter_mut().take(1).for_each(|byte| *byte ^= 1);
    assert_eq!(put_chunks(&s3, &pieces, damage), (403, "SignatureDoesNotMatch".into()));
    assert_eq!(s3.refused("GET /first/chunked", &[], b""), (404, "NoSuchKey".into()));
}

#[test]
fn checksums_that_follow_the_content_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    let sent = |content: &[u8], trailer: &str, in_chunks: bool| {
        let length = content.len().to_string();
        let headers = [
            ("x-amz-decoded-content-length", &length[..]),
            ("x-amz-trailer", "x-amz-checksum-crc32"),
        ];
        let line = ("PUT", "/first/trailed", &[][..]);
        let (header, _) =
            Signer::now().header(line, &s3.address, &headers, "STREAMING-UNSIGNED-PAYLOAD-TRAILER");
        let mut body = format!("{:x}\r\n", content.len()).into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(format!("\r\n0\r\n{trailer}\r\n").as_bytes());
        let mut head = format!("{header}Content-Length: {}\r\n\r\n", body.len());
        if in_chunks {
            head = format!("{header}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len());
            body.extend_from_slice(b"\r\n0\r\n\r\n");
        }
        s3.send(&[head.as_bytes(), &body].concat()).code()
    };
    let put = |content: &[u8], trailer: &str| sent(content, trailer, false);
    // The check value of the catalogue of CRCs.
    let right =
        format!("x-amz-checksum-crc32:{}\r\n", BASE64.encode(&0xcbf4_3926_u32.to_be_bytes()));
    assert_eq!(put(b"123456789", "x-amz-checksum-crc32:AAAAAA==\r\n"), (400, "BadDigest".into()));
    assert_eq!(s3.refused("GET /first/trailed", &[], b""), (404, "NoSuchKey".into()));
    assert_eq!(put(b"123456789", &right), (200, String::new()));
    assert_eq!(put(&content(3 << 20, 1), &right), (400, "BadDigest".into()));
    assert_eq!(s3.done("GET /first/trailed", &[], b"").body, b"123456789");
    s3.done("DELETE /first/trailed", &[], b"");
    let wrong = sent(b"123456789", "x-amz-checksum-crc32:AAAAAA==\r\n", true);
    assert_eq!(wrong, (400, "BadDigest".into()));
    assert_eq!(sent(b"123456789", &right, true), (200, String::new()));
    assert_eq!(s3.done("GET /first/trailed", &[], b"").body, b"123456789");
}

#[test]
fn an_answer_without_a_hundred_before_it_ends_its_connection() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = start(folder.path());
    let put = |content: &[u8]| {
        let line = ("PUT", "/first/k", &[][..]);
        let header = Signer::now().header(line, &s3.address, &[], &sha256(content)).0;
        let header = header.replace("Connection: close\r\n", "Expect: 100-continue\r\n");
        let head = format!("{header}Content-Length: {}\r\n\r\n", content.len());
        let mut stream = TcpStream::connect(&s3.address).expect("it listens");
        stream.set_read_timeout(Some(served::PATIENCE)).expect("a time");
        stream.write_all(head.as_bytes()).expect("it is read");
        let mut text = String::new();
        let mut lines = BufReader::new(&stream);
        while !text.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut text).expect("an answer") > 0, "{text}");
        }
        text.to_lowercase()
    };
    let answer = put(b"");
    assert!(answer.contains("200 ok") && answer.contains("connection: close"), "{answer}");
    assert!(put(b"content").starts_with("http/1.1 100 continue"));
}

#[test]
fn a_first_start_makes_keys_that_others_cannot_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let start = || {
        let more = ["--targets", "3", "--s3", "127.0.0.1:0"];
        Served::start_with(&data, &more, &[])
    };
    let told = start().told.clone();
    let value = |name: &str| {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("no {name}: {told}")).to_owned()
    };
    let (access, secret) =
        (value("export AWS_ACCESS_KEY_ID"), value("export AWS_SECRET_ACCESS_KEY"));
    let file = data.join("s3-keys");
    assert_eq!(fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
    let served = start();
    assert!(served.told.contains(&access) && !served.told.contains(&secret), "{}", served.told);
    let line = served.told.lines().find_map(|line| line.strip_prefix("S3 at http://"));
    let address = line.expect("S3").split(',').next().expect("an address").to_owned();
    let s3 = S3 { served, address };
    let signer = Signer { access, secret, date: date(0) };
    assert_eq!(s3.ask_as(&signer, "GET /", &[], b"").status(), 200);
    drop(s3);
    let log = fs::read_to_string(data.with_extension("log")).expect("a log");
    assert!(!log.contains(&signer.secret), "{log}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let refused = serve(&data, &["--s3", "127.0.0.1:0"], &[]);
    assert!(refused.contains("others can read") && refused.contains("chmod 600"), "{refused}");
}

/// What a node says that does not start.
fn serve(data: &Path, more: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    let command = command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).args(more);
    said(&command.envs(variables.iter().copied()).output().expect("it runs"))
}

#[test]
fn a_usual_port_that_is_taken_is_told_and_no_reason_to_stop() {
    // Somebody else who has it may give it back at any moment.
    let Ok(_held) = TcpListener::bind("127.0.0.1:9000") else {
        eprintln!("left out: something else has the port");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut process = Command::new(env!("CARGO_BIN_EXE_slotcast"))
        .args(["serve", "--targets", "3", "--listen", "127.0.0.1:0", "--data"])
        .arg(folder.path().join("data"))
        .stdout(Stdio::piped())
        .stderr(fs::File::create(&log).expect("room"))
        .spawn()
        .expect("it starts");
    let out = BufReader::new(process.stdout.take().expect("a pipe"));
    let told: Vec<String> = out
        .lines()
        .map(|line| line.expect("text"))
        .take_while(|line| line != "Ctrl-C stops it.")
        .collect();
    process.kill().expect("it runs");
    process.wait().expect("it ends");
    assert!(told[0].contains("3 targets") && !told.concat().contains("S3 at"), "{told:?}");
    let log = fs::read_to_string(&log).expect("it is there");
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains("Warning")).collect();
    assert!(warnings.len() == 1 && warnings[0].contains("127.0.0.1:9000"), "{log}");
}

#[test]
fn what_is_wrong_with_s3_is_said_at_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let keys = [("SLOTCAST_ACCESS_KEY", "AKIATEST"), ("SLOTCAST_SECRET_KEY", "12345678")];
    let refused = serve(&data, &["--s3", &address], &keys);
    assert!(
        refused.contains(&address) && refused.contains("give --s3 another address"),
        "{refused}"
    );
    let refused = serve(&data, &["--s3", "9000"], &[]);
    assert!(refused.contains("`9000` is no address"), "{refused}");
    let refused = serve(&data, &["--s3", "127.0.0.1:0"], &keys[..1]);
    assert!(refused.contains("SLOTCAST_SECRET_KEY is not"), "{refused}");
    let bucket = [&keys[..], &[("SLOTCAST_BUCKET", "No_Bucket")]].concat();
    let refused = serve(&data, &["--s3", "127.0.0.1:0"], &bucket);
    assert!(refused.contains("`No_Bucket` is no name of a bucket"), "{refused}");
    // A key is enough to have it served; but not against what was said.
    let off = Served::start_with(&data, &["--targets", "3", "--s3", "off"], &keys);
    assert!(!off.told.contains("S3"), "{}", off.told);
}
