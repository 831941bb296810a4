//! Carries out what the machines ask for.

use slotcast_engine::Agenda;
use slotcast_protocol::{
    Failure, GroupId, InitiatorEffect, Members, Message, RequestId, TargetEffect, TargetId,
    TargetInput,
};
use slotcast_scenario::{Fidelity, Observation, Operation, Outcome, Place};
use slotcast_units::{Size, Span, Time};

use super::{Cause, Event, ReplicastModel, Transfer, owner};
use crate::objects::{Ended, Object};

impl ReplicastModel {
    /// Carries out all effects of `initiator`, and those that follow from them.
    pub(super) fn carry_out(&mut self, now: Time, initiator: u32, agenda: &mut Agenda<Event>) {
        let mut next = 0;
        while let Some(effect) = self.initiator_effects.get(next) {
            next += 1;
            match *effect {
                InitiatorEffect::Multicast { group, to, ref message } => {
                    let to_proxy = message.is_for_proxy();
                    // The sender keeps one share until all copies are on their way: all may be lost.
                    let slot = self.messages.insert(*message, 1);
                    self.multicast(now, initiator, (group, to), (slot, to_proxy), agenda);
                    self.messages.release(slot);
                }
                InitiatorEffect::Transfer { request, chunk, size, group, to, start } => {
                    let (left, disk) = (size, 0);
                    let transfer = Transfer { request, chunk, size, left, group, to, start, disk };
                    self.start_transfer(transfer, agenda);
                }
                InitiatorEffect::PutDone { request, rounds }
                | InitiatorEffect::GetDone { request, rounds } => {
                    self.end(now, initiator, request, rounds, None);
                }
                InitiatorEffect::Failed { request, rounds, reason } => {
                    self.end(now, initiator, request, rounds, Some(reason));
                }
                InitiatorEffect::WakeAt(time) => {
                    let wake = agenda.timer_at(time.max(now), Event::Wake { initiator });
                    let host = &mut self.initiators[initiator as usize];
                    if let Some(replaced) = host.alarm.replace(wake) {
                        agenda.cancel(replaced);
                    }
                }
            }
        }
        self.initiator_effects.clear();
    }

    /// Sends the message in `slot` to members of a group.
    fn multicast(
        &mut self,
        now: Time,
        initiator: u32,
        (group, to): (GroupId, Members),
        (slot, to_proxy): (u32, bool),
        agenda: &mut Agenda<Event>,
    ) {
        self.initiators[initiator as usize].control_until = now + self.timing.control;
        let arrival = now + self.timing.one_way();
        let members = self.groups.members(group);
        for position in to.iter() {
            let TargetId(target) = members[usize::from(position)];
            let event = match to_proxy {
                false => Event::ToTarget { target, message: slot },
                true => Event::ToProxy { target, message: slot },
            };
            let copies = self.faults.copies();
            self.recorder.counts.messages_lost += u64::from(copies.is_empty());
            if let Some(watch) = &mut self.watch {
                let ends = (Place::Initiator(initiator), Place::Target(target));
                watch.message(self.messages.get(slot), ends, now, arrival, copies);
            }
            for delay in copies.delays() {
                self.messages.share(slot);
                agenda.at(arrival + delay, event);
            }
        }
    }

    fn send_to_initiator(
        &mut self,
        now: Time,
        (target, initiator): (u32, u32),
        message: &Message,
        agenda: &mut Agenda<Event>,
    ) {
        let arrival = self.control_leaves(now, target) + self.timing.trip;
        let copies = self.faults.copies();
        self.recorder.counts.messages_lost += u64::from(copies.is_empty());
        if let Some(watch) = &mut self.watch {
            let ends = (Place::Target(target), Place::Initiator(initiator));
            watch.message(message, ends, now, arrival, copies);
        }
        for delay in copies.delays() {
            let slot = self.messages.insert(*message, 1);
            agenda.at(arrival + delay, Event::ToInitiator { initiator, message: slot });
        }
    }

