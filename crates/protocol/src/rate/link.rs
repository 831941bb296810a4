use slotcast_units::{Rate, Size, Span};

use super::Weighed;

/// Measures how fast chunks come in over a target's link, window by window.
///
/// Senders pace a chunk at the granted rate, so a link shows its own rate only when it is slower. A chunk that
/// came as fast as it was granted proves that rate, and is a sample of it; one that took longer is a sample
/// of what it took, in which lost and repeated datagrams count, as they should. The estimate is never above
/// the granted rate, since nothing can prove more. Samples are weighed with a memory of 100 ms of transfer.
#[derive(Debug, Clone, Copy)]
pub struct LinkMeter {
    weighed: Weighed,
    granted: Rate,
    has_measured: bool,
}

const MEMORY: Span = Span::from_ms(100);

impl LinkMeter {
    /// A link on which senders pace at `granted`.
    pub fn new(granted: Rate) -> LinkMeter {
        LinkMeter::starting(granted, granted)
    }

    /// The same, on which `first` is expected until chunks show another rate.
    pub fn starting(granted: Rate, first: Rate) -> LinkMeter {
        let slowest = granted.split(1000).max(Rate::from_bps(1));
        LinkMeter {
            weighed: Weighed::new(first, MEMORY, slowest, granted),
            granted,
            has_measured: false,
        }
    }

    /// `size` came in `took`, from its first byte to its last.
    pub fn came(&mut self, size: Size, took: Span) {
        self.weighed.add(size, took.max(self.granted.time_for(size)));
        self.has_measured = true;
    }

    /// The rate, at most the granted one.
    pub fn rate(&self) -> Rate {
        self.weighed.rate()
    }

    /// The rate, if a chunk came.
    pub fn measured(&self) -> Option<Rate> {
        self.has_measured.then(|| self.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANTED: Rate = Rate::from_bps(1_000_000_000);
    const CHUNK: Size = Size::from_bytes(1_250_000);

    #[test]
    fn full_windows_prove_the_granted_rate_and_no_more() {
        let mut meter = LinkMeter::new(GRANTED);
        assert_eq!(meter.measured(), None);
        for _ in 0..100 {
            meter.came(CHUNK, Span::from_ms(1));
        }
        let rate = meter.measured().expect("measured").as_bps();
        assert!((999_000_000..=1_000_000_000).contains(&rate), "{rate}");
    }

    #[test]
    fn a_slow_link_is_found_out_and_one_that_recovers_too() {
        let mut meter = LinkMeter::new(GRANTED);
        for _ in 0..50 {
            meter.came(CHUNK, Span::from_ms(40));
        }
        let slow = meter.rate().as_bps();
        assert!((240_000_000..260_000_000).contains(&slow), "{slow}");
        for _ in 0..100 {
            meter.came(CHUNK, Span::from_ms(10));
        }
        assert!(meter.rate().as_bps() > 950_000_000, "{}", meter.rate());
    }
}
