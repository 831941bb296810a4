//! More time for those who would give up in vain.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use slotcast_units::{Share, Span, Time};

use crate::request::RequestId;

/// When a server grants more time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyRule {
    /// ERP: shortly before the client would give up, and again each time.
    BeforeDeadline,
    /// ERPCK: also at arrival, if the client allows less than the estimate: it is granted the estimate
    /// stretched by this.
    AtArrivalToo(Share),
}

/// A client may wait longer: the content of an early reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// The request.
    pub request: RequestId,
    /// Until when its client is to wait.
    pub until: Time,
}

/// The early replies of a server: who waits until when.
///
/// Every operation is O(log n), and O(1) for each reply.
#[derive(Debug)]
pub struct EarlyReplies {
    rule: EarlyRule,
    /// How long before the deadline a reply is sent; 5 s in the published runs and in Lustre.
    margin: Span,
    /// How much time a reply grants; 20 s in the published runs, 30 s in Lustre.
    extra: Span,
    deadlines: BTreeMap<RequestId, Time>,
    sorted: BTreeSet<(Time, RequestId)>,
}

impl EarlyReplies {
    /// Replies go out `margin` before a deadline and grant `extra`, counted from when they are sent, as Lustre does; from
    /// the deadline, if that would not be more than the client allows.
    ///
    /// # Panics
    /// If `extra` is zero: replies would never end.
    pub fn new(rule: EarlyRule, margin: Span, extra: Span) -> EarlyReplies {
        assert!(extra > Span::ZERO, "an early reply grants some time");
        EarlyReplies { rule, margin, extra, deadlines: BTreeMap::new(), sorted: BTreeSet::new() }
    }

    /// A request came whose client waits until `deadline`, when a service time of `estimate` was to be
    /// expected. The result is to be sent at once.
    pub fn arrived(
        &mut self,
        now: Time,
        request: RequestId,
        deadline: Time,
        estimate: Option<Span>,
    ) -> Option<Extension> {
        let granted = match (self.rule, estimate) {
            (EarlyRule::AtArrivalToo(stretch), Some(estimate))
                if deadline.saturating_since(now) < estimate =>
            {
                let ns = u128::from(estimate.as_ns()) * u128::from(stretch.as_ppm()) / 1_000_000;
                let stretched = Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX));
                Some(now.saturating_add(stretched).max(deadline))
            }
            _ => None,
        };
        let until = granted.unwrap_or(deadline);
        self.deadlines.insert(request, until);
        self.sorted.insert((until, request));
        granted.map(|until| Extension { request, until })
    }

    /// The request is executed, or given up: nobody waits any more.
    pub fn finished(&mut self, request: RequestId) {
        if let Some(deadline) = self.deadlines.remove(&request) {
            self.sorted.remove(&(deadline, request));
        }
    }

    /// Appends the replies that are to be sent now.
    pub fn due(&mut self, now: Time, replies: &mut Vec<Extension>) {
        while let Some((deadline, request)) = self.sorted.first().copied() {
            if deadline.saturating_sub(self.margin) > now {
                return;
            }
            let granted = now.saturating_add(self.extra);
            let until = match granted > deadline {
                true => granted,
                false => deadline.saturating_add(self.extra),
            };
            self.sorted.pop_first();
            self.sorted.insert((until, request));
            self.deadlines.insert(request, until);
            replies.push(Extension { request, until });
            if until.saturating_sub(self.margin) <= now {
                // A margin longer than what is granted: one reply now, the next in time.
                return;
            }
        }
    }

    /// When the next reply is due.
    pub fn wake_at(&self) -> Option<Time> {
        self.sorted.first().map(|(deadline, _)| deadline.saturating_sub(self.margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    fn replies(rule: EarlyRule) -> EarlyReplies {
        EarlyReplies::new(rule, Span::from_secs(5), Span::from_secs(20))
    }

    #[test]
    fn a_client_is_told_before_it_gives_up_and_again() {
        let mut early = replies(EarlyRule::BeforeDeadline);
        assert_eq!(early.arrived(at(0), RequestId(1), at(50), Some(Span::from_secs(90))), None);
        let mut sent = Vec::new();
        early.due(at(44), &mut sent);
        assert_eq!((sent.len(), early.wake_at()), (0, Some(at(45))));
        early.due(at(45), &mut sent);
        assert_eq!(sent, [Extension { request: RequestId(1), until: at(65) }]);
        assert_eq!(early.wake_at(), Some(at(60)));
        early.finished(RequestId(1));
        assert_eq!(early.wake_at(), None);
    }

    #[test]
    fn a_reply_grants_more_time_even_with_a_margin_longer_than_its_grant() {
        let (margin, extra) = (Span::from_secs(30), Span::from_secs(20));
        let mut early = EarlyReplies::new(EarlyRule::BeforeDeadline, margin, extra);
        early.arrived(at(0), RequestId(1), at(50), None);
        let mut sent = Vec::new();
        early.due(at(20), &mut sent);
        assert_eq!(sent, [Extension { request: RequestId(1), until: at(70) }]);
        assert_eq!(early.wake_at(), Some(at(40)));
    }

    #[test]
    fn with_a_check_at_arrival_one_reply_is_enough() {
        let mut early = replies(EarlyRule::AtArrivalToo(Share::from_percent(120)));
        let estimate = Some(Span::from_secs(90));
        let granted = early.arrived(at(10), RequestId(1), at(50), estimate);
        assert_eq!(granted, Some(Extension { request: RequestId(1), until: at(118) }));
        assert_eq!(early.arrived(at(10), RequestId(2), at(110), estimate), None);
        assert_eq!(early.wake_at(), Some(at(105)));
    }
}
