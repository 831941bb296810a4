//! Nodes with names on a network that loses, repeats and reorders, and on storage that forgets what was not flushed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use slotcast_object::history::{Asked, What, is_explained};
use slotcast_object::{
    Acceptor, AcceptorEffect, BucketId, Condition, Entry, From, Key, ListRequest, Listed, Message,
    Name, NameAnswer, NameFailure, NameRequest, NameTimes, Names, NamesEffect, Object, Operation,
    Request, RequestKey, Rosters, RowsError, RowsOp, RowsOpId, RowsOutput, Version, Versioning,
    Voter, Voters,
};
use slotcast_protocol::{GroupId, GroupMap, TargetId};
use slotcast_random::{Stream, Streams};
use slotcast_units::{Span, Time};

const BUCKET: BucketId = BucketId(3);

/// What may happen to the cluster.
#[derive(Debug, Clone, Copy)]
struct Faults {
    /// Of a thousand messages so many are lost, and as many repeated.
    lost: u32,
    /// Every so many steps a node loses what is not on storage.
    crash_every: Option<u64>,
    /// Storage answers before it has flushed.
    lies: bool,
    /// The storage of this node hangs.
    hangs: Option<u32>,
}

/// The rows of a target: what is on storage, and what is not yet.
#[derive(Debug, Default)]
struct Rows {
    flushed: BTreeMap<Vec<u8>, Vec<u8>>,
    waiting: Vec<(RowsOpId, RowsOp)>,
    unflushed: Vec<RowsOp>,
}

impl Rows {
    fn carry_out(rows: &mut BTreeMap<Vec<u8>, Vec<u8>>, op: &RowsOp, store: u64) -> RowsOutput {
        match op {
            RowsOp::Open => RowsOutput::Opened(store),
            RowsOp::Get(key) => RowsOutput::Got(rows.get(key).cloned()),
            RowsOp::Write(writes) => {
                for (key, value) in writes {
                    match value {
                        Some(value) => drop(rows.insert(key.clone(), value.clone())),
                        None => drop(rows.remove(key)),
                    }
                }
                RowsOutput::Done
            }
            RowsOp::Scan { from, before, limit } => {
                let is_in = |key: &&Vec<u8>| before.as_ref().is_none_or(|before| *key < before);
                let mut found = rows.range(from.clone()..).take_while(|(key, _)| is_in(key));
                let first = found.by_ref().take(*limit as usize);
                let first = first.map(|(key, value)| (key.clone(), value.clone())).collect();
                RowsOutput::Scanned(first, found.next().is_none())
            }
            RowsOp::Clear => {
                rows.clear();
                RowsOutput::Done
            }
        }
    }

    fn end_next(&mut self, store: u64, lies: bool) -> Option<(RowsOpId, RowsOutput)> {
        if self.waiting.is_empty() {
            return None;
        }
        let (id, op) = self.waiting.remove(0);
        if lies && matches!(op, RowsOp::Write(_)) {
            self.unflushed.push(op);
            if self.unflushed.len() > 3 {
                self.flush(store);
            }
            return Some((id, RowsOutput::Done));
        }
        if matches!(op, RowsOp::Get(_) | RowsOp::Scan { .. }) && !self.unflushed.is_empty() {
            // What it lies about is there as long as it runs.
            let mut rows = self.flushed.clone();
            self.unflushed.iter().for_each(|op| drop(Rows::carry_out(&mut rows, op, store)));
            return Some((id, Rows::carry_out(&mut rows, &op, store)));
        }
        self.flush(store);
        Some((id, Rows::carry_out(&mut self.flushed, &op, store)))
    }

    fn flush(&mut self, store: u64) {
        for op in self.unflushed.drain(..) {
            let _ = Rows::carry_out(&mut self.flushed, &op, store);
        }
    }
}

struct Node {
    names: Names,
    acceptor: Acceptor,
    rows: Rows,
    /// What its clients wait for.
    asked: BTreeMap<u64, (Time, usize)>,
}

