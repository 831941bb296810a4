//! What clients of a real cluster were told while its nodes were killed and stopped can be explained: there is an order of
//! their requests, each between its beginning and its end, in which a single copy would have answered so.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "it has processes, sockets and clocks"
)]

#[allow(dead_code, reason = "each test file uses its own part")]
mod cluster;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cluster::Cluster;
use cluster::etcd::Etcd;
use slotcast_object::history::{Asked, What, is_explained};
use slotcast_object::{
    Condition, Entry, Object, Operation, Outcome, Permit, Request, RequestKey, Version, VersionId,
    Versioning,
};
use slotcast_units::Time;

const CLIENTS: u64 = 4;
const NAMES: u64 = 2;
const ROUNDS: u64 = 24;

/// How long a client waits for an answer; then it does not know what became of its request.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is put under a number: the object of that size. Its content is the number.
fn object(number: u64) -> Entry {
    Entry::Object(Object { size: number, ..Object::default() })
}

/// An answer, as far as it tells anything.
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn version(&self) -> Option<VersionId> {
        let line = self.head.lines().find_map(|line| line.strip_prefix("etag: "))?;
        version_in(line)
    }
}

/// The first version that stands in a text.
fn version_in(text: &str) -> Option<VersionId> {
    let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
    let version = |word: &str| {
        let (change, salt) = word.split_once('-')?;
        let salt = (salt.len() == 16).then(|| u64::from_str_radix(salt, 16).ok())??;
        Some(VersionId { change: change.parse().ok()?, salt })
    };
    words.filter_map(version).next()
}

/// Asks a node; nothing if it does not say anything that counts.
fn ask(http: &str, head: &str, body: &str) -> Option<Answer> {
    let mut stream = TcpStream::connect(http).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let length = body.len();
    let text =
        format!("{head}Host: x\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}

/// A client, which tries nodes at random.
struct Client<'a> {
    number: u64,
    random: u64,
    nodes: &'a [String],
    began: Instant,
    /// The latest version that it has heard of, of each name.
    latest: Vec<Option<VersionId>>,
    asked: Vec<Vec<Asked<Entry>>>,
}

impl Client<'_> {
    /// Xorshift (G. Marsaglia, 2003).
    fn below(&mut self, limit: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % limit
    }

    fn now(&self) -> Time {
        Time::from_ns(u64::try_from(self.began.elapsed().as_nanos()).expect("soon"))
    }

    fn node(&mut self) -> String {
        let node = self.below(self.nodes.len() as u64);
        self.nodes[usize::try_from(node).expect("few")].clone()
    }

    fn run(mut self) -> Vec<Vec<Asked<Entry>>> {
        for round in 0..ROUNDS {
            let name = usize::try_from(self.below(NAMES)).expect("few");
            match self.below(5) {
                0 | 1 => self.read(name),
                kind => self.change(name, round, kind == 2),
            }
            thread::sleep(Duration::from_millis(self.below(300)));
        }
        self.asked
    }

    fn read(&mut self, name: usize) {
        let (began, node) = (self.now(), self.node());
        let answer = ask(&node, &format!("GET /v2/b/name-{name} HTTP/1.1\r\n"), "");
        let told = match answer {
            Some(answer) if answer.status == 200 => {
                let id = answer.version().expect("a version");
                self.latest[name] = Some(id);
                let object = Some(object(answer.body.parse().expect("a number")));
                Some(Version { id, is_null: true, object, deleted_at: None })
            }
            Some(answer) if answer.status == 404 => None,
            // It says nothing.
            _ => return,
        };
        let ended = self.now();
        self.asked[name].push(Asked { began, ended, what: What::Read(told) });
    }

    fn change(&mut self, name: usize, round: u64, deletes: bool) {
        let said = self.number << 32 | round;
        let (key, text) = (u128::from(said) << 64 | u128::from(said), said.to_string());
        let condition = match (self.below(4), self.latest[name]) {
            (0, _) => Condition::Absent,
            (1, Some(version)) => Condition::Is(version),
            (2, _) => Condition::Present,
            _ => Condition::Always,
        };
        let header = match condition {
            Condition::Always => String::new(),
            Condition::Absent => "If-None-Match: *\r\n".into(),
            Condition::Present => "If-Match: *\r\n".into(),
            Condition::Is(VersionId { change, salt }) => {
                format!("If-Match: \"{change}-{salt:016x}\"\r\n")
            }
        };
        let (method, body, operation) = match deletes {
            true => ("DELETE", "", Operation::Delete(0)),
            false => ("PUT", &text[..], Operation::Put(object(said))),
        };
        let head = format!(
            "{method} /v2/b/name-{name} HTTP/1.1\r\nIdempotency-Key: {key:032x}\r\n{header}"
        );
        let began = self.now();
        // Whoever is not told asks again, with the same key: it takes effect once.
        let told = (0..2).find_map(|_| {
            let node = self.node();
            outcome(&ask(&node, &head, body)?)
        });
        let ended = told.map_or(Time::NEVER, |_| self.now());
        if let Some(Outcome::Stored(version) | Outcome::ConditionFailed(Some(version))) = told {
            self.latest[name] = Some(version);
        }
        let (key, versioning) = (RequestKey(key), Versioning::Off);
        let request = Request { key, operation, condition, versioning, permit: Permit::default() };
        self.asked[name].push(Asked { began, ended, what: What::Change(request, told) });
    }
}

