//! Users, their keys and policies, against a real store: over native HTTP and S3.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use data_encoding::BASE64;
use served::{Served, said};
use signed::{S3, Signer, date};

/// A pair of keys.
type Pair = (String, String);

fn pair_of(json: &serde_json::Value) -> Pair {
    let text = |key: &str| json[key].as_str().expect("a key").to_owned();
    (text("access_key"), text("secret_key"))
}

fn as_user(pair: &Pair) -> [(&'static str, &str); 2] {
    [("SLOTCAST_ACCESS_KEY", &pair.0), ("SLOTCAST_SECRET_KEY", &pair.1)]
}

/// The header of a request of native HTTP.
fn basic(pair: &Pair) -> String {
    let text = BASE64.encode(format!("{}:{}", pair.0, pair.1).as_bytes());
    format!("Authorization: Basic {text}\r\n")
}

fn signer(pair: &Pair) -> Signer {
    Signer { access: pair.0.clone(), secret: pair.1.clone(), date: date(0) }
}

fn json_of(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Whether any file in `folder` has these bytes.
fn has_bytes(folder: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(folder).expect("a folder").any(|entry| {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => has_bytes(&path, bytes),
            false => {
                let content = fs::read(&path).unwrap_or_default();
                content.windows(bytes.len()).any(|window| window == bytes)
            }
        }
    })
}

#[test]
fn from_the_first_user_on_credentials_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let served = Served::start(&data, &["--targets", "3"]);
    served.says(&["mb", "slot://photos"]);
    // Without a root somebody must be able to add others.
    let refused = said(&served.run(&["user", "add", "bob", "--policy", "readonly"]));
    assert!(refused.contains("give this one the policy admin"), "{refused}");
    let admin = json_of(&served.run(&["user", "add", "ann", "--policy", "admin", "--json"]));
    let admin = pair_of(&admin["new_key"]);
    let refused = said(&served.run(&["ls"]));
    assert!(refused.contains("credentials are needed") && refused.contains("401"), "{refused}");
    assert_eq!(served.ask("GET /v2/", "", b"").status(), 401);
    assert_eq!(served.ask("GET /v1/status", "", b"").status(), 401);
    assert_eq!(served.ask("PUT /v1/content", "", b"x").status(), 401);
    assert_eq!(served.ask("GET /v2/", &basic(&admin), b"").status(), 200);
    for (access, secret) in [(&admin.0, "wrong"), (&"WRONG".to_owned(), &admin.1)] {
        let header = basic(&(access.clone(), secret.to_owned()));
        let answer = served.ask("GET /v2/", &header, b"");
        assert_eq!(answer.status(), 401);
        assert!(answer.error().contains("no such access key, or"), "{answer:?}");
    }
    assert_eq!(served.ask("GET /v2/", "Authorization: Bearer x\r\n", b"").status(), 401);
    // This machine may look whether it runs.
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(served.ask(&format!("GET {path}"), "", b"").status(), 200, "{path}");
    }

    let run = |arguments: &[&str]| served.run_with(arguments, &as_user(&admin));
    let reader = pair_of(
        &json_of(&run(&["user", "add", "bob", "--policy", "readonly", "--json"]))["new_key"],
    );
    let as_reader = |arguments: &[&str]| served.run_with(arguments, &as_user(&reader));
    assert!(as_reader(&["ls"]).status.success());
    let refused = said(&as_reader(&["mb", "slot://other"]));
    assert!(refused.contains("no policy allows bob to s3:CreateBucket"), "{refused}");
    let refused = said(&as_reader(&["user", "ls"]));
    assert!(refused.contains("no policy allows bob to slotcast:ManageUsers"), "{refused}");
    assert!(said(&run(&["user", "add", "bob"])).contains("there is a user `bob` already"));
    assert!(said(&run(&["user", "add", "a b"])).contains("no name of a user"));
    assert!(said(&run(&["user", "show", "carl"])).contains("there is no user `carl`"));

    // A change counts at once at the node that was told.
    assert!(run(&["user", "policy", "bob", "readwrite"]).status.success());
    assert!(as_reader(&["mb", "slot://other"]).status.success());
    assert!(run(&["user", "suspend", "bob"]).status.success());
    assert!(said(&as_reader(&["ls"])).contains("401"));
    assert!(run(&["user", "resume", "bob"]).status.success());
    let second = pair_of(&json_of(&run(&["user", "key", "add", "bob", "--json"])));
    assert!(served.run_with(&["ls"], &as_user(&second)).status.success());
    assert!(run(&["user", "key", "rm", "bob", &reader.0]).status.success());
    assert!(said(&as_reader(&["ls"])).contains("401"));
    assert!(said(&run(&["user", "key", "rm", "bob", &reader.0])).contains("has no key"));
    drop(served);

    // All of that is in the store, and no secret is to be read in it.
    let served = Served::start(&data, &["--targets", "3"]);
    let shown = served.run_with(&["user", "show", "bob", "--json"], &as_user(&admin));
    let shown = json_of(&shown);
    assert_eq!(
        (&shown["status"], &shown["keys"][0]["access_key"]),
        (&"active".into(), &second.0[..].into())
    );
    assert!(served.run_with(&["ls"], &as_user(&second)).status.success());
    assert!(served.run_with(&["user", "rm", "bob"], &as_user(&admin)).status.success());
    assert!(said(&served.run_with(&["ls"], &as_user(&second))).contains("401"));
    let log = fs::read_to_string(data.with_extension("log")).expect("a log");
    for secret in [&admin.1, &reader.1, &second.1] {
        assert!(!has_bytes(&data, secret.as_bytes()) && !log.contains(secret));
    }
    assert!(has_bytes(&data, admin.0.as_bytes()), "access keys are to be found");
}

