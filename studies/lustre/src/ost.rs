//! An object storage target: its service, its blocks, and its disks.

use rustc_hash::FxHashMap;
use slotcast_engine::{Stream, Streams, TimerId};
use slotcast_schedulers::{Direction, Request, Scheduler};
use slotcast_units::{Size, Span, Time};

use super::allocator::{Allocator, Mapped, ObjectMap};
use super::cache::Cache;
use super::deadlines::ServerClock;
use super::disk::{Disk, around};
use super::scenario::{LustreScenario, OstSettings};

/// One OST on a server of its own: a ptlrpc service, whose threads execute what its scheduler gives them.
#[derive(Debug)]
pub(crate) struct Ost {
    scheduler: Box<dyn Scheduler>,
    idle_threads: u32,
    /// When the scheduler is asked again.
    pub(crate) wake: Option<(Time, TimerId)>,
    pub(crate) clock: ServerClock,
    objects: FxHashMap<u64, ObjectMap>,
    allocator: Allocator,
    pub(crate) disks: Vec<Disk>,
    pub(crate) cache: Option<Cache>,
    pub(crate) random: Stream,
    pub(crate) queue_peak: usize,
}

impl Ost {
    pub(crate) fn new(index: u32, scenario: &LustreScenario, streams: &Streams) -> Ost {
        let disk = || Disk::new(&scenario.disk, &scenario.elevator);
        Ost {
            scheduler: scenario.scheduler.policy.build(),
            idle_threads: scenario.ost.threads,
            wake: None,
            clock: ServerClock::new(&scenario.timeout),
            objects: FxHashMap::default(),
            allocator: Allocator::default(),
            disks: (0..scenario.disk.members).map(|_| disk()).collect(),
            cache: Cache::new(&scenario.cache),
            random: streams.stream("ost", u64::from(index)),
            queue_peak: 0,
        }
    }

    /// A request waits.
    pub(crate) fn enqueue(&mut self, now: Time, request: Request) {
        self.scheduler.add(now, request);
        self.queue_peak = self.queue_peak.max(self.scheduler.len());
    }

    /// Waiting requests.
    pub(crate) fn queued(&self) -> usize {
        self.scheduler.len()
    }

    /// Gives an idle thread a request, if there are both.
    pub(crate) fn take(&mut self, now: Time) -> Option<Request> {
        if self.idle_threads == 0 {
            return None;
        }
        let request = self.scheduler.take(now)?;
        self.idle_threads -= 1;
        Some(request)
    }

    /// When an idle thread may be given something that waits and may not start yet.
    pub(crate) fn wake_at(&self, now: Time) -> Option<Time> {
        let is_held_back = self.idle_threads > 0 && !self.scheduler.is_empty();
        is_held_back.then(|| self.scheduler.wake_at(now)).flatten()
    }

    /// A thread has executed `request`, and is idle.
    pub(crate) fn release(&mut self, now: Time, request: &Request) {
        self.idle_threads += 1;
        self.scheduler.finished(now, request);
    }

    /// Where the next bytes of an object lie; blocks that are missing are taken.
    pub(crate) fn map(&mut self, object: u64, offset: u64, length: u64) -> Mapped {
        let map = self.objects.entry(object).or_default();
        self.allocator.map(map, offset, Size::from_bytes(length))
    }

    /// How long that takes: new blocks the whole time, those that were taken before a fifth of it, and finding
    /// those to read a twentieth.
    pub(crate) fn map_time(
        &mut self,
        settings: &OstSettings,
        direction: Direction,
        mapped: Mapped,
    ) -> Span {
        let whole = settings.allocation_time;
        let middle = match direction {
            Direction::Read => whole / 20,
            Direction::Write if mapped.is_new => whole,
            Direction::Write => whole / 5,
        };
        let jitter = middle.as_ns() * u64::from(settings.allocation_jitter.as_ppm()) / 1_000_000;
        around(middle, Span::from_ns(jitter), &mut self.random)
    }

    /// Takes blocks for the first `size` bytes of an object, as if it had been written at once.
    pub(crate) fn lay_out(&mut self, object: u64, size: u64) {
        let map = self.objects.entry(object).or_default();
        let mut offset = 0;
        while offset < size {
            let step = (size - offset).min(1 << 20);
            offset += self.allocator.map(map, offset, Size::from_bytes(step)).length;
        }
    }
}
