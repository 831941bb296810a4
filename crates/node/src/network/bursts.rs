//! Tells of datagrams that were refused: soon after the first, and then every ten seconds with their number.

use slotcast_units::{Span, Time};
use tracing::{debug, warn};

/// How often the counters are looked at while nothing is refused, and while something is.
const QUIET: Span = Span::from_secs(1);
const BURST: Span = Span::from_secs(10);

/// What was told of the counters so far.
#[derive(Debug, Default)]
pub(super) struct Bursts {
    told: [u64; 11],
    next: Time,
}

impl Bursts {
    /// Looks at the counters if it is time to.
    pub(super) fn look(&mut self, now: Time, refused: impl FnOnce() -> [(&'static str, u64); 11]) {
        if now < self.next {
            return;
        }
        self.next = now + QUIET;
        for ((reason, count), told) in refused().into_iter().zip(&mut self.told) {
            let datagrams = count - *told;
            if datagrams == 0 {
                continue;
            }
            *told = count;
            self.next = now + BURST;
            // A peer that starts is unproven at first, and what the network repeats is harmless.
            if matches!(reason, "unproven" | "replayed") {
                debug!(reason, datagrams, "datagrams refused");
            } else {
                warn!(reason, datagrams, "datagrams refused");
            }
        }
    }
}
