//! What a target expects of its disk.

use alloc::boxed::Box;

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

/// Foretells when the disks of a target will be done with what they have been given. Each disk serves
/// in order of arrival, and all are alike.
#[derive(Debug, Clone)]
pub struct DiskForecast {
    rate: Rate,
    /// How fast chunks are read, where that is not how fast they are written: most may be in memory.
    read_rate: Option<Rate>,
    access: Span,
    limit: Size,
    backpressure: Backpressure,
    first: Disk,
    /// The other disks of a target that has several.
    rest: Box<[Disk]>,
}

/// What one disk has been given.
#[derive(Debug, Clone, Copy, Default)]
struct Disk {
    last_done: Time,
    pending: u32,
}

impl Disk {
    fn backlog(&self, now: Time) -> Span {
        self.last_done.saturating_since(now)
    }
}

impl DiskForecast {
    /// One disk of `rate`, with windows deferred while more than `limit` waits for it.
    pub fn new(rate: Rate, limit: Size, backpressure: Backpressure) -> DiskForecast {
        let (first, rest) = (Disk::default(), Box::default());
        let (read_rate, access) = (None, Span::ZERO);
        DiskForecast { rate, read_rate, access, limit, backpressure, first, rest }
    }

    /// The same with a time that each request takes beyond that of its bytes: seek and rotation.
    #[must_use]
    pub fn with_access_time(self, access: Span) -> DiskForecast {
        DiskForecast { access, ..self }
    }

    /// The same with `disks` of these disks, which share the target's link and calendar.
    ///
    /// # Panics
    /// If there are none.
    #[must_use]
    pub fn with_disks(self, disks: u16) -> DiskForecast {
        assert!(disks > 0, "a target stores on at least one disk");
        let rest = alloc::vec![Disk::default(); usize::from(disks) - 1].into_boxed_slice();
        DiskForecast { rest, ..self }
    }

    /// Time that one read of `size` takes on a disk.
    pub fn read_service(&self, size: Size) -> Span {
        self.read_rate.unwrap_or(self.rate).time_for(size) + self.access
    }

    /// Time that one write of `size` takes on a disk.
    pub fn service(&self, size: Size) -> Span {
        self.rate.time_for(size) + self.access
    }

    /// Time that `total` takes on one disk, in requests of `each`.
    pub fn service_of(&self, total: Size, each: Size) -> Span {
        let bytes = self.rate.time_for(total);
        match self.access {
            Span::ZERO => bytes,
            access => bytes + access * total.as_bytes().div_ceil(each.as_bytes().max(1)),
        }
    }

    fn disks(&self) -> impl Iterator<Item = &Disk> {
        core::iter::once(&self.first).chain(&self.rest)
    }

    fn disk(&mut self, disk: u16) -> &mut Disk {
        match usize::from(disk).checked_sub(1) {
            None => &mut self.first,
            Some(further) => &mut self.rest[further],
        }
    }

    /// Time until `disk` has done what it has.
    ///
    /// # Panics
    /// If there is no such disk.
    pub fn backlog(&self, now: Time, disk: u16) -> Span {
        let found = self.disks().nth(usize::from(disk));
        found.expect("the host names a disk of this target").backlog(now)
    }

    /// The disk that is done first, where the next chunk goes. O(number of disks).
    pub fn least_busy(&self) -> u16 {
        let mut least = (self.first.last_done, 0);
        for (number, disk) in (1..).zip(&self.rest) {
            least = least.min((disk.last_done, number));
        }
        least.1
    }

    /// The backlog of the least busy disk once `extra` more work has been handed out, each piece to
    /// the least busy disk of its moment: how high water stands that is poured over the backlogs.
    pub(super) fn level(&self, now: Time, extra: Span) -> Span {
        if self.rest.is_empty() {
            return self.first.backlog(now) + extra;
        }
        let mut level = Span::MAX;
        loop {
            let mut sum = extra;
            let mut below = 0;
            for backlog in self.disks().map(|disk| disk.backlog(now)).filter(|b| *b < level) {
                sum += backlog;
                below += 1;
            }
            // Those that stick out of the water take none of it: without them it stands lower.
            match below {
                0 => return level,
                below if sum / below >= level => return level,
                below => level = sum / below,
            }
        }
    }

    /// How long the disk that is done first is busy with what it has and with its part of `promised`, which
    /// is still to come in chunks of `size`.
    pub(crate) fn backlog_with(&self, now: Time, size: Size, promised: Size) -> Span {
        self.level(now, self.service_of(promised, size))
    }

