//! The web page over HTTP, without a browser: what is served, and whom it is kept from.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and sockets"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;

use std::io::Write;

use served::{Answer, Served};

fn start(folder: &tempfile::TempDir) -> Served {
    Served::start(&folder.path().join("data"), &["--targets", "5", "--replicas", "2"])
}

/// The answer to a request with these headers alone.
fn ask(served: &Served, line: &str, headers: &[(&str, &str)]) -> Answer {
    let mut stream = served.connect();
    let lines: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!("{line} HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is read");
    Answer::read(&mut stream)
}

#[test]
fn the_page_is_served_compressed_and_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    let plain = served.ask("GET /", "", b"");
    assert_eq!(plain.status(), 200, "{plain:?}");
    assert!(plain.head.contains("content-type: text/html"), "{}", plain.head);
    assert!(plain.head.contains("content-security-policy: default-src 'none'; script-src 'self'"));
    assert!(plain.head.contains("x-content-type-options: nosniff"), "{}", plain.head);
    let header = |answer: &Answer, name: &str| {
        let line = answer.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.unwrap_or_else(|| panic!("no {name}: {}", answer.head)).to_owned()
    };
    let tag = header(&plain, "etag");
    let known = served.ask("GET /", &format!("If-None-Match: {tag}\r\n"), b"");
    assert_eq!((known.status(), known.body.len()), (304, 0));

    let script = served.ask("GET /page/main.js", "", b"");
    let small = served.ask("GET /page/main.js", "Accept-Encoding: gzip, br\r\n", b"");
    assert_eq!(header(&small, "content-encoding"), "gzip");
    assert!(small.body.len() < script.body.len() / 2 && small.body.starts_with(&[0x1f, 0x8b]));
    assert_eq!(served.ask("GET /page/none.js", "", b"").status(), 404);
}

#[test]
fn pages_of_other_sites_change_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    // Right after the start a list may be refused; from the first bucket on names are kept.
    served.says(&["mb", "slot://there"]);
    let here = ("Host", served.node.as_str());
    let foreign: [&[(&str, &str)]; 4] = [
        &[here, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")],
        &[here, ("Origin", "http://evil.example")],
        &[here, ("Origin", "null")],
        // DNS rebinding: for the browser it is the same site.
        &[
            ("Host", "evil.example:7480"),
            ("Origin", "http://evil.example:7480"),
            ("Accept-Language", "en"),
        ],
    ];
    for headers in foreign {
        for line in ["PUT /v2/planted", "POST /v1/collection", "DELETE /v2/planted", "GET /v2/"] {
            let answer = ask(&served, line, headers);
            assert_eq!(answer.status(), 403, "{line} {headers:?}: {answer:?}");
        }
    }
    let told = ask(&served, "GET /v2/", foreign[3]).error();
    assert!(told.contains("evil.example") && told.contains("--host-name"), "{told}");
    let buckets = served.ask("GET /v2/", "", b"").json();
    assert_eq!(buckets["buckets"].as_array().map(Vec::len), Some(1), "{buckets}");
    assert_eq!(buckets["buckets"][0]["bucket"], "there");

    // A link leads here, the page itself may do all, and so may programs.
    let link = [
        here,
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Mode", "navigate"),
        ("Sec-Fetch-Dest", "document"),
    ];
    assert_eq!(ask(&served, "GET /", &link).status(), 200);
    let origin = format!("http://{}", served.node);
    let own = [
        here,
        ("Sec-Fetch-Site", "same-origin"),
        ("Origin", origin.as_str()),
        ("Accept-Language", "en"),
    ];
    assert_eq!(ask(&served, "PUT /v2/mine", &own).status(), 201);
    assert_eq!(ask(&served, "PUT /v2/yours", &[("Host", "store.example")]).status(), 201);
}

#[test]
fn a_name_that_the_operator_gives_is_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let more = ["--targets", "3", "--replicas", "2", "--host-name", "store.example"];
    let served = Served::start(&folder.path().join("data"), &more);
    let by = |host| ask(&served, "GET /", &[("Host", host), ("Accept-Language", "en")]).status();
    assert_eq!((by("store.example:7480"), by("other.example")), (200, 403));
}

/// Content of users is no part of the page: a browser runs nothing of it.
#[test]
fn content_that_is_opened_has_no_scripts() {
    let folder = tempfile::tempdir().expect("a folder");
    let served = start(&folder);
    served.says(&["mb", "slot://b"]);
    let html = b"<script>fetch('/v2/b', { method: 'DELETE' })</script>";
    assert_eq!(served.ask("PUT /v2/b/x.html", "Content-Type: text/html\r\n", html).status(), 200);
    let answer = served.ask("GET /v2/b/x.html", "", b"");
    assert_eq!(answer.body, html);
    assert!(answer.head.contains("content-security-policy: sandbox;"), "{}", answer.head);
    assert!(answer.head.contains("x-content-type-options: nosniff"), "{}", answer.head);
}
