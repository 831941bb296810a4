//! Whom a node does not wait for, and whose replicas are to be made anew.
//!
//! A node is *suspected* while it leaves a question unanswered for longer than an answer takes, or when it is not
//! heard for a moment. It is asked all the same, and whatever it says ends the suspicion. A node that is *down* is
//! not asked. One that was down for long is *gone*: nobody expects it back, and what it held is replaced.

use alloc::collections::BTreeMap;

use slotcast_units::{Span, Time};

/// Whether a node is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It is.
    Available,
    /// It is asked, and not waited for.
    Suspected,
    /// It is not asked.
    Down,
}

/// What a node believes of whether the others are there.
#[derive(Debug, Clone)]
pub struct Suspicions {
    /// How long an answer takes at most.
    patience: Span,
    /// How long a node is down before it is gone.
    gone_after: Span,
    /// Since when.
    down: BTreeMap<u32, Time>,
    /// Since when they have left a question unanswered.
    silent: BTreeMap<u32, Time>,
}

impl Suspicions {
    /// Of `nodes`, none of which has been heard at `now`.
    pub fn new(
        now: Time,
        (patience, gone_after): (Span, Span),
        nodes: impl IntoIterator<Item = u32>,
    ) -> Suspicions {
        let down = nodes.into_iter().map(|node| (node, now)).collect();
        Suspicions { patience, gone_after, down, silent: BTreeMap::new() }
    }

    /// How long a node is down before it is gone.
    pub fn gone_after(&self) -> Span {
        self.gone_after
    }

    /// The time in which nodes are awaited begins now; gives those that are down.
    pub fn begin(&mut self, now: Time) -> impl Iterator<Item = u32> {
        self.down.values_mut().for_each(|since| *since = now);
        self.down.keys().copied()
    }

    /// Forgets the nodes that are not to be kept, and adds `new` ones, which have not been heard yet.
    pub fn follow(&mut self, now: Time, keep: impl Fn(u32) -> bool, new: &[u32]) {
        self.down.retain(|node, _| keep(*node));
        self.silent.retain(|node, _| keep(*node));
        self.down.extend(new.iter().map(|node| (*node, now)));
    }

    /// Whether `node` is waited for when it is told something at `now`. If that is a question, its answer is awaited
    /// from now on.
    pub fn told(&mut self, now: Time, node: u32, is_question: bool) -> Availability {
        if self.down.contains_key(&node) {
            return Availability::Down;
        }
        let is_late = |since: &Time| now.saturating_since(*since) > self.patience;
        let is_suspected = self.silent.get(&node).is_some_and(is_late);
        if is_question {
            self.silent.entry(node).or_insert(now);
        }
        if is_suspected { Availability::Suspected } else { Availability::Available }
    }

    /// `node` has said something, or responds again.
    pub fn heard(&mut self, node: u32) {
        self.silent.remove(&node);
    }

    /// `node` has not been heard for a moment.
    pub fn unresponsive(&mut self, node: u32) {
        self.silent.insert(node, Time::ZERO);
    }

    /// `node` is there again.
    pub fn up(&mut self, node: u32) {
        self.down.remove(&node);
    }

    /// `node` is not there any more.
    pub fn down(&mut self, now: Time, node: u32) {
        self.down.insert(node, now);
    }

    /// Whether `node` has been down for so long that what it holds is to be replaced.
    pub fn is_gone(&self, now: Time, node: u32) -> bool {
        let since = self.down.get(&node);
        since.is_some_and(|since| now.saturating_since(*since) >= self.gone_after)
    }

    /// Whether `node` is down and may be back soon: its replicas are not to be replaced yet.
    pub fn may_return(&self, now: Time, node: u32) -> bool {
        self.down.contains_key(&node) && !self.is_gone(now, node)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// Of nodes 4 and 5, which are up.
    fn both_up() -> Suspicions {
        let times = (Span::from_ms(3), Span::from_secs(10));
        let mut suspicions = Suspicions::new(at(0), times, [4, 5]);
        [4, 5].into_iter().for_each(|node| suspicions.up(node));
        suspicions
    }

    #[test]
    fn an_unanswered_question_makes_a_suspect_until_something_is_heard() {
        let mut suspicions = both_up();
        assert_eq!(suspicions.told(at(1), 4, true), Availability::Available);
        assert_eq!(suspicions.told(at(3), 4, true), Availability::Available);
        assert_eq!(suspicions.told(at(5), 4, true), Availability::Suspected, "since the first one");
        assert_eq!(suspicions.told(at(5), 5, true), Availability::Available, "another one");
        suspicions.heard(4);
        assert_eq!(suspicions.told(at(6), 4, false), Availability::Available);
        assert_eq!(suspicions.told(at(20), 4, false), Availability::Available, "nothing was asked");
    }

    #[test]
    fn who_does_not_respond_is_suspected_at_once() {
        let mut suspicions = both_up();
        suspicions.unresponsive(4);
        assert_eq!(suspicions.told(at(4), 4, true), Availability::Suspected);
        suspicions.heard(4);
        assert_eq!(suspicions.told(at(4), 4, true), Availability::Available);
    }

    #[test]
    fn who_is_down_is_not_asked_may_return_and_then_is_gone() {
        let mut suspicions = both_up();
        assert!(!suspicions.may_return(at(1000), 4));
        suspicions.down(at(1000), 4);
        assert_eq!(suspicions.told(at(1000), 4, true), Availability::Down);
        assert!(suspicions.may_return(at(10_999), 4) && !suspicions.is_gone(at(10_999), 4));
        assert!(!suspicions.may_return(at(11_000), 4) && suspicions.is_gone(at(11_000), 4));
        suspicions.up(4);
        assert!(!suspicions.may_return(at(11_000), 4) && !suspicions.is_gone(at(11_000), 4));
        assert_eq!(
            suspicions.told(at(11_000), 4, true),
            Availability::Available,
            "not asked before"
        );
    }

    #[test]
    fn another_map_brings_nodes_that_are_awaited_and_takes_others_away() {
        let mut suspicions = both_up();
        suspicions.down(at(0), 4);
        suspicions.unresponsive(5);
        suspicions.follow(at(5000), |node| node == 5, &[6]);
        assert!(!suspicions.may_return(at(5000), 4), "it is out of the cluster");
        assert!(suspicions.may_return(at(14_999), 6) && suspicions.is_gone(at(15_000), 6));
        assert_eq!(suspicions.told(at(5000), 5, true), Availability::Suspected);
        assert_eq!(suspicions.begin(at(7000)).collect::<Vec<_>>(), [6]);
        assert!(suspicions.may_return(at(16_999), 6), "awaited from the beginning on");
    }
}
