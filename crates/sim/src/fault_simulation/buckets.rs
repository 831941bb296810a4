//! Buckets that are made, used and removed at the same time, by clients of several nodes: objects are put into them, and
//! uploaded in parts; uploads are completed and aborted.

use slotcast_engine::{Agenda, Streams};
use slotcast_object::client::{self, NewBucket};
use slotcast_object::{Body, Bucket, BucketId, Key, Name, RequestKey, Versioning};
use slotcast_store::Content;
use slotcast_units::{Span, Time};

use super::Mistake;
use super::clients::{ClientOf, Clients};
use super::cluster::Cluster;
use super::errands::{abort_uploads, bodies_in, end_of, put_object, upload};
use super::event::Event;

/// Names of a bucket.
const NAMES: u64 = 2;

/// Within this time after a bucket was made all that uses it begins, and its removal.
const SPAN_OF_BUCKET: Span = Span::from_us(600);

/// How often a client asks for the same again when an answer was lost.
const MAX_TRIES: u8 = 3;

/// Parts of an upload, at most.
const MAX_PARTS: u64 = 3;

/// Numbers of their uploads begin here: those of others are smaller.
const FIRST_UPLOAD: u64 = 1 << 32;

/// What is done with a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    Put,
    Upload,
    /// Uploads that are found are aborted, and what others have left of some is ended.
    Abort,
    Remove,
}

/// An object that is put: the request is the same in each try.
#[derive(Debug, Clone)]
pub(super) struct ToStore {
    pub(super) name: Name,
    pub(super) key: RequestKey,
    pub(super) content: Result<Content, Vec<u8>>,
    tries: u8,
}

/// What a client is at, with the bucket of this number.
#[derive(Debug, Clone)]
pub(super) enum Errand {
    Make(usize),
    Put(usize, ToStore),
    Upload(usize, bool),
    Abort,
    Remove(usize),
    /// What is in it, in a calm.
    Survey(usize),
}

/// How that ends.
#[derive(Debug)]
pub(super) enum End {
    Done,
    Made(BucketId),
    /// Nothing is known of what was asked for last.
    Failed,
    /// It was refused, for good.
    Refused,
    Found(Vec<Body>),
}

/// A bucket, as its clients know it.
#[derive(Debug)]
struct Used {
    name: Name,
    /// Its number, once a client was told that it is made.
    id: Option<BucketId>,
    /// Objects of which a client was told that they are stored.
    stored: u32,
    is_removed: bool,
}

/// The clients that use buckets.
#[derive(Debug)]
pub(super) struct Buckets {
    all: Vec<Used>,
    pub(super) clients: Clients,
    chance: slotcast_engine::Stream,
    uploads: u64,
}

impl Buckets {
    pub(super) fn new(streams: &Streams, mistake: Option<Mistake>) -> Buckets {
        let (chance, of_clients) = (streams.stream("buckets", 0), streams.stream("buckets", 1));
        let clients = Clients::new(of_clients, mistake == Some(Mistake::IgnoresSeals));
        Buckets { all: Vec::new(), clients, chance, uploads: 0 }
    }
}

impl Cluster {
    /// Buckets are made in this wave.
    pub(super) fn spread_buckets(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for _ in 0..self.plan.buckets {
            let after = Span::from_ns(self.buckets.chance.below(self.plan.wave.as_ns()));
            agenda.at(now + after, Event::MakeBucket);
        }
    }

    /// A bucket is made.
    pub(super) fn make_bucket(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let number = self.buckets.all.len();
        let name = Name::new(format!("bucket-{number}")).expect("a name");
        let key = self.buckets.clients.new_key();
        self.buckets.all.push(Used { name: name.clone(), id: None, stored: 0, is_removed: false });
        let Some(node) = self.some_node() else { return };
        let run = async move |at: ClientOf| {
            let wanted = NewBucket { replicas: Some(1), ..NewBucket::from(Versioning::Off) };
            match client::make_bucket(&at, &name, (key, 1), wanted).await {
                Ok(made) => End::Made(made.bucket.id),
                Err(error) => end_of(&Err(error)),
            }
        };
        self.begin_client(now, (node, Errand::Make(number)), run, agenda);
    }

