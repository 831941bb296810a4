use alloc::collections::VecDeque;
use alloc::vec;

use slotcast_protocol::{
    ChunkId, Claim, Delivery, GroupId, InitiatorId, Members, Membership, Message, PutRequest,
    RequestId, TargetId, Wanted,
};
use slotcast_transport::{Address, Body, Datagram, Key, PeerChange, Short, Survey, SurveyAbout};
use slotcast_units::{Rate, Size, Span, Time};

use super::*;
use crate::config::{NetworkConfig, Times};
use crate::effect::Effect;
use crate::map::{FailureDomain, MapNode};

const OLDER: Versions = Versions { lowest: 2, highest: 2 };
const PRESENT: Versions = Versions::ALL;
const BEFORE: Versions = Versions { lowest: 2, highest: 3 };
const NEXT: Versions = Versions { lowest: 3, highest: 6 };
const FUTURE: Versions = Versions { lowest: 5, highest: 6 };

fn map() -> ClusterMap {
    let node = |number: u32| MapNode {
        number,
        address: ([10, 0, 0, 1 + number as u8], 7481).into(),
        targets: vec![TargetId(number)],
        membership: Membership::Active,
    };
    ClusterMap {
        epoch: 4,
        group_size: 3,
        replicas: 2,
        failure_domain: FailureDomain::Node,
        delivery: Delivery::Unicast,
        data_rate: Rate::from_bps(1_000_000_000),
        trip: Span::from_us(100),
        datagram: 1452,
        multicast: None,
        nodes: (0..3).map(node).collect(),
        seats: None,
        voters: alloc::collections::BTreeMap::new(),
        collection: slotcast_object::Collection::default(),
    }
}

/// The same with two seats exchanged.
fn other_map() -> ClusterMap {
    ClusterMap { seats: Some(vec![vec![TargetId(0), TargetId(2), TargetId(1)]]), ..map() }
}

/// Two of three nodes on a network that is fair.
struct Pair {
    now: Time,
    links: [Link; 2],
    sequence: u64,
    events: [Vec<LinkEvent>; 2],
}

impl Pair {
    fn new(maps: &[ClusterMap; 2], versions: [Versions; 2]) -> Pair {
        let now = Time::from_ns(1_000_000_000);
        let link = |node: usize| {
            let groups = maps[node].groups().expect("three targets");
            let (map, gone_after) = (maps[node].clone(), Span::from_secs(60));
            let versions = versions[node];
            let config = NetworkConfig { map, gone_after, max_chunk: 1 << 20, versions };
            let own = (node as u32, now);
            let mut link =
                Link::new(now, own, &config, &groups, Times::production(Span::from_ms(3)));
            link.join(now);
            link
        };
        Pair { now, links: [link(0), link(1)], sequence: 0, events: Default::default() }
    }

    /// Lets a second pass.
    fn run(&mut self) {
        for _ in 0..100 {
            self.now += Span::from_ms(10);
            for node in 0..2 {
                let mut effects = Vec::new();
                self.links[node].wake(self.now, &mut effects, &mut self.events[node]);
                self.carry(node, effects);
            }
        }
    }

    /// Datagrams travel as bytes, and what a program of this version does not know is refused.
    fn carry(&mut self, from: usize, effects: Vec<Effect>) {
        for effect in effects {
            let Effect::Send(to, mut datagram) = effect else { continue };
            let node = 1 - from;
            let places = [from, node].map(|of| map().nodes[of].address);
            if to != places[1] {
                continue;
            }
            self.sequence += 1;
            datagram.header.sequence = self.sequence;
            let (key, mut bytes) = (Key::new(&[1; 32]), Vec::new());
            datagram.encode(&key, &mut bytes);
            let Ok(datagram) = Datagram::decode(&key, &bytes) else { continue };
            let mut answers = Vec::new();
            let (now, events) = (self.now, &mut self.events[node]);
            self.links[node].datagram(now, (places[0], None), &datagram, &mut answers, events);
            self.carry(node, answers);
        }
    }

