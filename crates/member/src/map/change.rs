//! Changes of a cluster map that lose nothing.
//!
//! Each gives the map of the next epoch. The number of groups and the seats of those who stay do not change,
//! so no chunk changes its group, and nobody has to move anything but a node that leaves.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::SocketAddr;

use slotcast_object::{Collection, RosterChange};
use slotcast_protocol::{GroupId, LayoutError, Members, Membership, TargetId};

use super::{ClusterMap, FailureDomain, MapNode, name_of};

/// Why a change is refused, and what helps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// What a change gives.
pub type Changed<T> = Result<T, Refused>;

fn refused<T>(message: String, help: &str) -> Changed<T> {
    Err(Refused { message, help: help.into() })
}

impl ClusterMap {
    /// With a further node of `count` targets. They get numbers that no target ever had, and the seats of
    /// the smallest groups; a group with 64 seats gives one that is empty.
    ///
    /// # Errors
    /// If the address is taken, or there are no free seats.
    pub fn with_node(
        &self,
        address: SocketAddr,
        count: usize,
        membership: Membership,
    ) -> Changed<(ClusterMap, MapNode)> {
        if let Some(node) = self.nodes.iter().find(|node| node.address == address) {
            let message = format!("{address} is the address of node {}", node.number);
            return refused(message, "give every node an address or a port of its own");
        }
        if address.ip().is_unspecified() || address.ip().is_multicast() || address.port() == 0 {
            let message = format!("{address}: nobody can send to it");
            return refused(message, "name the address at which the others reach the node");
        }
        if count == 0 {
            return refused("0 targets".into(), "a node has at least one target");
        }
        let mut map = self.next()?;
        let number = self.nodes.iter().map(|node| node.number + 1).max().unwrap_or(0);
        let domain = match self.failure_domain {
            FailureDomain::Node => number,
            FailureDomain::Target => u32::MAX,
        };
        let groups = map.groups().map_err(no_layout)?;
        let Some(places) = groups.places_for(count, domain) else {
            let message = format!("{count} targets: the groups have no such number of free seats");
            return refused(message, "a group has at most 64 seats, and their number stays");
        };
        let seats = map.seats.get_or_insert_default();
        let first = seats.iter().flatten().map(|target| target.0 + 1).max().unwrap_or(0);
        let targets: Vec<TargetId> = (first..).map(TargetId).take(count).collect();
        for (target, group) in targets.iter().zip(places) {
            let seats = &mut seats[group.0 as usize];
            if seats.len() < Members::CAPACITY {
                seats.push(*target);
            } else if let Some(seat) = seats.iter_mut().find(|seat| groups.find(**seat).is_none()) {
                *seat = *target;
            }
        }
        let node = MapNode { number, address, targets, membership };
        map.nodes.push(node.clone());
        Ok((map, node))
    }

    /// With these changes of who keeps the names of each group; none if nothing changes.
    pub fn with_voters(&self, changes: &BTreeMap<GroupId, RosterChange>) -> Option<ClusterMap> {
        let mut map = self.next().ok()?;
        map.voters = self.rosters().changed(u64::from(map.epoch), changes)?.groups;
        Some(map)
    }

    /// With a further round of collection; none unless it is the next one.
    pub fn with_collection(&self, collection: Collection) -> Option<ClusterMap> {
        let mut map = self.next().ok()?;
        map.collection = self.rosters().collecting(u64::from(map.epoch), collection)?.collection;
        Some(map)
    }

    /// With node `number` active.
    ///
    /// # Errors
    /// If there is no such node, or it is so already.
    pub fn with_active(&self, number: u32) -> Changed<ClusterMap> {
        self.with_membership(
            number,
            &[Membership::Joining, Membership::Draining, Membership::Drained],
            Membership::Active,
        )
    }

    /// With node `number` draining.
    ///
    /// # Errors
    /// If it is not active, or chunks would have too few places without it.
    pub fn with_draining(&self, number: u32) -> Changed<ClusterMap> {
        let map = self.with_membership(number, &[Membership::Active], Membership::Draining)?;
        map.has_room_for_replicas(&format!("without node {number}"))?;
        Ok(map)
    }

    /// With node `number` drained: everything that it holds is held by others.
    ///
    /// # Errors
    /// If it does not drain.
    pub fn with_drained(&self, number: u32) -> Changed<ClusterMap> {
        self.with_membership(number, &[Membership::Draining], Membership::Drained)
    }

    /// Without node `number`, which is drained or has never taken part; or with `is_lost` is gone for good
    /// with all that it held.
    ///
    /// # Errors
    /// If what it holds may be nowhere else, or chunks would have too few places without it.
    pub fn without_node(&self, number: u32, is_lost: bool) -> Changed<ClusterMap> {
        let membership = self.known(number)?.membership;
        let holds_nothing = matches!(membership, Membership::Joining | Membership::Drained);
        if !holds_nothing && !is_lost {
            let message = format!(
                "node {number} is {}, and may hold what nobody else has",
                name_of(membership)
            );
            return refused(
                message,
                &format!(
                    "drain it first: `slotcast cluster drain {number}`; or, if it is gone for good, give --lost: the others make up for it from their replicas"
                ),
            );
        }
        let mut map = self.next()?;
        map.nodes.retain(|node| node.number != number);
        map.has_room_for_replicas(&format!("without node {number}"))?;
        Ok(map)
    }

    fn known(&self, number: u32) -> Changed<&MapNode> {
        let numbers: Vec<String> = self.nodes.iter().map(|node| node.number.to_string()).collect();
        match self.node(number) {
            Some(node) => Ok(node),
            None => refused(
                format!("there is no node {number} in the cluster map"),
                &format!("its nodes are {}", numbers.join(", ")),
            ),
        }
    }

    fn with_membership(
        &self,
        number: u32,
        from: &[Membership],
        to: Membership,
    ) -> Changed<ClusterMap> {
        let membership = self.known(number)?.membership;
        if !from.contains(&membership) {
            let message = format!("node {number} is {}", name_of(membership));
            let names: Vec<_> = from.iter().map(|state| name_of(*state)).collect();
            let help = format!("one that is {} becomes {}", names.join(" or "), name_of(to));
            return refused(message, &help);
        }
        let mut map = self.next()?;
        let node = map.nodes.iter_mut().find(|node| node.number == number);
        node.expect("it is known").membership = to;
        Ok(map)
    }

    /// Whether all replicas of a chunk have a place in each group.
    fn has_room_for_replicas(&self, what: &str) -> Changed<()> {
        let groups = self.groups().map_err(no_layout)?;
        for group in (0..groups.groups()).map(slotcast_protocol::GroupId) {
            let domains = groups.domains_of(group, groups.members_for_puts(group));
            if domains < usize::from(self.replicas) {
                let message = format!(
                    "{what}, group {} has {domains} failure domains for {} replicas",
                    group.0, self.replicas
                );
                return refused(message, "let another node join first: `slotcast cluster join`");
            }
        }
        Ok(())
    }

    /// The map of the next epoch, with what was not said about seats.
    fn next(&self) -> Changed<ClusterMap> {
        let Some(epoch) = self.epoch.checked_add(1) else {
            return refused(format!("epoch {} is the last", self.epoch), "begin a new cluster");
        };
        let seats = Some(self.all_seats().map_err(no_layout)?);
        Ok(ClusterMap { epoch, seats, ..self.clone() })
    }
}

fn no_layout(error: LayoutError) -> Refused {
    Refused { message: error.to_string(), help: "see docs/operate/cluster.md".into() }
}
