//! Which peers hear the multicast of a negotiating group.
//!
//! A node sends a probe to the multicast address of each group, at least twice in [`ReachRules::heard`], and each
//! peer says in which groups it hears them, several times a second. A group whose probes are not heard for that
//! long is not heard. So a peer that stops hearing is known to its sender after little more than that.
//!
//! What is sent meanwhile is not waited for as long. A peer that has left a question open that came by multicast
//! is asked by unicast until it answers, and one that a chunk has not reached by multicast gets everything by
//! unicast until it says that it hears a probe that was sent after that.

use alloc::collections::BTreeMap;

use slotcast_protocol::GroupId;
use slotcast_units::{Span, Time};

/// For how long what was heard of multicast is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReachRules {
    /// How long an answer to a question takes at most.
    pub patience: Span,
    /// For how long after a probe its group is heard: two probes in a row may be lost.
    pub heard: Span,
    /// For how long a peer is believed that has said what it hears, if it says no more: it may have stopped.
    pub lasts: Span,
}

/// What this node knows about the multicast between it and its peers. A switch may let it through in one
/// direction or for one group and not for another, so nothing is concluded from one to the other.
#[derive(Debug, Clone)]
pub struct Reach {
    rules: ReachRules,
    /// When this node last heard a probe of a peer in a group.
    hears: BTreeMap<(u32, GroupId), Time>,
    /// When a peer last said that it hears this node's probes in a group.
    is_heard: BTreeMap<(u32, GroupId), Time>,
    /// When a chunk by multicast did last not reach a peer.
    missed: BTreeMap<(u32, GroupId), Time>,
    /// Since when a peer has left questions open that came by multicast.
    open: BTreeMap<u32, Time>,
}

impl Reach {
    /// Nobody hears anything.
    pub fn new(rules: ReachRules) -> Reach {
        Reach {
            rules,
            hears: BTreeMap::new(),
            is_heard: BTreeMap::new(),
            missed: BTreeMap::new(),
            open: BTreeMap::new(),
        }
    }

    /// A probe of `peer` came by the multicast of `group`.
    pub fn probe(&mut self, now: Time, peer: u32, group: GroupId) {
        self.hears.insert((peer, group), now);
    }

    /// The groups in which probes of `peer` are heard: what it is told with each beat.
    pub fn heard_of(&self, now: Time, peer: u32) -> impl Iterator<Item = GroupId> {
        let of_peer = self.hears.range((peer, GroupId(0))..=(peer, GroupId(u32::MAX)));
        let fresh = of_peer.filter(move |(_, at)| now.saturating_since(**at) < self.rules.heard);
        fresh.map(|((_, group), _)| *group)
    }

    /// `peer` says in which groups it hears this node; it does not in others.
    pub fn told(&mut self, now: Time, peer: u32, groups: &[GroupId]) {
        self.is_heard.retain(|(of, group), _| *of != peer || groups.contains(group));
        self.is_heard.extend(groups.iter().map(|group| ((peer, *group), now)));
        // What it says now, it has heard within that time.
        let heard = self.rules.heard;
        self.missed.retain(|(of, group), at| {
            *of != peer || !groups.contains(group) || now.saturating_since(*at) <= heard
        });
    }

    /// `peer` was asked something by multicast, which it answers if it hears it.
    pub fn asked(&mut self, now: Time, peer: u32) {
        self.open.entry(peer).or_insert(now);
    }

    /// `peer` has answered something.
    pub fn answered(&mut self, peer: u32) {
        self.open.remove(&peer);
    }

    /// A chunk by multicast to `group` did not reach `peer`.
    pub fn missed(&mut self, now: Time, peer: u32, group: GroupId) {
        self.missed.insert((peer, group), now);
    }

