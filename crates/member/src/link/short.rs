//! How many chunks have too few replicas: each node says what its targets know, and adds up what the others say.
//!
//! What a node says holds as long as nothing happens that it does not know of. So it says which incarnations of all nodes it
//! knows, hashed: whoever knows of a later one, which may have come back with less than it had, does not count that. And a node
//! that learns of one owes a scan from that moment on, and says that it does not know.

use alloc::vec::Vec;

use slotcast_transport::{Body, Short, TELLS_SHORT};
use slotcast_units::{Span, Time};

use super::Link;
use crate::effect::Effect;

/// What is said is said again after so many beats: it may have been lost.
const REPEATED: u64 = 10;

/// What was not said again in so many beats is not believed any more.
const BELIEVED: u64 = 5 * REPEATED;

/// What is said, and by when it is to be said again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// What the targets here know.
    own: Option<u64>,
    told: Option<Short>,
    again: Time,
}

impl Link {
    /// What the targets of this node know; none if one of them does not know.
    pub(crate) fn set_short(&mut self, own: Option<u64>) {
        self.short.own = own;
    }

    /// Tells all who understand it, if it is news or was told long ago.
    pub(super) fn tell_short(&mut self, now: Time, effects: &mut Vec<Effect>) {
        let short = Short { view: self.view(), chunks: self.short.own };
        if self.short.told == Some(short) && now < self.short.again {
            return;
        }
        self.short.told = Some(short);
        self.short.again = now + beats(self.times.beat, REPEATED);
        for node in self.peers.keys().copied().collect::<Vec<_>>() {
            if self.version_for([node]) >= TELLS_SHORT {
                self.send_to(now, node, Body::Short(short), effects);
            }
        }
    }

    /// A peer says what its targets know.
    pub(super) fn heard_short(&mut self, now: Time, node: u32, short: Short) {
        if let Some(peer) = self.peers.get_mut(&node) {
            peer.short = Some((short, now));
        }
    }

    /// How many chunks have too few replicas, as far as the targets of all nodes know, where those here know of `here`.
    /// None if one of them does not know, or is not heard.
    pub(crate) fn short_of_all(&self, now: Time, here: u64) -> Option<u64> {
        let (view, age) = (self.view(), beats(self.times.beat, BELIEVED));
        self.peers.keys().try_fold(here, |sum: u64, node| {
            let peer = &self.peers[node];
            let (short, heard) = peer.short?;
            let counts = peer.state.is_up()
                && self.has_agreed(*node)
                && short.view == view
                && now.saturating_since(heard) < age;
            Some(sum.saturating_add(short.chunks.filter(|_| counts)?))
        })
    }

    /// The incarnations of all nodes that this one knows, in its epoch: their hash (FNV-1a, 64 bits).
    pub(super) fn view(&self) -> u64 {
        let mut nodes: Vec<_> =
            self.peers.iter().map(|(n, p)| (*n, p.state.incarnation())).collect();
        nodes.push((self.node, Some(self.began.as_ns())));
        nodes.sort_unstable();
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let mut add = |word: u64| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        add(u64::from(self.epoch));
        for (node, incarnation) in nodes {
            add(u64::from(node));
            add(incarnation.unwrap_or(0));
        }
        hash
    }
}

fn beats(beat: Span, count: u64) -> Span {
    Span::from_ns(beat.as_ns().saturating_mul(count))
}
