//! Notifications over S3: webhooks are told what happens to objects, at least once, whatever dies between.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, sockets and files"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;
#[allow(dead_code, reason = "each test file uses its own part")]
mod served;
#[allow(dead_code, reason = "each test file uses its own part")]
mod signed;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use cluster::etcd::Etcd;
use cluster::{Cluster, loopback_hosts};
use serde_json::Value;
use served::{Answer, PATIENCE};
use signed::{ACCESS, Headers, S3, SECRET, Signer, md5, sha256};

/// What a webhook answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// This status.
    Status(u16),
    /// Nothing: it takes the message, and never answers.
    Silent,
    /// It takes no connections.
    Away,
}

/// A webhook of a test: a small HTTP server.
#[derive(Clone)]
struct Hook {
    port: u16,
    mood: Arc<Mutex<Mood>>,
    /// What it has answered 200, and how many requests there were.
    taken: Arc<Mutex<(Vec<Value>, u64)>>,
    authorizations: Arc<Mutex<Vec<String>>>,
}

impl Hook {
    fn start() -> Hook {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let hook = Hook {
            port: listener.local_addr().expect("an address").port(),
            mood: Arc::new(Mutex::new(Mood::Status(200))),
            taken: Arc::default(),
            authorizations: Arc::default(),
        };
        let here = hook.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (hook, stream) = (here.clone(), stream.expect("a connection"));
                thread::spawn(move || hook.serve(stream));
            }
        });
        hook
    }

    fn set(&self, mood: Mood) {
        *self.mood.lock().expect("no panic") = mood;
    }

    fn serve(&self, stream: TcpStream) {
        let mut answers = stream.try_clone().expect("a socket");
        let mut reader = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                match reader.read_line(&mut head) {
                    Ok(length) if length > 0 => {}
                    _ => return,
                }
            }
            let head_of = |name: &str| {
                let line = head.lines().find(|line| line.to_lowercase().starts_with(name));
                line.map(|line| line[name.len()..].trim().to_owned())
            };
            let length = head_of("content-length:").expect("a length").parse().expect("a number");
            let mut body = vec![0; length];
            if reader.read_exact(&mut body).is_err() {
                return;
            }
            assert!(head.starts_with("POST /in HTTP/1.1"), "{head}");
            assert_eq!(head_of("content-type:").as_deref(), Some("application/json"));
            let mood = *self.mood.lock().expect("no panic");
            let mut taken = self.taken.lock().expect("no panic");
            taken.1 += 1;
            let status = match mood {
                Mood::Away => return,
                Mood::Silent => {
                    drop(taken);
                    thread::sleep(PATIENCE);
                    return;
                }
                Mood::Status(status) => status,
            };
            if status == 200 {
                self.authorizations.lock().expect("no panic").extend(head_of("authorization:"));
                taken.0.push(serde_json::from_slice(&body).expect("JSON"));
            }
            drop(taken);
            let text = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nok");
            if answers.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    }

    /// How many messages came, whatever became of them.
    fn asked(&self) -> u64 {
        self.taken.lock().expect("no panic").1
    }

    /// All records of messages that it took.
    fn records(&self) -> Vec<Value> {
        let taken = self.taken.lock().expect("no panic");
        let records = taken.0.iter().filter_map(|message| message["Records"].as_array());
        records.flatten().cloned().collect()
    }

    /// Events and keys, in order.
    fn events(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().expect("text").to_owned();
        let event = |of: &Value| (text(&of["eventName"]), text(&of["s3"]["object"]["key"]));
        self.records().iter().map(event).collect()
    }

    /// Waits for so many records.
    fn wait(&self, count: usize) -> Vec<Value> {
        until(&format!("{count} records, and not {:?}", self.events()), || {
            self.records().len() >= count
        });
        self.records()
    }

    /// Waits for an event of this key.
    fn wait_for(&self, event: &str, key: &str) -> Value {
        let find = || {
            let records = self.records();
            let is_it = |of: &Value| of["eventName"] == event && of["s3"]["object"]["key"] == key;
            records.into_iter().find(is_it)
        };
        until(&format!("{event} of {key}"), || find().is_some());
        find().expect("it is there")
    }
}

