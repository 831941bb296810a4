//! What an onlooker hears of requests over DCTCP. Called only if there is one.
//!
//! Frames carry bytes of a stream, and chunks follow each other in it: what a frame carries of each
//! chunk is told, every time that it is sent.

use slotcast_protocol::{InitiatorId, RequestId};
use slotcast_scenario::{Observation, Operation, Outcome, Place};
use slotcast_units::{Size, Span, Time};

use super::port::Verdict;
use super::{DctcpModel, Request, Stream};

impl DctcpModel {
    /// The name of the request in `slot`.
    pub(super) fn name_of(&self, slot: u32) -> RequestId {
        let Request { initiator, serial, .. } = *self.requests.get(slot);
        RequestId { initiator: InitiatorId(initiator), serial }
    }

    fn tell(&mut self, observation: Observation) {
        if let Some(watch) = &mut self.watch {
            watch.tell(observation);
        }
    }

    /// The request in `slot` starts.
    #[cold]
    pub(super) fn watch_started(&mut self, now: Time, slot: u32) {
        let Request { operation, asked, .. } = *self.requests.get(slot);
        let request = self.name_of(slot);
        if let Some(watch) = &mut self.watch {
            watch.request_started(now, request, operation, asked);
        }
    }

    /// The request in `slot` is done.
    #[cold]
    pub(super) fn watch_ended(&mut self, now: Time, slot: u32) {
        let request = self.name_of(slot);
        if let Some(watch) = &mut self.watch {
            watch.request_ended(now, request, Outcome::Done);
        }
    }

    fn watch_message(&mut self, kind: &'static str, sent: Time, ends: (Place, Place), slot: u32) {
        let (request, (from, to)) = (self.name_of(slot), ends);
        let received = Some(sent + self.rules.one_way);
        self.tell(Observation::Message { request, kind, from, to, sent, received });
    }

    /// The initiator of the request in `slot` asks the target that holds the chunk.
    #[cold]
    pub(super) fn watch_get_request(&mut self, now: Time, slot: u32) {
        let Request { initiator, holder, .. } = *self.requests.get(slot);
        let ends = (Place::Initiator(initiator), Place::Target(holder));
        self.watch_message("get-request", now, ends, slot);
    }

    fn watch_disk(
        &mut self,
        target: u32,
        slot: u32,
        operation: Operation,
        (queued, begin, end): (Time, Time, Time),
    ) {
        let (request, disk) = (self.name_of(slot), 0);
        self.tell(Observation::Disk { request, target, disk, operation, queued, begin, end });
    }

    /// A target writes a chunk for the request in `slot`, and acknowledges it then.
    #[cold]
    pub(super) fn watch_write(&mut self, target: u32, slot: u32, times: (Time, Time, Time)) {
        self.watch_disk(target, slot, Operation::Put, times);
        let ends = (Place::Target(target), Place::Initiator(self.requests.get(slot).initiator));
        self.watch_message("replica-ack", times.2, ends, slot);
    }

    /// A target reads the chunk that the request in `slot` asks for.
    #[cold]
    pub(super) fn watch_read(&mut self, slot: u32, times: (Time, Time, Time)) {
        let target = self.requests.get(slot).holder;
        self.watch_disk(target, slot, Operation::Get, times);
    }

    /// A chunk that ends at byte `end` was written into `stream` for the request in `slot`.
    #[cold]
    pub(super) fn watch_write_into(&mut self, stream: u32, end: u64, slot: u32) {
        let Stream { from, to, .. } = self.streams[stream as usize];
        let (request, from, to) = (self.name_of(slot), self.place(from), self.place(to));
        if let Some(watch) = &mut self.watch {
            watch.payload((stream, end), request, from, vec![to], true);
        }
    }

    /// A frame of `len` bytes from byte `start` of `stream` on has begun to leave `now`.
    #[cold]
    pub(super) fn watch_frame(
        &mut self,
        now: Time,
        stream: u32,
        (start, len): (u64, u32),
        verdict: Verdict,
    ) {
        let size = self.clients.chunk_size().as_bytes();
        let from = self.streams[stream as usize].from;
        let leaving = self.rules.link_time_for(from, len);
        let arriving = self.rules.time_for(len);
        let Some(watch) = &mut self.watch else { return };
        let end = start + u64::from(len);
        let chunks: Vec<u64> = watch
            .keys_from((stream, start + 1))
            .map_while(|(of, chunk_end)| (of == stream).then_some(chunk_end))
            .take_while(|chunk_end| chunk_end - size < end)
            .collect();
        for chunk_end in chunks {
            let (first, last) = (start.max(chunk_end - size), end.min(chunk_end));
            let part = |begin: Time, time: Span| {
                let at = |byte: u64| begin + time * (byte - start) / u64::from(len);
                (at(first), at(last))
            };
            let (key, bytes) = ((stream, chunk_end), Size::from_bytes(last - first));
            let (left, gone) = part(now, leaving);
            watch.leaves(key, left, gone, bytes);
            if let Verdict::Passed { arrives, .. } = verdict {
                let (came, there) = part(arrives - arriving, arriving);
                watch.arrives(key, came, there, bytes);
            }
        }
    }

    /// The chunk of `stream` that ends at byte `end` is complete, and read.
    #[cold]
    pub(super) fn watch_arrival(&mut self, stream: u32, end: u64) {
        let to = self.place(self.streams[stream as usize].to);
        if let Some(watch) = &mut self.watch {
            watch.arrived((stream, end), to, self.rules.trip, true);
        }
    }
}