    /// A node that answers requests about names.
    fn some_node(&mut self) -> Option<u32> {
        let up = self.nodes_with_names();
        let which = self.buckets.chance.below(up.len().max(1) as u64);
        up.get(usize::try_from(which).expect("an index")).copied()
    }

    /// Something is done with a bucket.
    pub(super) fn use_bucket(
        &mut self,
        now: Time,
        (bucket, what): (usize, Use),
        agenda: &mut Agenda<Event>,
    ) {
        match what {
            Use::Put => {
                let name = self.name_in_bucket();
                let key = self.buckets.clients.new_key();
                let content = match self.buckets.chance.below(2) {
                    0 => Err(key.0.to_le_bytes().to_vec()),
                    _ => Ok(self.content_of_bucket()),
                };
                let put = ToStore { name, key, content, tries: 0 };
                self.put_in_bucket(now, bucket, put, agenda);
            }
            Use::Upload => self.upload_into_bucket(now, bucket, agenda),
            Use::Abort => {
                let Some(node) = self.some_node() else { return };
                let name = self.buckets.all[bucket].name.clone();
                let run = async move |at: ClientOf| end_of(&abort_uploads(&at, &name).await);
                self.begin_client(now, (node, Errand::Abort), run, agenda);
            }
            Use::Remove => {
                let Some(node) = self.some_node() else { return };
                let (name, key) =
                    (self.buckets.all[bucket].name.clone(), self.buckets.clients.new_key());
                let run =
                    async move |at: ClientOf| end_of(&client::remove_bucket(&at, &name, key).await);
                self.begin_client(now, (node, Errand::Remove(bucket)), run, agenda);
            }
        }
    }

    fn name_in_bucket(&mut self) -> Name {
        Name::new(format!("name-{}", self.buckets.chance.below(NAMES))).expect("a name")
    }

    fn content_of_bucket(&mut self) -> Content {
        let content = self.catalogue.add(self.plan.longest);
        self.names.chunks.insert(content.chunk(), 1);
        content
    }

    fn put_in_bucket(
        &mut self,
        now: Time,
        bucket: usize,
        put: ToStore,
        agenda: &mut Agenda<Event>,
    ) {
        let Some(node) = self.some_node() else { return };
        let (name, what) = (self.buckets.all[bucket].name.clone(), put.clone());
        let run = async move |at: ClientOf| end_of(&put_object(&at, &name, &what).await);
        self.begin_client(now, (node, Errand::Put(bucket, put)), run, agenda);
    }

    fn upload_into_bucket(&mut self, now: Time, bucket: usize, agenda: &mut Agenda<Event>) {
        let Some(node) = self.some_node() else { return };
        let name = self.name_in_bucket();
        let completes = self.buckets.chance.chance(0.7);
        let count = 1 + self.buckets.chance.below(MAX_PARTS);
        let parts: Vec<Content> = (0..count).map(|_| self.content_of_bucket()).collect();
        let list = self.list_of(parts.iter());
        self.names.chunks.insert(list.chunk(), 1);
        self.buckets.uploads += 1;
        let number = FIRST_UPLOAD + self.buckets.uploads;
        let of = self.buckets.all[bucket].name.clone();
        let run = async move |at: ClientOf| {
            let what = (&parts[..], completes.then_some(&list), number);
            end_of(&upload(&at, (&of, &name), what).await)
        };
        self.begin_client(now, (node, Errand::Upload(bucket, completes)), run, agenda);
    }