/// Waits for something, no longer than a busy machine takes.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "it does not become so: {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

const ARN: &str = "arn:slotcast:sqs::hook:webhook";

fn queue(id: &str, arn: &str, events: &[&str], ends: &[(&str, &str)]) -> String {
    let events: String = events.iter().map(|of| format!("<Event>s3:{of}</Event>")).collect();
    let rule = |(name, value): &(&str, &str)| {
        format!("<FilterRule><Name>{name}</Name><Value>{value}</Value></FilterRule>")
    };
    let ends: String = ends.iter().map(rule).collect();
    let filter =
        if ends.is_empty() { ends } else { format!("<Filter><S3Key>{ends}</S3Key></Filter>") };
    format!(
        "<QueueConfiguration><Id>{id}</Id><Queue>{arn}</Queue>{events}{filter}</QueueConfiguration>"
    )
}

fn all(rules: &[String]) -> String {
    format!("<NotificationConfiguration>{}</NotificationConfiguration>", rules.concat())
}

const EVERYTHING: [&str; 4] =
    ["ObjectCreated:*", "ObjectRemoved:*", "ObjectTagging:*", "LifecycleExpiration:*"];

fn start(folder: &Path, hook: &Hook, more: &[&str]) -> S3 {
    let webhook = format!("hook=http://127.0.0.1:{}/in", hook.port);
    S3::start(&folder.join("data"), &[&["--targets", "3", "--webhook", &webhook], more].concat())
}

thread_local! {
    /// How often a request of this test had to be repeated.
    static REPEATED: Cell<u32> = const { Cell::new(0) };
}

/// The answer to a request that succeeds. On a busy machine it may have to be repeated, as SDKs do.
fn done(s3: &S3, line: &str, headers: Headers<'_>, body: &[u8]) -> Answer {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let id = format!("00000000-0000-4000-8000-{number:012x}");
    let named = headers.iter().any(|(name, _)| *name == "amz-sdk-invocation-id");
    let id = (!named).then_some([("amz-sdk-invocation-id", &id[..])]);
    let headers = [headers, id.as_ref().map_or(&[][..], |id| id)].concat();
    let began = Instant::now();
    loop {
        let answer = s3.ask(line, &headers, body);
        match answer.status() {
            500 | 503 if began.elapsed() < PATIENCE => {
                eprintln!("repeated: {line}: {}", answer.status());
                REPEATED.set(REPEATED.get() + 1);
                thread::sleep(Duration::from_millis(200));
            }
            200..300 => return answer,
            _ => panic!("{line}: {answer:?}"),
        }
    }
}

/// A store whose first bucket tells everything.
fn telling(folder: &Path, hook: &Hook, more: &[&str]) -> S3 {
    let s3 = start(folder, hook, more);
    let rules = all(&[queue("all", ARN, &EVERYTHING, &[])]);
    done(&s3, "PUT /first?notification", &[], rules.as_bytes());
    s3
}

fn waiting(s3: &S3) -> u64 {
    let status: Value = serde_json::from_str(&s3.served.says(&["status", "--json"])).expect("JSON");
    status["notifications"]["waiting"].as_u64().expect("a number")
}

