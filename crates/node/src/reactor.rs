//! All machines of a node: its targets and its initiator.
//!
//! One thread at a time works them, whichever has something for them ([`crate::mailbox`]). They cost a few
//! microseconds a request, so that is enough for what the disks of a node can do; reading, writing and hashing
//! happen outside. Between machines of one node a message is a value in a queue, and a chunk a counted reference:
//! no copy and no system call.
//!
//! Why not an executor of async tasks: its timers tick in milliseconds, and the windows that targets
//! promise are tens of microseconds long.

mod find;
mod map;
mod network;
mod repair;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};

use crossbeam_channel::Sender;
use slotcast_protocol::tape::{InitiatorEntry, InitiatorHeard, TargetEntry};
use slotcast_protocol::{
    ChunkId, Failure, Finder, FinderInput, GroupId, GroupMap, Initiator, InitiatorEffect,
    InitiatorInput, Members, Message, RepairInput, RepairOutcome, RepairProgress, RepairStatistics,
    RequestId, TargetId,
};
use slotcast_store::{Content, OpId, Standing, Statistics};
use slotcast_units::{Size, Span, Time};
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::cluster::ClusterMap;
use crate::disk::DiskResult;
use crate::folder::Refusal;
use crate::limits::Links;
use crate::network::NetworkEvent;
use crate::remote::{Remote, answer_for};
use crate::target::{TargetHost, TargetLoad, TargetNews, TargetWish};

pub use find::Holders;

/// How a put ended.
pub type PutResult = Result<(), Failure>;
/// How a get ended.
pub type GetResult = Result<Content, Failure>;

/// How long the other nodes are kept from a node whose targets are not open.
const OPENED_WITHIN: Span = Span::from_secs(60);

/// How often folders are looked at.
const LOOK: Span = Span::from_secs(1);

/// What others want of the reactor.
pub(crate) enum Event {
    /// On so many targets, or on as many as the cluster's number says.
    Put(Content, Option<u8>, oneshot::Sender<PutResult>),
    /// The most targets on which any chunk can be.
    MostReplicas(oneshot::Sender<usize>),
    Get(ChunkId, oneshot::Sender<GetResult>),
    Holders(ChunkId, oneshot::Sender<Holders>),
    Status(oneshot::Sender<Vec<TargetStatus>>),
    Recorded(oneshot::Sender<Recorded>),
    Disk(TargetId, OpId, DiskResult),
    /// Boxed, so that it does not make the others larger.
    Network(Box<NetworkEvent>),
    /// Another version of the cluster map, which may be taken.
    Map(Box<ClusterMap>),
}

/// What the machines of a node heard and did, in order, where they record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recorded {
    /// Of each target, in the order of their numbers.
    pub targets: Vec<Vec<TargetEntry>>,
    /// Of the initiator.
    pub initiator: Vec<InitiatorEntry>,
}

/// One target, for people.
#[derive(Debug, Clone)]
pub struct TargetStatus {
    /// Which.
    pub target: TargetId,
    /// Its folder.
    pub path: std::path::PathBuf,
    /// Why its folder is not taken for it, if that is so.
    pub refusal: Option<Refusal>,
    /// What it can do.
    pub standing: Standing,
    /// Its numbers.
    pub statistics: Statistics,
    /// What it is busy with.
    pub load: TargetLoad,
    /// What its repair has done.
    pub repair: RepairStatistics,
    /// How far its walk is, if one is under way.
    pub walk: Option<RepairProgress>,
    /// How far its scrub is, if one is under way.
    pub scrub: Option<RepairProgress>,
}

/// A request of this node's initiator.
enum Running {
    Put(Content, oneshot::Sender<PutResult>),
    Get(Option<Content>, oneshot::Sender<GetResult>),
    /// The repair of a target asks whether there are enough replicas.
    Check {
        target: TargetId,
        chunk: ChunkId,
    },
    /// The repair of a target puts again; whether a replica had to be made.
    PutAgain {
        target: TargetId,
        content: Content,
        made: bool,
    },
    /// The repair of a target fetches what was lost.
    Recover {
        target: TargetId,
        chunk: ChunkId,
        replicas: u8,
        content: Option<Content>,
    },
}

