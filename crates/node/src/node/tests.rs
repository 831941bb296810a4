use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use slotcast_protocol::{
    Delivery, GetRequest, InitiatorId, Members, Membership, Message, OfferAnswer, RequestId,
};
use slotcast_store::Content;
use slotcast_transport::{Address, Body, Datagram, Header, Key};
use slotcast_units::{Rate, Size, Span, Time};

use super::*;
use crate::clock::Clock;
use crate::cluster::{
    ClusterKeys, ClusterMap, Encryption, FailureDomain, MapNode, MapSource, NodeFile, TargetFolder,
};
use crate::limits::Limits;
use crate::network::refusals;

mod tape;

fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("an address"))
}

fn files(base: &Path) -> Vec<NodeFile> {
    let addresses = free_addresses::<3>();
    let node = |(number, address)| MapNode {
        number,
        address,
        targets: vec![TargetId(number)],
        membership: Membership::Active,
    };
    let map = ClusterMap {
        epoch: 3,
        group_size: 3,
        replicas: 3,
        failure_domain: FailureDomain::Node,
        delivery: Delivery::Unicast,
        data_rate: Rate::from_bps(1_000_000_000),
        trip: Span::from_us(100),
        datagram: 1452,
        multicast: None,
        nodes: (0..).zip(addresses).map(node).collect(),
        seats: None,
        voters: std::collections::BTreeMap::new(),
        collection: slotcast_object::Collection::default(),
    };
    let file = |node: &MapNode| NodeFile {
        name: format!("node-{}", node.number),
        node: node.number,
        listen: node.address,
        http: ([127, 0, 0, 1], 0).into(),
        map: map.clone(),
        source: MapSource::File(base.join("cluster.toml")),
        warning: None,
        keys: ClusterKeys::one([9; 32]),
        key_file: base.join("cluster.key"),
        encryption: Encryption::Off,
        gone_after: Span::from_secs(600),
        limits: Limits::default(),
        targets: vec![TargetFolder {
            target: node.targets[0],
            folder: base.join(node.number.to_string()),
        }],
        register: base.join(format!("{}.targets.toml", node.number)),
    };
    map.nodes.iter().map(file).collect()
}

#[test]
fn clocks_that_are_hours_apart_make_no_difference() {
    let base = tempfile::tempdir().expect("a folder");
    let files = files(base.path());
    let hours = |hours: u64| Clock::start_at(Duration::from_secs(hours * 3600));
    let clocks = [hours(500_000), hours(500_003), hours(1)];
    let start = |(file, clock)| Node::join_with(clock, file, 4 << 20, false).expect("it starts");
    let nodes: Vec<Node> = files.iter().zip(clocks).map(start).collect();
    let content = |n: u32| Content::of(Bytes::from(n.to_le_bytes().repeat(50_000)));
    for n in 0..30 {
        let putting = &nodes[n as usize % 3];
        assert_eq!(putting.put(content(n)).blocking_recv().expect("an answer"), Ok(()), "{n}");
        for node in &nodes {
            let got = node.get(content(n).chunk()).blocking_recv().expect("an answer");
            assert_eq!(got, Ok(content(n)), "{n}");
        }
    }
    let snapshot =
        |node: &Node| node.network().blocking_recv().expect("an answer").expect("a network");
    let ahead: Vec<i64> = snapshot(&nodes[0])
        .peers
        .iter()
        .map(|peer| peer.clock.expect("stamps came").0 / 1_000_000_000)
        .collect();
    let near = |ahead: i64, hours: i64| (ahead - hours * 3600).abs() < 60;
    assert!(near(ahead[0], 3) && near(ahead[1], -499_999), "{ahead:?}");
    // Chunks came in their windows, and nobody took an offer for nonsense: all were placed at the first try.
    for node in &nodes {
        assert_eq!(snapshot(node).counters.chunks_given_up, 0);
    }
}

/// Plays a node of the cluster, well or badly.
struct Peer {
    socket: UdpSocket,
    to: SocketAddr,
    key: Key,
    sequence: u64,
}

impl Peer {
    fn new(socket: UdpSocket, to: SocketAddr) -> Peer {
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        Peer { socket, to, key: Key::new(&[9; 32]), sequence: 0 }
    }

    fn header(&mut self, sent_at: u64, echo: Option<Time>) -> Header {
        self.sequence += 1;
        Header {
            version: 2,
            epoch: 3,
            sender: 1,
            incarnation: 77,
            sequence: self.sequence,
            sent_at: Time::from_ns(sent_at),
            echo: echo.map(|echo| (echo, Span::ZERO)),
        }
    }

    /// Sends a datagram; gives its bytes.
    fn say(&self, header: Header, body: Body<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        Datagram { header, body }.encode(&self.key, &mut bytes);
        self.send(&bytes);
        bytes
    }

    fn send(&self, bytes: &[u8]) {
        self.socket.send_to(bytes, self.to).expect("the loopback");
    }

    /// Waits for a datagram of which `wanted` gives something; others are let pass.
    fn hear<T>(&self, mut wanted: impl FnMut(&Datagram<'_>, usize) -> Option<T>) -> T {
        let mut buffer = [0; 1 << 16];
        loop {
            let length = self.socket.recv(&mut buffer).expect("it comes");
            let datagram = Datagram::decode(&self.key, &buffer[..length]).expect("it is sealed");
            if let Some(found) = wanted(&datagram, length) {
                return found;
            }
        }
    }
}

fn clock() -> Body<'static> {
    let (versions, layout, heard) = (None, None, Vec::new());
    Body::Clock(slotcast_transport::Clock { wants_answer: true, versions, layout, heard })
}

