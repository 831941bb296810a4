//! What two nodes must agree on before they believe each other: a version of datagrams, and how the cluster is laid
//! out.
//!
//! Until a peer has told its versions it is spoken to in the lowest that this node knows; then in the highest that
//! both know. Its datagrams are understood in any version that this node knows. From [`TELLS_LAYOUT`] on it tells
//! its layout too, and nothing else of it is believed before, nor if this node has another one of that epoch. A layout
//! of an epoch before this node's first cannot be compared: the peer is believed until it speaks in an epoch that can
//! be, and then when it has told its layout again. A peer that does not tell is believed: an older program cannot know
//! better.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use slotcast_protocol::LayoutDigest;
use slotcast_transport::{Clock, Header, TELLS_CLAIMS, TELLS_LAYOUT, Versions};

use super::hear::EPOCHS_APART;
use super::{Link, LinkEvent, Peer};
use crate::map::ClusterMap;
use crate::mistake::Mistake;

/// Why a peer is not believed although it is heard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerRefusal {
    /// It has another layout of the same epoch.
    Layout {
        /// Of which epoch.
        epoch: u32,
        /// Its layout.
        theirs: LayoutDigest,
        /// That of this node.
        ours: LayoutDigest,
    },
    /// It speaks no version of datagrams that this node speaks.
    Version {
        /// Those that it speaks.
        theirs: Versions,
        /// Those of this node.
        ours: Versions,
    },
}

impl PeerRefusal {
    /// The reason in a word, as in metrics.
    pub const fn reason(&self) -> &'static str {
        match self {
            PeerRefusal::Layout { .. } => "layout",
            PeerRefusal::Version { .. } => "version",
        }
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            PeerRefusal::Layout { epoch, .. } => format!(
                "compare the cluster maps of both nodes: give both the same one, with epoch = {}, \
                 and start them anew",
                epoch.saturating_add(1)
            ),
            PeerRefusal::Version { theirs, ours } => format!(
                "upgrade {} first to a program that speaks versions of both",
                if theirs.highest < ours.lowest { "that node" } else { "this node" }
            ),
        }
    }
}

impl fmt::Display for PeerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerRefusal::Layout { epoch, theirs, ours } => {
                write!(f, "it has layout {theirs} in epoch {epoch}, and this node {ours}")
            }
            PeerRefusal::Version { theirs, ours } => {
                write!(f, "it speaks version {theirs} of datagrams, and this node {ours}")
            }
        }
    }
}

/// What is agreed on with a peer, of its present incarnation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Agreed {
    /// The highest version that both speak; none before it is known.
    version: Option<u8>,
    /// The layout that it has told last, and of which epoch.
    layout: Option<(u32, LayoutDigest)>,
    /// A layout that it has told was that of this node: those of later epochs follow from it.
    is_same_layout: bool,
    refusal: Option<PeerRefusal>,
}

impl Agreed {
    pub(super) fn version(&self) -> Option<u8> {
        self.version
    }

    pub(super) fn refusal(&self) -> Option<PeerRefusal> {
        self.refusal
    }

    /// Whether what it says is believed.
    pub(super) fn is_complete(&self) -> bool {
        let tells = self.version.map(|version| version >= TELLS_LAYOUT);
        self.refusal.is_none() && tells.is_some_and(|tells| !tells || self.layout.is_some())
    }
}

impl Link {
    /// Remembers the layout of a map that is followed, to compare it with those of peers.
    pub(super) fn remember_layout(&mut self, map: &ClusterMap) {
        if let Ok(digest) = map.digest() {
            self.layouts.insert(map.epoch, digest);
        }
        self.layouts = self.layouts.split_off(&map.epoch.saturating_sub(EPOCHS_APART));
    }

    /// The layout that it tells, of its epoch.
    pub(super) fn own_layout(&self) -> Option<LayoutDigest> {
        self.layouts.get(&self.epoch).copied()
    }

    /// Whether a peer is known to be of a program that knows of no claims, and so of no collection of garbage.
    pub(crate) fn is_older(&self, node: u32) -> bool {
        let version = self.peers.get(&node).and_then(|peer| peer.agreed.version);
        version.is_some_and(|version| version < TELLS_CLAIMS)
    }

