//! What goes over the network, and what follows from it.

use slotcast_engine::Agenda;
use slotcast_schedulers::Direction;
use slotcast_units::{Size, Time};

use super::{Kind, LustreModel, Message, PACKET};
use crate::disk::around;
use crate::event::LustreEvent;

impl LustreModel {
    /// Sends `size` bytes about an RPC, or for opens a client, from one node to another.
    pub(super) fn post(
        &mut self,
        kind: Kind,
        about: u32,
        (from, to): (u32, u32),
        size: Size,
        agenda: &mut Agenda<LustreEvent>,
    ) {
        let network = &self.scenario.network;
        let span = network.rate.time_for(size);
        let is_long = size > PACKET;
        let (first, last) = self.nics[from as usize].send(agenda.now(), span);
        let latency = around(network.latency, network.latency / 10, &mut self.random);
        let message = self.messages.insert(Message { kind, about, to, span, is_long }, 1);
        if is_long {
            agenda.at(first + latency, LustreEvent::Flow { message });
        }
        agenda.at(last + latency, LustreEvent::Arrive { message });
    }

    /// A message without data.
    pub(super) fn tell(
        &mut self,
        kind: Kind,
        about: u32,
        way: (u32, u32),
        agenda: &mut Agenda<LustreEvent>,
    ) {
        self.post(kind, about, way, self.scenario.network.message, agenda);
    }

    /// The last byte of a message comes to the switch.
    pub(super) fn arrive(&mut self, now: Time, message: u32, agenda: &mut Agenda<LustreEvent>) {
        let Message { to, span, is_long, .. } = *self.messages.get(message);
        let nic = &mut self.nics[to as usize];
        let there = if is_long { nic.flow_ends(now) } else { nic.receive(now, span) };
        let interrupt = self.scenario.network.interrupt;
        let interrupt = around(interrupt, interrupt / 10, &mut self.random);
        agenda.at(there + interrupt, LustreEvent::Deliver { message });
    }

    /// A message is handled at its node.
    pub(super) fn deliver(&mut self, now: Time, message: u32, agenda: &mut Agenda<LustreEvent>) {
        let Message { kind, about, .. } = *self.messages.get(message);
        self.messages.release(message);
        match kind {
            Kind::Open => {
                let time = self.scenario.mdt.open_time;
                let done = self.mdt.serve(now, around(time, time / 10, &mut self.random));
                // The answer leaves when the thread is done: the link of the MDT is idle then.
                let network = &self.scenario.network;
                let span = network.rate.time_for(network.message);
                let told = Message { kind: Kind::Opened, about, to: about, span, is_long: false };
                let told = self.messages.insert(told, 1);
                agenda.at(done + span + network.latency, LustreEvent::Arrive { message: told });
            }
            Kind::Opened => {
                self.measured.opened(now);
                self.begin(now, about, agenda);
            }
            Kind::Request => self.come(now, about, agenda),
            Kind::Get => {
                let rpc = *self.rpcs.get(about);
                let way = (rpc.client, self.node_of_ost(rpc.ost));
                self.post(Kind::Bulk, about, way, rpc.request.length, agenda);
            }
            Kind::Put => {
                let rpc = self.rpcs.get(about);
                let way = (rpc.client, self.node_of_ost(rpc.ost));
                self.tell(Kind::Ready, about, way, agenda);
            }
            Kind::Ready => {
                let rpc = *self.rpcs.get(about);
                let way = (self.node_of_ost(rpc.ost), rpc.client);
                self.post(Kind::Bulk, about, way, rpc.request.length, agenda);
            }
            Kind::Bulk => match self.rpcs.get(about).request.direction {
                Direction::Write => self.map(about, agenda),
                Direction::Read => {
                    self.executed(now, about, agenda);
                    self.answered(now, about, agenda);
                }
            },
            Kind::Reply => self.answered(now, about, agenda),
            Kind::Early(until) => {
                // The RPC may have been answered in between; then nobody holds the message's number.
                let rpc = self.rpcs.get_mut(about);
                if now <= rpc.deadline {
                    rpc.deadline = rpc.deadline.max(until);
                }
                self.rpcs.release(about);
            }
        }
    }
}
