//! What a member does when nodes join.

use std::net::{Ipv4Addr, SocketAddr};

use slotcast_member::{
    ClusterMap, FailureDomain, Input, MapNode, Member, MemberConfig, Mistake, NetworkConfig, Rules,
    Times,
};
use slotcast_protocol::{Delivery, Membership, TargetId};
use slotcast_units::{Rate, Span, Time};

fn address(node: u32) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(0x0a00_0001 + node), 7481))
}

/// Nodes of two targets each, that all have a place in one group; replicas are on different nodes.
fn map(nodes: u32) -> ClusterMap {
    let node = |number: u32| MapNode {
        number,
        address: address(number),
        targets: [2 * number, 2 * number + 1].map(TargetId).to_vec(),
        membership: Membership::Active,
    };
    ClusterMap {
        epoch: 1,
        group_size: 2 * nodes,
        replicas: 2,
        failure_domain: FailureDomain::Node,
        delivery: Delivery::Unicast,
        data_rate: Rate::from_bps(8_910_000_000),
        trip: Span::from_us(5),
        datagram: 1452,
        multicast: None,
        nodes: (0..nodes).map(node).collect(),
        seats: None,
        voters: std::collections::BTreeMap::new(),
        collection: slotcast_object::Collection::default(),
    }
}

/// Node 0 of a cluster with this map; its disks do not matter.
fn member(map: &ClusterMap, mistake: Option<Mistake>) -> Member {
    let network = NetworkConfig {
        map: map.clone(),
        gone_after: Span::from_secs(1),
        max_chunk: 1 << 20,
        versions: slotcast_transport::Versions::ALL,
    };
    let began = Time::ZERO + Span::from_secs(1);
    let config = MemberConfig {
        node: 0,
        began,
        targets: Vec::new(),
        groups: map.groups().expect("targets for a group"),
        initiator: Rules::of_cluster(map).initiator(0),
        first_serial: 0,
        cache_memory: 0,
        links: None,
        network: Some(network),
        names: None,
        repairs: true,
        times: Times::production(Span::from_ms(100)),
        mistake,
    };
    Member::new(began, config, &mut Vec::new())
}

/// Whether the targets of node 0 are to scan what they hold once another node is active.
fn scans_when_another_is_active(nodes: u32, mistake: Option<Mistake>) -> bool {
    let now = Time::ZERO + Span::from_secs(2);
    let map = map(nodes);
    let mut member = member(&map, mistake);
    let (joining, node) = map.with_node(address(nodes), 2, Membership::Joining).expect("a place");
    let active = joining.with_active(node.number).expect("it joins");
    member.handle(now, Input::Map(Box::new(joining)), &mut Vec::new());
    assert!(!member.expects_scan(), "it takes no chunks yet");
    member.handle(now, Input::Map(Box::new(active)), &mut Vec::new());
    let status = member.membership_status().expect("it is in a cluster");
    assert_eq!((status.epoch, status.problem), (3, None));
    member.expects_scan()
}

/// Two nodes can have two replicas: with a third one, chunks that are wanted on more get another.
#[test]
fn more_failure_domains_are_used_at_once() {
    assert!(scans_when_another_is_active(2, None));
    assert!(!scans_when_another_is_active(2, Some(Mistake::NoScanWhenJoined)), "it is planted");
    // No chunk can be wanted on more than eight.
    assert!(!scans_when_another_is_active(8, None));
}

/// A node writes nothing over a map that it does not follow, but one that comes after a later one is not there any
/// more.
#[test]
fn a_map_that_comes_late_does_not_silence_a_node() {
    let now = Time::ZERO + Span::from_secs(2);
    let earlier = map(3);
    let draining = earlier.with_draining(0).expect("two are enough");
    let mut member = member(&draining, None);
    let mut reads = |map: &ClusterMap| {
        member.handle(now, Input::Map(Box::new(map.clone())), &mut Vec::new());
        let status = member.membership_status().expect("it is in a cluster");
        (status.problem.is_some(), member.proposal().map(|next| next.epoch))
    };
    assert_eq!(reads(&earlier), (true, Some(3)));
    let other = ClusterMap { replicas: 1, ..draining.clone() };
    assert_eq!(reads(&other), (true, None), "it may not write over that");
    assert_eq!(reads(&earlier), (true, None), "nor later");
    assert_eq!(reads(&draining), (false, Some(3)), "somebody has taken that back");
}
