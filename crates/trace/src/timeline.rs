//! Who has reserved which window of which target: the rows of a picture.

use slotcast_sim::{ClosedWindow, Fate, RequestId, Scenario, Way, measured_until};
use slotcast_units::{Span, Time};

/// Which reservations a timeline keeps: so many that a page with them stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineSpec {
    /// Windows that end before this are left out.
    pub from: Time,
    /// How long after `from` the last ones begin.
    pub length: Span,
    /// Only the first so many targets.
    pub targets: u32,
    /// Most bars; further ones are counted and dropped.
    pub most_bars: usize,
}

impl TimelineSpec {
    /// The first 3 ms after the warm-up, or what the run has of them, of 18 targets: two groups. At most
    /// 4000 bars.
    pub fn after_warmup(scenario: &Scenario) -> TimelineSpec {
        let from = Time::ZERO + scenario.run.warmup;
        let length = measured_until(scenario).saturating_since(from).min(Span::from_ms(3));
        TimelineSpec { from, length, targets: 18, most_bars: 4000 }
    }
}

/// How a window, or a part of it, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WindowState {
    /// Bid, and nobody said yes or no: too late, or the run ended first.
    Tentative,
    /// Accepted: payload came in it, or was still to come when the run ended. Accepted windows of one
    /// target and way never overlap.
    Accepted,
    /// Bid, and cancelled.
    Cancelled,
    /// The part of an accepted window in which payload came.
    Used,
    /// Accepted, but no payload came.
    Idle,
}

impl WindowState {
    /// In the order in which a legend shows them.
    pub const ALL: [WindowState; 5] = [
        WindowState::Tentative,
        WindowState::Accepted,
        WindowState::Cancelled,
        WindowState::Used,
        WindowState::Idle,
    ];

    /// In one word: `tentative`, ...
    pub fn name(self) -> &'static str {
        match self {
            WindowState::Tentative => "tentative",
            WindowState::Accepted => "accepted",
            WindowState::Cancelled => "cancelled",
            WindowState::Used => "used",
            WindowState::Idle => "idle",
        }
    }
}

/// One bar of a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineBar {
    /// The target: the row.
    pub target: u32,
    /// For a chunk that comes, or one that goes; the two may overlap.
    pub way: Way,
    /// When it begins, at the sender of the payload.
    pub start: Time,
    /// When it ends, at the sender of the payload.
    pub end: Time,
    /// The colour.
    pub state: WindowState,
    /// For which request.
    pub request: RequestId,
}

/// Reservations of some targets for some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// What was asked for.
    pub spec: TimelineSpec,
    /// By target, way, start and state. A window that was used is two bars, the accepted window and
    /// what was used of it.
    pub bars: Vec<TimelineBar>,
    /// Bars that would have been shown as well, but for [`TimelineSpec::most_bars`].
    pub dropped: u64,
}

impl Timeline {
    pub(crate) fn new(spec: TimelineSpec) -> Timeline {
        Timeline { spec, bars: Vec::new(), dropped: 0 }
    }

    /// Takes the bars of `window` that the picture shows.
    pub(crate) fn add(&mut self, window: &ClosedWindow) {
        let ClosedWindow { target, way, request, bid, accepted, fate, .. } = *window;
        let mut bar = |start, end, state| {
            self.push(TimelineBar { target, way, start, end, state, request });
        };
        let Some((_, window)) = accepted else {
            let state = match fate {
                Fate::Cancelled | Fate::Forgotten => WindowState::Cancelled,
                _ => WindowState::Tentative,
            };
            return bar(bid.start, bid.end, state);
        };
        match fate {
            Fate::Used { begin, end } => {
                bar(window.start, window.end, WindowState::Accepted);
                bar(begin, end, WindowState::Used);
            }
            Fate::Open => bar(window.start, window.end, WindowState::Accepted),
            _ => bar(window.start, window.end, WindowState::Idle),
        }
    }

    fn push(&mut self, bar: TimelineBar) {
        let TimelineSpec { from, length, targets, most_bars } = self.spec;
        let is_seen = bar.end > from && bar.start < from + length;
        if bar.target >= targets || !is_seen {
            return;
        }
        if self.bars.len() < most_bars {
            self.bars.push(bar);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether bars are missing that the picture should show.
    pub fn is_cut(&self) -> bool {
        self.dropped > 0
    }

    pub(crate) fn finish(mut self) -> Timeline {
        self.bars.sort_by_key(|bar| (bar.target, bar.way, bar.start, bar.state, bar.request));
        self
    }
}
