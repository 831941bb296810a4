//! Clients who give names to objects, and what they were told.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use slotcast_engine::{Agenda, Stream, Streams};
use slotcast_member::{ChangeRequest, RequestNumber};
use slotcast_object::history::{Asked, MAX_ASKED, What};
use slotcast_object::{
    Body, BucketId, Condition, Entry, Key, MAX_RECENT, Name, NameRecord, Object, Operation, Permit,
    RequestKey, VersionId, Versioning,
};
use slotcast_protocol::ChunkId;
use slotcast_store::Content;
use slotcast_units::{Span, Time};

use super::clients::request_key;
use super::cluster::Cluster;
use super::collecting::Uploads;
use super::event::Event;
use super::node::Purpose;

pub(super) const BUCKET: BucketId = BucketId(3);

/// So that names are in several groups where there are several.
pub(super) const SLOTS: u32 = 2;

const NAMES: usize = 4;

/// How often a client asks for the same again when an answer was lost.
const MAX_TRIES: u32 = 3;

/// After how many changes of a name nobody asks for an earlier one again: its answer may be forgotten.
const MAX_CHANGES: usize = MAX_RECENT - 4;

/// Until a client asks for the same again.
const AGAIN: Span = Span::from_ms(1);

/// What is asked of names.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// To change one, when its chunk is stored if it has one, on so many targets.
    Change(Box<ChangeRequest>, Option<(Content, u8)>),
    /// To know what it says.
    Read,
    /// To know which there are.
    List(slotcast_object::From, u32),
}

/// One request of a client, over all its tries.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    /// Which name.
    pub(super) name: usize,
    pub(super) wanted: Wanted,
    pub(super) purpose: Purpose,
    pub(super) node: u32,
    pub(super) tries: u32,
    /// An earlier try may have changed the name.
    pub(super) may_be_done: bool,
    /// It is known to have changed nothing, and says nothing.
    pub(super) is_void: bool,
    /// Enough voters could be asked when it began.
    pub(super) must_end_well: bool,
    pub(super) asked: Asked<Entry>,
    /// Chunks that are put before, each on so many targets, and the place of the next one.
    pub(super) parts: Vec<(Content, u8)>,
    pub(super) part: usize,
}

/// A name, with what was asked of it since it was certain what it says.
#[derive(Debug)]
pub(super) struct NameHistory {
    pub(super) key: Key,
    versioning: Versioning,
    /// What it said then.
    pub(super) first: Option<NameRecord>,
    pub(super) asks: Vec<usize>,
    /// The latest version that a client has heard of.
    pub(super) seen: Option<VersionId>,
    /// What it said in the calm, if that was asked and told.
    pub(super) calm: Option<Option<NameRecord>>,
    /// It was changed in the calm before that.
    pub(super) is_fresh: bool,
}

/// The clients of a cluster that give names.
#[derive(Debug)]
pub(super) struct NameClients {
    pub(super) histories: Vec<NameHistory>,
    pub(super) asks: Vec<Ask>,
    pub(super) running: BTreeMap<RequestNumber, usize>,
    /// That will be asked again.
    pub(super) to_ask_again: usize,
    /// For how many replicas chunks of objects were put.
    pub(super) chunks: BTreeMap<ChunkId, u8>,
    pub(super) uploads: Uploads,
    /// The names of the listing in the calm, and whether it has come to its end.
    pub(super) listed: (BTreeSet<Name>, bool),
    pub(super) chance: Stream,
    pub(super) salts: Stream,
    pub(super) rows_times: Stream,
}

