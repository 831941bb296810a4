//! Object lock over S3 and natively: what is locked stays until its time, whoever asks for what.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use signed::S3;

const BYPASS: (&str, &str) = ("x-amz-bypass-governance-retention", "true");

fn start() -> (tempfile::TempDir, S3) {
    let (folder, s3) = S3::fresh();
    s3.done("PUT /locked", &[("x-amz-bucket-object-lock-enabled", "true")], b"");
    (folder, s3)
}

fn default(mode: &str, period: &str) -> String {
    format!(
        "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention>\
         <Mode>{mode}</Mode>{period}</DefaultRetention></Rule></ObjectLockConfiguration>"
    )
}

fn retention(mode: &str, until: &str) -> String {
    format!("<Retention><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>")
}

#[test]
fn a_bucket_says_how_long_new_versions_are_kept() {
    let (_folder, s3) = start();
    let versioning = s3.done("GET /locked?versioning", &[], b"");
    assert_eq!(versioning.text("Status"), "Enabled");
    let line = "PUT /locked?object-lock";
    s3.done(line, &[], default("GOVERNANCE", "<Days>1</Days>").as_bytes());
    let said = s3.done("GET /locked?object-lock", &[], b"");
    assert_eq!([said.text("Mode"), said.text("Days")], ["GOVERNANCE", "1"]);
    for (mode, period, code) in [
        ("GOVERNANCE", "<Days>0</Days>", "InvalidRetentionPeriod"),
        ("GOVERNANCE", "<Years>-1</Years>", "InvalidRetentionPeriod"),
        ("STRICT", "<Days>1</Days>", "MalformedXML"),
        ("GOVERNANCE", "<Days>1</Days><Years>1</Years>", "MalformedXML"),
    ] {
        let told = s3.refused(line, &[], default(mode, period).as_bytes());
        assert_eq!(told, (400, code.into()), "{mode} {period}");
    }
    let suspend = b"<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";
    let told = s3.refused("PUT /locked?versioning", &[], suspend);
    assert_eq!(told, (409, "InvalidBucketState".into()));

    // It counts for what is put natively, too.
    let file = tempfile::NamedTempFile::new().expect("room");
    s3.served.says(&["cp", file.path().to_str().expect("text"), "slot://locked/native"]);
    let head = s3.done("HEAD /locked/native", &[], b"");
    assert_eq!(head.header("x-amz-object-lock-mode"), "governance");

    assert_eq!(
        s3.refused("GET /first?object-lock", &[], b""),
        (404, "ObjectLockConfigurationNotFoundError".into())
    );
    let told = s3.refused(
        "PUT /first?object-lock",
        &[],
        default("GOVERNANCE", "<Days>1</Days>").as_bytes(),
    );
    assert_eq!(told, (409, "InvalidBucketState".into()));
}

#[test]
fn a_version_stays_until_its_time_and_governance_can_be_bypassed() {
    let (_folder, s3) = start();
    let lock = [
        ("x-amz-object-lock-mode", "GOVERNANCE"),
        ("x-amz-object-lock-retain-until-date", "2093-01-01T00:00:00Z"),
    ];
    let version = s3.done("PUT /locked/a", &lock, b"x").header("x-amz-version-id").to_owned();
    let line = format!("DELETE /locked/a?versionId={version}");
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(s3.refused(&line, &[], b""), denied);
    // A marker hides it, and takes nothing away; a native deletion of the version does not either.
    s3.done("DELETE /locked/a", &[], b"");
    let native = s3.served.run(&["rm", "slot://locked/a", "--version", &version]);
    assert!(
        !native.status.success() && String::from_utf8_lossy(&native.stderr).contains("locked"),
        "{native:?}"
    );
    let many =
        format!("<Delete><Object><Key>a</Key><VersionId>{version}</VersionId></Object></Delete>");
    let told = s3.done("POST /locked?delete", &[], many.as_bytes());
    assert_eq!(told.text("Code"), "AccessDenied");
    let get = format!("GET /locked/a?versionId={version}");
    assert_eq!(s3.done(&get, &[], b"").body, b"x");

    let set = format!("PUT /locked/a?retention&versionId={version}");
    let shorter = retention("GOVERNANCE", "2092-01-01T00:00:00Z");
    assert_eq!(s3.refused(&set, &[], shorter.as_bytes()), denied);
    s3.done(&set, &[BYPASS], shorter.as_bytes());
    let said = s3.done(&format!("GET /locked/a?retention&versionId={version}"), &[], b"");
    assert!(said.text("RetainUntilDate").starts_with("2092-01-01T00:00:00"), "{said:?}");
    s3.done(&line, &[BYPASS], b"");
    assert_eq!(s3.refused(&get, &[], b""), (404, "NoSuchVersion".into()));
}

