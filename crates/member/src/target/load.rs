//! What a target is busy with.

use slotcast_protocol::{State, Target};
use slotcast_units::{Rate, Span, Time};

/// What a target is busy with, and was since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TargetLoad {
    /// Windows that it has promised or bid, in and out.
    pub windows: u32,
    /// Chunks that wait for its disk or are there.
    pub at_disk: u32,
    /// Content that came in, in bytes.
    pub received_bytes: u64,
    /// Content that went out, in bytes.
    pub sent_bytes: u64,
    /// Time in which its disk had something to do for somebody.
    pub disk_busy: Span,
    /// How fast its disk puts data on stable storage, once that was measured.
    pub disk_rate: Option<Rate>,
    /// How fast chunks come in over its link, at most the agreed rate, once that was measured.
    pub link_rate: Option<Rate>,
}

/// Sums up what a target does.
#[derive(Debug, Default)]
pub(super) struct Account {
    pub(super) received_bytes: u64,
    pub(super) sent_bytes: u64,
    disk_busy: Span,
    disk_busy_since: Option<Time>,
}

impl Account {
    /// The disk has something to do from now on, or nothing.
    pub(super) fn disk(&mut self, now: Time, is_busy: bool) {
        match (self.disk_busy_since, is_busy) {
            (None, true) => self.disk_busy_since = Some(now),
            (Some(since), false) => {
                self.disk_busy += now.saturating_since(since);
                self.disk_busy_since = None;
            }
            _ => {}
        }
    }

    /// The load at `now` of a target with so many chunks at its disk. O(windows).
    pub(super) fn load(
        &self,
        now: Time,
        negotiator: &Target,
        at_disk: usize,
        (disk_rate, link_rate): (Option<Rate>, Option<Rate>),
    ) -> TargetLoad {
        let calendars = [negotiator.incoming(), negotiator.outgoing()];
        let windows = calendars.into_iter().flat_map(|calendar| calendar.reservations());
        let open = windows.filter(|r| r.state != State::Cancelled && r.window.end > now);
        let busy = self.disk_busy_since.map_or(Span::ZERO, |since| now.saturating_since(since));
        TargetLoad {
            windows: u32::try_from(open.count()).unwrap_or(u32::MAX),
            at_disk: u32::try_from(at_disk).unwrap_or(u32::MAX),
            received_bytes: self.received_bytes,
            sent_bytes: self.sent_bytes,
            disk_busy: self.disk_busy + busy,
            disk_rate,
            link_rate,
        }
    }
}
