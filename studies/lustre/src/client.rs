//! What a client sends next.

use slotcast_engine::Stream;
use slotcast_schedulers::Direction;
use slotcast_units::{Span, Time};

use super::job::{Access, Job, Work};
use super::scenario::ClientSettings;
use super::striping::{Extent, Striping};

/// What a client goes by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rules<'a> {
    pub(crate) job: &'a Job,
    pub(crate) settings: &'a ClientSettings,
    pub(crate) striping: &'a Striping,
}

/// One process on a node of its own, with one OSC for each object of its file.
#[derive(Debug)]
pub(crate) struct Client {
    /// Which job.
    pub(crate) job: u32,
    /// The file that it uses.
    pub(crate) file: u64,
    /// The OST of the file's first object.
    pub(crate) first_ost: u32,
    /// What the server said last about how long an RPC takes.
    pub(crate) estimate: Option<Span>,
    /// RPCs sent so far.
    pub(crate) sent: u64,
    /// Reads or writes.
    pub(crate) direction: Direction,
    /// When it began them, and what has been confirmed of them, and when the last was.
    pub(crate) began: Time,
    pub(crate) confirmed: u64,
    pub(crate) last: Time,
    /// Its part of the file.
    start: u64,
    end: u64,
    /// Where the next call, or the next buffered read, begins.
    next: u64,
    /// Bytes that are still to be asked for in this phase.
    left: u64,
    /// RPCs and bytes under way.
    under_way: u32,
    bytes_under_way: u64,
    oscs: Box<[Osc]>,
}

/// Towards one object of the file.
#[derive(Debug, Clone, Copy)]
struct Osc {
    /// Where in the file the next buffered write to this object begins.
    next: u64,
    under_way: u32,
}

/// What happens when an RPC is done and nothing can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// Other RPCs are under way, or new ones were sent.
    GoesOn,
    /// The call is over; the next one comes after a pause.
    Pauses,
    /// All has been read or written.
    Done,
}

impl Client {
    pub(crate) fn new(
        job: u32,
        file: u64,
        first_ost: u32,
        part: (u64, u64),
        striping: &Striping,
    ) -> Client {
        let osc = Osc { next: 0, under_way: 0 };
        let objects = usize::try_from(striping.count).expect("as many objects as OSTs");
        Client {
            job,
            file,
            first_ost,
            estimate: None,
            sent: 0,
            direction: Direction::Write,
            began: Time::ZERO,
            confirmed: 0,
            last: Time::ZERO,
            start: part.0,
            end: part.1,
            next: 0,
            left: 0,
            under_way: 0,
            bytes_under_way: 0,
            oscs: vec![osc; objects].into(),
        }
    }

    /// The first thing that the clients of `job` do.
    pub(crate) fn first(job: &Job) -> Direction {
        if job.work == Work::Read { Direction::Read } else { Direction::Write }
    }

    /// Begins to read or write its whole part of the file.
    pub(crate) fn begin(&mut self, now: Time, direction: Direction, job: &Job) {
        self.direction = direction;
        self.began = now;
        self.confirmed = 0;
        self.next = self.start;
        self.left = if job.until > Span::ZERO { u64::MAX } else { self.end - self.start };
        for osc in &mut self.oscs {
            osc.next = self.start;
        }
    }

    /// Appends what can be sent now; `object` is the one for which an RPC has just been done, if that is
    /// the reason to ask.
    pub(crate) fn send(
        &mut self,
        now: Time,
        rules: Rules<'_>,
        object: Option<u64>,
        random: &mut Stream,
        out: &mut Vec<Extent>,
    ) {
        let Rules { job, striping, .. } = rules;
        if job.until > Span::ZERO && now > Time::ZERO + job.until {
            self.left = 0;
            return;
        }
        match (job.direct, self.direction) {
            (true, _) if self.under_way == 0 => self.call(rules, random, out),
            (true, _) => {}
            (false, Direction::Read) => self.read_ahead(rules, out),
            (false, Direction::Write) => match object {
                Some(object) => self.write_behind(object, rules, out),
                None => {
                    for object in 0..striping.count {
                        self.write_behind(object, rules, out);
                    }
                }
            },
        }
    }

    /// One call with direct I/O: all its RPCs at once.
    fn call(&mut self, rules: Rules<'_>, random: &mut Stream, out: &mut Vec<Extent>) {
        let Rules { job, settings, striping } = rules;
        if self.left == 0 {
            return;
        }
        let transfer = job.transfer.as_bytes();
        if job.access == Access::Random {
            let places = ((self.end - self.start) / transfer).max(1);
            self.next = self.start + random.below(places) * transfer;
        } else if self.next >= self.end {
            self.next = self.start;
        }
        let length = transfer.min(self.left).min(self.end - self.next);
        let end = self.next + length;
        while self.next < end {
            let limit = settings.rpc_size.as_bytes().min(end - self.next);
            let extent = striping.extent(self.next, limit);
            self.next += extent.length.as_bytes();
            self.sends(extent, out);
        }
    }