impl Running {
    /// What a put sends.
    fn payload(&self) -> Option<&Content> {
        match self {
            Running::Put(content, _) | Running::PutAgain { content, .. } => Some(content),
            Running::Get(..) | Running::Recover { .. } | Running::Check { .. } => None,
        }
    }
}

/// What is due at a time.
enum Due {
    Wake,
    /// The finder wants to be woken.
    WakeFinder,
    /// The chunk of a put leaves for some members of a group.
    Transfer(RequestId, GroupId, Members),
    /// The chunk of a put that left then is at a target, over a link.
    Arrival(RequestId, TargetId, Time),
    /// A chunk leaves a target for an initiator, over a link.
    Leaving(TargetId, RequestId, Content),
    /// A chunk leaves a target for an initiator.
    Delivery(TargetId, RequestId, Content),
    /// The repair of a target wants to be woken.
    WakeRepair(TargetId),
    /// Something changed for the members of a group.
    Changed(GroupId),
    /// A node may have been silent for too long.
    NodeGone(u32),
    /// Folders may have disappeared.
    Look,
    /// Targets have had their time to open.
    Join,
}

/// Between machines of this node.
pub(crate) enum Local {
    ToTarget(TargetId, Message),
    ToInitiator(Message),
}

/// All machines of a node, and what is to happen when.
pub(crate) struct Reactor {
    clock: Clock,
    groups: GroupMap,
    targets: BTreeMap<TargetId, TargetHost>,
    initiator: Initiator,
    running: BTreeMap<RequestId, Running>,
    finder: Finder,
    finding: BTreeMap<RequestId, oneshot::Sender<Holders>>,
    /// By time, then in the order in which they were asked for.
    agenda: BinaryHeap<Reverse<(Time, u64)>>,
    due: BTreeMap<u64, Due>,
    asked: u64,
    local: VecDeque<Local>,
    initiator_effects: Vec<InitiatorEffect>,
    wishes: Vec<TargetWish>,
    news: Vec<TargetNews>,
    opened: Option<(usize, Sender<()>)>,
    /// The other nodes; none if there are none.
    remote: Option<Box<Remote>>,
    /// Groups whose members here are about to walk over their chunks.
    changing: BTreeSet<GroupId>,
    repairs: bool,
    /// What chunks of this node travel over, if that is not memory.
    links: Option<Links>,
    /// What the initiator heard and did, if somebody wants to know.
    tape: Option<Vec<InitiatorEntry>>,
}

impl Reactor {
    /// Says on `opened` when every target is open or known not to open.
    pub(crate) fn new(
        clock: Clock,
        groups: GroupMap,
        targets: Vec<TargetHost>,
        (initiator, finder): (Initiator, Finder),
        opened: Sender<()>,
        remote: Option<Box<Remote>>,
    ) -> Reactor {
        let count = targets.len();
        Reactor {
            clock,
            groups,
            targets: targets.into_iter().map(|host| (host.id, host)).collect(),
            initiator,
            running: BTreeMap::new(),
            finder,
            finding: BTreeMap::new(),
            agenda: BinaryHeap::new(),
            due: BTreeMap::new(),
            asked: 0,
            local: VecDeque::new(),
            initiator_effects: Vec::new(),
            wishes: Vec::new(),
            news: Vec::new(),
            opened: Some((count, opened)),
            remote,
            changing: BTreeSet::new(),
            links: None,
            repairs: true,
            tape: None,
        }
    }

    /// The same with links between its machines.
    pub(crate) fn over(self, links: Option<Links>) -> Reactor {
        Reactor { links, ..self }
    }

    /// The same, without walks of its targets unless it `repairs`.
    pub(crate) fn repairing(self, repairs: bool) -> Reactor {
        Reactor { repairs, ..self }
    }

