//! Numbers that the encoder and the decoder share.

use crate::message::{MAX_REPLICAS, MAX_TAKEN};

/// First in every datagram: `RC`, read as a little-endian number.
pub(super) const MAGIC: u16 = u16::from_le_bytes(*b"RC");
/// The version of this layout. A receiver knows one version and refuses all others.
pub(super) const VERSION: u8 = 2;

/// Length of the part of the header that the checksum covers: all before the checksum.
pub(super) const CHECKED_LEN: usize = 22;
/// Length of the header.
pub const HEADER_LEN: usize = CHECKED_LEN + 4;

pub(super) const PUT_REQUEST: u8 = 1;
pub(super) const BID: u8 = 2;
pub(super) const PUT_ACCEPT: u8 = 3;
pub(super) const REPLICA_ACK: u8 = 4;
pub(super) const GET_REQUEST: u8 = 5;
pub(super) const OFFER: u8 = 6;
pub(super) const GET_ACCEPT: u8 = 7;
pub(super) const UNDELIVERED: u8 = 8;
pub(super) const LATE_REJECT: u8 = 9;
pub(super) const PROXY_REQUEST: u8 = 10;
pub(super) const PROXY_REPLY: u8 = 11;
pub(super) const PROXY_NOTICE: u8 = 12;
pub(super) const PROXY_QUERY: u8 = 13;
pub(super) const PROXY_REPORT: u8 = 14;
pub(super) const FIND_REQUEST: u8 = 15;
pub(super) const FIND_REPLY: u8 = 16;

/// Tags of [`crate::BidAnswer`] and [`crate::OfferAnswer`]. No tag is zero, so that a body of zeros
/// means nothing.
pub(super) const WINDOW: u8 = 1;
pub(super) const ALREADY_STORED: u8 = 2;
pub(super) const NOT_HELD: u8 = 2;
pub(super) const NOT_NOW: u8 = 3;
pub(super) const RAISING: u8 = 4;
pub(super) const UNAVAILABLE: u8 = 5;
pub(super) const FULL: u8 = 6;

/// Tags of [`crate::Delivery`].
pub(super) const MULTICAST: u8 = 1;
pub(super) const UNICAST: u8 = 2;

/// Tags of [`crate::AckOutcome`].
pub(super) const STORED: u8 = 1;
pub(super) const NO_RESERVATION: u8 = 2;
pub(super) const DAMAGED: u8 = 3;
pub(super) const DISK_FAILED: u8 = 4;

/// Tags of [`crate::ProxyAnswer`]; [`NOT_NOW`] is the same as in a bid.
pub(super) const GRANTED: u8 = 1;
pub(super) const MOVED: u8 = 2;

/// Tags of [`crate::Occasion`].
pub(super) const RECEIVED: u8 = 1;
pub(super) const ASKED: u8 = 2;

/// Tags of [`crate::FindAnswer`]; [`NOT_HELD`] is the same as in an offer.
pub(super) const HELD: u8 = 1;

const REQUEST_LEN: usize = 8;
pub(super) const TIME_LEN: usize = 8;
pub(super) const SIZE_LEN: usize = 8;
pub(super) const WINDOW_LEN: usize = 2 * TIME_LEN;
pub(super) const GRANT_LEN: usize = 1 + WINDOW_LEN;
pub(super) const MEMBERS_LEN: usize = 8;
const TERM_LEN: usize = 5;

/// Request, round, group, skip, chunk, not before.
pub(super) const GET_REQUEST_LEN: usize = REQUEST_LEN + 1 + 4 + 8 + 32 + TIME_LEN;
/// The same, a size, and replicas.
pub(super) const PUT_REQUEST_LEN: usize = GET_REQUEST_LEN + SIZE_LEN + 1;
/// Request, round, position, tag: of a bid or an offer, without what the answer adds.
pub(super) const ANSWER_LEN: usize = REQUEST_LEN + 1 + 1 + 1;
/// Request, round, delivery, number of grants.
pub(super) const PUT_ACCEPT_LEN: usize = REQUEST_LEN + 1 + 1 + 1;
/// Request, position, outcome.
pub(super) const REPLICA_ACK_LEN: usize = REQUEST_LEN + 1 + 1;
/// Request, round, number of grants.
pub(super) const GET_ACCEPT_LEN: usize = REQUEST_LEN + 1 + 1;
/// Request, position.
pub(super) const UNDELIVERED_LEN: usize = REQUEST_LEN + 1;
/// Request, round, position.
pub(super) const LATE_REJECT_LEN: usize = REQUEST_LEN + 1 + 1;

/// Request, round, group, skip, chunk, size, not before, replicas, over, number of taken windows.
pub(super) const PROXY_REQUEST_LEN: usize = PUT_REQUEST_LEN + TERM_LEN + 1;
/// Request, round, term, tag: without what the answer adds.
pub(super) const PROXY_REPLY_LEN: usize = REQUEST_LEN + 1 + TERM_LEN + 1;
/// Request, round, group, skip, chunk, size, term, window, members.
pub(super) const PROXY_NOTICE_LEN: usize =
    REQUEST_LEN + 1 + 4 + MEMBERS_LEN + 32 + SIZE_LEN + TERM_LEN + WINDOW_LEN + MEMBERS_LEN;
/// Request, group, term.
pub(super) const PROXY_QUERY_LEN: usize = REQUEST_LEN + 4 + TERM_LEN;
/// Request, group, position, term, occasion, free from, disk done, disk rate.
pub(super) const PROXY_REPORT_LEN: usize = REQUEST_LEN + 4 + 1 + TERM_LEN + 1 + 2 * TIME_LEN + 8;

/// Request, group, chunk.
pub(super) const FIND_REQUEST_LEN: usize = REQUEST_LEN + 4 + 32;
/// Request, position, tag: without what the answer adds.
pub(super) const FIND_REPLY_LEN: usize = REQUEST_LEN + 1 + 1;

/// The longest datagram: a put-accept with [`MAX_REPLICAS`] grants.
pub const MAX_ENCODED_LEN: usize = HEADER_LEN + PUT_ACCEPT_LEN + MAX_REPLICAS * GRANT_LEN;

// The Replicast paper charges 300 bytes for every control message. A message that outgrows them
// would make the simulated network faster than the real one.
const _: () = assert!(MAX_ENCODED_LEN <= 300);
const _: () = {
    let others = [
        PUT_REQUEST_LEN,
        ANSWER_LEN + WINDOW_LEN + TIME_LEN,
        ANSWER_LEN + WINDOW_LEN + SIZE_LEN,
        REPLICA_ACK_LEN,
        GET_REQUEST_LEN,
        GET_ACCEPT_LEN + GRANT_LEN,
        UNDELIVERED_LEN,
        LATE_REJECT_LEN,
        PROXY_REQUEST_LEN + MAX_TAKEN * WINDOW_LEN,
        PROXY_REPLY_LEN + WINDOW_LEN + MEMBERS_LEN,
        PROXY_NOTICE_LEN,
        PROXY_QUERY_LEN,
        PROXY_REPORT_LEN,
        FIND_REQUEST_LEN,
        FIND_REPLY_LEN + SIZE_LEN + 1,
    ];
    let mut i = 0;
    while i < others.len() {
        assert!(HEADER_LEN + others[i] <= MAX_ENCODED_LEN);
        i += 1;
    }
};
