//! Time for the machines: nanoseconds of a monotonic clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use slotcast_units::Time;

/// A clock that never goes backwards, and that setting the date does not move.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    /// What it showed at the start.
    base: Duration,
}

impl Clock {
    /// A clock that begins at zero now.
    pub fn start() -> Clock {
        Clock { start: Instant::now(), base: Duration::ZERO }
    }

    /// A clock that begins with the nanoseconds since 1970, so that no two lives of a node have a time in
    /// common as long as nobody sets the date back.
    pub fn start_at_date() -> Clock {
        Clock::start_at(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
    }

    /// A clock that shows `base` now.
    pub(crate) fn start_at(base: Duration) -> Clock {
        Clock { start: Instant::now(), base }
    }

    /// What it showed when it began.
    pub fn began(&self) -> Time {
        time(self.base)
    }

    /// The present.
    pub fn now(&self) -> Time {
        time(self.base + self.start.elapsed())
    }

    /// The instant at which this clock shows `time`.
    pub fn instant(&self, time: Time) -> Instant {
        self.start + Duration::from_nanos(time.as_ns()).saturating_sub(self.base)
    }
}

fn time(since: Duration) -> Time {
    Time::from_ns(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