    /// What each knows of the other.
    fn peers(&self) -> [crate::link::PeerStatus; 2] {
        [0, 1].map(|node| {
            let peers = self.links[node].peers(self.now);
            peers.into_iter().find(|peer| peer.node == 1 - node as u32).expect("it is in the map")
        })
    }

    fn refusals(&mut self, node: usize) -> Vec<PeerRefusal> {
        let refusal = |event| match event {
            LinkEvent::Refused(_, refusal) => Some(refusal),
            _ => None,
        };
        self.events[node].drain(..).filter_map(refusal).collect()
    }
}

#[test]
fn two_nodes_speak_the_highest_version_that_both_know() {
    for (one, other, agreed) in [
        (PRESENT, PRESENT, 4),
        (BEFORE, PRESENT, 3),
        (PRESENT, BEFORE, 3),
        (OLDER, PRESENT, 2),
        (PRESENT, OLDER, 2),
        (OLDER, OLDER, 2),
        (PRESENT, NEXT, 4),
        (NEXT, PRESENT, 4),
    ] {
        let mut pair = Pair::new(&[map(), map()], [one, other]);
        pair.run();
        for peer in pair.peers() {
            assert!(peer.is_up && peer.refusal.is_none(), "{one} and {other}: {peer:?}");
            assert_eq!(peer.version, Some(agreed), "{one} and {other}");
        }
        assert!([0, 1].map(|node| pair.refusals(node)).concat().is_empty());
    }
}

/// What is put for names alone.
fn named_put(group: GroupId) -> Message {
    Message::PutRequest(PutRequest {
        request: RequestId { initiator: InitiatorId(0), serial: 1 },
        round: 0,
        group,
        skip: Members::NONE,
        chunk: ChunkId([1; 32]),
        size: Size::from_kib(4),
        not_before: Time::ZERO,
        replicas: 2,
        claim: Claim::Names,
    })
}

/// The claims in what is sent to node 1, in put-requests and surveys.
fn claims_in(effects: &[Effect]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for effect in effects {
        let Effect::Send(_, Datagram { body, .. }) = effect else { continue };
        match body {
            Body::Control(_, Message::PutRequest(asked)) => claims.push(asked.claim),
            Body::Survey(Survey { about: SurveyAbout::Chunks(chunks), .. }) => {
                claims.extend(chunks.iter().map(|(_, wanted)| wanted.claim));
            }
            _ => {}
        }
    }
    claims
}

/// One that does not know them would refuse what has one: it keeps what is put until somebody removes it. A multicast
/// is in the lowest version of all whom it is for.
#[test]
fn claims_are_told_to_those_that_know_them() {
    let (group, position) = map().groups().expect("three targets").seat(TargetId(1));
    for (other, told) in
        [(PRESENT, Claim::Names), (NEXT, Claim::Names), (BEFORE, Claim::Bare), (OLDER, Claim::Bare)]
    {
        let mut pair = Pair::new(&[map(), map()], [PRESENT, other]);
        pair.run();
        let (now, link) = (pair.now, &mut pair.links[0]);
        link.suspicions.up(1);
        let to = Members::only(position);
        let (mut mail, mut effects) = (VecDeque::new(), Vec::new());
        link.tell_group(now, (group, to), &named_put(group), &mut mail, &mut effects);
        let chunks = vec![(ChunkId([1; 32]), Wanted::named(2))];
        let survey = Survey { number: 1, group, about: SurveyAbout::Chunks(chunks) };
        link.survey(now, to, &survey, &mut effects);
        assert_eq!(claims_in(&effects), [told; 2], "{other}");
        effects.clear();
        // Of node 2 no version is known.
        for (nodes, told) in [(&[1][..], told), (&[1, 2][..], Claim::Bare)] {
            let version = link.version_for(nodes.iter().copied());
            let body = Body::Control(Address::Group(group, to), named_put(group));
            let address = map().nodes[1].address;
            link.send_multicast(now, (address, version), body, &mut effects);
            assert_eq!(claims_in(&effects), [told], "{other}, {nodes:?}");
            effects.clear();
        }
    }
}

