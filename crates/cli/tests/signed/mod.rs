//! S3 requests, signed by hand (Signature Version 4).
#![allow(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "it has processes and sockets"
)]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use data_encoding::{BASE64, HEXLOWER};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha2::{Digest, Sha256};

use crate::served::{Answer, Served};

pub(crate) const ACCESS: &str = "AKIATEST";
pub(crate) const SECRET: &str = "a-secret-of-the-tests";

/// The hash of nothing.
const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// A node that serves S3, with keys of these tests.
pub(crate) struct S3 {
    pub(crate) served: Served,
    /// Where it serves S3.
    pub(crate) address: String,
}

/// Headers of a request beside those that every one has.
pub(crate) type Headers<'a> = &'a [(&'a str, &'a str)];

pub(crate) fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

pub(crate) fn md5(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Md5::digest(bytes))
}

pub(crate) fn md5_base64(bytes: &[u8]) -> String {
    BASE64.encode(&Md5::digest(bytes))
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// As `20260102T030405Z`, so many seconds from now.
pub(crate) fn date(offset: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let now = now.checked_add_signed(offset).expect("after 1970");
    // Days to a date (H. Hinnant, chrono-compatible low-level date algorithms).
    let days = i64::try_from(now / 86400).expect("soon") + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (now / 3600 % 24, now / 60 % 60, now % 60);
    format!("{year:04}{month:02}{date:02}T{hour:02}{minute:02}{second:02}Z")
}

pub(crate) fn encode(text: &str, keeps_slash: bool) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            b'/' if keeps_slash => encoded.push('/'),
            _ => write!(encoded, "%{byte:02X}").expect("room"),
        }
    }
    encoded
}

/// A query in its canonical form.
fn query_of(pairs: &[(&str, &str)]) -> String {
    let mut pairs: Vec<(String, String)> =
        pairs.iter().map(|(key, value)| (encode(key, false), encode(value, false))).collect();
    pairs.sort();
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join("&")
}

/// Who signs, and when.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    pub(crate) access: String,
    pub(crate) secret: String,
    pub(crate) date: String,
}

impl Signer {
    pub(crate) fn now() -> Signer {
        Signer { access: ACCESS.into(), secret: SECRET.into(), date: date(0) }
    }

    fn scope(&self) -> String {
        format!("{}/us-east-1/s3/aws4_request", &self.date[..8])
    }

    fn key(&self) -> Vec<u8> {
        let mut key = hmac(format!("AWS4{}", self.secret).as_bytes(), &self.date[..8]);
        for part in ["us-east-1", "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        key
    }

    fn sign(&self, canonical: &str) -> String {
        let hash = sha256(canonical.as_bytes());
        let text = format!("AWS4-HMAC-SHA256\n{}\n{}\n{hash}", self.date, self.scope());
        HEXLOWER.encode(&hmac(&self.key(), &text))
    }

    /// What a form calls its credential.
    pub(crate) fn credential(&self) -> String {
        format!("{}/{}", self.access, self.scope())
    }

    /// The signature of a text, as of the policy of a form.
    pub(crate) fn sign_text(&self, text: &str) -> String {
        HEXLOWER.encode(&hmac(&self.key(), text))
    }

    /// The signature of a chunk after one with the signature `before`.
    pub(crate) fn sign_chunk(&self, before: &str, bytes: &[u8]) -> String {
        let text = format!(
            "AWS4-HMAC-SHA256-PAYLOAD\n{}\n{}\n{before}\n{EMPTY}\n{}",
            self.date,
            self.scope(),
            sha256(bytes)
        );
        HEXLOWER.encode(&hmac(&self.key(), &text))
    }

    /// The header of a request, signed; and its signature.
    pub(crate) fn header(
        &self,
        (method, path, query): (&str, &str, &[(&str, &str)]),
        host: &str,
        headers: Headers<'_>,
        hash: &str,
    ) -> (String, String) {
        let mut all: Vec<(String, String)> = headers
            .iter()
            .map(|(name, value)| (name.to_lowercase(), (*value).to_owned()))
            .chain([
                ("host".into(), host.into()),
                ("x-amz-content-sha256".into(), hash.into()),
                ("x-amz-date".into(), self.date.clone()),
            ])
            .collect();
        all.sort();
        let (path, query) = (encode(path, true), query_of(query));
        let lines: String = all.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| &name[..]).collect();
        let names = names.join(";");
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{hash}");
        let signature = self.sign(&canonical);
        let (access, scope) = (&self.access, self.scope());
        let target = if query.is_empty() { path } else { format!("{path}?{query}") };
        let lines: String =
            all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let header = format!(
            "{method} {target} HTTP/1.1\r\nConnection: close\r\n{lines}Authorization: AWS4-HMAC-SHA256 \
             Credential={access}/{scope}, SignedHeaders={names}, Signature={signature}\r\n"
        );
        (header, signature)
    }

