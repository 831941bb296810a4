use slotcast_units::{Rate, Size, Span, Time};

use super::Weighed;

/// Measures how fast a disk puts data on stable storage: bytes over the time in which it had something to
/// do, not over the latency of requests. Many chunks share one flush, and several operations may be under way
/// at a time; both only make the disk busy, and busy time counts once.
///
/// What was done is gathered until the disk has been busy for 10 ms, which makes one sample; samples are
/// weighed with a memory of 100 ms of busy time. Reads are best left out: most come from memory and tell its
/// rate. Where batches are small, as under a light load, the estimate contains the time of a flush for few
/// bytes, and is low; it rises with the load, since a full queue makes large batches.
#[derive(Debug, Clone, Copy)]
pub struct DiskMeter {
    weighed: Weighed,
    under_way: u32,
    /// Up to when busy time has been counted, while something is under way.
    counted: Time,
    bytes: Size,
    busy: Span,
    has_measured: bool,
}

const MEMORY: Span = Span::from_ms(100);
const SAMPLE: Span = Span::from_ms(10);

/// A floppy disk, and more than memory: what is measured beyond is a mistake.
const SLOWEST: Rate = Rate::from_bytes_per_s(100_000);
const FASTEST: Rate = Rate::from_bytes_per_s(100_000_000_000);

impl DiskMeter {
    /// A disk that is taken for one of rate `first` at first.
    pub fn new(first: Rate) -> DiskMeter {
        DiskMeter {
            weighed: Weighed::new(first, MEMORY, SLOWEST, FASTEST),
            under_way: 0,
            counted: Time::ZERO,
            bytes: Size::ZERO,
            busy: Span::ZERO,
            has_measured: false,
        }
    }

    /// An operation was given to the disk.
    pub fn begun(&mut self, now: Time) {
        if self.under_way == 0 {
            self.counted = now;
        }
        self.under_way += 1;
    }

    /// One has ended, by which `size` came to be on stable storage: zero for what failed. True if the estimate
    /// is a new one.
    pub fn ended(&mut self, now: Time, size: Size) -> bool {
        self.under_way = self.under_way.saturating_sub(1);
        self.busy += now.saturating_since(self.counted);
        self.counted = now;
        self.bytes += size;
        let is_sample = self.busy >= SAMPLE && self.bytes > Size::ZERO;
        if is_sample {
            self.weighed.add(self.bytes, self.busy);
            (self.bytes, self.busy) = (Size::ZERO, Span::ZERO);
            self.has_measured = true;
        }
        is_sample
    }

    /// The rate; the first one until there is a sample.
    pub fn rate(&self) -> Rate {
        self.weighed.rate()
    }

    /// The rate, if there was a sample.
    pub fn measured(&self) -> Option<Rate> {
        self.has_measured.then(|| self.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    const FIRST: Rate = Rate::from_bytes_per_s(400_000_000);

    #[test]
    fn chunks_that_share_a_flush_share_its_time() {
        let mut meter = DiskMeter::new(FIRST);
        let mut now = 0;
        // Batches of 2 MB, 10 ms to write and 10 ms to flush.
        for _ in 0..100 {
            meter.begun(at(now));
            assert!(!meter.ended(at(now + 10_000), Size::ZERO));
            meter.begun(at(now + 10_000));
            assert!(meter.ended(at(now + 20_000), Size::from_bytes(2_000_000)));
            // Idle time does not count.
            now += 500_000;
        }
        let rate = meter.rate().as_bps() as f64 / 8e6;
        assert!((98.0..102.0).contains(&rate), "{rate} MB/s");
    }

    #[test]
    fn what_goes_on_side_by_side_is_counted_once() {
        let mut meter = DiskMeter::new(FIRST);
        for n in 0..100 {
            let start = n * 40_000;
            meter.begun(at(start));
            meter.begun(at(start + 5_000));
            meter.ended(at(start + 15_000), Size::from_bytes(1_000_000));
            meter.ended(at(start + 20_000), Size::from_bytes(1_000_000));
        }
        // 2 MB in 20 ms; a sample may end between the two.
        let rate = meter.rate().as_bps() as f64 / 8e6;
        assert!((90.0..110.0).contains(&rate), "{rate} MB/s");
    }

    #[test]
    fn failures_tell_nothing() {
        let mut meter = DiskMeter::new(FIRST);
        meter.begun(at(0));
        assert!(!meter.ended(at(900_000), Size::ZERO));
        assert_eq!((meter.rate(), meter.measured()), (FIRST, None));
    }
}
