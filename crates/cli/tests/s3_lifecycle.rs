//! Lifecycle over S3: rules are kept, and carried out by the node.
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
use std::time::{Duration, Instant};

use served::PATIENCE;
use signed::S3;

fn rule(id: &str, filter: &str, action: &str) -> String {
    format!("<Rule><ID>{id}</ID><Filter>{filter}</Filter><Status>Enabled</Status>{action}</Rule>")
}

fn rules(rules: &[String]) -> String {
    format!("<LifecycleConfiguration>{}</LifecycleConfiguration>", rules.concat())
}

/// Waits for something, no longer than a busy machine takes.
fn until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() {
        assert!(began.elapsed() < PATIENCE, "it does not become so");
        thread::sleep(Duration::from_millis(200));
    }
}

const DAYS: &str = "<Expiration><Days>1</Days></Expiration>";

#[test]
fn what_is_due_goes_and_all_else_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["--targets", "3", "--lifecycle-day", "2s"];
    let s3 = S3::start(&folder.path().join("data"), &more);
    let none = (404, "NoSuchLifecycleConfiguration".to_owned());
    assert_eq!(s3.refused("GET /first?lifecycle", &[], b""), none);
    s3.done("PUT /first/logs/a", &[], b"x");
    s3.done("PUT /first/logs/kept", &[("x-amz-tagging", "keep=yes")], b"0123456789");
    s3.done("PUT /first/old", &[], b"x");
    s3.done("PUT /first/other", &[], b"x");
    s3.done("POST /first/never?uploads", &[], b"");
    let text = rules(&[
        rule(
            "small",
            "<And><Prefix>logs/</Prefix><ObjectSizeLessThan>10</ObjectSizeLessThan></And>",
            DAYS,
        ),
        rule(
            "old",
            "<Prefix>old</Prefix>",
            "<Expiration><Date>2020-01-01T00:00:00Z</Date></Expiration>",
        ),
        rule(
            "parts",
            "",
            "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>",
        ),
    ]);
    s3.done("PUT /first?lifecycle", &[], text.as_bytes());
    assert_eq!(s3.done("GET /first?lifecycle", &[], b"").texts("ID"), ["small", "old", "parts"]);
    let told = s3.done("PUT /first/logs/b", &[], b"x");
    assert!(told.header("x-amz-expiration").ends_with("rule-id=\"small\""), "{told:?}");
    assert_eq!(s3.done("HEAD /first/logs/kept", &[], b"").header("x-amz-expiration"), "");
    until(|| s3.done("GET /first", &[], b"").texts("Key") == ["logs/kept", "other"]);
    until(|| s3.done("GET /first?uploads", &[], b"").texts("UploadId").is_empty());
    assert_eq!(s3.done("DELETE /first?lifecycle", &[], b"").status(), 204);
    assert_eq!(s3.refused("GET /first?lifecycle", &[], b""), none);
    assert_eq!(s3.done("GET /first", &[], b"").texts("Key"), ["logs/kept", "other"]);
}

#[test]
fn earlier_versions_go_markers_follow_and_what_is_locked_stays() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["--targets", "3", "--lifecycle-day", "2s"];
    let s3 = S3::start(&folder.path().join("data"), &more);
    s3.done("PUT /locked", &[("x-amz-bucket-object-lock-enabled", "true")], b"");
    let versions = || {
        let all = s3.done("GET /locked?versions", &[], b"");
        let mut keys = all.texts("Key");
        keys.sort();
        keys
    };
    for n in 0..3 {
        s3.done("PUT /locked/a", &[], format!("{n}").as_bytes());
    }
    s3.done("PUT /locked/held", &[("x-amz-object-lock-legal-hold", "ON")], b"x");
    s3.done("DELETE /locked/held", &[], b"");
    s3.done("PUT /locked/gone", &[], b"x");
    s3.done("DELETE /locked/gone", &[], b"");
    assert_eq!(versions(), ["a", "a", "a", "gone", "gone", "held", "held"]);
    let noncurrent = "<NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>";
    let markers =
        "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>";
    let text = rules(&[rule("earlier", "", &format!("{markers}{noncurrent}"))]);
    s3.done("PUT /locked?lifecycle", &[], text.as_bytes());
    until(|| versions() == ["a", "held", "held"]);
    // Buckets are looked at in order: when this one is empty, the other was looked at as it is now.
    s3.done("PUT /next", &[], b"");
    s3.done("PUT /next/b", &[], b"x");
    s3.done("PUT /next?lifecycle", &[], rules(&[rule("all", "", DAYS)]).as_bytes());
    until(|| s3.done("GET /next", &[], b"").texts("Key").is_empty());
    assert_eq!(versions(), ["a", "held", "held"]);
    assert_eq!(s3.refused("GET /locked/held", &[], b"").1, "NoSuchKey");
    assert_eq!(s3.done("GET /locked/a", &[], b"").body, b"2");
}

#[test]
fn rules_that_cannot_be_followed_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let transition = "<Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>";
    let tag = "<Tag><Key>a</Key><Value>b</Value></Tag>";
    let markers =
        "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>";
    for (all, code) in [
        (vec![rule("a", "", "<Expiration><Days>0</Days></Expiration>")], "InvalidArgument"),
        (vec![rule(&"a".repeat(256), "", DAYS)], "InvalidArgument"),
        (vec![rule("a", "", DAYS), rule("a", "<Prefix>b</Prefix>", DAYS)], "InvalidArgument"),
        (vec![rule("a", "", DAYS).replace("Enabled", "enabled")], "MalformedXML"),
        (vec![rule("a", "", "")], "InvalidRequest"),
        (vec![rule("a", tag, markers)], "InvalidRequest"),
        (vec![rule("a", "", transition)], "NotImplemented"),
    ] {
        let told = s3.refused("PUT /first?lifecycle", &[], rules(&all).as_bytes());
        assert_eq!(told.1, code, "{all:?}");
    }
}
