//! Forms of browsers over S3 (PostObject): what a signed policy allows is stored, and nothing else.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use data_encoding::BASE64;
use served::{Answer, content};
use signed::{S3, Signer};

/// Where a form goes and what it says, before it is signed.
struct Page<'a> {
    s3: &'a S3,
    signer: Signer,
    conditions: &'a str,
    fields: &'a [(&'a str, &'a str)],
    file: &'a [u8],
}

const CONDITIONS: &str =
    r#"{"bucket": "first"}, ["starts-with", "$key", "up/"], ["content-length-range", 1, 4000000]"#;

impl<'a> Page<'a> {
    fn new(s3: &'a S3) -> Page<'a> {
        let fields = &[("key", "up/${filename}")];
        Page { s3, signer: Signer::now(), conditions: CONDITIONS, fields, file: b"hello" }
    }

    /// The answer to it.
    fn send(&self) -> Answer {
        self.send_signed(|signature| signature)
    }

    /// The same with another signature.
    fn send_signed(&self, change: impl FnOnce(String) -> String) -> Answer {
        let (credential, date) = (self.signer.credential(), self.signer.date.clone());
        let policy = format!(
            r#"{{"expiration": "2093-01-01T00:00:00Z", "conditions": [{}, {{"x-amz-algorithm": "AWS4-HMAC-SHA256"}},
            {{"x-amz-credential": "{credential}"}}, {{"x-amz-date": "{date}"}}]}}"#,
            self.conditions
        );
        let policy = BASE64.encode(policy.as_bytes());
        let signature = change(self.signer.sign_text(&policy));
        let signed = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &date),
            ("policy", &policy),
            ("x-amz-signature", &signature),
        ];
        self.send_fields(&[self.fields, &signed].concat())
    }

    fn send_fields(&self, fields: &[(&str, &str)]) -> Answer {
        let mut body = Vec::new();
        for (name, value) in fields {
            let head = format!(
                "--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            );
            body.extend_from_slice(head.as_bytes());
        }
        body.extend_from_slice(
            b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
              Content-Type: text/plain\r\n\r\n",
        );
        body.extend_from_slice(self.file);
        body.extend_from_slice(b"\r\n--xyz--\r\n");
        self.send_body(b"Content-Type: multipart/form-data; boundary=xyz\r\n", &body)
    }

    fn send_body(&self, content_type: &[u8], body: &[u8]) -> Answer {
        let (address, length) = (&self.s3.address, body.len());
        let head = format!(
            "POST /first HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n"
        );
        self.s3.send(&[head.as_bytes(), content_type, b"\r\n", body].concat())
    }
}