fn get_request(initiator: u32) -> Body<'static> {
    let request = RequestId { initiator: InitiatorId(initiator), serial: 5 };
    let asked = GetRequest {
        request,
        round: 0,
        group: slotcast_protocol::GroupId(0),
        skip: Members::NONE,
        chunk: ChunkId([4; 32]),
        not_before: Time::ZERO,
    };
    let to = Address::Group(asked.group, Members::first(3));
    Body::Control(to, Message::GetRequest(asked))
}

/// Waits until `reason` has been counted `times` times.
fn refused(node: &Node, reason: &str, times: u64) {
    let count = || {
        let network = node.network().blocking_recv().expect("an answer").expect("a network");
        let refused = refusals(&network.sockets, &network.counters);
        refused.iter().find(|(name, _)| *name == reason).expect("a reason").1
    };
    while count() < times {
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(count(), times, "{reason}");
}

#[test]
fn only_a_proven_node_of_the_map_is_answered_and_only_once() {
    let base = tempfile::tempdir().expect("a folder");
    let files = files(base.path());
    let [own, peer] = [files[0].listen, files[1].listen];
    let mapped = UdpSocket::bind(peer).expect("it was free");
    let node = Node::join(&files[0], 4 << 20).expect("it starts");

    // A stranger has the key, and not the address. It is told nothing.
    let mut stranger = Peer::new(UdpSocket::bind("127.0.0.1:0").expect("a port"), own);
    let header = stranger.header(10, None);
    stranger.say(header, clock());
    refused(&node, "address", 1);
    stranger.socket.set_nonblocking(true).expect("a socket");
    let silence = stranger.socket.recv(&mut [0; 1 << 16]).expect_err("nothing comes");
    assert_eq!(silence.kind(), io::ErrorKind::WouldBlock);

    // The address is right, but whatever is said may have been recorded: a question about the clock is
    // answered with no more than it has itself, others are not.
    let mut peer = Peer::new(mapped, own);
    let header = peer.header(20, None);
    peer.say(header, get_request(1));
    refused(&node, "unproven", 1);
    let header = peer.header(30, None);
    let question = peer.say(header, clock()).len();
    let stamp = peer.hear(|answer, length| {
        let is_answer = answer.header.echo.is_some_and(|(echo, _)| echo == Time::from_ns(30));
        assert!(!is_answer || length <= question, "{length} bytes for {question}");
        is_answer.then_some(answer.header.sent_at)
    });

    // With an echo of the answer it is proven, and heard.
    let header = peer.header(40, Some(stamp));
    peer.say(header, clock());
    let header = peer.header(50, Some(stamp));
    let asked = peer.say(header, get_request(1));
    let answer = peer.hear(|heard, _| match &heard.body {
        Body::Control(Address::Initiator, Message::Offer(offer)) => Some(offer.answer),
        _ => None,
    });
    assert_eq!(answer, OfferAnswer::NotHeld);

    // The same once more is not.
    peer.send(&asked);
    refused(&node, "replayed", 1);
    // Nor what is said in the name of others, of another map, with another key, or by others altogether.
    let header = peer.header(60, None);
    peer.say(header, get_request(2));
    refused(&node, "malformed", 1);
    let header = Header { epoch: 3 + 17, ..peer.header(70, None) };
    peer.say(header, get_request(1));
    refused(&node, "epoch", 1);
    let mut forged = asked;
    forged[70] ^= 1;
    peer.send(&forged);
    refused(&node, "seal", 1);
    peer.send(b"GET / HTTP/1.1\r\nHost: somebody else who has the wrong port altogether\r\n\r\n");
    refused(&node, "foreign", 1);
}

#[test]
fn a_limited_link_is_no_faster_and_its_targets_find_out() {
    let base = tempfile::tempdir().expect("a folder");
    let mut files = files(base.path());
    // A sixth of what the map says.
    let rate = Rate::from_bytes_per_s(20_000_000);
    files[0].limits.link_rate = Some(rate);
    let start = |file| Node::join(file, 8 << 20).expect("it starts");
    let nodes: Vec<Node> = files.iter().map(start).collect();
    let length = 1 << 20;
    let put = |n: u8| {
        let content = Content::of(Bytes::from(vec![n; length]));
        nodes[0].put(content).blocking_recv().expect("an answer")
    };
    // The first one waits until the nodes hear each other.
    assert_eq!(put(100), Ok(()));
    let begun = std::time::Instant::now();
    let count = 6;
    for n in 0..count {
        assert_eq!(put(n), Ok(()), "{n}");
    }
    // Two copies leave the node, but for the last piece of each nobody waits.
    let least = rate.time_for(Size::from_bytes(2 * (u64::from(count) - 1) * length as u64));
    assert!(begun.elapsed().as_nanos() >= u128::from(least.as_ns()), "{:?}", begun.elapsed());
    for node in &nodes[1..] {
        let status = node.status().blocking_recv().expect("an answer");
        let measured = status[0].load.link_rate.expect("chunks came");
        assert!(measured < Rate::from_bytes_per_s(60_000_000), "{measured}");
    }
}
