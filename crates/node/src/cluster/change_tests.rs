//! Changes of maps, as they are written and read.

use proptest::prelude::*;

use std::net::SocketAddr;

use slotcast_protocol::{Membership, TargetId};

use super::change::Changed;
use super::{ClusterMap, map_text, parse_map};

const MAP: &str = r#"
epoch = 4
replicas = 2
group_size = 3
data_rate = "2.5Gbps"
trip = "150us"
multicast = "239.77.0.0:7482"

[[node]]
number = 0
address = "10.0.0.1:7481"
targets = [0, 1]

[[node]]
number = 1
address = "10.0.0.2:7481"
targets = [2, 3]

[[node]]
number = 2
address = "10.0.0.3:7481"
targets = [4, 5]
"#;

fn map() -> ClusterMap {
    parse_map("cluster.toml", MAP).expect("a map")
}

fn address(n: u32) -> SocketAddr {
    SocketAddr::from(([10, 1, (n >> 8) as u8, n as u8], 7481))
}

#[test]
fn a_map_is_written_as_it_is_read() {
    let (joined, _) = map().with_node(address(1), 3, Membership::Joining).expect("there is room");
    for map in [map(), joined] {
        let text = map_text(&map);
        assert_eq!(parse_map("text", &text).expect(&text), map, "{text}");
    }
}

#[test]
fn a_node_that_joins_takes_seats_at_the_end_of_the_smallest_groups() {
    let (map, node) = map().with_node(address(1), 3, Membership::Joining).expect("there is room");
    assert_eq!((map.epoch, node.number), (5, 3));
    assert_eq!(node.targets, [6, 7, 8].map(TargetId));
    let seats = map.seats.as_ref().expect("they are said");
    assert_eq!(
        *seats,
        [vec![0, 2, 4, 6, 8], vec![1, 3, 5, 7]]
            .map(|group| group.into_iter().map(TargetId).collect::<Vec<_>>())
    );
    assert!(map.may_follow(&self::map()).is_ok());
    assert!(map.with_node(address(1), 1, Membership::Active).is_err(), "the address is taken");
    assert!(map.with_node(address(2), 500, Membership::Active).is_err(), "so many seats");
}

#[test]
fn what_would_lose_chunks_is_refused() {
    let refuses = |result: Changed<ClusterMap>, says: &str| {
        let refused = result.expect_err(says);
        assert!(format!("{} {}", refused.message, refused.help).contains(says), "{refused:?}");
    };
    let map = map();
    refuses(map.without_node(1, false), "drain 1");
    refuses(map.without_node(7, false), "0, 1, 2");
    refuses(map.with_drained(1), "node 1 is active");
    refuses(map.with_active(1), "node 1 is active");
    let draining = map.with_draining(1).expect("two are enough");
    refuses(draining.without_node(1, false), "node 1 is draining");
    refuses(draining.with_draining(2), "failure domains");
    refuses(draining.without_node(0, true), "failure domains");
    let drained = draining.with_drained(1).expect("it drains");
    assert!(drained.with_active(1).is_ok(), "it may stay after all");
    let removed = drained.without_node(1, false).expect("it is drained");
    assert_eq!((removed.epoch, removed.nodes.len()), (7, 2));
    assert!(removed.may_follow(&map).is_ok());
    assert!(map.without_node(1, true).is_ok(), "it is lost");
}

#[test]
fn maps_that_cannot_be_taken_while_running_say_why() {
    let before = map();
    let says = |edit: &dyn Fn(&mut ClusterMap), says: &str| {
        let mut map = before.clone();
        map.epoch += 1;
        edit(&mut map);
        let fault = map.may_follow(&before).expect_err(says);
        assert!(fault.contains(says), "{fault}");
    };
    says(&|map| map.epoch = 4, "epoch = 5");
    says(&|map| map.replicas = 1, "replicas");
    says(&|map| map.group_size = 6, "laid out anew");
    says(&|map| map.datagram = 9000, "mtu");
}

proptest! {
    /// Whoever comes and goes, chunks stay in their groups, those who stay keep their seats, no number is
    /// used twice, and every group has room for the replicas.
    #[test]
    fn changes_keep_everybody_in_place(changes in prop::collection::vec((0u8..5, 0u32..12, 1usize..5), 1..40)) {
        let mut map = map();
        let mut numbers: std::collections::BTreeSet<u32> = (0..6).collect();
        for (n, (change, node, count)) in (0u32..).zip(changes) {
            let next = match change {
                0 => map.with_node(address(n), count, Membership::Joining).map(|(map, node)| {
                    for target in &node.targets {
                        assert!(numbers.insert(target.0), "{target:?} is not new");
                    }
                    map
                }),
                1 => map.with_active(node),
                2 => map.with_draining(node),
                3 => map.with_drained(node),
                _ => map.without_node(node, count == 1),
            };
            let Ok(next) = next else { continue };
            prop_assert!(next.may_follow(&map).is_ok(), "{:?}", next.may_follow(&map));
            let text = map_text(&next);
            prop_assert_eq!(parse_map("text", &text).map_err(|error| error.to_string()), Ok(next.clone()));
            let groups = next.groups().expect("groups");
            for group in (0..groups.groups()).map(slotcast_protocol::GroupId) {
                let domains = groups.domains_of(group, groups.members_for_puts(group));
                prop_assert!(domains >= 2, "{group:?} has {domains}");
            }
            map = next;
        }
    }
}

/// A node that has been away may begin with another map than it had, if everybody keeps their place.
#[test]
fn a_node_begins_with_no_earlier_map_and_no_other_places() {
    let before = map();
    let later = |epoch| ClusterMap { epoch, ..map() };
    assert_eq!(before.may_begin_after(&before), Ok(()));
    assert_eq!(ClusterMap { replicas: 3, ..later(5) }.may_begin_after(&before), Ok(()));
    assert!(ClusterMap { replicas: 3, ..later(5) }.may_follow(&before).is_err());
    let earlier = later(3).may_begin_after(&before).expect_err("it is older");
    assert!(earlier.contains("epoch 3 is not after 4"), "{earlier}");
    let other = ClusterMap { group_size: 6, ..later(5) }.may_begin_after(&before);
    assert!(other.expect_err("two groups were laid out").contains("laid out anew"));
}
