//! Which nodes and targets a cluster has, and what they agree on.

pub mod change;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4};

use slotcast_object::{Collection, Rosters, Voters};
use slotcast_protocol::{
    Delivery, GroupId, GroupMap, LayoutDigest, LayoutError, Member, Membership, TargetId, Timing,
};
use slotcast_units::{Rate, Size, Span};

/// What no two replicas of a chunk may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureDomain {
    /// A node: losing one costs at most one replica of a chunk.
    Node,
    /// A target.
    Target,
}

/// One node of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapNode {
    /// Its number.
    pub number: u32,
    /// Where it sends from and receives at.
    pub address: SocketAddr,
    /// Numbers of its targets.
    pub targets: Vec<TargetId>,
    /// What it has to do with the cluster.
    pub membership: Membership,
}

impl MapNode {
    /// What it has to do with the cluster, in a word of the map.
    pub fn state(&self) -> &'static str {
        name_of(self.membership)
    }
}

/// A version of what all nodes of a cluster must agree on. It is changed while they run: see
/// [`may_follow`](ClusterMap::may_follow).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterMap {
    /// Which version.
    pub epoch: u32,
    /// Targets in a negotiating group.
    pub group_size: u32,
    /// Replicas of every chunk, 1 to 8.
    pub replicas: u8,
    /// What no two of them share.
    pub failure_domain: FailureDomain,
    /// How chunks travel.
    pub delivery: Delivery,
    /// How fast a chunk is sent.
    pub data_rate: Rate,
    /// How long a datagram is on its way, about.
    pub trip: Span,
    /// Bytes of one datagram: what an IP packet may have without the headers of IPv6 and UDP.
    pub datagram: usize,
    /// The multicast address of group 0; that of group *n* is *n* higher.
    pub multicast: Option<SocketAddrV4>,
    /// The nodes, in order of their numbers.
    pub nodes: Vec<MapNode>,
    /// For each group its targets by position. A target that no node has stands for an empty seat. Without
    /// it the targets are dealt into groups by their number.
    pub seats: Option<Vec<Vec<TargetId>>>,
    /// Who keeps the names of each group; none of one that keeps no names yet.
    pub voters: BTreeMap<GroupId, Voters>,
    /// The latest round of the collection of garbage.
    pub collection: Collection,
}

impl ClusterMap {
    /// Whether this one says that a round of collection has begun, after the map `before`, and nothing else.
    pub fn only_collects_after(&self, before: &ClusterMap) -> bool {
        let ClusterMap { epoch, collection, .. } = *self;
        *self == ClusterMap { epoch, collection, seats: self.seats.clone(), ..before.clone() }
            && (before.seats.is_none() || before.seats == self.seats)
    }

    /// Who keeps names, and the round of collection.
    pub fn rosters(&self) -> Rosters {
        let (epoch, groups) = (u64::from(self.epoch), self.voters.clone());
        Rosters { epoch, groups, collection: self.collection }
    }

    /// Times and rates that the nodes agree on.
    pub fn timing(&self) -> Timing {
        Timing {
            control: Span::from_us(20),
            trip: self.trip,
            data_rate: self.data_rate,
            frame: Size::from_bytes(self.datagram as u64),
        }
    }

    /// The negotiating groups of its targets.
    ///
    /// # Errors
    /// If there are too few targets for a group, or a target has no seat.
    pub fn groups(&self) -> Result<GroupMap, LayoutError> {
        let all_take_part = self.nodes.iter().all(|node| node.membership == Membership::Active);
        match &self.seats {
            Some(seats) => GroupMap::seated(seats, &self.members()),
            None if all_take_part => self.dealt(),
            None => GroupMap::seated(&seats_of(&self.dealt()?), &self.members()),
        }
    }

    /// The digest of all in it that decides where a chunk belongs. Addresses, rates and times do not.
    ///
    /// # Errors
    /// As for [`ClusterMap::groups`].
    pub fn digest(&self) -> Result<LayoutDigest, LayoutError> {
        let by_node = u8::from(self.failure_domain == FailureDomain::Node);
        let nodes = self.node_of_targets();
        let node = |target| nodes.get(&target).copied().unwrap_or(u32::MAX);
        Ok(self.groups()?.digest(&[self.replicas, by_node], node))
    }

    /// The seats of its groups, said or not.
    fn all_seats(&self) -> Result<Vec<Vec<TargetId>>, LayoutError> {
        self.seats.clone().map_or_else(|| self.dealt().map(|groups| seats_of(&groups)), Ok)
    }

