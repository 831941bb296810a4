//! What travels between the nodes of a cluster, as state machines that do no IO.
//!
//! The messages of `slotcast-protocol` and the chunks travel in *datagrams*. This crate knows what a datagram
//! looks like and what to do when one is lost, late, forged, or stamped by another clock. A host has the
//! sockets and the clock; time comes in as a parameter, and nothing is drawn at random.
//!
//! ```text
//!    a chunk --> Sending --- pieces, as Datagram sealed with a Key ---> Replay --> Inbox --> the chunk
//!                   ^                                                                |
//!                   +--------------- Report: which pieces are missing ---------------+
//! ```
//!
//! * [`Datagram`] has a [`Header`] and a [`Body`]; [`Key`] seals it, and a datagram of another key is
//!   refused.
//! * [`Replay`] finds datagrams that were received before.
//! * [`Sending`] paces the pieces of a chunk and repeats what was lost (selective repeat), at half the rate
//!   on each pass; [`Inbox`] puts chunks together and reports what is missing.
//! * [`ClockOffset`] estimates how far the clock of a peer is from one's own; [`translate`] moves the times
//!   of a message from one clock to the other.
//! * [`Reach`] knows which peers receive the multicast of a negotiating group.
//! * [`PeerState`] knows which incarnation of a peer is believed and whether it is silent; [`Suspicions`]
//!   which nodes are not waited for, and which are gone.
//!
//! ```
//! use slotcast_protocol::{ChunkId, GroupId, InitiatorId, Members, RequestId};
//! use slotcast_transport::{Body, Data, Datagram, Header, Inbox, InboxLimits, Key, Purpose};
//! use slotcast_units::{Span, Time};
//!
//! let (key, bytes) = (Key::new(&[3; 32]), vec![42; 3000]);
//! let limits = InboxLimits { chunk: 1 << 23, bytes: 1 << 24, chunks: 4 };
//! let (mut inbox, mut reports, mut arrived) = (Inbox::new(limits), Vec::new(), None);
//!
//! // Node 5 sends a chunk of 3000 bytes in three pieces of 1024.
//! for (piece, part) in (0..).zip(bytes.chunks(1024)) {
//!     let data = Data {
//!         purpose: Purpose::Put,
//!         is_last: piece == 2,
//!         pass: 0,
//!         transfer: 1,
//!         piece,
//!         piece_len: 1024,
//!         length: 3000,
//!         slack: Span::from_ms(1),
//!         request: RequestId { initiator: InitiatorId(5), serial: 1 },
//!         group: GroupId(0),
//!         members: Members::first(1),
//!         name: ChunkId([1; 32]),
//!         bytes: part,
//!         value: Data::value_of(piece, 1024, part),
//!     };
//!     let (sent_at, sequence) = (Time::from_ns(10), u64::from(piece) + 1);
//!     let header = Header { version: 3, epoch: 1, sender: 5, incarnation: 1, sequence, sent_at, echo: None };
//!     let mut sealed = Vec::new();
//!     Datagram { header, body: Body::Data(data) }.encode(&key, &mut sealed);
//!     assert!(Datagram::decode(&Key::new(&[4; 32]), &sealed).is_err(), "the key of another cluster");
//!
//!     // The receiving node.
//!     let heard = Datagram::decode(&key, &sealed)?;
//!     let Body::Data(data) = heard.body else { unreachable!() };
//!     arrived = inbox.piece(Time::from_ns(20), heard.header.sender, &data, &mut reports).unwrap();
//! }
//! let (received, _) = arrived.and_then(|arrived| arrived.chunk).expect("it is whole");
//! assert_eq!(received, bytes);
//! assert!(reports[0].1.missing.is_empty(), "the sender is told that nothing is missing");
//! # Ok::<(), slotcast_transport::Refused>(())
//! ```
//!
//! A chunk arrives with every byte as it was sent, or is given up. Transfers that have ended are remembered
//! for a while, so that a late piece does not begin one anew. Whether the chunk's hash is its name is for the
//! receiver to check: the values of the pieces, which arrive with it, make that cheap. Datagrams are sealed,
//! not encrypted: whoever can listen on the network can read what is sent.
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
    Address, Body, Clock, DATA_OVERHEAD, Data, Datagram, HEADER_LEN, Header, KIND_AT, KIND_BITS,
    MAX_GROUPS, MAX_PIECES, MAX_SURVEYED_CHUNKS, MAX_SURVEYED_RANGES, MAX_VERSION, MIN_VERSION,
    Purpose, Refused, Report, SEAL_LEN, Short, Survey, SurveyAbout, SurveyReply, SurveySays,
    TELLS_CLAIMS, TELLS_LAYOUT, TELLS_SHORT, Versions, piece_len,
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
