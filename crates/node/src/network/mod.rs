//! UDP between the nodes of a cluster: carries out what a member sends, and tells it what has come.
//!
//! ```text
//! member ── datagrams ──────────────────────> socket ──> other nodes
//!   │ └──── passes of chunks ──> sender (paced) ─┘
//!   └<───── datagrams ─── receiver <── sockets: of this node, and of its groups' multicast
//! ```
//!
//! Single datagrams leave from the thread that has worked the member: a change of threads costs more than the
//! system call. Seals are written and checked here, outside of the member's lock.

mod bursts;
mod counters;
mod keyring;
mod keys;
pub mod measure;
mod receiver;
mod sender;
mod socket;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, bounded, unbounded};
use slotcast_member::{ClusterMap, Counters, Pass};
use slotcast_protocol::{GroupId, GroupMap};
use slotcast_schedule::TokenBucket;
use slotcast_transport::Datagram;
use slotcast_units::{Rate, Span};

pub(crate) use counters::{SocketCounters, all_counters, by_key, refusals};

use crate::clock::Clock;
use crate::cluster::{ClusterKeys, Encryption};
use counters::count;
use keyring::Keyring;
use keys::WatchedKeys;
use sender::ToSender;
use socket::Socket;

/// What a node needs for its network.
pub(crate) struct NetworkConfig<'a> {
    pub(crate) map: &'a ClusterMap,
    pub(crate) groups: &'a GroupMap,
    pub(crate) node: u32,
    pub(crate) listen: SocketAddr,
    pub(crate) keys: &'a ClusterKeys,
    /// Where they are, if they are read again when they change.
    pub(crate) key_file: Option<&'a Path>,
    pub(crate) encryption: Encryption,
    pub(crate) clock: Clock,
    /// The most that chunks may take of what the node sends.
    pub(crate) link_rate: Option<Rate>,
}

/// Whoever is told what has come and what has left.
pub(crate) trait Listener: Send + Sync {
    /// Datagrams came, whose seals are right; by the multicast of a group, or to the node itself. Gives what was
    /// counted of all that came so far.
    fn heard(
        &self,
        via: Option<GroupId>,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, Datagram<'_>)>,
    ) -> Option<Counters>;

    /// All pieces of a pass of this transfer have left.
    fn left(&self, transfer: u32);
}

/// What the threads of a network share.
struct Shared {
    keyring: RwLock<Arc<Keyring>>,
    clock: Clock,
    socket: Socket,
    counters: Arc<SocketCounters>,
    /// Counts all datagrams of this incarnation, as they leave.
    sequence: AtomicU64,
    stops: AtomicBool,
}

impl Shared {
    /// The keys as they are now.
    fn keyring(&self) -> Arc<Keyring> {
        self.keyring.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// These are the keys from now on.
    fn set_keyring(&self, keyring: Keyring) {
        self.counters.set_keys(keyring.numbers());
        *self.keyring.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keyring);
    }

    /// The numbers of the next `count` datagrams, from the first on.
    fn number(&self, count: u64) -> u64 {
        self.sequence.fetch_add(count, Ordering::Relaxed)
    }

    /// Sends datagrams that lie one after another, of `length` bytes each but the last.
    fn send(&self, to: SocketAddr, bytes: &[u8], length: usize, datagrams: u64) {
        match self.socket.send(to, bytes, length) {
            Ok(()) => {
                count(&self.counters.sent, datagrams);
                count(&self.counters.sent_bytes, bytes.len() as u64);
            }
            // What is lost is repeated; that it was lost here is seen in the metrics.
            Err(_) => count(&self.counters.send_failures, datagrams),
        }
    }
}

/// Datagrams on their way to the socket. A call of the system takes longer than most of what a member does, so they
/// are sealed and sent when its lock is free again.
pub(crate) struct Post {
    shared: Arc<Shared>,
    datagrams: Vec<(SocketAddr, Datagram<'static>)>,
}

impl Post {
    /// Seals them and sends them.
    pub(crate) fn send(self) {
        let mut buffer = Vec::with_capacity(512);
        let keyring = self.shared.keyring();
        for (to, mut datagram) in self.datagrams {
            buffer.clear();
            datagram.header.sequence = self.shared.number(1);
            let length = keyring.write(&datagram, &mut buffer);
            self.shared.send(to, &buffer, length, 1);
        }
    }
}

/// The network of a node. Dropping it ends its threads.
pub(crate) struct Network {
    shared: Arc<Shared>,
    sender: Sender<ToSender>,
    threads: Vec<JoinHandle<()>>,
    /// Dropped, it ends what looks after the keys.
    ends: Option<Sender<()>>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}

impl Network {
    /// Opens the sockets, and begins to tell `listener` of what comes.
    pub(crate) fn start(
        config: &NetworkConfig<'_>,
        listener: &Arc<dyn Listener>,
    ) -> io::Result<Network> {
        let sender_id = (config.node, config.clock.began().as_ns());
        let keyring = Keyring::new(config.keys, config.encryption, sender_id);
        let counters = SocketCounters::of(keyring.numbers());
        let shared = Arc::new(Shared {
            keyring: RwLock::new(Arc::new(keyring)),
            clock: config.clock,
            socket: Socket::bind(config.listen)?,
            counters: Arc::new(counters),
            sequence: AtomicU64::new(0),
            stops: AtomicBool::new(false),
        });
        let multicast = receiver::multicast_sockets(config);
        let (to_sender, for_sender) = unbounded();
        let limit = config.link_rate.map(|rate| TokenBucket::new(rate, Span::ZERO));
        let sender = sender::Passes::new(
            shared.clone(),
            for_sender,
            listener.clone(),
            config.map.datagram,
            limit,
        );
        let receiver = receiver::Receiver::new(shared.clone(), multicast, listener.clone());
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(run)
        };
        let mut threads = vec![
            spawn("udp-send", Box::new(move || sender.run()))?,
            spawn("udp-receive", Box::new(move || receiver.run()))?,
        ];
        let (ends, is_over) = bounded(0);
        if let Some(path) = config.key_file {
            let watched = WatchedKeys::new(shared.clone(), path, config, sender_id);
            threads.push(spawn("keys", Box::new(move || watched.run(&is_over)))?);
        }
        Ok(Network { shared, sender: to_sender, threads, ends: Some(ends) })
    }

    /// What the sockets have counted.
    pub(crate) fn counters(&self) -> Arc<SocketCounters> {
        self.shared.counters.clone()
    }

    /// Datagrams that are to be sent, by whoever has time for it.
    pub(crate) fn post(&self, datagrams: Vec<(SocketAddr, Datagram<'static>)>) -> Post {
        Post { shared: self.shared.clone(), datagrams }
    }

    /// Sends the pieces of a pass, each in its time.
    pub(crate) fn send_pieces(&self, pass: Box<Pass>) {
        // The thread lives as long as this: it cannot fail.
        let _ = self.sender.send(ToSender::Pass(pass));
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Relaxed);
        let _ = self.sender.send(ToSender::Stop);
        self.ends = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Chunks up to this length travel; it is the longest that HTTP takes.
pub(crate) const MAX_CHUNK: u32 = 8 << 20;
