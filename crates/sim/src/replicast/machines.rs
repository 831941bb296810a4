//! What events mean to the machines of targets and initiators.

use slotcast_engine::Agenda;
use slotcast_protocol::tape::InitiatorHeard;
use slotcast_protocol::{InitiatorInput, TargetInput};
use slotcast_scenario::{Observation, Place};
use slotcast_units::Time;

use super::windows::Cause;
use super::{Event, ReplicastModel, Transfer};

impl ReplicastModel {
    /// A message has come to a target.
    pub(super) fn deliver_to_target(
        &mut self,
        now: Time,
        target: u32,
        message: u32,
        agenda: &mut Agenda<Event>,
    ) {
        if self.targets[target as usize].up {
            let input = TargetInput::Message(self.messages.get(message));
            let shelf = self.stores.shelf(target);
            let machine = &mut self.targets[target as usize].machine;
            machine.handle(now, input, &shelf, &mut self.target_effects);
            if let Some(tape) = &mut self.tape {
                tape.target(now, target, input, &self.target_effects);
            }
            if self.watch.is_some() {
                let cause = Cause::of(self.messages.get(message));
                self.watch_windows(now, target, cause);
            }
            self.carry_out_target(now, target, agenda);
        }
        self.messages.release(message);
    }

    /// A message has come to an initiator.
    pub(super) fn deliver_to_initiator(
        &mut self,
        now: Time,
        initiator: u32,
        message: u32,
        agenda: &mut Agenda<Event>,
    ) {
        let host = &mut self.initiators[initiator as usize];
        let input = InitiatorInput::Message(self.messages.get(message));
        host.machine.handle(now, input, &self.groups, &mut self.initiator_effects);
        if let Some(tape) = &mut self.tape {
            tape.initiator(now, initiator, input.into(), &self.initiator_effects);
        }
        self.messages.release(message);
        self.carry_out(now, initiator, agenda);
    }

    /// A disk has written a chunk.
    pub(super) fn written(
        &mut self,
        now: Time,
        target: u32,
        transfer: u32,
        incarnation: u16,
        agenda: &mut Agenda<Event>,
    ) {
        let Transfer { request, chunk, size, disk, .. } = *self.transfers.get(transfer);
        self.transfers.release(transfer);
        if self.targets[target as usize].incarnation == incarnation {
            self.stores.add((target, disk), chunk, size);
            let input = TargetInput::Written { request, stable: true };
            self.tell_target(now, target, input, agenda);
        }
    }

    /// A disk has read a chunk.
    pub(super) fn read(
        &mut self,
        now: Time,
        target: u32,
        transfer: u32,
        incarnation: u16,
        agenda: &mut Agenda<Event>,
    ) {
        let request = self.transfers.get(transfer).request;
        self.transfers.release(transfer);
        if self.targets[target as usize].incarnation == incarnation {
            let input = TargetInput::Read { request, intact: true };
            self.tell_target(now, target, input, agenda);
            if self.watch.is_some() {
                self.watch_windows(now, target, Cause::Other);
            }
        }
    }

    /// A target has sent a chunk.
    pub(super) fn sent(
        &mut self,
        now: Time,
        target: u32,
        transfer: u32,
        incarnation: u16,
        agenda: &mut Agenda<Event>,
    ) {
        let Transfer { request, start, .. } = *self.transfers.get(transfer);
        self.transfers.release(transfer);
        if self.targets[target as usize].incarnation == incarnation {
            self.tell_target(now, target, TargetInput::Sent { request }, agenda);
            if self.watch.is_some() {
                let cause = Cause::Payload { request, begin: start, end: now };
                self.watch_windows(now, target, cause);
            }
        }
    }

    /// A chunk has come to an initiator.
    pub(super) fn delivered(
        &mut self,
        now: Time,
        (target, initiator): (u32, u32),
        transfer: u32,
        agenda: &mut Agenda<Event>,
    ) {
        let Transfer { request, start, size, .. } = *self.transfers.get(transfer);
        self.transfers.release(transfer);
        let began = start + self.timing.trip;
        self.recorder.delivered((target, initiator), began, now, size);
        if let Some(watch) = &mut self.watch {
            let to = Place::Initiator(initiator);
            watch.arrived((transfer, 0), to, self.timing.trip, true);
        }
        let intact = !self.faults.damages_transfer();
        let host = &mut self.initiators[initiator as usize];
        let input = InitiatorInput::Delivered { request, intact };
        host.machine.handle(now, input, &self.groups, &mut self.initiator_effects);
        if let Some(tape) = &mut self.tape {
            tape.initiator(now, initiator, input.into(), &self.initiator_effects);
        }
        self.carry_out(now, initiator, agenda);
    }

    /// An initiator wanted to be woken.
    pub(super) fn wake(&mut self, now: Time, initiator: u32, agenda: &mut Agenda<Event>) {
        let host = &mut self.initiators[initiator as usize];
        host.alarm = None;
        let effects = &mut self.initiator_effects;
        host.machine.handle(now, InitiatorInput::Wake, &self.groups, effects);
        if let Some(tape) = &mut self.tape {
            tape.initiator(now, initiator, InitiatorHeard::Wake, effects);
        }
        self.carry_out(now, initiator, agenda);
    }

    /// A target forgets what it has promised.
    pub(super) fn go_down(&mut self, now: Time, target: u32) {
        let host = &mut self.targets[target as usize];
        host.up = false;
        host.incarnation += 1;
        host.machine.restart(now);
        if let Some(proxy) = &mut host.proxy {
            proxy.restart();
        }
        if let Some(watch) = &mut self.watch {
            watch.tell(Observation::TargetDown { at: now, target });
            self.watch_windows(now, target, Cause::Restart);
        }
    }
}
