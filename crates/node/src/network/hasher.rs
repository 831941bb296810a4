//! Checks the content of chunks that came, in a thread of its own: the next datagrams must not wait for it.

use crossbeam_channel::{Receiver, Sender};
use slotcast_store::Content;
use slotcast_transport::Arrived;

use super::{NetworkEvent, Received};
use crate::reactor::Event;

pub(super) fn run(arrived: &Receiver<Arrived>, events: &Sender<Event>) {
    for Arrived { is_get, request, group, members, name, bytes, took, .. } in arrived {
        let content = bytes.and_then(|bytes| Content::checked(name, bytes.into()));
        let received = Received { is_get, request, group, members, content, name, took };
        if events.send(Event::Network(Box::new(NetworkEvent::Arrived(received)))).is_err() {
            return;
        }
    }
}
