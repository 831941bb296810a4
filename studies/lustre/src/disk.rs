//! One disk of an OST, behind its elevator.

use std::collections::VecDeque;

use slotcast_engine::{Stream, TimerId};
use slotcast_schedulers::Direction;
use slotcast_units::{Rate, Size, Span};

use super::elevator::{DiskRequest, Elevator};
use super::report::DiskUse;
use super::scenario::{ArraySettings, ElevatorSettings};

/// A disk with one arm: a request takes its bytes' time, and a seek if it does not start where the last
/// one ended, else a small latency.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) elevator: Elevator,
    /// When the elevator is unplugged, if it is plugged.
    pub(crate) plug: Option<TimerId>,
    /// What has left the elevator.
    queue: VecDeque<DiskRequest>,
    current: Option<DiskRequest>,
    head: u64,
    plug_holds: bool,
    model: ArraySettings,
    pub(crate) used: DiskUse,
}

/// `middle` plus or minus up to `jitter`, each nanosecond as likely.
pub(crate) fn around(middle: Span, jitter: Span, random: &mut Stream) -> Span {
    if jitter == Span::ZERO {
        return middle;
    }
    let drawn = random.below(2 * jitter.as_ns() + 1);
    (middle + Span::from_ns(drawn)).saturating_sub(jitter)
}

impl Disk {
    pub(crate) fn new(model: &ArraySettings, elevator: &ElevatorSettings) -> Disk {
        Disk {
            elevator: Elevator::new(elevator),
            plug: None,
            queue: VecDeque::new(),
            current: None,
            head: 0,
            plug_holds: elevator.plug_holds_disk,
            model: model.clone(),
            used: DiskUse::default(),
        }
    }

    /// Moves what the elevator holds into the queue.
    pub(crate) fn unplug(&mut self) {
        self.queue.extend(self.elevator.unplug());
    }

    /// Puts a request behind what has left the elevator.
    pub(crate) fn push(&mut self, request: DiskRequest) {
        self.queue.push_back(request);
    }

    /// Begins the next request if the disk is idle and may work: how long it takes.
    pub(crate) fn begin(&mut self, random: &mut Stream) -> Option<Span> {
        if self.current.is_some() || (self.plug_holds && self.elevator.is_plugged()) {
            return None;
        }
        let request = self.queue.pop_front()?;
        let is_seek = request.place != self.head;
        let ArraySettings { seek, seek_jitter, latency, latency_jitter, .. } = self.model;
        let positioning = match is_seek {
            true => around(seek, seek_jitter, random),
            false => around(latency, latency_jitter, random),
        };
        let span = positioning + self.rate(&request).time_for(Size::from_bytes(request.length));
        self.used.add(request.direction, request.length, is_seek, span);
        self.current = Some(request);
        Some(span)
    }

    /// The request that was begun is done.
    pub(crate) fn finish(&mut self) -> DiskRequest {
        let request = self.current.take().expect("a disk finishes what it began");
        self.head = request.end();
        request
    }

    fn rate(&self, request: &DiskRequest) -> Rate {
        match request.direction {
            Direction::Read => self.model.read_rate,
            Direction::Write => self.model.write_rate,
        }
    }
}

/// The part of a RAID0 that a place belongs to: its member, the place there, and how far it goes.
pub(crate) fn member(settings: &ArraySettings, place: u64, length: u64) -> (u32, u64, u64) {
    let (members, chunk) = (u64::from(settings.members), settings.chunk.as_bytes());
    if members == 1 {
        return (0, place, length);
    }
    let (stripe, within) = (place / chunk, place % chunk);
    let index = u32::try_from(stripe % members).expect("fewer members than 2^32");
    (index, stripe / members * chunk + within, length.min(chunk - within))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_engine::Streams;

    fn disk() -> (Disk, Stream) {
        let model = ArraySettings {
            seek_jitter: Span::ZERO,
            latency_jitter: Span::ZERO,
            ..ArraySettings::default()
        };
        (Disk::new(&model, &ElevatorSettings::default()), Streams::new(1).stream("disk", 0))
    }

    fn write(mib: u64) -> DiskRequest {
        let place = mib << 20;
        DiskRequest { direction: Direction::Write, place, length: 1 << 20, pieces: Vec::new() }
    }

    #[test]
    fn seeks_are_counted_where_a_request_does_not_go_on() {
        let (mut disk, mut random) = disk();
        for mib in [0, 1, 5, 6, 2] {
            disk.push(write(mib));
        }
        let mut spans = Vec::new();
        while let Some(span) = disk.begin(&mut random) {
            spans.push(span);
            disk.finish();
        }
        // 1 MiB at 500 MB/s takes 2097.152 us.
        let (on, away) = (Span::from_ns(2_117_152), Span::from_ns(4_097_152));
        assert_eq!(spans, [on, on, away, on, away]);
        let write = disk.used.write;
        assert_eq!((write.seeks, write.requests, write.bytes), (2, 5, 5 << 20));
        assert_eq!(write.busy, spans.into_iter().sum::<Span>());
    }

    #[test]
    fn a_plugged_elevator_holds_the_disk() {
        let (mut disk, mut random) = disk();
        disk.push(write(1));
        disk.push(write(2));
        assert!(disk.begin(&mut random).is_some());
        disk.elevator.add(Direction::Write, 9 << 20, 1 << 20, 1);
        disk.finish();
        assert!(disk.begin(&mut random).is_none(), "held");
        disk.unplug();
        assert!(disk.begin(&mut random).is_some());
    }

    #[test]
    fn members_take_turns() {
        let chunk = Size::from_bytes(10);
        let settings = ArraySettings { members: 3, chunk, ..ArraySettings::default() };
        assert_eq!(member(&settings, 0, 100), (0, 0, 10));
        assert_eq!(member(&settings, 14, 100), (1, 4, 6));
        assert_eq!(member(&settings, 35, 2), (0, 15, 2));
    }
}
