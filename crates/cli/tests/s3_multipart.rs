//! Uploads in parts over S3: they survive a kill, are completed once, and are refused as AWS documents it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::fmt::Write;

use served::content;
use signed::{S3, md5};

const MIB: usize = 1 << 20;

fn begin(s3: &S3, key: &str, headers: signed::Headers<'_>) -> String {
    s3.done(&format!("POST /first/{key}?uploads"), headers, b"").text("UploadId")
}

fn put_part(s3: &S3, key: &str, id: &str, number: usize, content: &[u8]) -> String {
    let line = format!("PUT /first/{key}?partNumber={number}&uploadId={id}");
    s3.done(&line, &[], content).header("etag").to_owned()
}

/// What completes an upload of these parts.
fn list(parts: &[(usize, &str)]) -> String {
    let mut text = String::from("<CompleteMultipartUpload>");
    for (number, tag) in parts {
        let part = format!("<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag></Part>");
        text.write_str(&part).expect("room");
    }
    text + "</CompleteMultipartUpload>"
}

fn complete(s3: &S3, key: &str, id: &str, parts: &[(usize, &str)]) -> served::Answer {
    s3.ask(&format!("POST /first/{key}?uploadId={id}"), &[], list(parts).as_bytes())
}

#[test]
fn an_upload_survives_kills_and_is_completed_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let start = || S3::start(&data, &["--targets", "3"]);
    let parts = [content(5 * MIB, 1), content(5 * MIB + 1, 2), content(100, 3)];
    let s3 = start();
    let id = begin(&s3, "big", &[("content-type", "a/b"), ("x-amz-meta-k", "v")]);
    let first = put_part(&s3, "big", &id, 1, &parts[0]);
    assert_eq!(first, format!("\"{}\"", md5(&parts[0])));
    drop(s3);

    let s3 = start();
    put_part(&s3, "big", &id, 7, b"to be replaced");
    let second = put_part(&s3, "big", &id, 2, &parts[1]);
    let third = put_part(&s3, "big", &id, 7, &parts[2]);
    drop(s3);

    let s3 = start();
    let listed = s3.done(&format!("GET /first/big?uploadId={id}"), &[], b"");
    assert_eq!(listed.texts("PartNumber"), ["1", "2", "7"]);
    assert_eq!(listed.texts("Size"), ["5242880", "5242881", "100"]);
    let page = s3.done(&format!("GET /first/big?uploadId={id}&max-parts=2"), &[], b"");
    assert_eq!((page.texts("PartNumber").len(), page.text("IsTruncated")), (2, "true".into()));
    let rest = format!("GET /first/big?uploadId={id}&part-number-marker=2");
    assert_eq!(s3.done(&rest, &[], b"").texts("PartNumber"), ["7"]);
    assert_eq!(s3.done("GET /first?uploads", &[], b"").text("UploadId"), id);
    assert_eq!(s3.refused("GET /first/big", &[], b""), (404, "NoSuchKey".into()));

    let all = [(1, &first[..]), (2, &second), (7, &third)];
    let completed = complete(&s3, "big", &id, &all);
    let tag = completed.text("ETag");
    assert!(tag.ends_with("-3\""), "{completed:?}");
    drop(s3);

    // The answer was lost.
    let s3 = start();
    let again = complete(&s3, "big", &id, &all);
    assert_eq!((again.status(), again.text("ETag")), (200, tag.clone()), "{again:?}");
    let got = s3.done("GET /first/big", &[], b"");
    assert!(got.body == parts.concat());
    assert_eq!((got.header("etag"), got.header("content-type")), (&tag[..], "a/b"));
    assert_eq!(got.header("x-amz-meta-k"), "v");
    let part = s3.done("GET /first/big?partNumber=2", &[], b"");
    assert!(part.status() == 206 && part.body == parts[1]);
    assert_eq!(part.header("x-amz-mp-parts-count"), "3");
    assert_eq!(part.header("content-range"), "bytes 5242880-10485760/10485861");
    let across = s3.done("GET /first/big", &[("range", "bytes=5242878-5242881")], b"");
    assert_eq!(across.body, [&parts[0][5 * MIB - 2..], &parts[1][..2]].concat());
    assert_eq!(s3.done("GET /first?uploads", &[], b"").texts("UploadId"), [""; 0]);
    let gone = s3.refused(&format!("GET /first/big?uploadId={id}"), &[], b"");
    assert_eq!(gone, (404, "NoSuchUpload".into()));
    let attributes = [("x-amz-object-attributes", "ETag,ObjectParts,ObjectSize,Checksum")];
    let attributes = s3.done("GET /first/big?attributes", &attributes, b"");
    assert_eq!(attributes.text("ObjectSize"), "10485861");
    assert_eq!(attributes.texts("Size"), ["5242880", "5242881", "100"]);
    assert!(!attributes.text("ChecksumCRC64NVME").is_empty());
    // A copy has the same parts, and no content moves.
    s3.done("PUT /first/copy", &[("x-amz-copy-source", "first/big")], b"");
    let copy = s3.done("GET /first/copy?partNumber=3", &[], b"");
    assert!(copy.body == parts[2] && copy.header("etag") == tag);
}

