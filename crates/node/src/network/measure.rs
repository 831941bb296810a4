//! Measures the network alone: chunks from one node to another of this process, over the loopback.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, unbounded};
use slotcast_member::{
    ClusterMap, Counters, Effect, FailureDomain, Link, LinkEvent, MapNode, Times,
};
use slotcast_protocol::{
    Delivery, GroupId, GroupMap, InitiatorId, Members, Membership, RequestId, TargetId,
};
use slotcast_store::Content;
use slotcast_transport::{Datagram, PeerChange, Versions};
use slotcast_units::{Rate, Span, Time};

use super::{Listener, MAX_CHUNK, Network, NetworkConfig};
use crate::clock::Clock;
use crate::cluster::{ClusterKeys, Encryption};

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
    encryption: Encryption,
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
        voters: std::collections::BTreeMap::new(),
        collection: slotcast_object::Collection::default(),
    };
    let groups = map.groups().map_err(io::Error::other)?;
    let [(sender, sender_events), (receiver, receiver_events)] =
        [start((&map, &groups), 0, encryption)?, start((&map, &groups), 1, encryption)?];
    let is_up = |event: &LinkEvent| matches!(event, LinkEvent::Peer(1, PeerChange::Up));
    while !is_up(&sender_events.recv_timeout(Duration::from_secs(10)).map_err(io::Error::other)?) {}
    let begun = Instant::now();
    let (mut sent, mut ended) = (0u32, 0u64);
    let mut result =
        LoopbackResult { arrived: 0, failed: 0, repeated: 0, elapsed: begun.elapsed() };
    loop {
        while begun.elapsed() < duration && u64::from(sent) - ended < at_a_time as u64 {
            let content = contents[sent as usize % contents.len()].clone();
            let request = RequestId { initiator: InitiatorId(0), serial: sent };
            let members = Members::from_bits(2);
            sender.put(request, members, &content);
            sent += 1;
        }
        if u64::from(sent) == ended {
            break;
        }
        match receiver_events.recv_timeout(Duration::from_secs(10)) {
            Ok(LinkEvent::Arrived { content, .. }) => {
                match content.is_some() {
                    true => result.arrived += 1,
                    false => result.failed += 1,
                }
                ended += 1;
            }
            Ok(_) => {}
            Err(_) => {
                result.failed += u64::from(sent) - ended;
                break;
            }
        }
    }
    result.elapsed = begun.elapsed();
    result.repeated = sender.counters().repeated_pieces;
    [sender, receiver].into_iter().for_each(|post| post.stop());
    Ok(result)
}

/// A link with the network that carries out what it wants.
struct Post(Mutex<Worked>);

struct Worked {
    clock: Clock,
    link: Link,
    network: Option<Network>,
    events: Sender<LinkEvent>,
}

impl Worked {
    fn work(&mut self, act: impl FnOnce(&mut Link, Time, &mut Vec<Effect>, &mut Vec<LinkEvent>)) {
        let (now, mut effects, mut events) = (self.clock.now(), Vec::new(), Vec::new());
        act(&mut self.link, now, &mut effects, &mut events);
        for effect in effects {
            match (effect, &mut self.network) {
                (Effect::Send(to, datagram), Some(network)) => {
                    network.post(vec![(to, datagram)]).send();
                }
                (Effect::SendPieces(pass), Some(network)) => network.send_pieces(pass),
                _ => {}
            }
        }
        events.into_iter().for_each(|event| drop(self.events.send(event)));
    }
}

impl Post {
    fn work(&self, act: impl FnOnce(&mut Link, Time, &mut Vec<Effect>, &mut Vec<LinkEvent>)) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).work(act);
    }

    fn put(&self, request: RequestId, members: Members, content: &Content) {
        self.work(|link, now, effects, _| {
            link.send_put(now, (request, GroupId(0), members), content, now, effects);
        });
    }

    /// Its threads hold it: they end before it is dropped.
    fn stop(&self) {
        let network = self.0.lock().unwrap_or_else(PoisonError::into_inner).network.take();
        drop(network);
    }

    fn counters(&self) -> Counters {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).link.counters()
    }
}

impl Listener for Post {
    fn heard(
        &self,
        via: Option<GroupId>,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, Datagram<'_>)>,
    ) -> Option<Counters> {
        self.work(|link, now, effects, events| {
            for (from, datagram) in datagrams {
                link.datagram(now, (from, via), &datagram, effects, events);
            }
        });
        None
    }

    fn left(&self, transfer: u32) {
        self.work(|link, now, effects, events| link.left(now, transfer, effects, events));
    }
}

/// Starts one of the two, with a thread that does what is due until the post is dropped.
fn start(
    (map, groups): (&ClusterMap, &GroupMap),
    number: u32,
    encryption: Encryption,
) -> io::Result<(Arc<Post>, crossbeam_channel::Receiver<LinkEvent>)> {
    let (events, inbox) = unbounded();
    let clock = Clock::start_at_date();
    let times = Times::production(Span::from_ms(3));
    let config = slotcast_member::NetworkConfig {
        map: map.clone(),
        gone_after: Span::from_secs(600),
        max_chunk: MAX_CHUNK,
        versions: Versions::ALL,
    };
    let own = (number, clock.began());
    let link = Link::new(clock.now(), own, &config, groups, times);
    let post = Arc::new(Post(Mutex::new(Worked { clock, link, network: None, events })));
    let listener: Arc<dyn Listener> = post.clone();
    let config = NetworkConfig {
        map,
        groups,
        node: number,
        listen: map.nodes[number as usize].address,
        keys: &ClusterKeys::one([7; 32]),
        key_file: None,
        encryption,
        clock,
        link_rate: None,
    };
    let network = Network::start(&config, &listener)?;
    post.0.lock().unwrap_or_else(PoisonError::into_inner).network = Some(network);
    post.work(|link, now, _, _| link.join(now));
    let worker = Arc::downgrade(&post);
    thread::Builder::new().name("due".into()).spawn(move || {
        while let Some(post) = worker.upgrade() {
            post.work(|link, now, effects, events| link.wake(now, effects, events));
            drop(post);
            thread::sleep(Duration::from_micros(200));
        }
    })?;
    Ok((post, inbox))
}
