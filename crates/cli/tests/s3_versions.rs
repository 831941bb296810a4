//! Versions and tags over S3.
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

const ENABLED: &[u8] =
    b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
const SUSPENDED: &[u8] =
    b"<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>";

#[test]
fn versions_are_kept_listed_and_deleted() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let status = || s3.done("GET /first?versioning", &[], b"").text("Status");
    assert_eq!(status(), "");
    assert_eq!(s3.done("PUT /first/k", &[], b"null").header("x-amz-version-id"), "");
    s3.done("PUT /first?versioning", &[], ENABLED);
    assert_eq!(status(), "Enabled");
    let put = |content: &str| {
        s3.done("PUT /first/k", &[], content.as_bytes()).header("x-amz-version-id").to_owned()
    };
    let (one, two) = (put("one"), put("two"));
    assert!(!one.is_empty() && one != two);
    let get = |version: &str| s3.ask(&format!("GET /first/k?versionId={version}"), &[], b"");
    assert_eq!((get(&one).body, get("null").body), (b"one".to_vec(), b"null".to_vec()));
    let deleted = s3.done("DELETE /first/k", &[], b"");
    assert_eq!(deleted.header("x-amz-delete-marker"), "true");
    let marker = deleted.header("x-amz-version-id").to_owned();
    let gone = s3.ask("GET /first/k", &[], b"");
    assert_eq!((gone.status(), gone.header("x-amz-delete-marker")), (404, "true"));
    assert_eq!(get(&marker).code(), (405, "MethodNotAllowed".into()));
    assert_eq!(get("9-0000000000000000").code(), (404, "NoSuchVersion".into()));
    assert_eq!(get("x").code(), (400, "InvalidArgument".into()));

    let listed = s3.done("GET /first?versions", &[], b"");
    // The marker was made when it was, and not in 1970.
    let days: Vec<String> =
        listed.texts("LastModified").iter().map(|time| time[..10].to_owned()).collect();
    assert!(days.len() == 4 && days.iter().all(|day| &day[..] > "2020"), "{days:?}");
    assert!(!gone.header("last-modified").is_empty(), "{gone:?}");
    assert_eq!(listed.texts("Key").len(), 4);
    assert_eq!(listed.texts("IsLatest").iter().filter(|text| *text == "true").count(), 1);
    let (mut seen, mut more) = (Vec::new(), String::new());
    loop {
        let page = s3.done(&format!("GET /first?versions&max-keys=1{more}"), &[], b"");
        seen.extend(page.texts("VersionId"));
        if page.text("IsTruncated") == "false" {
            break;
        }
        let (key, id) = (page.text("NextKeyMarker"), page.text("NextVersionIdMarker"));
        more = format!("&key-marker={key}&version-id-marker={id}");
    }
    assert_eq!(seen, [&marker[..], &two, &one, "null"]);

    let undone = s3.done(&format!("DELETE /first/k?versionId={marker}"), &[], b"");
    assert_eq!(undone.header("x-amz-delete-marker"), "true");
    assert_eq!(s3.done("GET /first/k", &[], b"").body, b"two");
    s3.done(&format!("DELETE /first/k?versionId={two}"), &[], b"");
    s3.done("DELETE /first/k?versionId=null", &[], b"");
    assert_eq!(s3.done("GET /first/k", &[], b"").body, b"one");
    let from = format!("first/k?versionId={one}");
    let copied = s3.done("PUT /first/copy", &[("x-amz-copy-source", &from)], b"");
    assert_eq!(copied.header("x-amz-copy-source-version-id"), one);

    s3.done("PUT /first?versioning", &[], SUSPENDED);
    assert_eq!(status(), "Suspended");
    assert_eq!(put("suspended"), "null");
    assert_eq!(put("again"), "null");
    let listed = s3.done("GET /first?versions&prefix=k", &[], b"");
    assert_eq!(listed.texts("VersionId"), ["null".to_owned(), one]);
    let wrong = b"<VersioningConfiguration></VersioningConfiguration>";
    let wrong = s3.refused("PUT /first?versioning", &[], wrong);
    assert_eq!(wrong, (400, "IllegalVersioningConfigurationException".into()));
}