/// What an answer says of a change; nothing if what became of it is not known.
fn outcome(answer: &Answer) -> Option<Outcome> {
    match answer.status {
        200 if answer.body.contains("\"deleted\":true") => Some(Outcome::Deleted(None)),
        200 if answer.body.contains("\"deleted\":false") => Some(Outcome::NothingToDelete),
        200 | 201 => Some(Outcome::Stored(answer.version().expect("a version"))),
        412 => Some(Outcome::ConditionFailed(version_in(&answer.body))),
        status => {
            assert!(status >= 500, "{status}: {}", answer.body);
            None
        }
    }
}

/// The same, as if of two puts, one after the other, the second one had been carried out first.
fn with_two_swapped(mut history: Vec<Asked<Entry>>) -> Vec<Asked<Entry>> {
    let stored = |asked: &Asked<Entry>| match asked.what {
        What::Change(_, Some(Outcome::Stored(version))) => Some(version.change),
        _ => None,
    };
    let (first, a) = (0..history.len())
        .filter_map(|n| Some((n, stored(&history[n])?)))
        .min_by_key(|(n, _)| history[*n].ended)
        .expect("a put");
    let (last, b) = (0..history.len())
        .filter_map(|n| Some((n, stored(&history[n])?)))
        .max_by_key(|(n, _)| history[*n].began)
        .expect("a put");
    assert!(history[first].ended < history[last].began, "one after the other");
    for (place, now) in [(first, b), (last, a)] {
        if let What::Change(_, Some(Outcome::Stored(version))) = &mut history[place].what {
            version.change = now;
        }
    }
    history
}

/// Stops one node for a while, then kills another one and starts it again, and so on until all is over. Of three at most one
/// is away at a time.
fn harm(cluster: &mut Cluster, is_over: &AtomicBool) {
    for turn in 0.. {
        let node = turn % 3;
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        if turn % 2 == 0 {
            cluster.signal(node, "-STOP");
            thread::sleep(Duration::from_millis(900));
            cluster.signal(node, "-CONT");
        } else {
            cluster.kill(node);
            thread::sleep(Duration::from_millis(300));
            cluster.start(node);
            cluster.wait_for_peers(node, 2);
        }
        thread::sleep(Duration::from_millis(600));
    }
}

#[test]
fn what_clients_are_told_while_nodes_are_away_can_be_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(etcd) = Etcd::start(folder.path()) else { return };
    let hosts = cluster::loopback_hosts(3);
    // A node has its address again after a kill.
    let ports = cluster::loopback_hosts(3);
    let hosts: Vec<_> = hosts
        .into_iter()
        .zip(ports)
        .map(|(host, port)| cluster::Host { http: port.udp, ..host })
        .collect();
    let nodes: Vec<String> = hosts.iter().map(|host| host.http.clone()).collect();
    let mut cluster = Cluster::of_three_on(folder.path(), Some(&etcd), hosts);
    cluster.wait("there are voters", || cluster.run(0, &["mb", "slot://b"]).status.success());
    let (is_over, began) = (AtomicBool::new(false), Instant::now());
    let histories = thread::scope(|scope| {
        let clients: Vec<_> = (1..=CLIENTS)
            .map(|number| Client {
                number,
                random: 0x9e37_79b9_7f4a_7c15 ^ number << 7,
                nodes: &nodes,
                began,
                latest: vec![None; 2],
                asked: vec![Vec::new(), Vec::new()],
            })
            .map(|client| scope.spawn(|| client.run()))
            .collect();
        let harm = scope.spawn(|| harm(&mut cluster, &is_over));
        let asked: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        is_over.store(true, Ordering::Relaxed);
        harm.join().expect("faults are made");
        asked.into_iter().map(|asked| asked.expect("it asks")).collect::<Vec<_>>()
    });
    let mut answered = 0;
    for name in 0..2 {
        let history: Vec<_> =
            histories.iter().flat_map(|asked| asked[name].iter().cloned()).collect();
        answered += history.iter().filter(|asked| asked.ended != Time::NEVER).count();
        let mut order: Vec<_> = history.iter().collect();
        order.sort_by_key(|asked| asked.began);
        assert_eq!(is_explained(None, &history), Ok(true), "{order:#?}");
        assert_eq!(is_explained(None, &with_two_swapped(history)), Ok(false), "it judges");
    }
    eprintln!("{answered} of {} answered", CLIENTS * ROUNDS);
    // Most of them, though a node was away most of the time.
    assert!(answered as u64 > CLIENTS * ROUNDS / 2, "{answered}");
}
