//! Puts and gets: who began them, how their chunks travel (to other nodes, and within this one, by reference or over
//! links of known rates), and what follows from how they end.

use slotcast_protocol::tape::{InitiatorEntry, InitiatorHeard};
use slotcast_protocol::{
    ChunkId, Claim, Failure, GroupId, InitiatorEffect, InitiatorInput, Members, RepairOutcome,
    RequestId, TargetId, Wanted,
};
use slotcast_store::Content;
use slotcast_transport::Purpose;
use slotcast_units::{Size, Span, Time};

use super::Member;
use crate::effect::Answer;
use crate::input::RequestNumber;
use crate::link::ToSend;
use crate::mistake::Mistake;
use crate::outbox::Outbox;
use crate::target::TargetInput;
use crate::timers::Timer;

/// A request of the initiator.
#[derive(Debug, Clone)]
pub(super) enum Running {
    /// A client puts.
    Put(Content, RequestNumber),
    /// A client fetches; what has come.
    Get(Option<Content>, RequestNumber),
    /// A list is read for a walk of the collection.
    List { walk: u64, list: ChunkId, content: Option<Content> },
    /// A chunk is fetched for a walk, to be put again on so many targets.
    Fetch { walk: u64, chunk: ChunkId, replicas: u8, content: Option<Content> },
    /// It is put.
    Restore { walk: u64, content: Content },
    /// The repair of a target asks whether there are enough replicas.
    Check { target: TargetId, chunk: ChunkId },
    /// The repair of a target puts again; whether a replica had to be made.
    PutAgain { target: TargetId, content: Content, made: bool },
    /// The repair of a target fetches what was lost.
    Recover { target: TargetId, chunk: ChunkId, wanted: Wanted, content: Option<Content> },
}

impl Running {
    /// What a put sends.
    fn payload(&self) -> Option<&Content> {
        match self {
            Running::Put(content, _)
            | Running::Restore { content, .. }
            | Running::PutAgain { content, .. } => Some(content),
            Running::Get(..)
            | Running::List { .. }
            | Running::Fetch { .. }
            | Running::Recover { .. }
            | Running::Check { .. } => None,
        }
    }
}

fn size_of(content: &Content) -> Size {
    Size::from_bytes(content.bytes().len() as u64)
}

impl Member {
    pub(super) fn put(
        &mut self,
        now: Time,
        number: RequestNumber,
        content: Content,
        wanted: (Option<u8>, Claim),
    ) {
        let request = self.start_put(now, &content, wanted);
        self.running.insert(request, Running::Put(content, number));
    }

    fn start_put(
        &mut self,
        now: Time,
        content: &Content,
        wanted: (Option<u8>, Claim),
    ) -> RequestId {
        let (what, before) = ((content.chunk(), size_of(content)), self.initiator_effects.len());
        let effects = &mut self.initiator_effects;
        let request = self.initiator.put_on(now, wanted, what, &self.groups, effects);
        self.record(now, InitiatorHeard::Put(what.0, what.1, wanted), before);
        request
    }

    pub(super) fn get(&mut self, now: Time, number: RequestNumber, chunk: ChunkId) {
        let request = self.start_get(now, chunk);
        self.running.insert(request, Running::Get(None, number));
    }

    /// Fetches a list for a walk.
    pub(super) fn fetch_list(&mut self, now: Time, walk: u64, list: ChunkId) {
        let request = self.start_get(now, list);
        self.running.insert(request, Running::List { walk, list, content: None });
    }

    /// Fetches a chunk for a walk, to put it again on so many targets.
    pub(super) fn fetch_to_restore(&mut self, now: Time, walk: u64, chunk: ChunkId, replicas: u8) {
        let request = self.start_get(now, chunk);
        let running = Running::Fetch { walk, chunk, replicas, content: None };
        self.running.insert(request, running);
    }

    fn restore(&mut self, now: Time, walk: u64, content: Content, replicas: u8) {
        let replicas = Some(replicas).filter(|replicas| *replicas > 0);
        let request = self.start_put(now, &content, (replicas, Claim::Names));
        self.running.insert(request, Running::Restore { walk, content });
    }

