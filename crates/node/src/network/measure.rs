//! Measures the network alone: chunks from one node to another of this process, over the loopback.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::unbounded;
use slotcast_protocol::{Delivery, GroupId, InitiatorId, Members, Membership, RequestId, TargetId};
use slotcast_store::Content;
use slotcast_transport::PeerChange;
use slotcast_units::{Rate, Span};

use super::{Network, NetworkConfig, NetworkEvent, ToSend};
use crate::clock::Clock;
use crate::cluster::{ClusterMap, FailureDomain, MapNode};
use crate::mailbox::Tell;
use crate::reactor::Event;

/// What came of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct LoopbackResult {
    /// Chunks that arrived, with their content checked.
    pub arrived: u64,
    /// Chunks that did not.
    pub failed: u64,
    /// Pieces that were sent again.
    pub repeated: u64,
    /// From the first chunk to the last.
    pub elapsed: Duration,
}

/// Sends `contents` again and again for `duration` from one node to another, in datagrams of `datagram`
/// bytes, `at_a_time` chunks at a time, each without regard to the others, as fast as it goes. Sealing,
/// checking of seals and of content, and the reports are those of a cluster; disks take no part.
///
/// # Errors
/// If the sockets or threads are not to be had, or the nodes do not hear each other.
///
/// # Panics
/// If there are no contents.
pub fn loopback(
    contents: &[Content],
    datagram: usize,
    at_a_time: usize,
    duration: Duration,
) -> io::Result<LoopbackResult> {
    let sockets = [UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?];
    let [from, to] = sockets.map(|socket| socket.local_addr());
    let node = |number, address, target| MapNode {
        number,
        address,
        targets: vec![TargetId(target)],
        membership: Membership::Active,
    };
    let map = ClusterMap {
        epoch: 1,
        group_size: 2,
        replicas: 1,
        failure_domain: FailureDomain::Target,
        delivery: Delivery::Unicast,
        data_rate: Rate::from_bps(1_000_000_000_000),
        trip: Span::from_us(100),
        datagram,
        multicast: None,
        nodes: vec![node(0, from?, 0), node(1, to?, 1)],
        seats: None,
    };
    let groups = map.groups().map_err(io::Error::other)?;
    let start = |number: u32| {
        let (events, inbox) = unbounded();
        let listen = map.nodes[number as usize].address;
        let clock = Clock::start_at_date();
        let secret = &[7; 32];
        let config = NetworkConfig {
            map: &map,
            groups: &groups,
            node: number,
            listen,
            secret,
            clock,
            link_rate: None,
        };
        let tell: Tell = Arc::new(move |event| drop(events.send(event)));
        Network::start(&config, &tell).map(|mut network| {
            network.join();
            (network, inbox)
        })
    };
    let (sender, sender_events) = start(0)?;
    let (_receiver, receiver_events) = start(1)?;
    let up = sender_events.recv_timeout(Duration::from_secs(10));
    let is_up = |event: &Event| match event {
        Event::Network(event) => matches!(**event, NetworkEvent::Peer(1, PeerChange::Up)),
        _ => false,
    };
    if !up.is_ok_and(|event| is_up(&event)) {
        return Err(io::Error::other("the nodes do not hear each other"));
    }
    let begun = Instant::now();
    let (mut sent, mut ended) = (0u32, 0u64);
    let mut result =
        LoopbackResult { arrived: 0, failed: 0, repeated: 0, elapsed: begun.elapsed() };
    loop {
        while begun.elapsed() < duration && u64::from(sent) - ended < at_a_time as u64 {
            let content = contents[sent as usize % contents.len()].clone();
            let request = RequestId { initiator: InitiatorId(0), serial: sent };
            let members = Members::from_bits(2);
            let start = sender.shared.clock.now();
            let to_send =
                ToSend { request, group: GroupId(0), members, content, start, source: None };
            sender.send_put(start, &to_send, &[(1, members)]);
            sent += 1;
        }
        if u64::from(sent) == ended {
            break;
        }
        match receiver_events.recv_timeout(Duration::from_secs(10)) {
            Ok(Event::Network(event)) => {
                if let NetworkEvent::Arrived(received) = *event {
                    match received.content.is_some() {
                        true => result.arrived += 1,
                        false => result.failed += 1,
                    }
                    ended += 1;
                }
            }
            Ok(_) => {}
            Err(_) => {
                result.failed += u64::from(sent) - ended;
                break;
            }
        }
    }
    result.elapsed = begun.elapsed();
    let counters = sender.shared.counters();
    result.repeated = counters.repeated_pieces.load(std::sync::atomic::Ordering::Relaxed);
    Ok(result)
}