#[test]
fn compliance_and_a_hold_bind_everybody() {
    let (_folder, s3) = start();
    let version = s3.done("PUT /locked/c", &[], b"x").header("x-amz-version-id").to_owned();
    let (delete, at) =
        (format!("DELETE /locked/c?versionId={version}"), format!("versionId={version}"));
    let hold = |status: &str| format!("<LegalHold><Status>{status}</Status></LegalHold>");
    let line = format!("PUT /locked/c?legal-hold&{at}");
    s3.done(&line, &[], hold("ON").as_bytes());
    let said = s3.done(&format!("GET /locked/c?legal-hold&{at}"), &[], b"");
    assert_eq!(said.text("Status"), "ON");
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(s3.refused(&delete, &[BYPASS], b""), denied);
    assert_eq!(s3.refused(&line, &[], hold("on").as_bytes()), (400, "MalformedXML".into()));
    s3.done(&line, &[], hold("OFF").as_bytes());

    let line = format!("PUT /locked/c?retention&{at}");
    s3.done(&line, &[], retention("COMPLIANCE", "2091-01-01T00:00:00Z").as_bytes());
    s3.done(&line, &[], retention("COMPLIANCE", "2092-01-01T00:00:00Z").as_bytes());
    for weaker in [
        retention("COMPLIANCE", "2091-01-01T00:00:00Z"),
        retention("GOVERNANCE", "2093-01-01T00:00:00Z"),
        "<Retention/>".to_owned(),
    ] {
        assert_eq!(s3.refused(&line, &[BYPASS], weaker.as_bytes()), denied, "{weaker}");
    }
    assert_eq!(s3.refused(&delete, &[BYPASS], b""), denied);
    // Another thing that is said of it is changed all the same.
    let tags = b"<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    s3.done(&format!("PUT /locked/c?tagging&{at}"), &[], tags);
    let copied = s3.done("PUT /locked/copy", &[("x-amz-copy-source", "/locked/c")], b"");
    let copy = copied.header("x-amz-version-id").to_owned();
    s3.done(&format!("DELETE /locked/copy?versionId={copy}"), &[], b"");
}

#[test]
fn a_bucket_without_object_lock_locks_nothing() {
    let (_folder, s3) = start();
    s3.done("PUT /first/a", &[], b"x");
    let no_lock = (400, "InvalidRequest".to_owned());
    let until = retention("GOVERNANCE", "2091-01-01T00:00:00Z");
    assert_eq!(s3.refused("PUT /first/a?retention", &[], until.as_bytes()), no_lock);
    for line in ["GET /first/a?retention", "GET /first/a?legal-hold"] {
        assert_eq!(s3.refused(line, &[], b""), no_lock, "{line}");
    }
    let hold = [("x-amz-object-lock-legal-hold", "ON")];
    assert_eq!(s3.refused("PUT /first/b", &hold, b"x"), no_lock);
    assert_eq!(s3.refused("POST /first/b?uploads", &hold, b""), no_lock);
}
