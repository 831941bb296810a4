//! Works a member: tells it what happens, and carries out what it wants.
//!
//! One thread at a time does, whichever has something for it ([`crate::mailbox`]). It costs a few microseconds
//! a request, so that is enough for what the disks of a node can do; reading, writing, sealing and hashing happen
//! in other threads.
//!
//! Why not an executor of async tasks: its timers tick in milliseconds, and the windows that targets
//! promise are tens of microseconds long.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::Sender;
use slotcast_member::{
    Answer, ChangeRequest, ClusterMap, Effect, Holders, Input, Member, MemberConfig, Request,
    RequestNumber, Tape,
};
use slotcast_object::{Guard, Key, NameAnswer, NameRequest, Rosters, RowsOpId};
use slotcast_protocol::tape::{InitiatorEntry, TargetEntry};
use slotcast_protocol::{ChunkId, Claim, Failure, GroupId, TargetId};
use slotcast_store::Content;
use slotcast_transport::Datagram;
use slotcast_units::{Span, Time};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::disk::{Disk, Done};
use crate::journal::Journal;
use crate::network::{Network, Post};
use crate::rosters;
use crate::rows::{Rows, RowsResult};

/// How a put ended.
pub type PutResult = Result<(), Failure>;
/// How a get ended.
pub type GetResult = Result<Content, Failure>;

/// How the put of a named chunk ended: its chunk was not stored, or what became of the name.
pub type NamedResult = Result<NameAnswer, Failure>;

/// A chunk that is put, and the name that says where it is.
#[derive(Debug)]
pub(crate) struct PutNamed {
    pub(crate) content: Content,
    pub(crate) replicas: Option<u8>,
    /// The name, and what the change of it relies on.
    pub(crate) change: (Key, ChangeRequest, Option<Guard>),
}

/// How often disks are asked whether their folders are there.
const LOOK: Span = Span::from_secs(1);

/// Looks at a member.
pub(crate) type Look = Box<dyn FnOnce(&mut Member, Time) + Send>;

/// What others want of the member, or tell it.
pub(crate) enum Event {
    /// On so many targets, or on as many as the cluster's number says.
    Put(Content, (Option<u8>, Claim), oneshot::Sender<PutResult>),
    /// A chunk of the upload of this number.
    Upload(u64, Content, Option<u8>, oneshot::Sender<PutResult>),
    UploadEnded(u64),
    /// Garbage is to be collected.
    Collect,
    Get(ChunkId, oneshot::Sender<GetResult>),
    Holders(ChunkId, oneshot::Sender<Holders>),
    /// Look at the member.
    Look(Look),
    /// Something about names.
    Names(Box<NameRequest>, oneshot::Sender<NameAnswer>),
    /// A chunk is put, and then a name changed.
    PutNamed(Box<PutNamed>, oneshot::Sender<NamedResult>),
    Rows(TargetId, RowsOpId, RowsResult),
    Disk(TargetId, Done),
    /// The pieces of a transfer have left.
    Left(u32),
}

/// What the machines of a node heard and did, in order, where they record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Of each target, in the order of their numbers.
    pub targets: Vec<Vec<TargetEntry>>,
    /// Of the initiator.
    pub initiator: Vec<InitiatorEntry>,
}

/// A map that is to be kept in the node's folders, until somebody who may wait does it.
pub(crate) type MapToKeep = Arc<Mutex<Option<Box<ClusterMap>>>>;

/// Who waits for an answer. Whoever asked may have gone: then nobody listens.
enum Asker {
    Put(oneshot::Sender<PutResult>),
    Get(oneshot::Sender<GetResult>),
    Holders(oneshot::Sender<Holders>),
    Names(oneshot::Sender<NameAnswer>),
    PutNamed(oneshot::Sender<NamedResult>),
}

/// What it works with.
pub(crate) struct Hands {
    pub(crate) disks: BTreeMap<TargetId, Disk>,
    pub(crate) rows: BTreeMap<TargetId, Rows>,
    /// Where who votes is kept, of a cluster in one process.
    pub(crate) rosters: Option<PathBuf>,
    pub(crate) network: Option<Network>,
}