#[test]
fn every_event_comes_with_what_is_known_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let s3 = telling(folder.path(), &hook, &["--lifecycle-day", "2s"]);
    let test = hook.taken.lock().expect("no panic").0[0].clone();
    assert_eq!((&test["Event"], &test["Bucket"]), (&"s3:TestEvent".into(), &"first".into()));
    let put = done(&s3, "PUT /first/a b/ü", &[], b"content");
    let record = hook.wait_for("ObjectCreated:Put", "a+b/%C3%BC");
    let object = &record["s3"]["object"];
    assert_eq!((&object["size"], &object["eTag"]), (&7.into(), &md5(b"content").into()));
    assert_eq!(
        (&object["sequencer"], &object["versionId"]),
        (&"0000000000000001".into(), &Value::Null)
    );
    assert_eq!(record["eventVersion"], "2.1");
    assert_eq!(record["eventSource"], "aws:s3");
    assert_eq!(record["userIdentity"]["principalId"], "root");
    assert_eq!(record["requestParameters"]["sourceIPAddress"], "127.0.0.1");
    let number = record["responseElements"]["x-amz-request-id"].as_str().expect("a number");
    assert_eq!(number.to_lowercase(), put.header("x-amz-request-id"));
    assert_eq!(record["s3"]["bucket"]["name"], "first");
    assert_eq!(record["s3"]["bucket"]["arn"], "arn:aws:s3:::first");
    assert_eq!(record["s3"]["configurationId"], "all");
    let time = record["eventTime"].as_str().expect("a time");
    assert!(time.len() == 24 && time.starts_with("20") && time.ends_with('Z'), "{time}");

    done(&s3, "PUT /first/copy", &[("x-amz-copy-source", "/first/a%20b/%C3%BC")], b"");
    assert_eq!(hook.wait_for("ObjectCreated:Copy", "copy")["s3"]["object"]["size"], 7);
    let upload = done(&s3, "POST /first/parts?uploads", &[], b"").text("UploadId");
    let part = done(&s3, &format!("PUT /first/parts?partNumber=1&uploadId={upload}"), &[], b"part");
    let tag = part.header("etag").to_owned();
    let parts = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{tag}</ETag></Part></CompleteMultipartUpload>"
    );
    done(&s3, &format!("POST /first/parts?uploadId={upload}"), &[], parts.as_bytes());
    let whole = hook.wait_for("ObjectCreated:CompleteMultipartUpload", "parts");
    assert!(
        whole["s3"]["object"]["eTag"].as_str().is_some_and(|tag| tag.ends_with("-1")),
        "{whole}"
    );
    let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>";
    done(&s3, "PUT /first/copy?tagging", &[], tags.as_bytes());
    let tagged = hook.wait_for("ObjectTagging:Put", "copy");
    assert_eq!(tagged["s3"]["object"]["sequencer"], "0000000000000002");
    done(&s3, "DELETE /first/copy?tagging", &[], b"");
    hook.wait_for("ObjectTagging:Delete", "copy");
    done(&s3, "DELETE /first/copy", &[], b"");
    let deleted = hook.wait_for("ObjectRemoved:Delete", "copy");
    assert_eq!(deleted["s3"]["object"]["sequencer"], "0000000000000004");
    // Longer than what is stored at once, and what is not in the register of its name.
    done(&s3, "PUT /first/long", &[], &vec![7; 9 << 20]);
    assert_eq!(hook.wait_for("ObjectCreated:Put", "long")["s3"]["object"]["size"], 9 << 20);

    let on = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
    done(&s3, "PUT /first?versioning", &[], on.as_bytes());
    let version = done(&s3, "PUT /first/v", &[], b"1").header("x-amz-version-id").to_owned();
    assert_eq!(hook.wait_for("ObjectCreated:Put", "v")["s3"]["object"]["versionId"], *version);
    let marker = done(&s3, "DELETE /first/v", &[], b"").header("x-amz-version-id").to_owned();
    let record = hook.wait_for("ObjectRemoved:DeleteMarkerCreated", "v");
    assert_eq!(record["s3"]["object"]["versionId"], *marker);
    let gone = "<Delete><Object><Key>v</Key><VersionId>V</VersionId></Object></Delete>";
    done(&s3, "POST /first?delete", &[], gone.replace(">V<", &format!(">{version}<")).as_bytes());
    assert_eq!(hook.wait_for("ObjectRemoved:Delete", "v")["s3"]["object"]["versionId"], *version);

    let rule = "<LifecycleConfiguration><Rule><ID>r</ID><Filter><Prefix>long</Prefix></Filter><Status>Enabled</Status>\
                <Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>";
    done(&s3, "PUT /first?lifecycle", &[], rule.as_bytes());
    hook.wait_for("LifecycleExpiration:DeleteMarkerCreated", "long");
    // Native commands are told of as well.
    let file = folder.path().join("file");
    std::fs::write(&file, b"native").expect("room");
    s3.served.says(&["cp", &file.display().to_string(), "slot://first/native"]);
    assert_eq!(hook.wait_for("ObjectCreated:Put", "native")["s3"]["object"]["size"], 6);
    until("nothing waits", || waiting(&s3) == 0);
    let mut once = hook.events();
    let count = once.len();
    once.sort();
    once.dedup();
    assert!(once.len() == count || REPEATED.get() > 0, "what is repeated may: {:?}", hook.events());
}

