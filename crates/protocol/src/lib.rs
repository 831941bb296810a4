//! Replicast, as state machines that do no IO.
//!
//! Nothing here reads a clock, opens a socket, starts a thread or draws a random number: time and
//! messages come in as parameters, and what is to be sent, written or waited for comes out as
//! *effects* that a host carries out. The simulator and the node are such hosts, and run this code
//! unchanged. The crate is `no_std`, and builds for `wasm32-unknown-unknown` to prove it.
//!
//! # A put, from above
//!
//! ```text
//! initiator                       negotiating group (9 targets)
//!     |-- PutRequest (multicast) ---------> | | | | | | | | |    "when can you take 128 KiB?"
//!     | <------------------------- Bid -----+-+-+-+-+-+-+-+-+    a window each, tentatively reserved
//!     |-- PutAccept (multicast) ----------> | | | | | | | | |    three chosen, the rest cancelled
//!     |== chunk, inside the window =======> |   |   |            the rendezvous transfer
//!     | <------------------- ReplicaAck ----+---+---+            each after its write is stable
//! ```
//!
//! * [`Target`] answers requests from its [`Calendar`] of reservations.
//! * [`Initiator`] collects bids, and chooses by [`selection`]: the earliest common window for one
//!   multicast transfer ([`Delivery::Multicast`], Replicast-M) or the earliest sequence of windows
//!   for unicast transfers ([`Delivery::Unicast`], Replicast-H).
//! * [`Proxy`], on one member of a group, can do both for all others: an initiator then asks it alone
//!   ([`PutRules::proxied`]), and is granted a window with one message back.
//! * [`GroupMap`] maps a chunk's name to its negotiating group, and targets to failure domains.
//! * [`Repair`] brings the replicas of what a target holds back to the wanted number.
//! * [`wire`] is the encoding of every message.
//!
//! # A bid
//!
//! ```
//! use slotcast_protocol::*;
//! use slotcast_units::{Rate, Size, Span, Time};
//!
//! /// A target that holds nothing yet.
//! struct Empty;
//! impl Holdings for Empty {
//!     fn size_of(&self, _: &ChunkId) -> Option<Size> {
//!         None
//!     }
//!     fn replicas_of(&self, _: &ChunkId) -> u8 {
//!         0
//!     }
//! }
//!
//! let mut target = Target::new(TargetConfig {
//!     group: GroupId(0),
//!     position: 0,
//!     timing: Timing::published(),
//!     window_rule: WindowRule::published(Delivery::Unicast),
//!     idle_extension: IdleExtension::TwoTransfers,
//!     calendar: CalendarRules {
//!         offer: OfferRule::FirstFit,
//!         gap: Span::ZERO,
//!         grace: Span::from_ms(1),
//!         expected: Span::from_us(1),
//!         hold: Span::from_ms(1),
//!         horizon: Span::from_secs(10),
//!         capacity: 64,
//!     },
//!     disk: DiskForecast::new(
//!         Rate::from_bytes_per_s(400 << 20),
//!         Size::from_kib(256),
//!         Backpressure::KeepRoom,
//!     ),
//! });
//! let request = |serial| PutRequest {
//!     request: RequestId { initiator: InitiatorId(0), serial },
//!     round: 0,
//!     group: GroupId(0),
//!     skip: Members::NONE,
//!     chunk: ChunkId([serial as u8; 32]),
//!     size: Size::from_kib(128),
//!     not_before: Time::ZERO,
//!     replicas: 3,
//!     claim: Claim::Bare,
//! };
//! let mut effects = Vec::new();
//! let mut windows = Vec::new();
//! for serial in [1, 2] {
//!     let ask = Message::PutRequest(request(serial));
//!     target.handle(Time::ZERO, TargetInput::Message(&ask), &Empty, &mut effects);
//!     let TargetEffect::Send { message: Message::Bid(bid), .. } = effects.remove(0) else { panic!() };
//!     let BidAnswer::Window { window, .. } = bid.answer else { panic!() };
//!     windows.push(window);
//! }
//! // Two initiators that ask at the same time are offered windows of their own, one after the other.
//! assert!(windows[0].end <= windows[1].start);
//! ```
//!
//! # How to host a machine
//!
//! Call `handle(now, input, ..., &mut effects)` with a reused `Vec`, then carry out every effect in
//! order. `now` never goes backwards. A machine asks to be woken by an effect that names a time, which
//! replaces an earlier wish. Waking it before that time does nothing, and does not count: the wish
//! stands. Waking it late, or once more, is harmless.
//!
//! Source: Aizman and Bestler, "Scalable Object Storage with Resource Reservations and Dynamic Load
//! Balancing" (the *Replicast paper*), sections II and III.
#![no_std]

extern crate alloc;

mod calendar;
mod claim;
mod finder;
mod group;
mod ids;
mod initiator;
mod message;
mod parts;
mod proxy;
mod rate;
mod repair;
pub mod selection;
pub mod tape;
mod target;
mod timing;
mod window;
pub mod wire;

pub use calendar::{Calendar, CalendarRules, NoReservation, OfferRule, Reservation, State};
pub use claim::{Claim, Wanted};
pub use finder::{Finder, FinderEffect, FinderInput};
pub use group::{GroupMap, LayoutDigest, LayoutError, Member, Members, Membership};
pub use ids::{ChunkId, GroupId, InitiatorId, RequestId, TargetId, Term};
pub use initiator::{
    Choosy, Failure, GetRules, Initiator, InitiatorConfig, InitiatorEffect, InitiatorInput,
    LateRules, PutRules,
};
pub use message::{
    AckOutcome, Bid, BidAnswer, FindAnswer, FindReply, FindRequest, GetAccept, GetRequest, Grant,
    Grants, LateReject, MAX_REPLICAS, MAX_TAKEN, Message, Occasion, Offer, OfferAnswer,
    ProxyAnswer, ProxyNotice, ProxyQuery, ProxyReply, ProxyReport, ProxyRequest, PutAccept,
    PutRequest, ReplicaAck, Taken, Undelivered,
};
pub use parts::{PartValue, Parts, is_part_len};
pub use proxy::{Proxy, ProxyChoice, ProxyConfig, ProxyEffect, ProxyInput};
pub use rate::{DiskMeter, LinkMeter};
pub use repair::{
    Answers, Inventory, Repair, RepairEffect, RepairInput, RepairOutcome, RepairPace,
    RepairProgress, RepairRules, RepairStatistics, keepers, ranges,
};
pub use target::{
    Backpressure, DiskForecast, Holdings, Intake, Target, TargetConfig, TargetEffect, TargetInput,
};
pub use timing::{Delivery, IdleExtension, Timing, WindowRule, WindowSize};
pub use window::Window;