/// What each of some users may do: `w` readwrite, `r` readonly, `p` writeonly (puts), `n` no policy, `a` anonymous.
const RIGHTS: [(&str, &str); 26] = [
    ("GET /", "wr"),
    ("PUT /new-bucket", "w"),
    ("HEAD /first", "wr"),
    ("GET /first", "wr"),
    ("GET /first?list-type=2&prefix=a", "wr"),
    ("GET /first?versions=", "wr"),
    ("GET /first?uploads=", "wr"),
    ("GET /first?location=", "wrp"),
    ("GET /first?versioning=", "wr"),
    ("GET /first?tagging=", "wr"),
    ("GET /first?policy=", "wr"),
    ("GET /first?acl=", "wr"),
    ("PUT /first/k", "wp"),
    ("GET /first/k", "wr"),
    ("HEAD /first/k", "wr"),
    ("GET /first/k?versionId=null", "wr"),
    ("GET /first/k?tagging=", "wr"),
    ("GET /first/k?attributes=", "wr"),
    ("DELETE /first/k?tagging=", "w"),
    ("POST /first/up?uploads=", "wp"),
    ("DELETE /first/up?uploadId=1-0000000000000001", "wp"),
    ("DELETE /first/k?versionId=null", "w"),
    ("DELETE /first/k", "w"),
    ("DELETE /first?policy=", "w"),
    ("DELETE /first?tagging=", "w"),
    ("DELETE /new-bucket", "w"),
];

