//! What sorts and merges requests in front of a disk.

use slotcast_schedulers::Direction;

use super::scenario::{ElevatorKind, ElevatorSettings};

/// One or more pieces of RPCs that the disk executes at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskRequest {
    pub(crate) direction: Direction,
    /// First byte on the disk.
    pub(crate) place: u64,
    pub(crate) length: u64,
    /// Whose they are.
    pub(crate) pieces: Vec<u32>,
}

impl DiskRequest {
    pub(crate) fn end(&self) -> u64 {
        self.place + self.length
    }
}

/// Merges requests that are neighbours (back and front, up to a limit), and orders them. An elevator that
/// gets a request while it is empty is plugged: it holds requests back, so that more can be merged, until
/// it holds enough or its time is over (Linux 2.6; the simple form of its deadline elevator that
/// Lustre-Simulator 950d9e2 has: always the lowest place first).
///
/// Every operation is O(requests held), which `unplug_at` bounds unless merging keeps their number small.
#[derive(Debug)]
pub(crate) struct Elevator {
    kind: ElevatorKind,
    limit: u64,
    unplug_at: usize,
    front_merges: bool,
    held: Vec<DiskRequest>,
    /// Where the request begins that was merged last, or came to an elevator without one.
    last: Option<(Direction, u64)>,
    is_plugged: bool,
}

/// What to do after a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plug {
    /// Nothing.
    Unchanged,
    /// The elevator was plugged: unplug it after its delay.
    Plugged,
    /// It holds enough: unplug it now.
    Full,
}

impl Elevator {
    pub(crate) fn new(settings: &ElevatorSettings) -> Elevator {
        Elevator {
            kind: settings.kind,
            limit: settings.merge_limit.as_bytes(),
            unplug_at: settings.unplug_at as usize,
            front_merges: settings.front_merges,
            held: Vec::new(),
            last: None,
            is_plugged: false,
        }
    }

    pub(crate) fn is_plugged(&self) -> bool {
        self.is_plugged
    }

    /// Takes in a piece of an RPC.
    pub(crate) fn add(
        &mut self,
        direction: Direction,
        place: u64,
        length: u64,
        piece: u32,
    ) -> Plug {
        if let Some(at) = self.find(direction, |held| held.end() == place, length) {
            self.held[at].length += length;
            self.held[at].pieces.push(piece);
            self.join_next(at);
            self.last = Some((direction, self.held[at].place));
            return Plug::Unchanged;
        }
        let front = self.find(direction, |held| held.place == place + length, length);
        let any = self.front_merges && self.kind == ElevatorKind::Deadline;
        let is_last = self.last == Some((direction, place + length));
        if let Some(at) = front.filter(|_| any || is_last) {
            self.held[at].place = place;
            self.held[at].length += length;
            self.held[at].pieces.insert(0, piece);
            let before = at.checked_sub(1).filter(|before| self.join_next(*before));
            self.last = Some((direction, self.held[before.unwrap_or(at)].place));
            return Plug::Unchanged;
        }
        self.last = self.last.or(Some((direction, place)));
        let was_empty = self.held.is_empty();
        let request = DiskRequest { direction, place, length, pieces: vec![piece] };
        let at = match self.kind {
            ElevatorKind::Noop => self.held.len(),
            ElevatorKind::Deadline => {
                self.held.partition_point(|held| order(held) <= order(&request))
            }
        };
        self.held.insert(at, request);
        if self.is_plugged && self.held.len() >= self.unplug_at {
            return Plug::Full;
        }
        if was_empty && !self.is_plugged {
            self.is_plugged = true;
            return if self.unplug_at <= 1 { Plug::Full } else { Plug::Plugged };
        }
        Plug::Unchanged
    }

    /// Hands over all that is held, in order.
    pub(crate) fn unplug(&mut self) -> impl Iterator<Item = DiskRequest> {
        self.is_plugged = false;
        self.last = None;
        self.held.drain(..)
    }

    fn find(
        &self,
        direction: Direction,
        is_neighbour: impl Fn(&DiskRequest) -> bool,
        length: u64,
    ) -> Option<usize> {
        self.held.iter().position(|held| {
            held.direction == direction && is_neighbour(held) && held.length + length <= self.limit
        })
    }

    /// Merges the request at `at` with the one behind it, if they are neighbours now; whether it did.
    fn join_next(&mut self, at: usize) -> bool {
        let [first, second, ..] = &self.held[at..] else { return false };
        let fits = first.direction == second.direction
            && first.end() == second.place
            && first.length + second.length <= self.limit;
        if fits {
            let second = self.held.remove(at + 1);
            self.held[at].length += second.length;
            self.held[at].pieces.extend(second.pieces);
        }
        fits
    }
}

