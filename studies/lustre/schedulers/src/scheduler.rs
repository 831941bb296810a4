//! The one shape of every scheduler.

use core::fmt::Debug;

use slotcast_units::Time;

use crate::request::Request;

/// Orders the requests of one service of one server.
///
/// Every request that goes in comes out once, by [`take`](Scheduler::take) or by
/// [`remove`](Scheduler::remove). Whoever runs a scheduler calls `take` whenever a service thread is
/// free; a `None` with requests queued means that none may start yet, and [`wake_at`](Scheduler::wake_at)
/// says when to ask again.
pub trait Scheduler: Debug + Send {
    /// Queues `request`, which came at `now`.
    ///
    /// `now` never goes backwards from call to call, here and below, and no two queued requests have
    /// the same id.
    fn add(&mut self, now: Time, request: Request);

    /// The request to execute next, if one may start at `now`.
    fn take(&mut self, now: Time) -> Option<Request>;

    /// Takes a queued request out, whatever its turn. It must have been added as it is given, and be
    /// queued: false if it is not.
    fn remove(&mut self, request: &Request) -> bool;

    /// A request that was taken is executed. Policies that weigh the work under way want to know.
    fn finished(&mut self, _now: Time, _request: &Request) {}

    /// When `take` may give something without another request having come; none if it would do so at
    /// once, or never.
    fn wake_at(&self, _now: Time) -> Option<Time> {
        None
    }

    /// Queued requests.
    fn len(&self) -> usize;

    /// Whether nothing is queued.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