    /// Whether what is sent now to `group` by multicast reaches `peer`, as far as is known.
    pub fn reaches(&self, now: Time, peer: u32, group: GroupId) -> bool {
        let told = self.is_heard.get(&(peer, group));
        let is_silent = |since: &Time| now.saturating_since(*since) >= self.rules.patience;
        told.is_some_and(|at| now.saturating_since(*at) < self.rules.lasts)
            && !self.missed.contains_key(&(peer, group))
            && !self.open.get(&peer).is_some_and(is_silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;

    use proptest::prelude::*;

    const GROUP: GroupId = GroupId(2);
    const RULES: ReachRules = ReachRules {
        patience: Span::from_ms(3),
        heard: Span::from_ms(500),
        lasts: Span::from_secs(5),
    };

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_peer_is_reached_while_it_says_so() {
        let mut reach = Reach::new(RULES);
        assert!(!reach.reaches(at(1000), 4, GROUP));
        reach.told(at(1000), 4, &[GROUP, GroupId(7)]);
        assert!(reach.reaches(at(5000), 4, GROUP));
        assert!(!reach.reaches(at(5000), 4, GroupId(3)), "another group");
        assert!(!reach.reaches(at(5000), 5, GROUP), "another peer");
        assert!(!reach.reaches(at(6000), 4, GROUP), "too long ago");
        reach.told(at(6000), 5, &[GROUP]);
        reach.told(at(6000), 4, &[GROUP]);
        reach.told(at(6001), 4, &[GroupId(7)]);
        assert!(!reach.reaches(at(6001), 4, GROUP), "it says so no more");
        assert!(reach.reaches(at(6001), 4, GroupId(7)) && reach.reaches(at(6001), 5, GROUP));
    }

    #[test]
    fn a_peer_is_told_what_is_heard() {
        let mut reach = Reach::new(RULES);
        reach.probe(at(0), 4, GROUP);
        assert!(reach.heard_of(at(499), 4).eq([GROUP]));
        assert_eq!(reach.heard_of(at(499), 5).count(), 0);
        assert_eq!(reach.heard_of(at(500), 4).count(), 0, "no longer");
    }

    #[test]
    fn a_peer_with_an_open_question_is_not_asked_by_multicast_until_it_answers() {
        let mut reach = Reach::new(RULES);
        reach.told(at(0), 4, &[GROUP]);
        reach.asked(at(10), 4);
        reach.asked(at(12), 4);
        assert!(reach.reaches(at(12), 4, GROUP), "it may be about to answer");
        assert!(!reach.reaches(at(13), 4, GROUP), "the next round");
        reach.told(at(13), 4, &[GROUP]);
        assert!(!reach.reaches(at(13), 4, GROUP), "said before it was known");
        reach.answered(4);
        assert!(reach.reaches(at(13), 4, GROUP));
    }

    #[test]
    fn a_peer_that_was_missed_has_to_hear_a_later_probe() {
        let mut reach = Reach::new(RULES);
        reach.told(at(0), 4, &[GROUP, GroupId(7)]);
        reach.missed(at(10), 4, GROUP);
        assert!(!reach.reaches(at(10), 4, GROUP) && reach.reaches(at(10), 4, GroupId(7)));
        reach.told(at(510), 4, &[GROUP]);
        assert!(!reach.reaches(at(510), 4, GROUP), "perhaps a probe of before");
        reach.told(at(600), 4, &[GroupId(7)]);
        assert!(!reach.reaches(at(600), 4, GROUP));
        reach.told(at(610), 4, &[GROUP]);
        assert!(reach.reaches(at(610), 4, GROUP));
    }

    proptest! {
        /// Two nodes, of which one is heard until some time: the other sends by unicast within a second, and by
        /// multicast again within a second of when it is heard anew. Of what one says to the other, any may be
        /// lost, but not for long.
        #[test]
        fn deafness_is_known_within_a_second(
            phase in 0u64..200,
            beat in 0u64..100,
            stops in 1000u64..1500,
            starts in 3000u64..3500,
            probes_lost in prop::collection::vec(0u64..100, 0..8),
            delay in 0u64..20,
        ) {
            let (mut sender, mut listener) = (Reach::new(RULES), Reach::new(RULES));
            let mut reports: vec::Vec<(u64, vec::Vec<GroupId>)> = vec::Vec::new();
            for ms in 0u64..5000 {
                let now = at(ms);
                let is_probed = ms % 200 == phase;
                // Never two lost in a row, or they count as deafness.
                let is_lost = probes_lost.iter().any(|lost| lost * 2 == ms / 200);
                if is_probed && !is_lost && !(stops..starts).contains(&ms) {
                    listener.probe(now, 1, GROUP);
                }
                if ms % 100 == beat {
                    reports.push((ms + delay, listener.heard_of(now, 1).collect()));
                }
                for (_, groups) in reports.extract_if(.., |(due, _)| *due == ms) {
                    sender.told(now, 2, &groups);
                }
                let reaches = sender.reaches(now, 2, GROUP);
                if (stops + 1000..starts).contains(&ms) {
                    prop_assert!(!reaches, "{ms}: deaf since {stops}");
                }
                if (1000..stops).contains(&ms) || ms >= starts + 1000 {
                    prop_assert!(reaches, "{ms}: it hears");
                }
            }
        }
    }
}
