//! What a target expects of its disk.

use slotcast_units::{Rate, Size, Span, Time};

/// How a backlog on the disk defers new windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backpressure {
    /// The payload may start as soon as the queue has room for one more chunk, counting what has
    /// been accepted and is still to come.
    #[default]
    KeepRoom,
    /// The payload may start so that it arrives when the queue has room for one more chunk; what is
    /// still to come is not counted. The original's rule after the paper (SURGE 7c08ff4).
    ArriveIntoRoom,
    /// A full queue must have drained down to one transfer, one beyond full altogether. The
    /// original's rule at the time of the paper (SURGE d92018f).
    DrainFirst,
}

/// Foretells when the disk will be done with what it has been given, in order of arrival.
#[derive(Debug, Clone)]
pub struct DiskForecast {
    rate: Rate,
    limit: Size,
    backpressure: Backpressure,
    last_done: Time,
    pending: u32,
}

impl DiskForecast {
    /// A disk of `rate`, with windows deferred while more than `limit` waits for it.
    pub fn new(rate: Rate, limit: Size, backpressure: Backpressure) -> DiskForecast {
        DiskForecast { rate, limit, backpressure, last_done: Time::ZERO, pending: 0 }
    }

    /// Time that `size` takes on the disk.
    pub fn service(&self, size: Size) -> Span {
        self.rate.time_for(size)
    }

    /// Time until the disk has done what it has.
    pub fn backlog(&self, now: Time) -> Span {
        self.last_done.saturating_since(now)
    }

    /// A request of `size` went to the disk; says when it should be done.
    pub fn submit(&mut self, now: Time, size: Size) -> Time {
        self.last_done = self.last_done.max(now) + self.service(size);
        self.pending += 1;
        self.last_done
    }

    /// A request is done, foretold or not: a disk with nothing to do has no backlog, and one that
    /// is late keeps what is left ahead of it.
    pub fn complete(&mut self, now: Time) {
        self.pending = self.pending.saturating_sub(1);
        if self.pending == 0 {
            self.last_done = now;
        }
    }

    /// How fast it is.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// When it will have done what it has.
    pub(crate) fn done_at(&self) -> Time {
        self.last_done
    }

    /// Takes somebody else's word for how fast it is, and when it will be done.
    pub(crate) fn correct(&mut self, rate: Rate, done: Time) {
        self.rate = rate;
        self.last_done = done;
    }

    /// Forgets what the disk was given: after a restart nobody waits for it.
    pub fn forget(&mut self, now: Time) {
        self.pending = 0;
        self.last_done = now;
    }

    /// How long the start of a transfer of `size` must be deferred for the disk to keep up.
    /// `transfer` is its time on the link, `promised` what has been accepted and is still to come.
    pub fn delay(&self, now: Time, size: Size, transfer: Span, promised: Size) -> Span {
        let backlog = match self.backpressure {
            Backpressure::KeepRoom => self.backlog(now) + self.service(promised),
            Backpressure::ArriveIntoRoom | Backpressure::DrainFirst => self.backlog(now),
        };
        self.delay_behind(backlog, size, transfer)
    }

    /// The same behind a given `backlog`.
    #[inline]
    pub(crate) fn delay_behind(&self, backlog: Span, size: Size, transfer: Span) -> Span {
        let service = self.service(size);
        if service == Span::ZERO {
            return Span::ZERO;
        }
        let limit = (self.limit / size.max(Size::from_bytes(1))).max(2);
        match self.backpressure {
            Backpressure::KeepRoom => backlog.saturating_sub(service * (limit - 1)),
            Backpressure::ArriveIntoRoom => {
                backlog.saturating_sub(service * (limit - 1)).saturating_sub(transfer)
            }
            Backpressure::DrainFirst => {
                let depth = (backlog + service / 2) / service;
                if depth < limit || backlog <= transfer {
                    Span::ZERO
                } else if depth > limit {
                    backlog
                } else {
                    backlog - transfer
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(backpressure: Backpressure) -> DiskForecast {
        DiskForecast::new(Rate::from_bytes_per_s(400 << 20), Size::from_kib(256), backpressure)
    }

    const CHUNK: Size = Size::from_kib(128);
    const TRANSFER: Span = Span::from_ns(117_685);
    const SERVICE: Span = Span::from_ns(312_500);

    #[test]
    fn writes_queue_up() {
        let mut disk = forecast(Backpressure::KeepRoom);
        assert_eq!(disk.submit(Time::ZERO, CHUNK), Time::from_ns(312_500));
        assert_eq!(disk.submit(Time::ZERO, CHUNK), Time::from_ns(625_000));
        assert_eq!(disk.backlog(Time::from_ns(25_000)), Span::from_ns(600_000));
        disk.complete(Time::from_ns(312_500));
        disk.complete(Time::from_ns(620_000));
        assert_eq!(disk.backlog(Time::from_ns(620_000)), Span::ZERO, "done early");
    }

    #[test]
    fn windows_wait_for_room() {
        let mut disk = forecast(Backpressure::KeepRoom);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), Span::ZERO);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE);
        assert_eq!(
            disk.delay(Time::ZERO, CHUNK, TRANSFER, CHUNK),
            SERVICE * 2,
            "one more is promised"
        );
    }

    #[test]
    fn windows_meet_the_room() {
        let mut disk = forecast(Backpressure::ArriveIntoRoom);
        disk.submit(Time::ZERO, CHUNK);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, CHUNK), SERVICE - TRANSFER);
    }

    #[test]
    fn windows_wait_for_the_queue_to_drain() {
        let mut disk = forecast(Backpressure::DrainFirst);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), Span::ZERO);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 2 - TRANSFER);
        disk.submit(Time::ZERO, CHUNK);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 3);
    }
}