#[test]
fn what_is_wrong_with_an_upload_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let id = begin(&s3, "k", &[]);
    let one = put_part(&s3, "k", &id, 1, b"short");
    let two = put_part(&s3, "k", &id, 2, b"short too");
    let code = |parts: &[(usize, &str)]| complete(&s3, "k", &id, parts).code();
    assert_eq!(code(&[(1, &one), (2, &two)]), (400, "EntityTooSmall".into()));
    assert_eq!(code(&[(2, &two), (1, &one)]), (400, "InvalidPartOrder".into()));
    assert_eq!(code(&[(1, &two)]), (400, "InvalidPart".into()));
    assert_eq!(code(&[(3, &one)]), (400, "InvalidPart".into()));
    assert_eq!(code(&[]), (400, "MalformedXML".into()));
    for number in ["0", "10001"] {
        let line = format!("PUT /first/k?partNumber={number}&uploadId={id}");
        assert_eq!(s3.refused(&line, &[], b"x"), (400, "InvalidArgument".into()));
    }
    for other in ["nothing", "1-0000000000000000"] {
        let line = format!("PUT /first/k?partNumber=1&uploadId={other}");
        assert_eq!(s3.refused(&line, &[], b"x"), (404, "NoSuchUpload".into()));
    }
    let line = format!("DELETE /first/k?uploadId={id}");
    assert_eq!(s3.done(&line, &[], b"").status(), 204);
    assert_eq!(s3.refused(&line, &[], b""), (404, "NoSuchUpload".into()));
    assert_eq!(code(&[(1, &one)]), (404, "NoSuchUpload".into()));
    let part = format!("PUT /first/k?partNumber=1&uploadId={id}");
    assert_eq!(s3.refused(&part, &[], b"x"), (404, "NoSuchUpload".into()));
    // A bucket with nothing but uploads is empty.
    begin(&s3, "k", &[]);
    assert_eq!(s3.done("DELETE /first", &[], b"").status(), 204);
}

#[test]
fn conditions_hold_when_an_upload_is_completed() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let id = begin(&s3, "k", &[]);
    let tag = put_part(&s3, "k", &id, 1, b"in parts");
    s3.done("PUT /first/k", &[], b"at once");
    let line = format!("POST /first/k?uploadId={id}");
    let body = list(&[(1, &tag)]);
    let lost = (412, "PreconditionFailed".to_owned());
    assert_eq!(s3.refused(&line, &[("if-none-match", "*")], body.as_bytes()), lost);
    assert_eq!(s3.refused(&line, &[("if-match", "\"x\"")], body.as_bytes()), lost);
    // It goes on: nothing of it is lost.
    let there = s3.done("HEAD /first/k", &[], b"").header("etag").to_owned();
    s3.done(&line, &[("if-match", &there)], body.as_bytes());
    assert_eq!(s3.done("GET /first/k", &[], b"").body, b"in parts");
    // A retry is not refused by its own effect.
    s3.done(&line, &[("if-match", &there)], body.as_bytes());
    s3.done(&line, &[("if-none-match", "*")], body.as_bytes());
}