#[test]
fn each_user_may_do_what_its_policy_allows_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    let mut users: BTreeMap<char, Pair> = BTreeMap::new();
    for (letter, policy) in [('w', "readwrite"), ('r', "readonly"), ('p', "writeonly"), ('n', "")] {
        let name = letter.to_string();
        let policy = if policy.is_empty() { vec![] } else { vec!["--policy", policy] };
        let added = s3.served.run(&[&["user", "add", &name, "--json"][..], &policy].concat());
        users.insert(letter, pair_of(&json_of(&added)["new_key"]));
    }
    let attributes = [("x-amz-object-attributes", "ObjectSize")];
    for (line, who) in RIGHTS {
        // Those who may not come first: what they try must have no effect.
        let (may, may_not): (Vec<_>, Vec<_>) = users.iter().partition(|(of, _)| who.contains(**of));
        for (letter, pair) in may_not {
            let answer = s3.ask_as(&signer(pair), line, &attributes, b"");
            assert_eq!(answer.status(), 403, "{letter}: {line}: {answer:?}");
            let is_head = line.starts_with("HEAD");
            assert!(is_head || answer.code().1 == "AccessDenied", "{letter}: {line}: {answer:?}");
        }
        let address = &s3.address;
        let text = format!(
            "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        );
        let answer = s3.send(text.as_bytes());
        assert_eq!(answer.status(), 403, "anonymous: {line}: {answer:?}");
        for (letter, pair) in may {
            let answer = s3.ask_as(&signer(pair), line, &attributes, b"");
            assert_ne!(answer.status(), 403, "{letter}: {line}: {answer:?}");
        }
        assert_ne!(s3.ask(line, &attributes, b"").status(), 403, "root: {line}");
    }

    // What is copied must be readable, and of many that are to be deleted each is looked at.
    s3.done("PUT /first/secret", &[], b"content");
    let writer = signer(&users[&'p']);
    let copy = [("x-amz-copy-source", "/first/secret")];
    assert_eq!(
        s3.ask_as(&writer, "PUT /first/copy", &copy, b"").code(),
        (403, "AccessDenied".into())
    );
    let rule = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Action": "s3:DeleteObject", "Resource": "arn:aws:s3:::first/own/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "arn:aws:s3:::first",
         "Condition": {"StringLike": {"s3:prefix": "own/*"}}}]}"#;
    let file = folder.path().join("own.json");
    fs::write(&file, rule).expect("room");
    let file = file.to_str().expect("text");
    s3.served.says(&["user", "policy", "n", file]);
    s3.done("PUT /first/own/a", &[], b"x");
    let body =
        b"<Delete><Object><Key>own/a</Key></Object><Object><Key>secret</Key></Object></Delete>";
    let own = signer(&users[&'n']);
    let sum = signed::md5_base64(body);
    let deleted = s3.ask_as(&own, "POST /first?delete=", &[("content-md5", &sum)], body);
    assert_eq!(deleted.status(), 200, "{deleted:?}");
    assert_eq!(
        (deleted.text("Code"), deleted.texts("Key")),
        ("AccessDenied".into(), vec!["own/a".into(), "secret".into()])
    );
    assert_eq!(s3.ask("GET /first/secret", &[], b"").status(), 200);
    assert_eq!(s3.ask("GET /first/own/a", &[], b"").status(), 404);
    let list = |query: &str| s3.ask_as(&own, &format!("GET /first?{query}"), &[], b"").status();
    assert_eq!((list("prefix=own/"), list("prefix=o"), list("")), (200, 403, 403));
    // The library would take a prefix that is there twice for none.
    assert_eq!(list("prefix=own/&prefix=own/"), 400);
}

