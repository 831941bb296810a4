//! Time for the machines: nanoseconds of a monotonic clock since the process started.

use std::time::{Duration, Instant};

use slotcast_units::Time;

/// A clock that never goes backwards, and that setting the date does not move.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
}

impl Clock {
    /// A clock that begins at zero now.
    pub fn start() -> Clock {
        Clock { start: Instant::now() }
    }

    /// The present.
    pub fn now(&self) -> Time {
        Time::from_ns(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The instant at which this clock shows `time`.
    pub fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.as_ns())
    }
}