impl NameClients {
    pub(super) fn new(streams: &Streams, versioned: bool) -> NameClients {
        let history = |n: usize| NameHistory {
            key: Key::of(BUCKET, SLOTS, Name::new(format!("name-{n}")).expect("a name")),
            versioning: if versioned && n == 0 { Versioning::On } else { Versioning::Off },
            first: None,
            asks: Vec::new(),
            seen: None,
            calm: None,
            is_fresh: false,
        };
        NameClients {
            histories: (0..NAMES).map(history).collect(),
            asks: Vec::new(),
            running: BTreeMap::new(),
            to_ask_again: 0,
            chunks: BTreeMap::new(),
            uploads: Uploads::default(),
            listed: (BTreeSet::new(), false),
            chance: streams.stream("names", 0),
            salts: streams.stream("names", 1),
            rows_times: streams.stream("names", 2),
        }
    }

    /// Whether no client waits for anything.
    pub(super) fn is_quiet(&self) -> bool {
        self.running.is_empty() && self.to_ask_again == 0 && self.uploads.is_quiet()
    }

    fn key(&mut self) -> RequestKey {
        request_key(&mut self.chance)
    }

    fn condition(&mut self, name: usize) -> Condition {
        let seen = self.histories[name].seen;
        match (self.chance.below(8), seen) {
            (0..2, _) => Condition::Absent,
            (2..4, Some(version)) => Condition::Is(version),
            (4, _) => Condition::Present,
            _ => Condition::Always,
        }
    }

    /// From now on the clients use other names. Nothing is under way.
    pub(super) fn rename(&mut self, wave: u32) {
        self.asks.clear();
        for (n, history) in self.histories.iter_mut().enumerate() {
            history.key =
                Key::of(BUCKET, SLOTS, Name::new(format!("name-{n}-{wave}")).expect("a name"));
            (history.first, history.seen, history.calm) = (None, None, None);
            history.asks.clear();
        }
    }

    /// Changes of a name since one began, which may have been carried out after it.
    fn changes_since(&self, ask: &Ask) -> usize {
        let asks = self.histories[ask.name].asks.iter().map(|n| &self.asks[*n]);
        let is_later = |other: &&Ask| {
            matches!(other.wanted, Wanted::Change(..)) && other.asked.ended >= ask.asked.began
        };
        asks.filter(is_later).count()
    }
}

impl Cluster {
    /// A client asks something of a name.
    pub(super) fn ask_name(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        let name = usize::try_from(self.names.chance.below(NAMES as u64)).expect("small");
        if self.names.histories[name].asks.len() + 2 * NAMES >= MAX_ASKED {
            return;
        }
        let wanted = match self.names.chance.below(16) {
            0 => Wanted::List(slotcast_object::From::Start, 3),
            1..6 => Wanted::Read,
            6..8 => {
                let condition = self.names.condition(name);
                self.change(name, Operation::Delete(0), condition, None)
            }
            _ => {
                let condition = self.names.condition(name);
                return self.put_name(now, name, condition, Purpose::User, agenda);
            }
        };
        self.begin_name(now, name, (wanted, Vec::new()), Purpose::User, agenda);
    }

    /// In a calm all names are deleted of which that can be said.
    pub(super) fn delete_names(&mut self, now: Time, agenda: &mut Agenda<Event>) {
        for name in 0..self.names.histories.len() {
            let key = self.names.histories[name].key.clone();
            if self.has_majority(&key) {
                let wanted = self.change(name, Operation::Delete(0), Condition::Always, None);
                self.begin_name(now, name, (wanted, Vec::new()), Purpose::Check, agenda);
            }
        }
    }

    fn change(
        &mut self,
        name: usize,
        operation: Operation<Entry>,
        condition: Condition,
        content: Option<(Content, u8)>,
    ) -> Wanted {
        let versioning = self.names.histories[name].versioning;
        let key = self.names.key();
        let permit = Permit::default();
        let change = ChangeRequest { key, operation, condition, versioning, permit };
        Wanted::Change(Box::new(change), content)
    }