#[test]
fn the_policy_of_a_bucket_lets_others_in_and_keeps_users_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3"]);
    s3.done("PUT /first/public/a", &[], b"for all");
    s3.done("PUT /first/private", &[], b"for some");
    let added = s3.served.run(&["user", "add", "ann", "--policy", "readwrite", "--json"]);
    let ann = pair_of(&json_of(&added)["new_key"]);
    let anonymous = |method: &str, path: &str| {
        let address = &s3.address;
        let line = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close");
        s3.send(format!("{line}\r\nContent-Length: 0\r\n\r\n").as_bytes()).code()
    };
    let denied = (403, "AccessDenied".to_owned());
    assert_eq!(anonymous("GET", "/first/public/a"), denied);
    assert_eq!(s3.refused("GET /first?policy=", &[], b""), (404, "NoSuchBucketPolicy".into()));
    let policy = r#"{"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::first/public/*"},
        {"Effect": "Deny", "Principal": {"AWS": "arn:aws:iam:::user/ann"}, "Action": "s3:*", "Resource": "arn:aws:s3:::first/private"}]}"#;
    assert_eq!(s3.done("PUT /first?policy=", &[], policy.as_bytes()).status(), 204);
    assert_eq!(s3.done("GET /first?policy=", &[], b"").body, policy.as_bytes());
    assert_eq!(
        s3.done("GET /first?policyStatus=", &[], b"").text("IsPublic").to_lowercase(),
        "true"
    );
    assert_eq!(anonymous("GET", "/first/public/a"), (200, String::new()));
    assert_eq!(anonymous("GET", "/first/private"), denied);
    assert_eq!(anonymous("PUT", "/first/public/b"), denied);
    assert_eq!(anonymous("GET", "/first"), denied);
    assert_eq!(s3.ask_as(&signer(&ann), "GET /first/private", &[], b"").code(), denied);
    assert_eq!(s3.ask_as(&signer(&ann), "GET /first/public/a", &[], b"").status(), 200);
    assert_eq!(s3.ask("GET /first/private", &[], b"").status(), 200);
    // Native HTTP asks the same policies.
    let served = &s3.served;
    assert_eq!(served.ask("GET /v2/first/public/a", "", b"").body, b"for all");
    assert_eq!(served.ask("GET /v2/first/private", "", b"").status(), 401);
    assert_eq!(served.ask("GET /v2/first/private", &basic(&ann), b"").status(), 403);
    assert_eq!(served.ask("GET /v2/first/public/a", &basic(&ann), b"").status(), 200);
    // What is not understood is refused, and what was there stays.
    for wrong in [
        "{}",
        &policy.replace("s3:GetObject", "s3:GetObjekt"),
        &policy.replace("first/private", "second/private"),
        &policy.replace("\"Version\"", "\"Condition\": {}, \"Version\""),
    ] {
        assert_eq!(
            s3.refused("PUT /first?policy=", &[], wrong.as_bytes()),
            (400, "MalformedPolicy".into())
        );
    }
    assert_eq!(anonymous("GET", "/first/public/a"), (200, String::new()));
    assert_eq!(s3.done("DELETE /first?policy=", &[], b"").status(), 204);
    assert_eq!(anonymous("GET", "/first/public/a"), denied);
}

#[test]
fn other_machines_are_served_only_where_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let serve = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slotcast"));
        let arguments =
            ["serve", "--listen", "0.0.0.0:0", "--s3", "off", "--targets", "3", "--data"];
        command.args(arguments).arg(&data).args(more);
        command
    };
    let refused = said(&serve(&[]).output().expect("it runs"));
    assert!(
        refused.contains("no keys to ask them for") && refused.contains("--insecure"),
        "{refused}"
    );
    let both = serve(&["--insecure"])
        .envs([("SLOTCAST_ACCESS_KEY", "AKIA"), ("SLOTCAST_SECRET_KEY", "something")])
        .output();
    assert!(said(&both.expect("it runs")).contains("leave one of them away"));
    let more = ["--targets", "3", "--listen", "0.0.0.0:0"];
    let log = || fs::read_to_string(data.with_extension("log")).expect("a log");
    let open = Served::start(&data, &[&more[..], &["--insecure"]].concat());
    assert!(log().contains("--insecure: everybody who reaches"), "{}", log());
    assert_eq!(open.ask("GET /v2/", "", b"").status(), 200);
    drop(open);
    let keys =
        [("SLOTCAST_ACCESS_KEY", "AKIATEST"), ("SLOTCAST_SECRET_KEY", "a-secret-of-the-tests")];
    let closed = Served::start_with(&data, &more, &keys);
    assert!(log().contains("encrypts nothing"), "{}", log());
    assert_eq!(closed.ask("GET /v2/", "", b"").status(), 401);
    closed.says(&["ls"]);
}
