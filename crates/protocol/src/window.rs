use core::fmt;

use slotcast_units::{Span, Time};

/// A half-open piece of time, `start..end`, in which a sender may use a receiver's link.
///
/// Both edges are times at the *sender*: the first bit arrives one trip after `start`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Window {
    /// The first moment inside.
    pub start: Time,
    /// The first moment after.
    pub end: Time,
}

impl Window {
    /// The window of `width` from `start` on.
    pub fn new(start: Time, width: Span) -> Window {
        Window { start, end: start + width }
    }

    /// How long it is open; zero if the edges are out of order.
    pub fn width(&self) -> Span {
        self.end.saturating_since(self.start)
    }

    /// Whether `other` lies inside.
    pub fn contains(&self, other: &Window) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether the two share a moment.
    pub fn overlaps(&self, other: &Window) -> bool {
        self.start < other.end && other.start < self.end
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