    /// Buffered reads, in the order of the file: as far ahead as the window goes, and until an OSC has no
    /// more room.
    fn read_ahead(&mut self, rules: Rules<'_>, out: &mut Vec<Extent>) {
        let Rules { job, settings, striping } = rules;
        let largest = settings.rpc_size.min(job.transfer).as_bytes();
        while self.left > 0 {
            if self.next >= self.end {
                self.next = self.start;
            }
            let limit = largest.min(self.left).min(self.end - self.next);
            let extent = striping.extent(self.next, limit);
            let ahead = self.bytes_under_way + extent.length.as_bytes();
            let is_full = ahead > settings.readahead.as_bytes() && self.under_way > 0;
            if is_full || self.osc(extent.object).under_way >= settings.rpcs_in_flight {
                return;
            }
            self.next += extent.length.as_bytes();
            self.sends(extent, out);
        }
    }

    /// Buffered writes to one object.
    fn write_behind(&mut self, object: u64, rules: Rules<'_>, out: &mut Vec<Extent>) {
        let Rules { job, settings, striping } = rules;
        let largest = settings.rpc_size.min(job.transfer).as_bytes();
        while self.left > 0 && self.osc(object).under_way < settings.rpcs_in_flight {
            let mut next = striping.next_in(object, self.osc(object).next);
            if next >= self.end {
                if job.until == Span::ZERO {
                    return;
                }
                next = striping.next_in(object, self.start);
                if next >= self.end {
                    return;
                }
            }
            let limit = largest.min(self.left).min(self.end - next);
            let extent = striping.extent(next, limit);
            self.osc(object).next = next + extent.length.as_bytes();
            self.sends(extent, out);
        }
    }

    fn sends(&mut self, extent: Extent, out: &mut Vec<Extent>) {
        self.left -= extent.length.as_bytes();
        self.under_way += 1;
        self.bytes_under_way += extent.length.as_bytes();
        self.osc(extent.object).under_way += 1;
        self.sent += 1;
        out.push(extent);
    }

    /// An RPC for `object` over `length` bytes was answered.
    pub(crate) fn answered(&mut self, now: Time, object: u64, length: u64) {
        self.under_way -= 1;
        self.bytes_under_way -= length;
        self.osc(object).under_way -= 1;
        self.confirmed += length;
        self.last = now;
    }

    /// Where it stands after an answer.
    pub(crate) fn stands(&self, job: &Job) -> Then {
        match (self.under_way, self.left) {
            (0, 0) => Then::Done,
            (0, _) if job.interval > Span::ZERO => Then::Pauses,
            _ => Then::GoesOn,
        }
    }

    fn osc(&mut self, object: u64) -> &mut Osc {
        &mut self.oscs[object as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use slotcast_engine::Streams;
    use slotcast_units::Size;

    const MIB: u64 = 1 << 20;

    fn sent(
        client: &mut Client,
        job: &Job,
        striping: &Striping,
        object: Option<u64>,
    ) -> Vec<(u64, u64)> {
        let settings = ClientSettings { readahead: Size::from_mib(3), ..ClientSettings::default() };
        let mut out = Vec::new();
        let mut random = Streams::new(1).stream("test", 0);
        let rules = Rules { job, settings: &settings, striping };
        client.send(Time::ZERO, rules, object, &mut random, &mut out);
        out.iter().map(|extent| (extent.object, extent.offset / MIB)).collect()
    }

    fn client(job: &Job, striping: &Striping, direction: Direction) -> Client {
        let mut client = Client::new(0, 0, 0, (0, job.size.as_bytes()), striping);
        client.begin(Time::ZERO, direction, job);
        client
    }

    #[test]
    fn buffered_writes_fill_every_osc() {
        let (job, striping) = (Job::default(), Striping { count: 2, size: MIB });
        let mut client = client(&job, &striping, Direction::Write);
        let first = sent(&mut client, &job, &striping, None);
        assert_eq!(first.len(), 16);
        assert_eq!(first.iter().filter(|(object, _)| *object == 1).count(), 8);
        client.answered(Time::ZERO, 1, MIB);
        assert_eq!(sent(&mut client, &job, &striping, Some(1)), [(1, 8)]);
    }

    #[test]
    fn reads_stay_within_their_window() {
        let (job, striping) = (Job::default(), Striping { count: 2, size: MIB });
        let mut client = client(&job, &striping, Direction::Read);
        assert_eq!(sent(&mut client, &job, &striping, None), [(0, 0), (1, 0), (0, 1)]);
        client.answered(Time::ZERO, 1, MIB);
        assert_eq!(sent(&mut client, &job, &striping, Some(1)), [(1, 1)]);
    }

    #[test]
    fn direct_calls_come_one_at_a_time() {
        let transfer = Size::from_mib(2);
        let size = Size::from_mib(4);
        let job = Job { direct: true, transfer, size, ..Job::default() };
        let striping = Striping { count: 4, size: MIB };
        let mut client = client(&job, &striping, Direction::Write);
        assert_eq!(sent(&mut client, &job, &striping, None), [(0, 0), (1, 0)]);
        client.answered(Time::ZERO, 0, MIB);
        assert_eq!(sent(&mut client, &job, &striping, Some(0)), []);
        client.answered(Time::ZERO, 1, MIB);
        assert_eq!(client.stands(&job), Then::GoesOn);
        assert_eq!(sent(&mut client, &job, &striping, Some(1)), [(2, 0), (3, 0)]);
        client.answered(Time::ZERO, 2, MIB);
        client.answered(Time::ZERO, 3, MIB);
        assert_eq!(client.stands(&job), Then::Done);
    }
}
