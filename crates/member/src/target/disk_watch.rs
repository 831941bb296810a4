//! Notices a disk that does not answer.

use alloc::collections::BTreeMap;

use slotcast_store::{Op, OpId};
use slotcast_units::{Span, Time};

/// How long each operation of a disk has been under way. A disk is *stalled* while one of them has been for longer
/// than patience lasts, and no other of its kind has ended in that time: one that works at a long queue is not. It
/// may answer yet, and until then nobody counts on it.
#[derive(Debug)]
pub(super) struct DiskWatch {
    patience: Span,
    /// Hosts have threads for writes, and others for all else.
    writes: Queue,
    others: Queue,
    /// A look is asked for already.
    will_look: bool,
    is_stalled: bool,
}

#[derive(Debug, Default)]
struct Queue {
    /// When they were asked for. Numbers grow, so the first is the oldest.
    under_way: BTreeMap<OpId, Time>,
    /// When one ended last.
    moved: Time,
}

impl Queue {
    /// Since when nothing has moved; none if there is nothing to move.
    fn since(&self) -> Option<Time> {
        self.under_way.first_key_value().map(|(_, at)| (*at).max(self.moved))
    }
}

impl DiskWatch {
    /// Nothing is under way.
    pub(super) fn new(patience: Span) -> DiskWatch {
        let (writes, others) = (Queue::default(), Queue::default());
        DiskWatch { patience, writes, others, will_look: false, is_stalled: false }
    }

    /// An operation begins. Gives when to look, if nobody is going to.
    pub(super) fn begun(&mut self, now: Time, id: OpId, op: &Op) -> Option<Time> {
        let is_write = matches!(op, Op::Write { .. });
        let queue = if is_write { &mut self.writes } else { &mut self.others };
        queue.under_way.insert(id, now);
        (!core::mem::replace(&mut self.will_look, true)).then(|| now + self.patience)
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self, now: Time, id: OpId) {
        for queue in [&mut self.writes, &mut self.others] {
            if queue.under_way.remove(&id).is_some() {
                queue.moved = now;
            }
        }
        if self.is_stalled {
            self.is_stalled = self.since().is_some_and(|since| since + self.patience <= now);
        }
    }

    /// The time to look has come. Gives when to look again.
    pub(super) fn look(&mut self, now: Time) -> Option<Time> {
        self.will_look = false;
        let since = self.since()?;
        self.is_stalled = since + self.patience <= now;
        self.will_look = true;
        // One that is late is waited for: its end is told.
        Some((since + self.patience).max(now + self.patience / 2))
    }

    fn since(&self) -> Option<Time> {
        [&self.writes, &self.others].into_iter().filter_map(Queue::since).min()
    }

    /// Whether the disk does not answer.
    pub(super) fn is_stalled(&self) -> bool {
        self.is_stalled
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use slotcast_store::SegmentId;

    use super::*;

    const READ: Op = Op::List;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_disk_is_stalled_as_long_as_an_operation_is_late_and_no_other_ends() {
        let mut watch = DiskWatch::new(Span::from_ms(10));
        assert_eq!(watch.begun(ms(0), OpId(1), &READ), Some(ms(10)));
        assert_eq!(watch.begun(ms(4), OpId(2), &READ), None, "one look is enough");
        watch.ended(ms(5), OpId(1));
        assert_eq!(watch.look(ms(10)), Some(ms(15)), "one ended at 5");
        assert!(!watch.is_stalled());
        watch.look(ms(15));
        assert!(watch.is_stalled());
        watch.begun(ms(16), OpId(3), &READ);
        watch.ended(ms(17), OpId(2));
        assert!(!watch.is_stalled(), "the other is not late yet");
        watch.ended(ms(18), OpId(3));
        assert_eq!(watch.look(ms(20)), None);
        assert_eq!(watch.begun(ms(30), OpId(4), &READ), Some(ms(40)));
    }

    #[test]
    fn a_long_queue_that_moves_is_none_and_writes_have_their_own() {
        let mut watch = DiskWatch::new(Span::from_ms(10));
        for n in 0..10 {
            watch.begun(ms(0), OpId(n), &READ);
        }
        for n in 0..9 {
            watch.ended(ms(8 * (n + 1)), OpId(n));
            watch.look(ms(8 * (n + 1)));
            assert!(!watch.is_stalled(), "{n}");
        }
        let parts = Vec::new();
        watch.begun(ms(72), OpId(10), &Op::Write { segment: SegmentId(0), offset: 0, parts });
        watch.ended(ms(80), OpId(9));
        watch.begun(ms(80), OpId(11), &READ);
        watch.ended(ms(82), OpId(11));
        watch.look(ms(82));
        assert!(watch.is_stalled(), "reads say nothing of a write that hangs");
    }
}
