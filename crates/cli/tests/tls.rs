//! TLS of a real store, with the clients that people have.
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
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use served::{PATIENCE, Served, said};
use signed::{ACCESS, SECRET};

const KEYS: [(&str, &str); 3] = [
    ("SLOTCAST_ACCESS_KEY", ACCESS),
    ("SLOTCAST_SECRET_KEY", SECRET),
    ("SLOTCAST_BUCKET", "first"),
];

struct Encrypted {
    served: Served,
    certificate: PathBuf,
    s3: String,
}

fn start(data: &Path, more: &[&str]) -> Encrypted {
    let all = [&["--targets", "3", "--s3", "127.0.0.1:0"], more].concat();
    let served = Served::start_with(data, &all, &KEYS);
    let line = served.told.lines().find_map(|line| line.strip_prefix("S3 at https://"));
    let s3 = line.expect("S3").split(',').next().expect("an address").to_owned();
    Encrypted { served, certificate: data.join("tls-cert.pem"), s3 }
}

impl Encrypted {
    fn curl(&self, arguments: &[&str]) -> Output {
        Command::new("curl")
            .args(["-sS", "--max-time", "100"])
            .args(arguments)
            .output()
            .expect("curl")
    }

    /// Curl that believes the certificate, and has the keys.
    fn trusting(&self, arguments: &[&str]) -> String {
        let ca = self.certificate.to_str().expect("text");
        let user = format!("{ACCESS}:{SECRET}");
        let output = self.curl(&[&["--cacert", ca, "-u", &user], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn slotcast(&self, arguments: &[&str], believes: bool) -> Output {
        let node = format!("https://{}", self.served.node);
        let ca = self.certificate.to_str().expect("text");
        let mut variables = vec![("SLOTCAST_NODE", &node[..]), KEYS[0], KEYS[1]];
        variables.extend(believes.then_some(("SLOTCAST_CA", ca)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
        command.args(arguments).envs(variables).output().expect("it runs")
    }
}

fn has_curl() -> bool {
    let found = Command::new("curl").arg("--version").output();
    let is_there = found.is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("left out: `curl --version` does not run here");
    }
    is_there
}

#[test]
fn commands_and_curl_speak_tls_and_believe_whom_they_are_told_to() {
    if !has_curl() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let node = start(&data, &["--tls-self-signed"]);
    let url = format!("https://{}/v2/", node.served.node);
    // The first bucket is made when voters are there.
    let begun = Instant::now();
    while !node.trusting(&[&url]).contains("\"first\"") {
        assert!(begun.elapsed() < Duration::from_secs(60), "the first bucket is made soon");
        thread::sleep(Duration::from_millis(50));
    }
    assert!(node.trusting(&["--tls-max", "1.2", &url]).contains("\"first\""));
    assert!(!node.curl(&[&url]).status.success(), "nobody has signed the certificate");
    let old = node.curl(&["-k", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0", &url]);
    assert!(!old.status.success(), "{old:?}");
    let s3 = format!("https://{}/first", node.s3);
    let signed = |arguments: &[&str]| {
        let signs =
            ["--aws-sigv4", "aws:amz:us-east-1:s3", "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"];
        node.trusting(&[&signs[..], arguments].concat())
    };
    let listed = signed(&[&s3]);
    assert!(listed.contains("<ListBucketResult"), "{listed}");

    let file = folder.path().join("file");
    fs::write(&file, served::content(3 << 20, 5)).expect("room");
    let file = file.to_str().expect("text");
    let copied = node.slotcast(&["cp", file, "slot://first/file"], true);
    assert!(copied.status.success(), "{copied:?}");
    let back = node.slotcast(&["cat", "slot://first/file"], true);
    assert!(back.stdout == fs::read(file).expect("it is there"), "{}", back.stdout.len());
    let refused = said(&node.slotcast(&["ls"], false));
    assert!(refused.contains("cannot speak with"), "{refused}");

    // Whoever does not encrypt is told so, and nothing else.
    let plain = node.served.ask("GET /v2/", "", b"");
    assert!(plain.status() == 400 && plain.error().contains("https://"), "{plain:?}");
    // Policies see it.
    let policy = r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
        "Resource": "arn:aws:s3:::first/*", "Condition": {"Bool": {"aws:SecureTransport": "true"}}}}"#;
    let put = format!("{s3}?policy=");
    let answer = signed(&["-X", "PUT", "-d", policy, &put]);
    assert!(answer.is_empty(), "{answer}");
    let ca = node.certificate.to_str().expect("text");
    let code = ["-o", "/dev/null", "-w", "%{http_code}", "--cacert", ca];
    let got = node.curl(&[&code[..], &[&format!("{s3}/file")]].concat());
    assert_eq!(got.stdout, b"200", "{got:?}");
}

#[test]
fn a_certificate_that_changes_is_read_again_and_a_wrong_one_is_not_used() {
    if !has_curl() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    drop(start(&data, &["--tls-self-signed"]));
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    let install = |from: &Path| {
        fs::copy(from.join("tls-cert.pem"), &certificate).expect("room");
        fs::copy(from.join("tls-key.pem"), &key).expect("room");
    };
    install(&data);
    let files = [
        "--tls-cert",
        certificate.to_str().expect("text"),
        "--tls-key",
        key.to_str().expect("text"),
    ];
    let mut node = start(&data, &files);
    let url = format!("https://{}/healthz", node.served.node);
    node.trusting(&[&url]);
    let log = || fs::read_to_string(data.with_extension("log")).expect("a log");
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !holds() {
            assert!(begun.elapsed() < PATIENCE, "{what}: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    fs::write(&certificate, "no certificate").expect("room");
    until("the wrong one is told", &|| log().contains("the one before it stays"));
    node.trusting(&[&url]);
    // Another one, that whoever believed the first does not believe.
    let other = folder.path().join("other");
    drop(start(&other, &["--tls-self-signed"]));
    install(&other);
    until("the new one is read", &|| log().contains("certificate read again"));
    let ca = node.certificate.to_str().expect("text").to_owned();
    assert!(!node.curl(&["--cacert", &ca, &url]).status.success());
    node.certificate = other.join("tls-cert.pem");
    node.trusting(&[&url]);
    drop(node);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    let serve = ["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--data"];
    let refused = command.args(serve).arg(&data).args(files).output().expect("it runs");
    assert!(said(&refused).contains("others can read the key"), "{refused:?}");
}

#[test]
fn a_handshake_that_does_not_come_ends_in_time_and_takes_a_place() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["--tls-self-signed", "--header-timeout", "1s", "--idle-timeout", "600s"];
    let node = start(&folder.path().join("data"), &more);
    for begin in [&b""[..], &[22, 3, 1], &[22, 3, 1, 2, 0, 1, 0, 1, 252]] {
        let mut stream = TcpStream::connect(&node.served.node).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        stream.write_all(begin).expect("it is read");
        let mut rest = Vec::new();
        // It is closed, or reset where something was not read.
        let _ = stream.read_to_end(&mut rest);
        assert!(rest.is_empty() || rest[0] == 21, "an alert at most: {rest:?}");
    }
}

const BOTO3: &str = r#"
import boto3, io, os
s3 = boto3.client("s3")
body = os.urandom(9_000_000)
s3.upload_fileobj(io.BytesIO(body), "first", "long")
assert s3.get_object(Bucket="first", Key="long")["Body"].read() == body
print("fine")
"#;

#[test]
fn boto3_speaks_tls() {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR")).join("boto3/bin/python");
    let candidates = [own, PathBuf::from("python3")];
    let has = |python: &&PathBuf| {
        let import = Command::new(python).args(["-c", "import boto3"]).output();
        import.is_ok_and(|output| output.status.success())
    };
    let Some(python) = candidates.iter().find(has) else {
        eprintln!("left out: boto3 is not installed here (the test of S3 clients installs it)");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let node = start(&folder.path().join("data"), &["--tls-self-signed"]);
    let output = Command::new(python)
        .args(["-c", BOTO3])
        .env("AWS_ACCESS_KEY_ID", ACCESS)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_ENDPOINT_URL", format!("https://{}", node.s3))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_DEFAULT_REGION", "us-east-1")
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .env("AWS_CA_BUNDLE", &node.certificate)
        .env("AWS_CONFIG_FILE", folder.path().join("none"))
        .output()
        .expect("it runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "fine", "{output:?}");
}
