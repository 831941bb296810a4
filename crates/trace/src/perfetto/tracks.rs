//! Processes and tracks: one process per node, one or more tracks for each kind of thing that it does.
//!
//! Slices of one track may nest, but not overlap. What may overlap gets as many tracks, its *lanes*, as
//! are needed, and slices on them never nest either.

use std::collections::BTreeMap;

use slotcast_sim::Place;
use slotcast_units::Time;

use super::json::Events;

/// What a track shows; in the order of the tracks of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Times in which a target is down.
    Outages,
    /// Requests of an initiator.
    Requests,
    /// Accepted windows for chunks that come.
    WindowsIn,
    /// Accepted windows for chunks that go.
    WindowsOut,
    /// Windows that were bid and never accepted.
    Bids,
    /// Messages on their way here.
    Control,
    /// Payload that arrives.
    PortIn,
    /// Payload that leaves.
    PortOut,
    /// What a disk does, by its number.
    Disk(u16),
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Outages => "outages",
            Kind::Requests => "requests",
            Kind::WindowsIn => "windows in",
            Kind::WindowsOut => "windows out",
            Kind::Bids => "bids",
            Kind::Control => "control",
            Kind::PortIn => "port in",
            Kind::PortOut => "port out",
            Kind::Disk(_) => "disk",
        }
    }

    /// The name of the first track of this kind. Disks need no further ones: each does one thing at a
    /// time.
    fn title(self) -> String {
        match self {
            Kind::Disk(number @ 1..) => format!("disk {}", number + 1),
            _ => self.name().to_string(),
        }
    }

    /// Lower numbers are shown first.
    fn rank(self) -> u32 {
        match self {
            Kind::Outages => 0,
            Kind::Requests => 1,
            Kind::WindowsIn => 2,
            Kind::WindowsOut => 3,
            Kind::Bids => 4,
            Kind::Control => 5,
            Kind::PortIn => 6,
            Kind::PortOut => 7,
            Kind::Disk(number) => 8 + u32::from(number),
        }
    }
}

/// A track of the viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Track {
    pub(super) pid: u32,
    pub(super) tid: u32,
}

/// A track, and until when it is taken.
#[derive(Debug, Clone, Copy)]
struct Lane {
    track: Track,
    busy_until: Time,
}

/// All tracks so far. Grows with the nodes and with what overlaps, not with time.
#[derive(Debug)]
pub(super) struct Tracks {
    initiators: u32,
    /// Unlike real ones, unique over all processes, and never the number of a process.
    next_tid: u32,
    lanes: BTreeMap<(Place, Kind), Vec<Lane>>,
}

impl Tracks {
    /// For a cluster of this size.
    pub(super) fn new(initiators: u32, targets: u32) -> Tracks {
        Tracks { initiators, next_tid: initiators + targets + 1, lanes: BTreeMap::new() }
    }

    /// The process of a node: first the initiators, then the targets, from 1 on.
    pub(super) fn pid(&self, place: Place) -> u32 {
        match place {
            Place::Initiator(n) => n + 1,
            Place::Target(n) => self.initiators + n + 1,
        }
    }

    /// A track that has room from `begin` to `end`. Of several, the one that is free for the shortest
    /// time: the others may be needed for what begins earlier.
    pub(super) fn lane(
        &mut self,
        place: Place,
        kind: Kind,
        (begin, end): (Time, Time),
        events: &mut Events<'_>,
    ) -> Track {
        let pid = self.pid(place);
        let is_new_process = !self.knows(place);
        let lanes = self.lanes.entry((place, kind)).or_default();
        let free = lanes.iter_mut().filter(|lane| lane.busy_until <= begin);
        if let Some(lane) = free.max_by_key(|lane| lane.busy_until) {
            lane.busy_until = end;
            return lane.track;
        }
        let track = Track { pid, tid: self.next_tid };
        self.next_tid += 1;
        lanes.push(Lane { track, busy_until: end });
        if is_new_process {
            let role = match place {
                Place::Initiator(_) => "initiator",
                Place::Target(_) => "target",
            };
            events.process(pid, &format!("{role} {place}"));
        }
        let number = u32::try_from(lanes.len()).expect("few lanes");
        let name = match number {
            1 => kind.title(),
            _ => format!("{} {number}", kind.title()),
        };
        events.thread(track, &name, kind.rank() * 1000 + number);
        track
    }

    /// What was begun on `track` without an end has ended.
    pub(super) fn free(&mut self, place: Place, kind: Kind, track: Track, end: Time) {
        let lanes = self.lanes.get_mut(&(place, kind)).into_iter().flatten();
        for lane in lanes.filter(|lane| lane.track == track) {
            lane.busy_until = end;
        }
    }

    fn knows(&self, place: Place) -> bool {
        let all = (place, Kind::Outages)..=(place, Kind::Disk(u16::MAX));
        self.lanes.range(all).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_gets_a_lane_and_what_follows_does_not() {
        let mut out = Vec::new();
        let mut events = Events::open(&mut out, &serde_json::json!({}));
        let mut tracks = Tracks::new(2, 3);
        let mut lane = |place, kind, begin, end| {
            let span = (Time::from_ns(begin), Time::from_ns(end));
            tracks.lane(place, kind, span, &mut events)
        };
        let target = Place::Target(0);
        let first = lane(target, Kind::Bids, 0, 10);
        let second = lane(target, Kind::Bids, 5, 30);
        assert_eq!(first.pid, 3, "after two initiators");
        assert_ne!(first.tid, second.tid);
        assert_eq!(lane(target, Kind::Bids, 30, 40), second, "free for the shortest time");
        assert_eq!(lane(target, Kind::Bids, 12, 20), first);
        assert_ne!(lane(target, Kind::Disk(0), 50, 60).tid, first.tid);
        let other = lane(Place::Initiator(1), Kind::Requests, 0, u64::MAX);
        assert_ne!(lane(Place::Initiator(1), Kind::Requests, 7, 8), other);
        tracks.free(Place::Initiator(1), Kind::Requests, other, Time::from_ns(7));
        let again = (Time::from_ns(7), Time::from_ns(9));
        assert_eq!(tracks.lane(Place::Initiator(1), Kind::Requests, again, &mut events), other);

        events.close().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let names: Vec<&str> = json["traceEvents"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|event| event["args"]["name"].as_str())
            .collect();
        let expected =
            ["target t0", "bids", "bids 2", "disk", "initiator i1", "requests", "requests 2"];
        assert_eq!(names, expected);
    }
}
