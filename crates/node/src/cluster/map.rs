//! Which nodes and targets a cluster has, and what they agree on.

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV4};

use slotcast_protocol::{Delivery, GroupId, GroupMap, LayoutError, TargetId};
use slotcast_units::{Rate, Span};

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
}

/// A version of what all nodes of a cluster must agree on. Nodes of different epochs do not hear each other.
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
}

impl ClusterMap {
    /// The negotiating groups of its targets.
    ///
    /// # Errors
    /// If there are too few targets for a group.
    pub fn groups(&self) -> Result<GroupMap, LayoutError> {
        let targets: usize = self.nodes.iter().map(|node| node.targets.len()).sum();
        let per_domain = match self.failure_domain {
            FailureDomain::Node => self.nodes.first().map_or(1, |node| node.targets.len()),
            FailureDomain::Target => 1,
        };
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        GroupMap::new(count(targets), self.group_size, count(per_domain))
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