    /// The same, keeping what the initiator hears and does, if `records`.
    pub(crate) fn recording(self, records: bool) -> Reactor {
        Reactor { tape: records.then(Vec::new), ..self }
    }

    /// Before anything else.
    pub(crate) fn begin(&mut self, now: Time) {
        if let Some(remote) = &mut self.remote {
            let gone_at = now + remote.suspicions.gone_after();
            for node in remote.suspicions.begin(now).collect::<Vec<_>>() {
                self.at(gone_at, Due::NodeGone(node));
            }
        }
        self.at(now + LOOK, Due::Look);
        self.at(now + OPENED_WITHIN, Due::Join);
    }

    /// The other nodes are spoken with from when the targets are open, so that they are not told of a node
    /// that does not know yet what it holds, and replace it.
    fn join(&mut self) {
        if let Some(remote) = &mut self.remote {
            remote.join();
        }
    }

    /// When something is due next.
    pub(crate) fn next(&self) -> Time {
        self.agenda.peek().map_or(Time::NEVER, |Reverse((time, _))| *time)
    }

    /// Something has happened.
    pub(crate) fn event(&mut self, event: Event) {
        let now = self.clock.now();
        match event {
            Event::Put(content, replicas, reply) => {
                let request = self.start_put(now, &content, replicas);
                self.running.insert(request, Running::Put(content, reply));
            }
            Event::MostReplicas(reply) => drop(reply.send(self.groups.most_replicas())),
            Event::Get(chunk, reply) => {
                let request = self.start_get(now, chunk);
                self.running.insert(request, Running::Get(None, reply));
            }
            Event::Holders(chunk, reply) => self.find(now, chunk, reply),
            Event::Status(reply) => drop(reply.send(self.status(now))),
            Event::Recorded(reply) => {
                let targets = self.targets.values_mut().map(TargetHost::take_tape).collect();
                let initiator = self.tape.as_mut().map(std::mem::take).unwrap_or_default();
                let _ = reply.send(Recorded { targets, initiator });
            }
            Event::Disk(target, op, result) => {
                if let Some(host) = self.targets.get_mut(&target) {
                    host.disk(now, op, result, &mut self.wishes, &mut self.news);
                    self.heed(now, target);
                }
            }
            Event::Network(event) => self.network(now, *event),
            Event::Map(map) => self.take_map(now, &map),
        }
        self.settle(now);
    }

    /// The chunk of a get is here, or what came of it is useless.
    fn delivered(&mut self, now: Time, request: RequestId, content: Option<Content>, intact: bool) {
        if let (
            Some(Running::Get(slot, _) | Running::Recover { content: slot, .. }),
            Some(content),
        ) = (self.running.get_mut(&request), content)
        {
            *slot = Some(content);
        }
        self.tell_initiator(now, InitiatorInput::Delivered { request, intact });
    }

    fn start_put(&mut self, now: Time, content: &Content, replicas: Option<u8>) -> RequestId {
        let size = Size::from_bytes(content.bytes().len() as u64);
        let (chunk, before) = (content.chunk(), self.initiator_effects.len());
        let effects = &mut self.initiator_effects;
        let what = (chunk, size);
        let request = self.initiator.put_on(now, replicas, what, &self.groups, effects);
        self.record(now, InitiatorHeard::Put(chunk, size, replicas), before);
        request
    }

    /// The same for the repair of a target.
    fn start_put_again(&mut self, now: Time, content: &Content, replicas: u8) -> RequestId {
        let size = Size::from_bytes(content.bytes().len() as u64);
        let (chunk, before) = (content.chunk(), self.initiator_effects.len());
        let effects = &mut self.initiator_effects;
        let what = (chunk, size);
        let request = self.initiator.put_again(now, replicas, what, &self.groups, effects);
        self.record(now, InitiatorHeard::PutAgain(chunk, size, replicas), before);
        request
    }