    /// The version in which all of `nodes` are spoken to: the lowest of those agreed on with each.
    pub(super) fn version_for(&self, nodes: impl IntoIterator<Item = u32>) -> u8 {
        let agreed = |node| self.peers.get(&node).and_then(|peer| peer.agreed.version);
        let lowest = self.versions.lowest;
        let version = nodes.into_iter().map(|node| agreed(node).unwrap_or(lowest)).min();
        match self.mistake {
            Some(Mistake::SpeaksNewestVersion) => self.versions.highest,
            _ => version.unwrap_or(lowest),
        }
    }

    /// Whether what `node` says is believed, as far as they have agreed.
    pub(super) fn has_agreed(&self, node: u32) -> bool {
        let believes_all = self.mistake == Some(Mistake::BelievesOtherLayout);
        self.peers.get(&node).is_some_and(|peer| {
            peer.agreed.is_complete() || believes_all && peer.agreed.version.is_some()
        })
    }

    /// Whether what `node` says in `epoch` is believed, as far as they have agreed.
    pub(super) fn has_agreed_in(&self, node: u32, epoch: u32) -> bool {
        let can_compare = self.layouts.contains_key(&epoch);
        let is_compared = |peer: &Peer| peer.agreed.layout.is_none() || peer.agreed.is_same_layout;
        let is_known = !can_compare || self.peers.get(&node).is_some_and(is_compared);
        self.has_agreed(node) && (is_known || self.mistake == Some(Mistake::BelievesOtherLayout))
    }

    /// Whether nothing but an answer of `node` is missing to agree.
    pub(super) fn is_to_agree(&self, node: u32) -> bool {
        let agreed = self.peers.get(&node).map(|peer| &peer.agreed);
        agreed.is_some_and(|agreed| agreed.refusal.is_none() && !agreed.is_complete())
    }

    /// A peer's clock datagram is believed, and says which versions it speaks, and its layout.
    pub(super) fn learn(
        &mut self,
        node: u32,
        header: &Header,
        clock: &Clock,
        events: &mut Vec<LinkEvent>,
    ) {
        let Some(peer) = self.peers.get_mut(&node) else { return };
        let agreed = &mut peer.agreed;
        let told = clock.versions.filter(|_| self.versions.are_told());
        agreed.version = match told {
            Some(versions) => self.versions.in_common(versions),
            None => Some(header.version),
        };
        // The epoch of an incarnation never goes back: what says so was held up.
        let is_newer = agreed.layout.is_none_or(|(epoch, _)| epoch <= header.epoch);
        if let Some(layout) = clock.layout.filter(|_| is_newer) {
            agreed.layout = Some((header.epoch, layout));
        }
        self.compare_layout(node, events);
    }

    /// Compares the layout that `node` has told with that of this node in the same epoch, if that is known.
    fn compare_layout(&mut self, node: u32, events: &mut Vec<LinkEvent>) {
        let Some(peer) = self.peers.get_mut(&node) else { return };
        let told = peer.agreed.layout;
        let refusal = told.and_then(|(epoch, theirs)| {
            let ours = *self.layouts.get(&epoch)?;
            peer.agreed.is_same_layout = ours == theirs;
            (ours != theirs).then_some(PeerRefusal::Layout { epoch, theirs, ours })
        });
        if peer.agreed.refusal != refusal {
            peer.agreed.refusal = refusal;
            events.extend(refusal.map(|refusal| LinkEvent::Refused(node, refusal)));
        }
    }

    /// The same for all of them, when this node has another layout.
    pub(super) fn compare_layouts(&mut self, events: &mut Vec<LinkEvent>) {
        for node in self.peers.keys().copied().collect::<Vec<_>>() {
            self.compare_layout(node, events);
        }
    }

    /// A peer that is not heard speaks a version that this node does not, and says which ones it speaks.
    pub(super) fn hear_versions(
        &mut self,
        node: u32,
        theirs: Versions,
        events: &mut Vec<LinkEvent>,
    ) {
        let ours = self.versions;
        let Some(peer) = self.peers.get_mut(&node).filter(|peer| !peer.state.is_up()) else {
            return;
        };
        // It may have been recorded: it is not answered, and forgotten when the peer is believed.
        let version = ours.in_common(theirs);
        let refusal = version.is_none().then_some(PeerRefusal::Version { theirs, ours });
        if peer.agreed.refusal != refusal {
            events.extend(refusal.map(|refusal| LinkEvent::Refused(node, refusal)));
        }
        peer.agreed = Agreed { version, refusal, ..Agreed::default() };
    }
}

#[cfg(test)]
mod tests;