#[test]
fn nodes_without_a_version_in_common_say_so_once() {
    let mut pair = Pair::new(&[map(), map()], [PRESENT, FUTURE]);
    pair.run();
    let refusals = [(PRESENT, FUTURE), (FUTURE, PRESENT)]
        .map(|(ours, theirs)| PeerRefusal::Version { theirs, ours });
    for (node, (peer, refusal)) in pair.peers().into_iter().zip(refusals).enumerate() {
        assert_eq!((peer.is_up, peer.refusal), (false, Some(refusal)));
        assert_eq!(pair.refusals(node), [refusal]);
        assert!(pair.links[node].counters().version > 5);
    }
    assert!(refusals[0].remedy().contains("upgrade this node"));
    assert!(refusals[1].remedy().contains("upgrade that node"));
}

#[test]
fn nodes_with_different_layouts_of_one_epoch_do_not_believe_each_other() {
    let mut pair = Pair::new(&[map(), other_map()], [PRESENT; 2]);
    pair.run();
    for (node, peer) in pair.peers().into_iter().enumerate() {
        let refusal = peer.refusal.expect("it has another layout");
        assert!(!peer.is_up && matches!(refusal, PeerRefusal::Layout { epoch: 4, .. }));
        assert_eq!(pair.refusals(node), [refusal]);
    }
    // Somebody gives both the same map.
    let later = ClusterMap { epoch: 5, ..map() };
    let groups = later.groups().expect("three targets");
    for (link, events) in pair.links.iter_mut().zip(&mut pair.events) {
        link.take(pair.now, (&later, &groups), events);
    }
    pair.run();
    assert!(pair.peers().iter().all(|peer| peer.is_up && peer.refusal.is_none()));
    // An older program does not say which layout it has, and nobody knows better.
    let mut pair = Pair::new(&[map(), other_map()], [PRESENT, OLDER]);
    pair.run();
    assert!(pair.peers().iter().all(|peer| peer.is_up));
}

#[test]
fn a_node_of_an_earlier_epoch_is_compared_with_what_that_was() {
    for (behind, is_believed) in [(map(), true), (other_map(), false)] {
        let mut pair = Pair::new(&[map(), behind], [PRESENT; 2]);
        let later = map().with_draining(2).expect("two are enough");
        let groups = later.groups().expect("three targets");
        let mut events = Vec::new();
        pair.links[0].take(pair.now, (&later, &groups), &mut events);
        pair.run();
        let changes = pair.events[0]
            .iter()
            .filter(|event| matches!(event, LinkEvent::Peer(1, PeerChange::Up | PeerChange::Down)));
        assert_eq!(
            (changes.count(), pair.peers()[0].is_up),
            (usize::from(is_believed), is_believed)
        );
        // When the other one follows, nothing is interrupted.
        pair.links[1].take(pair.now, (&later, &groups), &mut events);
        pair.events[1].clear();
        pair.run();
        assert!(pair.peers()[1].is_up);
        assert!(!is_believed || pair.events[1].is_empty(), "{:?}", pair.events[1]);
    }
}

/// What the two know of the chunks of both, where each knows so much of its own.
fn short_of_both(pair: &mut Pair, own: [Option<u64>; 2]) -> [Option<u64>; 2] {
    for (link, own) in pair.links.iter_mut().zip(own) {
        link.set_short(own);
    }
    pair.run();
    [0, 1].map(|node| pair.links[node].short_of_all(pair.now, own[node]?))
}