#[test]
fn tags_of_objects_and_buckets() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let tags = |pairs: &[(&str, &str)]| {
        let tag = |(key, value): &(&str, &str)| {
            format!("<Tag><Key>{key}</Key><Value>{value}</Value></Tag>")
        };
        let all: String = pairs.iter().map(tag).collect();
        format!("<Tagging><TagSet>{all}</TagSet></Tagging>").into_bytes()
    };
    for (place, missing) in [("/first/k", 200), ("/first", 404)] {
        if place == "/first/k" {
            s3.done("PUT /first/k", &[("x-amz-tagging", "a=1&b%20c=d")], b"x");
            let there = s3.done("GET /first/k?tagging", &[], b"");
            assert_eq!(
                (there.texts("Key"), there.texts("Value")),
                (vec!["a".into(), "b c".into()], vec!["1".into(), "d".into()])
            );
        }
        s3.done(&format!("PUT {place}?tagging"), &[], &tags(&[("k", "v"), ("e", "")]));
        let there = s3.done(&format!("GET {place}?tagging"), &[], b"");
        assert_eq!(there.texts("Key"), ["e", "k"]);
        let twice =
            s3.refused(&format!("PUT {place}?tagging"), &[], &tags(&[("k", "1"), ("k", "2")]));
        assert_eq!(twice, (400, "InvalidTag".into()));
        assert_eq!(s3.done(&format!("DELETE {place}?tagging"), &[], b"").status(), 204);
        assert_eq!(s3.ask(&format!("GET {place}?tagging"), &[], b"").status(), missing);
    }
    let names: Vec<String> = (0..11).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (&name[..], "v")).collect();
    let refused = s3.refused("PUT /first/k?tagging", &[], &tags(&many));
    assert_eq!(refused, (400, "BadRequest".into()));
    let refused = s3.refused("PUT /first/none?tagging", &[], &tags(&[("k", "v")]));
    assert_eq!(refused, (404, "NoSuchKey".into()));
}

/// Short content is kept with the name, and listings do not carry it.
#[test]
fn what_native_commands_have_put_has_one_tag_everywhere() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    s3.done("HEAD /first", &[], b"");
    for (name, length) in [("empty", 0), ("short", 100), ("inline", 16 << 10), ("chunk", 20_000)] {
        let file = folder.path().join(name);
        std::fs::write(&file, served::content(length, 3)).expect("room");
        s3.served.says(&["cp", &file.display().to_string(), &format!("slot://first/{name}")]);
        let tag = s3.done(&format!("GET /first/{name}"), &[], b"").header("etag").to_owned();
        assert!(tag.ends_with("-1\""), "{tag}");
        assert_eq!(s3.done(&format!("HEAD /first/{name}"), &[], b"").header("etag"), tag);
        let attributes = s3.done(
            &format!("GET /first/{name}?attributes"),
            &[("x-amz-object-attributes", "ETag")],
            b"",
        );
        assert_eq!(attributes.text("ETag").trim_matches('"'), tag.trim_matches('"'), "{name}");
        for listing in ["", "&list-type=2", "&versions"] {
            let listed = s3.done(&format!("GET /first?prefix={name}{listing}"), &[], b"");
            assert_eq!(listed.text("ETag"), tag, "{name} in `{listing}`");
        }
        let source = format!("first/{name}");
        let copied = s3.done("PUT /first/~copy", &[("x-amz-copy-source", &source)], b"");
        assert_eq!(copied.text("ETag"), tag, "{name}");
        assert_eq!(s3.done("HEAD /first/~copy", &[], b"").header("etag"), tag, "{name}");
        let listed = s3.done("GET /first?prefix=~copy", &[], b"");
        assert_eq!(listed.text("ETag"), tag, "{name}");
        let status = |line: &str, header, body| s3.ask(line, &[(header, &tag[..])], body).status();
        assert_eq!(status(&format!("GET /first/{name}"), "if-match", b""), 200, "{name}");
        assert_eq!(status(&format!("GET /first/{name}"), "if-none-match", b""), 304, "{name}");
        assert_eq!(status(&format!("PUT /first/{name}"), "if-match", b"other"), 200, "{name}");
        assert_eq!(status(&format!("PUT /first/{name}"), "if-match", b"again"), 412, "{name}");
    }
}