    /// An object that no other is equal to: small ones are in the register, others are a chunk.
    pub(super) fn put_name(
        &mut self,
        now: Time,
        name: usize,
        condition: Condition,
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        let number = self.names.asks.len() as u64;
        let is_versioned = self.names.histories[name].versioning == Versioning::On;
        let (body, content, parts) = match self.names.chance.below(8) {
            0..4 if self.collects() => self.content_to_name(),
            0..3 => {
                let content = self.catalogue.add(self.plan.longest);
                let chunk = content.chunk();
                let most = self.possible(self.groups.group_of(&chunk));
                let replicas = self.plan.wanted(&mut self.names.chance).min(most);
                self.names.chunks.insert(chunk, replicas);
                (Body::Chunk(chunk), Some((content, replicas)), Vec::new())
            }
            // It does not fit into one datagram.
            3 if !is_versioned => (Body::inline(Bytes::from(vec![7; 3000])), None, Vec::new()),
            _ => (Body::inline(Bytes::from(number.to_le_bytes().to_vec())), None, Vec::new()),
        };
        let object = Object { size: number, body, ..Object::default() };
        let operation = Operation::Put(Entry::Object(object));
        let wanted = self.change(name, operation, condition, content);
        self.begin_name(now, name, (wanted, parts), purpose, agenda);
    }

    pub(super) fn begin_name(
        &mut self,
        now: Time,
        name: usize,
        (wanted, parts): (Wanted, Vec<(Content, u8)>),
        purpose: Purpose,
        agenda: &mut Agenda<Event>,
    ) {
        let what = match &wanted {
            Wanted::Change(request, _) => What::Change((**request).clone(), None),
            Wanted::Read | Wanted::List(..) => What::Read(None),
        };
        let must_end_well = purpose == Purpose::Check;
        let ask = Ask {
            name,
            wanted,
            purpose,
            node: 0,
            tries: 0,
            may_be_done: false,
            is_void: false,
            must_end_well,
            asked: Asked { began: now, ended: Time::NEVER, what },
            parts,
            part: 0,
        };
        let number = self.names.asks.len();
        if !matches!(ask.wanted, Wanted::List(..)) {
            self.names.histories[name].asks.push(number);
        }
        self.names.asks.push(ask);
        self.try_name(now, number, agenda);
    }

    /// A request whose answer was lost is asked again, of another node perhaps, if that can have the same answer.
    pub(super) fn answer_lost(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        let of = &mut self.names.asks[ask];
        of.may_be_done |= matches!(of.wanted, Wanted::Change(..));
        let of = &self.names.asks[ask];
        let is_again = self.plan.asks_again()
            && of.purpose == Purpose::User
            && of.may_be_done
            && of.tries < MAX_TRIES
            && self.names.changes_since(of) < MAX_CHANGES;
        if is_again && self.names.chance.chance(0.7) {
            self.names.to_ask_again += 1;
            let after = self.names.chance.exponential(AGAIN);
            agenda.at(now + after, Event::NameAgain { ask: u32::try_from(ask).expect("few") });
        }
    }

    /// It is asked again.
    pub(super) fn name_again(&mut self, now: Time, ask: usize, agenda: &mut Agenda<Event>) {
        self.names.to_ask_again -= 1;
        if self.names.changes_since(&self.names.asks[ask]) < MAX_CHANGES {
            self.report.names_asked_again += 1;
            self.try_name(now, ask, agenda);
        }
    }

    /// All that clients have asked of a node is lost: its power has failed.
    pub(super) fn lose_name_answers(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        let running = std::mem::take(&mut self.names.running);
        let is_lost = |ask: &usize| self.names.asks[*ask].node == node;
        let (lost, kept) = running.into_iter().partition(|(_, ask)| is_lost(ask));
        self.names.running = kept;
        let lost: BTreeMap<RequestNumber, usize> = lost;
        // Of these nothing was changed.
        for ask in self.names.uploads.lose(|ask| self.names.asks[ask].node == node) {
            let of = &mut self.names.asks[ask];
            of.is_void = !of.may_be_done;
        }
        for ask in lost.into_values() {
            self.answer_lost(now, ask, agenda);
        }
    }
}