/// A map with these two alone: a third one would not be heard.
fn map_of_two() -> ClusterMap {
    let mut map = ClusterMap { group_size: 2, ..map() };
    map.nodes.truncate(2);
    map
}

#[test]
fn what_all_know_is_added_up() {
    let mut pair = Pair::new(&[map_of_two(), map_of_two()], [PRESENT; 2]);
    assert_eq!(short_of_both(&mut pair, [Some(0), Some(0)]), [Some(0); 2]);
    assert_eq!(short_of_both(&mut pair, [Some(3), Some(4)]), [Some(7); 2]);
    assert_eq!(short_of_both(&mut pair, [Some(3), None]), [None; 2]);
    assert_eq!(short_of_both(&mut pair, [Some(0), Some(0)]), [Some(0); 2]);
    // It is not repeated.
    pair.now += Span::from_secs(60);
    assert_eq!([0, 1].map(|node| pair.links[node].short_of_all(pair.now, 0)), [None; 2]);
}

#[test]
fn nothing_is_known_of_a_node_that_is_not_heard_or_does_not_tell() {
    let mut pair = Pair::new(&[map(), map()], [PRESENT; 2]);
    assert_eq!(short_of_both(&mut pair, [Some(0); 2]), [None; 2], "the third node");
    const SILENT: Versions = Versions { lowest: 2, highest: 3 };
    let mut pair = Pair::new(&[map_of_two(), map_of_two()], [PRESENT, SILENT]);
    assert_eq!(short_of_both(&mut pair, [Some(0); 2]), [None; 2]);
}

/// It is another incarnation, and may have come back with less than it had.
#[test]
fn what_was_said_of_an_earlier_incarnation_does_not_count() {
    let mut pair = Pair::new(&[map_of_two(), map_of_two()], [PRESENT; 2]);
    assert_eq!(short_of_both(&mut pair, [Some(0); 2]), [Some(0); 2]);
    let restarted = Pair::new(&[map_of_two(), map_of_two()], [PRESENT; 2]);
    let [mut anew, _] = restarted.links;
    anew.began = pair.now + Span::from_ms(1);
    pair.links[0] = anew;
    let view = pair.links[1].view();
    pair.links[0].set_short(Some(0));
    // The other one has not heard of it yet, and what it says is of no use to it.
    let said = Short { view, chunks: Some(0) };
    let now = pair.now;
    pair.links[0].heard_short(now, 1, said);
    assert_eq!(pair.links[0].short_of_all(now, 0), None);
    assert_eq!(short_of_both(&mut pair, [Some(0); 2]), [Some(0); 2]);
    assert_ne!(pair.links[1].view(), view);
}

/// Its first epoch is 5: what the other one has told of epoch 4 it cannot compare.
#[test]
fn a_layout_that_could_not_be_compared_is_told_again_first() {
    for (other, is_believed) in [(map(), true), (other_map(), false)] {
        let later = |map: &ClusterMap| map.with_draining(2).expect("two are enough");
        let mut pair = Pair::new(&[later(&map()), other.clone()], [PRESENT; 2]);
        pair.run();
        assert!(pair.links[0].has_agreed_in(1, 4) && !pair.links[0].has_agreed_in(1, 5));
        let groups = other.groups().expect("three targets");
        let mut events = Vec::new();
        pair.links[1].take(pair.now, (&later(&other), &groups), &mut events);
        let unproven = pair.links[0].counters().unproven;
        let header = pair.links[1].header(pair.now, 4, None);
        let said = Effect::Send(
            map().nodes[0].address,
            Datagram { header, body: Body::Failed(Vec::new()) },
        );
        pair.carry(1, vec![said]);
        assert_eq!(pair.links[0].counters().unproven, unproven + 1, "said before its layout");
        pair.run();
        assert_eq!(pair.links[0].has_agreed_in(1, 5), is_believed);
        assert_eq!(pair.peers()[0].is_up, is_believed);
    }
}