#[test]
fn only_what_a_rule_is_about_is_told_and_only_as_long_as_it_is_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let s3 = start(folder.path(), &hook, &[]);
    done(&s3, "PUT /first/logs/0.gz", &[], b"x");
    let rules = all(&[
        queue("gz", ARN, &["ObjectCreated:Put"], &[("prefix", "logs/"), ("suffix", ".gz")]),
        queue(
            "gone",
            &ARN.replace("slotcast", "minio"),
            &["ObjectRemoved:Delete"],
            &[("Prefix", "logs/")],
        )
        .replace("Queue", "Topic"),
    ]);
    done(&s3, "PUT /first?notification", &[], rules.as_bytes());
    let got = done(&s3, "GET /first?notification", &[], b"");
    assert_eq!(got.texts("Id"), ["gz", "gone"]);
    assert_eq!(got.texts("Queue"), [ARN]);
    assert_eq!(got.texts("Topic"), [ARN.replace("slotcast", "minio")]);
    assert_eq!(got.texts("Event"), ["s3:ObjectCreated:Put", "s3:ObjectRemoved:Delete"]);
    assert_eq!(got.texts("Value"), ["logs/", ".gz", "logs/"]);
    for (key, _) in [("logs/1.gz", 0), ("logs/1.txt", 0), ("other/1.gz", 0)] {
        done(&s3, &format!("PUT /first/{key}"), &[], b"x");
        done(&s3, &format!("DELETE /first/{key}"), &[], b"");
    }
    done(&s3, "PUT /first/logs/2.gz", &[("x-amz-copy-source", "/first/logs/0.gz")], b"");
    done(&s3, "PUT /first/logs/3.gz", &[], b"x");
    hook.wait_for("ObjectCreated:Put", "logs/3.gz");
    hook.wait(4);
    let mut events = hook.events();
    events.sort();
    let of = |event: &str, key: &str| (event.to_owned(), key.to_owned());
    let expected = [
        of("ObjectCreated:Put", "logs/1.gz"),
        of("ObjectCreated:Put", "logs/3.gz"),
        of("ObjectRemoved:Delete", "logs/1.gz"),
        of("ObjectRemoved:Delete", "logs/1.txt"),
    ];
    assert_eq!(events, expected);
    done(&s3, "PUT /first?notification", &[], all(&[]).as_bytes());
    assert!(done(&s3, "GET /first?notification", &[], b"").texts("Id").is_empty());
    done(&s3, "PUT /first/logs/4.gz", &[], b"x");
    thread::sleep(Duration::from_secs(2));
    assert_eq!(hook.events().len(), 4);
}

