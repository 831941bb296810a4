//! Buckets that are removed while objects are put into them, by clients that rely on what a bucket said when it was made.

use std::collections::BTreeMap;

use slotcast_engine::{Agenda, Stream, Streams};
use slotcast_member::{ChangeRequest, Input, Request, RequestNumber};
use slotcast_object::{
    Body, Bucket, BucketId, Condition, Entry, Guard, Key, ListRequest, Name, NameAnswer, Object,
    Operation, Outcome, Permit, RequestKey, VersionId, Versioning,
};
use slotcast_units::{Span, Time};

use super::cluster::Cluster;
use super::event::Event;

/// Numbers of buckets begin here.
const FIRST: u64 = 1000;

/// Names of a bucket.
const NAMES: u64 = 2;

/// Within this time after a bucket was made all of its puts begin, and its removal.
const SPAN_OF_BUCKET: Span = Span::from_us(600);

/// How often a client asks for the same again when an answer was lost.
const MAX_TRIES: u8 = 3;

/// What is asked about a bucket.
#[derive(Debug, Clone)]
enum Step {
    Make,
    /// An object is put: the request is the same in each try.
    Put(Box<(Key, ChangeRequest)>, u8),
    Seal,
    /// Whether anything is in it, from here on; the seal has this version.
    Look(slotcast_object::From, VersionId),
    Delete(VersionId),
}

/// A bucket, as its clients know it.
#[derive(Debug)]
struct Removal {
    key: Key,
    id: BucketId,
    /// The version in which it was made.
    made: Option<VersionId>,
    /// Objects of which a client was told that they are stored.
    stored: u32,
    is_removed: bool,
}

/// The clients that put into buckets, and remove them.
#[derive(Debug)]
pub(super) struct Removals {
    all: Vec<Removal>,
    running: BTreeMap<RequestNumber, (usize, u32, Step)>,
    chance: Stream,
}

impl Removals {
    pub(super) fn new(streams: &Streams) -> Removals {
        let chance = streams.stream("removals", 0);
        Removals { all: Vec::new(), running: BTreeMap::new(), chance }
    }

    /// Whether no client waits for anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.running.is_empty()
    }

    /// Whether this is a request of theirs.
    pub(super) fn has(&self, number: RequestNumber) -> bool {
        self.running.contains_key(&number)
    }

    fn key(&mut self) -> RequestKey {
        let (high, low) = (self.chance.next_u64(), self.chance.next_u64());
        RequestKey(u128::from(high) << 64 | u128::from(low))
    }
}

impl Cluster {
    /// Buckets are made in this wave.
    pub(super) fn spread_buckets(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for _ in 0..self.plan.buckets {
            let after = Span::from_ns(self.removals.chance.below(self.plan.wave.as_ns()));
            agenda.at(now + after, Event::MakeBucket);
        }
    }

    /// A bucket is made.
    pub(super) fn make_bucket(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let number = self.removals.all.len() as u64;
        let name = Name::new(format!("bucket-{number}")).expect("a name");
        let (key, id) = (Key::of(BucketId::ROOT, 1, name), BucketId(FIRST + number));
        self.removals.all.push(Removal { key, id, made: None, stored: 0, is_removed: false });
        self.ask_of_bucket(now, self.removals.all.len() - 1, Step::Make, agenda);
    }

    /// An object is put into a bucket, or its removal begins.
    pub(super) fn use_bucket(
        &mut self,
        now: Time,
        (bucket, seals): (usize, bool),
        agenda: &mut Agenda<Event>,
    ) {
        if seals {
            return self.ask_of_bucket(now, bucket, Step::Seal, agenda);
        }
        let name = format!("name-{}", self.removals.chance.below(NAMES));
        let place = Key::of(self.removals.all[bucket].id, 1, Name::new(name).expect("a name"));
        let key = self.removals.key();
        let body = match self.removals.chance.below(2) {
            0 => Body::inline(key.0.to_le_bytes().to_vec().into()),
            _ => {
                let content = self.catalogue.add(self.plan.longest);
                self.names.chunks.insert(content.chunk(), 1);
                Body::Chunk(content.chunk())
            }
        };
        let operation = Operation::Put(Entry::Object(Object { body, ..Object::default() }));
        let (condition, versioning) = (Condition::Always, Versioning::Off);
        let permit = Permit::default();
        let request = ChangeRequest { key, operation, condition, versioning, permit };
        self.ask_of_bucket(now, bucket, Step::Put(Box::new((place, request)), 0), agenda);
    }

