//! Too few members are available for a request.

use slotcast_units::Time;

use super::Step;

/// Since when too few members are available for a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shortage {
    since: Option<Time>,
}

impl Shortage {
    /// A member that was given up is there after all; whether there was a shortage.
    pub(super) fn end(&mut self) -> bool {
        self.since.take().is_some()
    }

    /// A round has ended, with too few members available or enough. Whether the request is to be given up.
    pub(super) fn round_ended(&mut self, step: &Step<'_>, is_short: bool) -> bool {
        self.since = is_short.then(|| self.since.unwrap_or(step.now));
        let lasts = self.since.map(|since| step.now.saturating_since(since));
        lasts.zip(step.config.refuse_after).is_some_and(|(lasts, most)| lasts >= most)
    }
}
