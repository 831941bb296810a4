//! What travels between the nodes of a cluster, as state machines that do no IO.
//!
//! The messages of `slotcast-protocol` and the chunks travel as *datagrams*. This crate knows what a
//! datagram looks like and what is to be done when one is lost, late, forged, or on another clock; a host
//! has the sockets and the clock. As in the rest of ring 1, time comes in as a parameter and nothing is
//! drawn at random.
//!
//! * [`Datagram`] is what a datagram says, [`Key`] seals it: whoever has no key is not heard.
//! * [`Replay`] finds datagrams that were heard before.
//! * [`ClockOffset`] estimates how far the clock of a peer is from one's own, [`translate`] moves the
//!   times of a message from one to the other.
//! * [`Sending`] cuts a chunk into pieces, paces them, and repeats what was lost; [`Inbox`] puts chunks
//!   together and says what is missing.
//! * [`Reach`] knows which peers hear the multicast of a negotiating group.
//! * [`PeerState`] knows which incarnation of a peer is believed and whether it is heard, [`Suspicions`] which
//!   nodes are not waited for, and which are gone.
#![no_std]

extern crate alloc;

mod datagram;
mod inbox;
mod key;
mod offset;
mod peer;
mod pieces;
mod reach;
mod receiving;
mod replay;
mod sending;
mod suspicion;
pub mod translate;

pub use datagram::{
    Address, Body, DATA_OVERHEAD, Data, Datagram, HEADER_LEN, Header, MAX_SURVEYED_CHUNKS,
    MAX_SURVEYED_RANGES, MOST_GROUPS, MOST_PIECES, Refused, Report, Survey, SurveyAbout,
    SurveyReply, SurveySays, piece_len,
};
pub use inbox::{Arrived, Inbox, InboxLimits, Refusal};
pub use key::Key;
pub use offset::{ClockOffset, Stamps};
pub use peer::{PeerChange, PeerState, SilenceRules, Verdict};
pub use pieces::Pieces;
pub use reach::{Reach, ReachRules};
pub use receiving::Receiving;
pub use replay::Replay;
pub use sending::{Next, Pace, Sending};
pub use suspicion::{Availability, Suspicions};
