//! The audit log of a real store.
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
use std::process::Command;

use data_encoding::BASE64;
use served::{PATIENCE, said};
use signed::{ACCESS, S3, SECRET, Signer};

#[test]
fn each_change_and_each_refusal_has_a_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("audit");
    let path = file.to_str().expect("text").to_owned();
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3", "--audit", &path]);
    let put = s3.done("PUT /first/k", &[], b"content");
    s3.done("GET /first/k", &[], b"");
    let mut other = Signer::now();
    other.secret.push('x');
    assert_eq!(s3.ask_as(&other, "GET /first/k", &[], b"").status(), 403);
    let added = s3.served.says(&["user", "add", "ann", "--policy", "readonly", "--json"]);
    let added: serde_json::Value = serde_json::from_str(&added).expect("JSON");
    let key = |name: &str| added["new_key"][name].as_str().expect("a key").to_owned();
    let (access, secret) = (key("access_key"), key("secret_key"));
    let header = format!(
        "Authorization: Basic {}\r\n",
        BASE64.encode(format!("{access}:{secret}").as_bytes())
    );
    assert_eq!(s3.served.ask("DELETE /v2/first/k", &header, b"").status(), 403);
    let refused = s3.served.ask("GET /v2/first/k?version=x", "", b"");
    assert_eq!(refused.status(), 401);
    s3.done("DELETE /first/k", &[], b"");

    // Lines are written by a thread of its own.
    let begun = std::time::Instant::now();
    let lines = loop {
        let text = fs::read_to_string(&file).expect("it is there");
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.len() >= 6 && text.ends_with('\n') {
            break lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{text}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    let line = |line: &String| -> serde_json::Value { serde_json::from_str(line).expect("JSON") };
    let told: Vec<String> = lines
        .iter()
        .map(line)
        .map(|line| {
            let text = |key: &str| line[key].as_str().unwrap_or("").to_owned();
            assert!(text("source").starts_with("127.0.0.1:") && line["time"].as_u64() > Some(0));
            let status = &line["status"];
            format!(
                "{} {} {} {} {status}",
                text("protocol"),
                text("user"),
                text("operation"),
                text("resource")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "s3 root PutObject arn:aws:s3:::first/k 200",
            "s3 unknown GET /first/k 403",
            "http root slotcast:ManageUsers arn:slotcast:::user/ann 201",
            "http ann s3:DeleteObject arn:aws:s3:::first/k 403",
            "http anonymous s3:GetObjectVersion arn:aws:s3:::first/k 401",
            "s3 root DeleteObject arn:aws:s3:::first/k 204",
        ]
    );
    // The client was told the number of the line.
    assert_eq!(
        line(&lines[0])["request_id"].as_str().expect("text").to_lowercase(),
        put.header("x-amz-request-id")
    );
    assert_eq!(
        line(&lines[4])["request_id"].as_str().expect("text").to_lowercase(),
        refused.header("x-request-id")
    );
    let text = lines.concat();
    for hidden in [&secret[..], SECRET, &BASE64.encode(format!("{ACCESS}:{SECRET}").as_bytes())] {
        assert!(!text.contains(hidden));
    }
    let mode =
        |file: &std::path::Path| fs::metadata(file).expect("it is there").permissions().mode();
    assert_eq!(mode(&file) & 0o777, 0o600);
}

#[test]
fn a_log_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("audit");
    let path = file.to_str().expect("text").to_owned();
    fs::write(&file, "").expect("room");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("it is ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
    let serve = ["serve", "--s3", "off", "--listen", "127.0.0.1:0", "--audit", &path, "--data"];
    let refused = command.args(serve).arg(folder.path().join("data")).output().expect("it runs");
    assert!(said(&refused).contains("others can read it"), "{refused:?}");
}