    /// A request ended; its initiator goes on with the next.
    fn end(
        &mut self,
        now: Time,
        initiator: u32,
        request: RequestId,
        rounds: u8,
        failure: Option<Failure>,
    ) {
        let host = &mut self.initiators[initiator as usize];
        let at = host.running.iter().position(|r| r.request == request);
        let running = host.running.swap_remove(at.expect("only running requests end"));
        self.recorder.counts.extra_rounds += u64::from(rounds) - 1;
        if let Some(watch) = &mut self.watch {
            watch.request_ended(now, request, failure.map_or(Outcome::Done, Outcome::Failed));
        }
        let ended = match running.slot {
            None => Ended::from(failure),
            Some(slot) => self.objects.ended(initiator, slot, failure),
        };
        self.clients.ended(initiator);
        let Object { operation, asked, name, size } = running.object;
        match ended {
            Ended::Going => {}
            Ended::Whole => {
                self.recorder.complete(asked, now, operation);
                if operation == Operation::Put {
                    self.stores.list(name, size);
                }
            }
            Ended::Failed(reason) => {
                match reason {
                    Failure::NoCommonWindow => self.recorder.counts.abandoned += 1,
                    _ => self.recorder.counts.failures += 1,
                }
                self.recorder.give_up(asked, now);
            }
        }
        self.start_requests(now, initiator);
    }

    fn start_transfer(&mut self, transfer: Transfer, agenda: &mut Agenda<Event>) {
        let Transfer { size, group, to, start, .. } = transfer;
        let slot = self.transfers.insert(transfer, u32::try_from(to.len()).expect("at most 64"));
        if self.watch.is_some() {
            self.watch_multicast(slot);
        }
        if self.fidelity == Fidelity::Frame {
            agenda.at(start, Event::Frame { transfer: slot });
            return;
        }
        let arrival = start + self.time_of_frames(size) + self.timing.trip;
        let members = self.groups.members(group);
        for position in to.iter() {
            let TargetId(target) = members[usize::from(position)];
            agenda.at(arrival, Event::Received { target, transfer: slot });
        }
    }

    /// The chunk in `slot` will be sent to members of a group.
    #[cold]
    fn watch_multicast(&mut self, slot: u32) {
        let Transfer { request, group, to, .. } = *self.transfers.get(slot);
        let members = self.groups.members(group);
        let to = to.iter().map(|position| members[usize::from(position)]);
        let to = to.map(|TargetId(target)| Place::Target(target)).collect();
        self.watch_payload(slot, Place::Initiator(owner(request)), to);
    }

    /// The chunk in `slot` will be sent. At flow fidelity all its frames follow each other.
    #[cold]
    fn watch_payload(&mut self, slot: u32, from: Place, to: Vec<Place>) {
        let Transfer { request, size, start, .. } = *self.transfers.get(slot);
        let last = Size::from_bytes(size.as_bytes() % self.timing.frame.as_bytes());
        let before_last = start + self.time_of_frames(size - last);
        let end = start + self.time_of_frames(size);
        let Some(watch) = &mut self.watch else { return };
        watch.payload((slot, 0), request, from, to, false);
        let is_told_by_frames = matches!(from, Place::Initiator(_));
        if self.fidelity == Fidelity::Flow || !is_told_by_frames {
            watch.leaves((slot, 0), start, before_last, size - last);
            watch.leaves((slot, 0), before_last, end, last);
        }
    }

    /// Time of a chunk on the link, frame by frame: each frame takes whole nanoseconds.
    fn time_of_frames(&self, size: Size) -> Span {
        let frame = self.timing.frame;
        let rest = Size::from_bytes(size.as_bytes() % frame.as_bytes());
        self.timing.frame_time() * (size / frame) + self.timing.data_rate.time_for(rest)
    }

    /// The next frame of a transfer leaves, unless a control message is in its way.
    pub(super) fn frame(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Transfer { request, left, group, to, .. } = *self.transfers.get(slot);
        let busy_until = self.initiators[owner(request) as usize].control_until;
        if busy_until > now {
            agenda.at(busy_until, Event::Frame { transfer: slot });
            return;
        }
        let size = left.min(self.timing.frame);
        let left = left - size;
        self.transfers.get_mut(slot).left = left;
        let sent = now + self.timing.data_rate.time_for(size);
        if let Some(watch) = &mut self.watch {
            watch.leaves((slot, 0), now, sent, size);
        }
        let members = self.groups.members(group);
        for position in to.iter() {
            let TargetId(target) = members[usize::from(position)];
            let event = match left == Size::ZERO {
                true => Event::Received { target, transfer: slot },
                false => Event::FrameReceived { target, transfer: slot },
            };
            agenda.at(sent + self.timing.trip, event);
        }
        if left > Size::ZERO {
            agenda.at(sent, Event::Frame { transfer: slot });
        }
    }