    /// The target of a presigned URL.
    pub(crate) fn presigned(
        &self,
        (method, path, host): (&str, &str, &str),
        expires: u64,
    ) -> String {
        let (credential, expires) =
            (format!("{}/{}", self.access, self.scope()), expires.to_string());
        let query = query_of(&[
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &self.date),
            ("X-Amz-Expires", &expires),
            ("X-Amz-SignedHeaders", "host"),
        ]);
        let path = encode(path, true);
        let canonical = format!("{method}\n{path}\n{query}\nhost:{host}\n\nhost\nUNSIGNED-PAYLOAD");
        format!("{path}?{query}&X-Amz-Signature={}", self.sign(&canonical))
    }
}

impl S3 {
    /// A new store of three targets, and the folder that it is in.
    pub(crate) fn fresh() -> (tempfile::TempDir, S3) {
        let folder = tempfile::tempdir().expect("a folder");
        let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
        (folder, s3)
    }

    pub(crate) fn start(data: &Path, more: &[&str]) -> S3 {
        let all = [&["--s3", "127.0.0.1:0"], more].concat();
        let variables = [
            ("SLOTCAST_ACCESS_KEY", ACCESS),
            ("SLOTCAST_SECRET_KEY", SECRET),
            ("SLOTCAST_BUCKET", "first"),
        ];
        let served = Served::start_with(data, &all, &variables);
        let line = served.told.lines().find_map(|line| line.strip_prefix("S3 at http://"));
        let line = line.unwrap_or_else(|| panic!("no S3: {}", served.told));
        let address = line.split(',').next().expect("an address").to_owned();
        S3 { served, address }
    }

    /// The answer to these bytes.
    pub(crate) fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = std::net::TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(crate::served::PATIENCE)).expect("a time");
        // What refuses need not read all of it.
        let _ = stream.write_all(bytes);
        Answer::read(&mut stream)
    }

    /// The answer to a request that is signed with its content. The path is as people write it, and so is the query.
    pub(crate) fn ask(&self, line: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
        self.ask_as(&Signer::now(), line, headers, body)
    }

    pub(crate) fn ask_as(
        &self,
        signer: &Signer,
        line: &str,
        headers: Headers<'_>,
        body: &[u8],
    ) -> Answer {
        let (method, target) = line.split_once(' ').expect("a method and a path");
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs: Vec<(&str, &str)> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .collect();
        let what = (method, path, &pairs[..]);
        let (header, _) = signer.header(what, &self.address, headers, &sha256(body));
        let head = format!("{header}Content-Length: {}\r\n\r\n", body.len());
        self.send(&[head.as_bytes(), body].concat())
    }

    /// The same, of which it is expected that it succeeds.
    pub(crate) fn done(&self, line: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
        let answer = self.ask(line, headers, body);
        assert!((200..300).contains(&answer.status()), "{line}: {answer:?}");
        answer
    }

    /// The status and the code of an error.
    pub(crate) fn refused(&self, line: &str, headers: Headers<'_>, body: &[u8]) -> (u16, String) {
        self.ask(line, headers, body).code()
    }
}

impl Answer {
    /// The value of a header, in lower case; an empty text if there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let line = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or("").trim()
    }

    /// The texts of all elements of this name.
    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        let text = str::from_utf8(&self.body).expect("text");
        let document = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        let elements = document.descendants().filter(|node| node.has_tag_name(name));
        elements.map(|node| node.text().unwrap_or("").to_owned()).collect()
    }

    /// The text of the only element of this name; an empty one if there is none.
    pub(crate) fn text(&self, name: &str) -> String {
        let texts = self.texts(name);
        assert!(texts.len() <= 1, "{name}: {texts:?}");
        texts.into_iter().next().unwrap_or_default()
    }

    /// The status and the code of an error.
    pub(crate) fn code(&self) -> (u16, String) {
        let is_error = self.status() >= 300 && !self.body.is_empty();
        (self.status(), if is_error { self.text("Code") } else { String::new() })
    }
}
