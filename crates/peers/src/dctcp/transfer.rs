//! How frames and their acknowledgements travel.

use slotcast_engine::Agenda;
use slotcast_units::Time;

use super::event::Event;
use super::port::Verdict;
use super::sender::{Ack, Departure};
use super::{DctcpModel, Packet, Stream};

impl DctcpModel {
    /// Gives a stream its turns on its sender's link, if it has something to send.
    pub(super) fn offer(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Stream { from, sender, .. } = &mut self.streams[slot as usize];
        if sender.queued || sender.allowed(&self.rules.sender).is_none() {
            return;
        }
        sender.queued = true;
        let node = *from;
        self.links[node as usize].turns.push_back(slot);
        self.send_frames(now, node, agenda);
    }

    /// Sends what the link of `node` carries now.
    pub(super) fn send_frames(&mut self, now: Time, node: u32, agenda: &mut Agenda<Event>) {
        while let Some(&slot) = self.links[node as usize].turns.front() {
            let link = &mut self.links[node as usize];
            if link.free_at > now {
                if !link.waking {
                    link.waking = true;
                    agenda.at(link.free_at, Event::LinkFree { node });
                }
                return;
            }
            link.turns.pop_front();
            let sender = &mut self.streams[slot as usize].sender;
            sender.queued = false;
            let Some(len) = sender.allowed(&self.rules.sender) else { continue };
            let departure = sender.send(now, len, &self.rules.sender);
            sender.queued = sender.allowed(&self.rules.sender).is_some();
            if sender.queued {
                link.turns.push_back(slot);
            }
            link.free_at = now + self.rules.link_time_for(node, len);
            self.through_the_switch(now, slot, departure, agenda);
        }
    }

    /// A frame has begun to leave `now`.
    fn through_the_switch(
        &mut self,
        now: Time,
        slot: u32,
        departure: Departure,
        agenda: &mut Agenda<Event>,
    ) {
        let Departure { start, len, transmission, again } = departure;
        let time = self.rules.time_for(len);
        let stream = &mut self.streams[slot as usize];
        self.recorder.counts.retransmissions += u64::from(again);
        if !stream.sender.timer_set {
            stream.sender.timer_set = true;
            agenda.at(stream.sender.deadline(), Event::Timeout { stream: slot });
        }
        let port = &mut self.ports[stream.to as usize];
        let verdict = port.pass(now + self.rules.trip, len, time, &self.rules.port);
        if self.watch.is_some() {
            self.watch_frame(now, slot, (start, len), verdict);
        }
        let counts = &mut self.recorder.counts;
        match verdict {
            Verdict::Dropped => counts.frames_dropped += 1,
            Verdict::Passed { arrives, marked } => {
                counts.frames_marked += u64::from(marked);
                let packet =
                    Packet { stream: slot, len, start, transmission, sent: now, marked, edge: 0 };
                agenda.at(arrives, Event::Frame { packet: self.packets.insert(packet, 1) });
            }
        }
    }

    /// The last bit of a frame has arrived.
    pub(super) fn frame(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Packet { stream, len, start, .. } = *self.packets.get(slot);
        let end = start + u64::from(len);
        let receiver = &mut self.streams[stream as usize].receiver;
        if receiver.is_damaged(start, end) {
            self.packets.release(slot);
            return;
        }
        if receiver.arrive(start, end) {
            self.readable(now, stream, agenda);
        }
        let receiver = &mut self.streams[stream as usize].receiver;
        self.packets.get_mut(slot).edge = receiver.tell_edge(self.rules.receive_buffer);
        agenda.at(now + self.rules.one_way, Event::Ack { packet: slot });
    }

    /// The acknowledgement of a frame has arrived.
    pub(super) fn acknowledged(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Packet { stream, start, transmission, sent, marked, edge, .. } =
            *self.packets.get(slot);
        self.packets.release(slot);
        let ack = Ack { start, transmission, sent, marked, edge };
        self.streams[stream as usize].sender.acknowledge(now, ack, &self.rules.sender);
        self.offer(now, stream, agenda);
    }

    /// A receiver that had no room has some.
    pub(super) fn window_update(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Packet { stream, edge, .. } = *self.packets.get(slot);
        self.packets.release(slot);
        self.streams[stream as usize].sender.opened(edge);
        self.offer(now, stream, agenda);
    }

    /// A retransmission timeout may have come; its deadline moves with every acknowledgement.
    pub(super) fn timeout(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let sender = &mut self.streams[slot as usize].sender;
        sender.timer_set = sender.deadline() != Time::NEVER;
        if !sender.timer_set {
            return;
        }
        if sender.deadline() <= now {
            self.recorder.counts.timeouts += 1;
            sender.time_out(now, &self.rules.sender);
        }
        agenda.at(sender.deadline(), Event::Timeout { stream: slot });
        self.offer(now, slot, agenda);
    }
}