struct Cluster {
    random: Stream,
    now: Time,
    groups: GroupMap,
    rosters: Rosters,
    faults: Faults,
    nodes: Vec<Node>,
    /// Messages on their way: when they come, from whom, to whom.
    post: Vec<(Time, u32, u32, Message)>,
    begun: u64,
    lives: u64,
    listed: Vec<(Time, Listed)>,
    /// Of each name what was asked and told.
    histories: Vec<Vec<Asked<Entry>>>,
    answered: usize,
    given_up: usize,
}

fn key(n: usize) -> Key {
    Key::of(BUCKET, 2, Name::new(format!("name-{n}")).expect("a name"))
}

fn store(node: u32) -> u64 {
    100 + u64::from(node)
}

const TIMES: NameTimes = NameTimes {
    patience: Span::from_ms(20),
    silence: Span::from_secs(1),
    most: Span::from_secs(5),
    stores: Span::from_secs(1),
    deletions: Span::from_secs(3600),
};

impl Cluster {
    fn new(seed: u64, nodes: u32, names: usize, faults: Faults) -> Cluster {
        let voter = |n| Voter { target: TargetId(n), store: store(n), joined: 1 };
        let voters: Vec<Voter> = (0..nodes).map(voter).collect();
        let voters = Voters::alone(1, &voters).expect("voters");
        let rosters =
            Rosters { epoch: 1, groups: [(GroupId(0), voters)].into(), ..Rosters::default() };
        let mut cluster = Cluster {
            random: Streams::new(seed).stream("cluster", 0),
            now: Time::from_ns(1_000_000_000),
            groups: GroupMap::new(nodes, nodes, 1).expect("a group"),
            rosters,
            faults,
            nodes: Vec::new(),
            post: Vec::new(),
            begun: 0,
            lives: 0,
            listed: Vec::new(),
            histories: vec![Vec::new(); names],
            answered: 0,
            given_up: 0,
        };
        for n in 0..nodes {
            let (names, acceptor) = cluster.start(n);
            let mut rows = Rows::default();
            rows.waiting.push((RowsOpId(0), RowsOp::Open));
            cluster.nodes.push(Node { names, acceptor, rows, asked: BTreeMap::new() });
        }
        cluster
    }