/// The hands of a member.
pub(crate) struct Reactor {
    clock: Clock,
    member: Member,
    disks: BTreeMap<TargetId, Disk>,
    rows: BTreeMap<TargetId, Rows>,
    rosters: Option<PathBuf>,
    network: Option<Network>,
    askers: BTreeMap<RequestNumber, Asker>,
    asked: u64,
    journal: Journal,
    opened: Option<Sender<()>>,
    map_to_keep: MapToKeep,
    next_look: Time,
    effects: Vec<Effect>,
    post: Vec<(SocketAddr, Datagram<'static>)>,
    tape: Option<Tape>,
    /// Who votes, to be kept.
    to_keep: Option<Rosters>,
}

impl Reactor {
    /// Begins to work a member of this configuration, and keeps all that it hears and does if it `is_taped`. Says on
    /// `opened` when every target is open or known not to open, or its disk does not answer.
    pub(crate) fn new(
        clock: Clock,
        (config, is_taped): (MemberConfig, bool),
        Hands { disks, rows, rosters, network }: Hands,
        journal: Journal,
        opened: Sender<()>,
        map_to_keep: MapToKeep,
    ) -> Reactor {
        let (now, mut effects) = (clock.now(), Vec::new());
        let recorded = is_taped.then(|| config.clone());
        let member = Member::new(now, config, &mut effects);
        Reactor {
            clock,
            member,
            disks,
            rows,
            rosters,
            network,
            askers: BTreeMap::new(),
            asked: 0,
            journal,
            opened: Some(opened),
            map_to_keep,
            next_look: now + LOOK,
            tape: recorded.map(|config| Tape::new(now, config, &effects)),
            effects,
            post: Vec::new(),
            to_keep: None,
        }
    }