#[test]
fn a_form_stores_what_its_policy_allows() {
    let (_folder, s3) = S3::fresh();
    let told = Page::new(&s3).send();
    assert_eq!(told.status(), 204, "{told:?}");
    let got = s3.done("GET /first/up/a.txt", &[], b"");
    assert_eq!((&got.body[..], got.header("content-type")), (&b"hello"[..], "text/plain"));

    // Longer than is kept back, and with all that can be said of it.
    let long = content(3_000_000, 5);
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    let fields = [
        ("key", "up/long"),
        ("x-amz-meta-who", "me"),
        ("tagging", tags),
        ("x-ignore-this", "…"),
        ("success_action_status", "201"),
    ];
    let conditions = format!(
        r#"{CONDITIONS}, {{"X-Amz-Meta-Who": "me"}}, ["starts-with", "$tagging", ""], {{"success_action_status": "201"}}"#
    );
    let told =
        Page { file: &long, fields: &fields, conditions: &conditions, ..Page::new(&s3) }.send();
    assert_eq!((told.status(), told.text("Key")), (201, "up/long".into()), "{told:?}");
    let got = s3.done("GET /first/up/long", &[], b"");
    assert!(got.body == long && got.header("x-amz-meta-who") == "me");
    assert_eq!(got.header("x-amz-tagging-count"), "1");

    let to = "https://example.org/done";
    let fields = [("key", "up/b"), ("success_action_redirect", to)];
    let conditions = format!(r#"{CONDITIONS}, ["eq", "$success_action_redirect", "{to}"]"#);
    let told = Page { fields: &fields, conditions: &conditions, ..Page::new(&s3) }.send();
    assert_eq!(told.status(), 303);
    assert!(
        told.header("location").starts_with(&format!("{to}?bucket=first&key=up%2fb&etag=%22")),
        "{told:?}"
    );
}

#[test]
fn what_the_policy_does_not_allow_is_not_stored() {
    let (_folder, s3) = S3::fresh();
    let page = || Page::new(&s3);
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(Page { fields: &[("key", "other")], ..page() }.send().code(), denied);
    let more = [("key", "up/a"), ("x-amz-meta-a", "b")];
    assert_eq!(Page { fields: &more, ..page() }.send().code(), denied);
    let elsewhere = r#"{"bucket": "second"}, ["starts-with", "$key", ""]"#;
    assert_eq!(Page { conditions: elsewhere, ..page() }.send().code(), denied);
    assert_eq!(Page { file: b"", ..page() }.send().code(), (400, "EntityTooSmall".into()));
    let long = content(4_000_001, 7);
    assert_eq!(Page { file: &long, ..page() }.send().code(), (400, "EntityTooLarge".into()));
    let odd = r#"{"bucket": "first"}, ["StArTs-WiTh", "$key", ""]"#;
    let told = Page { conditions: odd, ..page() }.send();
    assert_eq!(told.code(), (400, "InvalidPolicyDocument".into()));

    let wrong = page().send_signed(|signature| signature.replace(['0', '1'], "2"));
    assert_eq!(wrong.code(), (403, "SignatureDoesNotMatch".into()));
    let other = Signer { access: "NOBODY".into(), ..Signer::now() };
    let told = Page { signer: other, ..page() }.send();
    assert_eq!(told.code(), (403, "InvalidAccessKeyId".into()));
    // Nobody has signed it: a policy of the bucket would have to allow it.
    assert_eq!(page().send_fields(&[("key", "up/a")]).code(), denied);
    let no_key = page().send_fields(&[("acl", "private")]);
    assert_eq!(no_key.code(), (400, "InvalidArgument".into()));
    assert_eq!(s3.done("GET /first", &[], b"").texts("Key"), Vec::<String>::new());

    let policy = r#"{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:PutObject",
        "Resource": "arn:aws:s3:::first/up/*"}}"#;
    s3.done("PUT /first?policy", &[], policy.as_bytes());
    assert_eq!(page().send_fields(&[("key", "up/a")]).status(), 204);
    assert_eq!(page().send_fields(&[("key", "other")]).code(), denied);
}

#[test]
fn a_form_is_asked_for_its_signature_whatever_its_content_type_looks_like() {
    let (_folder, s3) = S3::fresh();
    let body = b"--xyz\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\na\r\n\
        --xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx\r\n--xyz--\r\n";
    let odd = "Content-Type: multipart/form-data; boundary=xyz; a=\"\u{e9}\"\r\n";
    let two: &[u8] = b"Content-Type: \xff\r\nContent-Type: multipart/form-data; boundary=xyz\r\n";
    for content_type in [odd.as_bytes(), two] {
        let told = Page::new(&s3).send_body(content_type, body);
        assert_eq!(told.code(), (403, "AccessDenied".into()), "{told:?}");
    }
    assert_eq!(s3.done("GET /first", &[], b"").texts("Key"), Vec::<String>::new());
}

#[test]
fn a_field_is_there_once_and_metadata_can_be_given_back() {
    let (_folder, s3) = S3::fresh();
    let conditions = format!(r#"{CONDITIONS}, {{"Content-Type": "image/png"}}"#);
    let fields = [("key", "up/a"), ("Content-Type", "image/png"), ("Content-Type", "text/html")];
    let told = Page { conditions: &conditions, fields: &fields, ..Page::new(&s3) }.send();
    assert_eq!(told.code(), (400, "InvalidArgument".into()));
    for name in ["x-amz-meta-a b", "x-amz-meta-\u{e9}", "x-amz-meta-:content-disposition"] {
        let conditions = format!(r#"{CONDITIONS}, ["starts-with", "${name}", ""]"#);
        let fields = [("key", "up/a"), (name, "x")];
        let told = Page { conditions: &conditions, fields: &fields, ..Page::new(&s3) }.send();
        assert_eq!(told.code(), (400, "InvalidArgument".into()), "{name}");
    }
    assert_eq!(s3.done("GET /first", &[], b"").texts("Key"), Vec::<String>::new());
}
