//! What is due at a time.

use alloc::collections::BinaryHeap;
use core::cmp::{Ordering, Reverse};

use slotcast_protocol::{GroupId, Members, RequestId, TargetId};
use slotcast_store::Content;
use slotcast_units::Time;

/// What a member does when its time has come.
#[derive(Debug, Clone)]
pub(crate) enum Timer {
    /// The initiator asked to be woken.
    Initiator,
    /// The finder asked to be woken.
    Finder,
    /// The repair of a target asked to be woken.
    Repair(TargetId),
    /// A target asked to look after its disk.
    Disk(TargetId),
    /// The chunk of a put is handed to members of a group on this node.
    Transfer(RequestId, GroupId, Members),
    /// The chunk of a put, which left then, is at a target, over a link.
    Arrival(RequestId, TargetId, Time),
    /// A chunk leaves a target for the initiator, over a link.
    Leaving(TargetId, RequestId, Content),
    /// A chunk of a target is handed to the initiator.
    Delivery(TargetId, RequestId, Content),
    /// The members of a group on this node scan what they hold, unless somebody may be back soon.
    GroupChanged(GroupId),
    /// Those who have not answered a survey are asked again, or it ends.
    Survey(u32),
    /// A peer may have been down for too long.
    PeerGone(u32),
    /// The targets have had their time to open: peers are spoken with, whatever is not open.
    Join,
}

#[derive(Debug, Clone)]
struct Entry {
    at: Time,
    number: u64,
    timer: Timer,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

/// Timers in order of their times; those of the same time in the order in which they were set.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    queue: BinaryHeap<Reverse<Entry>>,
    set: u64,
}

impl Timers {
    /// Sets a timer. O(log n).
    pub(crate) fn at(&mut self, at: Time, timer: Timer) {
        if at == Time::NEVER {
            return;
        }
        self.set += 1;
        self.queue.push(Reverse(Entry { at, number: self.set, timer }));
    }

    /// When the next one is due.
    pub(crate) fn next(&self) -> Time {
        self.queue.peek().map_or(Time::NEVER, |Reverse(entry)| entry.at)
    }

    /// Takes the next one that is due by `now`, with its time.
    pub(crate) fn due(&mut self, now: Time) -> Option<(Time, Timer)> {
        if self.next() > now {
            return None;
        }
        self.queue.pop().map(|Reverse(entry)| (entry.at, entry.timer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_one_time_come_in_the_order_in_which_they_were_set() {
        let mut timers = Timers::default();
        let at = Time::from_ns;
        timers.at(at(5), Timer::Finder);
        timers.at(at(3), Timer::PeerGone(1));
        timers.at(at(3), Timer::PeerGone(2));
        timers.at(Time::NEVER, Timer::Join);
        assert_eq!(timers.next(), at(3));
        assert!(timers.due(at(2)).is_none());
        assert!(matches!(timers.due(at(4)), Some((time, Timer::PeerGone(1))) if time == at(3)));
        assert!(matches!(timers.due(at(4)), Some((_, Timer::PeerGone(2)))));
        assert!(timers.due(at(4)).is_none());
        assert!(matches!(timers.due(at(9)), Some((_, Timer::Finder))));
        assert_eq!(timers.next(), Time::NEVER);
    }
}
