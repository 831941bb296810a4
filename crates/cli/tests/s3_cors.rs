//! Pages of other sites at S3: rules of buckets, questions of browsers, what is said with answers.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use served::Answer;
use signed::S3;

fn preflight(s3: &S3, path: &str, headers: &str) -> Answer {
    let address = &s3.address;
    let text =
        format!("OPTIONS {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n");
    s3.send(text.as_bytes())
}

#[test]
fn browsers_are_told_what_the_rules_of_a_bucket_allow() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let none = (404, "NoSuchCORSConfiguration".to_owned());
    assert_eq!(s3.refused("GET /first?cors", &[], b""), none);
    let asked = "Origin: https://a.example.org\r\nAccess-Control-Request-Method: PUT\r\n";
    assert_eq!(preflight(&s3, "/first/a", asked).code(), (403, "AccessDenied".into()));
    let rules = "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod><AllowedMethod>PUT</AllowedMethod>\
        <AllowedOrigin>https://*.example.org</AllowedOrigin><AllowedHeader>x-amz-*</AllowedHeader>\
        <ExposeHeader>ETag</ExposeHeader><MaxAgeSeconds>60</MaxAgeSeconds></CORSRule></CORSConfiguration>";
    s3.done("PUT /first?cors", &[], rules.as_bytes());
    assert_eq!(s3.done("GET /first?cors", &[], b"").texts("AllowedMethod"), ["GET", "PUT"]);

    let wanted = format!("{asked}Access-Control-Request-Headers: X-Amz-Date, x-amz-meta-a\r\n");
    let told = preflight(&s3, "/first/a", &wanted);
    assert_eq!(told.status(), 200);
    assert_eq!(told.header("access-control-allow-origin"), "https://a.example.org");
    assert_eq!(told.header("access-control-allow-methods"), "get, put");
    assert_eq!(told.header("access-control-allow-headers"), "x-amz-date, x-amz-meta-a");
    assert_eq!(told.header("access-control-max-age"), "60");
    let other = format!("{asked}Access-Control-Request-Headers: authorization\r\n");
    assert_eq!(preflight(&s3, "/first/a", &other).status(), 403);
    let other = asked.replace("example.org", "example.com");
    assert_eq!(preflight(&s3, "/first/a", &other).status(), 403);
    assert_eq!(preflight(&s3, "/first/a", "Origin: https://a.example.org\r\n").status(), 400);

    // With answers, those that refuse among them.
    let origin = [("origin", "https://b.example.org")];
    let put = s3.done("PUT /first/a", &origin, b"x");
    assert_eq!(put.header("access-control-expose-headers"), "etag");
    let missing = s3.ask("GET /first/none", &origin, b"");
    assert_eq!(missing.status(), 404);
    assert_eq!(missing.header("access-control-allow-origin"), "https://b.example.org");
    let deleted = s3.done("DELETE /first/a", &origin, b"");
    assert_eq!(deleted.header("access-control-allow-origin"), "");

    s3.done("DELETE /first?cors", &[], b"");
    assert_eq!(s3.refused("GET /first?cors", &[], b""), none);
    let wrong = rules.replace("GET", "PATCH");
    let told = s3.refused("PUT /first?cors", &[], wrong.as_bytes());
    assert_eq!(told, (400, "InvalidRequest".into()));
}
