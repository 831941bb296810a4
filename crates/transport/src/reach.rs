//! Which peers hear the multicast of a negotiating group.

use alloc::collections::BTreeMap;

use slotcast_protocol::GroupId;
use slotcast_units::{Span, Time};

/// For how long a peer that has said that it hears is believed to hear.
const LASTS: Span = Span::from_secs(5);

/// What this node knows about the multicast between it and its peers. A switch may let it through in one
/// direction or for one group and not for another, so nothing is concluded from one to the other.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// When this node last heard a probe of a peer in a group.
    hears: BTreeMap<(u32, GroupId), Time>,
    /// When a peer last said that it hears this node's probes in a group.
    is_heard: BTreeMap<(u32, GroupId), Time>,
}

impl Reach {
    /// Nobody hears anything.
    pub fn new() -> Reach {
        Reach::default()
    }

    /// A probe of `peer` came by the multicast of `group`.
    pub fn probe(&mut self, now: Time, peer: u32, group: GroupId) {
        self.hears.insert((peer, group), now);
    }

    /// The groups in which probes of `peer` are heard: what it is to be told.
    pub fn heard_of(&self, now: Time, peer: u32) -> impl Iterator<Item = GroupId> {
        let of_peer = self.hears.range((peer, GroupId(0))..=(peer, GroupId(u32::MAX)));
        let fresh = of_peer.filter(move |(_, at)| now.saturating_since(**at) < LASTS);
        fresh.map(|((_, group), _)| *group)
    }

    /// `peer` says in which groups it hears this node.
    pub fn told(&mut self, now: Time, peer: u32, groups: &[GroupId]) {
        self.is_heard.extend(groups.iter().map(|group| ((peer, *group), now)));
    }

    /// Whether `peer` hears this node's multicast to `group`.
    pub fn reaches(&self, now: Time, peer: u32, group: GroupId) -> bool {
        let told = self.is_heard.get(&(peer, group));
        told.is_some_and(|at| now.saturating_since(*at) < LASTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_reached_while_it_says_so() {
        let at = |s| Time::ZERO + Span::from_secs(s);
        let mut reach = Reach::new();
        assert!(!reach.reaches(at(1), 4, GroupId(2)));
        reach.told(at(1), 4, &[GroupId(2)]);
        assert!(reach.reaches(at(5), 4, GroupId(2)));
        assert!(!reach.reaches(at(5), 4, GroupId(3)), "another group");
        assert!(!reach.reaches(at(5), 5, GroupId(2)), "another peer");
        assert!(!reach.reaches(at(6), 4, GroupId(2)), "too long ago");
        reach.probe(at(7), 4, GroupId(9));
        assert!(reach.heard_of(at(8), 4).eq([GroupId(9)]));
        assert_eq!(reach.heard_of(at(8), 3).count(), 0);
        assert_eq!(reach.heard_of(at(12), 4).count(), 0);
    }
}
