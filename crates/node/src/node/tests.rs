use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use bytes::Bytes;
use slotcast_store::Content;

use super::*;
use crate::cluster::{ClusterMap, FailureDomain, MapNode, TargetFolder};

fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let sockets = [(); N].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("an address"))
}

fn files(base: &Path) -> Vec<NodeFile> {
    let addresses = free_addresses::<3>();
    let node = |(number, address)| MapNode { number, address, targets: vec![TargetId(number)] };
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
    };
    let file = |node: &MapNode| NodeFile {
        name: format!("node-{}", node.number),
        node: node.number,
        listen: node.address,
        http: ([127, 0, 0, 1], 0).into(),
        map: map.clone(),
        secret: [9; 32],
        targets: vec![TargetFolder {
            target: node.targets[0],
            folder: base.join(node.number.to_string()),
        }],
    };
    map.nodes.iter().map(file).collect()
}

#[test]
fn clocks_that_are_hours_apart_make_no_difference() {
    let base = tempfile::tempdir().expect("a folder");
    let files = files(base.path());
    let hours = |hours: u64| Clock::start_at(Duration::from_secs(hours * 3600));
    let clocks = [hours(500_000), hours(500_003), hours(1)];
    let start = |(file, clock)| Node::join_with(clock, file, 4 << 20).expect("it starts");
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
    let status = nodes[0].network().expect("a network").peer_status();
    let ahead: Vec<i64> =
        status.iter().map(|peer| peer.clock.expect("stamps came").0 / 1_000_000_000).collect();
    let near = |ahead: i64, hours: i64| (ahead - hours * 3600).abs() < 60;
    assert!(near(ahead[0], 3) && near(ahead[1], -499_999), "{ahead:?}");
    // Chunks came in their windows, and nobody took an offer for nonsense: all were placed at the first try.
    for node in &nodes {
        let counters = node.network().expect("a network").counters().all();
        let given_up = counters.iter().find(|(name, _)| *name == "chunks_given_up");
        assert_eq!(given_up, Some(&("chunks_given_up", 0)));
    }
}