    pub(super) fn start_get(&mut self, now: Time, chunk: ChunkId) -> RequestId {
        let before = self.initiator_effects.len();
        let effects = &mut self.initiator_effects;
        let request = self.initiator.get(now, chunk, &self.groups, effects);
        self.record(now, InitiatorHeard::Get(chunk), before);
        request
    }

    /// Starts a put of the repair of a target.
    pub(super) fn start_put_again(
        &mut self,
        now: Time,
        content: &Content,
        wanted: Wanted,
    ) -> RequestId {
        let (what, before) = ((content.chunk(), size_of(content)), self.initiator_effects.len());
        let effects = &mut self.initiator_effects;
        let request = self.initiator.put_again(now, wanted, what, &self.groups, effects);
        self.record(now, InitiatorHeard::PutAgain(what.0, what.1, wanted), before);
        request
    }

    /// The same, only to know.
    pub(super) fn start_check(
        &mut self,
        now: Time,
        what: (ChunkId, Size),
        wanted: Wanted,
    ) -> RequestId {
        let before = self.initiator_effects.len();
        let effects = &mut self.initiator_effects;
        let request = self.initiator.check(now, wanted, what, &self.groups, effects);
        self.record(now, InitiatorHeard::Check(what.0, what.1, wanted), before);
        request
    }

