//! What other nodes tell this one.

use slotcast_protocol::InitiatorInput;
use slotcast_transport::PeerChange;
use slotcast_units::{Size, Time};
use tracing::{info, warn};

use super::{Due, Reactor};
use crate::journal::milliseconds;
use crate::network::NetworkEvent;

impl Reactor {
    pub(super) fn network(&mut self, now: Time, event: NetworkEvent) {
        let Some(remote) = &mut self.remote else { return };
        match event {
            NetworkEvent::Heard(heard) => {
                let is_running = self.running.contains_key(&heard.message.request());
                remote.heard(&heard, is_running, &self.groups, &mut self.local);
            }
            NetworkEvent::Peer(node, change) => self.peer_changed(now, node, change),
            NetworkEvent::Restarted(node) => {
                info!(node, "peer started anew: what it holds is checked");
                for (group, members) in remote.members_of(node) {
                    self.tell_initiator(now, InitiatorInput::Restarted { group, members });
                }
                self.node_changed(now, node);
            }
            NetworkEvent::NotReached(request, members) => {
                remote.not_reached(request, members, &mut self.local);
            }
            NetworkEvent::Sent(target, request) => {
                if let Some(host) = self.targets.get_mut(&target) {
                    host.sent(now, request);
                }
            }
            NetworkEvent::Arrived(received) if received.is_get => {
                let (request, intact) = (received.request, received.content.is_some());
                self.delivered(now, request, received.content, intact);
            }
            NetworkEvent::Arrived(received) => {
                for target in remote.targets_here(received.group, received.members, &self.groups) {
                    let Some(host) = self.targets.get_mut(&target) else { continue };
                    let (request, name) = (received.request, received.name);
                    match received.content.clone() {
                        Some(content) => {
                            let size = Size::from_bytes(content.bytes().len() as u64);
                            host.came(now, size, received.took);
                            host.received(now, request, content, &mut self.wishes, &mut self.news);
                        }
                        None => host.damaged(now, request, name, &mut self.wishes, &mut self.news),
                    }
                    self.heed(now, target);
                }
            }
        }
    }

    fn peer_changed(&mut self, now: Time, node: u32, change: PeerChange) {
        let Some(remote) = &mut self.remote else { return };
        let address = remote.shared().address_of(node).map(tracing::field::display);
        match change {
            PeerChange::Up => {
                remote.suspicions.up(node);
                info!(node, address, "peer up");
                self.node_changed(now, node);
            }
            PeerChange::Down => {
                remote.suspicions.down(now, node);
                let gone_after = remote.suspicions.gone_after();
                warn!(node, address, gone_after_ms = milliseconds(gone_after), "peer down");
                self.at(now + gone_after, Due::NodeGone(node));
            }
            PeerChange::Responds => remote.suspicions.heard(node),
            PeerChange::Unresponsive => {
                remote.suspicions.unresponsive(node);
                for (group, members) in remote.members_of(node) {
                    self.tell_initiator(now, InitiatorInput::Unavailable { group, members });
                }
            }
        }
    }
}