    /// A chunk is complete at a target.
    pub(super) fn received(
        &mut self,
        now: Time,
        target: u32,
        slot: u32,
        agenda: &mut Agenda<Event>,
    ) {
        let Transfer { request, chunk, size, start, .. } = *self.transfers.get(slot);
        let is_up = self.targets[target as usize].up;
        let mut left = None;
        if let Some(watch) = &mut self.watch {
            left = watch.arrived((slot, 0), Place::Target(target), self.timing.trip, is_up);
        }
        if !is_up {
            self.transfers.release(slot);
            return;
        }
        self.recorder.received(target, start + self.timing.trip, now, size);
        let intact = !self.faults.damages_transfer();
        let input = TargetInput::Received { request, chunk, size, intact };
        self.tell_target(now, target, input, agenda);
        if let Some((begin, end)) = left {
            self.watch_windows(now, target, Cause::Payload { request, begin, end });
        }
        self.transfers.release(slot);
    }

    /// Carries out all effects of `target`.
    pub(super) fn carry_out_target(&mut self, now: Time, target: u32, agenda: &mut Agenda<Event>) {
        let mut effects = std::mem::take(&mut self.target_effects);
        for effect in &effects {
            let incarnation = self.targets[target as usize].incarnation;
            match *effect {
                TargetEffect::Send { to, ref message } => {
                    self.send_to_initiator(now, (target, to.0), message, agenda);
                }
                TargetEffect::Write { request, chunk, size, disk, .. } => {
                    let done = self.use_disk(now, (target, disk), request, Operation::Put, size);
                    let transfer = self.at_disk(request, chunk, size, now);
                    self.transfers.get_mut(transfer).disk = disk;
                    agenda.at(done, Event::Written { target, transfer, incarnation });
                }
                // Only a host that keeps numbers is asked to raise one.
                TargetEffect::Raise { .. } => {}
                TargetEffect::Read { request, chunk, size, disk } => {
                    let done = self.use_disk(now, (target, disk), request, Operation::Get, size);
                    let transfer = self.at_disk(request, chunk, size, now);
                    agenda.at(done, Event::Read { target, transfer, incarnation });
                }
                TargetEffect::Transfer { request, chunk, size, start } => {
                    let sent = start + self.time_of_frames(size);
                    let transfer = self.at_disk(request, chunk, size, start);
                    self.transfers.share(transfer);
                    agenda.at(sent, Event::Sent { target, transfer, incarnation });
                    let initiator = owner(request);
                    if self.watch.is_some() {
                        let to = vec![Place::Initiator(initiator)];
                        self.watch_payload(transfer, Place::Target(target), to);
                    }
                    let arrival = sent + self.timing.trip;
                    agenda.at(arrival, Event::Delivered { initiator, target, transfer });
                }
                TargetEffect::Report { to, message } => {
                    let mut proxy = Members::NONE;
                    proxy.insert(to);
                    self.send_to_members(now, target, proxy, message, agenda);
                }
            }
        }
        effects.clear();
        self.target_effects = effects;
    }

    fn use_disk(
        &mut self,
        now: Time,
        (target, disk): (u32, u16),
        request: RequestId,
        operation: Operation,
        size: Size,
    ) -> Time {
        let service = self.targets[target as usize].disk_rate.time_for(size) + self.access;
        let end = self.recorder.disk(target, disk).serve(now, service);
        if let Some(watch) = &mut self.watch {
            let (queued, begin) = (now, end - service);
            watch.tell(Observation::Disk { request, target, disk, operation, queued, begin, end });
        }
        end
    }

    fn at_disk(
        &mut self,
        request: RequestId,
        chunk: slotcast_protocol::ChunkId,
        size: Size,
        start: Time,
    ) -> u32 {
        let (group, to, left, disk) = (GroupId(0), Members::NONE, size, 0);
        self.transfers.insert(Transfer { request, chunk, size, left, group, to, start, disk }, 1)
    }
}
