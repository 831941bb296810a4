//! What receivers do with what arrives: initiators read at once, targets while their disks have room.

use slotcast_engine::Agenda;
use slotcast_units::{Span, Time};

use super::event::Event;
use super::receiver::{Message, Reading};
use super::{DctcpModel, Packet};

impl DctcpModel {
    /// There is more to read in a stream.
    pub(super) fn readable(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let Some(target) = self.target_at(self.streams[slot as usize].to) else {
            while let Reading::Whole(message) = self.streams[slot as usize].receiver.read() {
                if self.watch.is_some() {
                    self.watch_arrival(slot, message.end);
                }
                self.fetched(now, message.request, agenda);
            }
            return;
        };
        if self.streams[slot as usize].receiver.waiting {
            return;
        }
        if !self.targets[target as usize].waiting.is_empty() {
            return self.wait(now, target, slot, agenda);
        }
        while self.streams[slot as usize].receiver.is_readable() {
            if self.has_full_disk(now, target) {
                return self.wait(now, target, slot, agenda);
            }
            self.read(now, target, slot, agenda);
        }
    }

    /// A target reads up to the end of the next chunk of a stream, and writes the chunk to its disk.
    fn read(&mut self, now: Time, target: u32, slot: u32, agenda: &mut Agenda<Event>) {
        let Reading::Whole(Message { request, end }) = self.streams[slot as usize].receiver.read()
        else {
            return;
        };
        let size = self.clients.chunk_size();
        let device = &mut self.recorder.devices[target as usize];
        device.received += size;
        let disk_rate = self.targets[target as usize].disk_rate;
        let service = disk_rate.time_for(size) + self.rules.access;
        let written = device.disk.serve(now, service);
        if self.watch.is_some() {
            self.watch_arrival(slot, end);
            self.watch_write(target, request, (now, written - service, written));
        }
        agenda.at(written + self.rules.one_way, Event::ReplicaAck { request });
    }

    /// A stream waits until its target's disk has room.
    fn wait(&mut self, now: Time, target: u32, slot: u32, agenda: &mut Agenda<Event>) {
        self.streams[slot as usize].receiver.waiting = true;
        self.targets[target as usize].waiting.push_back(slot);
        self.resume_later(now, target, agenda);
    }

    fn resume_later(&mut self, now: Time, target: u32, agenda: &mut Agenda<Event>) {
        if !self.targets[target as usize].resuming {
            self.targets[target as usize].resuming = true;
            let until_room = self.until_room(now, target).unwrap_or(Span::ZERO);
            agenda.at(now + until_room, Event::Resume { target });
        }
    }

    fn has_full_disk(&self, now: Time, target: u32) -> bool {
        self.until_room(now, target).is_some()
    }

    /// How long until the disk of `target` is no longer full; none if it is not.
    fn until_room(&self, now: Time, target: u32) -> Option<Span> {
        let full = self.targets[target as usize].full;
        let backlog = self.recorder.devices[target as usize].disk.backlog(now);
        (backlog >= full).then(|| backlog - full + Span::from_ns(1))
    }

    /// The disk of `target` has room: the streams that wait are read, a chunk of each in turn.
    pub(super) fn resume(&mut self, now: Time, target: u32, agenda: &mut Agenda<Event>) {
        self.targets[target as usize].resuming = false;
        while !self.has_full_disk(now, target) {
            let Some(slot) = self.targets[target as usize].waiting.pop_front() else { return };
            self.read(now, target, slot, agenda);
            let receiver = &mut self.streams[slot as usize].receiver;
            receiver.waiting = receiver.is_readable();
            if receiver.waiting {
                self.targets[target as usize].waiting.push_back(slot);
            }
            self.tell_of_room(now, slot, agenda);
        }
        if !self.targets[target as usize].waiting.is_empty() {
            self.resume_later(now, target, agenda);
        }
    }

    /// Tells the sender of room that came by reading, if no acknowledgement will.
    fn tell_of_room(&mut self, now: Time, slot: u32, agenda: &mut Agenda<Event>) {
        let buffer = self.rules.receive_buffer;
        let receiver = &mut self.streams[slot as usize].receiver;
        if receiver.keeps_sender_waiting(buffer, u64::from(self.rules.frame)) {
            let edge = receiver.tell_edge(buffer);
            let update = Packet {
                stream: slot,
                len: 0,
                start: 0,
                transmission: 0,
                sent: now,
                marked: false,
                edge,
            };
            let packet = self.packets.insert(update, 1);
            agenda.at(now + self.rules.one_way, Event::WindowUpdate { packet });
        }
    }
}