    /// When `disk` can have read a chunk of `size` at the earliest, if `ahead` is written before and
    /// reads of `reads_ahead` have been offered on that disk already.
    pub fn read_delay(
        &self,
        now: Time,
        disk: u16,
        size: Size,
        ahead: Size,
        reads_ahead: Span,
    ) -> Span {
        let own = self.backlog(now, disk);
        let level = self.level(now, self.service_of(ahead, size));
        let behind_writes = match level > own && !self.rest.is_empty() {
            // Writes come in whole chunks: this disk may get one more than its part.
            true => level + self.service(size),
            false => level.max(own),
        };
        behind_writes + reads_ahead + self.read_service(size)
    }

    /// A write of `size` went to `disk`; says when it should be done.
    ///
    /// # Panics
    /// If there is no such disk.
    pub fn submit(&mut self, now: Time, size: Size, disk: u16) -> Time {
        self.give(now, self.service(size), disk)
    }

    /// The same for a read.
    ///
    /// # Panics
    /// If there is no such disk.
    pub fn submit_read(&mut self, now: Time, size: Size, disk: u16) -> Time {
        self.give(now, self.read_service(size), disk)
    }

    fn give(&mut self, now: Time, service: Span, disk: u16) -> Time {
        let disk = self.disk(disk);
        disk.last_done = disk.last_done.max(now) + service;
        disk.pending += 1;
        disk.last_done
    }

    /// A request of `disk` is done, foretold or not: a disk with nothing to do has no backlog, and one
    /// that is late keeps what is left ahead of it.
    ///
    /// # Panics
    /// If there is no such disk.
    pub fn complete(&mut self, now: Time, disk: u16) {
        let disk = self.disk(disk);
        disk.pending = disk.pending.saturating_sub(1);
        if disk.pending == 0 {
            disk.last_done = now;
        }
    }

    /// How fast each of them is.
    pub(crate) fn rate(&self) -> Rate {
        self.rate
    }

    /// When the first of them will have done what it has.
    pub(crate) fn done_at(&self) -> Time {
        self.disks().fold(Time::NEVER, |done, disk| done.min(disk.last_done))
    }

    /// The disks turned out to be of `rate`, and from `limit` on windows are deferred: what they have been
    /// given will take in proportion longer, or shorter.
    pub(crate) fn follow(&mut self, now: Time, rate: Rate, limit: Size) {
        let (old, new) = (u128::from(self.rate.as_bps()), u128::from(rate.as_bps().max(1)));
        (self.rate, self.limit) = (Rate::from_bps(rate.as_bps().max(1)), limit);
        for disk in core::iter::once(&mut self.first).chain(&mut self.rest) {
            let left = u128::from(disk.backlog(now).as_ns()) * old / new;
            disk.last_done =
                now.saturating_add(Span::from_ns(u64::try_from(left).unwrap_or(u64::MAX)));
        }
    }

    /// Reads turned out to be of `rate`.
    pub(crate) fn follow_reads(&mut self, rate: Rate) {
        self.read_rate = Some(Rate::from_bps(rate.as_bps().max(1)));
    }

    /// Takes somebody else's word for how fast they are, and when they can take the next chunk.
    pub(crate) fn correct(&mut self, rate: Rate, done: Time) {
        self.rate = rate;
        self.first.last_done = done;
        self.rest.iter_mut().for_each(|disk| disk.last_done = done);
    }

    /// How much later the disks can take the next chunk for one of `size`: the service of one disk
    /// over their number, as if the work of all were poured over all.
    pub(crate) fn turnover(&self, size: Size) -> Span {
        self.service(size) / (1 + self.rest.len() as u64)
    }

    /// Forgets what the disks were given: after a restart nobody waits for it.
    pub fn forget(&mut self, now: Time) {
        let idle = Disk { last_done: now, pending: 0 };
        self.first = idle;
        self.rest.fill(idle);
    }

    /// How long the start of a transfer of `size` must be deferred for the disks to keep up.
    /// `transfer` is its time on the link, `promised` what has been accepted and is still to come.
    pub fn delay(&self, now: Time, size: Size, transfer: Span, promised: Size) -> Span {
        let counted = match self.backpressure {
            Backpressure::KeepRoom => promised,
            Backpressure::ArriveIntoRoom | Backpressure::DrainFirst => Size::ZERO,
        };
        self.delay_behind(self.backlog_with(now, size, counted), size, transfer)
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
        assert_eq!(disk.submit(Time::ZERO, CHUNK, 0), Time::from_ns(312_500));
        assert_eq!(disk.submit(Time::ZERO, CHUNK, 0), Time::from_ns(625_000));
        assert_eq!(disk.backlog(Time::from_ns(25_000), 0), Span::from_ns(600_000));
        disk.complete(Time::from_ns(312_500), 0);
        disk.complete(Time::from_ns(620_000), 0);
        assert_eq!(disk.backlog(Time::from_ns(620_000), 0), Span::ZERO, "done early");
    }