    pub(super) fn tell_initiator(&mut self, now: Time, input: InitiatorInput<'_>) {
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

    pub(super) fn carry_out_initiator(&mut self, now: Time) {
        if self.initiator_effects.is_empty() {
            return;
        }
        let mut effects = core::mem::take(&mut self.initiator_effects);
        for effect in effects.drain(..) {
            match effect {
                InitiatorEffect::Multicast { group, to, message } => {
                    self.multicast(now, group, to, message);
                }
                InitiatorEffect::Transfer { request, group, to, start, .. } => {
                    if let Some(Running::PutAgain { made, .. }) = self.running.get_mut(&request) {
                        *made = true;
                    }
                    self.transfer(now, request, (group, to), start);
                }
                InitiatorEffect::PutDone { request, .. }
                | InitiatorEffect::GetDone { request, .. } => self.end(now, request, None),
                InitiatorEffect::Failed { request, reason, .. } => {
                    self.end(now, request, Some(reason));
                }
                InitiatorEffect::WakeAt(time) => self.timers.at(time, Timer::Initiator),
            }
        }
        // Repair may have started something in the meantime.
        if self.initiator_effects.is_empty() {
            self.initiator_effects = effects;
        }
    }

    /// The chunk of a put leaves at `start` for members of a group.
    fn transfer(
        &mut self,
        now: Time,
        request: RequestId,
        (group, to): (GroupId, Members),
        start: Time,
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Outbox { link, effects, .. } = &mut self.outbox;
        let is_late = self.mistake == Some(Mistake::SendsLate);
        let start = if is_late { start + Span::from_us(77) } else { start };
        let to = match (link, payload) {
            (Some(link), Some(content)) => {
                link.send_put(now, (request, group, to), content, start, effects)
            }
            _ => to,
        };
        if !to.is_empty() {
            self.timers.at(start, Timer::Transfer(request, group, to));
        }
    }

    /// The chunk of a put leaves at `start` for targets here.
    pub(super) fn leave(
        &mut self,
        now: Time,
        start: Time,
        request: RequestId,
        (group, to): (GroupId, Members),
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Some(size) = payload.map(size_of) else {
            return;
        };
        let members = self.groups.members(group);
        let to = to.iter().map(|position| members[usize::from(position)]);
        match &mut self.links {
            Some(links) => {
                for (target, arrival) in links.put(start, size, to) {
                    self.timers.at(arrival, Timer::Arrival(request, target, start));
                }
            }
            None => {
                for target in to.collect::<alloc::vec::Vec<_>>() {
                    self.arrive(now, request, target, None);
                }
            }
        }
    }

    /// The chunk of a put is at `target`; over a link, if it left at some time before.
    pub(super) fn arrive(
        &mut self,
        now: Time,
        request: RequestId,
        target: TargetId,
        left: Option<Time>,
    ) {
        let payload = self.running.get(&request).and_then(Running::payload);
        let Some(content) = payload.cloned() else { return };
        let links = self.links.as_ref();
        let took = left.zip(links).map(|(left, links)| links.took(left, now));
        self.tell_target(now, target, TargetInput::Received(request, content, took));
    }

    /// A target sends the chunk of a get at `start`.
    pub(super) fn send_get(
        &mut self,
        now: Time,
        target: TargetId,
        request: RequestId,
        content: Content,
        start: Time,
    ) {
        let Outbox { link, effects, .. } = &mut self.outbox;
        match link {
            Some(link) if request.initiator.0 != link.node() => {
                let (group, position) = self.groups.seat(target);
                let (members, source) = (Members::only(position), Some(target));
                let purpose = Purpose::Get;
                let chunk = ToSend { request, group, members, content, start, purpose, source };
                link.send_get(now, chunk, effects);
            }
            _ if self.links.is_some() => {
                self.timers.at(start, Timer::Leaving(target, request, content));
            }
            _ => self.timers.at(start, Timer::Delivery(target, request, content)),
        }
    }

    /// The chunk of a get is here; or what came of it is useless, if there is none.
    pub(super) fn delivered(&mut self, now: Time, request: RequestId, content: Option<Content>) {
        let intact = content.is_some();
        if let (
            Some(
                Running::Get(slot, _)
                | Running::List { content: slot, .. }
                | Running::Fetch { content: slot, .. }
                | Running::Recover { content: slot, .. },
            ),
            Some(content),
        ) = (self.running.get_mut(&request), content)
        {
            *slot = Some(content);
        }
        self.tell_initiator(now, InitiatorInput::Delivered { request, intact });
    }

    fn end(&mut self, now: Time, request: RequestId, failure: Option<Failure>) {
        if let Some(link) = &mut self.outbox.link {
            link.forget(request);
        }
        match (self.running.remove(&request), failure) {
            (Some(Running::Put(_, number)), failure) => {
                if self.chunk_of_name_ended(now, number, failure) {
                    return;
                }
                self.reply(number, Answer::Put(failure.map_or(Ok(()), Err)));
            }
            (Some(Running::Get(content, number)), failure) => {
                let failure = failure.unwrap_or(Failure::Undelivered);
                self.reply(number, Answer::Get(content.ok_or(failure)));
            }
            (Some(Running::List { walk, list, content }), failure) => {
                let content = content.filter(|_| failure.is_none());
                self.list_fetched(now, (walk, list), content);
            }
            (Some(Running::Fetch { walk, chunk, replicas, content }), failure) => {
                match content.filter(|_| failure.is_none()) {
                    Some(content) => self.restore(now, walk, content, replicas),
                    None => self.restored(now, walk, chunk, false),
                }
            }
            (Some(Running::Restore { walk, content }), failure) => {
                self.restored(now, walk, content.chunk(), failure.is_none());
            }
            (Some(Running::Check { target, chunk }), failure) => {
                let outcome = match failure {
                    None => RepairOutcome::Complete,
                    Some(_) => RepairOutcome::Lacking,
                };
                self.repair_ended(now, target, chunk, outcome);
            }
            (Some(Running::PutAgain { target, content, made }), failure) => {
                let outcome = match (failure, made) {
                    (Some(_), _) => RepairOutcome::Failed,
                    (None, true) => RepairOutcome::Healed,
                    (None, false) => RepairOutcome::Complete,
                };
                self.repair_ended(now, target, content.chunk(), outcome);
            }
            (Some(Running::Recover { target, content: Some(content), wanted, .. }), None) => {
                if self.is_to_wait(now, target) {
                    // It is not held here, and those who hold it count a replica here: no scan would find it.
                    let chunk = content.chunk();
                    return self.repair_ended(now, target, chunk, RepairOutcome::Failed);
                }
                self.put_again(now, target, content, wanted);
            }
            (Some(Running::Recover { target, chunk, .. }), failure) => {
                let outcome = match failure {
                    Some(Failure::NotFound) => RepairOutcome::NotFound,
                    _ => RepairOutcome::Failed,
                };
                self.repair_ended(now, target, chunk, outcome);
            }
            (None, _) => {}
        }
    }
}