#[test]
fn parts_are_copied_from_ranges_of_objects() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let source = content(7 * MIB, 5);
    s3.done("PUT /first/source", &[], &source);
    let id = begin(&s3, "k", &[]);
    let copy = |number: usize, range: &str| {
        let line = format!("PUT /first/k?partNumber={number}&uploadId={id}");
        let from = ("x-amz-copy-source", "/first/source");
        s3.ask(&line, &[from, ("x-amz-copy-source-range", range)], b"")
    };
    let one = copy(1, "bytes=1-5242880");
    assert_eq!(one.text("ETag"), format!("\"{}\"", md5(&source[1..=5 * MIB])));
    let two = copy(2, "bytes=0-9").text("ETag");
    assert_eq!(copy(3, "bytes=0-7340032").code(), (400, "InvalidArgument".into()));
    assert_eq!(copy(3, "bytes=5-").code(), (400, "InvalidArgument".into()));
    assert_eq!(complete(&s3, "k", &id, &[(1, &one.text("ETag")), (2, &two)]).status(), 200);
    let got = s3.done("GET /first/k", &[], b"");
    assert!(got.body == [&source[1..=5 * MIB], &source[..10]].concat());
}

#[test]
fn uploads_are_listed_by_key_and_in_the_order_in_which_they_began() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let mut ids = Vec::new();
    for key in ["b", "a/1", "b", "a/2"] {
        ids.push(begin(&s3, key, &[]));
    }
    let order = [&ids[1], &ids[3], &ids[0], &ids[2]];
    let all = s3.done("GET /first?uploads", &[], b"");
    assert_eq!(all.texts("UploadId"), order.map(String::clone));
    let rolled = s3.done("GET /first?uploads&delimiter=/", &[], b"");
    assert_eq!(rolled.texts("UploadId"), [ids[0].clone(), ids[2].clone()]);
    let (mut seen, mut more) = (Vec::new(), String::new());
    loop {
        let page = s3.done(&format!("GET /first?uploads&max-uploads=1{more}"), &[], b"");
        seen.extend(page.texts("UploadId"));
        if page.text("IsTruncated") == "false" {
            break;
        }
        let (key, id) = (page.text("NextKeyMarker"), page.text("NextUploadIdMarker"));
        more = format!("&key-marker={key}&upload-id-marker={id}");
    }
    assert_eq!(seen, order.map(String::clone));
}

#[test]
fn checksums_of_uploads_are_those_of_the_whole_or_of_the_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let parts = [content(5 * MIB, 1), content(9, 2)];
    let whole = parts.concat();
    let put = |name: &str, algorithm: &str| {
        s3.done(
            &format!("PUT /first/{name}"),
            &[("x-amz-sdk-checksum-algorithm", algorithm)],
            &whole,
        )
    };
    for (algorithm, kind, header) in [
        ("CRC32", "FULL_OBJECT", "x-amz-checksum-crc32"),
        ("CRC32C", "FULL_OBJECT", "x-amz-checksum-crc32c"),
        ("CRC64NVME", "FULL_OBJECT", "x-amz-checksum-crc64nvme"),
        ("SHA256", "COMPOSITE", "x-amz-checksum-sha256"),
    ] {
        let headers = [("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)];
        let id = begin(&s3, "k", &headers);
        let tags: Vec<String> =
            (1..).zip(&parts).map(|(n, part)| put_part(&s3, "k", &id, n, part)).collect();
        assert_eq!(complete(&s3, "k", &id, &[(1, &tags[0]), (2, &tags[1])]).status(), 200);
        let got = s3.done("HEAD /first/k", &[("x-amz-checksum-mode", "ENABLED")], b"");
        assert_eq!(got.header("x-amz-checksum-type"), kind.to_lowercase());
        let expected = put("at once", algorithm).header(header).to_owned();
        match kind {
            "FULL_OBJECT" => assert_eq!(got.header(header), expected, "{algorithm}"),
            _ => assert!(got.header(header).ends_with("-2"), "{got:?}"),
        }
    }
    let wrong = [("x-amz-checksum-algorithm", "SHA1"), ("x-amz-checksum-type", "FULL_OBJECT")];
    let refused = s3.refused("POST /first/k?uploads", &wrong, b"");
    assert_eq!(refused, (400, "InvalidRequest".into()));
}