    fn start(&mut self, node: u32) -> (Names, Acceptor) {
        self.lives += 1;
        let salt = self.lives << 8 | u64::from(node);
        let mut names = Names::new(TIMES, salt, self.lives << 32);
        names.learn(self.now, self.rosters.clone(), &self.groups, &mut Vec::new());
        let mut effects = Vec::new();
        let acceptor = Acceptor::open(TargetId(node), &mut effects);
        assert_eq!(effects, [AcceptorEffect::Rows(RowsOpId(0), RowsOp::Open)]);
        (names, acceptor)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn step(&mut self) {
        self.now += Span::from_us(100 + self.random.below(400));
        for n in 0..self.nodes.len() {
            self.run_node(n);
        }
        let (due, later): (Vec<_>, Vec<_>) =
            core::mem::take(&mut self.post).into_iter().partition(|(at, ..)| *at <= self.now);
        self.post = later;
        for (_, from, to, message) in due {
            self.deliver(from, to, message);
        }
        if self.faults.crash_every.is_some_and(|every| self.random.below(every) == 0) {
            self.crash();
        }
    }

    fn run_node(&mut self, n: usize) {
        let node = u32::try_from(n).expect("few");
        let mut effects = Vec::new();
        if self.nodes[n].names.wakes_at() <= self.now {
            self.nodes[n].names.wake(self.now, &self.groups, &mut effects);
        }
        self.names_effects(n, effects);
        if self.random.below(3) > 0
            && self.faults.hangs != Some(node)
            && let Some((id, output)) = self.nodes[n].rows.end_next(store(node), self.faults.lies)
        {
            let mut effects = Vec::new();
            let acceptor = &mut self.nodes[n].acceptor;
            acceptor.ended(id, Ok::<_, RowsError>(output), &mut effects);
            self.acceptor_effects(n, effects);
        }
    }

    fn deliver(&mut self, from: u32, to: u32, message: Message) {
        let n = to as usize;
        match message {
            Message::Question(question) => {
                let mut effects = Vec::new();
                self.nodes[n].acceptor.ask(from, question, &mut effects);
                self.acceptor_effects(n, effects);
            }
            Message::Answer(answer) => {
                let mut effects = Vec::new();
                self.nodes[n].names.answered(self.now, answer, &self.groups, &mut effects);
                self.names_effects(n, effects);
            }
            Message::WhichStores | Message::Stores(_) | Message::Garbage(_) => {}
        }
    }

    fn acceptor_effects(&mut self, n: usize, effects: Vec<AcceptorEffect>) {
        let node = u32::try_from(n).expect("few");
        for effect in effects {
            match effect {
                AcceptorEffect::Rows(id, op) => self.nodes[n].rows.waiting.push((id, op)),
                AcceptorEffect::Answer(to, answer) => self.send(node, to, &Message::Answer(answer)),
                AcceptorEffect::Changed => {
                    let voters = self.rosters.of(GroupId(0)).expect("voters").clone();
                    let mut effects = Vec::new();
                    self.nodes[n].acceptor.learn((self.rosters.epoch, 0), &voters, &mut effects);
                    self.acceptor_effects(n, effects);
                }
            }
        }
    }

    fn names_effects(&mut self, n: usize, effects: Vec<NamesEffect>) {
        let node = u32::try_from(n).expect("few");
        for effect in effects {
            match effect {
                NamesEffect::Ask(question) => {
                    let to = question.to.target.0;
                    self.send(node, to, &Message::Question(question));
                }
                NamesEffect::Answer(number, answer) => self.told(n, number, answer),
                NamesEffect::Moved(..) => {}
                NamesEffect::Touch(..) => unreachable!("all content is in the registers"),
            }
        }
    }

    fn send(&mut self, from: u32, to: u32, message: &Message) {
        // As it is on the wire.
        let message = Message::decode(&message.encode()).expect("a message");
        let lost = u64::from(self.faults.lost);
        if self.below(1000) < lost {
            return;
        }
        let copies = if self.below(1000) < lost { 2 } else { 1 };
        for _ in 0..copies {
            let at = self.now + Span::from_us(50 + self.random.below(5000));
            self.post.push((at, from, to, message.clone()));
        }
    }

    fn told(&mut self, n: usize, number: u64, answer: NameAnswer) {
        let Some((_, name)) = self.nodes[n].asked.remove(&number) else { return };
        let now = self.now;
        if let NameAnswer::Listed(listed) = answer {
            self.listed.push((now, listed));
            return;
        }
        let history = &mut self.histories[name];
        let place = history.iter().position(|asked| asked_number(asked) == number);
        let place = place.expect("it was asked");
        self.given_up += usize::from(matches!(answer, NameAnswer::Failed(_)));
        match answer {
            NameAnswer::Changed(outcome) => {
                self.answered += 1;
                history[place].ended = now;
                if let What::Change(_, told) = &mut history[place].what {
                    *told = Some(outcome);
                }
            }
            NameAnswer::Says(record) => {
                self.answered += 1;
                let head = record.and_then(|record| record.head().cloned());
                history[place].ended = now;
                history[place].what = What::Read(head);
            }
            NameAnswer::Failed(NameFailure::Unavailable | NameFailure::Overtaken) => {
                drop(history.remove(place));
            }
            NameAnswer::Failed(NameFailure::Unknown | NameFailure::Missing)
            | NameAnswer::Listed(_)
            | NameAnswer::Roots(_) => {}
        }
    }

    /// A client asks something of one name.
    fn ask(&mut self) {
        self.begun += 1;
        let (number, now) = (self.begun, self.now);
        let n = self.below(self.nodes.len() as u64) as usize;
        let name = self.below(self.histories.len() as u64) as usize;
        let condition = match self.below(4) {
            0 => Condition::Absent,
            1 => Condition::Present,
            _ => Condition::Always,
        };
        let object = Object { size: number, ..Object::default() };
        let operation = match self.below(6) {
            0 => Some(Operation::Delete(0)),
            1 | 2 => None,
            _ => Some(Operation::Put(Entry::Object(object))),
        };
        let request = operation.map(|operation| Request {
            key: RequestKey(u128::from(number) << 64 | u128::from(number)),
            operation,
            condition,
            versioning: Versioning::Off,
            permit: slotcast_object::Permit::default(),
        });
        let what = match &request {
            Some(request) => What::Change(request.clone(), None),
            // Marked with its number until it is answered.
            None => What::Read(Some(Version {
                id: slotcast_object::VersionId { change: 0, salt: number },
                is_null: false,
                object: None,
                deleted_at: None,
            })),
        };
        self.histories[name].push(Asked { began: now, ended: Time::NEVER, what });
        self.nodes[n].asked.insert(number, (now, name));
        let request = match request {
            Some(request) => NameRequest::Update(key(name), request, None),
            None => NameRequest::Read(key(name)),
        };
        let mut effects = Vec::new();
        self.nodes[n].names.begin(now, number, request, &self.groups, &mut effects);
        self.names_effects(n, effects);
    }

    fn list(&mut self, n: usize, from: From, limit: u32) {
        self.begun += 1;
        let request = ListRequest {
            bucket: BUCKET,
            slots: 2,
            prefix: String::new(),
            delimiter: None,
            from,
            limit,
            versions: false,
            fences: false,
        };
        self.nodes[n].asked.insert(self.begun, (self.now, 0));
        let mut effects = Vec::new();
        let request = NameRequest::List(request);
        self.nodes[n].names.begin(self.now, self.begun, request, &self.groups, &mut effects);
        self.names_effects(n, effects);
    }

    fn crash(&mut self) {
        let n = self.below(self.nodes.len() as u64) as usize;
        let node = u32::try_from(n).expect("few");
        let (names, acceptor) = self.start(node);
        let dead = &mut self.nodes[n];
        (dead.names, dead.acceptor) = (names, acceptor);
        dead.asked.clear();
        dead.rows.unflushed.clear();
        // Of what was under way some may have been flushed.
        let kept = self.random.below(1 + dead.rows.waiting.len() as u64) as usize;
        for (_, op) in dead.rows.waiting.drain(..).take(kept) {
            if matches!(op, RowsOp::Write(_) | RowsOp::Clear) && !self.faults.lies {
                let _ = Rows::carry_out(&mut dead.rows.flushed, &op, store(node));
            }
        }
        dead.rows.waiting.push((RowsOpId(0), RowsOp::Open));
    }

    /// Until nobody waits for anything.
    fn quiet(&mut self) {
        self.faults = Faults { lost: 0, crash_every: None, ..self.faults };
        for _ in 0..100_000 {
            if self.nodes.iter().all(|node| node.asked.is_empty()) {
                return;
            }
            self.step();
        }
        panic!("some are never answered");
    }

    fn is_explained(&self) -> bool {
        // A read that nobody answered says nothing.
        let counts = |asked: &&Asked<Entry>| {
            asked.ended != Time::NEVER || matches!(asked.what, What::Change(..))
        };
        self.histories.iter().all(|history| {
            let history: Vec<Asked<Entry>> = history.iter().filter(counts).cloned().collect();
            is_explained(None, &history).expect("few are under way")
        })
    }
}

/// The number of a request that was not answered yet.
fn asked_number(asked: &Asked<Entry>) -> u64 {
    match &asked.what {
        _ if asked.ended != Time::NEVER => 0,
        What::Change(request, _) => u64::try_from(request.key.0 >> 64).expect("half of it"),
        What::Read(marked) => marked.as_ref().map_or(0, |version| version.id.salt),
    }
}

/// Some clients for a while, then quiet. Gives how many were answered, and whether all can be explained.
fn run(seed: u64, nodes: u32, faults: Faults) -> (usize, bool) {
    let mut cluster = Cluster::new(seed, nodes, 2, faults);
    for step in 0..600 {
        if step % 12 == 0 {
            cluster.ask();
        }
        cluster.step();
    }
    cluster.quiet();
    (cluster.answered, cluster.is_explained())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_clients_are_told_can_be_explained(seed in any::<u64>(), lost in 0u32..200) {
        let faults = Faults { lost, crash_every: Some(150), lies: false, hangs: None };
        let (_, is_explained) = run(seed, 3, faults);
        prop_assert!(is_explained);
    }
}

#[test]
fn most_requests_are_answered() {
    let faults = Faults { lost: 20, crash_every: None, lies: false, hangs: None };
    let answered: usize = (0..20).map(|seed| run(seed, 5, faults).0).sum();
    assert!(answered > 20 * 50 * 9 / 10, "{answered} of 1000");
}

/// With three voters, one of them silent, the other two must agree: also when each has promised to somebody else.
#[test]
fn a_voter_that_is_silent_for_good_keeps_nobody_from_an_answer() {
    for seed in 0..20 {
        let faults = Faults { lost: 0, crash_every: None, lies: false, hangs: Some(2) };
        let mut cluster = Cluster::new(seed, 3, 1, faults);
        for step in 0..600 {
            if step % 40 == 0 {
                cluster.ask();
            }
            cluster.step();
        }
        cluster.quiet();
        assert_eq!(cluster.given_up, 0, "seed {seed}: {} were answered", cluster.answered);
        assert!(cluster.is_explained());
    }
}

#[test]
fn storage_that_lies_about_what_it_has_flushed_is_found_out() {
    let faults = Faults { lost: 20, crash_every: Some(60), lies: true, hangs: None };
    let found = (0..300).find(|seed| !run(*seed, 3, faults).1);
    assert!(found.is_some());
}

#[test]
fn a_listing_has_all_that_was_acknowledged_in_order() {
    for seed in 0..20 {
        let faults = Faults { lost: 50, crash_every: Some(400), lies: false, hangs: None };
        let mut cluster = Cluster::new(seed, 3, 40, faults);
        for step in 0..1500 {
            if step % 5 == 0 {
                cluster.ask();
            }
            cluster.step();
        }
        cluster.quiet();
        let limit = 1 + u32::try_from(cluster.below(12)).expect("small");
        let (mut from, mut names) = (From::Start, Vec::new());
        loop {
            cluster.list(0, from, limit);
            cluster.quiet();
            let (_, listed) = cluster.listed.pop().expect("it was listed");
            assert!(listed.names.len() <= limit as usize);
            names.extend(listed.names.into_iter().map(|listed| listed.name));
            match listed.next {
                Some(next) => from = next,
                None => break,
            }
        }
        assert!(names.is_sorted_by(|a, b| a < b), "{names:?}");
        let names: BTreeSet<Name> = names.into_iter().collect();
        for n in 0..40 {
            cluster.begun += 1;
            let (number, now) = (cluster.begun, cluster.now);
            cluster.histories[n].push(Asked {
                began: now,
                ended: Time::NEVER,
                what: What::Read(Some(Version {
                    id: slotcast_object::VersionId { change: 0, salt: number },
                    is_null: false,
                    object: None,
                    deleted_at: None,
                })),
            });
            cluster.nodes[1].asked.insert(number, (now, n));
            let mut effects = Vec::new();
            let request = NameRequest::Read(key(n));
            let groups = cluster.groups.clone();
            cluster.nodes[1].names.begin(now, number, request, &groups, &mut effects);
            cluster.names_effects(1, effects);
            cluster.quiet();
            let says = match &cluster.histories[n].last().expect("it was asked").what {
                What::Read(says) => says.is_some(),
                What::Change(..) => unreachable!("a read"),
            };
            assert_eq!(names.contains(&key(n).name), says, "seed {seed}, name {n}");
        }
        assert!(cluster.is_explained());
    }
}