    /// A client is done.
    pub(super) fn errand_ended(
        &mut self,
        now: Time,
        errand: Errand,
        end: End,
        agenda: &mut Agenda<Event>,
    ) {
        match (errand, end) {
            (Errand::Make(bucket), End::Made(id)) => {
                self.buckets.all[bucket].id = Some(id);
                self.bucket_is_made(now, bucket, agenda);
            }
            (Errand::Put(bucket, _), End::Done) => {
                self.buckets.all[bucket].stored += 1;
                self.report.stored_in_buckets += 1;
                self.check_removal(now, bucket);
            }
            (Errand::Put(bucket, put), End::Failed) => {
                self.put_in_bucket_again(now, bucket, put, agenda);
            }
            (Errand::Upload(bucket, completes), End::Done) => {
                self.report.uploads_ended += 1;
                self.buckets.all[bucket].stored += u32::from(completes);
                self.check_removal(now, bucket);
            }
            (Errand::Remove(bucket), End::Done) => {
                self.buckets.all[bucket].is_removed = true;
                self.report.buckets_removed += 1;
                self.check_removal(now, bucket);
            }
            (Errand::Survey(_), End::Found(bodies)) => self.check_content_of(now, bodies, agenda),
            (Errand::Survey(bucket), end) => {
                let name = &self.buckets.all[bucket].name;
                self.report
                    .violated(format!("at {now} in a calm {name} cannot be listed: {end:?}"));
            }
            _ => {}
        }
    }

    fn bucket_is_made(&mut self, now: Time, bucket: usize, agenda: &mut Agenda<Event>) {
        let number = u32::try_from(bucket).expect("few");
        let puts = 1 + self.buckets.chance.below(5);
        let uploads = self.buckets.chance.below(3);
        let aborts = u64::from(uploads > 0 && self.buckets.chance.chance(0.5));
        let all =
            [(Use::Put, puts), (Use::Upload, uploads), (Use::Abort, aborts), (Use::Remove, 1)];
        for (what, count) in all {
            for _ in 0..count {
                let within = self.buckets.chance.below(SPAN_OF_BUCKET.as_ns());
                let event = Event::UseBucket { bucket: number, what };
                agenda.at(now + Span::from_ns(within), event);
            }
        }
    }

    fn put_in_bucket_again(
        &mut self,
        now: Time,
        bucket: usize,
        put: ToStore,
        agenda: &mut Agenda<Event>,
    ) {
        if put.tries < MAX_TRIES && !self.is_calm && self.plan.asks_again() {
            let again = ToStore { tries: put.tries + 1, ..put };
            self.put_in_bucket(now, bucket, again, agenda);
        }
    }

    fn check_removal(&mut self, now: Time, bucket: usize) {
        let Used { name, stored, is_removed, .. } = &self.buckets.all[bucket];
        if *is_removed && *stored > 0 {
            let what = format!(
                "at {now} {name} was removed as empty, and {stored} objects in it were acknowledged"
            );
            self.report.violated(what);
        }
    }

    /// What the clients of a node were at is lost: its power has failed.
    pub(super) fn lose_clients(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        for errand in self.buckets.clients.lose(node) {
            if let Errand::Put(bucket, put) = errand {
                self.put_in_bucket_again(now, bucket, put, agenda);
            }
        }
    }

    /// Looks what is in the buckets that are still there: all of that must be there until names are changed again.
    pub(super) fn survey_buckets(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for bucket in 0..self.buckets.all.len() {
            let Used { name, id, stored, .. } = &self.buckets.all[bucket];
            let Some(id) = id.filter(|_| *stored > 0) else { continue };
            let keys = [
                Key::of(BucketId::ROOT, Bucket::ROOT.slots, name.clone()),
                Key::of(id, 1, name.clone()),
            ];
            if !keys.iter().all(|key| self.has_majority(key)) {
                continue;
            }
            let name = name.clone();
            let Some(node) = self.some_node() else { return };
            let run = async move |at: ClientOf| match bodies_in(&at, &name).await {
                Ok(bodies) => End::Found(bodies),
                Err(error) => end_of(&Err(error)),
            };
            self.begin_client(now, (node, Errand::Survey(bucket)), run, agenda);
        }
    }
}
