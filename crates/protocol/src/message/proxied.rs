//! What is said where a proxy negotiates for the initiators of a group.

use core::ops::Deref;

use slotcast_units::{Rate, Size, Span, Time};

use crate::group::Members;
use crate::ids::{ChunkId, GroupId, RequestId, Term};
use crate::message::Message;
use crate::window::Window;

/// The most windows in which a request can say that its initiator's link is taken.
pub const MAX_TAKEN: usize = 4;

impl Message {
    /// Whether, of what comes to a target's node, the [`crate::Proxy`] there hears it.
    pub fn is_for_proxy(&self) -> bool {
        matches!(self, Message::ProxyRequest(_) | Message::ProxyReport(_) | Message::ProxyQuery(_))
    }

    /// Whether, of what comes to a target's node, the [`crate::Target`] hears it.
    pub fn is_for_target(&self) -> bool {
        !matches!(self, Message::ProxyRequest(_) | Message::ProxyReport(_))
    }
}

/// Asks a proxy for a window, and for its acceptance in the initiator's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyRequest {
    /// The request.
    pub request: RequestId,
    /// Counts the rounds of asking of this request; a later round replaces an earlier one.
    pub round: u8,
    /// The group.
    pub group: GroupId,
    /// Members that are not to be chosen: holding the chunk, awaiting it, or failed.
    pub skip: Members,
    /// The chunk's name.
    pub chunk: ChunkId,
    /// Its size.
    pub size: Size,
    /// The initiator cannot send before this time.
    pub not_before: Time,
    /// How many members are wanted, 1 to [`crate::MAX_REPLICAS`].
    pub replicas: u8,
    /// This term and all before it are over: its proxy was silent, or somebody knows of a later one.
    /// A member that knows of no later one takes over.
    pub over: Term,
    /// When the initiator's link is taken by other transfers, after `not_before`.
    pub taken: Taken,
}

/// Answers a proxied request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyReply {
    /// The request.
    pub request: RequestId,
    /// The round that is answered.
    pub round: u8,
    /// The proxy, as far as the sender knows: itself, unless it says that another one is.
    pub term: Term,
    /// The answer.
    pub answer: ProxyAnswer,
}

/// What a proxy says to an initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyAnswer {
    /// These members will take the chunk in this window.
    Granted {
        /// The window, the same for all.
        window: Window,
        /// The members; fewer than wanted if no more can be had now.
        members: Members,
    },
    /// The request is in the queue, or nobody is free; it is worth asking again after this long.
    NotNow {
        /// How long to wait.
        retry_after: Span,
    },
    /// The proxy of the named term is the one to ask.
    Moved,
}

/// Tells members of a group what is accepted for them. It is the whole truth about its request:
/// who is named has this window, who is to be skipped keeps what it has, and everybody else has
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyNotice {
    /// The request.
    pub request: RequestId,
    /// Its round.
    pub round: u8,
    /// The group.
    pub group: GroupId,
    /// The proxy that tells.
    pub term: Term,
    /// Members that keep what they have.
    pub skip: Members,
    /// The chunk's name.
    pub chunk: ChunkId,
    /// Its size.
    pub size: Size,
    /// The window.
    pub window: Window,
    /// Who has it.
    pub members: Members,
}

/// Asks members of a group what they have promised, and tells them who is the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyQuery {
    /// The request that made the proxy ask.
    pub request: RequestId,
    /// The group.
    pub group: GroupId,
    /// The proxy that asks.
    pub term: Term,
}

/// Tells a proxy what one member has before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyReport {
    /// The request whose chunk has come, or that made the proxy ask.
    pub request: RequestId,
    /// The group.
    pub group: GroupId,
    /// The member's position.
    pub position: u8,
    /// The latest proxy that the member knows of.
    pub term: Term,
    /// Why it reports.
    pub occasion: Occasion,
    /// The end of the last window that it has promised.
    pub free_from: Time,
    /// When its disk, or the first of several, will be done: with what has come, and, in answer to a
    /// query, with what has been promised as well.
    pub disk_done: Time,
    /// How fast each of its disks is.
    pub disk_rate: Rate,
}

/// Why a member reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The chunk of the request has come, and its window is free again.
    Received,
    /// The proxy asked, or told something that does not fit what the member has promised.
    Asked,
}

/// Up to [`MAX_TAKEN`] windows, in place, in any order.
#[derive(Clone, Copy)]
pub struct Taken {
    len: u8,
    windows: [Window; MAX_TAKEN],
}

impl Taken {
    /// Nothing is taken.
    pub const NONE: Taken =
        Taken { len: 0, windows: [Window { start: Time::ZERO, end: Time::ZERO }; MAX_TAKEN] };

    /// Adds one.
    ///
    /// # Panics
    /// If there are [`MAX_TAKEN`] already.
    pub fn push(&mut self, window: Window) {
        self.windows[usize::from(self.len)] = window;
        self.len += 1;
    }

    /// The first time from `start` on that is free for `length`; the end of the clock if there is
    /// none before.
    pub fn free_from(&self, start: Time, length: Span) -> Time {
        let mut start = start;
        // In whatever order they are, each pass takes the start beyond at least one of them.
        for _ in 0..self.len {
            for window in self.iter() {
                if window.start < start.saturating_add(length) && start < window.end {
                    start = window.end;
                }
            }
        }
        start
    }
}

impl Deref for Taken {
    type Target = [Window];
    fn deref(&self) -> &[Window] {
        &self.windows[..usize::from(self.len)]
    }
}

impl PartialEq for Taken {
    fn eq(&self, other: &Taken) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Taken {}

impl core::fmt::Debug for Taken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl FromIterator<Window> for Taken {
    fn from_iter<I: IntoIterator<Item = Window>>(windows: I) -> Taken {
        let mut all = Taken::NONE;
        windows.into_iter().for_each(|window| all.push(window));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_free_time_meets_no_taken_window_and_none_is_earlier(
            windows in prop::collection::vec((0u64..60, 1u64..30), 0..=MAX_TAKEN),
            start in 0u64..80,
            length in 1u64..30,
        ) {
            let window = |&(start, width): &(u64, u64)| {
                Window::new(Time::from_ns(start), Span::from_ns(width))
            };
            let taken: Taken = windows.iter().map(window).collect();
            let length = Span::from_ns(length);
            let fits = |start: u64| {
                let wanted = Window::new(Time::from_ns(start), length);
                taken.iter().all(|window| !window.overlaps(&wanted))
            };
            let first = (start..).find(|&start| fits(start)).unwrap();
            prop_assert_eq!(taken.free_from(Time::from_ns(start), length).as_ns(), first);
        }
    }
}