#[test]
fn what_cannot_be_followed_is_refused_as_aws_refuses_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let s3 = start(folder.path(), &hook, &[]);
    let put = |rules: &[String]| s3.refused("PUT /first?notification", &[], all(rules).as_bytes());
    let created: &[&str] = &["ObjectCreated:*"];
    let good = queue("a", ARN, created, &[("prefix", "x/")]);
    for rules in [
        vec![queue("a", "arn:slotcast:sqs::other:webhook", created, &[])],
        vec![queue("a", "arn:aws:sns:us-east-1:1:topic", created, &[])],
        vec![queue("a", "hook", created, &[])],
        vec![queue("a", ARN, &["ObjectAcl:Put"], &[])],
        vec![queue("a", ARN, &["ObjectCreated:Gone"], &[])],
        vec![queue("a", ARN, created, &[("middle", "x")])],
        vec![queue("a", ARN, created, &[("prefix", "x"), ("prefix", "y")])],
        vec![queue(&"a".repeat(256), ARN, created, &[])],
        vec![good.clone(), queue("b", ARN, &["ObjectCreated:Put"], &[("prefix", "x/y")])],
        vec![good.clone(), queue("a", ARN, created, &[("prefix", "y/")])],
    ] {
        assert_eq!(put(&rules), (400, "InvalidArgument".into()), "{rules:?}");
    }
    assert_eq!(put(&[queue("a", ARN, &[], &[])]), (400, "MalformedXML".into()));
    assert_eq!(
        s3.refused("PUT /none?notification", &[], all(std::slice::from_ref(&good)).as_bytes()).1,
        "NoSuchBucket"
    );
    // Whoever does not answer is told nothing, unless nobody asks whether it does.
    hook.set(Mood::Status(500));
    assert_eq!(put(std::slice::from_ref(&good)), (400, "InvalidArgument".into()));
    assert!(done(&s3, "GET /first?notification", &[], b"").texts("Id").is_empty());
    let skips: Headers<'_> = &[("x-amz-skip-destination-validation", "true")];
    done(&s3, "PUT /first?notification", skips, all(&[good]).as_bytes());
    assert_eq!(done(&s3, "GET /first?notification", &[], b"").texts("Id"), ["a"]);
}

#[test]
fn a_webhook_that_fails_gets_everything_later_and_nobody_waits_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let token = folder.path().join("token");
    std::fs::write(&token, "open-sesame\n").expect("room");
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).expect("ours");
    let webhook = format!("hook=http://127.0.0.1:{}/in,token={}", hook.port, token.display());
    let s3 = S3::start(&folder.path().join("data"), &["--targets", "3", "--webhook", &webhook]);
    let rules = all(&[queue("all", ARN, &EVERYTHING, &[])]);
    done(&s3, "PUT /first?notification", &[], rules.as_bytes());
    hook.set(Mood::Status(500));
    done(&s3, "PUT /first/a", &[], b"1");
    until("it is tried again", || hook.asked() >= 4);
    assert!(hook.events().is_empty());
    hook.set(Mood::Silent);
    let began = Instant::now();
    for n in 0..20 {
        done(&s3, "PUT /first/a", &[], format!("{n}").as_bytes());
    }
    done(&s3, "DELETE /first/a", &[], b"");
    // A webhook that is waited for takes 10 s for each.
    assert!(began.elapsed() < Duration::from_secs(100), "{:?}", began.elapsed());
    assert!(waiting(&s3) >= 22, "{}", waiting(&s3));
    hook.set(Mood::Away);
    thread::sleep(Duration::from_secs(1));
    hook.set(Mood::Status(200));
    hook.wait_for("ObjectRemoved:Delete", "a");
    let numbers = || {
        let of = |of: Value| of["s3"]["object"]["sequencer"].as_str().expect("text").to_owned();
        hook.records().into_iter().map(of).collect::<Vec<_>>()
    };
    let all: Vec<String> = (1..=22).map(|n| format!("{n:016X}")).collect();
    until("all are there", || numbers().iter().collect::<BTreeSet<_>>().len() == all.len());
    // Of one object in order, unless a request had to be repeated.
    assert!(REPEATED.get() > 0 || numbers() == all, "{:?}", numbers());
    until("nothing waits", || waiting(&s3) == 0);
    let authorizations = hook.authorizations.lock().expect("no panic");
    assert!(authorizations.iter().all(|text| text == "Bearer open-sesame"), "{authorizations:?}");
    let log = std::fs::read_to_string(folder.path().join("data.log")).expect("a log");
    assert!(!log.contains("open-sesame") && !log.contains("/in"), "{log}");
    assert!(s3.served.says(&["status"]).contains("hook took 2"), "{}", s3.served.says(&["status"]));
    let metrics = s3.served.run(&["status", "--json"]);
    assert!(metrics.status.success());
}

