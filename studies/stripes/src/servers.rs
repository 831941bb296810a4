use slotcast_engine::{FifoStation, Resource, Stream};
use slotcast_units::{Share, Span, Time};

use super::scenario::{Cache, Disk, Scenario, SecondCache};

/// What one server has beside its link: a processor for parity, a disk and perhaps an SSD, each of which
/// does one thing after another.
#[derive(Debug, Default)]
struct Server {
    processor: FifoStation,
    disk: FifoStation,
    ssd: FifoStation,
}

/// The machines' computers: servers first, then clients, of which only the processor is used.
#[derive(Debug)]
pub(super) struct Servers {
    servers: Vec<Server>,
    parity: Span,
    write: Span,
    read: Span,
    ssd_read: Span,
    disk: Disk,
    cache: Cache,
    writes: Stream,
    hits: Stream,
    /// Contents that were not in memory.
    pub(super) misses: u64,
}

impl Servers {
    pub(super) fn new(scenario: &Scenario, count: u32, writes: Stream, hits: Stream) -> Servers {
        let Scenario { disk, cache, costs, .. } = scenario;
        Servers {
            servers: (0..count).map(|_| Server::default()).collect(),
            parity: scenario.for_unit(costs.parity, Span::ZERO),
            write: scenario.for_unit(disk.write, disk.access),
            read: scenario.for_unit(disk.read, disk.access),
            ssd_read: scenario.for_unit(cache.ssd_read, Span::ZERO),
            disk: disk.clone(),
            cache: cache.clone(),
            writes,
            hits,
            misses: 0,
        }
    }

    /// When `passes` over a unit are computed.
    pub(super) fn compute(&mut self, now: Time, node: u32, passes: u32) -> Time {
        let work = self.parity * u64::from(passes);
        self.servers[node as usize].processor.serve(now, work)
    }

    /// When a unit is on the disk.
    pub(super) fn write_unit(&mut self, now: Time, node: u32) -> Time {
        let Disk { write, spread, .. } = self.disk;
        // The spread is of the whole write, so it shrinks with the unit as the write does.
        let range = u128::from(spread.as_ns()) * u128::from(self.write.as_ns());
        let range = u64::try_from(range / u128::from(write.as_ns().max(1))).unwrap_or(u64::MAX);
        let longer = self.writes.below(range.saturating_mul(2).saturating_add(1));
        let service = (self.write + Span::from_ns(longer)).saturating_sub(Span::from_ns(range));
        self.servers[node as usize].disk.serve(now, service)
    }

    /// When something small is on the disk; what need not be there soon costs nothing.
    pub(super) fn write_small(&mut self, now: Time, node: u32, soon: bool) -> Time {
        let service = if soon { self.disk.access } else { Span::ZERO };
        self.servers[node as usize].disk.serve(now, service)
    }

    /// When the content of a unit is in memory, which it may be already.
    pub(super) fn read_unit(&mut self, now: Time, node: u32, is_parity: bool) -> Time {
        let hits = if is_parity { self.cache.parity_hits } else { self.cache.data_hits };
        // No draw where chance has no say: so equal histories stay equal.
        if hits >= Share::ONE || self.hits.chance(hits.as_f64()) {
            return now;
        }
        self.misses += 1;
        let server = &mut self.servers[node as usize];
        match self.cache.second {
            SecondCache::Ssd => server.ssd.serve(now, self.ssd_read),
            SecondCache::None => server.disk.serve(now, self.read),
        }
    }

    /// The warm-up is over.
    pub(super) fn reset(&mut self, now: Time) {
        self.misses = 0;
        self.servers.iter_mut().for_each(|server| server.disk.reset(now));
    }

    /// The part of the time in which the busiest disk was busy.
    pub(super) fn busiest_disk(&self, now: Time) -> f64 {
        let disks = self.servers.iter().map(|server| server.disk.usage(now).utilization);
        disks.fold(0.0, f64::max)
    }
}
