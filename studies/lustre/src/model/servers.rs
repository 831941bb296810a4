//! What servers do with requests: queue, execute, answer, grant more time.

use slotcast_engine::Agenda;
use slotcast_schedulers::Direction;
use slotcast_units::{Span, Time};

use super::{Kind, LustreModel, PACKET, Rpc};
use crate::event::LustreEvent;

impl LustreModel {
    /// A request comes to its OST.
    pub(super) fn come(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let rpc = self.rpcs.get_mut(number);
        rpc.request.arrived = now;
        let Rpc { ost: index, request, deadline, .. } = *rpc;
        let ost = &mut self.osts[index as usize];
        if deadline < Time::NEVER {
            let queued = ost.queued() as u64;
            let extension = ost.clock.arrived(now, request.id, deadline, queued);
            if let Some(extension) = extension {
                self.grant(number, extension.until, agenda);
            }
            self.look_at_deadlines(index, agenda);
        }
        let ost = &mut self.osts[index as usize];
        ost.enqueue(now, request);
        self.measured.queued(now, ost.queued());
        self.dispatch(now, index, agenda);
    }

    /// Gives requests to threads as long as there are both.
    pub(super) fn dispatch(&mut self, now: Time, index: u32, agenda: &mut Agenda<LustreEvent>) {
        while let Some(request) = self.osts[index as usize].take(now) {
            let number = u32::try_from(request.id.0).expect("RPCs are numbered in 32 bits");
            match request.direction {
                Direction::Write => {
                    let way = (self.node_of_ost(index), request.client.0);
                    self.tell(Kind::Get, number, way, agenda);
                }
                Direction::Read => self.map(number, agenda),
            }
        }
        let ost = &mut self.osts[index as usize];
        let at = ost.wake_at(now);
        if ost.wake.map(|(time, _)| time) == at {
            return;
        }
        if let Some((_, timer)) = ost.wake.take() {
            agenda.cancel(timer);
        }
        if let Some(at) = at.map(|at| at.max(now + Span::from_ns(1))) {
            ost.wake = Some((at, agenda.timer_at(at, LustreEvent::Wake { ost: index })));
        }
    }

    /// A thread is done with an RPC; the answer carries the server's estimate.
    pub(super) fn executed(&mut self, now: Time, number: u32, agenda: &mut Agenda<LustreEvent>) {
        let Rpc { request, client, ost: index, deadline, .. } = *self.rpcs.get(number);
        let ost = &mut self.osts[index as usize];
        ost.release(now, &request);
        self.measured.executed(now, &request);
        if deadline < Time::NEVER {
            ost.clock.finished(now, request.id, request.arrived);
            if let Some(estimate) = ost.clock.estimate(now, ost.queued() as u64) {
                self.clients[client as usize].estimate = Some(estimate);
            }
        }
        self.dispatch(now, index, agenda);
    }

    pub(super) fn grant(&mut self, number: u32, until: Time, agenda: &mut Agenda<LustreEvent>) {
        self.rpcs.share(number);
        let rpc = self.rpcs.get_mut(number);
        rpc.early_replies += 1;
        let Rpc { client, ost, .. } = *rpc;
        let way = (self.node_of_ost(ost), client);
        self.post(Kind::Early(until), number, way, PACKET, agenda);
    }

    pub(super) fn send_early(&mut self, now: Time, index: u32, agenda: &mut Agenda<LustreEvent>) {
        let clock = &mut self.osts[index as usize].clock;
        clock.wake = None;
        let mut due = Vec::new();
        if let Some(early) = &mut clock.early {
            early.due(now, &mut due);
        }
        for extension in due {
            let number = u32::try_from(extension.request.0).expect("RPCs are numbered in 32 bits");
            self.grant(number, extension.until, agenda);
        }
        self.look_at_deadlines(index, agenda);
    }

    /// Makes sure that early replies are looked at when the next one is due.
    pub(super) fn look_at_deadlines(&mut self, index: u32, agenda: &mut Agenda<LustreEvent>) {
        let clock = &mut self.osts[index as usize].clock;
        let Some(at) = clock.early.as_ref().and_then(|early| early.wake_at()) else { return };
        if let Some(timer) = clock.wake.take() {
            agenda.cancel(timer);
        }
        let at = at.max(agenda.now() + Span::from_ns(1));
        clock.wake = Some(agenda.timer_at(at, LustreEvent::Early { ost: index }));
    }
}