    fn dealt(&self) -> Result<GroupMap, LayoutError> {
        let targets: usize = self.nodes.iter().map(|node| node.targets.len()).sum();
        let per_domain = match self.failure_domain {
            FailureDomain::Node => self.nodes.first().map_or(1, |node| node.targets.len()),
            FailureDomain::Target => 1,
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        GroupMap::new(count(targets), self.group_size, count(per_domain))
    }

    fn members(&self) -> Vec<Member> {
        let of = |node: &MapNode| {
            let (number, membership, by_node) =
                (node.number, node.membership, self.failure_domain == FailureDomain::Node);
            node.targets.clone().into_iter().map(move |target| Member {
                target,
                domain: if by_node { number } else { target.0 },
                membership,
            })
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// Whether everybody has the place here that they had in the map `before`.
    fn keeps_places_of(&self, before: &ClusterMap) -> Result<(), String> {
        let (Ok(groups), Ok(groups_before)) = (self.groups(), before.groups()) else {
            return Err("its groups cannot be laid out".into());
        };
        if !groups.keeps_the_places_of(&groups_before) {
            return Err(
                "its groups are laid out anew, and chunks would not be found: change the nodes \
                        with `slotcast cluster`, or say who sits where with [[group]]"
                    .into(),
            );
        }
        Ok(())
    }

    /// Whether a node that had the map `before` last can begin with this one: other settings are taken at a start.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    pub fn may_begin_after(&self, before: &ClusterMap) -> Result<(), String> {
        self.keeps_places_of(before)?;
        match self.epoch >= before.epoch {
            true => Ok(()),
            false => Err(self.is_no_later(before)),
        }
    }

    /// Whether a node that runs with the map `before` can take this one as it runs.
    ///
    /// # Errors
    /// Why it cannot, and what to do.
    pub fn may_follow(&self, before: &ClusterMap) -> Result<(), String> {
        self.keeps_places_of(before)?;
        if self.epoch <= before.epoch {
            return Err(self.is_no_later(before));
        }
        let settings = [
            ("replicas", self.replicas == before.replicas),
            ("failure_domain", self.failure_domain == before.failure_domain),
            ("delivery", self.delivery == before.delivery),
            ("data_rate", self.data_rate == before.data_rate),
            ("trip", self.trip == before.trip),
            ("mtu", self.datagram == before.datagram),
            ("multicast", self.multicast == before.multicast),
        ];
        match settings.iter().find(|(_, is_equal)| !is_equal) {
            Some((key, _)) => Err(format!("{key} is another: start this node anew to take it")),
            None => Ok(()),
        }
    }

    fn is_no_later(&self, before: &ClusterMap) -> String {
        format!(
            "epoch {} is not after {}: write the map with epoch = {}",
            self.epoch,
            before.epoch,
            before.epoch.saturating_add(1)
        )
    }

    /// The node of this number.
    pub fn node(&self, number: u32) -> Option<&MapNode> {
        self.nodes.iter().find(|node| node.number == number)
    }

    /// Which node has which target.
    pub fn node_of_targets(&self) -> BTreeMap<TargetId, u32> {
        let of = |node: &MapNode| {
            let number = node.number;
            node.targets.clone().into_iter().map(move |target| (target, number))
        };
        self.nodes.iter().flat_map(of).collect()
    }

    /// The multicast address of `group`, if there is one.
    pub fn multicast_of(&self, group: GroupId) -> Option<SocketAddrV4> {
        let base = self.multicast?;
        let ip = u32::from(*base.ip()).checked_add(group.0)?;
        Some(SocketAddrV4::new(ip.into(), base.port()))
            .filter(|address| address.ip().is_multicast())
    }
}

/// What a node has to do with the cluster, and the word for it.
pub const MEMBERSHIPS: [(&str, Membership); 4] = [
    ("active", Membership::Active),
    ("joining", Membership::Joining),
    ("draining", Membership::Draining),
    ("drained", Membership::Drained),
];

/// The word for it in maps, and for people.
pub fn name_of(membership: Membership) -> &'static str {
    MEMBERSHIPS.iter().find(|(_, state)| *state == membership).map_or("", |(name, _)| name)
}

/// Who sits where in `groups`.
fn seats_of(groups: &GroupMap) -> Vec<Vec<TargetId>> {
    (0..groups.groups()).map(|group| groups.members(GroupId(group)).to_vec()).collect()
}
