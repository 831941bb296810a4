//! Unicast gets: one holder is asked, reads the chunk and sends it.
//!
//! The rate of a get is what both ends have for it: an equal share of the target's outgoing link
//! and of the initiator's incoming one, known to both at once. As for puts, this is kinder than any
//! real congestion control.

use slotcast_engine::Agenda;
use slotcast_units::Time;

use super::flow::{Direction, Flow, FlowState};
use super::{Event, Request, UnicastModel};

impl UnicastModel {
    /// Puts `count` chunks where the peers would have put them.
    pub(super) fn preload(&mut self, count: u32) {
        let initiators = u32::try_from(self.initiators.len()).expect("counted in u32");
        for i in 0..count {
            let initiator = i % initiators;
            let client = self.clients.client(initiator);
            let placement = self.chooser.place(initiator, self.rules.replicas, client);
            self.catalogue.push(placement);
        }
    }

    pub(super) fn ask_holder(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Request { initiator, placement, .. } = *self.requests.get(slot);
        let holders = placement.targets().len() as u64;
        let pick = self.clients.client(initiator).below(holders);
        // A get uses `next` for the holder that it asks.
        self.requests.get_mut(slot).next = u8::try_from(pick).expect("at most eight holders");
        if self.watch.is_some() {
            self.watch_get_request(now, self.holder(slot), slot);
        }
        agenda.at(now + self.one_way(), Event::GetRequest { request: slot });
    }

    fn holder(&self, slot: u32) -> u32 {
        let request = self.requests.get(slot);
        request.placement.targets()[usize::from(request.next)]
    }

    pub(super) fn get_request(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let target = self.holder(slot);
        let read = self.use_disk(now, target, slot, self.clients.chunk_size());
        agenda.at(read, Event::Read { request: slot });
    }

    pub(super) fn read(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let target = self.holder(slot);
        let initiator = self.requests.get(slot).initiator;
        let flow = self.new_flow(slot, (initiator, target), Direction::Get);
        self.targets[target as usize].outgoing.push(flow);
        self.initiators[initiator as usize].incoming.push(flow);
        let rate = self.get_rate(flow);
        let state = self.flows.get_mut(flow);
        state.set_rate(now, rate);
        state.start(now);
        self.schedule_frame(flow, agenda);
        self.share_again(now, target, initiator, agenda);
    }

    pub(super) fn fetched(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Flow { target, initiator, operation, size, .. } = *self.flows.get(slot);
        if self.watch.is_some() {
            self.watch_arrival(slot);
        }
        self.flows.release(slot);
        self.recorder.devices[target as usize].sent += size;
        self.targets[target as usize].outgoing.retain(|&flow| flow != slot);
        self.initiators[initiator as usize].incoming.retain(|&flow| flow != slot);
        self.share_again(now, target, initiator, agenda);
        self.end(now, operation, agenda);
    }

    fn get_rate(&self, slot: u32) -> slotcast_units::Rate {
        let Flow { target, initiator, .. } = *self.flows.get(slot);
        let out = self.targets[target as usize].outgoing.len() as u64;
        let inward = self.initiators[initiator as usize].incoming.len() as u64;
        self.rules.usable.split(out.max(inward).max(1))
    }

    /// Sets the rates of all gets that share a port with a get that came or went.
    fn share_again(&mut self, now: Time, target: u32, initiator: u32, agenda: &mut Agenda<Event>) {
        let outgoing = self.targets[target as usize].outgoing.len();
        let incoming = self.initiators[initiator as usize].incoming.len();
        for i in 0..outgoing + incoming {
            let slot = match i.checked_sub(outgoing) {
                None => self.targets[target as usize].outgoing[i],
                Some(i) => self.initiators[initiator as usize].incoming[i],
            };
            let rate = self.get_rate(slot);
            let flow = self.flows.get_mut(slot);
            if flow.state != FlowState::Sending || flow.rate() == rate {
                continue;
            }
            let before = flow.progress();
            flow.set_rate(now, rate);
            if self.watch.is_some() && !self.rules.frame_by_frame {
                self.watch_frames_since(before, slot);
            }
            self.schedule_frame(slot, agenda);
        }
    }
}