    /// Before anything else.
    pub(crate) fn begin(&mut self) {
        self.carry_out();
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Time {
        self.member.wakes_at().min(self.next_look)
    }

    /// What is due by now.
    pub(crate) fn run_due(&mut self, now: Time) {
        if now >= self.next_look {
            self.next_look = now + LOOK;
            self.look();
        }
        if now >= self.member.wakes_at() {
            self.tell(Input::Wake);
        }
    }

    /// Something has happened.
    pub(crate) fn event(&mut self, event: Event) {
        match event {
            Event::Put(content, (replicas, claim), reply) => {
                self.ask(Request::Put(content, replicas, claim), Asker::Put(reply));
            }
            Event::Upload(upload, content, replicas, reply) => {
                self.ask(Request::Upload(upload, content, replicas), Asker::Put(reply));
            }
            Event::UploadEnded(upload) => self.tell(Input::UploadEnded(upload)),
            Event::Collect => self.tell(Input::Collect),
            Event::Get(chunk, reply) => self.ask(Request::Get(chunk), Asker::Get(reply)),
            Event::Holders(chunk, reply) => {
                self.ask(Request::Holders(chunk), Asker::Holders(reply));
            }
            Event::Names(request, reply) => {
                self.ask(Request::Names(*request), Asker::Names(reply));
            }
            Event::PutNamed(put, reply) => {
                let PutNamed { content, replicas, change } = *put;
                let request = Request::PutNamed(content, replicas, Box::new(change));
                self.ask(request, Asker::PutNamed(reply));
            }
            Event::Rows(target, op, result) => self.tell(Input::Rows(target, op, result)),
            Event::Look(look) => look(&mut self.member, self.clock.now()),
            Event::Disk(target, Done::Op(op, result)) => {
                self.tell(Input::Disk(target, op, result));
            }
            Event::Disk(target, Done::Work(worked)) => self.tell(Input::Worked(target, worked)),
            Event::Left(transfer) => self.tell(Input::Left(transfer)),
        }
    }

    /// Datagrams came.
    pub(crate) fn datagrams(
        &mut self,
        via: Option<GroupId>,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, Datagram<'_>)>,
    ) {
        let now = self.clock.now();
        for (from, datagram) in datagrams {
            self.handle(now, Input::Datagram { from, via, datagram });
        }
    }

    /// A cluster map was read.
    pub(crate) fn read(&mut self, map: ClusterMap) {
        self.tell(Input::Map(Box::new(map)));
    }

    /// What is to be sent.
    pub(crate) fn take_post(&mut self) -> Option<Post> {
        if self.post.is_empty() {
            return None;
        }
        let post = std::mem::take(&mut self.post);
        self.network.as_ref().map(|network| network.post(post))
    }

    /// What it works.
    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    fn ask(&mut self, request: Request, asker: Asker) {
        self.asked += 1;
        let number = RequestNumber(self.asked);
        self.askers.insert(number, asker);
        self.tell(Input::Request(number, request));
    }

    fn tell(&mut self, input: Input<'_>) {
        self.handle(self.clock.now(), input);
    }

    fn handle(&mut self, now: Time, input: Input<'_>) {
        if let Some(tape) = &mut self.tape {
            tape.heard(now, &input);
        }
        self.member.handle(now, input, &mut self.effects);
        if let Some(tape) = &mut self.tape {
            tape.did(&self.effects);
        }
        self.carry_out();
    }

    /// What it has heard and done so far, if that is recorded.
    pub(crate) fn tape(&self) -> Option<Tape> {
        self.tape.clone()
    }

    /// Who votes is on stable storage before anybody does.
    fn keep(&mut self, rosters: Rosters) {
        let Some(path) = &self.rosters else { return };
        match rosters::write(path, &rosters) {
            Ok(()) => self.tell(Input::Rosters(rosters)),
            Err(error) => tracing::error!(
                file = %path.display(),
                "cannot keep who votes: {error}; nothing can be named before a start that can"
            ),
        }
    }

    /// Sees whose folder has disappeared.
    fn look(&mut self) {
        let is_gone = |(target, disk): (&TargetId, &Disk)| disk.is_gone().then_some(*target);
        for target in self.disks.iter().filter_map(is_gone).collect::<Vec<_>>() {
            self.tell(Input::DiskGone(target));
        }
    }

    fn carry_out(&mut self) {
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Disk(target, id, op) => {
                    if let Some(disk) = self.disks.get(&target) {
                        disk.ask(id, op);
                    }
                }
                Effect::Rows(target, id, op) => {
                    if let Some(rows) = self.rows.get(&target) {
                        rows.ask(id, op);
                    }
                }
                Effect::KeepRosters(rosters) => self.to_keep = Some(rosters),
                Effect::Work(target) => {
                    if let Some(disk) = self.disks.get(&target)
                        && let Some(work) = self.member.take_work(target)
                    {
                        disk.work(work);
                    }
                }
                Effect::Send(to, datagram) => {
                    self.post.push((to, datagram));
                }
                Effect::SendPieces(pass) => {
                    if let Some(network) = &self.network {
                        network.send_pieces(pass);
                    }
                }
                Effect::Answer(number, answer) => match (self.askers.remove(&number), answer) {
                    (Some(Asker::Put(reply)), Answer::Put(result)) => drop(reply.send(result)),
                    (Some(Asker::Get(reply)), Answer::Get(result)) => drop(reply.send(result)),
                    (Some(Asker::Holders(reply)), Answer::Holders(holders)) => {
                        drop(reply.send(holders));
                    }
                    (Some(Asker::Names(reply)), Answer::Names(answer)) => drop(reply.send(answer)),
                    (Some(Asker::PutNamed(reply)), Answer::Names(answer)) => {
                        drop(reply.send(Ok(answer)));
                    }
                    (Some(Asker::PutNamed(reply)), Answer::Put(Err(failure))) => {
                        drop(reply.send(Err(failure)));
                    }
                    _ => {}
                },
                Effect::KeepMap(map) => {
                    let to_keep = self.map_to_keep.lock();
                    *to_keep.unwrap_or_else(PoisonError::into_inner) = Some(map);
                }
                // The keeper of the map asks for it when it can be written.
                Effect::Propose(_) => {}
                Effect::Note(note) => self.journal.note(&note),
            }
        }
        if self.opened.is_some() && self.member.is_open() {
            let _ = self.opened.take().map(|opened| opened.send(()));
        }
        if let Some(rosters) = self.to_keep.take() {
            self.keep(rosters);
        }
    }
}