    fn ask_of_bucket(&mut self, now: Time, bucket: usize, step: Step, agenda: &mut Agenda<Event>) {
        let up: Vec<u32> =
            (0..).zip(&self.nodes).filter(|(_, host)| host.keeps_names()).map(|(n, _)| n).collect();
        let which = self.removals.chance.below(up.len().max(1) as u64);
        let Some(&node) = up.get(usize::try_from(which).expect("an index")) else { return };
        let own_key = self.removals.key();
        let of = &self.removals.all[bucket];
        let change = |operation, condition| ChangeRequest {
            key: own_key,
            operation,
            condition,
            versioning: Versioning::Off,
            permit: Permit::default(),
        };
        let says = |is_sealed| Entry::Bucket(Bucket { id: of.id, is_sealed, ..Bucket::ROOT });
        let update = |change| {
            Request::Names(slotcast_object::NameRequest::Update(of.key.clone(), change, None))
        };
        let request = match &step {
            Step::Make => update(change(Operation::Put(says(false)), Condition::Absent)),
            Step::Seal => {
                let Some(made) = of.made else { return };
                update(change(Operation::Put(says(true)), Condition::Is(made)))
            }
            Step::Delete(sealed) => update(change(Operation::Delete(0), Condition::Is(*sealed))),
            Step::Look(from, _) => {
                let request = ListRequest {
                    bucket: of.id,
                    slots: 1,
                    prefix: String::new(),
                    delimiter: None,
                    from: from.clone(),
                    limit: 1,
                    versions: true,
                    fences: true,
                };
                Request::Names(slotcast_object::NameRequest::List(request))
            }
            Step::Put(put, _) => {
                let Some(version) = of.made else { return };
                let guard = Some(Guard { key: of.key.clone(), version });
                let (place, request) = (**put).clone();
                let chunk = match &request.operation {
                    Operation::Put(Entry::Object(Object { body: Body::Chunk(chunk), .. })) => {
                        self.catalogue.index_of(chunk)
                    }
                    _ => None,
                };
                match chunk.map(|chunk| self.catalogue.get(chunk).clone()) {
                    Some(content) => {
                        Request::PutNamed(content, Some(1), Box::new((place, request, guard)))
                    }
                    None => {
                        Request::Names(slotcast_object::NameRequest::Update(place, request, guard))
                    }
                }
            }
        };
        self.asked += 1;
        let number = RequestNumber(self.asked);
        self.removals.running.insert(number, (bucket, node, step));
        self.tell(now, node, Input::Request(number, request), agenda);
    }

    /// One of these requests is answered; without an answer it is known that nothing was changed.
    pub(super) fn bucket_answered(
        &mut self,
        now: Time,
        number: RequestNumber,
        answer: Option<NameAnswer>,
        agenda: &mut Agenda<Event>,
    ) {
        let Some((bucket, _, step)) = self.removals.running.remove(&number) else { return };
        match (step, answer) {
            (Step::Make, Some(NameAnswer::Changed(Outcome::Stored(version)))) => {
                self.removals.all[bucket].made = Some(version);
                let number = u32::try_from(bucket).expect("few");
                let puts = 1 + self.removals.chance.below(5);
                for seals in (0..puts).map(|_| false).chain([true]) {
                    let within = self.removals.chance.below(SPAN_OF_BUCKET.as_ns());
                    let event = Event::UseBucket { bucket: number, seals };
                    agenda.at(now + Span::from_ns(within), event);
                }
            }
            (Step::Put(..), Some(NameAnswer::Changed(Outcome::Stored(_)))) => {
                self.removals.all[bucket].stored += 1;
                self.report.stored_in_buckets += 1;
                self.check_removal(now, bucket);
            }
            (Step::Put(put, tries), Some(NameAnswer::Failed(_))) => {
                self.put_in_bucket_again(now, bucket, (put, tries), agenda);
            }
            (Step::Seal, Some(NameAnswer::Changed(Outcome::Stored(sealed)))) => {
                let step = Step::Look(slotcast_object::From::Start, sealed);
                self.ask_of_bucket(now, bucket, step, agenda);
            }
            (Step::Look(_, sealed), Some(NameAnswer::Listed(listed))) => {
                let next = match (listed.names.is_empty(), listed.next) {
                    (false, _) => return,
                    (true, Some(from)) => Step::Look(from, sealed),
                    (true, None) => Step::Delete(sealed),
                };
                self.ask_of_bucket(now, bucket, next, agenda);
            }
            (Step::Delete(_), Some(NameAnswer::Changed(Outcome::Deleted(_)))) => {
                self.removals.all[bucket].is_removed = true;
                self.report.buckets_removed += 1;
                self.check_removal(now, bucket);
            }
            _ => {}
        }
    }

    fn put_in_bucket_again(
        &mut self,
        now: Time,
        bucket: usize,
        (put, tries): (Box<(Key, ChangeRequest)>, u8),
        agenda: &mut Agenda<Event>,
    ) {
        if tries < MAX_TRIES && !self.is_calm && self.plan.asks_again() {
            self.ask_of_bucket(now, bucket, Step::Put(put, tries + 1), agenda);
        }
    }

    fn check_removal(&mut self, now: Time, bucket: usize) {
        let of = &self.removals.all[bucket];
        if of.is_removed && of.stored > 0 {
            let what = format!(
                "at {now} bucket {} was removed as empty, and {} objects in it were acknowledged",
                of.id.0, of.stored
            );
            self.report.violated(what);
        }
    }

    /// What these clients have asked of a node is lost: its power has failed.
    pub(super) fn lose_bucket_answers(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let running = std::mem::take(&mut self.removals.running);
        let (lost, kept) = running.into_iter().partition(|(_, (_, asked, _))| *asked == node);
        self.removals.running = kept;
        let lost: BTreeMap<RequestNumber, (usize, u32, Step)> = lost;
        for (bucket, _, step) in lost.into_values() {
            if let Step::Put(put, tries) = step {
                self.put_in_bucket_again(now, bucket, (put, tries), agenda);
            }
        }
    }
}