    #[test]
    fn windows_wait_for_room() {
        let mut disk = forecast(Backpressure::KeepRoom);
        disk.submit(Time::ZERO, CHUNK, 0);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), Span::ZERO);
        disk.submit(Time::ZERO, CHUNK, 0);
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
        disk.submit(Time::ZERO, CHUNK, 0);
        disk.submit(Time::ZERO, CHUNK, 0);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, CHUNK), SERVICE - TRANSFER);
    }

    #[test]
    fn windows_wait_for_the_queue_to_drain() {
        let mut disk = forecast(Backpressure::DrainFirst);
        disk.submit(Time::ZERO, CHUNK, 0);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), Span::ZERO);
        disk.submit(Time::ZERO, CHUNK, 0);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 2 - TRANSFER);
        disk.submit(Time::ZERO, CHUNK, 0);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 3);
    }

    #[test]
    fn a_disk_that_turns_out_slower_defers_windows_for_longer() {
        let mut disk = forecast(Backpressure::KeepRoom);
        for _ in 0..3 {
            disk.submit(Time::ZERO, CHUNK, 0);
        }
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 2);
        disk.follow(Time::ZERO, Rate::from_bytes_per_s(40 << 20), Size::from_kib(256));
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE * 20);
        disk.follow(Time::ZERO, Rate::from_bytes_per_s(400 << 20), Size::from_kib(384));
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE);
    }

    #[test]
    fn chunks_go_to_the_disk_that_is_done_first() {
        let mut disk = forecast(Backpressure::KeepRoom).with_disks(3);
        for expected in [0, 1, 2, 0] {
            assert_eq!(disk.least_busy(), expected);
            disk.submit(Time::ZERO, CHUNK, expected);
        }
        assert_eq!(disk.backlog(Time::ZERO, 0), SERVICE * 2);
        assert_eq!(disk.backlog(Time::ZERO, 2), SERVICE);
        disk.complete(Time::from_ns(312_500), 2);
        assert_eq!(disk.backlog(Time::from_ns(312_500), 2), Span::ZERO);
    }

    #[test]
    fn windows_wait_until_one_of_the_disks_has_room() {
        let mut disk = forecast(Backpressure::KeepRoom).with_disks(2);
        for _ in 0..3 {
            disk.submit(Time::ZERO, CHUNK, disk.least_busy());
        }
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), Span::ZERO);
        disk.submit(Time::ZERO, CHUNK, 1);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, Size::ZERO), SERVICE);
        assert_eq!(disk.delay(Time::ZERO, CHUNK, TRANSFER, CHUNK + CHUNK), SERVICE * 2);
    }

    #[test]
    fn a_read_waits_for_its_own_disk() {
        let mut disk = forecast(Backpressure::KeepRoom).with_disks(4);
        disk.submit(Time::ZERO, CHUNK, 2);
        let read = |disk: &DiskForecast, number, ahead| {
            disk.read_delay(Time::ZERO, number, CHUNK, ahead, Span::ZERO)
        };
        assert_eq!(read(&disk, 0, Size::ZERO), SERVICE);
        assert_eq!(read(&disk, 2, Size::ZERO), SERVICE * 2);
        // What is promised goes to the idle disks, but which of them gets it is not known.
        assert!(read(&disk, 0, CHUNK) >= SERVICE * 2);
        assert_eq!(read(&disk, 2, CHUNK), SERVICE * 2);
    }

    #[test]
    fn every_request_pays_its_access() {
        let access = Span::from_ms(4);
        let disk = forecast(Backpressure::KeepRoom).with_access_time(access);
        assert_eq!(disk.service(CHUNK), SERVICE + access);
        assert_eq!(disk.service_of(CHUNK + CHUNK, CHUNK), (SERVICE + access) * 2);
    }

    proptest::proptest! {
        /// Water poured over the backlogs: what is above them adds up to what was poured.
        #[test]
        fn work_is_levelled_over_the_disks(
            backlogs in proptest::collection::vec(0u64..1_000_000, 2..20),
            extra in 0u64..5_000_000,
        ) {
            let count = u16::try_from(backlogs.len()).unwrap();
            let mut disk = forecast(Backpressure::KeepRoom).with_disks(count);
            for (number, ns) in (0..).zip(&backlogs) {
                disk.disk(number).last_done = Time::from_ns(*ns);
            }
            let level = disk.level(Time::ZERO, Span::from_ns(extra)).as_ns();
            let poured: u64 = backlogs.iter().map(|b| level.saturating_sub(*b)).sum();
            proptest::prop_assert!(poured <= extra);
            proptest::prop_assert!(extra - poured < u64::from(count), "{} of {}", poured, extra);
        }
    }
}
