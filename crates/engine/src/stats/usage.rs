use slotcast_units::{Span, Time};

/// How a resource was used since the start or the last reset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usage {
    /// The part of the time in which a server was busy, as a mean over the servers: 0 to 1.
    pub utilization: f64,
    /// The mean over time of the number of jobs that wait.
    pub mean_queue_length: f64,
    /// The mean over time of the number of jobs that wait or are served.
    pub mean_in_system: f64,
    /// The mean wait before service, over the jobs that were offered.
    pub mean_wait: Span,
    /// The number of jobs that were finished.
    pub served: u64,
    /// The number of jobs that came.
    pub offered: u64,
}

/// A part of a model that is used by jobs, and knows how much.
pub trait Resource {
    /// The use between the last reset and `now`.
    fn usage(&self, now: Time) -> Usage;

    /// Forgets what was before `now`, but not the jobs that are still there: the end of the warm-up.
    fn reset(&mut self, now: Time);
}