    /// The same, only to know.
    fn start_check(&mut self, now: Time, what: (ChunkId, Size), replicas: u8) -> RequestId {
        let before = self.initiator_effects.len();
        let effects = &mut self.initiator_effects;
        let request = self.initiator.check(now, replicas, what, &self.groups, effects);
        self.record(now, InitiatorHeard::Check(what.0, what.1, replicas), before);
        request
    }

    fn start_get(&mut self, now: Time, chunk: ChunkId) -> RequestId {
        let before = self.initiator_effects.len();
        let effects = &mut self.initiator_effects;
        let request = self.initiator.get(now, chunk, &self.groups, effects);
        self.record(now, InitiatorHeard::Get(chunk), before);
        request
    }

    fn tell_initiator(&mut self, now: Time, input: InitiatorInput<'_>) {
        let before = self.initiator_effects.len();
        self.initiator.handle(now, input, &self.groups, &mut self.initiator_effects);
        self.record(now, input.into(), before);
    }

    /// The initiator did what is in its effects from `before` on.
    fn record(&mut self, now: Time, heard: InitiatorHeard, before: usize) {
        if let Some(tape) = &mut self.tape {
            let did = self.initiator_effects[before..].to_vec();
            tape.push(InitiatorEntry { now, heard, did });
        }
    }

    fn look(&mut self, now: Time) {
        self.at(now + LOOK, Due::Look);
        for target in self.targets.keys().copied().collect::<Vec<_>>() {
            if let Some(host) = self.targets.get_mut(&target) {
                host.look(now, &mut self.wishes, &mut self.news);
                self.heed(now, target);
            }
        }
    }

    fn status(&self, now: Time) -> Vec<TargetStatus> {
        let status = |host: &TargetHost| {
            let (walk, scrub) = host.repair_progress(now);
            TargetStatus {
                target: host.id,
                path: host.path.clone(),
                refusal: host.refusal.clone(),
                standing: host.standing(),
                statistics: host.statistics(),
                load: host.load(now),
                repair: host.repair_statistics(),
                walk,
                scrub,
            }
        };
        self.targets.values().map(status).collect()
    }

    fn at(&mut self, time: Time, due: Due) {
        self.asked += 1;
        self.agenda.push(Reverse((time, self.asked)));
        self.due.insert(self.asked, due);
    }

    /// What is due by now.
    pub(crate) fn run_due(&mut self, now: Time) {
        while let Some(Reverse((time, number))) = self.agenda.peek().copied() {
            if time > now {
                break;
            }
            self.agenda.pop();
            match self.due.remove(&number) {
                Some(Due::Wake) => self.tell_initiator(now, InitiatorInput::Wake),
                Some(Due::WakeFinder) => self.tell_finder(now, FinderInput::Wake),
                Some(Due::Transfer(request, group, to)) => match self.links.is_some() {
                    true => self.leave(time, request, group, to),
                    false => self.transfer(now, request, group, to),
                },
                Some(Due::Arrival(request, target, left)) => {
                    self.arrive(now, request, target, Some(left));
                }
                Some(Due::Leaving(target, request, content)) => {
                    let size = Size::from_bytes(content.bytes().len() as u64);
                    let links = self.links.as_mut();
                    let arrival = links.map_or(now, |links| links.get(time, size, target));
                    self.at(arrival, Due::Delivery(target, request, content));
                }
                Some(Due::Delivery(target, request, content)) => {
                    if let Some(host) = self.targets.get_mut(&target) {
                        host.sent(now, request);
                    }
                    self.delivered(now, request, Some(content), true);
                }
                Some(Due::WakeRepair(target)) => self.tell_repair(now, target, RepairInput::Wake),
                Some(Due::Changed(group)) => self.group_changed(now, group),
                Some(Due::NodeGone(node)) => {
                    let is_gone = self
                        .remote
                        .as_ref()
                        .is_some_and(|remote| remote.suspicions.is_gone(now, node));
                    if is_gone {
                        tracing::warn!(node, "peer gone: what it held is replaced");
                        self.node_changed(now, node);
                    }
                }
                Some(Due::Look) => self.look(now),
                Some(Due::Join) => self.join(),
                None => {}
            }
            self.settle(now);
        }
        self.tell_whether_handed_over();
    }