#[test]
fn what_was_answered_is_told_also_if_the_node_dies_and_what_failed_never() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let mut s3 = telling(folder.path(), &hook, &[]);
    done(&s3, "PUT /first/there", &[], b"x");
    hook.wait_for("ObjectCreated:Put", "there");
    hook.set(Mood::Silent);
    done(&s3, "PUT /first/a", &[], b"before it died");
    done(&s3, "DELETE /first/there", &[], b"");
    let refused = s3.refused("PUT /first/a", &[("if-none-match", "*")], b"other");
    assert_eq!(refused.1, "PreconditionFailed");
    assert_eq!(
        s3.refused("PUT /first/b", &[("content-md5", "AAAAAAAAAAAAAAAAAAAAAA==")], b"x").0,
        400
    );
    // A put whose client goes away in the middle of it.
    let signer = Signer::now();
    let (head, _) =
        signer.header(("PUT", "/first/broken", &[]), &s3.address, &[], &sha256(b"whole"));
    let mut stream = TcpStream::connect(&s3.address).expect("it listens");
    stream.write_all(format!("{head}Content-Length: 5\r\n\r\nwh").as_bytes()).expect("it is read");
    thread::sleep(Duration::from_millis(300));
    s3.served.process.kill().expect("it runs");
    s3.served.process.wait().expect("it ends");
    drop(s3);
    hook.set(Mood::Status(200));
    let s3 = start(folder.path(), &hook, &[]);
    let record = hook.wait_for("ObjectCreated:Put", "a");
    assert_eq!(record["s3"]["object"]["size"], 14);
    assert_eq!(record["s3"]["object"]["eTag"], md5(b"before it died"));
    hook.wait_for("ObjectRemoved:Delete", "there");
    until("nothing waits", || waiting(&s3) == 0);
    let mut events = hook.events();
    events.sort();
    events.dedup();
    let keys: Vec<&str> = events.iter().map(|(_, key)| &key[..]).collect();
    assert_eq!(keys, ["a", "there", "there"], "{events:?}");
}

#[test]
fn a_request_that_is_repeated_is_told_of_one_version() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let s3 = telling(folder.path(), &hook, &[]);
    let same: Headers<'_> = &[("amz-sdk-invocation-id", "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f0")];
    for _ in 0..3 {
        done(&s3, "PUT /first/a", same, b"x");
    }
    done(&s3, "PUT /first/b", &[], b"x");
    hook.wait_for("ObjectCreated:Put", "b");
    until("nothing waits", || waiting(&s3) == 0);
    let records = hook.records();
    let of_a = records.iter().filter(|of| of["s3"]["object"]["key"] == "a");
    let mut versions: Vec<&str> =
        of_a.map(|of| of["s3"]["object"]["sequencer"].as_str().expect("text")).collect();
    versions.dedup();
    assert_eq!(versions, ["0000000000000001"]);
}

#[test]
fn a_bucket_that_is_removed_takes_its_queue_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let mut s3 = telling(folder.path(), &hook, &[]);
    hook.set(Mood::Status(503));
    done(&s3, "PUT /first/a", &[], b"x");
    done(&s3, "DELETE /first/a", &[], b"");
    done(&s3, "DELETE /first", &[], b"");
    done(&s3, "PUT /first", &[], b"");
    s3.served.process.kill().expect("it runs");
    s3.served.process.wait().expect("it ends");
    drop(s3);
    hook.set(Mood::Status(200));
    let s3 = start(folder.path(), &hook, &[]);
    let rules = all(&[queue("all", ARN, &EVERYTHING, &[])]);
    done(&s3, "PUT /first?notification", &[], rules.as_bytes());
    done(&s3, "PUT /first/b", &[], b"x");
    hook.wait_for("ObjectCreated:Put", "b");
    thread::sleep(Duration::from_secs(3));
    assert_eq!(hook.events().len(), 1, "{:?}", hook.events());
    assert_eq!(waiting(&s3), 0);
}