/// Writes first, then by place.
fn order(request: &DiskRequest) -> (bool, u64) {
    (request.direction == Direction::Read, request.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn elevator(kind: ElevatorKind) -> Elevator {
        let front_merges = kind == ElevatorKind::Deadline;
        Elevator::new(&ElevatorSettings { kind, front_merges, ..ElevatorSettings::default() })
    }

    fn drained(elevator: &mut Elevator) -> Vec<(u64, u64, Vec<u32>)> {
        elevator.unplug().map(|r| (r.place / MIB, r.length / MIB, r.pieces)).collect()
    }

    #[test]
    fn the_deadline_elevator_sorts_and_merges_both_ways() {
        let mut elevator = elevator(ElevatorKind::Deadline);
        let mut write = |place: u64, piece| elevator.add(Direction::Write, place * MIB, MIB, piece);
        assert_eq!(write(20, 1), Plug::Plugged);
        write(5, 2);
        write(6, 3);
        write(4, 4);
        // Closes the gap between 4..7 and 8..9.
        write(8, 5);
        write(7, 6);
        assert_eq!(
            drained(&mut elevator),
            [(4, 4, vec![4, 2, 3, 6]), (8, 1, vec![5]), (20, 1, vec![1])]
        );
        assert!(!elevator.is_plugged());
    }

    #[test]
    fn in_the_original_a_request_merges_in_front_of_the_last_one_only() {
        let mut elevator = Elevator::new(&ElevatorSettings::default());
        fn write(elevator: &mut Elevator, place: u64, piece: u32) -> Plug {
            elevator.add(Direction::Write, place * MIB, MIB, piece)
        }
        // 20 is the last that was touched, and stays so: 6 and 5 are neighbours, and do not merge.
        for (place, piece) in [(20, 1), (6, 2), (5, 3), (19, 4), (18, 5)] {
            write(&mut elevator, place, piece);
        }
        // 7 comes behind 6, which is then the last.
        write(&mut elevator, 7, 6);
        assert_eq!(write(&mut elevator, 4, 7), Plug::Unchanged);
        let expected =
            [(4, 1, vec![7]), (5, 1, vec![3]), (6, 2, vec![2, 6]), (18, 3, vec![5, 4, 1])];
        assert_eq!(drained(&mut elevator), expected);
        write(&mut elevator, 8, 8);
        assert_eq!(write(&mut elevator, 7, 9), Plug::Unchanged, "8 is the last now");
        assert_eq!(drained(&mut elevator), [(7, 2, vec![9, 8])]);
    }

    #[test]
    fn gaps_close_below_the_limit() {
        let mut elevator = elevator(ElevatorKind::Deadline);
        for (place, piece) in [(1, 1), (3, 2), (2, 3)] {
            elevator.add(Direction::Write, place * MIB, MIB, piece);
        }
        assert_eq!(drained(&mut elevator), [(1, 3, vec![1, 3, 2])]);
    }

    #[test]
    fn writes_go_before_reads_and_do_not_merge_with_them() {
        let mut elevator = elevator(ElevatorKind::Deadline);
        elevator.add(Direction::Read, MIB, MIB, 1);
        elevator.add(Direction::Write, 2 * MIB, MIB, 2);
        assert_eq!(drained(&mut elevator), [(2, 1, vec![2]), (1, 1, vec![1])]);
    }

    #[test]
    fn noop_keeps_the_order_and_merges_backwards_only() {
        let mut elevator = elevator(ElevatorKind::Noop);
        for (place, piece) in [(9, 1), (3, 2), (10, 3), (2, 4)] {
            elevator.add(Direction::Write, place * MIB, MIB, piece);
        }
        let expected = [(9, 2, vec![1, 3]), (3, 1, vec![2]), (2, 1, vec![4])];
        assert_eq!(drained(&mut elevator), expected);
    }

    #[test]
    fn eight_requests_pull_the_plug_and_merged_ones_count_once() {
        let mut elevator = elevator(ElevatorKind::Deadline);
        for piece in 0..4u32 {
            assert_ne!(
                elevator.add(Direction::Write, u64::from(piece) * MIB, MIB, piece),
                Plug::Full
            );
        }
        for piece in 1..7u32 {
            let place = u64::from(piece) * 100 * MIB;
            assert_eq!(elevator.add(Direction::Write, place, MIB, piece), Plug::Unchanged);
        }
        assert_eq!(elevator.add(Direction::Write, 900 * MIB, MIB, 9), Plug::Full);
        assert_eq!(elevator.unplug().count(), 8);
    }
}