    /// The chunk of a put is handed to each of its targets.
    fn transfer(&mut self, now: Time, request: RequestId, group: GroupId, to: Members) {
        for position in to.iter() {
            let target = self.groups.members(group)[usize::from(position)];
            self.arrive(now, request, target, None);
        }
    }

    /// The chunk of a put leaves at `start` over the links.
    fn leave(&mut self, start: Time, request: RequestId, group: GroupId, to: Members) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let (Some(content), Some(links)) = (payload, &mut self.links) else { return };
        let size = Size::from_bytes(content.bytes().len() as u64);
        let members = self.groups.members(group);
        let to = to.iter().map(|position| members[usize::from(position)]);
        for (target, arrival) in links.put(start, size, to) {
            self.at(arrival, Due::Arrival(request, target, start));
        }
    }

    /// The chunk of a put is at `target`; over a link, if it left at some time before.
    fn arrive(&mut self, now: Time, request: RequestId, target: TargetId, left: Option<Time>) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let (Some(content), Some(host)) = (payload.cloned(), self.targets.get_mut(&target)) else {
            return;
        };
        if let (Some(left), Some(links)) = (left, &self.links) {
            let size = Size::from_bytes(content.bytes().len() as u64);
            host.came(now, size, links.took(left, now));
        }
        host.received(now, request, content, &mut self.wishes, &mut self.news);
        self.heed(now, target);
    }

    /// Carries messages until none is left.
    fn settle(&mut self, now: Time) {
        loop {
            self.carry_out(now);
            if !self.initiator_effects.is_empty() {
                continue;
            }
            match self.local.pop_front() {
                Some(Local::ToTarget(target, message)) => {
                    self.overhear(now, target, &message);
                    let Some(host) = self.targets.get_mut(&target) else { continue };
                    if host.is_mute() {
                        // Initiators on other nodes would wait for it in every round.
                        let (_, position) = self.groups.seat(target);
                        let to = message.request().initiator;
                        let answer = answer_for(&message, position);
                        self.wishes.extend(answer.map(|answer| TargetWish::Send(to, answer)));
                    } else {
                        host.message(now, &message, &mut self.wishes, &mut self.news);
                    }
                    self.heed(now, target);
                }
                Some(Local::ToInitiator(Message::FindReply(reply))) => {
                    self.tell_finder(now, FinderInput::Reply(&reply));
                }
                Some(Local::ToInitiator(message)) => {
                    self.tell_initiator(now, InitiatorInput::Message(&message));
                }
                None => return,
            }
        }
    }

    fn heed(&mut self, now: Time, target: TargetId) {
        let mut wishes = std::mem::take(&mut self.wishes);
        for wish in wishes.drain(..) {
            match wish {
                TargetWish::Send(to, message) => match &self.remote {
                    Some(remote) if !remote.is_here(to) => remote.tell_initiator(to, message),
                    _ => self.local.push_back(Local::ToInitiator(message)),
                },
                TargetWish::Transfer { request, content, start } => match &self.remote {
                    Some(remote) if !remote.is_here(request.initiator) => {
                        remote.send_get(target, request, content, start, &self.groups);
                    }
                    _ if self.links.is_some() => {
                        self.at(start, Due::Leaving(target, request, content));
                    }
                    _ => self.at(start, Due::Delivery(target, request, content)),
                },
                TargetWish::Check(chunk, size, replicas) => {
                    self.check(now, target, (chunk, size), replicas);
                }
                TargetWish::PutAgain(content, replicas) => {
                    self.put_again(now, target, content, replicas);
                }
                TargetWish::Recover(chunk, replicas) => {
                    self.recover(now, target, chunk, replicas);
                }
                TargetWish::WakeRepair(time) => self.at(time, Due::WakeRepair(target)),
            }
        }
        self.wishes = wishes;
        for news in std::mem::take(&mut self.news) {
            // Opened, for itself; not opened or gone, for the others.
            let (group, _) = self.groups.seat(target);
            self.expect_walk(now, group);
            if let (TargetNews::Opened | TargetNews::NotOpened(_), Some((count, _))) =
                (news, &mut self.opened)
            {
                *count -= 1;
            }
        }
        if let Some((_, opened)) = self.opened.take_if(|(count, _)| *count == 0) {
            self.join();
            let _ = opened.send(());
        }
    }

    fn carry_out(&mut self, now: Time) {
        let mut effects = std::mem::take(&mut self.initiator_effects);
        for effect in effects.drain(..) {
            match effect {
                InitiatorEffect::Multicast { group, to, message } => {
                    self.multicast(now, group, to, message);
                }
                InitiatorEffect::Transfer { request, group, to, start, .. } => {
                    if let Some(Running::PutAgain { made, .. }) = self.running.get_mut(&request) {
                        *made = true;
                    }
                    let payload = self.running.get(&request).and_then(Running::payload);
                    let to = match (&self.remote, payload) {
                        (Some(remote), Some(content)) => {
                            remote.send_put(now, request, group, to, content, start)
                        }
                        _ => to,
                    };
                    if !to.is_empty() {
                        self.at(start, Due::Transfer(request, group, to));
                    }
                }
                InitiatorEffect::PutDone { request, .. } => self.end(now, request, None),
                InitiatorEffect::GetDone { request, .. } => self.end(now, request, None),
                InitiatorEffect::Failed { request, reason, .. } => {
                    self.end(now, request, Some(reason));
                }
                InitiatorEffect::WakeAt(time) => self.at(time, Due::Wake),
            }
        }
        // Repair may have started something in the meantime.
        if self.initiator_effects.is_empty() {
            self.initiator_effects = effects;
        }
    }

    /// Says something to members of a group, wherever they are.
    fn multicast(&mut self, now: Time, group: GroupId, to: Members, message: Message) {
        let to = match &mut self.remote {
            Some(remote) => remote.tell_group(now, group, to, message, &mut self.local),
            None => to,
        };
        for position in to.iter() {
            let target = self.groups.members(group)[usize::from(position)];
            self.local.push_back(Local::ToTarget(target, message));
        }
    }

    /// Whoever asked may have gone: then nobody listens.
    fn end(&mut self, now: Time, request: RequestId, failure: Option<Failure>) {
        if let Some(remote) = &mut self.remote {
            remote.forget(request);
        }
        match (self.running.remove(&request), failure) {
            (Some(Running::Put(_, reply)), failure) => {
                let _ = reply.send(failure.map_or(Ok(()), Err));
            }
            (Some(Running::Get(content, reply)), failure) => {
                let failure = failure.unwrap_or(Failure::Undelivered);
                let _ = reply.send(content.ok_or(failure));
            }
            (Some(Running::Check { target, chunk }), failure) => {
                let outcome = match failure {
                    None => RepairOutcome::Complete,
                    Some(_) => RepairOutcome::Lacking,
                };
                self.tell_repair(now, target, RepairInput::Ended(chunk, outcome));
            }
            (Some(Running::PutAgain { target, content, made }), failure) => {
                let outcome = match (failure, made) {
                    (Some(_), _) => RepairOutcome::Failed,
                    (None, true) => RepairOutcome::Healed,
                    (None, false) => RepairOutcome::Complete,
                };
                self.tell_repair(now, target, RepairInput::Ended(content.chunk(), outcome));
            }
            (Some(Running::Recover { target, content: Some(content), replicas, .. }), None) => {
                self.put_again(now, target, content, replicas);
            }
            (Some(Running::Recover { target, chunk, .. }), failure) => {
                let outcome = match failure {
                    Some(Failure::NotFound) => RepairOutcome::NotFound,
                    _ => RepairOutcome::Failed,
                };
                self.tell_repair(now, target, RepairInput::Ended(chunk, outcome));
            }
            (None, _) => {}
        }
    }
}