/// The answer of a node of a cluster, over S3.
fn ask_at(address: &str, line: &str, body: &[u8]) -> Answer {
    let (method, target) = line.split_once(' ').expect("a method and a path");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs: Vec<(&str, &str)> = if query.is_empty() { Vec::new() } else { vec![(query, "")] };
    let (head, _) = Signer::now().header((method, path, &pairs), address, &[], &sha256(body));
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it is read");
    Answer::read(&mut stream)
}

#[test]
fn another_node_tells_what_a_node_that_is_gone_has_left() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let hook = Hook::start();
    let mut hosts = loopback_hosts(3);
    let webhook = format!("SLOTCAST_WEBHOOK=hook=http://127.0.0.1:{}/in", hook.port);
    let variables = [
        "env",
        &format!("SLOTCAST_ACCESS_KEY={ACCESS}"),
        &format!("SLOTCAST_SECRET_KEY={SECRET}"),
        &webhook,
    ];
    for host in &mut hosts {
        host.wrapper = variables.iter().map(|one| (*one).to_owned()).collect();
    }
    let mut cluster = Cluster::of_three_on(folder.path(), Some(&etcd), hosts);
    let ports: Vec<String> = (0..3)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"))
        .map(|listener| listener.local_addr().expect("an address").to_string())
        .collect();
    for (node, address) in ports.iter().enumerate() {
        cluster.serve_with(node, &["--s3", address]);
        cluster.kill(node);
        cluster.start(node);
    }
    (0..3).for_each(|node| cluster.wait_for_peers(node, 2));
    let done_at = |node: usize, line: &str, body: &[u8]| {
        let answer = ask_at(&ports[node], line, body);
        assert!((200..300).contains(&answer.status()), "{line}: {answer:?}");
    };
    until("names are kept", || ask_at(&ports[2], "PUT /told", b"").status() == 200);
    done_at(1, "PUT /told?notification", all(&[queue("all", ARN, &EVERYTHING, &[])]).as_bytes());
    done_at(2, "PUT /told/first", b"1");
    hook.wait_for("ObjectCreated:Put", "first");
    hook.set(Mood::Silent);
    done_at(2, "PUT /told/last", b"last");
    until("it is told", || hook.asked() >= 3);
    cluster.kill(2);
    hook.set(Mood::Status(200));
    let record = hook.wait_for("ObjectCreated:Put", "last");
    assert_eq!(record["s3"]["object"]["eTag"], md5(b"last"));
    until("the others have told all", || {
        let metrics = cluster.says(0, &["status", "--json"]);
        let status: Value = serde_json::from_str(&metrics).expect("JSON");
        status["notifications"]["waiting"] == 0
    });
}

/// How long a put takes, and how much longer in a bucket that tells somebody: pairs in turns. Run with
/// `cargo test --release -p slotcast --test s3_notifications -- --ignored --nocapture`.
#[test]
#[ignore = "it measures"]
fn what_a_put_costs_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = Hook::start();
    let s3 = telling(folder.path(), &hook, &[]);
    done(&s3, "PUT /quiet", &[], b"");
    for (size, pairs) in [(16 << 10, 100), (128 << 10, 100)] {
        let body = vec![7; size];
        let timed = |bucket: &str, n: u32| {
            let began = Instant::now();
            done(&s3, &format!("PUT /{bucket}/{size}-{n}"), &[], &body);
            began.elapsed()
        };
        let mut took: [Vec<Duration>; 2] = Default::default();
        for n in 0..pairs {
            // Each is first in every other pair.
            for bucket in [n % 2, 1 - n % 2] {
                let time = timed(["quiet", "first"][bucket as usize], n);
                took[bucket as usize].push(time);
            }
        }
        let [quiet, told] = took.map(|mut times| {
            times.sort();
            times[times.len() / 2]
        });
        let ratio = told.as_secs_f64() / quiet.as_secs_f64();
        println!(
            "{} KiB: {quiet:?} and {told:?}, a ratio of {ratio:.2} (medians of {pairs} pairs)",
            size >> 10
        );
    }
}
