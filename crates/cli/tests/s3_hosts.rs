//! Buckets in the name of the host.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use signed::{S3, Signer, sha256};

#[test]
fn a_bucket_is_in_the_host_or_in_the_path() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["--targets", "3", "--s3-domain", "s3.example.org"];
    let s3 = S3::start(&folder.path().join("data"), &more);
    let ask = |method: &str, path: &str, host: &str, content: &[u8]| {
        let what = (method, path, &[][..]);
        let (header, _) = Signer::now().header(what, host, &[], &sha256(content));
        let head = format!("{header}Content-Length: {}\r\n\r\n", content.len());
        s3.send(&[head.as_bytes(), content].concat())
    };
    let host = "first.s3.example.org:9000";
    assert_eq!(ask("PUT", "/a/b c", host, b"x").status(), 200);
    assert_eq!(ask("GET", "/a/b c", host, b"").body, b"x");
    assert_eq!(ask("GET", "/", host, b"").texts("Key"), ["a/b c"]);
    assert_eq!(ask("GET", "/", "s3.example.org", b"").texts("Name"), ["first"]);
    assert_eq!(ask("GET", "/first/a/b c", "S3.example.org", b"").body, b"x");
    assert_eq!(ask("GET", "/first/a/b c", "other.org", b"").body, b"x");
    assert_eq!(s3.done("GET /first/a/b c", &[], b"").body, b"x");
    assert_eq!(
        ask("GET", "/a/b c", "none.s3.example.org", b"").code(),
        (404, "NoSuchBucket".into())
    );
}
