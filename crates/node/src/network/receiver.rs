//! Receives datagrams, and checks their seals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use slotcast_member::Counters;
use slotcast_protocol::GroupId;
use slotcast_transport::{Datagram, Refused};
use slotcast_units::Span;

use super::bursts::Bursts;
use super::counters::{SocketCounters, count, refusals};
use super::keyring::{Keyring, Opener, Unread};
use super::socket::{Buffers, Socket, wait};
use super::{Listener, NetworkConfig, Shared};

/// How long the thread may not notice that it should end.
const NAP: Span = Span::from_ms(100);

/// A socket for the multicast of each group that has members here; none where the map has no multicast
/// address, or the system none to give: then nobody is told that this node hears, and all is sent to it by
/// itself.
pub(super) fn multicast_sockets(config: &NetworkConfig<'_>) -> Vec<(GroupId, Socket)> {
    let SocketAddr::V4(own) = config.listen else { return Vec::new() };
    let Some(node) = config.map.node(config.node) else { return Vec::new() };
    let targets = node.targets.iter();
    let mut groups: Vec<GroupId> = targets.map(|target| config.groups.seat(*target).0).collect();
    groups.sort_unstable();
    groups.dedup();
    let join = |group: GroupId| {
        let socket = Socket::join(config.map.multicast_of(group)?, *own.ip()).ok()?;
        Some((group, socket))
    };
    groups.into_iter().filter_map(join).collect()
}

/// The receiving thread.
pub(super) struct Receiver {
    shared: Arc<Shared>,
    multicast: Vec<(GroupId, Socket)>,
    listener: Arc<dyn Listener>,
    opener: Opener,
    bursts: Bursts,
    /// By the member, as far as is known.
    counted: Counters,
}

impl Receiver {
    pub(super) fn new(
        shared: Arc<Shared>,
        multicast: Vec<(GroupId, Socket)>,
        listener: Arc<dyn Listener>,
    ) -> Receiver {
        let (bursts, counted) = (Bursts::default(), Counters::default());
        Receiver { shared, multicast, listener, opener: Opener::default(), bursts, counted }
    }

    pub(super) fn run(mut self) {
        let mut buffers = Buffers::new();
        while !self.shared.stops.load(Ordering::Relaxed) {
            let mut has_heard = self.take(&mut buffers, None);
            for i in 0..self.multicast.len() {
                has_heard |= self.take(&mut buffers, Some(i));
            }
            let refused = || refusals(&self.shared.counters, &self.counted);
            self.bursts.look(self.shared.clock.now(), refused);
            if !has_heard {
                let sockets: Vec<&Socket> = std::iter::once(&self.shared.socket)
                    .chain(self.multicast.iter().map(|(_, socket)| socket))
                    .collect();
                if wait(&sockets, NAP).is_err() {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            }
        }
    }

    /// Takes what has come to this node, or to one of its groups; false if nothing has.
    fn take(&mut self, buffers: &mut Buffers, multicast: Option<usize>) -> bool {
        let group = multicast.map(|i| self.multicast[i].0);
        let socket = match multicast {
            None => &self.shared.socket,
            Some(i) => &self.multicast[i].1,
        };
        let filled = match socket.receive(buffers) {
            Ok(0) => return false,
            Ok(filled) => filled,
            // What the kernel tells of earlier datagrams; there may be more behind it.
            Err(_) => return true,
        };
        let (keyring, counters, opener) =
            (self.shared.keyring(), &self.shared.counters, &mut self.opener);
        // Decoded before the member's lock is taken.
        let datagrams: Vec<_> = buffers
            .datagrams(filled)
            .filter_map(|(from, bytes)| Some((from, believed(counters, &keyring, opener, bytes)?)))
            .collect();
        if let Some(counted) = self.listener.heard(group, &mut datagrams.into_iter()) {
            self.counted = counted;
        }
        true
    }
}

/// The datagram in `bytes`, if it comes from the cluster.
fn believed<'a>(
    counters: &SocketCounters,
    keyring: &Keyring,
    opener: &mut Opener,
    bytes: &'a mut [u8],
) -> Option<Datagram<'a>> {
    let SocketCounters { foreign, version, seal, plain, malformed, received, .. } = counters;
    count(received, 1);
    count(&counters.received_bytes, bytes.len() as u64);
    match opener.open(keyring, bytes) {
        Ok((datagram, key)) => {
            count(&counters.by_key[key], 1);
            Some(datagram)
        }
        Err(unread) => {
            let counter = match unread {
                Unread::Plain => plain,
                Unread::Refused(Refused::TooShort(_) | Refused::Foreign) => foreign,
                Unread::Refused(Refused::Version(_)) => version,
                Unread::Refused(Refused::Seal) => seal,
                Unread::Refused(Refused::Kind(_) | Refused::Body(_) | Refused::Message(_)) => {
                    malformed
                }
            };
            count(counter, 1);
            None
        }
    }
}
